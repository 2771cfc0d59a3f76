/*
 * One table says which members there are, where they go and what they may be;
 * everything that is not in it is refused by name.
 */
#include "conf.h"
#include "conf_anchors.h"
#include "conf_text.h"
#include "policy/opa/opa.h"
#include "private_file.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#define CONF_BYTES_MAX 65536
#define HOUR_MS 3600000
#define EPOCH_MAX_S (10 * 366 * 86400)

struct reader {
	struct conf *conf;
	char *err;
	size_t err_len;
};

struct member {
	const char *name;
	int (*read)(struct reader *reader, const char *name,
	    const json_t *value, const void *arg);
	const void *arg;
};

static int
refuse(struct reader *reader, const char *name, const char *rule)
{
	snprintf(reader->err, reader->err_len, "%s must be %s", name, rule);
	return -1;
}

/* Read an object by its table; prefix names it in messages ("ledger."). */
static int
read_object(struct reader *reader, const char *prefix, json_t *object,
    const struct member *members)
{
	const struct member *member;
	const char *key;
	json_t *value;
	char name[96];

	json_object_foreach(object, key, value) {
		snprintf(name, sizeof(name), "%s%s", prefix, key);
		for (member = members; member->name != NULL; member++)
			if (strcmp(member->name, key) == 0)
				break;
		if (member->name == NULL) {
			snprintf(reader->err, reader->err_len,
			    "unknown member %s", name);
			return -1;
		}
		if (member->read(reader, name, value, member->arg) != 0)
			return -1;
	}
	return 0;
}

/* --- values ------------------------------------------------------------ */

struct range {
	size_t offset;		/* of an unsigned in struct conf */
	unsigned least, most;
};

static int
read_unsigned(struct reader *reader, const char *name, const json_t *value,
    const void *arg)
{
	const struct range *range = arg;
	unsigned *field = (unsigned *)((char *)reader->conf + range->offset);
	json_int_t n = json_integer_value(value);
	char rule[64];

	if (!json_is_integer(value) || n < range->least || n > range->most) {
		snprintf(rule, sizeof(rule), "an integer from %u to %u",
		    range->least, range->most);
		return refuse(reader, name, rule);
	}
	*field = (unsigned)n;
	return 0;
}

static int
read_path(struct reader *reader, const char *name, const json_t *value,
    char **out)
{
	const char *text = json_string_value(value);

	if (text == NULL || text[0] != '/')
		return refuse(reader, name, "an absolute path");
	if ((*out = strdup(text)) == NULL)
		return refuse(reader, name, "kept, but there is no memory");
	return 0;
}

static int
read_passphrase_file(struct reader *reader, const char *name,
    const json_t *value, const void *arg)
{
	return read_path(reader, name, value, &reader->conf->passphrase_file);
}

static int
read_ca_file(struct reader *reader, const char *name, const json_t *value,
    const void *arg)
{
	return read_path(reader, name, value, &reader->conf->upstream_ca_file);
}

static int
read_listen(struct reader *reader, const char *name, const json_t *value,
    const void *arg)
{
	struct sockaddr_in *field = (struct sockaddr_in *)
	    ((char *)reader->conf + *(const size_t *)arg);
	static const char rule[] = "\"127.x.x.x:PORT\", a loopback address: "
	    "other machines have no way to prove who they are";
	const char *text = json_string_value(value);
	const char *colon = text != NULL ? strrchr(text, ':') : NULL;
	char address[INET_ADDRSTRLEN];
	struct in_addr in;
	uint16_t port;

	if (colon == NULL || (size_t)(colon - text) >= sizeof(address) ||
	    conf_text_port(colon + 1, 0, &port) != 0)
		return refuse(reader, name, rule);
	memcpy(address, text, (size_t)(colon - text));
	address[colon - text] = '\0';
	if (inet_pton(AF_INET, address, &in) != 1 ||
	    (ntohl(in.s_addr) >> 24) != 127)
		return refuse(reader, name, rule);
	field->sin_family = AF_INET;
	field->sin_addr = in;
	field->sin_port = htons(port);
	return 0;
}

