/*
 * Programs of few instructions that take a character, over ASCII: run by the
 * positions in one word (Glushkov), nothing allocated.  Says only whether
 * there is a match, not where.
 */
#ifndef POLICY_REGEX_BITS_H
#define POLICY_REGEX_BITS_H

#include "policy/regex/prog.h"

#define BITS_CHARS 128
#define BITS_POSITIONS 63

/* Position i, the i-th instruction that takes a character, is bit i. */
struct bits {
	uint64_t takes[BITS_CHARS];	/* by character: who takes it */
	uint64_t after[BITS_POSITIONS];	/* by position: who may be next */
	uint64_t first;		/* who may be at the start of the text */
	uint64_t again;		/* who may start at any later place */
	uint64_t done;		/* behind whom there is a match, */
	uint64_t done_at_end;	/* or is one where the text ends there */
	bool empty;		/* there is one without any character, */
	bool empty_at_end;	/* or is where the text has none, */
	bool again_at_end;	/* or is at the end of any text */
};

/* False where the program is too long or looks at words or lines. */
bool bits_make(struct bits *bits, const struct prog *prog);

/* Is there a match anywhere?  1 or 0; -1: the text is not ASCII. */
int bits_match(const struct bits *bits, const char *text, size_t len);

#endif
