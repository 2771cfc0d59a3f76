/* countersign bind|unbind: where a secret may go. */
#include "binding/binding.h"
#include "cli/client.h"
#include "cli/cmd.h"
#include "cli/bind/bind.h"
#include "cli/cmd_bindings.h"
#include "cli/data.h"
#include "vault/vault.h"

#include <string.h>

const struct opt cmd_bind_opts[] = {
	{ "service", 0, "NAME", false, "a well-known service: its hosts, placement, rules and variables, save those that are given here" },
	{ "services", 0, NULL, false, "show the well-known services and what each stands for" },
	{ "host", 0, "HOST", true, "a host that gets it; the first serves /x/ID/ too" },
	{ "header", 0, "'NAME: TEMPLATE'", false, "the header field and its value, {} being the secret" },
	{ "basic", 0, "'USER:{}'", false, "HTTP Basic with this user name" },
	{ "query", 0, "'KEY={}'", false, "a query parameter" },
	{ "sigv4", 0, NULL, false, "sign requests as AWS wants it; the secret is aws:KEY-ID:SECRET-KEY, or with :SESSION-TOKEN behind" },
	{ "allow", 0, "'METHOD PATH'", true, "what may be done: GET allows HEAD too, * is any method; in the path * is one segment, ** any number" },
	{ "ask", 0, "'METHOD PATH'", true, "what a person must agree to each time, whether --allow covers it or not; see `countersign approve`" },
	{ "name", 0, "ID", false, "the binding's name; default: the secret's" },
	{ "port", 0, "N", false, "default: 443, or 80 with --http" },
	{ "http", 0, NULL, false, "plain HTTP: the secret crosses the network unencrypted" },
	{ "env", 0, "VAR", true, "an environment variable that holds the placeholder; default: by host" },
	{ "no-env", 0, NULL, false, "no environment variable" },
	{ "requests", 0, "N", false, "at most N requests in one run" },
	{ "cost", 0, "N", false, "what one request costs, in units of your choice; see `run --budget-cost`" },
	{ "escaped-slash", 0, NULL, false, "let paths hold %2F, which ends a segment for * (npm's @scope%2Fname, GitLab's group%2Fproject)" },
	{ "replace", 0, NULL, false, "replace a binding of that name" },
	{ "add", 0, NULL, false, "add the rules of --allow and --ask to the binding of that name, and change nothing else" },
	{ NULL, 0, NULL, false, NULL }
};

/* Adds value under name; false (value released) where it is NULL. */
static bool
add(json_t *binding, const char *name, json_t *value)
{
	return value != NULL && json_object_set_new(binding, name, value) == 0;
}

/* The rules of --ask, where there are some, and of --allow; one is wanted. */
static bool
add_rules(struct bind *bind, json_t *binding)
{
	json_t *allow, *ask;

	if (!add(binding, "allow", allow = bind_rules(bind, "allow")) ||
	    !add(binding, "ask", ask = bind_rules(bind, "ask")))
		return false;
	if (json_array_size(allow) == 0 && json_array_size(ask) == 0)
		return BIND_BAD(bind, "--allow is missing: without one nothing is "
		    "allowed ('* /**' allows everything)");
	if (json_array_size(ask) == 0)
		(void)json_object_del(binding, "ask");
	return true;
}

static json_t *
make_binding(struct bind *bind, json_t *bindings)
{
	json_t *binding = json_object();

	if (add(binding, "secret", json_string(bind->secret)) &&
	    add(binding, "scheme", json_string(bind->https ? "https" : "http")) &&
	    add(binding, "hosts", bind_hosts(bind)) &&
	    add(binding, "port", json_integer(bind->port)) &&
	    add(binding, "placement", bind_placement(bind)) &&
	    add_rules(bind, binding) &&
	    add(binding, "env", bind_env(bind, bindings,
	    json_object_get(binding, "hosts"))) &&
	    (!(opt_flag(bind->opts, "escaped-slash") ||
	    (bind->service != NULL && bind->service->escaped_slash)) ||
	    add(binding, "escaped_slash", json_true())) &&
	    (bind->cost == 0 || add(binding, "cost",
	    json_integer((json_int_t)bind->cost))) &&
	    (bind->requests == 0 || add(binding, "limits",
	    json_pack("{s:I}", "requests", (json_int_t)bind->requests))))
		return binding;
	json_decref(binding);
	return NULL;
}

