#include "vault/vault_kv.h"
#include "vault/kv_http.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <sodium.h>

#define PATH_LEN_MAX 512

struct kv {
	struct conf_kv conf;
	struct kv_link link;
};

/* MOUNT/what/PREFIX[/NAME][query] */
static void
path_of(const struct kv *kv, const char *what, const char *name,
    const char *query, char out[PATH_LEN_MAX])
{
	snprintf(out, PATH_LEN_MAX, "%s/%s/%s%s%s%s", kv->conf.mount, what,
	    kv->conf.prefix, name[0] != '\0' ? "/" : "", name, query);
}

static enum vault_status
unexpected(const struct kv *kv, long status, struct vault_error *err)
{
	return vault_fail(err, VAULT_IO, "%s: answers %ld in a way that KV "
	    "version 2 does not: is %s such an engine?", kv->conf.url, status,
	    kv->conf.mount);
}

/* RFC 3339 as Go writes it: the date and time up to the seconds, in UTC. */
static int64_t
seconds_of(const json_t *value)
{
	const char *text = json_string_value(value);
	struct tm tm = { 0 };

	if (text == NULL || strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) == NULL)
		return 0;
	return (int64_t)timegm(&tm);
}

/* --- versions of one name ---------------------------------------------- */

struct version {
	uint32_t version;
	int64_t created_s, revoked_s;
};

struct versions {
	struct version *v;	/* ascending */
	size_t n;
	uint32_t current;	/* the engine's, for check-and-set; 0: none */
};

static int
compare(const void *left, const void *right)
{
	const struct version *a = left, *b = right;

	return a->version < b->version ? -1 : a->version > b->version;
}

static bool
parse_version(const char *key, const json_t *value, struct version *out)
{
	int64_t deleted_s = seconds_of(json_object_get(value, "deletion_time"));
	char *end = NULL;
	unsigned long n = strtoul(key, &end, 10);

	if (key[0] < '1' || key[0] > '9' || *end != '\0' || n > UINT32_MAX)
		return false;
	out->version = (uint32_t)n;
	out->created_s = seconds_of(json_object_get(value, "created_time"));
	out->revoked_s = deleted_s;
	/* A time to come is an expiry that the engine will see to. */
	if (deleted_s > (int64_t)time(NULL))
		out->revoked_s = 0;
	/* A destroyed version has no time of its own. */
	if (json_is_true(json_object_get(value, "destroyed")) &&
	    out->revoked_s == 0)
		out->revoked_s = out->created_s > 0 ? out->created_s : 1;
	return true;
}

static bool
parse_versions(const json_t *data, struct versions *out)
{
	json_t *versions = json_object_get(data, "versions"), *value;
	const json_t *current = json_object_get(data, "current_version");
	json_int_t n = json_integer_value(current);
	const char *key;

	if (!json_is_object(versions) || !json_is_integer(current) || n < 0 ||
	    n > UINT32_MAX)
		return false;
	out->current = (uint32_t)n;
	out->v = calloc(json_object_size(versions) + 1, sizeof(*out->v));
	if (out->v == NULL)
		return false;
	json_object_foreach(versions, key, value)
		if (!parse_version(key, value, &out->v[out->n++]))
			return false;
	qsort(out->v, out->n, sizeof(*out->v), compare);
	return true;
}

/* None where the name is not there.  Free out->v. */
static enum vault_status
fetch_versions(const struct kv *kv, const char *name, struct versions *out,
    struct vault_error *err)
{
	struct kv_reply reply;
	enum vault_status status;
	char path[PATH_LEN_MAX];

	*out = (struct versions){ NULL, 0, 0 };
	path_of(kv, "metadata", name, "", path);
	status = kv_http(&kv->link, "GET", path, NULL, &reply, err);
	if (status == VAULT_OK && reply.status != 404 && (reply.status != 200 ||
	    !parse_versions(json_object_get(reply.body, "data"), out))) {
		free(out->v);
		*out = (struct versions){ NULL, 0, 0 };
		status = unexpected(kv, reply.status, err);
	}
	kv_reply_release(&reply);
	return status;
}

