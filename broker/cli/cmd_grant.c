/*
 * countersign grant: what an agent inside a run uses to ask for leave to do one
 * thing, to look at such a leave, or to give it back.
 */
#include "cli/client.h"
#include "cli/cmd.h"

#include "ledger/output/shown.h"

#include <stdlib.h>
#include <string.h>

const struct opt cmd_grant_opts[] = {
	{ "secret", 0, "NAME", false, "the secret wanted; default: that of the one binding for TARGET" },
	{ "binding", 0, "ID", false, "the binding wanted" },
	{ "uses", 0, "N", false, "how often; default: what the policy says, else once" },
	{ "ttl", 0, "SECONDS", false, "how long; default: what the policy says, else 300" },
	{ "show", 0, "ID", false, "show a grant of this run instead" },
	{ "revoke", 0, "ID", false, "revoke a grant of this run instead" },
	{ "json", 0, NULL, false, "print the whole answer as JSON" },
	{ NULL, 0, NULL, false, NULL }
};

/* Ids go into a path: only what ids are made of. */
static bool
id_ok(const char *id)
{
	return id[0] != '\0' && strlen(id) < 64 && strspn(id, "abcdefghijklmnopqrst"
	    "uvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == strlen(id);
}

static int
inside_run(struct client_call *call)
{
	call->socket = getenv("COUNTERSIGN_SOCKET");
	call->token = getenv("COUNTERSIGN_TOKEN");
	if (call->socket != NULL && call->token != NULL)
		return 0;
	cli_err("grants are asked for from inside a run: `countersign run -- "
	    "COMMAND`");
	return -1;
}

/* Options of a grant that is asked for. */
static bool
asks(const struct opts *opts)
{
	return opt_value(opts, "secret") != NULL || opt_value(opts, "ttl") != NULL ||
	    opt_value(opts, "binding") != NULL || opt_value(opts, "uses") != NULL;
}

static int
make_body(const struct opts *opts, char **body)
{
	const char *secret = opt_value(opts, "secret");
	const char *binding = opt_value(opts, "binding");
	long long uses = 0, ttl = 0;
	char err[CLI_ERR_MAX];
	json_t *json;

	if (opts->n_rest != 2)
		return cli_usage("an ACTION and a TARGET are wanted, such as "
		    "http:POST https://api.example.com/things");
	if (opt_number(opts, "uses", 1, 1000000, &uses, err, sizeof(err)) != 0 ||
	    opt_number(opts, "ttl", 1, 86400, &ttl, err, sizeof(err)) != 0)
		return cli_usage("%s", err);
	json = json_pack("{s:s, s:s}", "action", opts->rest[0], "target",
	    opts->rest[1]);
	if (json == NULL)
		return cli_usage("ACTION and TARGET must be UTF-8");
	if (secret != NULL)
		json_object_set_new(json, "secret", json_string(secret));
	if (binding != NULL)
		json_object_set_new(json, "binding", json_string(binding));
	if (uses != 0)
		json_object_set_new(json, "uses", json_integer(uses));
	if (ttl != 0)
		json_object_set_new(json, "ttl_s", json_integer(ttl));
	*body = json_dumps(json, JSON_COMPACT);
	json_decref(json);
	return *body != NULL ? 0 : CLI_USAGE;
}

static void
print_token(const char *token)
{
	shown_json(stdout, token, strlen(token));
	putchar('\n');
}

/* A new grant prints its token alone, to be used as $(countersign grant ...). */
static void
print_answer(const struct opts *opts, const struct client_reply *reply, bool new)
{
	if (opt_flag(opts, "json") || (!new && reply->json != NULL))
		cli_json(stdout, reply->json, new ? JSON_COMPACT : JSON_INDENT(2));
	else if (new)
		print_token(client_str(reply->json, "token"));
	else
		puts("revoked");
}

int
cmd_grant(const struct opts *opts)
{
	const char *show = opt_value(opts, "show");
	const char *gone = opt_value(opts, "revoke");
	const char *id = show != NULL ? show : gone;
	struct client_call call = { .method = show != NULL ? "GET" :
	    gone != NULL ? "DELETE" : "POST" };
	struct client_reply reply;
	enum client_result result;
	char path[128] = "/v1/grants", *body = NULL;
	int rc = 0;

	if (show != NULL && gone != NULL)
		return cli_usage("--show and --revoke exclude each other");
	if (id != NULL && (!id_ok(id) || opts->n_rest != 0 || asks(opts)))
		return cli_usage("--show and --revoke want a grant's ID and nothing "
		    "else");
	if (id != NULL)
		snprintf(path, sizeof(path), "/v1/grants/%s", id);
	else if ((rc = make_body(opts, &body)) != 0)
		return rc;
	call.path = path;
	call.body = body;
	call.body_len = body != NULL ? strlen(body) : 0;
	if (inside_run(&call) != 0) {
		free(body);
		return CLI_USAGE;
	}
	result = client_call(&call, &reply);
	free(body);
	if (result == CLIENT_NO_DAEMON) {
		cli_err("the daemon that opened this run has ended or was restarted, "
		    "and the run's token died with it: a new `countersign run` "
		    "gives another");
		rc = CLI_REFUSED;
	} else if (result == CLIENT_OK)
		print_answer(opts, &reply, id == NULL);
	else
		rc = client_fail(result, &reply);
	client_reply_release(&reply);
	return rc;
}
