#include "vault/vault_secretservice.h"
#include "vault/keyring_wait.h"
#include "private_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <libsecret/secret.h>

static const SecretSchema schema = {
	.name = "org.countersign.Secret",
	.flags = SECRET_SCHEMA_NONE,
	.attributes = {
		{ "application", SECRET_SCHEMA_ATTRIBUTE_STRING },
		{ "vault", SECRET_SCHEMA_ATTRIBUTE_STRING },
		{ "name", SECRET_SCHEMA_ATTRIBUTE_STRING },
		{ "version", SECRET_SCHEMA_ATTRIBUTE_STRING },
		{ "revoked", SECRET_SCHEMA_ATTRIBUTE_STRING },
		{ NULL, 0 },
	},
};

struct store {
	char *path;
	struct keyring_wait wait;	/* of the operation that is under way */
};

/* One version, put together from its item and, if revoked, its mark. */
struct version {
	char name[VAULT_NAME_MAX + 1];
	uint32_t version;
	int64_t created_s, revoked_s;
	SecretItem *item;	/* referenced; NULL where only a mark is left */
};

struct versions {
	struct version *v;
	size_t n;
};

/* Takes over error.  libsecret's words name objects, never secrets. */
static enum vault_status
fail(struct vault_error *err, const char *what, GError *error)
{
	if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
		vault_fail(err, VAULT_IO, "Secret Service: %s: no answer within %d s: "
		    "is the keyring, or its bus, stopped or stuck?", what,
		    KEYRING_WAIT_S);
	else
		vault_fail(err, VAULT_IO, "Secret Service: %s: %s", what,
		    error != NULL ? error->message : "no reason given");
	g_clear_error(&error);
	secret_service_disconnect();	/* the next call begins anew */
	return VAULT_IO;
}

/* The service, with the default collection unlocked; NULL with err filled.
 * The caller unreferences. */
static SecretService *
connect_unlocked(const struct store *store, struct vault_error *err)
{
	GCancellable *cancel = store->wait.cancel;
	SecretCollection *collection = NULL;
	SecretService *service;
	GDBusConnection *bus;
	GError *error = NULL;
	gboolean locked;

	if ((bus = g_bus_get_sync(G_BUS_TYPE_SESSION, cancel, &error)) == NULL) {
		fail(err, "no session bus, which the desktop's login starts "
		    "(elsewhere `dbus-run-session`)", error);
		return NULL;
	}
	/* GDBus would end this process together with the bus. */
	g_dbus_connection_set_exit_on_close(bus, FALSE);
	g_object_unref(bus);
	service = secret_service_get_sync(SECRET_SERVICE_OPEN_SESSION,
	    cancel, &error);
	if (service == NULL) {
		fail(err, "nobody provides it", error);
		return NULL;
	}
	collection = secret_collection_for_alias_sync(service,
	    SECRET_COLLECTION_DEFAULT, SECRET_COLLECTION_NONE, cancel, &error);
	locked = collection == NULL || secret_collection_get_locked(collection);
	if (error != NULL)
		fail(err, "the default keyring", error);
	else if (collection == NULL)
		vault_fail(err, VAULT_IO, "Secret Service: there is no default "
		    "keyring: make one in the desktop's settings");
	else if (locked)
		vault_fail(err, VAULT_IO, "Secret Service: the default keyring "
		    "is locked: unlock it first");
	g_clear_object(&collection);
	if (locked)
		g_clear_object(&service);
	return service;
}

/* --- attributes -------------------------------------------------------- */

static GHashTable *
attributes_of(const struct store *store, const char *name, const char *version,
    const char *revoked)
{
	GHashTable *table = g_hash_table_new(g_str_hash, g_str_equal);
	const struct { const char *key, *value; } all[] = {
		{ "application", "countersign" }, { "vault", store->path },
		{ "name", name }, { "version", version }, { "revoked", revoked },
	};
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].value != NULL)
			g_hash_table_insert(table, (gpointer)(uintptr_t)all[i].key,
			    (gpointer)(uintptr_t)all[i].value);
	return table;
}

/* Decimal digits up to most, nothing else. */
static bool
number(const char *text, uint64_t most, uint64_t *out)
{
	uint64_t n = 0;

	if (text == NULL || *text == '\0')
		return false;
	for (; *text != '\0'; text++) {
		if (*text < '0' || *text > '9' || n > most / 10)
			return false;
		n = n * 10 + (uint64_t)(*text - '0');
	}
	*out = n;
	return n <= most;
}

