#include "gate/versions.h"

#include <stdio.h>
#include <stdlib.h>

struct version {
	char name[VAULT_NAME_MAX + 1];
	uint32_t version;
};

/* The vault is locked while it lists: what is listed is fetched afterwards. */
struct listing {
	struct version *all;
	size_t n, cap;
	bool failed;
};

static void
note_one(void *arg, const struct vault_entry *entry)
{
	struct listing *listing = arg;
	struct version *grown;
	size_t cap;

	if (entry->revoked_s != 0 || listing->failed)
		return;
	if (listing->n == listing->cap) {
		cap = listing->cap == 0 ? 64 : 2 * listing->cap;
		grown = reallocarray(listing->all, cap, sizeof(*grown));
		if (grown == NULL) {
			listing->failed = true;
			return;
		}
		listing->all = grown;
		listing->cap = cap;
	}
	snprintf(listing->all[listing->n].name, VAULT_NAME_MAX + 1, "%s",
	    entry->name);
	listing->all[listing->n++].version = entry->version;
}

/* What was revoked meanwhile is gone; what else cannot be had is missing. */
static bool
give(struct vault *vault, const struct version *one, versions_each_one *each,
    void *arg)
{
	struct secret *secret = NULL;
	struct vault_error error;
	enum vault_status status;
	uint32_t got;

	status = vault_get(vault, one->name, one->version, &secret, &got, &error);
	if (status != VAULT_OK)
		return status == VAULT_REVOKED || status == VAULT_MISSING;
	each(arg, one->name, one->version, secret);
	secret_unref(secret);
	return true;
}

bool
versions_each(struct vault *vault, versions_each_one *each, void *arg)
{
	struct listing listing = { .n = 0 };
	struct vault_error error;
	bool complete;

	complete = vault_list(vault, note_one, &listing, &error) == VAULT_OK &&
	    !listing.failed;
	for (size_t i = 0; i < listing.n; i++)
		complete = give(vault, &listing.all[i], each, arg) && complete;
	free(listing.all);
	return complete;
}
