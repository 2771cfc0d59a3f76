/*
 * Sixteen bytes at a time, in the compiler's portable vectors: what decides
 * whether a view has work to do must cost less than a cycle a byte.  Private to
 * the scanner.
 */
#ifndef LEDGER_SCAN_BLOCK_H
#define LEDGER_SCAN_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SCAN_VECTOR 16

typedef uint8_t scan_vector __attribute__((vector_size(SCAN_VECTOR)));

static inline scan_vector
scan_vector_load(const uint8_t *p)
{
	scan_vector v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* The bytes of the result are 0 or 0xff. */
static inline scan_vector
scan_vector_within(scan_vector v, uint8_t first, uint8_t last)
{
	return (scan_vector)((v - first) <= (uint8_t)(last - first));
}

/* Its halves, as numbers. */
static inline void
scan_vector_halves(scan_vector v, uint64_t half[2])
{
	memcpy(half, &v, sizeof(v));
}

/* One bit for each byte of a vector of 0 and 0xff, the first one lowest (on
 * little-endian machines, which are all that the pattern library knows). */
static inline unsigned
scan_vector_mask(scan_vector v)
{
	static const scan_vector bit = { 1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32,
	    64, 128 };
	uint64_t half[2];

	scan_vector_halves(v & bit, half);
	/* a byte each of which has another bit: their sum is their union */
	return (unsigned)(half[0] * UINT64_C(0x0101010101010101) >> 56) |
	    (unsigned)(half[1] * UINT64_C(0x0101010101010101) >> 56) << 8;
}

#endif
