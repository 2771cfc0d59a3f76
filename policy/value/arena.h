/*
 * Memory and effort of one evaluation.
 *
 * Values live in an arena and die with it; nothing is freed on its own.  The
 * arena also counts steps, so that one object bounds everything that a policy
 * may use.  Who exceeds a bound leaves through arena_fail(), a longjmp to the
 * place that armed the arena: the alternative, an error path through every
 * builtin and comparison, would be tested nowhere.  Code that holds something
 * outside the arena across an allocation registers it with arena_defer().
 *
 * Not for several threads at once.
 */
#ifndef POLICY_VALUE_ARENA_H
#define POLICY_VALUE_ARENA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARENA_MESSAGE_MAX 400

struct arena_chunk;
struct arena_deferred;

struct arena {
	uint8_t *next, *end;		/* free room of the current chunk */
	struct arena_chunk *chunks;	/* newest first */
	size_t held, max;		/* bytes of all chunks; their bound */
	uint64_t steps, max_steps;	/* spent since the last reset; bound */
	struct arena_deferred *deferred;
	jmp_buf *armed;			/* where arena_fail() goes */
	char message[ARENA_MESSAGE_MAX];
};

/* A first chunk of first bytes is taken at once and kept until the end, so
 * that work which fits in it never allocates.  0, or -1 without memory. */
int arena_init(struct arena *arena, size_t first, size_t max,
    uint64_t max_steps);
void arena_release(struct arena *arena);
/* Forget everything but the first chunk; steps start from 0. */
void arena_reset(struct arena *arena);

/* Never NULL: without room it fails.  Aligned for any type, not zeroed. */
void *arena_more(struct arena *arena, size_t size);
void *arena_copy(struct arena *arena, const void *bytes, size_t size);

static inline void *
arena_alloc(struct arena *arena, size_t size)
{
	size_t aligned = (size + 15) & ~(size_t)15;
	void *p = arena->next;

	if (aligned < size || aligned > (size_t)(arena->end - arena->next))
		return arena_more(arena, size);
	arena->next += aligned;
	return p;
}

/* n objects of size each, with the product checked. */
void *arena_array(struct arena *arena, size_t n, size_t size);

/* Leave with a message (printf).  The arena must be armed. */
void arena_fail(struct arena *arena, const char *format, ...)
    __attribute__((noreturn, format(printf, 2, 3)));
void arena_no_steps(struct arena *arena) __attribute__((noreturn));

/* Spend n steps; fails beyond the bound. */
static inline void
arena_step(struct arena *arena, uint64_t n)
{
	arena->steps += n;
	if (arena->steps > arena->max_steps)
		arena_no_steps(arena);
}

/* Call release(what) should the arena fail before arena_done(what). */
void arena_defer(struct arena *arena, void (*release)(void *), void *what);
/* Release what now, and everything that was deferred after it. */
void arena_done(struct arena *arena, void *what);

#endif
