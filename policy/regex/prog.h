/*
 * Programs for matching text in time linear in the text: instructions of a
 * nondeterministic automaton, run in lockstep (Thompson, Pike).  Regular
 * expressions and globs compile to it.
 *
 * Memory is bounded by PROG_MAX instructions and, while running, by a list of
 * threads twice that long.
 */
#ifndef POLICY_REGEX_PROG_H
#define POLICY_REGEX_PROG_H

#include "policy/value/arena.h"
#include "policy/value/unicode.h"

#define PROG_MAX 20000		/* instructions */

enum prog_op {
	PROG_CLASS,	/* ranges[x .. x+y) */
	PROG_RUNE,	/* x */
	PROG_SPLIT,	/* x first, then y */
	PROG_JUMP,	/* x */
	PROG_SAVE,	/* position into slot x */
	PROG_ASSERT,	/* enum prog_assert x */
	PROG_MATCH
};

enum prog_assert {
	ASSERT_TEXT_START, ASSERT_TEXT_END, ASSERT_LINE_START, ASSERT_LINE_END,
	ASSERT_WORD, ASSERT_NOT_WORD
};

struct prog_inst {
	uint8_t op;
	uint32_t x, y;
};

struct prog {
	struct arena *arena;
	struct prog_inst *inst;
	uint32_t n, cap;
	struct rune_range *ranges;
	uint32_t n_ranges, cap_ranges;
	uint32_t n_slots;
	bool anchored;		/* begins with ASSERT_TEXT_START */
	bool overflow;		/* PROG_MAX was not enough; do not run it */
};

/* The index of the new instruction; beyond PROG_MAX sets overflow. */
uint32_t prog_emit(struct prog *prog, enum prog_op op, uint32_t x,
    uint32_t y);
/* Sorts, merges and (if asked) inverts the ranges, then emits the class. */
uint32_t prog_emit_class(struct prog *prog, struct rune_range *ranges,
    uint32_t n, bool inverted);

/*
 * Match text from byte offset on.  With whole, the match must be all of the
 * text from there.  slots (n_slots byte offsets, SIZE_MAX where unset) may be
 * NULL; then the first sign of a match is enough.
 */
bool prog_run(struct arena *arena, const struct prog *prog, const char *text,
    size_t len, size_t from, bool whole, size_t *slots);

#endif
