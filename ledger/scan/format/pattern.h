/*
 * The pattern language of table.h, compiled and matched.  Private to the
 * scanner; pure, any thread.  Matching is greedy, steps back where the rest
 * does not fit, and is bounded by the numbers in the pattern.
 */
#ifndef LEDGER_SCAN_FORMAT_PATTERN_H
#define LEDGER_SCAN_FORMAT_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ledger/scan/view/map.h"

#define SCAN_PIECES_MAX 48

/* A set of bytes, and how often one of them may stand there. */
struct scan_piece {
	uint64_t set[4];
	uint16_t min, max;
};

struct scan_pattern {
	struct scan_piece piece[SCAN_PIECES_MAX];
	unsigned count;
};

struct scan_text {
	const uint8_t *p;
	size_t len;
	unsigned flags;		/* of the format: what must hold at the ends */
	const struct scan_map *map;	/* where the text comes from, or NULL */
	uint16_t *taken;	/* where not NULL: bytes that each piece took */
};

bool scan_set_has(const uint64_t set[4], uint8_t byte);
void scan_set_add(uint64_t set[4], uint8_t byte);

/* source is a literal of the table: a mistake in it is an assertion. */
void scan_pattern_compile(const char *source, bool folded,
    struct scan_pattern *out);

/* Match from `at` to the right; where it ends, or -1. */
ptrdiff_t scan_pattern_forward(const struct scan_pattern *pattern,
    const struct scan_text *text, size_t at);

/* Match what ends at `at`, from the last piece to the first; where it starts,
 * or -1. */
ptrdiff_t scan_pattern_backward(const struct scan_pattern *pattern,
    const struct scan_text *text, size_t at);

#endif
