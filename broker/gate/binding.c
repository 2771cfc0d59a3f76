#include "gate/binding.h"

#include "json_in.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define BINDINGS_MAX 200000
#define HOSTS_MAX 64
#define ENV_MAX 16
#define RANGES_MAX 256
#define TEXT_MAX 256

/* Sorted by host, scheme, port and then the document's order, so that what
 * covers one target lies together. */
struct place {
	const char *host;
	const struct binding *binding;
};

struct range {
	uint8_t bytes[16];	/* IPv4 as ::ffff:a.b.c.d */
	unsigned bits;
};

struct bindings {
	struct binding *all;
	size_t n;
	struct place *places;
	size_t n_places;
	const struct binding **by_id;
	struct range *ranges;
	size_t n_ranges;
	struct policy_budget limits;
	struct binding_grant grant;
};

/* --- text ------------------------------------------------------------ */

static int
fail(char *err, size_t err_len, const char *where, const char *what)
{
	snprintf(err, err_len, "%s%s%s", where, where[0] != '\0' ? ": " : "",
	    what);
	return -1;
}

static bool
id_ok(const char *id)
{
	size_t n = strlen(id);

	return n > 0 && n <= BINDING_ID_MAX && id[0] != '.' && id[0] != '-' &&
	    strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789._-") == n;
}

/* RFC 9110 token: what a field name is made of. */
static bool
token_ok(const char *text)
{
	return text[0] != '\0' && strspn(text, "!#$%&'*+-.^_`|~0123456789"
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") ==
	    strlen(text);
}

static bool
printable(const char *text)
{
	for (; *text != '\0'; text++)
		if (*text < 0x20 || *text > 0x7e)
			return false;
	return true;
}

/* A name as target.h spells it; anything else would never match. */
static bool
host_ok(const char *host)
{
	struct target target;
	char authority[TARGET_HOST_MAX + 2];
	const char *colon = strchr(host, ':');
	int n;

	if (colon != NULL && strchr(colon + 1, ':') == NULL)
		return false;	/* host:port; the port has its own member */
	n = snprintf(authority, sizeof(authority), colon ? "[%s]" : "%s", host);
	if (n <= 0 || (size_t)n >= sizeof(authority))
		return false;
	if (target_from_authority(slice_of(authority), 443, &target) != NULL)
		return false;
	return strcmp(target.host, host) == 0;
}

/* The strings of a list, copied; element by element checked with ok. */
static int
strings(json_t *list, bool (*ok)(const char *), const char *where,
    const char *what, char ***out, size_t *n, char *err, size_t err_len)
{
	size_t count = json_array_size(list);
	const char *text;

	if (count == 0)
		return 0;
	*out = calloc(count, sizeof(**out));
	if (*out == NULL)
		return fail(err, err_len, where, "out of memory");
	for (size_t i = 0; i < count; i++) {
		text = json_string_value(json_array_get(list, i));
		if (text == NULL || !ok(text))
			return fail(err, err_len, where, what);
		(*out)[i] = strdup(text);
		if ((*out)[i] == NULL)
			return fail(err, err_len, where, "out of memory");
		*n = i + 1;
	}
	return 0;
}

static bool
env_ok(const char *name)
{
	size_t n = strlen(name);

	return n > 0 && n <= 128 && !(name[0] >= '0' && name[0] <= '9') &&
	    strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "0123456789_") == n;
}

/* --- placement ------------------------------------------------------- */

/* Fields that frame or route a request must never be a credential's place. */
static bool
field_reserved(const char *name)
{
	static const char *const reserved[] = { "host", "connection",
	    "content-length", "transfer-encoding", "te", "trailer", "upgrade",
	    "expect", "proxy-authorization", "proxy-connection", "keep-alive",
	    "x-countersign-run" };

	for (size_t i = 0; i < sizeof(reserved) / sizeof(*reserved); i++)
		if (strcasecmp(name, reserved[i]) == 0)
			return true;
	return false;
}

