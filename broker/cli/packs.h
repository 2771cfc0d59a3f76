/*
 * HOME/packs/<64 hex>: every policy pack that was in force, kept by the daemon
 * under its digest, so that a run's evidence can hold the rules it was decided by.
 */
#ifndef BROKER_CLI_PACKS_H
#define BROKER_CLI_PACKS_H

#include "policy/policy.h"

#include <stddef.h>
#include <time.h>

#define PACKS_HEX_LEN 64

struct packs_kept {
	char digest[POLICY_DIGEST_LEN + 1];	/* "sha256:<64 hex>" */
	char dir[4096];
};

/* Keep the pack of that digest again, where packs/ has lost it and pack/ is it. */
void packs_again(const char *digest);

/* The packs that a run may have been decided by: the one named, and those kept
 * since.  How many of at most max; *out is to be freed. */
size_t packs_since(const char *digest, time_t since, size_t max,
    struct packs_kept **out);

#endif
