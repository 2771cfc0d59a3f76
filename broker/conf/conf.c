/*
 * One table says which members there are, where they go and what they may be;
 * everything that is not in it is refused by name.
 */
#include "conf/conf.h"
#include "conf/conf_anchors.h"
#include "conf/conf_read.h"
#include "conf/conf_text.h"
#include "policy/opa/opa.h"
#include "private_file.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>
#include <sodium.h>

#define CONF_BYTES_MAX 65536
#define EPOCH_MAX_S (10 * 366 * 86400)

/* --- values ------------------------------------------------------------ */

static int
read_listen(struct conf_reader *reader, const char *name, const json_t *value,
    const void *arg)
{
	struct sockaddr_in *field = CONF_FIELD(reader, struct sockaddr_in, arg);
	static const char rule[] = "\"127.x.x.x:PORT\", a loopback address: "
	    "other machines have no way to prove who they are";
	static const char range[] = "\"127.x.x.x:PORT\" with a port up to 65535, "
	    "or 0 for any that is free";
	const char *text = json_string_value(value);
	const char *colon = text != NULL ? strrchr(text, ':') : NULL;
	char address[INET_ADDRSTRLEN];
	struct in_addr in;
	uint16_t port;

	if (colon == NULL || (size_t)(colon - text) >= sizeof(address))
		return conf_refuse(reader, name, rule);
	memcpy(address, text, (size_t)(colon - text));
	address[colon - text] = '\0';
	if (inet_pton(AF_INET, address, &in) != 1 ||
	    (ntohl(in.s_addr) >> 24) != 127)
		return conf_refuse(reader, name, rule);
	if (conf_text_port(colon + 1, 0, &port) != 0)
		return conf_refuse(reader, name, range);
	field->sin_family = AF_INET;
	field->sin_addr = in;
	field->sin_port = htons(port);
	return 0;
}

static int
read_hosts(struct conf_reader *reader, const char *name, const json_t *value,
    const void *arg)
{
	static const char rule[] = "an array of at most 16 host names in lower case, "
	    "without ports";
	struct conf_hosts *hosts = &reader->conf->hosts;
	const char *text;

	if (!json_is_array(value) || json_array_size(value) > CONF_HOSTS_MAX)
		return conf_refuse(reader, name, rule);
	for (size_t i = 0; i < json_array_size(value); i++) {
		text = json_string_value(json_array_get(value, i));
		if (text == NULL || !conf_text_host(text))
			return conf_refuse(reader, name, rule);
		memcpy(hosts->name[hosts->n++], text, strlen(text) + 1);
	}
	return 0;
}

struct choice {
	size_t offset;		/* of a bool in struct conf */
	const char *yes, *no;
};

static int
read_choice(struct conf_reader *reader, const char *name, const json_t *value,
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
		return conf_refuse(reader, name, rule);
	}
	return 0;
}

static int
read_store(struct conf_reader *reader, const char *name, const json_t *value,
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
	return conf_refuse(reader, name, "\"file\", \"secretservice\" or \"kv\"");
}

static int
read_version(struct conf_reader *reader, const char *name, const json_t *value,
    const void *arg)
{
	if (!json_is_integer(value) || json_integer_value(value) != 1)
		return conf_refuse(reader, name, "1: this program knows no other "
		    "version");
	return 0;
}

/* --- upstream.resolve ------------------------------------------------- */

static int
read_resolve(struct conf_reader *reader, const char *name, const json_t *value,
    const void *arg)
{
	struct conf *conf = reader->conf;
	const char *text;
	char copy[512];
	size_t i;

	if (!json_is_array(value) || json_array_size(value) > CONF_RESOLVE_MAX)
		return conf_refuse(reader, name, "an array of at most 64 strings");
	for (i = 0; i < json_array_size(value); i++) {
		text = json_string_value(json_array_get(value, i));
		if (text == NULL || strlen(text) >= sizeof(copy))
			return conf_refuse(reader, name, "made of \"host:port:"
			    "address:port\"");
		memcpy(copy, text, strlen(text) + 1);
		if (conf_text_resolve(copy, &conf->resolve[conf->n_resolve]) != 0)
			return conf_refuse(reader, name, "made of \"host:port:"
			    "address:port\", the host in lower case, an IPv6 "
			    "address in brackets");
		conf->n_resolve++;
	}
	return 0;
}

/* --- vault.kv ---------------------------------------------------------- */

