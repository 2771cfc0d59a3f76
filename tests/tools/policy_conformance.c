/*
 * Runs directories of Rego conformance cases that carry their plan.
 *
 *	policy_conformance [-v] DIR...
 *
 * Every *.json below DIR is {"cases": [{note, plan, data, input | input_term,
 * want_plan_result, want_error_code, strict_error, entrypoints}]}.  Ends with
 * the counts; each failure is listed with its reason.  Exits 1 where a case
 * failed, 2 where nothing could be read.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "policy/plan/eval.h"
#include "policy/value/number.h"
#include "policy/value/value.h"
#include "rego_term.h"

#define ARENA_MAX ((size_t)512 * 1024 * 1024)

static struct {
	unsigned passed, failed, refused;
	bool verbose;
} run;

static const struct value_json_limits lenient = {
	.depth = 5000, .last_wins = true, .lone_surrogates = true
};

static void
fail(const char *file, const struct value *note, const char *what,
    const char *detail)
{
	run.failed++;
	printf("FAIL %s | %.*s | %s %s\n", file, (int)note->str.n,
	    note->str.p, what, detail);
}

static const char *
text_of(struct arena *arena, const struct value *v)
{
	struct buf b = { .arena = arena };

	if (v == NULL)
		return "undefined";
	value_to_json(&b, v, VALUE_JSON_REGO);
	if (b.n > 300)
		b.n = 300;
	buf_putc(&b, '\0');
	return b.p;
}

/* Sets become arrays, as in the expected results; with sorted also arrays
 * are brought into order. */
static const struct value *
plain(struct arena *arena, const struct value *v, bool sorted)
{
	struct value *out;
	uint32_t i;

	if (!value_is_collection(v))
		return v;
	value_sort(arena, v);
	if (v->kind == VALUE_OBJECT) {
		out = value_object(arena, v->col.n);
		for (i = 0; i < v->col.n; i++) {
			const struct value *key = value_key_at(v, i);
			struct buf b = { .arena = arena };

			if (key->kind != VALUE_STRING) {
				value_to_json(&b, key, 0);
				key = buf_value(&b);
			}
			value_put(arena, out, key,
			    plain(arena, value_at(v, i), sorted));
		}
		return out;
	}
	out = value_array(arena, v->col.n);
	for (i = 0; i < v->col.n; i++)
		value_append(arena, out, plain(arena, value_at(v, i), sorted));
	if (sorted) {
		out->unsorted = out->col.n > 1;
		value_sort(arena, out);
	}
	return out;
}

static bool
truth(const struct value *c, const char *name)
{
	const struct value *v = value_member(c, name);

	return v != NULL && v->kind == VALUE_BOOL && v->truth;
}

static void
check_result(struct arena *arena, const char *file, const struct value *c,
    const struct eval *eval)
{
	const struct value *note = value_member(c, "note");
	const struct value *want = value_member(c, "want_plan_result");
	bool sorted = truth(c, "sort_bindings");
	const struct value *got;

	if (want == NULL || want->kind == VALUE_NULL)
		want = value_array(arena, 0);
	got = plain(arena, eval->results, sorted);
	want = plain(arena, want, sorted);
	if (value_compare(arena, got, want) == 0 ||
	    value_compare(arena, plain(arena, got, true),
	    plain(arena, want, true)) == 0) {
		run.passed++;
		return;
	}
	fail(file, note, "want", text_of(arena, want));
	printf("     got %s\n", text_of(arena, got));
}

static bool
text_is(const struct value *v, const char *s)
{
	return v != NULL && v->kind == VALUE_STRING &&
	    v->str.n == strlen(s) && memcmp(v->str.p, s, v->str.n) == 0;
}

static void
check_error(struct arena *arena, const char *file, const struct value *c,
    const struct eval *eval, enum eval_status status)
{
	static const char *const codes[] = {
		"", "eval_builtin_error", "eval_type_error",
		"eval_conflict_error", "limit"
	};
	const struct value *code = value_member(c, "want_error_code");
	const struct value *words = value_member(c, "want_error");
	const struct value *note = value_member(c, "note");

	if (code == NULL && words == NULL) {
		if (truth(c, "strict_error") && status != EVAL_LIMIT)
			run.passed++;
		else
			fail(file, note, codes[status], arena->message);
		return;
	}
	/* The kind of error must be the same; the words are our own. */
	if (code == NULL || text_is(code, codes[status])) {
		run.passed++;
		if (run.verbose && words != NULL && memmem(arena->message,
		    strlen(arena->message), words->str.p, words->str.n) ==
		    NULL)
			printf("words %s: want %.*s, got %s\n", file,
			    (int)words->str.n, words->str.p, arena->message);
		return;
	}
	fail(file, note, "other error:", arena->message);
	(void)eval;
}

