/*
 * A fuzz target whose work lies in one arena: define run() and FUZZ_STEPS,
 * and include this in its only source.
 */
#ifndef TESTS_FUZZ_ARENA_H
#define TESTS_FUZZ_ARENA_H

#include "policy/value/arena.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void run(struct arena *arena, const char *text, size_t len);

/* Leaving at a limit is as good an end as any. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct arena arena;
	jmp_buf here;

	if (arena_init(&arena, 65536, 1 << 24, FUZZ_STEPS) != 0)
		return 0;
	if (setjmp(here) == 0) {
		arena.armed = &here;
		run(&arena, (const char *)data, len);
	}
	arena_release(&arena);
	return 0;
}

#endif
