#include "daemon/keys.h"
#include "daemon/harden.h"
#include "home.h"
#include "vault/master.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <sodium.h>

#define SEED_LEN 32

struct keys {		/* the whole of it lives in the protected page */
	uint8_t vault[MASTER_KEY_LEN], ca[MASTER_KEY_LEN],
	    ledger[MASTER_KEY_LEN], pseudonym[MASTER_KEY_LEN], seed[SEED_LEN];
};

static struct master *
open_master(const struct ask_passphrase *from, char *err, size_t err_len)
{
	struct vault_error why = { .status = VAULT_OK, .text = "" };
	struct master *master = NULL;
	struct secret *passphrase;
	char path[PATH_MAX];
	struct slice bytes;

	if (home_path("master.json", path, sizeof(path)) != 0) {
		snprintf(err, err_len, "the home's path is too long");
		return NULL;
	}
	if ((passphrase = ask_passphrase(from, err, err_len)) == NULL)
		return NULL;
	bytes = secret_bytes(passphrase);
	if (master_open(path, bytes.p, bytes.n, &master, &why) != VAULT_OK)
		snprintf(err, err_len, "%s%s", why.text,
		    vault_remedy(why.status));
	secret_unref(passphrase);
	return master;
}

struct keys *
keys_open(const struct ask_passphrase *from, bool must_lock, char *err,
    size_t err_len)
{
	struct keys *keys = harden_key_page(must_lock, err, err_len);
	struct master *master;

	if (keys == NULL)
		return NULL;
	if ((master = open_master(from, err, err_len)) == NULL) {
		keys_free(keys);
		return NULL;
	}
	master_key(master, "vault", keys->vault);
	master_key(master, "ca", keys->ca);
	master_key(master, "ledger", keys->ledger);
	master_key(master, "api", keys->pseudonym);
	master_free(master);
	return keys;
}

void
keys_free(struct keys *keys)
{
	harden_key_page_free(keys);
}

const uint8_t *
keys_vault(const struct keys *keys)
{
	return keys->vault;
}

const uint8_t *
keys_ca(const struct keys *keys)
{
	return keys->ca;
}

const uint8_t *
keys_pseudonym(const struct keys *keys)
{
	return keys->pseudonym;
}

int
keys_unseal_seed(struct keys *keys, char *err, size_t err_len)
{
	struct vault_error why = { .status = VAULT_OK, .text = "" };
	struct secret *seed = NULL;
	char path[PATH_MAX];
	struct slice bytes;
	int rc = -1;

	if (home_path("ledger/seed", path, sizeof(path)) != 0) {
		snprintf(err, err_len, "the home's path is too long");
		return -1;
	}
	if (sealed_read(path, keys->ledger, KEYS_SEED_LABEL, &seed,
	    &why) != VAULT_OK) {
		snprintf(err, err_len, "ledger key: %s; restore it from a copy, or "
		    "begin another ledger: countersign ledger restart-origin",
		    why.text);
		return -1;
	}
	bytes = secret_bytes(seed);
	if (bytes.n == SEED_LEN) {
		memcpy(keys->seed, bytes.p, SEED_LEN);
		rc = 0;
	} else {
		snprintf(err, err_len, "ledger key: %s has the wrong length",
		    path);
	}
	secret_unref(seed);
	return rc;
}

const uint8_t *
keys_seed(const struct keys *keys)
{
	return keys->seed;
}

const uint8_t *
keys_ledger(const struct keys *keys)
{
	return keys->ledger;
}

void
keys_forget_ledger(struct keys *keys)
{
	sodium_memzero(keys->seed, sizeof(keys->seed));
	sodium_memzero(keys->ledger, sizeof(keys->ledger));
}