static int
placement_header(struct placement *out, const char *name, const char *template,
    const char *where, char *err, size_t err_len)
{
	const char *hole;

	if (name == NULL || !token_ok(name) || field_reserved(name))
		return fail(err, err_len, where,
		    "placement.name must be a header's name that does not frame or route the request");
	if (template == NULL)
		template = "{}";
	hole = strstr(template, "{}");
	if (hole == NULL || strstr(hole + 2, "{}") != NULL ||
	    !printable(template))
		return fail(err, err_len, where,
		    "placement.template must hold {} once, in printable ASCII");
	out->kind = PLACE_HEADER;
	out->name = strdup(name);
	out->before = strndup(template, (size_t)(hole - template));
	out->after = strdup(hole + 2);
	if (out->name == NULL || out->before == NULL || out->after == NULL)
		return fail(err, err_len, where, "out of memory");
	return 0;
}

static int
placement_basic(struct placement *out, const char *user, const char *where,
    char *err, size_t err_len)
{
	if (user == NULL || strchr(user, ':') != NULL || !printable(user))
		return fail(err, err_len, where,
		    "placement.user must be printable ASCII without ':'");
	out->kind = PLACE_BASIC;
	out->user = strdup(user);
	return out->user != NULL ? 0 :
	    fail(err, err_len, where, "out of memory");
}

static int
placement_query(struct placement *out, const char *name, const char *where,
    char *err, size_t err_len)
{
	if (name == NULL || !token_ok(name) || strpbrk(name, "#%&+'") != NULL)
		return fail(err, err_len, where,
		    "placement.name must be a query key that needs no escapes");
	out->kind = PLACE_QUERY;
	out->name = strdup(name);
	return out->name != NULL ? 0 :
	    fail(err, err_len, where, "out of memory");
}

static int
placement_read(json_t *object, struct placement *out, const char *where,
    char *err, size_t err_len)
{
	const char *kind = NULL, *name = NULL, *template = NULL, *user = NULL;
	const struct json_in_field fields[] = {
		{ "kind", JSON_IN_STR, true, 1, 16, &kind },
		{ "name", JSON_IN_STR, false, 1, TEXT_MAX, &name },
		{ "template", JSON_IN_STR, false, 1, TEXT_MAX, &template },
		{ "user", JSON_IN_STR, false, 1, TEXT_MAX, &user },
	};
	char inner[BINDING_ID_MAX + 64];

	snprintf(inner, sizeof(inner), "%.*s.placement", BINDING_ID_MAX + 32, where);
	if (json_in_read(object, fields, 4, inner, err, err_len) == -1)
		return -1;
	if (strcmp(kind, "header") == 0 && user == NULL)
		return placement_header(out, name, template, where, err,
		    err_len);
	if (strcmp(kind, "basic") == 0 && name == NULL && template == NULL)
		return placement_basic(out, user, where, err, err_len);
	if (strcmp(kind, "query") == 0 && user == NULL && template == NULL)
		return placement_query(out, name, where, err, err_len);
	return fail(err, err_len, where,
	    "placement is a header (name, template), basic (user) or query (name)");
}

/* --- one binding ----------------------------------------------------- */

static int
binding_lists(struct binding *out, json_t *hosts, json_t *env,
    const char *where, char *err, size_t err_len)
{
	if (json_array_size(hosts) == 0)
		return fail(err, err_len, where, "hosts is empty");
	if (strings(hosts, host_ok, where,
	    "hosts must be exact names in lower case, without port",
	    &out->hosts, &out->n_hosts, err, err_len) == -1)
		return -1;
	return strings(env, env_ok, where,
	    "env must be names of environment variables", &out->env,
	    &out->n_env, err, err_len);
}

/* The policy reads `allow`; here only its form is checked, so that a slip of
 * the pen is found when the pack is loaded. */
static int
allow_check(json_t *allow, const char *where, char *err, size_t err_len)
{
	size_t i;
	json_t *entry;

	json_array_foreach(allow, i, entry) {
		const char *text = json_string_value(entry);
		const char *space = text ? strchr(text, ' ') : NULL;

		if (space == NULL || space == text || space[1] != '/')
			return fail(err, err_len, where,
			    "allow must be entries like \"GET /repos/**\"");
	}
	return 0;
}

