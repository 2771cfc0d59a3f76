/* Options: exact names, clear refusals, numbers, guesses. */
#include "cli/opt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct opt table[] = {
	{ "from-stdin", 0, NULL, false, "a flag" },
	{ "host", 0, "HOST", true, "a list" },
	{ "lines", 'n', "N", false, "a number" },
	{ "help", 'h', NULL, true, "a flag that may come twice" },
	{ NULL, 0, NULL, false, NULL }
};

static char err[256];

/* Split text at spaces into argv, parse. */
static int
parse(const char *text, bool stop, struct opts *out)
{
	static char copy[512];
	static char *argv[32];
	char *word;
	int argc = 0;

	err[0] = '\0';
	snprintf(copy, sizeof(copy), "%s", text);
	for (word = strtok(copy, " "); word != NULL; word = strtok(NULL, " "))
		argv[argc++] = word;
	return opt_parse(table, stop, argc, argv, out, err, sizeof(err));
}

static void
values(void **state)
{
	struct opts opts;
	size_t cursor = 0;

	(void)state;
	assert_int_equal(parse("--host a x --host=b --from-stdin -n 5 y", false,
	    &opts), 0);
	assert_string_equal(opt_next(&opts, "host", &cursor), "a");
	assert_string_equal(opt_next(&opts, "host", &cursor), "b");
	assert_null(opt_next(&opts, "host", &cursor));
	assert_true(opt_flag(&opts, "from-stdin"));
	assert_false(opt_flag(&opts, "help"));
	assert_string_equal(opt_value(&opts, "lines"), "5");
	assert_int_equal(opts.n_rest, 2);
	assert_string_equal(opts.rest[0], "x");
	assert_string_equal(opts.rest[1], "y");
}

static void
ends(void **state)
{
	struct opts opts;

	(void)state;
	assert_int_equal(parse("-- --host -x", false, &opts), 0);
	assert_int_equal(opts.n_rest, 2);
	assert_string_equal(opts.rest[0], "--host");
	assert_int_equal(parse("--host a cmd --host b", true, &opts), 0);
	assert_int_equal(opts.n_rest, 3);
	assert_string_equal(opts.rest[1], "--host");
	assert_string_equal(opts.rest[2], "b");
	assert_null(opts.rest[3]);
	assert_int_equal(parse("--host a -- cmd --json", true, &opts), 0);
	assert_string_equal(opts.rest[1], "--json");
	assert_null(opts.rest[2]);
	/* A dash alone is an operand; an empty value is a value. */
	assert_int_equal(parse("- --host=", false, &opts), 0);
	assert_string_equal(opts.rest[0], "-");
	assert_string_equal(opt_value(&opts, "host"), "");
}

static void
refusals(void **state)
{
	static const struct { const char *line, *says; } cases[] = {
		{ "--from", "--from " }, { "--from-stdi", "--from-stdin?" },
		{ "--hst a", "did you mean --host?" },
		{ "--from-stdin=yes", "takes no value" },
		{ "--host", "needs a value" }, { "-n", "needs a value" },
		{ "--lines 1 --lines 2", "twice" }, { "-x", "unknown option -x" },
		{ "-n5", "unknown option -n" }, { "--", NULL },
		{ "--=x", "unknown option" },
	};
	struct opts opts;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (cases[i].says == NULL) {
			assert_int_equal(parse(cases[i].line, false, &opts), 0);
			continue;
		}
		assert_int_equal(parse(cases[i].line, false, &opts), -1);
		assert_non_null(strstr(err, cases[i].says));
	}
}

/* What stands behind an unknown option may be a secret. */
static void
no_echo(void **state)
{
	struct opts opts;

	(void)state;
	assert_int_equal(parse("--value=hunter2-hunter2", false, &opts), -1);
	assert_null(strstr(err, "hunter2"));
}

static void
numbers(void **state)
{
	static const char *const bad[] = { "-n 0", "-n 11", "-n 5x", "-n +5", "-n -5",
	    "-n 99999999999999999999", "-n 0x5", "--lines=" };
	struct opts opts;
	long long n = 3;
	size_t i;

	(void)state;
	assert_int_equal(parse("", false, &opts), 0);
	assert_int_equal(opt_number(&opts, "lines", 1, 10, &n, err, sizeof(err)), 0);
	assert_int_equal(n, 3);
	assert_int_equal(parse("-n 10", false, &opts), 0);
	assert_int_equal(opt_number(&opts, "lines", 1, 10, &n, err, sizeof(err)), 0);
	assert_int_equal(n, 10);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(parse(bad[i], false, &opts), 0);
		assert_int_equal(opt_number(&opts, "lines", 1, 10, &n, err,
		    sizeof(err)), -1);
		assert_int_equal(n, 10);
	}
}

static void
guesses(void **state)
{
	static const char *const words[] = { "init", "bind", "bindings", "secret",
	    "status", NULL };

	(void)state;
	assert_string_equal(opt_nearest("bnid", words), "bind");
	assert_string_equal(opt_nearest("secert", words), "secret");
	assert_string_equal(opt_nearest("stat", words), "status");
	assert_null(opt_nearest("x", words));
	assert_null(opt_nearest("approve", words));
	assert_null(opt_nearest("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", words));
}

static void
too_many(void **state)
{
	static char flag[] = "--host=x", *argv[OPT_GIVEN_MAX + 1];
	static struct opts opts;
	int i;

	(void)state;
	for (i = 0; i < OPT_GIVEN_MAX; i++)
		argv[i] = flag;
	assert_int_equal(opt_parse(table, false, OPT_GIVEN_MAX, argv, &opts, err,
	    sizeof(err)), 0);
	for (i = 0; i <= OPT_GIVEN_MAX; i++)
		argv[i] = flag;
	assert_int_equal(opt_parse(table, false, OPT_GIVEN_MAX + 1, argv, &opts,
	    err, sizeof(err)), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values), cmocka_unit_test(ends),
		cmocka_unit_test(refusals), cmocka_unit_test(no_echo),
		cmocka_unit_test(numbers), cmocka_unit_test(guesses),
		cmocka_unit_test(too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
