/* How an engine is built.  Private to sha256. */
#ifndef LEDGER_SHA256_ENGINE_H
#define LEDGER_SHA256_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ledger/sha256/sha256.h"

#define SHA256_BLOCK 64
#define SHA256_LANES_MAX 16
#define SHA256_BLOCKS_MAX 1025	/* of a message that an engine is given */

struct sha256_engine {
	const char *name;
	unsigned lanes;
	unsigned worth;		/* with fewer messages one by one is quicker */
	bool (*available)(void);
	/* Up to `lanes` messages, at least `worth`, none with fewer blocks than the
	 * one before.  Behind the last one stands the same again in each lane. */
	void (*hash)(const struct sha256_job *const job[SHA256_LANES_MAX], unsigned n);
};

/* Blocks of a message with its padding. */
static inline size_t
sha256_blocks(size_t len)
{
	return (len + 1 + 8 + SHA256_BLOCK - 1) / SHA256_BLOCK;
}

/* The rest of a message through OpenSSL: from this state, in the host's byte
 * order, behind so many of its whole blocks; NULL and 0: all of it. */
void sha256_alone(const struct sha256_job *job, const uint32_t state[8], size_t done);

/* Without code where the compiler does not aim at x86-64: available is false. */
extern const struct sha256_engine sha256_avx512, sha256_ni;

/* What the state begins with, and the constants of the 64 rounds, aligned to a
 * cache line. */
extern const uint32_t sha256_initial[8], sha256_k[64];

#endif
