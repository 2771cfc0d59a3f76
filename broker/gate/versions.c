#include "gate/versions.h"

#include "secret_parts.h"

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

struct giving {
	const char *name;
	uint32_t version;
	struct secret *whole;
	versions_each_one *each;
	void *arg;
};

static bool
give_part(void *arg, struct slice part)
{
	const struct giving *giving = arg;
	struct secret *secret;

	if (part.p == secret_bytes(giving->whole).p)
		secret = secret_ref(giving->whole);
	else if ((secret = secret_new(part.p, part.n)) == NULL)
		return false;
	giving->each(giving->arg, giving->name, giving->version, secret);
	secret_unref(secret);
	return true;
}

bool
versions_one(const char *name, uint32_t version, struct secret *secret,
    versions_each_one *each, void *arg)
{
	struct giving giving = { name, version, secret, each, arg };

	return secret_parts(secret_bytes(secret), give_part, &giving);
}

/* What was revoked meanwhile is gone; what else cannot be had is missing. */
static bool
give(struct vault *vault, const struct version *one, versions_each_one *each,
    void *arg, struct vault_error *error)
{
	struct secret *secret = NULL;
	enum vault_status status;
	uint32_t got;
	bool given;

	status = vault_get(vault, one->name, one->version, &secret, &got, error);
	if (status != VAULT_OK)
		return status == VAULT_REVOKED || status == VAULT_MISSING;
	given = versions_one(one->name, one->version, secret, each, arg);
	secret_unref(secret);
	if (!given)
		snprintf(error->text, sizeof(error->text), "out of memory");
	return given;
}

static bool
missing(struct versions_told *told, const char *why)
{
	if (told->why[0] == '\0')
		snprintf(told->why, sizeof(told->why), "%s", why);
	return false;
}

bool
versions_each(struct vault *vault, versions_each_one *each, void *arg,
    struct versions_told *told)
{
	struct listing listing = { .n = 0 };
	struct versions_told here;
	struct vault_error error;
	bool complete = true;

	told = told != NULL ? told : &here;
	told->why[0] = '\0';
	if (vault_list(vault, note_one, &listing, &error) != VAULT_OK)
		complete = missing(told, error.text);
	else if (listing.failed)
		complete = missing(told, "out of memory");
	told->listed = listing.n;
	for (size_t i = 0; i < listing.n; i++)
		if (!give(vault, &listing.all[i], each, arg, &error))
			complete = missing(told, error.text);
	free(listing.all);
	return complete;
}