static const struct value *
input_of(struct arena *arena, const struct value *c, char *err, size_t len)
{
	const struct value *term = value_member(c, "input_term");

	if (term == NULL)
		return value_member(c, "input");
	return rego_term_parse(arena, term->str.p, term->str.n, err, len);
}

static void
run_case(struct arena *arena, const char *file, const struct value *c)
{
	const struct value *note = value_member(c, "note");
	const struct value *plan = value_member(c, "plan");
	struct eval eval = { .arena = arena,
	    .now_ns = 1767225600000000000 };
	struct buf text = { .arena = arena };
	enum eval_status status;
	char err[300] = "";
	bool wants_error;

	value_to_json(&text, plan, 0);
	eval.plan = plan_load(arena, text.p, text.n, err, sizeof(err));
	if (eval.plan == NULL) {
		run.refused++;
		printf("REFUSED %s | %.*s | %s\n", file, (int)note->str.n,
		    note->str.p, err);
		return;
	}
	eval.data = value_member(c, "data");
	if (eval.data == NULL)
		eval.data = value_object(arena, 0);
	eval.input = input_of(arena, c, err, sizeof(err));
	if (err[0] != '\0') {
		fail(file, note, "input_term:", err);
		return;
	}
	wants_error = value_member(c, "want_error_code") != NULL ||
	    value_member(c, "want_error") != NULL;
	eval.strict = truth(c, "strict_error");
	status = eval_run(&eval, &eval.plan->plans[0]);
	if (status != EVAL_OK)
		check_error(arena, file, c, &eval, status);
	else if (wants_error)
		fail(file, note, "no error, but got",
		    text_of(arena, eval.results));
	else
		check_result(arena, file, c, &eval);
}

static void
run_text(const char *file, const char *text, size_t len)
{
	struct arena arena;
	const struct value *root, *cases;
	char err[200] = "";
	volatile uint32_t i;
	jmp_buf here;

	if (arena_init(&arena, 1 << 20, ARENA_MAX, UINT64_MAX / 2) != 0)
		exit(2);
	if (setjmp(here) != 0) {
		printf("FAIL %s | %s\n", file, arena.message);
		run.failed++;
		arena_release(&arena);
		return;
	}
	arena.armed = &here;
	root = value_from_json(&arena, text, len, &lenient, err, sizeof(err));
	cases = root != NULL ? value_member(root, "cases") : NULL;
	if (cases == NULL)
		printf("SKIP %s | no cases %s\n", file, err);
	for (i = 0; cases != NULL && i < cases->col.n; i++) {
		arena.steps = 0;
		arena.max_steps = 50000000;
		run_case(&arena, file, cases->col.items[i]);
	}
	arena_release(&arena);
}

static void
run_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *text = NULL;
	struct stat st;

	if (f == NULL || fstat(fileno(f), &st) != 0 ||
	    (text = malloc((size_t)st.st_size + 1)) == NULL ||
	    fread(text, 1, (size_t)st.st_size, f) != (size_t)st.st_size)
		printf("SKIP %s | cannot be read\n", path);
	else
		run_text(path, text, (size_t)st.st_size);
	if (f != NULL)
		fclose(f);
	free(text);
}

static void
walk(const char *path)
{
	struct dirent **names;
	struct stat st;
	char sub[4096];
	int n, i;

	if (stat(path, &st) != 0) {
		printf("SKIP %s | not there\n", path);
		return;
	}
	if (!S_ISDIR(st.st_mode)) {
		n = (int)strlen(path);
		if (n > 5 && strcmp(path + n - 5, ".json") == 0)
			run_file(path);
		return;
	}
	n = scandir(path, &names, NULL, alphasort);
	for (i = 0; i < n; i++) {
		if (names[i]->d_name[0] != '.' && (size_t)snprintf(sub,
		    sizeof(sub), "%s/%s", path, names[i]->d_name) <
		    sizeof(sub))
			walk(sub);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
}

int
main(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++) {
		if (strcmp(argv[i], "-v") == 0)
			run.verbose = true;
		else
			walk(argv[i]);
	}
	printf("%u cases: %u passed, %u failed, %u refused\n",
	    run.passed + run.failed + run.refused, run.passed, run.failed,
	    run.refused);
	if (run.passed + run.failed + run.refused == 0)
		return 2;
	return run.failed + run.refused > 0;
}