_Static_assert(VAULT_NAME_MAX == BINDING_ID_MAX, "one rule for both names");

static int
read_service(struct bind *bind)
{
	const char *name = opt_value(bind->opts, "service");

	if (name == NULL || (bind->service = service_named(name)) != NULL)
		return 0;
	return cli_usage("--service %s: not one of those that are known; "
	    "`countersign bind --services` shows them, and the other options "
	    "bind any", cli_clean(name));
}

/* Rules alone can be added: the rest of a binding is one thing. */
static int
read_add(const struct opts *opts)
{
	for (size_t i = 0; opt_flag(opts, "add") && i < opts->n_given; i++) {
		const char *name = opts->given[i].opt->name;
		if (strcmp(name, "add") != 0 && strcmp(name, "allow") != 0 &&
		    strcmp(name, "ask") != 0 && strcmp(name, "name") != 0)
			return cli_usage("--add adds rules of --allow and --ask; for --%s "
			    "the whole binding is given, with --replace", name);
	}
	return 0;
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
	if (!vault_name_ok(bind->secret) || !vault_name_ok(bind->id))
		return cli_usage("names have 1 to %d of a-z 0-9 . _ - and begin "
		    "with a letter or digit", BINDING_ID_MAX);
	if (opt_flag(opts, "no-env") && opt_value(opts, "env") != NULL)
		return cli_usage("--env and --no-env exclude each other");
	bind->https = !opt_flag(opts, "http");
	bind->port = bind->https ? 443 : 80;
	if (opt_number(opts, "port", 1, 65535, &bind->port, bind->err,
	    sizeof(bind->err)) != 0 || opt_number(opts, "requests", 1, INT32_MAX,
	    &bind->requests, bind->err, sizeof(bind->err)) != 0 ||
	    opt_number(opts, "cost", 1, INT32_MAX, &bind->cost, bind->err,
	    sizeof(bind->err)) != 0)
		return cli_usage("%s", bind->err);
	return read_service(bind) != 0 || read_add(opts) != 0 ? CLI_USAGE : 0;
}

/* The rules of more under that name which the binding does not have yet. */
static bool
add_new(struct bind *bind, json_t *binding, const json_t *more, const char *name)
{
	json_t *fresh = json_object_get(more, name), *list, *rule, *one;
	size_t i, k;

	if (fresh == NULL)
		return true;
	if ((list = data_array(binding, name)) == NULL)
		return BIND_BAD(bind, "bindings.%s.%s is no list", bind->id, name);
	json_array_foreach(fresh, i, rule) {
		json_array_foreach(list, k, one)
			if (json_equal(one, rule))
				break;
		if (k == json_array_size(list))
			json_array_append(list, rule);
	}
	return true;
}

/* The binding of that name with more rules; owned, NULL with a message. */
static json_t *
with_rules(struct bind *bind, const json_t *bindings)
{
	json_t *binding = json_deep_copy(json_object_get(bindings, bind->id));
	json_t *more = json_object();
	bool done;

	if (!json_is_object(binding))
		done = BIND_BAD(bind, "there is no binding %s to add to", bind->id);
	else
		done = add_rules(bind, more) &&
		    add_new(bind, binding, more, "allow") &&
		    add_new(bind, binding, more, "ask");
	json_decref(more);
	if (done)
		return binding;
	json_decref(binding);
	return NULL;
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
		if (!found && json_object_get(reply.json, "unanswered") == NULL)
			cli_err("note: there is no secret %s yet; `countersign "
			    "secret put %s` stores it", name, name);
	} else if (result == CLIENT_NO_DAEMON) {
		cli_err("note: no daemon runs that could tell whether there is a "
		    "secret %s; if not, `countersign secret put %s` stores it",
		    name, name);
	}
	client_reply_release(&reply);
}

