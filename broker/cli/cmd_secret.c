/*
 * countersign secret put|rotate|revoke|list (mint: cmd_secret_mint.c).  Values come from standard input,
 * a file or the terminal, never from the command line, where every user of the
 * machine could read them.  The daemon stores them, so that the ledger says so.
 */
#include "ask.h"
#include "aws_keys.h"
#include "cli/age.h"
#include "cli/client.h"
#include "cli/cmd.h"
#include "cli/secret_store.h"
#include "cli/start.h"
#include "vault/vault.h"

#include "ledger/output/shown.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>


static const struct opt value_opts[] = {
	{ "from-stdin", 0, NULL, false, "read the value from standard input" },
	{ "from-file", 0, "FILE", false, "read the value from FILE" },
	{ NULL, 0, NULL, false, NULL }
};

static const struct opt revoke_opts[] = {
	{ "version", 0, "N", false, "only this version; default: all of them" },
	{ "superseded", 0, NULL, false, "only those that a newer one took the place of" },
	{ NULL, 0, NULL, false, NULL }
};

static const struct opt list_opts[] = {
	{ "json", 0, NULL, false, "print JSON" },
	{ NULL, 0, NULL, false, NULL }
};

static struct secret *
read_value(const struct opts *opts, char *err, size_t err_len)
{
	const char *file = opt_value(opts, "from-file");
	char prompt[VAULT_NAME_MAX + 32];

	/* Typed, it would be seen on the screen, and nothing would say when it ends. */
	if (opt_flag(opts, "from-stdin") &&
	    !(isatty(STDIN_FILENO) && ask_has_terminal()))
		return ask_fd(STDIN_FILENO, "standard input", err, err_len);
	if (file != NULL)
		return ask_file(file, false, err, err_len);
	if (!ask_has_terminal()) {
		snprintf(err, err_len, "there is no terminal to ask for the "
		    "value; use --from-stdin or --from-file");
		return NULL;
	}
	snprintf(prompt, sizeof(prompt), "Value of %s", opts->rest[0]);
	return ask_terminal(prompt, true, err, err_len);
}

/* Stored all the same: it may be meant for another place. */
static void
say_odd_key(const struct secret *secret)
{
	struct slice bytes = secret_bytes(secret);
	struct aws_keys keys;

	if (bytes.n >= 4 && memcmp(bytes.p, "aws:", 4) == 0 &&
	    !aws_keys_read(bytes, &keys))
		cli_err("note: it begins as an AWS key does and is none, so that "
		    "`bind --sigv4` cannot use it: aws:KEY-ID:SECRET-KEY is wanted, "
		    "or with :SESSION-TOKEN behind");
}

static int
store(const struct opts *opts, bool rotate)
{
	char err[CLI_ERR_MAX] = "";
	struct secret *secret = NULL;
	int rc;

	if ((rc = secret_store_begin(opts)) != 0)
		return rc;
	if ((secret = read_value(opts, err, sizeof(err))) == NULL) {
		cli_err("%s", err);
		return CLI_USAGE;
	}
	rc = secret_store_send(opts->rest[0], secret, rotate);
	if (rc == CLI_OK)
		say_odd_key(secret);
	secret_unref(secret);
	return rc;
}

static int
secret_put(const struct opts *opts)
{
	return store(opts, false);
}

static int
secret_rotate(const struct opts *opts)
{
	return store(opts, true);
}

/* Start the daemon and make one call; 0 with a reply to release, or a status. */
static int
ask_daemon(const char *method, const char *path, json_t *body,
    struct client_reply *reply)
{
	enum client_result result;
	int rc;

	if ((rc = start_needed(NULL)) != 0)
		return rc;
	result = client_operator(method, path, body, reply);
	if (result == CLIENT_OK)
		return 0;
	rc = client_fail(result, reply);
	client_reply_release(reply);
	return rc;
}

