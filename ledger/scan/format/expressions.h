/*
 * What the pattern library looks for.  Private to the engine; any thread.
 *
 * One short expression for each anchor of the table and each direction: the
 * anchor, and some bytes beside it.  Anchors of two and three bytes make all of
 * it half as fast, and are found by brief.h instead.
 */
#ifndef LEDGER_SCAN_FORMAT_EXPRESSIONS_H
#define LEDGER_SCAN_FORMAT_EXPRESSIONS_H

#include <hs.h>

#include "ledger/scan/format/brief.h"
#include "ledger/scan/format/engine.h"

#define SCAN_EXPRESSIONS_MAX 768
#define SCAN_MAGICS 15

/* One anchor in one direction. */
struct scan_expression {
	const struct scan_anchor *anchor;
	enum scan_mirror mirror;
	unsigned tail_min, tail_max;	/* bytes between anchor's end and the match's */
	size_t reach_before, reach_after;	/* how far the format goes from its anchor */
};

/* The library's matches have the index of an expression, or count and more: that
 * of what compressed data and archives begin with. */
struct scan_database {
	struct scan_expression expression[SCAN_EXPRESSIONS_MAX];
	unsigned count;
	unsigned magic_len[SCAN_MAGICS];	/* 0: a member of streamed answers */
	struct scan_brief brief;
	hs_database_t *library;	/* NULL: err says why */
	char err[160];
};

/* Made once in a process. */
const struct scan_database *scan_database(void);

uint8_t scan_rot13(uint8_t c);

#endif
