/* git's credential helper: which placeholder for which question. */
#include "adapters/credential/git.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char bindings[] = "["
    "{\"binding\":\"api\",\"value\":\"dummy-api\",\"scheme\":\"https\",\"hosts\":[\"api.example.com\",\"git.example.com\"],\"port\":443,"
    "\"placement\":{\"kind\":\"header\",\"name\":\"Authorization\"}},"
    "{\"binding\":\"git\",\"value\":\"dummy-git\",\"scheme\":\"https\",\"hosts\":[\"git.example.com\"],\"port\":443,"
    "\"placement\":{\"kind\":\"basic\",\"user\":\"robot\"}},"
    "{\"binding\":\"odd\",\"value\":\"dummy-odd\",\"scheme\":\"http\",\"hosts\":[\"odd.example.com\"],\"port\":8080,"
    "\"placement\":{\"kind\":\"basic\",\"user\":\"me\"}}]";

static char out[1024], err[256];

static int
ask(const char *question)
{
	int n;

	memset(out, 0, sizeof(out));
	n = credential_git_answer(slice_of(question), bindings, out, sizeof(out),
	    err, sizeof(err));
	if (n >= 0)
		assert_int_equal(n, (int)strlen(out));
	return n;
}

static void
answers(void **state)
{
	static const struct { const char *question, *answer; } cases[] = {
		{ "protocol=https\nhost=git.example.com\n\n", "username=robot\npassword=dummy-git\n" },
		{ "protocol=https\nhost=GIT.example.com.\npath=o/r.git\n", "username=robot\npassword=dummy-git\n" },
		{ "protocol=https\nhost=git.example.com:443\n\n", "username=robot\npassword=dummy-git\n" },
		/* Another user than the Basic binding's: the header one takes any. */
		{ "protocol=https\nhost=git.example.com\nusername=alice\n\n", "username=alice\npassword=dummy-api\n" },
		{ "protocol=https\nhost=api.example.com\n\n", "username=x-access-token\npassword=dummy-api\n" },
		{ "protocol=http\nhost=odd.example.com:8080\n\n", "username=me\npassword=dummy-odd\n" },
		{ "capability[]=authtype\nprotocol=https\nhost=git.example.com\nwwwauth[]=Basic realm=\"x=y\"\n\n", "username=robot\npassword=dummy-git\n" },
		/* Nothing behind the blank line counts. */
		{ "protocol=https\nhost=git.example.com\n\nhost=evil.example\n", "username=robot\npassword=dummy-git\n" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_true(ask(cases[i].question) > 0);
		assert_string_equal(out, cases[i].answer);
	}
}

static void
silence(void **state)
{
	static const char *const questions[] = {
		"protocol=https\nhost=other.example.com\n\n",
		"protocol=http\nhost=git.example.com\n\n",
		"protocol=https\nhost=git.example.com:8443\n\n",
		"protocol=http\nhost=odd.example.com\n\n",
		"protocol=http\nhost=odd.example.com:8080\nusername=you\n\n",
		"protocol=ssh\nhost=git.example.com\n\n",
		"protocol=ssh\nhost=odd.example.com:8080\n\n",
		"protocol=https\nhost=git.example.com.evil.example\n\n",
		"protocol=https\nhost=user@git.example.com\n\n",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(questions) / sizeof(questions[0]); i++)
		assert_int_equal(ask(questions[i]), 0);
}

static void
malformed(void **state)
{
	static const char *const questions[] = { "", "\n", "protocol=https\n\n",
	    "host=git.example.com\n\n", "protocol\nhost=x\n\n", "=x\n",
	    "protocol=https\r\nhost=git.example.com\r\n\r\n" };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
		assert_int_equal(ask(questions[i]), -1);
		assert_non_null(strstr(err, "git's question"));
	}
	assert_int_equal(credential_git_answer(SLICE("protocol=https\n"
	    "host=git.example.com\nusername=a\0b\n\n"), bindings, out,
	    sizeof(out), err, sizeof(err)), -1);
}

static void
bad_bindings(void **state)
{
	static const char *const texts[] = { "", "[", "{}", "[1]", "[{}]",
	    "[{\"scheme\":\"https\",\"hosts\":[1],\"port\":443}]",
	    /* said twice */
	    "[{\"value\":\"x\",\"scheme\":\"https\",\"hosts\":[\"git.example.com\"],\"port\":443,\"port\":443}]" };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(credential_git_answer(
		    SLICE("protocol=https\nhost=git.example.com\n\n"), texts[i], out,
		    sizeof(out), err, sizeof(err)), 0);
}

static void
too_small(void **state)
{
	static const char all[] = "username=robot\npassword=dummy-git\n";
	char small[sizeof(all)];
	size_t cap;

	(void)state;
	for (cap = 1; cap <= sizeof(all); cap++)
		assert_int_equal(credential_git_answer(
		    SLICE("protocol=https\nhost=git.example.com\n\n"), bindings,
		    small, cap, err, sizeof(err)),
		    cap < sizeof(all) ? -1 : (int)sizeof(all) - 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers), cmocka_unit_test(silence),
		cmocka_unit_test(malformed), cmocka_unit_test(bad_bindings),
		cmocka_unit_test(too_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