/* Was it the version in use?  Nothing takes its place. */
static void
say_what_is_left(const char *name, long long version)
{
	struct client_reply reply;
	json_t *one;
	bool newest = true;
	size_t i;

	if (client_operator("GET", "/v1/secrets", NULL, &reply) == CLIENT_OK) {
		json_array_foreach(json_object_get(reply.json, "secrets"), i, one)
			if (strcmp(client_str(one, "name"), name) == 0 &&
			    json_integer_value(json_object_get(one, "version")) >
			    version)
				newest = false;
		if (newest)
			printf("it was the current version: requests for %s are "
			    "refused until `countersign secret rotate %s` stores "
			    "another; an older one does not come back\n", name,
			    name);
	}
	client_reply_release(&reply);
}

/* Version 0: all of them.  0 and nothing said, or a status behind a message. */
/* Of a login, where its service is to be told. */
static void
say_service(const char *name, const json_t *service)
{
	if (json_is_true(json_object_get(service, "told")))
		printf("%s: %s was told that it is revoked\n", name,
		    cli_clean(client_str(service, "host")));
	else if (service != NULL)
		cli_err("note: %s is revoked here, but %s could not be told (%s): revoke it "
		    "there, too", name, client_str(service, "host"),
		    cli_clean(client_str(service, "why")));
}

static int
send_revoke(const char *name, long long version)
{
	char path[VAULT_NAME_MAX + 32];
	struct client_reply reply;
	json_t *body = json_object();
	int rc;

	if (version != 0)
		json_object_set_new(body, "version", json_integer(version));
	snprintf(path, sizeof(path), "/v1/secrets/%s/revoke", name);
	if ((rc = ask_daemon("POST", path, body, &reply)) == 0) {
		say_service(name, json_object_get(reply.json, "service"));
		client_reply_release(&reply);
	}
	json_decref(body);
	return rc;
}

/* Those behind the newest: one that is stored meanwhile is newer still. */
static int
revoke_superseded(const char *name)
{
	struct client_reply reply;
	size_t i, n = 0, there = 0;
	json_t *one;
	int rc;

	if ((rc = ask_daemon("GET", "/v1/secrets", NULL, &reply)) != 0)
		return rc;
	json_array_foreach(json_object_get(reply.json, "secrets"), i, one) {
		long long version = json_integer_value(json_object_get(one,
		    "version"));

		if (strcmp(client_str(one, "name"), name) != 0)
			continue;
		there++;
		if (strcmp(client_str(one, "state"), "superseded") != 0)
			continue;
		if ((rc = send_revoke(name, version)) != 0)
			break;
		printf("%s: version %lld revoked and erased\n", name, version);
		n++;
	}
	client_reply_release(&reply);
	if (there == 0) {
		cli_err("there is no secret %s; see `countersign secret list` for "
		    "what there is", name);
		return CLI_REFUSED;
	}
	if (rc == 0 && n == 0)
		printf("%s: no version is superseded, or it is revoked already\n",
		    name);
	return rc;
}

static int
secret_revoke(const struct opts *opts)
{
	char err[CLI_ERR_MAX];
	long long version = 0;
	const char *name;
	int rc;

	if ((rc = secret_store_name(opts)) != 0)
		return rc;
	name = opts->rest[0];
	if (opt_number(opts, "version", 1, UINT32_MAX, &version, err,
	    sizeof(err)) != 0)
		return cli_usage("%s", err);
	if (opt_flag(opts, "superseded"))
		return version == 0 ? revoke_superseded(name) :
		    cli_usage("--version and --superseded exclude each other");
	if ((rc = send_revoke(name, version)) != 0)
		return rc;
	if (version != 0) {
		printf("%s: version %lld revoked and erased\n", name, version);
		say_what_is_left(name, version);
	} else
		printf("%s: revoked and erased\n", name);
	return CLI_OK;
}

/* ", token until ...", or why there is none; "" for a secret that goes out itself. */
static void
token_text(const json_t *token, char *buf, size_t cap)
{
	const char *why = client_str(token, "why"), *until = client_str(token, "expires");

	buf[0] = '\0';
	if (token == NULL)
		return;
	snprintf(buf, cap, ", %s%s%s%s", until[0] != '\0' ? "token until " :
	    why[0] != '\0' ? "no token" : "its first token is on its way", until,
	    why[0] != '\0' ? ": " : "", why);
}

