/*
 * What every byte of a text may be part of: eight classes of bytes, as bits, 64
 * bytes in a word.  Ordinary text pays for this one pass; what reads the bits
 * touches the text itself only where a view may begin.  Private to the scanner.
 *
 * A table says which classes each byte is of.  Every engine reads that table,
 * so all give the same bits.
 */
#ifndef LEDGER_SCAN_VIEW_CLASSES_H
#define LEDGER_SCAN_VIEW_CLASSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCAN_LANE 64	/* bytes of one word of bits */
#define SCAN_PLANES 8

/* Bit i of plane k: byte i is of class 1 << k. */
struct scan_planes {
	uint64_t plane[SCAN_PLANES];
};

/* The classes of texts. */
enum scan_class {
	SCAN_LETTER,	/* of base64's alphabets, and of tags */
	SCAN_WORD,	/* what tokens are made of */
	SCAN_DIGIT,	/* hexadecimal */
	SCAN_NUMBERS,	/* that, or what may stand between two numbers */
	SCAN_EOL,	/* CR, LF */
	SCAN_CODE,	/* "%" and "=", which two digits follow, and "<" of <wbr> */
	SCAN_LEAD,	/* of other escapes, and of what is not seen */
	SCAN_JOIN	/* what may stand between two literals that are one, and their quotes */
};

struct scan_classes {
	struct scan_planes *block;	/* two more, of zeros, stand behind the last */
	size_t cap;
};

/* The classes of a text, in place of what there was.  0, or -1 where memory
 * lacks. */
int scan_classes_of(struct scan_classes *classes, const uint8_t *text, size_t len);
void scan_classes_free(struct scan_classes *classes);

/* The next place from `at` on where a zlib stream may begin; len: none. */
size_t scan_classes_zlib(const struct scan_classes *classes, const uint8_t *text,
    size_t len, size_t at);

/* The classes of each byte, and which sixteens of bytes have any. */
struct scan_table {
	uint8_t of[256];
	uint8_t row[16];
	unsigned rows;
};

/* Fill in the rows. */
void scan_table_made(struct scan_table *table);

/* By another table: (len + 63) / 64 words; behind the end no bit is set. */
void scan_planes_of(const struct scan_table *table, const uint8_t *text, size_t len,
    struct scan_planes *out);

/* ---- engines ---- */

struct scan_classifier {
	const char *name;
	bool (*available)(void);
	void (*blocks)(const struct scan_table *table, const uint8_t *text,
	    size_t blocks, struct scan_planes *out);
};

/* Without code where the compiler does not aim at x86-64: available is false. */
extern const struct scan_classifier scan_classifier_avx512, scan_classifier_avx2;
extern const struct scan_classifier scan_classifier_plain;

/* ---- reading bits ---- */

/* Bits of the bytes k further on; 0 < k < 64. */
static inline uint64_t
scan_ahead(uint64_t now, uint64_t next, unsigned k)
{
	return now >> k | next << (64 - k);
}

/* Where n bits in a row begin; 16 < n <= 64.  Those that end in the next word
 * begin among the highest bits of this one, all of which are set: fewer than
 * sixteen, where there are not sixteen in a row, and the rest is in the next. */
static inline uint64_t
scan_row(uint64_t now, uint64_t next, const unsigned n)
{
	uint64_t m = now & now >> 1;
	unsigned high, low;

	m &= m >> 2;
	m &= m >> 4;
	m &= m >> 8;
	if (m == 0 && (now >> 63 == 0 ||
	    (~next & ((UINT64_C(1) << (n - 15)) - 1)) != 0))
		return 0;
	if (n <= 32) {
		m &= m >> (n - 16);
	} else {
		m &= m >> 16;
		m &= m >> (n - 32);
	}
	high = ~now == 0 ? SCAN_LANE : (unsigned)__builtin_clzll(~now);
	low = ~next == 0 ? SCAN_LANE : (unsigned)__builtin_ctzll(~next);
	if (high == 0 || high + low < n)
		return m;
	/* from 64 - high on, as long as n of them are left */
	m |= UINT64_MAX << (SCAN_LANE - high) &
	    (low >= n ? UINT64_MAX : ~(UINT64_MAX << (SCAN_LANE + low - n) << 1));
	return m;
}

/* Without the bits of bytes before `from`, which may lie anywhere. */
static inline uint64_t
scan_since(uint64_t bits, size_t block, size_t from)
{
	if (from <= block * SCAN_LANE)
		return bits;
	return from - block * SCAN_LANE >= SCAN_LANE ? 0 :
	    bits & UINT64_MAX << (from - block * SCAN_LANE);
}

/* Where the bits that are set from `at` on end, no further than `end`. */
static inline size_t
scan_plane_end(const struct scan_planes *block, unsigned plane, size_t at, size_t end)
{
	uint64_t off = ~block[at / SCAN_LANE].plane[plane] >> at % SCAN_LANE;

	while (off == 0) {
		at = (at / SCAN_LANE + 1) * SCAN_LANE;
		if (at >= end)
			return end;
		off = ~block[at / SCAN_LANE].plane[plane];
	}
	at += (size_t)__builtin_ctzll(off);
	return at < end ? at : end;
}

#endif
