/*
 * One table says which members there are, where they go and what they may be;
 * everything that is not in it is refused by name.
 */
#include "conf.h"
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
read_port(const char *text, unsigned least, uint16_t *port)
{
	unsigned long n = 0;
	size_t i;

	for (i = 0; text[i] >= '0' && text[i] <= '9' && i < 6; i++)
		n = n * 10 + (unsigned long)(text[i] - '0');
	if (i == 0 || text[i] != '\0' || n > 65535 || n < least)
		return -1;
	*port = (uint16_t)n;
	return 0;
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
	    read_port(colon + 1, 0, &port) != 0)
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
read_version(struct reader *reader, const char *name, const json_t *value,
    const void *arg)
{
	if (!json_is_integer(value) || json_integer_value(value) != 1)
		return refuse(reader, name, "1: this program knows no other "
		    "version");
	return 0;
}

/* --- upstream.resolve: HOST:PORT:ADDRESS:PORT, the address IPv6 in brackets */

/* Cut text[] at the last colon; what is behind it is a port. */
static int
cut_port(char *text, uint16_t *port)
{
	char *colon = strrchr(text, ':');

	if (colon == NULL || read_port(colon + 1, 1, port) != 0)
		return -1;
	*colon = '\0';
	return 0;
}

static int
copy_address(const char *text, char *out, size_t cap)
{
	uint8_t binary[sizeof(struct in6_addr)];
	size_t len = strlen(text);
	bool v6 = text[0] == '[';
	char address[INET6_ADDRSTRLEN];

	if (v6 && (len < 2 || text[len - 1] != ']'))
		return -1;
	if (v6) {
		text++;
		len -= 2;
	}
	if (len == 0 || len >= sizeof(address))
		return -1;
	memcpy(address, text, len);
	address[len] = '\0';
	if (inet_pton(v6 ? AF_INET6 : AF_INET, address, binary) != 1)
		return -1;
	return snprintf(out, cap, "%s", address) < (int)cap ? 0 : -1;
}

static int
parse_resolve(char *text, struct conf_resolve *out)
{
	char *address;
	size_t i;

	if (cut_port(text, &out->to_port) != 0)
		return -1;
	if ((address = strchr(text, ':')) == NULL ||
	    (address = strchr(address + 1, ':')) == NULL)
		return -1;
	*address++ = '\0';
	if (cut_port(text, &out->port) != 0 || text[0] == '\0' ||
	    strlen(text) >= sizeof(out->host) ||
	    copy_address(address, out->address, sizeof(out->address)) != 0)
		return -1;
	for (i = 0; text[i] != '\0'; i++)
		if (strchr("abcdefghijklmnopqrstuvwxyz0123456789-._",
		    text[i]) == NULL)
			return -1;
	memcpy(out->host, text, i + 1);
	return 0;
}

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
		if (parse_resolve(copy, &conf->resolve[conf->n_resolve]) != 0)
			return refuse(reader, name, "made of \"host:port:"
			    "address:port\", the host in lower case, an IPv6 "
			    "address in brackets");
		conf->n_resolve++;
	}
	return 0;
}

/* --- the tables -------------------------------------------------------- */

#define AT(field) offsetof(struct conf, field)
#define OFFSET(field) &(const size_t){ AT(field) }
#define RANGE(field, least, most) &(const struct range){ AT(field), least, most }

static const struct member ledger_members[] = {
	{ "sync", read_choice,
	    &(const struct choice){ AT(ledger_sync), "data", "none" } },
	{ "checkpoint_ms", read_unsigned, RANGE(checkpoint_ms, 100, HOUR_MS) },
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

static const struct member top_members[] = {
	{ "v", read_version, NULL },
	{ "listen", read_listen, OFFSET(listen) },
	{ "api", read_listen, OFFSET(api) },
	{ "workers", read_unsigned, RANGE(workers, 1, 64) },
	{ "passphrase_file", read_passphrase_file, NULL },
	{ "ledger", read_section, ledger_members },
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
		.checkpoint_ms = 10000,
		.connect_ms = 10000,
		.upstream_idle_ms = 300000,
		.pool = 32,
		.head_ms = 30000,
		.client_idle_ms = 300000,
		.max_connections = 4096,
	};
	conf->listen.sin_family = conf->api.sin_family = AF_INET;
	conf->listen.sin_addr.s_addr = conf->api.sin_addr.s_addr =
	    htonl(INADDR_LOOPBACK);
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
	return result;
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

	set_defaults(out);
	bytes = private_file_read(path, PRIVATE_SETTINGS, CONF_BYTES_MAX, &len);
	if (bytes == NULL && errno == ENOENT)
		return 0;
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
	*conf = (struct conf){ 0 };
}