#define ALIKE 3		/* so many revoked versions of one secret have a line each */

static long long
version_of(const json_t *secret)
{
	return json_integer_value(json_object_get(secret, "version"));
}

/* How many entries from there on are revoked versions of one secret. */
static size_t
revoked_alike(const json_t *secrets, size_t from)
{
	const char *name = client_str(json_array_get(secrets, from), "name");
	size_t n = 0;

	for (const json_t *one; (one = json_array_get(secrets, from + n)) != NULL &&
	    strcmp(client_str(one, "name"), name) == 0 &&
	    strcmp(client_str(one, "state"), "revoked") == 0; n++)
		;
	return n;
}

static void
print_list(const json_t *secrets)
{
	char buf[32], token[512], versions[48];
	size_t i, alike;
	json_t *one;

	if (json_array_size(secrets) == 0) {
		puts("no secrets yet; `countersign secret put NAME --from-stdin` "
		    "stores one");
		return;
	}
	printf("%-32s %7s  %-8s %s\n", "NAME", "VERSION", "AGE", "STATE");
	json_array_foreach(secrets, i, one) {
		snprintf(versions, sizeof(versions), "%lld", version_of(one));
		if ((alike = revoked_alike(secrets, i)) > ALIKE) {
			i += alike - 1;
			snprintf(versions, sizeof(versions), "%lld-%lld", version_of(one),
			    version_of(json_array_get(secrets, i)));
			one = json_array_get(secrets, i);
		}
		token_text(json_object_get(one, "token"), token, sizeof(token));
		printf("%-32s %7s  %-8s %s%s\n",
		    cli_clean(client_str(one, "name")), versions,
		    age_text(json_object_get(one, "created"), buf, sizeof(buf)),
		    cli_clean(client_str(one, "state")), cli_clean(token));
	}
}

static int
secret_list(const struct opts *opts)
{
	struct client_reply reply;
	int rc;

	if ((rc = ask_daemon("GET", "/v1/secrets", NULL, &reply)) != 0)
		return rc;
	if (opt_flag(opts, "json"))
		shown_json(stdout, reply.text, strlen(reply.text));
	else
		print_list(json_object_get(reply.json, "secrets"));
	if (json_object_get(reply.json, "unanswered") != NULL)
		cli_err("note: the vault's store gave no answer, and this is what it "
		    "said last: %s", cli_clean(client_str(reply.json,
		    "unanswered")));
	client_reply_release(&reply);
	return CLI_OK;
}

static const char value_details[] =
    "The value is read from standard input, from a file, or without echo from the terminal.\n"
    "One final newline is left out; CR, LF and NUL are refused, and so is nothing at all.";

static const char mint_details[] =
    "Requests then carry tokens that the daemon asks for and gets anew before they end; what is\n"
    "stored never leaves but to the address that gives them. A refresh token that is replaced by\n"
    "another when it is used becomes the secret's next version. With --revocation-url the service is\n"
    "told when `countersign secret revoke` ends it here.";

const struct cli_command cmd_secret_table[] = {
	{ .name = "put", .operands = "NAME", .opts = value_opts, .run = secret_put,
	  .summary = "Store a new secret in the vault", .details = value_details },
	{ .name = "mint", .operands = "NAME", .opts = cmd_secret_mint_opts, .run = cmd_secret_mint,
	  .summary = "Store what short-lived tokens are got with, which the daemon then does",
	  .details = mint_details },
	{ .name = "rotate", .operands = "NAME", .opts = value_opts, .run = secret_rotate,
	  .summary = "Store a new version, used from the next request on",
	  .details = value_details },
	{ .name = "revoke", .operands = "NAME", .opts = revoke_opts, .run = secret_revoke,
	  .summary = "Erase a secret, or some versions of it, and cut what uses them" },
	{ .name = "list", .operands = "", .opts = list_opts, .run = secret_list,
	  .summary = "Names, versions and ages; never values" },
	{ .name = NULL }
};
