/* countersign bind|unbind: where a secret may go. */
#include "binding/binding.h"
#include "cli/client.h"
#include "cli/cmd.h"
#include "cli/cmd_bindings.h"
#include "cli/data.h"
#include "cli/env_names.h"
#include "cli/lacking.h"
#include "http/target.h"
#include "vault/vault.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <jansson.h>

const struct opt cmd_bind_opts[] = {
	{ "host", 0, "HOST", true, "a host that gets it; the first serves /x/ID/ too" },
	{ "header", 0, "'NAME: TEMPLATE'", false, "the header field and its value, {} being the secret" },
	{ "basic", 0, "'USER:{}'", false, "HTTP Basic with this user name" },
	{ "query", 0, "'KEY={}'", false, "a query parameter" },
	{ "allow", 0, "'METHOD PATH'", true, "what may be done: GET allows HEAD too, * is any method; in the path * is one segment, ** any number" },
	{ "name", 0, "ID", false, "the binding's name; default: the secret's" },
	{ "port", 0, "N", false, "default: 443, or 80 with --http" },
	{ "http", 0, NULL, false, "plain HTTP: the secret crosses the network unencrypted" },
	{ "env", 0, "VAR", true, "an environment variable that holds the placeholder; default: by host" },
	{ "no-env", 0, NULL, false, "no environment variable" },
	{ "requests", 0, "N", false, "at most N requests in one run" },
	{ "cost", 0, "N", false, "what one request costs, in units of your choice; see `run --budget-cost`" },
	{ "escaped-slash", 0, NULL, false, "let paths hold %2F, which ends a segment for * (npm's @scope%2Fname, GitLab's group%2Fproject)" },
	{ "replace", 0, NULL, false, "replace a binding of that name" },
	{ NULL, 0, NULL, false, NULL }
};

struct bind {
	const struct opts *opts;
	const char *secret, *id;
	bool https;
	long long port, requests, cost;
	char err[CLI_ERR_MAX];
};

#define BAD(bind, ...) \
	(snprintf((bind)->err, sizeof((bind)->err), __VA_ARGS__), NULL)

/* --- one member each: NULL with a message ---------------------------- */

/* The text before and after the one {} of a template; false where there is
 * none, or more than one. */
static bool
one_slot(const char *template)
{
	const char *slot = strstr(template, "{}");

	return slot != NULL && strstr(slot + 2, "{}") == NULL;
}

static bool
token_text(const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (!isalnum((unsigned char)text[i]) &&
		    strchr("!#$%&'*+-.^_`|~", text[i]) == NULL)
			return false;
	return len > 0;
}

/* Fields that frame or route a message carry no credential. */
static bool
field_reserved(const char *name)
{
	static const char *const names[] = { "Host", "Connection",
	    "Content-Length", "Transfer-Encoding", "Upgrade", "TE", "Trailer",
	    "Expect", "Proxy-Authorization", "Proxy-Connection", "Keep-Alive",
	    NULL };
	size_t i;

	for (i = 0; names[i] != NULL; i++)
		if (strcasecmp(names[i], name) == 0)
			return true;
	return false;
}

static json_t *
header_placement(struct bind *bind, const char *text)
{
	const char *colon = strchr(text, ':'), *template;
	char name[128];

	if (colon == NULL || colon - text > 100 ||
	    !token_text(text, (size_t)(colon - text)))
		return BAD(bind, "--header wants 'Name: template', such as "
		    "'Authorization: Bearer {}'");
	snprintf(name, sizeof(name), "%.*s", (int)(colon - text), text);
	if (field_reserved(name))
		return BAD(bind, "the header field %s cannot carry a credential",
		    name);
	for (template = colon + 1; *template == ' '; template++)
		;
	if (!one_slot(template) || strpbrk(template, "\r\n") != NULL)
		return BAD(bind, "--header wants {} once, where the secret goes; "
		    "never the secret itself");
	return json_pack("{s:s, s:s, s:s}", "kind", "header", "name", name,
	    "template", template);
}