/* What an item's attributes say.  False where they are not as we write them. */
static bool
describe(SecretItem *item, struct version *out)
{
	GHashTable *table = secret_item_get_attributes(item);
	const char *name = g_hash_table_lookup(table, "name");
	const char *revoked = g_hash_table_lookup(table, "revoked");
	uint64_t version = 0, revoked_s = 0;
	bool ok;

	*out = (struct version){ 0 };
	ok = vault_name_ok(name) && number(g_hash_table_lookup(table, "version"),
	    UINT32_MAX, &version) && version > 0 &&
	    (revoked == NULL || (number(revoked, INT64_MAX, &revoked_s) &&
	    revoked_s > 0));
	if (ok) {
		snprintf(out->name, sizeof(out->name), "%s", name);
		out->version = (uint32_t)version;
		out->revoked_s = (int64_t)revoked_s;
		out->created_s = (int64_t)secret_item_get_created(item);
	}
	if (ok && revoked == NULL)
		out->item = g_object_ref(item);
	g_hash_table_unref(table);
	return ok;
}

/* --- finding ----------------------------------------------------------- */

static void
versions_free(struct versions *versions)
{
	size_t i;

	for (i = 0; i < versions->n; i++)
		g_clear_object(&versions->v[i].item);
	free(versions->v);
	*versions = (struct versions){ NULL, 0 };
}

static int
compare(const void *left, const void *right)
{
	const struct version *a = left, *b = right;
	int order = strcmp(a->name, b->name);

	if (order != 0)
		return order;
	return a->version < b->version ? -1 : a->version > b->version;
}

/* One entry for each version: an item and its mark become one.  False for two
 * items of one version: somebody else wrote one of them. */
static bool
merge(struct versions *versions)
{
	struct version *v = versions->v;
	size_t i, kept = 0;

	for (i = 0; i < versions->n; i++) {
		if (kept == 0 || compare(&v[kept - 1], &v[i]) != 0) {
			v[kept] = v[i];
			if (kept++ != i)
				v[i].item = NULL;	/* moved */
			continue;
		}
		if (v[kept - 1].item != NULL && v[i].item != NULL)
			return false;
		if (v[i].item != NULL) {
			v[kept - 1].item = v[i].item;
			v[kept - 1].created_s = v[i].created_s;
		}
		if (v[i].revoked_s > v[kept - 1].revoked_s)
			v[kept - 1].revoked_s = v[i].revoked_s;
		v[i].item = NULL;
	}
	versions->n = kept;
	return true;
}

/* Every version of name (NULL: of all), in order. */
static enum vault_status
find(const struct store *store, SecretService *service, const char *name,
    struct versions *out, struct vault_error *err)
{
	GHashTable *attributes = attributes_of(store, name, NULL, NULL);
	GError *error = NULL;
	GList *items, *at;
	bool good = true;

	*out = (struct versions){ NULL, 0 };
	items = secret_service_search_sync(service, &schema, attributes,
	    SECRET_SEARCH_ALL, store->wait.cancel, &error);
	g_hash_table_unref(attributes);
	if (error != NULL)
		return fail(err, "search", error);
	out->v = calloc(g_list_length(items) + 1, sizeof(*out->v));
	for (at = items; at != NULL && good && out->v != NULL; at = at->next) {
		good = describe(at->data, &out->v[out->n]);
		out->n += good;
	}
	g_list_free_full(items, g_object_unref);
	if (out->v == NULL)
		return vault_fail(err, VAULT_IO, "out of memory");
	qsort(out->v, out->n, sizeof(*out->v), compare);
	if (good && merge(out))
		return VAULT_OK;
	versions_free(out);
	return vault_fail(err, VAULT_DAMAGED, "Secret Service: an item that "
	    "claims to be countersign's was not written by it");
}

/* --- writing ----------------------------------------------------------- */

static enum vault_status
store_item(const struct store *store, SecretService *service, const char *name,
    uint32_t version, int64_t revoked_s, const void *bytes, size_t len,
    struct vault_error *err)
{
	char version_text[16], revoked_text[24], label[128];
	GHashTable *attributes;
	SecretValue *value;
	GError *error = NULL;
	gboolean ok;

	snprintf(version_text, sizeof(version_text), "%u", version);
	snprintf(revoked_text, sizeof(revoked_text), "%lld",
	    (long long)revoked_s);
	snprintf(label, sizeof(label), "countersign: %s, version %u%s", name,
	    version, revoked_s != 0 ? ", revoked" : "");
	attributes = attributes_of(store, name, version_text,
	    revoked_s != 0 ? revoked_text : NULL);
	value = secret_value_new(bytes, (gssize)len, "application/octet-stream");
	ok = secret_service_store_sync(service, &schema, attributes,
	    SECRET_COLLECTION_DEFAULT, label, value, store->wait.cancel, &error);
	secret_value_unref(value);
	g_hash_table_unref(attributes);
	return ok ? VAULT_OK : fail(err, "store", error);
}

