/*
 * A secret from which short-lived tokens are got, as one secret of the vault:
 *
 *     mint:{"v":1,"flow":"...", ...}
 *
 * The value itself never goes into a request: the tokens do, which the daemon asks for
 * (minter.h) and keeps in memory alone.  Flows, and the members of each (? may be absent):
 *
 *   refresh_token       token_url client_id refresh_token client_secret? scope? client_auth?
 *                       (RFC 6749, section 6)
 *   client_credentials  token_url client_id client_secret scope? audience? client_auth?
 *                       (RFC 6749, section 4.4)
 *   jwt_bearer          token_url key issuer subject? audience? scope? key_id?
 *                       (RFC 7523, section 2.1: Google's service accounts among others)
 *   github_app          app_id installation_id key api? repositories? permissions?
 *                       (an installation's token of a GitHub App)
 *
 * and revocation_url? of all but github_app: where it is told that login and tokens are not
 * wanted any more, when the secret is revoked (RFC 7009, mint/withdraw.h).
 *
 * Addresses are https, or http to a loopback address.  key is a private key in PEM, RSA of
 * at least 2048 bits or P-256.  client_auth: "basic" or "body" (the default).
 */
#ifndef BROKER_MINT_SOURCE_H
#define BROKER_MINT_SOURCE_H

#include "slice.h"

#include <stdbool.h>

#include <jansson.h>

enum mint_flow {
	MINT_REFRESH_TOKEN,
	MINT_CLIENT_CREDENTIALS,
	MINT_JWT_BEARER,
	MINT_GITHUB_APP
};

struct mint_source {
	json_t *json;		/* owned; the texts lie in it, NULL where absent */
	enum mint_flow flow;
	const char *token_url, *revocation_url, *client_id, *client_secret, *refresh_token, *scope,
	    *audience, *key, *key_id, *issuer, *subject, *app_id, *installation_id, *api;
	bool basic;		/* the client's id and secret go into Authorization */
	const json_t *repositories, *permissions;
};

/* Has it the prefix?  Such a value is never injected, of whatever form it is. */
bool mint_source_p(struct slice value);

/* 0, and to be freed; or -1 with a message that has no byte of it. */
int mint_source_read(struct slice value, struct mint_source *out, char *err,
    size_t err_len);
void mint_source_free(struct mint_source *source);	/* wiped; a zeroed one, too */

/* The value with another refresh token in it; the caller wipes and frees it.  NULL:
 * out of memory. */
char *mint_source_with(const struct mint_source *source, struct slice refresh_token);

/* What of it is secret, each alone; the count. */
#define MINT_SOURCE_SECRETS 3
size_t mint_source_secrets(const struct mint_source *source,
    struct slice out[MINT_SOURCE_SECRETS]);

#endif