static int
read_flag(struct reader *reader, const char *name, const json_t *value,
    const void *arg)
{
	bool *field = (bool *)((char *)reader->conf + *(const size_t *)arg);

	if (!json_is_boolean(value))
		return refuse(reader, name, "true or false");
	*field = json_is_true(value);
	return 0;
}

struct choice {
	size_t offset;		/* of a bool in struct conf */
	const char *yes, *no;
};

static int
read_choice(struct reader *reader, const char *name, const json_t *value,
    const void *arg)
{
	const struct choice *choice = arg;
	bool *field = (bool *)((char *)reader->conf + choice->offset);
	const char *text = json_string_value(value);
	char rule[64];

	if (text != NULL && strcmp(text, choice->yes) == 0)
		*field = true;
	else if (text != NULL && strcmp(text, choice->no) == 0)
		*field = false;
	else {
		snprintf(rule, sizeof(rule), "\"%s\" or \"%s\"", choice->yes,
		    choice->no);
		return refuse(reader, name, rule);
	}
	return 0;
}

static int
read_store(struct reader *reader, const char *name, const json_t *value,
    const void *arg)
{
	static const char *const stores[] = { "file", "secretservice", "kv" };
	const char *text = json_string_value(value);
	size_t i;

	for (i = 0; i < sizeof(stores) / sizeof(stores[0]); i++)
		if (text != NULL && strcmp(text, stores[i]) == 0) {
			reader->conf->store = (enum conf_store)i;
			return 0;
		}
	return refuse(reader, name, "\"file\", \"secretservice\" or \"kv\"");
}

static int
read_version(struct reader *reader, const char *name, const json_t *value,
    const void *arg)
{
	if (!json_is_integer(value) || json_integer_value(value) != 1)
		return refuse(reader, name, "1: this program knows no other "
		    "version");
	return 0;
}

/* --- upstream.resolve ------------------------------------------------- */

static int
read_resolve(struct reader *reader, const char *name, const json_t *value,
    const void *arg)
{
	struct conf *conf = reader->conf;
	const char *text;
	char copy[512];
	size_t i;

	if (!json_is_array(value) || json_array_size(value) > CONF_RESOLVE_MAX)
		return refuse(reader, name, "an array of at most 64 strings");
	for (i = 0; i < json_array_size(value); i++) {
		text = json_string_value(json_array_get(value, i));
		if (text == NULL || strlen(text) >= sizeof(copy))
			return refuse(reader, name, "made of \"host:port:"
			    "address:port\"");
		memcpy(copy, text, strlen(text) + 1);
		if (conf_text_resolve(copy, &conf->resolve[conf->n_resolve]) != 0)
			return refuse(reader, name, "made of \"host:port:"
			    "address:port\", the host in lower case, an IPv6 "
			    "address in brackets");
		conf->n_resolve++;
	}
	return 0;
}

/* --- vault.kv ---------------------------------------------------------- */

static int
read_plain(struct reader *reader, const char *name, const json_t *value,
    char **out)
{
	const char *text = json_string_value(value);
	char *copy;

	if (text == NULL || strlen(text) > 128 || !conf_text_plain(text))
		return refuse(reader, name, "letters, digits and . _ - in parts "
		    "between slashes");
	if ((copy = strdup(text)) == NULL)
		return refuse(reader, name, "kept, but there is no memory");
	free(*out);
	*out = copy;
	return 0;
}

static int
read_kv_name(struct reader *reader, const char *name, const json_t *value,
    const void *arg)
{
	struct conf_kv *kv = &reader->conf->kv;
	const char *last = strrchr(name, '.') + 1;

	return read_plain(reader, name, value,
	    strcmp(last, "mount") == 0 ? &kv->mount :
	    strcmp(last, "prefix") == 0 ? &kv->prefix :
	    strcmp(last, "field") == 0 ? &kv->field : &kv->namespace);
}

