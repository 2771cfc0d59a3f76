/* What getting tokens (mint/minter.h) has to do with vault and ledger. */
#include "gate/impl.h"

#include <stdio.h>
#include <string.h>

static bool
is_bound(struct gate *gate, const char *name)
{
	struct rules *rules = gate_rules(gate);
	const struct bindings *bindings = rules_bindings(rules);
	bool found = false;

	for (size_t i = 0; i < bindings_count(bindings) && !found; i++)
		found = strcmp(bindings_at(bindings, i)->secret, name) == 0;
	rules_unref(rules);
	return found;
}

/* A store without an answer does not say that it is not. */
static bool
wanted(void *arg, const char *name, uint32_t version)
{
	struct vault_error error = { VAULT_OK, "" };
	struct secret *secret = NULL;
	struct gate *gate = arg;
	uint32_t got = 0;

	if (!is_bound(gate, name))
		return false;
	if (vault_get(gate->vault, name, 0, &secret, &got, &error) != VAULT_OK)
		return error.status != VAULT_REVOKED && error.status != VAULT_MISSING;
	secret_unref(secret);
	return got == version;
}

/* What may be answered with is stored before it is used, so that must be possible: the vault's
 * file is written once to see.  And what goes out is recorded first, as everything is. */
static int
asking(void *arg, const char *name, uint32_t version, const char *host, bool renews,
    char *why, size_t cap)
{
	struct vault_error error;
	struct gate_problem unwritten;
	struct gate *gate = arg;

	if (renews && vault_raise(gate->vault, 0, &error) != VAULT_OK) {
		snprintf(why, cap, "not asked, since what it may answer could not be stored: %s",
		    error.text);
		return -1;
	}
	if (gate_secret_record(gate, gate->mint_port, &(struct secret_event){
	    .event = "asked", .name = name, .version = version, .to = host },
	    &unwritten) == 0)
		return 0;
	snprintf(why, cap, "not asked: %s", unwritten.detail);
	return -1;
}

/* The next version, unless somebody stored another; one that is there already was stored
 * when its store's answer got lost. */
static enum minter_stored
put_next(struct gate *gate, const char *name, uint32_t *version, struct slice value,
    struct vault_error *error)
{
	struct secret *secret = NULL;
	uint32_t got = 0;
	bool there;

	if (vault_get(gate->vault, name, 0, &secret, &got, error) != VAULT_OK)
		return error->status == VAULT_REVOKED || error->status == VAULT_MISSING ?
		    MINTER_STORE_NEVER : MINTER_STORE_LATER;
	there = got != *version && secret_equal(secret, value.p, value.n);
	secret_unref(secret);
	if (there) {
		*version = got;
		return MINTER_STORED;
	}
	if (got != *version)
		return MINTER_STORE_NEVER;
	return vault_put(gate->vault, name, value.p, value.n, true, version,
	    error) == VAULT_OK ? MINTER_STORED : MINTER_STORE_LATER;
}

/* What is used up goes: it is of no use to anybody but who would like to try. */
static void
erase(struct gate *gate, const char *name, uint32_t version)
{
	struct gate_problem unwritten;
	struct vault_error error;
	const enum vault_status status = vault_revoke(gate->vault, name, version, &error);

	if (status == VAULT_REVOKED || status == VAULT_MISSING)
		return;
	(void)gate_secret_record(gate, gate->mint_port, &(struct secret_event){
	    .event = "revoked", .name = name, .version = version,
	    .unerased = status != VAULT_OK }, &unwritten);
}

/* Nobody but the administration changes the current version meanwhile. */
static enum minter_stored
store(void *arg, const char *name, uint32_t *version, struct slice value, char *why,
    size_t cap)
{
	struct vault_error error = { VAULT_OK, "" };
	const uint32_t before = *version;
	struct gate_problem unwritten;
	enum minter_stored stored;
	struct gate *gate = arg;

	pthread_mutex_lock(&gate->admin);
	stored = put_next(gate, name, version, value, &error);
	if (stored == MINTER_STORED) {
		(void)gate_secret_record(gate, gate->mint_port, &(struct secret_event){
		    .event = "renewed", .name = name, .version = *version }, &unwritten);
		erase(gate, name, before);
	}
	pthread_mutex_unlock(&gate->admin);
	snprintf(why, cap, "%s", error.text);
	return stored;
}

static int
record(void *arg, const char *name, uint32_t version, const char *host,
    int64_t expires_s)
{
	struct gate_problem why;
	struct gate *gate = arg;

	return gate_secret_record(gate, gate->mint_port, &(struct secret_event){
	    .event = "minted", .name = name, .version = version, .from = host,
	    .expires_s = expires_s }, &why);
}

static void
changed(void *arg)
{
	gate_secrets_again(arg);
}

int
gate_mint(struct gate *gate, struct ledger_port *port)
{
	gate->mint_port = port;
	return minter_start(gate->secrets.minter, &(struct minter_calls){
	    .wanted = wanted, .asking = asking, .store = store, .record = record, .changed = changed,
	    .arg = gate });
}

bool
gate_secret_token(struct gate *gate, const char *name, int64_t *until_s, char *why,
    size_t cap)
{
	return gate->secrets.minter != NULL &&
	    minter_tell(gate->secrets.minter, name, until_s, why, cap);
}
