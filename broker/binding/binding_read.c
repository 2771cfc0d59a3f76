/* One binding, and the other members of the data document that the broker
 * reads (policy/packs/DATA.md). */
#include "binding/binding_impl.h"
#include "http/target.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOSTS_MAX 64
#define ENV_MAX 16
#define RANGES_MAX 256
#define TEXT_MAX 256

/* --- text ------------------------------------------------------------ */

int
binding_fail(char *err, size_t err_len, const char *where, const char *what)
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

static bool
host_is_address(const char *host)
{
	struct target target;

	return host != NULL &&
	    target_from_host(slice_of(host), 443, &target) == NULL &&
	    target.is_address;
}

/* The strings of a list, checked with ok, in one allocation of the caller. */
static int
strings(json_t *list, bool (*ok)(const char *), const char *where,
    const char *what, char ***out, size_t *n, char *err, size_t err_len)
{
	size_t count = json_array_size(list), size = count * sizeof(char *);
	const char *text;
	char *at;

	for (size_t i = 0; i < count; i++) {
		text = json_string_value(json_array_get(list, i));
		if (text == NULL || !ok(text))
			return binding_fail(err, err_len, where, what);
		size += strlen(text) + 1;
	}
	if (count == 0)
		return 0;
	*out = malloc(size);
	if (*out == NULL)
		return binding_fail(err, err_len, where, "out of memory");
	at = (char *)(*out + count);
	for (size_t i = 0; i < count; i++) {
		text = json_string_value(json_array_get(list, i));
		(*out)[i] = memcpy(at, text, strlen(text) + 1);
		at += strlen(text) + 1;
	}
	*n = count;
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
	    "expect", "accept-encoding", "proxy-authorization", "proxy-connection", "keep-alive",
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
		return binding_fail(err, err_len, where,
		    "placement.name must be a header's name that does not frame or route the request");
	if (template == NULL)
		template = "{}";
	hole = strstr(template, "{}");
	if (hole == NULL || strstr(hole + 2, "{}") != NULL ||
	    !printable(template))
		return binding_fail(err, err_len, where,
		    "placement.template must hold {} once, in printable ASCII");
	out->kind = PLACE_HEADER;
	out->name = strdup(name);
	out->before = strndup(template, (size_t)(hole - template));
	out->after = strdup(hole + 2);
	if (out->name == NULL || out->before == NULL || out->after == NULL)
		return binding_fail(err, err_len, where, "out of memory");
	return 0;
}

static int
placement_basic(struct placement *out, const char *user, const char *where,
    char *err, size_t err_len)
{
	if (user == NULL || strchr(user, ':') != NULL || !printable(user))
		return binding_fail(err, err_len, where,
		    "placement.user must be printable ASCII without ':'");
	out->kind = PLACE_BASIC;
	out->user = strdup(user);
	return out->user != NULL ? 0 :
	    binding_fail(err, err_len, where, "out of memory");
}

static int
placement_query(struct placement *out, const char *name, const char *where,
    char *err, size_t err_len)
{
	if (name == NULL || !token_ok(name) || strpbrk(name, "#%&+'") != NULL)
		return binding_fail(err, err_len, where,
		    "placement.name must be a query key that needs no escapes");
	out->kind = PLACE_QUERY;
	out->name = strdup(name);
	return out->name != NULL ? 0 :
	    binding_fail(err, err_len, where, "out of memory");
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
	if (strcmp(kind, "sigv4") == 0 && name == NULL && user == NULL &&
	    template == NULL) {
		out->kind = PLACE_SIGV4;
		return 0;
	}
	return binding_fail(err, err_len, where,
	    "placement is a header (name, template), basic (user), query (name) or sigv4");
}

/* --- one binding ----------------------------------------------------- */

static int
binding_lists(struct binding *out, json_t *hosts, json_t *env,
    const char *where, char *err, size_t err_len)
{
	if (json_array_size(hosts) == 0)
		return binding_fail(err, err_len, where, "hosts is empty");
	if (strings(hosts, host_ok, where,
	    "hosts must be exact names in lower case, without port",
	    &out->hosts, &out->n_hosts, err, err_len) == -1)
		return -1;
	out->is_address = host_is_address(json_string_value(
	    json_array_get(hosts, 0)));
	return strings(env, env_ok, where,
	    "env must be names of environment variables", &out->env,
	    &out->n_env, err, err_len);
}

