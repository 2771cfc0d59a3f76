/* How an engine is built.  Private to sha256. */
#ifndef LEDGER_SHA256_ENGINE_H
#define LEDGER_SHA256_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHA256_BLOCK 64
#define SHA256_LANES_MAX 16

/* Word i of lane j's state is word[i][j], in the host's byte order. */
struct sha256_state {
	uint32_t word[8][SHA256_LANES_MAX];
};

struct sha256_engine {
	const char *name;
	unsigned lanes;
	unsigned worth;		/* with fewer lanes at work one by one is quicker */
	bool (*available)(void);
	/* Compress count blocks of each lane, which lie one after the other. */
	void (*blocks)(struct sha256_state *state,
	    const uint8_t *const data[SHA256_LANES_MAX], size_t count);
	/* Each lane's state as 32 bytes; NULL: nothing quicker than one by one. */
	void (*digests)(const struct sha256_state *state,
	    uint8_t *const out[SHA256_LANES_MAX]);
};

/* Without code where the compiler does not aim at x86-64: available is false. */
extern const struct sha256_engine sha256_avx512, sha256_ni;

/* The constants of the 64 rounds, aligned to a cache line. */
extern const uint32_t sha256_k[64];

#endif
