#include "cli/secret_store.h"

#include "ask.h"
#include "cli/client.h"
#include "cli/cmd.h"
#include "cli/lacking.h"
#include "cli/start.h"
#include "daemon/harden.h"
#include "vault/vault.h"

#include <limits.h>

int
secret_store_name(const struct opts *opts)
{
	if (opts->n_rest > 1)
		return cli_usage("one NAME is wanted; a value never stands on the "
		    "command line: use --from-stdin");
	if (opts->n_rest == 0)
		return cli_usage("which secret? a NAME is wanted");
	if (!vault_name_ok(opts->rest[0]))
		return cli_usage("a secret's name has 1 to %d of a-z 0-9 . _ - and "
		    "begins with a letter or digit", VAULT_NAME_MAX);
	return 0;
}

int
secret_store_begin(const struct opts *opts)
{
	char err[CLI_ERR_MAX] = "";
	bool locked;
	int rc;

	if ((rc = secret_store_name(opts)) != 0)
		return rc;
	if (opt_flag(opts, "from-stdin") && opt_value(opts, "from-file") != NULL)
		return cli_usage("--from-stdin and --from-file exclude each other");
	if ((rc = cli_need_home()) != 0)
		return rc;
	if (harden_process(err, sizeof(err)) == 0 &&
	    harden_memory(true, &locked, err, sizeof(err)) == 0)
		return 0;
	cli_err("%s", err);
	return CLI_REFUSED;
}

/* A name goes on counting when it was revoked: what the ledger says of version 1 must
 * not come to mean another secret. */
static int
there_already(const char *name)
{
	json_t *secrets = lacking_secrets();

	if (lacking_reason(secrets, name) != NULL)
		cli_err("%s was revoked, and its name stays: `countersign secret "
		    "rotate %s` stores the next version", name, name);
	else
		cli_err("%s is there already; `countersign secret rotate %s` "
		    "stores a new version", name, name);
	json_decref(secrets);
	return CLI_REFUSED;
}

static int
send_value(const char *name, const struct secret *secret, bool rotate)
{
	struct slice bytes = secret_bytes(secret);
	char path[VAULT_NAME_MAX + 32], socket[PATH_MAX];
	struct client_call call = { .socket = socket, .path = path,
	    .method = rotate ? "POST" : "PUT", .body = bytes.p,
	    .body_len = bytes.n, .type = "application/octet-stream" };
	struct client_reply reply;
	enum client_result result;
	int rc = CLI_OK;

	cli_home_path("run/operator.sock", socket, sizeof(socket));
	snprintf(path, sizeof(path), "/v1/secrets/%s%s", name,
	    rotate ? "/rotate" : "");
	result = client_call(&call, &reply);
	if (result == CLIENT_OK)
		printf("%s: version %" JSON_INTEGER_FORMAT " stored\n", name,
		    json_integer_value(json_object_get(reply.json, "version")));
	else if (result == CLIENT_REFUSED && reply.status == 409 && !rotate)
		rc = there_already(name);
	else
		rc = client_fail(result, &reply);
	client_reply_release(&reply);
	return rc;
}

int
secret_store_send(const char *name, const struct secret *secret, bool rotate)
{
	int rc = start_needed(NULL);

	return rc != 0 ? rc : send_value(name, secret, rotate);
}
