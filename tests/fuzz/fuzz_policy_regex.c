/* pattern \n text, as a regular expression and as two kinds of globs. */
#include <stdlib.h>
#include <string.h>

#include "policy/regex/glob.h"
#include "policy/regex/glob_simple.h"
#include "policy/regex/intersect.h"
#include "policy/regex/pattern.h"

#define FUZZ_STEPS 200000
#include "fuzz_arena.h"

static void
run_regex(struct arena *arena, const char *pattern, size_t n,
    const char *text, size_t len)
{
	size_t slots[2 * (REGEX_GROUPS_MAX + 2)], i;
	struct regex regex;
	const char *why = NULL;
	bool found;

	if (!regex_compile(arena, &regex, pattern, n, &why)) {
		if (why == NULL)
			abort();
		return;
	}
	found = prog_run(arena, &regex.prog, text, len, 0, false, NULL);
	if (prog_run(arena, &regex.prog, text, len, 0, false, slots) != found)
		abort();
	for (i = 0; found && i < regex.n_groups; i++)
		if (slots[2 * i] != SIZE_MAX && slots[2 * i + 1] != SIZE_MAX &&
		    (slots[2 * i] > slots[2 * i + 1] ||
		    slots[2 * i + 1] > len))
			abort();
}

/* Neither keeping a pattern nor running it by bits changes an answer. */
static void
run_pattern(struct arena *arena, const char *p, size_t n, const char *text,
    size_t len)
{
	static struct patterns *known;
	const struct pattern *pattern;
	const char *why = NULL;
	bool found;
	int i;

	if (known == NULL && (known = patterns_new()) == NULL)
		return;
	patterns_begin(known);
	if ((pattern = pattern_of(NULL, arena, p, n, &why)) == NULL)
		return;
	found = prog_run(arena, &pattern->regex.prog, text, len, 0, false,
	    NULL);
	for (i = 0; i < 3; i++) {
		if (pattern == NULL ||
		    pattern_matches(pattern, arena, text, len) != found)
			abort();
		pattern = pattern_of(known, arena, p, n, &why);
	}
}

/* Both ways to match a glob agree. */
static void
run_glob(struct arena *arena, const char *pattern, size_t n,
    const char *text, size_t len)
{
	static const uint32_t delimiters[] = { '/', '.' };
	struct prog prog = { .arena = arena };
	const char *why = NULL;
	int simple = glob_simple(pattern, n, delimiters, 2, text, len);

	if (!glob_compile(&prog, pattern, n, delimiters, 2, &why)) {
		if (why == NULL || simple == 1)
			abort();
		return;
	}
	if (prog_run(arena, &prog, text, len, 0, true, NULL) != (simple > 0)
	    && simple >= 0)
		abort();
}

static void
run(struct arena *arena, const char *p, size_t len)
{
	const char *text = len > 0 ? memchr(p, '\n', len) : NULL, *why;
	size_t n;

	if (text == NULL)
		return;
	n = (size_t)(text++ - p);
	run_regex(arena, p, n, text, len - n - 1);
	run_pattern(arena, p, n, text, len - n - 1);
	run_glob(arena, p, n, text, len - n - 1);
	glob_intersect(arena, p, n, text, len - n - 1, &why);
}