static json_t *
basic_placement(struct bind *bind, const char *text)
{
	size_t len = strlen(text);

	if (len < 3 || strcmp(text + len - 3, ":{}") != 0 ||
	    memchr(text, ':', len - 3) != NULL || strstr(text, "{}") != text + len - 2)
		return BAD(bind, "--basic wants 'user:{}'");
	return json_pack("{s:s, s:s%}", "kind", "basic", "user", text, len - 3);
}

static json_t *
query_placement(struct bind *bind, const char *text)
{
	size_t len = strlen(text);

	if (len < 4 || strcmp(text + len - 3, "={}") != 0 ||
	    !token_text(text, len - 3))
		return BAD(bind, "--query wants 'key={}'");
	return json_pack("{s:s, s:s%}", "kind", "query", "name", text, len - 3);
}

static json_t *
placement(struct bind *bind)
{
	const char *header = opt_value(bind->opts, "header");
	const char *basic = opt_value(bind->opts, "basic");
	const char *query = opt_value(bind->opts, "query");

	if ((header != NULL) + (basic != NULL) + (query != NULL) != 1)
		return BAD(bind, "one of --header, --basic and --query says where "
		    "the secret goes");
	if (header != NULL)
		return header_placement(bind, header);
	return basic != NULL ? basic_placement(bind, basic) :
	    query_placement(bind, query);
}

static json_t *
hosts(struct bind *bind)
{
	json_t *list = json_array();
	struct target target;
	const char *host, *fault;
	size_t cursor = 0;

	while ((host = opt_next(bind->opts, "host", &cursor)) != NULL) {
		fault = target_from_authority(slice_of(host),
		    (uint16_t)bind->port, &target);
		if (fault == NULL && target.port != bind->port)
			fault = "the port goes into --port";
		if (strstr(host, "://") != NULL)
			fault = "a host is wanted, not a URL";
		if (fault != NULL) {
			json_decref(list);
			return BAD(bind, "--host %s: %s", cli_clean(host), fault);
		}
		json_array_append_new(list, json_string(target.host));
	}
	if (json_array_size(list) > 0)
		return list;
	json_decref(list);
	return BAD(bind, "--host is missing: a secret is bound to hosts");
}

static bool
rule_ok(const char *rule)
{
	const char *space = strchr(rule, ' ');
	size_t i;

	if (space == NULL || space == rule || space[1] != '/' ||
	    strchr(space + 1, ' ') != NULL)
		return false;
	if (space == rule + 1 && rule[0] == '*')
		return true;
	for (i = 0; rule + i < space; i++)
		if (!isupper((unsigned char)rule[i]) && rule[i] != '-')
			return false;
	return true;
}

/* The rule as the paths that it is held against are spelled: %2F. */
static json_t *
rule_text(const char *rule)
{
	json_t *out = NULL;
	char *text = strdup(rule), *at = text;

	while (at != NULL && (at = strstr(at, "%2f")) != NULL)
		at[2] = 'F';
	if (text != NULL)
		out = json_string(text);
	free(text);
	return out;
}

static json_t *
allow(struct bind *bind)
{
	json_t *list = json_array();
	const char *rule;
	size_t cursor = 0;

	while ((rule = opt_next(bind->opts, "allow", &cursor)) != NULL) {
		if (!rule_ok(rule)) {
			json_decref(list);
			return BAD(bind, "--allow %s: wanted is 'METHOD /path', "
			    "such as 'GET /repos/**'", cli_clean(rule));
		}
		json_array_append_new(list, rule_text(rule));
	}
	if (json_array_size(list) > 0)
		return list;
	json_decref(list);
	return BAD(bind, "--allow is missing: without one nothing is allowed "
	    "('* /**' allows everything)");
}

/* --- environment variables ------------------------------------------- */

/* The other binding that has this variable, or NULL. */
static const char *
taken_by(json_t *bindings, const char *id, const char *name)
{
	json_t *binding, *one;
	const char *key;
	size_t i;

	json_object_foreach(bindings, key, binding)
		json_array_foreach(json_object_get(binding, "env"), i, one)
			if (strcmp(key, id) != 0 && json_is_string(one) &&
			    strcmp(json_string_value(one), name) == 0)
				return key;
	return NULL;
}