/* --- put --------------------------------------------------------------- */

/* {"options":{"cas":N},"data":{FIELD:VALUE}}; wiped and freed by the caller. */
static char *
write_body(const struct kv *kv, const void *bytes, size_t len, uint32_t cas)
{
	json_t *root = NULL, *value = json_stringn(bytes, len);
	char *text = NULL;

	if (value == NULL)
		return NULL;
	root = json_pack("{s:{s:I},s:{s:O}}", "options", "cas", (json_int_t)cas,
	    "data", kv->conf.field, value);
	if (root != NULL)
		text = json_dumps(root, JSON_COMPACT);
	json_decref(root);
	sodium_memzero((void *)(uintptr_t)json_string_value(value), len);
	json_decref(value);
	return text;
}

static enum vault_status
write_version(const struct kv *kv, const char *name, const void *bytes,
    size_t len, uint32_t cas, uint32_t *version, struct vault_error *err)
{
	char path[PATH_LEN_MAX], *body = write_body(kv, bytes, len, cas);
	struct kv_reply reply;
	enum vault_status status;
	json_int_t made;

	if (body == NULL)
		return vault_fail(err, VAULT_INVALID, "the secret is no UTF-8 "
		    "text: the KV store cannot hold it");
	path_of(kv, "data", name, "", path);
	status = kv_http(&kv->link, "POST", path, body, &reply, err);
	secret_text_free(body);
	if (status != VAULT_OK)
		return status;
	made = json_integer_value(json_object_get(json_object_get(reply.body,
	    "data"), "version"));
	if (reply.status == 400)
		status = vault_fail(err, VAULT_IO, "%s: somebody else stored "
		    "%s at the same time: look, and try again", kv->conf.url,
		    name);
	else if (reply.status != 200 || made < 1 || made > UINT32_MAX)
		status = unexpected(kv, reply.status, err);
	else
		*version = (uint32_t)made;
	kv_reply_release(&reply);
	return status;
}

static enum vault_status
kv_put(void *ctx, const char *name, const void *bytes, size_t len, bool rotate,
    uint32_t *version, struct vault_error *err)
{
	struct versions found;
	enum vault_status status;
	struct kv *kv = ctx;

	kv_link_begin(&kv->link);
	if ((status = fetch_versions(kv, name, &found, err)) != VAULT_OK)
		return status;
	free(found.v);
	if (found.current != 0 && !rotate)
		return vault_fail(err, VAULT_EXISTS, "%s is there already: "
		    "rotate it to store a new version", name);
	if (found.current == 0 && rotate)
		return vault_fail(err, VAULT_MISSING, "there is no secret %s to "
		    "rotate", name);
	return write_version(kv, name, bytes, len, found.current, version, err);
}

/* --- get --------------------------------------------------------------- */

static enum vault_status
take_value(const struct kv *kv, const char *name, const struct kv_reply *reply,
    struct secret **out, struct vault_error *err)
{
	const json_t *value = json_object_get(json_object_get(json_object_get(
	    reply->body, "data"), "data"), kv->conf.field);
	const char *text = json_string_value(value);
	size_t len = json_string_length(value);

	if (text == NULL)
		return vault_fail(err, VAULT_DAMAGED, "%s: %s has no text in its "
		    "field \"%s\"", kv->conf.url, name, kv->conf.field);
	/* Others write there too: a final newline is theirs, not the token's. */
	if (secret_check(text, &len) != NULL)
		return vault_fail(err, VAULT_DAMAGED, "%s: what %s holds is no "
		    "credential", kv->conf.url, name);
	if ((*out = secret_new(text, len)) == NULL)
		return vault_fail(err, VAULT_IO, "memory cannot be locked: "
		    "raise RLIMIT_MEMLOCK (ulimit -l)");
	return VAULT_OK;
}

