/* One call of the KV engine's API; vault_kv.c knows what to ask. */
#ifndef BROKER_KV_HTTP_H
#define BROKER_KV_HTTP_H

#include "conf/conf.h"
#include "vault/vault.h"

#include <jansson.h>

#define KV_HTTP_REPLY_MAX (1024 * 1024)

struct kv_reply {
	long status;		/* HTTP's */
	json_t *body;		/* NULL where there is none, or it is no JSON */
};

/*
 * METHOD URL/v1/path with the token of its file; body is JSON text of the
 * caller's (wiped by it) or NULL.  VAULT_OK with any HTTP status below 500 but
 * 400 and 403, which say so in err like every failure to get an answer.
 */
enum vault_status kv_http(const struct conf_kv *conf, const char *method,
    const char *path, const char *body, struct kv_reply *out,
    struct vault_error *err);

/* Frees the body, and wipes the text members of every object in it first. */
void kv_reply_release(struct kv_reply *reply);

#endif
