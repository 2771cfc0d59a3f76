/*
 * What the bits of a run of digits show: from where it may be read as base64 of a
 * text, as it stands or turned around; where something packed may begin; base32.
 * Private to the runs.
 */
#ifndef LEDGER_SCAN_VIEW_SIGNS_H
#define LEDGER_SCAN_VIEW_SIGNS_H

#include "ledger/scan/view/classes.h"
#include "ledger/scan/view/runs.h"

#define SCAN_TEXT_MIN 20	/* digits: groups of four, wholly inside of any text */
#define SCAN_BASE32_MIN ((SCAN_RUN_MIN * 8 + 4) / 5)

/* What begins at each of 64 digits. */
struct scan_signs {
	uint64_t text, turned;	/* so many groups of ASCII, as they stand or turned around */
	uint64_t magic;		/* of something packed, perhaps */
	uint64_t upper32, lower32;
};

/* Bits of up to `most` blocks of p, and of one more behind them: `left` digits of a
 * run, to the end of the last block with what stands behind it (`there` bytes in
 * all), then zeros. */
void scan_planes_at(const struct scan_table *table, const uint8_t *p, size_t left,
    size_t there, size_t most, struct scan_planes *block);
/* The same by the table that signs are read from. */
void scan_signs_planes(const uint8_t *p, size_t left, size_t there, size_t most,
    struct scan_planes *block);

/* left: digits from the block's first one to the end of the run. */
struct scan_signs scan_signs_of(const struct scan_planes *block, size_t left);
/* What is seldom, for all of a run. */
void scan_signs_add(struct scan_signs *any, const struct scan_signs *sign);

/* Whether something packed, but zlib, begins at p[at]; *from is where its group does. */
bool scan_magic_at(const uint8_t *p, size_t len, size_t at, size_t *from);

/* Bits of the first n digits. */
static inline uint64_t
scan_first_bits(size_t n)
{
	return n >= SCAN_LANE ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

#endif