static enum vault_status
fetch_value(const struct kv *kv, const char *name, uint32_t version,
    struct secret **out, struct vault_error *err)
{
	char path[PATH_LEN_MAX], query[32];
	struct kv_reply reply;
	enum vault_status status;

	snprintf(query, sizeof(query), "?version=%u", version);
	path_of(kv, "data", name, query, path);
	status = kv_http(&kv->link, "GET", path, NULL, &reply, err);
	if (status == VAULT_OK && reply.status == 404)
		status = vault_fail(err, VAULT_REVOKED, "%s version %u is "
		    "revoked", name, version);
	else if (status == VAULT_OK && reply.status != 200)
		status = unexpected(kv, reply.status, err);
	else if (status == VAULT_OK)
		status = take_value(kv, name, &reply, out, err);
	kv_reply_release(&reply);
	return status;
}

static enum vault_status
kv_get(void *ctx, const char *name, uint32_t version, struct secret **out,
    uint32_t *got, struct vault_error *err)
{
	const struct version *chosen = NULL;
	enum vault_status status;
	struct versions found;
	struct kv *kv = ctx;
	size_t i;

	kv_link_begin(&kv->link);
	if ((status = fetch_versions(kv, name, &found, err)) != VAULT_OK)
		return status;
	for (i = 0; i < found.n; i++)
		if (version == 0 || found.v[i].version == version)
			chosen = &found.v[i];
	if (found.n == 0 || (version != 0 && chosen == NULL))
		status = vault_fail(err, VAULT_MISSING, "there is no such "
		    "secret or version of %s", name);
	else if (chosen->revoked_s != 0)
		status = version == 0 ?
		    vault_current_revoked(err, name, chosen->version) :
		    vault_fail(err, VAULT_REVOKED, "%s version %u is revoked",
		    name, version);
	else
		status = fetch_value(kv, name, *got = chosen->version, out, err);
	free(found.v);
	return status;
}

/* --- revoke ------------------------------------------------------------ */

static enum vault_status
destroy(const struct kv *kv, const char *name, const json_t *versions,
    struct vault_error *err)
{
	json_t *root = json_pack("{s:O}", "versions", versions);
	char path[PATH_LEN_MAX], *body = NULL;
	enum vault_status status;
	struct kv_reply reply;

	if (root != NULL)
		body = json_dumps(root, JSON_COMPACT);
	json_decref(root);
	if (body == NULL)
		return vault_fail(err, VAULT_IO, "out of memory");
	path_of(kv, "destroy", name, "", path);
	status = kv_http(&kv->link, "PUT", path, body, &reply, err);
	if (status == VAULT_OK && reply.status != 204 && reply.status != 200)
		status = unexpected(kv, reply.status, err);
	kv_reply_release(&reply);
	free(body);
	return status;
}

static enum vault_status
kv_revoke(void *ctx, const char *name, uint32_t version,
    struct vault_error *err)
{
	json_t *doomed = json_array();
	enum vault_status status;
	struct versions found;
	size_t i, there = 0;
	struct kv *kv = ctx;

	kv_link_begin(&kv->link);
	if ((status = fetch_versions(kv, name, &found, err)) != VAULT_OK)
		goto out;
	for (i = 0; i < found.n; i++) {
		if (version != 0 && found.v[i].version != version)
			continue;
		there++;
		if (found.v[i].revoked_s == 0)
			json_array_append_new(doomed,
			    json_integer(found.v[i].version));
	}
	free(found.v);
	status = vault_revoked(err, name, there, json_array_size(doomed));
	if (status == VAULT_OK)
		status = destroy(kv, name, doomed, err);
out:
	json_decref(doomed);
	return status;
}

/* --- list -------------------------------------------------------------- */