static enum vault_status
put_next(const struct store *store, SecretService *service, const char *name,
    const void *bytes, size_t len, bool rotate, uint32_t *version,
    struct vault_error *err)
{
	struct versions found;
	enum vault_status status;
	uint32_t last;

	if ((status = find(store, service, name, &found, err)) != VAULT_OK)
		return status;
	last = found.n > 0 ? found.v[found.n - 1].version : 0;
	versions_free(&found);
	if (last != 0 && !rotate)
		return vault_fail(err, VAULT_EXISTS, "%s is there already: "
		    "rotate it to store a new version", name);
	if (last == 0 && rotate)
		return vault_fail(err, VAULT_MISSING, "there is no secret %s to "
		    "rotate", name);
	if (last == UINT32_MAX)
		return vault_fail(err, VAULT_INVALID, "%s has no version left",
		    name);
	status = store_item(store, service, name, last + 1, 0, bytes, len, err);
	if (status == VAULT_OK)
		*version = last + 1;
	return status;
}

/* The mark first: whatever happens then, the version is revoked. */
static enum vault_status
revoke_one(const struct store *store, SecretService *service,
    const struct version *version, struct vault_error *err)
{
	enum vault_status status;
	GError *error = NULL;

	status = store_item(store, service, version->name, version->version,
	    (int64_t)time(NULL), "", 0, err);
	if (status != VAULT_OK || version->item == NULL)
		return status;
	if (!secret_item_delete_sync(version->item, store->wait.cancel, &error))
		return fail(err, "marked revoked, but the keyring keeps the "
		    "item", error);
	return VAULT_OK;
}

static enum vault_status
revoke_found(const struct store *store, SecretService *service,
    const char *name, uint32_t version, struct vault_error *err)
{
	enum vault_status status;
	struct versions found;
	size_t i, there = 0, done = 0;

	if ((status = find(store, service, name, &found, err)) != VAULT_OK)
		return status;
	for (i = 0; i < found.n && status == VAULT_OK; i++) {
		if (version != 0 && found.v[i].version != version)
			continue;
		there++;
		/* An item beside its mark is a revocation that was cut off. */
		if (found.v[i].revoked_s != 0 && found.v[i].item == NULL)
			continue;
		done++;
		status = revoke_one(store, service, &found.v[i], err);
	}
	versions_free(&found);
	if (status != VAULT_OK)
		return status;
	return vault_revoked(err, name, there, done);
}

/* --- struct vault_ops -------------------------------------------------- */

/* An operation begins: NULL with err filled, and it is over. */
static SecretService *
begin(struct store *store, struct vault_error *err)
{
	SecretService *service;

	keyring_wait_begin(&store->wait);
	if ((service = connect_unlocked(store, err)) == NULL)
		keyring_wait_end(&store->wait);
	return service;
}

static void
end(struct store *store, SecretService *service)
{
	g_object_unref(service);
	keyring_wait_end(&store->wait);
}

static enum vault_status
take_lock(const struct store *store, int *lock, struct vault_error *err)
{
	if ((*lock = private_file_lock(store->path, true)) >= 0)
		return VAULT_OK;
	return vault_fail(err, VAULT_IO, "%s.lock: %s", store->path,
	    strerror(errno));
}

static enum vault_status
service_put(void *ctx, const char *name, const void *bytes, size_t len,
    bool rotate, uint32_t *version, struct vault_error *err)
{
	SecretService *service = begin(ctx, err);
	enum vault_status status;
	int lock = -1;

	if (service == NULL)
		return VAULT_IO;
	if ((status = take_lock(ctx, &lock, err)) == VAULT_OK)
		status = put_next(ctx, service, name, bytes, len, rotate, version,
		    err);
	if (lock >= 0)
		close(lock);
	end(ctx, service);
	return status;
}

static enum vault_status
service_revoke(void *ctx, const char *name, uint32_t version,
    struct vault_error *err)
{
	SecretService *service = begin(ctx, err);
	enum vault_status status;
	int lock = -1;

	if (service == NULL)
		return VAULT_IO;
	if ((status = take_lock(ctx, &lock, err)) == VAULT_OK)
		status = revoke_found(ctx, service, name, version, err);
	if (lock >= 0)
		close(lock);
	end(ctx, service);
	return status;
}

