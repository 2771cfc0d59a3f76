/*
 * Finds any of many needles in a short text, whatever their number: a few bytes
 * near the end of every needle go into a keyed filter, every fourth place of the
 * text is held against it, and only what passes is compared whole.
 *
 * Used for "does this request carry a real secret, or a placeholder, anywhere
 * it should not".  The filter lies in locked memory since it is derived from
 * secrets; needles themselves stay where they are and must outlive the sieve.
 */
#ifndef BROKER_GATE_SIEVE_H
#define BROKER_GATE_SIEVE_H

#include "slice.h"

#define SIEVE_MIN 8	/* shorter needles are not told from ordinary text */

struct sieve;

/* needles[0..n): copied as slices.  Those shorter than SIEVE_MIN are left out.
 * NULL where memory cannot be had. */
struct sieve *sieve_new(const struct slice *needles, size_t n);
void sieve_free(struct sieve *sieve);

/* Calls found with the index of each needle at each place it occurs. */
void sieve_scan(const struct sieve *sieve, struct slice text,
    void (*found)(void *arg, size_t needle), void *arg);

bool sieve_finds(const struct sieve *sieve, struct slice text);

/* In a JSON value: as it stands, or in a string or a member's name of it, which may
 * be written with escapes.  What is no JSON is searched as it stands. */
bool sieve_finds_json(const struct sieve *sieve, struct slice text);

#endif
