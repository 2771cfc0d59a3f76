#include "gate/withdraw.h"

#include "gate/impl.h"
#include "log.h"
#include "mint/fetch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gate_login {
	char name[VAULT_NAME_MAX + 1], host[MINT_HOST_MAX];
	uint32_t version;
	struct mint_source source;
	char *token;			/* NULL: none is good now */
};

/* The minter has what counts, where it is in use; the vault what is not. */
static struct secret *
login_of(struct gate *gate, const char *name, uint32_t version, uint32_t *current,
    struct secret **token)
{
	struct secret *stored = NULL, *source = NULL;
	struct vault_error error;

	if (vault_get_now(gate->vault, name, 0, &stored, current, &error) == VAULT_OK &&
	    version != 0 && version != *current) {
		secret_unref(stored);
		return NULL;
	}
	minter_login(gate->secrets.minter, name, version, &source, token);
	if (source == NULL)
		return stored;
	secret_unref(stored);
	return source;
}

static char *
copy_token(struct secret *token)
{
	return token == NULL ? NULL : strndup(secret_bytes(token).p, secret_bytes(token).n);
}

struct gate_login *
gate_login_take(struct gate *gate, const char *name, uint32_t version)
{
	struct gate_login *login = NULL;
	struct secret *source, *token = NULL;
	uint32_t current = 0;
	char unshown[256];

	if (gate->secrets.minter == NULL ||
	    (source = login_of(gate, name, version, &current, &token)) == NULL)
		return NULL;
	if (mint_source_p(secret_bytes(source)) &&
	    (login = calloc(1, sizeof(*login))) != NULL &&
	    mint_source_read(secret_bytes(source), &login->source, unshown, sizeof(unshown)) == 0 &&
	    login->source.revocation_url != NULL) {
		snprintf(login->name, sizeof(login->name), "%s", name);
		login->version = version != 0 ? version : current;
		login->token = copy_token(token);
		mint_fetch_name(login->source.revocation_url, login->host);
	}
	secret_unref(source);
	secret_unref(token);
	/* host "": it has not the form, or no address. */
	if (login != NULL && (login->host[0] == '\0' || (login->source.refresh_token == NULL &&
	    login->token == NULL))) {
		gate_login_free(login);
		return NULL;
	}
	return login;
}

static int
record(struct gate *gate, struct ledger_port *port, const struct gate_login *login,
    const char *event, const char *error)
{
	struct gate_problem unwritten;

	return gate_secret_record(gate, port, &(struct secret_event){ .event = event,
	    .name = login->name, .version = login->version, .to = login->host,
	    .error = error }, &unwritten);
}

/* The login first: a service that knows its tokens ends them with it. */
void
gate_login_withdraw(struct gate *gate, struct ledger_port *port,
    const struct gate_login *login, char host[GATE_NAME_MAX], char why[GATE_WHY_MAX])
{
	const struct conf *conf = minter_conf(gate->secrets.minter);
	const char *refresh_token = login->source.refresh_token;
	int rv = 0;

	snprintf(host, GATE_NAME_MAX, "%s", login->host);
	why[0] = '\0';
	if (record(gate, port, login, "withdrawing", NULL) != 0) {
		snprintf(why, GATE_WHY_MAX, "no record of it could be written");
		return;
	}
	if (refresh_token != NULL)
		rv = mint_fetch_withdraw(conf, &login->source, refresh_token,
		    "refresh_token", why, GATE_WHY_MAX);
	if (rv == 0 && login->token != NULL)
		rv = mint_fetch_withdraw(conf, &login->source, login->token,
		    "access_token", why, GATE_WHY_MAX);
	if (rv == 0)
		why[0] = '\0';
	else
		log_event(LOG_WARNING, "not_withdrawn", "%s: %s was not told that it is "
		    "revoked: %s", login->name, login->host, why);
	(void)record(gate, port, login, "withdrawn", rv == 0 ? NULL : why);
}

void
gate_login_free(struct gate_login *login)
{
	if (login == NULL)
		return;
	mint_source_free(&login->source);
	secret_text_free(login->token);
	free(login);
}