static enum vault_status
list_name(const struct kv *kv, const char *name, void (*each)(void *arg,
    const char *name, uint32_t version, int64_t created_s, int64_t revoked_s),
    void *arg, struct vault_error *err)
{
	enum vault_status status;
	struct versions found;
	size_t i;

	/* Sub-folders ("team/") and names that are none of ours. */
	if (!vault_name_ok(name))
		return VAULT_OK;
	if ((status = fetch_versions(kv, name, &found, err)) != VAULT_OK)
		return status;
	for (i = 0; i < found.n; i++)
		each(arg, name, found.v[i].version, found.v[i].created_s,
		    found.v[i].revoked_s);
	free(found.v);
	return VAULT_OK;
}

static enum vault_status
kv_list(void *ctx, void (*each)(void *arg, const char *name, uint32_t version,
    int64_t created_s, int64_t revoked_s), void *arg, struct vault_error *err)
{
	struct kv *kv = ctx;
	struct kv_reply reply;
	enum vault_status status;
	char path[PATH_LEN_MAX];
	const char *name;
	json_t *keys;
	size_t i;

	kv_link_begin(&kv->link);
	path_of(kv, "metadata", "", "?list=true", path);
	status = kv_http(&kv->link, "GET", path, NULL, &reply, err);
	keys = json_object_get(json_object_get(reply.body, "data"), "keys");
	if (status == VAULT_OK && reply.status != 404 && !json_is_array(keys))
		status = unexpected(kv, reply.status, err);
	for (i = 0; status == VAULT_OK && i < json_array_size(keys); i++) {
		name = json_string_value(json_array_get(keys, i));
		status = list_name(kv, name, each, arg, err);
	}
	kv_reply_release(&reply);
	return status;
}

/* --- open -------------------------------------------------------------- */

/* Asking whether something changed costs as much as asking for it. */
static bool
kv_changed(void *ctx)
{
	return true;
}

static void
kv_close(void *ctx)
{
	struct kv *kv = ctx;

	kv_link_close(&kv->link);
	free(kv->conf.url);
	free(kv->conf.mount);
	free(kv->conf.prefix);
	free(kv->conf.field);
	free(kv->conf.namespace);
	free(kv->conf.token_file);
	free(kv->conf.ca_file);
	free(kv);
}

static const struct vault_ops kv_ops = {
	.backend = "kv",
	.put = kv_put,
	.get = kv_get,
	.revoke = kv_revoke,
	.list = kv_list,
	.changed = kv_changed,
	.close = kv_close,
	.waits = true
};

static bool
copy(char **out, const char *text)
{
	return text == NULL || (*out = strdup(text)) != NULL;
}

static bool
copy_conf(struct conf_kv *to, const struct conf_kv *from)
{
	to->timeout_ms = from->timeout_ms;
	return copy(&to->url, from->url) && copy(&to->mount, from->mount) &&
	    copy(&to->prefix, from->prefix) && copy(&to->field, from->field) &&
	    copy(&to->namespace, from->namespace) &&
	    copy(&to->token_file, from->token_file) &&
	    copy(&to->ca_file, from->ca_file);
}

enum vault_status
vault_kv_open(const struct conf_kv *conf, struct vault **out,
    struct vault_error *err)
{
	struct kv_reply reply = { 0, NULL };
	enum vault_status status;
	struct kv *kv;

	*out = NULL;
	if ((kv = calloc(1, sizeof(*kv))) == NULL)
		return vault_fail(err, VAULT_IO, "out of memory");
	if (!copy_conf(&kv->conf, conf) || !kv_link_open(&kv->link, &kv->conf)) {
		kv_close(kv);
		return vault_fail(err, VAULT_IO, "out of memory");
	}
	kv_link_begin(&kv->link);
	status = kv_http(&kv->link, "GET", "auth/token/lookup-self", NULL,
		    &reply, err);
	if (status == VAULT_OK && reply.status != 200)
		status = unexpected(kv, reply.status, err);
	kv_reply_release(&reply);
	if (status == VAULT_OK && (*out = vault_new(&kv_ops, kv)) == NULL)
		status = vault_fail(err, VAULT_IO, "out of memory");
	if (status != VAULT_OK)
		kv_close(kv);
	return status;
}