/* The one that is asked for; NULL with the reason. */
static const struct version *
choose(const struct versions *found, const char *name, uint32_t version,
    enum vault_status *status, struct vault_error *err)
{
	const struct version *chosen = NULL;
	size_t i;

	for (i = 0; i < found->n; i++)
		if (version == 0 || found->v[i].version == version)
			chosen = &found->v[i];
	if (chosen != NULL && chosen->revoked_s == 0)
		return chosen;
	if (chosen == NULL)
		*status = vault_fail(err, VAULT_MISSING, "there is no such "
		    "secret or version of %s", name);
	else if (version == 0)
		*status = vault_current_revoked(err, name, chosen->version);
	else
		*status = vault_fail(err, VAULT_REVOKED, "%s version %u is revoked",
		    name, version);
	return NULL;
}

static enum vault_status
open_item(const struct store *store, SecretItem *item, struct secret **out,
    struct vault_error *err)
{
	enum vault_status status = VAULT_OK;
	SecretValue *value = NULL;
	GError *error = NULL;
	const char *bytes;
	gsize len = 0;

	if (!secret_item_load_secret_sync(item, store->wait.cancel, &error))
		return fail(err, "read", error);
	if ((value = secret_item_get_secret(item)) == NULL)
		return vault_fail(err, VAULT_DAMAGED, "Secret Service: an item "
		    "has no secret");
	bytes = secret_value_get(value, &len);
	/* Others can write there: what we would not store we do not use. */
	if (len == 0 || secret_check(bytes, &(size_t){ len }) != NULL)
		status = vault_fail(err, VAULT_DAMAGED, "Secret Service: an "
		    "item was changed to what is no credential");
	else if ((*out = secret_new(bytes, len)) == NULL)
		status = vault_fail(err, VAULT_IO, "memory cannot be locked: "
		    "raise RLIMIT_MEMLOCK (ulimit -l)");
	secret_value_unref(value);
	return status;
}

static enum vault_status
service_get(void *ctx, const char *name, uint32_t version, struct secret **out,
    uint32_t *got, struct vault_error *err)
{
	SecretService *service = begin(ctx, err);
	const struct version *chosen;
	enum vault_status status;
	struct versions found;

	if (service == NULL)
		return VAULT_IO;
	status = find(ctx, service, name, &found, err);
	if (status == VAULT_OK) {
		chosen = choose(&found, name, version, &status, err);
		if (chosen != NULL) {
			*got = chosen->version;
			status = open_item(ctx, chosen->item, out, err);
		}
		versions_free(&found);
	}
	end(ctx, service);
	return status;
}

static enum vault_status
service_list(void *ctx, void (*each)(void *arg, const char *name,
    uint32_t version, int64_t created_s, int64_t revoked_s), void *arg,
    struct vault_error *err)
{
	SecretService *service = begin(ctx, err);
	enum vault_status status;
	struct versions found;
	size_t i;

	if (service == NULL)
		return VAULT_IO;
	status = find(ctx, service, NULL, &found, err);
	end(ctx, service);
	if (status != VAULT_OK)
		return status;
	for (i = 0; i < found.n; i++)
		each(arg, found.v[i].name, found.v[i].version,
		    found.v[i].created_s, found.v[i].revoked_s);
	versions_free(&found);
	return VAULT_OK;
}

/* Nobody tells us: look again. */
static bool
service_changed(void *ctx)
{
	return true;
}

static void
service_close(void *ctx)
{
	struct store *store = ctx;

	secret_service_disconnect();
	free(store->path);
	free(store);
}

static const struct vault_ops service_ops = {
	.backend = "secretservice",
	.put = service_put,
	.get = service_get,
	.revoke = service_revoke,
	.list = service_list,
	.changed = service_changed,
	.close = service_close,
	.waits = true
};

enum vault_status
vault_secretservice_open(const char *path, struct vault **out,
    struct vault_error *err)
{
	struct store *store = calloc(1, sizeof(*store));
	SecretService *service;

	*out = NULL;
	if (store == NULL || (store->path = strdup(path)) == NULL) {
		free(store);
		return vault_fail(err, VAULT_IO, "out of memory");
	}
	if ((service = begin(store, err)) != NULL) {
		end(store, service);
		if ((*out = vault_new(&service_ops, store)) != NULL)
			return VAULT_OK;
		vault_fail(err, VAULT_IO, "out of memory");
	}
	free(store->path);
	free(store);
	return VAULT_IO;
}
