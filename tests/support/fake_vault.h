/* A store in memory behind vault.h, for tests. */
#ifndef TESTS_FAKE_VAULT_H
#define TESTS_FAKE_VAULT_H

#include "vault/vault.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fake_entry {
	char name[VAULT_NAME_MAX + 1];
	uint32_t version;
	char bytes[256];
	size_t len;
	bool revoked;
};

static struct fake_entry fake_entries[64];
static size_t fake_n_entries;
static void (*fake_vault_asked)(void);	/* called within each put and get */
static bool fake_vault_waits;		/* the next one: as another machine's does */
static unsigned fake_vault_lists;	/* how often it was listed */
static bool fake_vault_down;		/* none has an answer */

static enum vault_status
fake_error(struct vault_error *err, enum vault_status status)
{
	err->status = status;
	snprintf(err->text, sizeof(err->text), "fake store");
	return status;
}

static enum vault_status
fake_vault_put(void *ctx, const char *name, const void *bytes, size_t len,
    bool rotate, uint32_t *version, struct vault_error *err)
{
	struct fake_entry *entry = &fake_entries[fake_n_entries];
	bool known = false;

	if (fake_vault_asked != NULL)
		fake_vault_asked();
	for (size_t i = 0; i < fake_n_entries; i++)
		known = known || strcmp(fake_entries[i].name, name) == 0;
	if (known != rotate)
		return fake_error(err, known ? VAULT_EXISTS : VAULT_MISSING);
	if (fake_n_entries == 64 || len > sizeof(entry->bytes))
		return fake_error(err, VAULT_IO);
	*version = 1;
	for (size_t i = 0; i < fake_n_entries; i++)
		if (strcmp(fake_entries[i].name, name) == 0)
			*version = fake_entries[i].version + 1;
	snprintf(entry->name, sizeof(entry->name), "%s", name);
	memcpy(entry->bytes, bytes, len);
	entry->len = len;
	entry->version = *version;
	entry->revoked = false;
	fake_n_entries++;
	return VAULT_OK;
}

static enum vault_status
fake_vault_get(void *ctx, const char *name, uint32_t version,
    struct secret **out, uint32_t *got, struct vault_error *err)
{
	const struct fake_entry *found = NULL;
	bool known = false;

	if (fake_vault_asked != NULL)
		fake_vault_asked();
	if (fake_vault_down)
		return fake_error(err, VAULT_IO);
	for (size_t i = 0; i < fake_n_entries; i++)
		if (strcmp(fake_entries[i].name, name) == 0 &&
		    (version == 0 || fake_entries[i].version == version)) {
			known = true;
			if (!fake_entries[i].revoked)
				found = &fake_entries[i];
		}
	if (found == NULL)
		return fake_error(err, known ? VAULT_REVOKED : VAULT_MISSING);
	*out = secret_new(found->bytes, found->len);
	*got = found->version;
	return *out != NULL ? VAULT_OK : fake_error(err, VAULT_IO);
}

static enum vault_status
fake_vault_revoke(void *ctx, const char *name, uint32_t version,
    struct vault_error *err)
{
	bool known = false;

	for (size_t i = 0; i < fake_n_entries; i++)
		if (strcmp(fake_entries[i].name, name) == 0 &&
		    (version == 0 || fake_entries[i].version == version))
			known = fake_entries[i].revoked = true;
	return known ? VAULT_OK : fake_error(err, VAULT_MISSING);
}

static enum vault_status
fake_vault_list(void *ctx, void (*each)(void *arg, const char *name,
    uint32_t version, int64_t created_s, int64_t revoked_s), void *arg,
    struct vault_error *err)
{
	fake_vault_lists++;
	for (size_t i = 0; i < fake_n_entries; i++)
		each(arg, fake_entries[i].name, fake_entries[i].version,
		    1700000000, fake_entries[i].revoked ? 1700000001 : 0);
	return VAULT_OK;
}

static void
fake_vault_close(void *ctx)
{
}

static inline struct vault *
fake_vault_new(void)
{
	static struct vault_ops ops = { "fake", fake_vault_put,
	    fake_vault_get, fake_vault_revoke, fake_vault_list, NULL,
	    fake_vault_close, NULL, NULL, false };

	fake_n_entries = 0;
	fake_vault_asked = NULL;
	fake_vault_down = false;
	ops.waits = fake_vault_waits;
	return vault_new(&ops, NULL);
}

#endif