/* Paths come here in one spelling, whose characters a pattern's stand for, and
 * *** is no pattern.  NULL, or why no path can match. */
static const char *
never_matches(const char *path)
{
	struct target target = { .port = 443 };
	char text[TARGET_BUF_MAX];

	if (strstr(path, "***") != NULL)
		return "*** in it";
	if (strchr(path, '?') != NULL || strchr(path, '#') != NULL)
		return "a rule is for the path alone, without ? or #";
	if (target_set_path(&target, (struct slice){ path, strlen(path) }, text,
	    sizeof(text)) != NULL)
		return "// or a . or .. segment, or an escape that no path may hold";
	if (strcmp(target.path, path) != 0)
		return "paths are matched in one spelling, letters, digits and -._~ plain, "
		    "what needs an escape as %XX in upper case";
	return NULL;
}

/* NULL, or why no request can match the rule "METHOD /path". */
static const char *
rule_matches_nothing(const char *rule)
{
	if (strncmp(rule, "CONNECT ", 8) == 0)
		return "CONNECT";
	if (strncmp(rule, "TRACE ", 6) == 0 || strncmp(rule, "TRACK ", 6) == 0)
		return "TRACE and TRACK are refused, since they send the credential back";
	return never_matches(strchr(rule, ' ') + 1);
}

/* The policy reads `allow` and `ask`; here only their form is checked, so that a
 * slip of the pen is found when the pack is loaded. */
static int
rules_check(json_t *list, const char *name, bool escaped_slash,
    const char *where, char *err, size_t err_len)
{
	char what[256];
	size_t i;
	json_t *entry;

	json_array_foreach(list, i, entry) {
		const char *text = json_string_value(entry);
		const char *space = text ? strchr(text, ' ') : NULL, *why;

		what[0] = '\0';
		if (space == NULL || space == text || space[1] != '/')
			snprintf(what, sizeof(what),
			    "%s must be entries like \"GET /repos/**\"", name);
		else if (strstr(space, "%2f") != NULL)
			snprintf(what, sizeof(what),
			    "an escaped slash in %s is written %%2F", name);
		else if ((why = rule_matches_nothing(text)) != NULL)
			snprintf(what, sizeof(what),
			    "an entry of %s can match nothing: %s", name, why);
		else if (strstr(space, "%2F") != NULL && !escaped_slash)
			snprintf(what, sizeof(what), "a path of %s holds %%2F: "
			    "set escaped_slash (bind --escaped-slash)", name);
		if (what[0] != '\0')
			return binding_fail(err, err_len, where, what);
	}
	return 0;
}

static int
binding_rules(struct binding *out, json_t *allow, json_t *ask,
    const char *where, char *err, size_t err_len)
{
	if (rules_check(allow, "allow", out->escaped_slash, where, err,
	    err_len) == -1 || rules_check(ask, "ask", out->escaped_slash, where,
	    err, err_len) == -1)
		return -1;
	if (json_array_size(ask) == 0)
		return 0;
	out->asks = strdup(json_string_value(json_array_get(ask, 0)));
	return out->asks != NULL ? 0 :
	    binding_fail(err, err_len, where, "out of memory");
}

