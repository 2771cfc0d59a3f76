#include <stdlib.h>
#include <string.h>

#include "policy/regex/pattern.h"
#include "policy/value/hash.h"

#define ROOM ((size_t)256 * 1024)
#define SLOTS 128		/* a power of two */
#define SLOTS_USED_MAX 96
#define KEPT_PROG_MAX 1024	/* instructions and ranges: more are compiled anew */

struct known {
	const char *text;	/* NULL: free */
	size_t len;
	uint64_t hash, steps;	/* of compiling */
	const struct pattern *pattern;
};

struct patterns {
	struct arena arena;	/* ROOM bytes */
	uint32_t n;
	bool full;
	struct known known[SLOTS];
};

struct patterns *
patterns_new(void)
{
	struct patterns *known = calloc(1, sizeof(*known));

	if (known != NULL && arena_init(&known->arena, ROOM, ROOM,
	    UINT64_MAX) != 0) {
		free(known);
		return NULL;
	}
	return known;
}

void
patterns_free(struct patterns *known)
{
	if (known == NULL)
		return;
	arena_release(&known->arena);
	free(known);
}

void
patterns_begin(struct patterns *known)
{
	if (known == NULL || !known->full)
		return;
	arena_reset(&known->arena);
	memset(known->known, 0, sizeof(known->known));
	known->n = 0;
	known->full = false;
}

/* Where this is known, or the free place where it would be. */
static struct known *
place_of(struct patterns *known, const char *p, size_t n, uint64_t hash)
{
	size_t slot = hash % SLOTS;

	for (;; slot = (slot + 1) % SLOTS) {
		struct known *at = &known->known[slot];

		if (at->text == NULL || (at->hash == hash && at->len == n &&
		    memcmp(at->text, p, n) == 0))
			return at;
	}
}

static struct pattern *
compile(struct arena *arena, const char *p, size_t n, const char **why)
{
	struct pattern *pattern = arena_alloc(arena, sizeof(*pattern));
	struct bits *bits;

	pattern->bits = NULL;
	if (!regex_compile(arena, &pattern->regex, p, n, why))
		return NULL;
	bits = arena_alloc(arena, sizeof(*bits));
	if (bits_make(bits, &pattern->regex.prog))
		pattern->bits = bits;
	return pattern;
}

/* --- keeping ---------------------------------------------------------- */

/* All of it in arena, its names in text. */
static const struct pattern *
copy(struct arena *arena, const struct pattern *from, const char *from_text,
    const char *text)
{
	struct pattern *to = arena_copy(arena, from, sizeof(*from));
	struct prog *prog = &to->regex.prog;

	prog->arena = NULL;	/* it does not grow any more */
	prog->inst = arena_copy(arena, prog->inst,
	    prog->n * sizeof(*prog->inst));
	prog->ranges = arena_copy(arena, prog->ranges,
	    prog->n_ranges * sizeof(*prog->ranges));
	prog->cap = prog->n;
	prog->cap_ranges = prog->n_ranges;
	if (from->bits != NULL)
		to->bits = arena_copy(arena, from->bits, sizeof(*from->bits));
	for (uint32_t i = 0; i < to->regex.n_groups; i++)
		if (to->regex.names[i].p != NULL)
			to->regex.names[i].p = text +
			    (from->regex.names[i].p - from_text);
	return to;
}

static void
put(struct patterns *known, const struct pattern *pattern,
    const struct known *what)
{
	struct known *at = place_of(known, what->text, what->len, what->hash);
	char *text = arena_copy(&known->arena, what->text, what->len);

	*at = (struct known){ text, what->len, what->hash, what->steps,
	    copy(&known->arena, pattern, what->text, text) };
	if (++known->n >= SLOTS_USED_MAX)
		known->full = true;
}

/* What there is no room for is not kept; the next decision starts anew. */
static void
keep(struct patterns *known, const struct pattern *pattern,
    const struct known *what)
{
	jmp_buf here;

	if (setjmp(here) == 0) {
		known->arena.armed = &here;
		put(known, pattern, what);
	} else {
		known->full = true;
	}
	known->arena.armed = NULL;
}

const struct pattern *
pattern_of(struct patterns *known, struct arena *arena, const char *p,
    size_t n, const char **why)
{
	struct known what = { p, n, hash_bytes(0, p, n), arena->steps, NULL };
	const struct pattern *pattern;

	if (known != NULL) {
		const struct known *at = place_of(known, p, n, what.hash);

		if (at->text != NULL) {
			arena_step(arena, at->steps);
			return at->pattern;
		}
	}
	if ((pattern = compile(arena, p, n, why)) == NULL)
		return NULL;
	what.steps = arena->steps - what.steps;
	if (known != NULL && !known->full && pattern->regex.prog.n +
	    pattern->regex.prog.n_ranges <= KEPT_PROG_MAX)
		keep(known, pattern, &what);
	return pattern;
}

bool
pattern_matches(const struct pattern *pattern, struct arena *arena,
    const char *text, size_t len)
{
	int found = -1;

	arena_step(arena, 1 + len / 8);
	if (pattern->bits != NULL)
		found = bits_match(pattern->bits, text, len);
	return found >= 0 ? found > 0 : prog_run(arena, &pattern->regex.prog,
	    text, len, 0, false, NULL);
}
