/*
 * SHA-256 (FIPS 180-4) over many short messages at once.
 *
 * A ledger's lines hash independently, and so do the nodes of one level of its
 * tree.  A processor that is given one message waits most of the time for the
 * round before; given several it does not.  The engine is chosen once, by what
 * the processor has:
 *
 *   avx512    sixteen messages side by side in AVX-512 registers
 *   sha-ni    two messages through the SHA extensions
 *   openssl   one message at a time, anywhere
 *
 * All give the same digests (tests/unit/test_sha256.c holds each against
 * OpenSSL at every length).  Any thread.
 */
#ifndef LEDGER_SHA256_H
#define LEDGER_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHA256_LEN 32

/* A message, read where it lies and not a byte beyond. */
struct sha256_job {
	const void *data;
	size_t len;
	uint8_t *out;	/* SHA256_LEN bytes, apart from every message of the call */
};

/* All of them, in whatever order; best where many have about the same length. */
void sha256_jobs(const struct sha256_job *jobs, size_t count);

/* The engine in use.  sha256_use changes it for the whole process, for tests
 * and measurements: false where this processor or build has none of that
 * name.  NULL: the best one. */
const char *sha256_engine(void);
bool sha256_use(const char *engine);

#endif