static int
binding_read(const char *id, json_t *object, struct binding *out, char *err,
    size_t err_len)
{
	const char *secret = NULL, *scheme = "https", *note = NULL;
	json_t *hosts = NULL, *placement = NULL, *allow = NULL, *env = NULL,
	    *limits = NULL;
	int64_t port = -1;
	const struct json_in_field fields[] = {
		{ "secret", JSON_IN_STR, true, 1, 64, &secret },
		{ "scheme", JSON_IN_STR, false, 1, 5, &scheme },
		{ "hosts", JSON_IN_ARRAY, true, 0, HOSTS_MAX, &hosts },
		{ "port", JSON_IN_INT, false, 1, 65535, &port },
		{ "placement", JSON_IN_OBJECT, true, 0, 0, &placement },
		{ "allow", JSON_IN_ARRAY, false, 0, 0, &allow },
		{ "env", JSON_IN_ARRAY, false, 0, ENV_MAX, &env },
		{ "limits", JSON_IN_OBJECT, false, 0, 0, &limits },
		{ "note", JSON_IN_STR, false, 1, 0, &note },
	};
	const struct json_in_field limit_fields[] = {
		{ "requests", JSON_IN_INT, false, 0, 0, &out->max_requests },
	};
	char where[BINDING_ID_MAX + 32];

	snprintf(where, sizeof(where), "bindings.%s", json_in_name(id));
	out->max_requests = -1;
	if (!id_ok(id))
		return fail(err, err_len, where,
		    "a binding's id is made of a-z, 0-9, '.', '_' and '-'");
	if (json_in_read(object, fields, 9, where, err, err_len) == -1)
		return -1;
	out->https = strcmp(scheme, "https") == 0;
	if (!out->https && strcmp(scheme, "http") != 0)
		return fail(err, err_len, where, "scheme is http or https");
	out->port = port != -1 ? (uint16_t)port : out->https ? 443 : 80;
	out->id = strdup(id);
	out->secret = strdup(secret);
	if (out->id == NULL || out->secret == NULL)
		return fail(err, err_len, where, "out of memory");
	if (limits != NULL &&
	    json_in_read(limits, limit_fields, 1, where, err, err_len) == -1)
		return -1;
	if (allow_check(allow, where, err, err_len) == -1 ||
	    binding_lists(out, hosts, env, where, err, err_len) == -1)
		return -1;
	return placement_read(placement, &out->placement, where, err, err_len);
}

static void
strings_free(char **list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(list[i]);
	free(list);
}

static void
binding_clear(struct binding *binding)
{
	free(binding->id);
	free(binding->secret);
	strings_free(binding->hosts, binding->n_hosts);
	strings_free(binding->env, binding->n_env);
	free(binding->placement.name);
	free(binding->placement.before);
	free(binding->placement.after);
	free(binding->placement.user);
}

/* --- all bindings ---------------------------------------------------- */

static int
bindings_read(struct bindings *out, json_t *object, char *err, size_t err_len)
{
	size_t count = json_object_size(object);
	const char *id;
	json_t *value;

	if (count == 0)
		return 0;
	if (count > BINDINGS_MAX)
		return fail(err, err_len, "bindings", "too many");
	out->all = calloc(count, sizeof(*out->all));
	if (out->all == NULL)
		return fail(err, err_len, "bindings", "out of memory");
	json_object_foreach(object, id, value) {
		if (binding_read(id, value, &out->all[out->n++], err,
		    err_len) == -1)
			return -1;
		out->n_places += out->all[out->n - 1].n_hosts;
	}
	return 0;
}

static int
place_order(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int c = strcmp(x->host, y->host);

	if (c != 0)
		return c;
	if (x->binding->https != y->binding->https)
		return x->binding->https ? -1 : 1;
	if (x->binding->port != y->binding->port)
		return x->binding->port < y->binding->port ? -1 : 1;
	return x->binding < y->binding ? -1 : x->binding > y->binding;
}

static int
id_order(const void *a, const void *b)
{
	const struct binding *const *x = a, *const *y = b;

	return strcmp((*x)->id, (*y)->id);
}

