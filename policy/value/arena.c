#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/value/arena.h"

#define CHUNK_MIN ((size_t)64 * 1024)

struct arena_chunk {
	struct arena_chunk *older;
	size_t size;		/* of what follows */
	_Alignas(16) uint8_t bytes[];
};

struct arena_deferred {
	struct arena_deferred *older;
	void (*release)(void *);
	void *what;
};

static int
chunk_add(struct arena *arena, size_t size)
{
	struct arena_chunk *chunk;

	if (size > arena->max - arena->held)
		return -1;
	if ((chunk = malloc(sizeof(*chunk) + size)) == NULL)
		return -1;
	chunk->older = arena->chunks;
	chunk->size = size;
	arena->chunks = chunk;
	arena->held += size;
	arena->next = chunk->bytes;
	arena->end = chunk->bytes + size;
	return 0;
}

int
arena_init(struct arena *arena, size_t first, size_t max, uint64_t max_steps)
{
	memset(arena, 0, sizeof(*arena));
	arena->max = max;
	arena->max_steps = max_steps;
	return chunk_add(arena, first);
}

static void
chunks_free(struct arena *arena, bool keep_first)
{
	struct arena_chunk *chunk;

	while ((chunk = arena->chunks) != NULL) {
		if (keep_first && chunk->older == NULL)
			break;
		arena->chunks = chunk->older;
		arena->held -= chunk->size;
		free(chunk);
	}
}

void
arena_release(struct arena *arena)
{
	chunks_free(arena, false);
	memset(arena, 0, sizeof(*arena));
}

void
arena_reset(struct arena *arena)
{
	chunks_free(arena, true);
	if (arena->chunks != NULL) {
		arena->next = arena->chunks->bytes;
		arena->end = arena->next + arena->chunks->size;
	}
	arena->steps = 0;
	arena->deferred = NULL;
	arena->message[0] = '\0';
}

void *
arena_more(struct arena *arena, size_t size)
{
	size_t want = arena->held, room = arena->max - arena->held;

	if (size > room || size > SIZE_MAX / 2)
		arena_fail(arena, "memory limit of %zu bytes", arena->max);
	if (want < CHUNK_MIN)
		want = CHUNK_MIN;
	if (want < size + 16)
		want = size + 16;
	if (want > room)
		want = room;
	if (chunk_add(arena, want & ~(size_t)15) != 0 ||
	    size > (size_t)(arena->end - arena->next))
		arena_fail(arena, "memory limit of %zu bytes", arena->max);
	return arena_alloc(arena, size);
}

void *
arena_copy(struct arena *arena, const void *bytes, size_t size)
{
	void *p = arena_alloc(arena, size);

	if (size > 0)
		memcpy(p, bytes, size);
	return p;
}

void *
arena_array(struct arena *arena, size_t n, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(n, size, &total))
		arena_fail(arena, "memory limit of %zu bytes", arena->max);
	return arena_alloc(arena, total);
}

static void
deferred_run(struct arena *arena, const void *until)
{
	struct arena_deferred *d;
	bool last = false;

	while (!last && (d = arena->deferred) != NULL) {
		last = d->what == until;
		arena->deferred = d->older;
		d->release(d->what);
	}
}

void
arena_fail(struct arena *arena, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(arena->message, sizeof(arena->message), format, ap);
	va_end(ap);
	deferred_run(arena, NULL);
	if (arena->armed == NULL)
		abort();	/* our own mistake: nobody armed it */
	longjmp(*arena->armed, 1);
}

void
arena_no_steps(struct arena *arena)
{
	arena_fail(arena, "step limit of %llu",
	    (unsigned long long)arena->max_steps);
}

void
arena_defer(struct arena *arena, void (*release)(void *), void *what)
{
	struct arena_deferred *d;

	/* Room first: a failure here must release what, too. */
	if (sizeof(*d) > (size_t)(arena->end - arena->next) &&
	    arena->max - arena->held < CHUNK_MIN) {
		release(what);
		arena_fail(arena, "memory limit of %zu bytes", arena->max);
	}
	d = arena_alloc(arena, sizeof(*d));
	d->older = arena->deferred;
	d->release = release;
	d->what = what;
	arena->deferred = d;
}

void
arena_done(struct arena *arena, void *what)
{
	deferred_run(arena, what);
}