static int
read_kv_url(struct reader *reader, const char *name, const json_t *value,
    const void *arg)
{
	const char *text = json_string_value(value);

	if (text == NULL || !conf_text_url(text))
		return refuse(reader, name, "\"https://host:port\" in lower "
		    "case (http only to a loopback address)");
	if ((reader->conf->kv.url = strdup(text)) == NULL)
		return refuse(reader, name, "kept, but there is no memory");
	return 0;
}

static int
read_kv_file(struct reader *reader, const char *name, const json_t *value,
    const void *arg)
{
	struct conf_kv *kv = &reader->conf->kv;

	return read_path(reader, name, value, strcmp(name, "vault.kv.ca_file") ==
	    0 ? &kv->ca_file : &kv->token_file);
}

/* --- policy ------------------------------------------------------------ */

static int
read_engine(struct reader *reader, const char *name, const json_t *value,
    const void *arg)
{
	struct conf_policy *policy = &reader->conf->policy;
	const char *text = json_string_value(value), *wrong;
	char rule[200];

	if (text != NULL && strcmp(text, "builtin") == 0)
		return 0;
	if (text == NULL || strncmp(text, "opa:", 4) != 0)
		return refuse(reader, name, "\"builtin\" or \"opa:\" and an "
		    "address");
	if ((wrong = opa_where_wrong(text + 4)) != NULL) {
		snprintf(rule, sizeof(rule), "\"opa:\" and an address that %s",
		    wrong);
		return refuse(reader, name, rule);
	}
	if ((policy->opa = strdup(text + 4)) == NULL)
		return refuse(reader, name, "kept, but there is no memory");
	return 0;
}

static int
read_from(struct reader *reader, const char *name, const json_t *value,
    const void *arg)
{
	const char *text = json_string_value(value);

	if (text == NULL || (text[0] != '/' && !conf_text_address(text)))
		return refuse(reader, name, "an absolute path or an address: "
		    "\"https://host:port/path\" (http only to a loopback "
		    "address)");
	if ((reader->conf->policy.bundle.from = strdup(text)) == NULL)
		return refuse(reader, name, "kept, but there is no memory");
	return 0;
}

static int
read_bundle_file(struct reader *reader, const char *name,
    const json_t *value, const void *arg)
{
	struct conf_bundle *bundle = &reader->conf->policy.bundle;

	return read_path(reader, name, value,
	    strcmp(strrchr(name, '.') + 1, "key_file") == 0 ?
	    &bundle->key_file : &bundle->ca_file);
}

static int
read_policy_ca(struct reader *reader, const char *name, const json_t *value,
    const void *arg)
{
	return read_path(reader, name, value, &reader->conf->policy.ca_file);
}

/* --- the tables -------------------------------------------------------- */

#define AT(field) offsetof(struct conf, field)
#define OFFSET(field) &(const size_t){ AT(field) }
#define RANGE(field, least, most) &(const struct range){ AT(field), least, most }

static const struct member ledger_members[] = {
	{ "sync", read_choice,
	    &(const struct choice){ AT(ledger_sync), "data", "none" } },
	{ "checkpoint_ms", read_unsigned, RANGE(checkpoint_ms, 100, HOUR_MS) },
	{ "epoch_s", read_unsigned, RANGE(epoch_s, 0, EPOCH_MAX_S) },
	{ "epoch_records", read_unsigned, RANGE(epoch_records, 0, 1000000000) },
	{ "recorder", read_choice,
	    &(const struct choice){ AT(ledger_thread), "thread", "process" } },
	{ NULL, NULL, NULL }
};

static const struct member upstream_members[] = {
	{ "ca_file", read_ca_file, NULL },
	{ "resolve", read_resolve, NULL },
	{ "connect_ms", read_unsigned, RANGE(connect_ms, 1, HOUR_MS) },
	{ "idle_ms", read_unsigned, RANGE(upstream_idle_ms, 1, 24 * HOUR_MS) },
	{ "pool", read_unsigned, RANGE(pool, 0, 1024) },
	{ NULL, NULL, NULL }
};