int
binding_read(const char *id, json_t *object, struct binding *out, char *err,
    size_t err_len)
{
	const char *secret = NULL, *scheme = "https", *note = NULL;
	json_t *hosts = NULL, *placement = NULL, *allow = NULL, *ask = NULL,
	    *env = NULL, *limits = NULL;
	int64_t port = -1, cost = 0;	/* the policy reads the cost */
	const struct json_in_field fields[] = {
		{ "secret", JSON_IN_STR, true, 1, 64, &secret },
		{ "scheme", JSON_IN_STR, false, 1, 5, &scheme },
		{ "hosts", JSON_IN_ARRAY, true, 0, HOSTS_MAX, &hosts },
		{ "port", JSON_IN_INT, false, 1, 65535, &port },
		{ "placement", JSON_IN_OBJECT, true, 0, 0, &placement },
		{ "allow", JSON_IN_ARRAY, false, 0, 0, &allow },
		{ "ask", JSON_IN_ARRAY, false, 0, 0, &ask },
		{ "env", JSON_IN_ARRAY, false, 0, ENV_MAX, &env },
		{ "limits", JSON_IN_OBJECT, false, 0, 0, &limits },
		{ "cost", JSON_IN_INT, false, 0, INT32_MAX, &cost },
		{ "note", JSON_IN_STR, false, 1, 0, &note },
		{ "escaped_slash", JSON_IN_BOOL, false, 0, 0, &out->escaped_slash },
	};
	const struct json_in_field limit_fields[] = {
		{ "requests", JSON_IN_INT, false, 0, 0, &out->max_requests },
	};
	char where[BINDING_ID_MAX + 32];

	snprintf(where, sizeof(where), "bindings.%s", json_in_name(id));
	out->max_requests = -1;
	if (!id_ok(id))
		return binding_fail(err, err_len, where,
		    "a binding's id is made of a-z, 0-9, '.', '_' and '-'");
	if (json_in_read(object, fields, 12, where, err, err_len) == -1)
		return -1;
	out->https = strcmp(scheme, "https") == 0;
	if (!out->https && strcmp(scheme, "http") != 0)
		return binding_fail(err, err_len, where, "scheme is http or https");
	out->port = port != -1 ? (uint16_t)port : out->https ? 443 : 80;
	out->id = strdup(id);
	out->secret = strdup(secret);
	if (out->id == NULL || out->secret == NULL)
		return binding_fail(err, err_len, where, "out of memory");
	if (limits != NULL &&
	    json_in_read(limits, limit_fields, 1, where, err, err_len) == -1)
		return -1;
	if (binding_rules(out, allow, ask, where, err, err_len) == -1 ||
	    binding_lists(out, hosts, env, where, err, err_len) == -1)
		return -1;
	return placement_read(placement, &out->placement, where, err, err_len);
}

void
binding_clear(struct binding *binding)
{
	free(binding->id);
	free(binding->secret);
	free(binding->hosts);
	free(binding->env);
	free(binding->asks);
	free(binding->placement.name);
	free(binding->placement.before);
	free(binding->placement.after);
	free(binding->placement.user);
}

/* --- egress and limits ----------------------------------------------- */

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
		return binding_fail(err, err_len, "egress.private", "out of memory");
	for (size_t i = 0; i < count; i++) {
		const char *text = json_string_value(json_array_get(list, i));

		if (text == NULL || range_read(text, &out->ranges[i]) == -1)
			return binding_fail(err, err_len, "egress.private",
			    "must be ranges like \"10.0.0.0/8\" or \"fd00::/8\"");
		out->n_ranges = i + 1;
	}
	return 0;
}

int
binding_read_egress(struct bindings *out, json_t *object, char *err, size_t err_len)
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

int
binding_read_limits(struct bindings *out, json_t *limits, json_t *grant, char *err,
    size_t err_len)
{
	const struct json_in_field of_run[] = {
		{ "requests", JSON_IN_INT, false, 0, 0, &out->limits.requests },
		{ "bytes_out", JSON_IN_INT, false, 0, 0, &out->limits.bytes_out },
		{ "cost", JSON_IN_INT, false, 0, 0, &out->limits.cost },
		{ "wall_ms", JSON_IN_INT, false, 0, 0, &out->limits.wall_ms },
		{ "refusals", JSON_IN_INT, false, 0, 1000000, &out->refusals },
	};
	const struct json_in_field of_grant[] = {
		{ "ttl_s", JSON_IN_INT, false, 1, 86400 * 30, &out->grant.ttl_s },
		{ "uses", JSON_IN_INT, false, 1, 1000000, &out->grant.uses },
	};

	if (limits != NULL &&
	    json_in_read(limits, of_run, 5, "limits", err, err_len) == -1)
		return -1;
	if (grant != NULL &&
	    json_in_read(grant, of_grant, 2, "grant", err, err_len) == -1)
		return -1;
	return 0;
}