static int
read_kv_name(struct conf_reader *reader, const char *name, const json_t *value,
    const void *arg)
{
	const char *text = json_string_value(value);

	if (text == NULL || strlen(text) > 128 || !conf_text_plain(text))
		return conf_refuse(reader, name, "letters, digits and . _ - in "
		    "parts between slashes");
	return conf_keep(reader, name, text, CONF_FIELD(reader, char *, arg));
}

static int
read_kv_url(struct conf_reader *reader, const char *name, const json_t *value,
    const void *arg)
{
	const char *text = json_string_value(value);

	if (text == NULL || !conf_text_url(text))
		return conf_refuse(reader, name, "\"https://host:port\" in lower "
		    "case (http only to a loopback address)");
	return conf_keep(reader, name, text, &reader->conf->kv.url);
}

/* --- the tables -------------------------------------------------------- */

static const struct conf_member ledger_members[] = {
	{ "sync", read_choice,
	    &(const struct choice){ CONF_AT(ledger_sync), "data", "none" } },
	{ "checkpoint_ms", conf_read_unsigned, CONF_RANGE(checkpoint_ms, 100, CONF_HOUR_MS) },
	{ "epoch_s", conf_read_unsigned, CONF_RANGE(epoch_s, 0, EPOCH_MAX_S) },
	{ "epoch_records", conf_read_unsigned, CONF_RANGE(epoch_records, 0, 1000000000) },
	{ "recorder", read_choice,
	    &(const struct choice){ CONF_AT(ledger_thread), "thread", "process" } },
	{ NULL, NULL, NULL }
};

static const struct conf_member upstream_members[] = {
	{ "ca_file", conf_read_path, CONF_OFFSET(upstream_ca_file) },
	{ "resolve", read_resolve, NULL },
	{ "connect_ms", conf_read_unsigned, CONF_RANGE(connect_ms, 1, CONF_HOUR_MS) },
	{ "idle_ms", conf_read_unsigned, CONF_RANGE(upstream_idle_ms, 1, 24 * CONF_HOUR_MS) },
	{ "head_ms", conf_read_unsigned, CONF_RANGE(upstream_head_ms, 1, CONF_HOUR_MS) },
	{ "pool", conf_read_unsigned, CONF_RANGE(pool, 0, 1024) },
	{ NULL, NULL, NULL }
};

static const struct conf_member client_members[] = {
	{ "approval_ms", conf_read_unsigned, CONF_RANGE(approval_ms, 0, CONF_HOUR_MS) },
	{ "head_ms", conf_read_unsigned, CONF_RANGE(head_ms, 1, CONF_HOUR_MS) },
	{ "idle_ms", conf_read_unsigned, CONF_RANGE(client_idle_ms, 1, 24 * CONF_HOUR_MS) },
	{ "max_connections", conf_read_unsigned, CONF_RANGE(max_connections, 1, 1000000) },
	{ NULL, NULL, NULL }
};

static const struct conf_member kv_members[] = {
	{ "url", read_kv_url, NULL },
	{ "mount", read_kv_name, CONF_OFFSET(kv.mount) },
	{ "prefix", read_kv_name, CONF_OFFSET(kv.prefix) },
	{ "field", read_kv_name, CONF_OFFSET(kv.field) },
	{ "namespace", read_kv_name, CONF_OFFSET(kv.namespace) },
	{ "token_file", conf_read_path, CONF_OFFSET(kv.token_file) },
	{ "ca_file", conf_read_path, CONF_OFFSET(kv.ca_file) },
	{ "timeout_ms", conf_read_unsigned, CONF_RANGE(kv.timeout_ms, 100, CONF_HOUR_MS) },
	{ NULL, NULL, NULL }
};

static const struct conf_member vault_members[] = {
	{ "store", read_store, NULL },
	{ "kv", conf_read_section, kv_members },
	{ NULL, NULL, NULL }
};