static int
bindings_index(struct bindings *out, char *err, size_t err_len)
{
	size_t at = 0;

	if (out->n == 0)
		return 0;
	out->places = calloc(out->n_places, sizeof(*out->places));
	out->by_id = calloc(out->n, sizeof(*out->by_id));
	if (out->places == NULL || out->by_id == NULL)
		return fail(err, err_len, "bindings", "out of memory");
	for (size_t i = 0; i < out->n; i++) {
		out->by_id[i] = &out->all[i];
		for (size_t j = 0; j < out->all[i].n_hosts; j++)
			out->places[at++] = (struct place){
			    out->all[i].hosts[j], &out->all[i] };
	}
	qsort(out->places, out->n_places, sizeof(*out->places), place_order);
	qsort(out->by_id, out->n, sizeof(*out->by_id), id_order);
	return 0;
}

/* --- egress and limits ----------------------------------------------- */

static void
map_v4(const uint8_t v4[4], uint8_t out[16])
{
	memset(out, 0, 10);
	out[10] = out[11] = 0xff;
	memcpy(out + 12, v4, 4);
}

static int
range_read(const char *text, struct range *out)
{
	char address[64];
	const char *slash = strchr(text, '/');
	uint8_t v4[4];
	char *end = NULL;
	long bits;

	if (slash == NULL || (size_t)(slash - text) >= sizeof(address) ||
	    slash[1] < '0' || slash[1] > '9')
		return -1;
	memcpy(address, text, (size_t)(slash - text));
	address[slash - text] = '\0';
	bits = strtol(slash + 1, &end, 10);
	if (*end != '\0' || bits < 0)
		return -1;
	if (inet_pton(AF_INET, address, v4) == 1) {
		map_v4(v4, out->bytes);
		out->bits = 96 + (unsigned)bits;
		return bits <= 32 ? 0 : -1;
	}
	out->bits = (unsigned)bits;
	return inet_pton(AF_INET6, address, out->bytes) == 1 && bits <= 128 ?
	    0 : -1;
}

static int
ranges_read(struct bindings *out, json_t *list, char *err, size_t err_len)
{
	size_t count = json_array_size(list);

	if (count == 0)
		return 0;
	out->ranges = calloc(count, sizeof(*out->ranges));
	if (out->ranges == NULL)
		return fail(err, err_len, "egress.private", "out of memory");
	for (size_t i = 0; i < count; i++) {
		const char *text = json_string_value(json_array_get(list, i));

		if (text == NULL || range_read(text, &out->ranges[i]) == -1)
			return fail(err, err_len, "egress.private",
			    "must be ranges like \"10.0.0.0/8\" or \"fd00::/8\"");
		out->n_ranges = i + 1;
	}
	return 0;
}

static int
egress_read(struct bindings *out, json_t *object, char *err, size_t err_len)
{
	json_t *allow = NULL, *private = NULL;
	const struct json_in_field fields[] = {
		{ "allow", JSON_IN_ARRAY, false, 0, 0, &allow },
		{ "private", JSON_IN_ARRAY, false, 0, RANGES_MAX, &private },
	};

	if (json_in_read(object, fields, 2, "egress", err, err_len) == -1)
		return -1;
	return ranges_read(out, private, err, err_len);
}

static int
limits_read(struct bindings *out, json_t *limits, json_t *grant, char *err,
    size_t err_len)
{
	const struct json_in_field of_run[] = {
		{ "requests", JSON_IN_INT, false, 0, 0, &out->limits.requests },
		{ "bytes_out", JSON_IN_INT, false, 0, 0, &out->limits.bytes_out },
		{ "cost", JSON_IN_INT, false, 0, 0, &out->limits.cost },
		{ "wall_ms", JSON_IN_INT, false, 0, 0, &out->limits.wall_ms },
	};
	const struct json_in_field of_grant[] = {
		{ "ttl_s", JSON_IN_INT, false, 1, 86400 * 30, &out->grant.ttl_s },
		{ "uses", JSON_IN_INT, false, 1, 1000000, &out->grant.uses },
	};

	if (limits != NULL &&
	    json_in_read(limits, of_run, 4, "limits", err, err_len) == -1)
		return -1;
	if (grant != NULL &&
	    json_in_read(grant, of_grant, 2, "grant", err, err_len) == -1)
		return -1;
	return 0;
}

/* --- interface ------------------------------------------------------- */

