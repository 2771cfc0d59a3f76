/* pattern \n text, as a regular expression and as two kinds of globs. */
#include <stdlib.h>
#include <string.h>

#include "policy/regex/glob.h"
#include "policy/regex/glob_simple.h"
#include "policy/regex/intersect.h"
#include "policy/regex/regex.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

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

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const char *p = (const char *)data, *text;
	struct arena arena;
	const char *why;
	jmp_buf here;
	size_t n;

	text = len > 0 ? memchr(p, '\n', len) : NULL;
	if (text == NULL || arena_init(&arena, 65536, 1 << 24, 200000) != 0)
		return 0;
	n = (size_t)(text++ - p);
	if (setjmp(here) == 0) {
		arena.armed = &here;
		run_regex(&arena, p, n, text, len - n - 1);
		run_glob(&arena, p, n, text, len - n - 1);
		glob_intersect(&arena, p, n, text, len - n - 1, &why);
	}
	arena_release(&arena);
	return 0;
}