static bool
aws_host(const char *host)
{
	static const char tail[] = ".amazonaws.com";
	size_t n = strlen(host);

	return n >= sizeof(tail) && strcmp(host + n - (sizeof(tail) - 1), tail) == 0;
}

/* One binding alone makes a client of AWS work: it is said here, since all that the
 * client says later is what AWS answers to a signature by a placeholder. */
static void
note_signing(const struct opts *opts)
{
	const char *text;
	bool aws = false;
	size_t host = 0, env = 0;

	while ((text = opt_next(opts, "host", &host)) != NULL)
		aws = aws || aws_host(text);
	while ((text = opt_next(opts, "env", &env)) != NULL)
		aws = aws || strcmp(text, "AWS_SECRET_ACCESS_KEY") == 0;
	if (aws && !opt_flag(opts, "sigv4"))
		cli_err("note: clients of AWS do not send their secret but sign "
		    "with it (SigV4); with a placeholder they sign in vain, but "
		    "where the binding is made with --sigv4");
}

/* The new binding in the place of what was there; a status. */
static int
put_binding(struct bind *bind, struct data *data)
{
	json_t *bindings = data_object(data_root(data), "bindings"), *binding;
	const bool adds = opt_flag(bind->opts, "add");
	int rc;

	if (bindings == NULL) {
		cli_err("bindings is no object");
		return CLI_USAGE;
	}
	if (!adds && json_object_get(bindings, bind->id) != NULL &&
	    !opt_flag(bind->opts, "replace")) {
		cli_err("the binding %s is there already; --replace replaces it, "
		    "--add adds rules, --name gives this one another name",
		    bind->id);
		return CLI_REFUSED;
	}
	binding = adds ? with_rules(bind, bindings) : make_binding(bind, bindings);
	if (binding == NULL)
		return cli_usage("%s", bind->err);
	json_object_set_new(bindings, bind->id, binding);
	if ((rc = data_commit(data, DATA_GIVES)) == CLI_OK)
		cmd_bindings_print(bind->id, binding, NULL);
	return rc;
}

int
cmd_bind(const struct opts *opts)
{
	struct bind bind = { .opts = opts };
	struct data *data;
	int rc;

	if (opt_flag(opts, "services")) {
		services_print();
		return CLI_OK;
	}
	if ((rc = read_bind(&bind)) != 0 || (rc = cli_need_home()) != 0)
		return rc;
	if ((data = data_open()) == NULL)
		return CLI_USAGE;
	rc = put_binding(&bind, data);
	data_close(data);
	if (rc == CLI_OK && !opt_flag(opts, "add")) {
		if (bind.taken[0] != '\0')
			cli_err("%s", bind.taken);
		look_for_secret(bind.secret);
		note_signing(opts);
	}
	return rc;
}

int
cmd_unbind(const struct opts *opts)
{
	struct data *data;
	json_t *bindings;
	int rc;

	if (opts->n_rest != 1)
		return cli_usage("one ID, of a binding, is wanted");
	if ((rc = cli_need_home()) != 0)
		return rc;
	if ((data = data_open()) == NULL)
		return CLI_USAGE;
	bindings = data_object(data_root(data), "bindings");
	if (bindings == NULL || json_object_del(bindings, opts->rest[0]) != 0) {
		cli_err("there is no binding %s", cli_clean(opts->rest[0]));
		rc = CLI_REFUSED;
	} else if ((rc = data_commit(data, DATA_TAKES)) == CLI_OK) {
		printf("%s: no longer bound\n", cli_clean(opts->rest[0]));
	}
	data_close(data);
	return rc;
}
