#include "gate/versions.h"

#include "aws_keys.h"

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

bool
versions_one(const char *name, uint32_t version, struct secret *secret,
    versions_each_one *each, void *arg)
{
	struct slice value = secret_bytes(secret), parts[AWS_KEYS_SECRETS];
	size_t n = aws_keys_secrets(value, parts);

	if (n == 1 && parts[0].p == value.p) {
		each(arg, name, version, secret);
		return true;
	}
	for (size_t i = 0; i < n; i++) {
		struct secret *part = secret_new(parts[i].p, parts[i].n);

		if (part == NULL)
			return false;
		each(arg, name, version, part);
		secret_unref(part);
	}
	return true;
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