static int
document_read(struct bindings *out, json_t *root, char *err, size_t err_len)
{
	json_t *bindings = json_object_get(root, "bindings");
	json_t *egress = json_object_get(root, "egress");

	if (!json_is_object(root))
		return fail(err, err_len, "data", "must be an object");
	if (bindings != NULL && !json_is_object(bindings))
		return fail(err, err_len, "bindings", "must be an object");
	if (bindings_read(out, bindings, err, err_len) == -1 ||
	    bindings_index(out, err, err_len) == -1)
		return -1;
	if (egress != NULL && egress_read(out, egress, err, err_len) == -1)
		return -1;
	return limits_read(out, json_object_get(root, "limits"),
	    json_object_get(root, "grant"), err, err_len);
}

struct bindings *
bindings_parse(const char *data, size_t len, char *err, size_t err_len)
{
	struct bindings *out = calloc(1, sizeof(*out));
	json_t *root = NULL;

	if (out == NULL) {
		fail(err, err_len, "data", "out of memory");
		return NULL;
	}
	out->limits = (struct policy_budget){ -1, -1, -1, -1 };
	out->grant = (struct binding_grant){ 300, 1 };
	root = json_in_parse(data, len, err, err_len);
	if (root == NULL || document_read(out, root, err, err_len) == -1) {
		bindings_free(out);
		out = NULL;
	}
	json_decref(root);
	return out;
}

void
bindings_free(struct bindings *bindings)
{
	if (bindings == NULL)
		return;
	for (size_t i = 0; i < bindings->n; i++)
		binding_clear(&bindings->all[i]);
	free(bindings->all);
	free(bindings->places);
	free(bindings->by_id);
	free(bindings->ranges);
	free(bindings);
}

size_t
bindings_count(const struct bindings *bindings)
{
	return bindings->n;
}

const struct binding *
bindings_at(const struct bindings *bindings, size_t i)
{
	return i < bindings->n ? &bindings->all[i] : NULL;
}

const struct binding *
bindings_by_id(const struct bindings *bindings, struct slice id)
{
	size_t low = 0, high = bindings->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const char *at = bindings->by_id[mid]->id;
		int c = strncmp(at, id.p, id.n);

		if (c == 0 && strlen(at) == id.n)
			return bindings->by_id[mid];
		if (c < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

/* The first place of that host. */
static size_t
places_at(const struct bindings *bindings, const char *host)
{
	size_t low = 0, high = bindings->n_places;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (strcmp(bindings->places[mid].host, host) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

const struct binding *
bindings_for(const struct bindings *bindings, const struct target *target,
    size_t *cursor)
{
	size_t i = *cursor > 0 ? *cursor : places_at(bindings, target->host);

	for (; i < bindings->n_places; i++) {
		const struct place *place = &bindings->places[i];

		if (strcmp(place->host, target->host) != 0)
			break;
		if (place->binding->https == target->https &&
		    place->binding->port == target->port) {
			*cursor = i + 1;
			return place->binding;
		}
	}
	return NULL;
}

const struct policy_budget *
bindings_limits(const struct bindings *bindings)
{
	return &bindings->limits;
}

const struct binding_grant *
bindings_grant(const struct bindings *bindings)
{
	return &bindings->grant;
}

static bool
in_range(const struct range *range, const uint8_t address[16])
{
	unsigned whole = range->bits / 8, rest = range->bits % 8;
	uint8_t mask = (uint8_t)(0xff00u >> rest);

	return memcmp(range->bytes, address, whole) == 0 && (rest == 0 ||
	    ((range->bytes[whole] ^ address[whole]) & mask) == 0);
}

bool
bindings_private_allowed(const struct bindings *bindings,
    const struct sockaddr *address)
{
	uint8_t bytes[16];

	if (address->sa_family == AF_INET)
		map_v4((const uint8_t *)
		    &((const struct sockaddr_in *)address)->sin_addr, bytes);
	else if (address->sa_family == AF_INET6)
		memcpy(bytes,
		    &((const struct sockaddr_in6 *)address)->sin6_addr, 16);
	else
		return false;
	for (size_t i = 0; i < bindings->n_ranges; i++)
		if (in_range(&bindings->ranges[i], bytes))
			return true;
	return false;
}
