/*
 * Anchors of two or three bytes.  In the pattern library's one database they
 * would cost as much as all others together; here they cost a few shuffles for
 * 32 bytes.  Private to the scanner; pure.
 *
 * Each anchor is four sets of bytes in a row: its own, and what must follow them.
 * The anchors are put into eight buckets, and a table for each of the four places
 * says which buckets a byte is of: where all four share one, the anchors of that
 * bucket are tried.  Words that are told by what is around them ("key") stay with
 * the library, whose expressions say more.
 */
#ifndef LEDGER_SCAN_FORMAT_BRIEF_H
#define LEDGER_SCAN_FORMAT_BRIEF_H

#include "ledger/scan/format/formats_impl.h"

#define SCAN_BRIEF_PLACES 4
#define SCAN_BRIEF_BUCKETS 8
#define SCAN_BRIEF_MAX 32	/* anchors of one bucket */

struct scan_brief {
	uint8_t of[SCAN_BRIEF_PLACES][256];	/* bit k: of bucket k */
	/* the same by half bytes, which take a little more */
	uint8_t low[SCAN_BRIEF_PLACES][16], high[SCAN_BRIEF_PLACES][16];
	const struct scan_anchor *anchor[SCAN_BRIEF_BUCKETS][SCAN_BRIEF_MAX];
	unsigned anchors[SCAN_BRIEF_BUCKETS];
};

/* Whether an anchor is one of these. */
bool scan_brief_takes(const struct scan_anchor *anchor);
/* Add it, to a struct that was all zeros. */
void scan_brief_add(struct scan_brief *brief, const struct scan_anchor *anchor);

/* Call `maybe` wherever an anchor may stand, and at least wherever one does. */
void scan_brief_find(const struct scan_brief *brief, const uint8_t *text, size_t len,
    void (*maybe)(void *context, const struct scan_anchor *anchor, size_t at),
    void *context);

/* ---- engines ---- */

#define SCAN_BRIEF_LANE 64

/* Bit i of out: the four bytes from text[i] on may share a bucket.  Reads three
 * bytes behind the last block.  An engine may say so of places where they do not,
 * but of all where they do. */
struct scan_brief_engine {
	const char *name;
	bool (*available)(void);
	void (*blocks)(const struct scan_brief *brief, const uint8_t *text, size_t blocks,
	    uint64_t *out);
};

/* Without code where the compiler does not aim at x86-64: available is false. */
extern const struct scan_brief_engine scan_brief_avx512, scan_brief_avx2;
extern const struct scan_brief_engine scan_brief_plain;

#endif
