/* What a store said when it was listed: kept of one that may have no answer. */
#ifndef BROKER_VAULT_LISTING_H
#define BROKER_VAULT_LISTING_H

#include "vault/vault.h"

struct listing {
	struct listed {
		char name[VAULT_NAME_MAX + 1];
		uint32_t version;
		int64_t created_s, revoked_s;
	} *all;
	size_t n, cap;
	bool failed;		/* out of memory: there is more */
};

void listing_add(struct listing *listing, const char *name, uint32_t version,
    int64_t created_s, int64_t revoked_s);
/* That version is revoked now, or for 0 all of the name. */
void listing_revoke(struct listing *listing, const char *name, uint32_t version,
    int64_t now_s);
void listing_copy(struct listing *to, const struct listing *from);
void listing_free(struct listing *listing);

#endif