/* For a host that nobody knows: ID_TOKEN. */
static void
derived_name(const char *id, char *buf, size_t cap)
{
	size_t i;
	int n = snprintf(buf, cap, "%s%s_TOKEN",
	    isdigit((unsigned char)id[0]) ? "T" : "", id);

	for (i = 0; n > 0 && buf[i] != '\0'; i++)
		buf[i] = isalnum((unsigned char)buf[i]) ?
		    (char)toupper((unsigned char)buf[i]) : '_';
}

static json_t *
given_env(struct bind *bind, json_t *bindings)
{
	json_t *list = json_array();
	const char *name, *other;
	size_t cursor = 0;

	while ((name = opt_next(bind->opts, "env", &cursor)) != NULL) {
		other = taken_by(bindings, bind->id, name);
		if (env_names_ok(name) && other == NULL) {
			json_array_append_new(list, json_string(name));
			continue;
		}
		json_decref(list);
		if (other != NULL)
			return BAD(bind, "--env %s: the binding %s has it",
			    name, cli_clean(other));
		return BAD(bind, "--env %s: no name for a placeholder",
		    cli_clean(name));
	}
	return list;
}

static json_t *
default_env(struct bind *bind, json_t *bindings, const json_t *host_list)
{
	json_t *list = json_array();
	const char *const *names;
	char derived[BINDING_ID_MAX + 8];
	size_t i;

	names = env_names_for(json_string_value(json_array_get(host_list, 0)));
	if (names == NULL) {
		derived_name(bind->id, derived, sizeof(derived));
		if (env_names_ok(derived) &&
		    taken_by(bindings, bind->id, derived) == NULL)
			json_array_append_new(list, json_string(derived));
		return list;
	}
	for (i = 0; names[i] != NULL; i++)
		if (taken_by(bindings, bind->id, names[i]) == NULL)
			json_array_append_new(list, json_string(names[i]));
	return list;
}

static json_t *
environment(struct bind *bind, json_t *bindings, const json_t *host_list)
{
	size_t cursor = 0;

	if (opt_flag(bind->opts, "no-env"))
		return json_array();
	if (opt_next(bind->opts, "env", &cursor) != NULL)
		return given_env(bind, bindings);
	return default_env(bind, bindings, host_list);
}

/* --- the whole ------------------------------------------------------- */

/* Adds value under name; false (value released) where it is NULL. */
static bool
add(json_t *binding, const char *name, json_t *value)
{
	return value != NULL && json_object_set_new(binding, name, value) == 0;
}

static json_t *
make_binding(struct bind *bind, json_t *bindings)
{
	json_t *binding = json_object();

	if (add(binding, "secret", json_string(bind->secret)) &&
	    add(binding, "scheme", json_string(bind->https ? "https" : "http")) &&
	    add(binding, "hosts", hosts(bind)) &&
	    add(binding, "port", json_integer(bind->port)) &&
	    add(binding, "placement", placement(bind)) &&
	    add(binding, "allow", allow(bind)) &&
	    add(binding, "env", environment(bind, bindings,
	    json_object_get(binding, "hosts"))) &&
	    (!opt_flag(bind->opts, "escaped-slash") ||
	    add(binding, "escaped_slash", json_true())) &&
	    (bind->cost == 0 || add(binding, "cost",
	    json_integer((json_int_t)bind->cost))) &&
	    (bind->requests == 0 || add(binding, "limits",
	    json_pack("{s:I}", "requests", (json_int_t)bind->requests))))
		return binding;
	json_decref(binding);
	return NULL;
}

static bool
id_ok(const char *id)
{
	return vault_name_ok(id) && strlen(id) < BINDING_ID_MAX;
}

