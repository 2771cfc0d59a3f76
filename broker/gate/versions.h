/* Every version of every secret that is not revoked: an old one, and one without a
 * binding, is a secret too. */
#ifndef BROKER_GATE_VERSIONS_H
#define BROKER_GATE_VERSIONS_H

#include "vault/vault.h"

struct versions_told {
	size_t listed;			/* how many there are, where that is known */
	char why[VAULT_ERR_MAX];	/* the first that could not be had; or "" */
};

/*
 * Each once (in its parts, secret_parts.h), during the call; who
 * keeps the secret references it.  False where the vault did not give them all: what
 * was revoked meanwhile is not missed.  told may be NULL.
 */
typedef void versions_each_one(void *arg, const char *name, uint32_t version,
    struct secret *secret);
bool versions_each(struct vault *vault, versions_each_one *each, void *arg,
    struct versions_told *told);

/* The same of one; false where out of memory. */
bool versions_one(const char *name, uint32_t version, struct secret *secret,
    versions_each_one *each, void *arg);

#endif
