/* One call of the KV engine's API; vault_kv.c knows what to ask. */
#ifndef BROKER_KV_HTTP_H
#define BROKER_KV_HTTP_H

#include "conf/conf.h"
#include "vault/vault.h"

#include <jansson.h>

#define KV_HTTP_REPLY_MAX (1024 * 1024)

/* The way to the engine.  One thread at a time. */
struct kv_link {
	const struct conf_kv *conf;
	void *curl;		/* libcurl's handle, with its connection between calls */
	int64_t until_ms;	/* end of the operation that calls belong to, see kv_link_begin */
};

/* False where out of memory. */
bool kv_link_open(struct kv_link *link, const struct conf_kv *conf);
void kv_link_close(struct kv_link *link);	/* of a zeroed one, too */

/* An operation begins: all its calls together have conf->timeout_ms. */
void kv_link_begin(struct kv_link *link);

struct kv_reply {
	long status;		/* HTTP's */
	json_t *body;		/* NULL where there is none, or it is no JSON */
};

/*
 * METHOD URL/v1/path with the token of its file; body is JSON text of the
 * caller's (wiped by it) or NULL.  VAULT_OK with any HTTP status below 500 but
 * 400 and 403, which say so in err like every failure to get an answer.
 */
enum vault_status kv_http(const struct kv_link *link, const char *method,
    const char *path, const char *body, struct kv_reply *out,
    struct vault_error *err);

/* Frees the body, and wipes the text members of every object in it first. */
void kv_reply_release(struct kv_reply *reply);

#endif