static const struct conf_member top_members[] = {
	{ "v", read_version, NULL },
	{ "listen", read_listen, CONF_OFFSET(listen) },
	{ "api", read_listen, CONF_OFFSET(api) },
	{ "hosts", read_hosts, NULL },
	{ "workers", conf_read_unsigned, CONF_RANGE(workers, 1, CONF_WORKERS_MAX) },
	{ "passphrase_file", conf_read_path, CONF_OFFSET(passphrase_file) },
	{ "vault", conf_read_section, vault_members },
	{ "policy", conf_read_policy, NULL },
	{ "ledger", conf_read_section, ledger_members },
	{ "anchors", conf_read_section, conf_anchors_members },
	{ "upstream", conf_read_section, upstream_members },
	{ "client", conf_read_section, client_members },
	{ "allow_unlocked_memory", conf_read_flag, CONF_OFFSET(allow_unlocked_memory) },
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
		.kv.timeout_ms = 30000,
		.policy.deadline_ms = OPA_DEADLINE_MS,
		.policy.bundle = { .poll_ms = 60000, .max_bytes = 16777216 },
		.checkpoint_ms = 10000,
		.connect_ms = 10000,
		.upstream_idle_ms = 300000,
		.upstream_head_ms = 30000,
		.pool = 128,
		.approval_ms = 300000,
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
check_whole(struct conf_reader *reader)
{
	const struct conf_kv *kv = &reader->conf->kv;

	if (kv->mount == NULL || kv->prefix == NULL || kv->field == NULL)
		return conf_refuse(reader, "vault.kv", "kept, but there is no memory");
	if (reader->conf->store == CONF_STORE_KV && kv->url == NULL)
		return conf_refuse(reader, "vault.kv.url", "given for the store kv");
	if (reader->conf->store == CONF_STORE_KV && kv->token_file == NULL)
		return conf_refuse(reader, "vault.kv.token_file", "given for the "
		    "store kv");
	if (reader->conf->policy.token_file != NULL &&
	    (reader->conf->policy.opa == NULL ||
	    strncmp(reader->conf->policy.opa, "https://", 8) != 0))
		return conf_refuse(reader, "policy.token_file", "given for an "
		    "engine at https only: \"opa:https://host:port\"");
	if (reader->conf->policy.bundle.key_file != NULL &&
	    reader->conf->policy.bundle.from == NULL)
		return conf_refuse(reader, "policy.bundle.from", "given with a key");
	return 0;
}

static int
parse(struct conf_reader *reader, const uint8_t *bytes, size_t len)
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
		result = conf_read_object(reader, "", root, top_members);
	json_decref(root);
	return result == 0 ? check_whole(reader) : -1;
}

int
conf_parse(const void *bytes, size_t len, struct conf *out, char *err,
    size_t err_len)
{
	struct conf_reader reader = { out, err, err_len };

	set_defaults(out);
	if (parse(&reader, bytes, len) == 0)
		return 0;
	conf_free(out);
	return -1;
}

/* What it held is to be known again, so that it can be told from another one. */
static int
keep_source(struct conf *out, const char *path, const uint8_t *bytes, size_t len,
    char *err, size_t err_len)
{
	out->path = strdup(path);
	if (out->path == NULL) {
		snprintf(err, err_len, "out of memory");
		conf_free(out);
		return -1;
	}
	if (bytes != NULL)
		crypto_generichash(out->digest, sizeof(out->digest), bytes, len,
		    NULL, 0);
	return 0;
}

bool
conf_changed(const struct conf *conf)
{
	static const uint8_t none[sizeof(conf->digest)];
	uint8_t digest[sizeof(conf->digest)] = { 0 }, *bytes;
	size_t len = 0;

	if (conf->path == NULL)
		return false;
	bytes = private_file_read(conf->path, PRIVATE_SETTINGS, CONF_BYTES_MAX,
	    &len);
	if (bytes == NULL)
		return errno != ENOENT ||
		    memcmp(conf->digest, none, sizeof(none)) != 0;
	crypto_generichash(digest, sizeof(digest), bytes, len, NULL, 0);
	free(bytes);
	return memcmp(digest, conf->digest, sizeof(digest)) != 0;
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
		return keep_source(out, path, NULL, 0, err, err_len);
	}
	if (bytes == NULL) {
		snprintf(err, err_len, "%s: %s", path, errno == EPERM ?
		    "belongs to another user, or others can write it: "
		    "chmod go-w it" : private_file_why(errno));
		return -1;
	}
	if ((result = conf_parse(bytes, len, out, why, sizeof(why))) != 0)
		snprintf(err, err_len, "%s: %s; see countersign-config(5)", path,
		    why);
	else
		result = keep_source(out, path, bytes, len, err, err_len);
	free(bytes);
	return result;
}

void
conf_free(struct conf *conf)
{
	if (conf == NULL)
		return;
	free(conf->path);
	free(conf->passphrase_file);
	free(conf->upstream_ca_file);
	conf_anchors_free(&conf->anchors);
	free(conf->policy.opa);
	free(conf->policy.ca_file);
	free(conf->policy.token_file);
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
