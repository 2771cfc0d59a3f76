#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/command/command.h"

#define TESTS_MAX 1000

struct tests {
	char *entry[TESTS_MAX];		/* "package/path/test_x" */
	size_t n;
};

static size_t
name_len(const char *p, const char *end, bool dots)
{
	size_t n = 0;

	while (p + n < end && (isalnum((unsigned char)p[n]) || p[n] == '_' ||
	    (dots && p[n] == '.')))
		n++;
	return n;
}

static void
add_test(struct tests *tests, const char *package, const char *name, size_t n)
{
	char *entry, *p;
	size_t i, size = strlen(package) + n + 2;

	if (tests->n == TESTS_MAX || (entry = malloc(size)) == NULL)
		return;
	snprintf(entry, size, "%s/%.*s", package, (int)n, name);
	for (p = entry; *p != '\0'; p++)
		if (*p == '.')
			*p = '/';
	for (i = 0; i < tests->n; i++) {
		if (strcmp(tests->entry[i], entry) == 0) {
			free(entry);
			return;
		}
	}
	tests->entry[tests->n++] = entry;
}

/* Rules whose names begin with test_, at the start of a line. */
static void
find_tests(struct tests *tests, const struct pack_file *file)
{
	const char *p = file->bytes, *end = p + file->len, *stop;
	char package[256] = "";
	size_t n;

	for (; p < end; p = stop + 1) {
		stop = memchr(p, '\n', (size_t)(end - p));
		if (stop == NULL)
			stop = end;
		if (stop - p > 8 && memcmp(p, "package ", 8) == 0) {
			n = name_len(p + 8, stop, true);
			if (n < sizeof(package)) {
				memcpy(package, p + 8, n);
				package[n] = '\0';
			}
		} else if (stop - p > 5 && memcmp(p, "test_", 5) == 0) {
			add_test(tests, package, p, name_len(p, stop, false));
		}
	}
}

static bool
run_test(const struct policy_pack *pack, struct arena *arena,
    const struct plan *plan, const char *name)
{
	struct eval eval = { .arena = arena, .plan = plan, .data = pack->data,
	    .now_ns = 1767225600000000000, .strict = true };
	const struct plan_func *entry = plan_entry(plan, name);
	const struct value *result = NULL;

	if (entry == NULL) {
		printf("FAIL %s: not in the plan\n", name);
		return false;
	}
	arena->steps = 0;
	if (eval_run(&eval, entry) != EVAL_OK) {
		printf("FAIL %s: %s\n", name, arena->message);
		return false;
	}
	if (eval.results->col.n == 1)
		result = value_member(eval.results->col.items[0], "result");
	if (result != NULL && result->kind == VALUE_BOOL && result->truth)
		return true;
	printf("FAIL %s\n", name);
	return false;
}

static int
run_tests(const struct policy_pack *pack, const struct tests *tests,
    const char *text, size_t len)
{
	struct arena arena;
	const struct plan *plan;
	char err[300] = "";
	volatile size_t i, passed = 0;
	jmp_buf here;

	if (arena_init(&arena, 1 << 20, (size_t)1 << 30, 10000000) != 0)
		return command_fail("out of memory");
	i = 0;
	if (setjmp(here) != 0) {
		arena_release(&arena);
		return command_fail("%s", err);
	}
	arena.armed = &here;
	arena.max_steps = UINT64_MAX / 2;
	if ((plan = plan_load(&arena, text, len, err, sizeof(err))) == NULL) {
		arena_release(&arena);
		return command_fail("%s", err);
	}
	arena.max_steps = 10000000;
	for (; i < tests->n; i++)
		passed += run_test(pack, &arena, plan, tests->entry[i]);
	printf("%zu of %zu passed\n", passed, tests->n);
	arena_release(&arena);
	return passed == tests->n ? COMMAND_YES : COMMAND_NO;
}

int
command_test(const struct command_args *args)
{
	struct policy_pack *pack = command_pack(args, args->operand[0]);
	struct tests tests = { .n = 0 };
	int result = COMMAND_FAILED;
	char *text = NULL;
	size_t i, len = 0;

	if (pack == NULL)
		return COMMAND_FAILED;
	for (i = 0; i < pack->files.n; i++) {
		const struct pack_file *f = &pack->files.file[i];
		size_t n = strlen(f->path);

		if (n > 10 && strcmp(f->path + n - 10, "_test.rego") == 0)
			find_tests(&tests, f);
	}
	if (tests.n == 0)
		command_fail("no rule named test_... in any *_test.rego");
	else
		text = command_opa_plan(args->operand[0],
		    (const char *const *)tests.entry, tests.n, true, &len);
	if (text != NULL)
		result = run_tests(pack, &tests, text, len);
	free(text);
	for (i = 0; i < tests.n; i++)
		free(tests.entry[i]);
	policy_pack_unref(pack);
	return result;
}