static const struct member client_members[] = {
	{ "head_ms", read_unsigned, RANGE(head_ms, 1, HOUR_MS) },
	{ "idle_ms", read_unsigned, RANGE(client_idle_ms, 1, 24 * HOUR_MS) },
	{ "max_connections", read_unsigned, RANGE(max_connections, 1, 1000000) },
	{ NULL, NULL, NULL }
};

static int
read_section(struct reader *reader, const char *name, const json_t *value,
    const void *arg)
{
	char prefix[64];

	if (!json_is_object(value))
		return refuse(reader, name, "an object");
	snprintf(prefix, sizeof(prefix), "%s.", name);
	return read_object(reader, prefix, (json_t *)(uintptr_t)value, arg);
}

static const struct member kv_members[] = {
	{ "url", read_kv_url, NULL },
	{ "mount", read_kv_name, NULL },
	{ "prefix", read_kv_name, NULL },
	{ "field", read_kv_name, NULL },
	{ "namespace", read_kv_name, NULL },
	{ "token_file", read_kv_file, NULL },
	{ "ca_file", read_kv_file, NULL },
	{ NULL, NULL, NULL }
};

static const struct member vault_members[] = {
	{ "store", read_store, NULL },
	{ "kv", read_section, kv_members },
	{ NULL, NULL, NULL }
};

static const struct member bundle_members[] = {
	{ "from", read_from, NULL },
	{ "key_file", read_bundle_file, NULL },
	{ "ca_file", read_bundle_file, NULL },
	{ "poll_ms", read_unsigned, RANGE(policy.bundle.poll_ms, 50, 24 * HOUR_MS) },
	{ "max_bytes", read_unsigned, RANGE(policy.bundle.max_bytes, 1024, 67108864) },
	{ "downgrade", read_flag, OFFSET(policy.bundle.downgrade) },
	{ NULL, NULL, NULL }
};

static const struct member policy_members[] = {
	{ "bundle", read_section, bundle_members },
	{ "engine", read_engine, NULL },
	{ "deadline_ms", read_unsigned, RANGE(policy.deadline_ms, 1, 10000) },
	{ "ca_file", read_policy_ca, NULL },
	{ NULL, NULL, NULL }
};

static int
read_policy(struct reader *reader, const char *name, const json_t *value,
    const void *arg)
{
	return json_is_string(value) ?
	    read_engine(reader, name, value, NULL) :
	    read_section(reader, name, value, arg);
}

static int
read_anchors(struct reader *reader, const char *name, const json_t *value,
    const void *arg)
{
	return conf_anchors_read(value, &reader->conf->anchors, reader->err,
	    reader->err_len);
}

static const struct member top_members[] = {
	{ "v", read_version, NULL },
	{ "listen", read_listen, OFFSET(listen) },
	{ "api", read_listen, OFFSET(api) },
	{ "workers", read_unsigned, RANGE(workers, 1, 64) },
	{ "passphrase_file", read_passphrase_file, NULL },
	{ "vault", read_section, vault_members },
	{ "policy", read_policy, policy_members },
	{ "ledger", read_section, ledger_members },
	{ "anchors", read_anchors, NULL },
	{ "upstream", read_section, upstream_members },
	{ "client", read_section, client_members },
	{ "allow_unlocked_memory", read_flag, OFFSET(allow_unlocked_memory) },
	{ NULL, NULL, NULL }
};

static void
set_defaults(struct conf *conf)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	*conf = (struct conf){
		.workers = processors < 1 ? 1 : processors > 4 ? 4 :
		    (unsigned)processors,
		.ledger_sync = true,
		.policy.deadline_ms = OPA_DEADLINE_MS,
		.policy.bundle = { .poll_ms = 60000, .max_bytes = 16777216 },
		.checkpoint_ms = 10000,
		.connect_ms = 10000,
		.upstream_idle_ms = 300000,
		.pool = 32,
		.head_ms = 30000,
		.client_idle_ms = 300000,
		.max_connections = 4096,
	};
	conf_anchors_defaults(&conf->anchors);
	conf->kv.mount = strdup("secret");
	conf->kv.prefix = strdup("countersign");
	conf->kv.field = strdup("value");
	conf->listen.sin_family = conf->api.sin_family = AF_INET;
	conf->listen.sin_addr.s_addr = conf->api.sin_addr.s_addr =
	    htonl(INADDR_LOOPBACK);
}