static int
read_bind(struct bind *bind)
{
	const struct opts *opts = bind->opts;

	if (opts->n_rest != 1)
		return cli_usage("one NAME, of a secret, is wanted");
	bind->secret = opts->rest[0];
	bind->id = opt_value(opts, "name");
	if (bind->id == NULL)
		bind->id = bind->secret;
	if (!vault_name_ok(bind->secret) || !id_ok(bind->id))
		return cli_usage("names have 1 to %d of a-z 0-9 . _ - and begin "
		    "with a letter or digit", BINDING_ID_MAX - 1);
	bind->https = !opt_flag(opts, "http");
	bind->port = bind->https ? 443 : 80;
	if (opt_number(opts, "port", 1, 65535, &bind->port, bind->err,
	    sizeof(bind->err)) != 0 || opt_number(opts, "requests", 1, INT32_MAX,
	    &bind->requests, bind->err, sizeof(bind->err)) != 0 ||
	    opt_number(opts, "cost", 1, INT32_MAX, &bind->cost, bind->err,
	    sizeof(bind->err)) != 0)
		return cli_usage("%s", bind->err);
	return 0;
}

/* A binding to a secret that is not there yet is fine, but worth a word. */
static void
look_for_secret(const char *name)
{
	enum client_result result;
	struct client_reply reply;
	bool found = false;
	json_t *one;
	size_t i;

	result = client_operator("GET", "/v1/secrets", NULL, &reply);
	if (result == CLIENT_OK) {
		json_array_foreach(json_object_get(reply.json, "secrets"), i, one)
			found = found || strcmp(client_str(one, "name"), name) == 0;
		if (!found)
			cli_err("note: there is no secret %s yet; `countersign "
			    "secret put %s` stores it", name, name);
	} else if (result == CLIENT_NO_DAEMON) {
		cli_err("note: no daemon runs that could tell whether there is a "
		    "secret %s; if not, `countersign secret put %s` stores it",
		    name, name);
	}
	client_reply_release(&reply);
}

int
cmd_bind(const struct opts *opts)
{
	struct bind bind = { .opts = opts };
	struct data *data = NULL;
	json_t *bindings, *binding;
	int rc;

	if ((rc = read_bind(&bind)) != 0 || (rc = cli_need_home()) != 0)
		return rc;
	rc = CLI_REFUSED;
	data = data_open(bind.err, sizeof(bind.err));
	bindings = data != NULL ? data_object(data_root(data), "bindings") : NULL;
	if (bindings == NULL) {
		rc = CLI_USAGE;
		cli_err("%s", data != NULL ? "bindings is no object" : bind.err);
	} else if (json_object_get(bindings, bind.id) != NULL &&
	    !opt_flag(opts, "replace")) {
		cli_err("the binding %s is there already; --replace replaces it, "
		    "--name gives this one another name", bind.id);
	} else if ((binding = make_binding(&bind, bindings)) == NULL) {
		rc = cli_usage("%s", bind.err);
	} else {
		json_object_set_new(bindings, bind.id, binding);
		if ((rc = data_commit(data)) == CLI_OK) {
			cmd_bindings_print(bind.id, binding, NULL);
			look_for_secret(bind.secret);
		}
	}
	data_close(data);
	return rc;
}

int
cmd_unbind(const struct opts *opts)
{
	char err[CLI_ERR_MAX];
	struct data *data;
	json_t *bindings;
	int rc;

	if (opts->n_rest != 1)
		return cli_usage("one ID, of a binding, is wanted");
	if ((rc = cli_need_home()) != 0)
		return rc;
	if ((data = data_open(err, sizeof(err))) == NULL) {
		cli_err("%s", err);
		return CLI_USAGE;
	}
	bindings = data_object(data_root(data), "bindings");
	if (bindings == NULL || json_object_del(bindings, opts->rest[0]) != 0) {
		cli_err("there is no binding %s", cli_clean(opts->rest[0]));
		rc = CLI_REFUSED;
	} else if ((rc = data_commit(data)) == CLI_OK) {
		printf("%s: no longer bound\n", cli_clean(opts->rest[0]));
	}
	data_close(data);
	return rc;
}
