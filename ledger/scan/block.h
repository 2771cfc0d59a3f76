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

#endif