/* What depends on more than one member. */
static int
check_whole(struct reader *reader)
{
	const struct conf_kv *kv = &reader->conf->kv;

	if (kv->mount == NULL || kv->prefix == NULL || kv->field == NULL)
		return refuse(reader, "vault.kv", "kept, but there is no memory");
	if (reader->conf->store == CONF_STORE_KV && kv->url == NULL)
		return refuse(reader, "vault.kv.url", "given for the store kv");
	if (reader->conf->store == CONF_STORE_KV && kv->token_file == NULL)
		return refuse(reader, "vault.kv.token_file", "given for the "
		    "store kv");
	if (reader->conf->policy.bundle.key_file != NULL &&
	    reader->conf->policy.bundle.from == NULL)
		return refuse(reader, "policy.bundle.from", "given with a key");
	return 0;
}

static int
parse(struct reader *reader, const uint8_t *bytes, size_t len)
{
	json_error_t error;
	json_t *root;
	int result = -1;

	root = json_loadb((const char *)bytes, len, JSON_REJECT_DUPLICATES,
	    &error);
	if (root == NULL) {
		snprintf(reader->err, reader->err_len, "line %d, column %d: %s",
		    error.line, error.column,
		    json_error_code(&error) == json_error_duplicate_key ?
		    "a member stands there twice" : "this is not JSON");
		return -1;
	}
	if (!json_is_object(root))
		snprintf(reader->err, reader->err_len, "not a JSON object");
	else if (json_object_get(root, "v") == NULL)
		snprintf(reader->err, reader->err_len, "\"v\": 1 is missing");
	else
		result = read_object(reader, "", root, top_members);
	json_decref(root);
	return result == 0 ? check_whole(reader) : -1;
}

int
conf_parse(const void *bytes, size_t len, struct conf *out, char *err,
    size_t err_len)
{
	struct reader reader = { out, err, err_len };

	set_defaults(out);
	if (parse(&reader, bytes, len) == 0)
		return 0;
	conf_free(out);
	return -1;
}

int
conf_load(const char *path, struct conf *out, char *err, size_t err_len)
{
	char why[256];
	uint8_t *bytes;
	size_t len = 0;
	int result;

	*out = (struct conf){ 0 };
	bytes = private_file_read(path, PRIVATE_SETTINGS, CONF_BYTES_MAX, &len);
	if (bytes == NULL && errno == ENOENT) {
		set_defaults(out);
		return 0;
	}
	if (bytes == NULL) {
		snprintf(err, err_len, "%s: %s", path, errno == EPERM ?
		    "belongs to another user, or others can write it: "
		    "chmod go-w it" : private_file_why(errno));
		return -1;
	}
	if ((result = conf_parse(bytes, len, out, why, sizeof(why))) != 0)
		snprintf(err, err_len, "%s: %s", path, why);
	free(bytes);
	return result;
}

void
conf_free(struct conf *conf)
{
	if (conf == NULL)
		return;
	free(conf->passphrase_file);
	free(conf->upstream_ca_file);
	conf_anchors_free(&conf->anchors);
	free(conf->policy.opa);
	free(conf->policy.ca_file);
	free(conf->policy.bundle.from);
	free(conf->policy.bundle.key_file);
	free(conf->policy.bundle.ca_file);
	free(conf->kv.url);
	free(conf->kv.mount);
	free(conf->kv.prefix);
	free(conf->kv.field);
	free(conf->kv.namespace);
	free(conf->kv.token_file);
	free(conf->kv.ca_file);
	*conf = (struct conf){ 0 };
}
