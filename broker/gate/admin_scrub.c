/* What tells a real secret among the values of an environment. */
#include "gate/admin.h"

#include "gate/impl.h"
#include "gate/secrets.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>

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

/* Every version that is not revoked: an old one is a secret too. */
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
fetch_version(struct vault *vault, const struct version *one,
    gate_version_each *each, void *arg)
{
	struct secret *secret = NULL;
	struct vault_error error;
	enum vault_status status;
	uint32_t got;

	status = vault_get(vault, one->name, one->version, &secret, &got, &error);
	if (status != VAULT_OK)
		return status == VAULT_REVOKED || status == VAULT_MISSING;
	each(arg, one->name, one->version, secret_bytes(secret));
	secret_unref(secret);
	return true;
}

bool
gate_each_version(struct gate *gate, gate_version_each *each, void *arg)
{
	struct listing listing = { .n = 0 };
	struct vault_error error;
	bool complete;

	complete = vault_list(gate->vault, note_one, &listing, &error) ==
	    VAULT_OK && !listing.failed;
	for (size_t i = 0; i < listing.n; i++)
		complete = fetch_version(gate->vault, &listing.all[i], each, arg) &&
		    complete;
	free(listing.all);
	return complete;
}

/* --- tags for the command line --------------------------------------- */

struct tagging {
	const uint8_t *key;
	gate_scrub_each *each;
	void *arg;
};

static void
tag_one(void *arg, struct slice secret)
{
	const struct tagging *tagging = arg;
	uint8_t tag[KEYED_LEN];

	keyed_digest(tagging->key, secret, tag);
	tagging->each(tagging->arg, tag, secret.n);
}

static void
tag_version(void *arg, const char *name, uint32_t version, struct slice secret)
{
	tag_one(arg, secret);
}

bool
gate_scrub_tags(struct gate *gate, uint8_t key[32], gate_scrub_each *each,
    void *arg)
{
	struct tagging tagging = { key, each, arg };
	bool complete;

	randombytes_buf(key, KEYED_LEN);
	complete = gate_each_version(gate, tag_version, &tagging);
	/* Those in use are known even where the store does not answer now. */
	if (!complete)
		secrets_each(&gate->secrets, tag_one, &tagging);
	return complete;
}
