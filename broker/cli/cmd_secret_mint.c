/*
 * countersign secret mint: what the daemon gets short-lived tokens with.  What is secret
 * of it comes from standard input or a file, as of every secret; the rest is options.
 */
#include "ask.h"
#include "cli/cmd.h"
#include "cli/secret_store.h"
#include "json_in.h"
#include "mint/source.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct opt cmd_secret_mint_opts[] = {
	{ "as", 0, "FLOW", false, "refresh-token, client-credentials, jwt-bearer, github-app or google-service-account" },
	{ "from-stdin", 0, NULL, false, "read what is secret from standard input" },
	{ "from-file", 0, "FILE", false, "read it from FILE: a refresh token, a client secret, a key in PEM, Google's JSON" },
	{ "token-url", 0, "URL", false, "where tokens are asked for" },
	{ "revocation-url", 0, "URL", false, "where the service is told when the secret is revoked (RFC 7009)" },
	{ "client-id", 0, "ID", false, "who asks" },
	{ "client-secret-file", 0, "FILE", false, "of refresh-token: the client's secret, if it has one" },
	{ "client-auth", 0, "WAY", false, "basic or body (the default): how the client's secret is sent" },
	{ "scope", 0, "TEXT", false, "what the tokens are to be good for" },
	{ "audience", 0, "TEXT", false, "for whom" },
	{ "issuer", 0, "TEXT", false, "of jwt-bearer: who signs" },
	{ "subject", 0, "TEXT", false, "of jwt-bearer: in whose name" },
	{ "key-id", 0, "ID", false, "of jwt-bearer: the key's name" },
	{ "app-id", 0, "N", false, "of github-app" },
	{ "installation-id", 0, "N", false, "of github-app" },
	{ "repository", 0, "NAME", true, "of github-app: only these, without their owner; default: all" },
	{ "permission", 0, "NAME=LEVEL", true, "of github-app: only these, as contents=read; default: all" },
	{ "api", 0, "URL", false, "of github-app; default: https://api.github.com" },
	{ "rotate", 0, NULL, false, "NAME is there: store its next version" },
	{ NULL, 0, NULL, false, NULL }
};

/* The options that are members of the same name, with '_'. */
static const char *const same[] = { "token-url", "revocation-url", "client-id", "client-auth", "scope",
    "audience", "issuer", "subject", "key-id", "app-id", "installation-id", "api" };

static const struct {
	const char *name, *flow, *member;	/* where what was read belongs */
} flows[] = {
	{ "refresh-token", "refresh_token", "refresh_token" },
	{ "client-credentials", "client_credentials", "client_secret" },
	{ "jwt-bearer", "jwt_bearer", "key" },
	{ "github-app", "github_app", "key" },
	{ "google-service-account", "jwt_bearer", NULL },
};

static void
set(json_t *source, const char *option, const char *value)
{
	char member[32];

	snprintf(member, sizeof(member), "%s", option);
	for (char *p = member; *p != '\0'; p++)
		if (*p == '-')
			*p = '_';
	if (value != NULL)
		json_object_set_new(source, member, json_string(value));
}

static int
set_lists(const struct opts *opts, json_t *source)
{
	json_t *repositories = json_array(), *permissions = json_object();
	const char *value, *equals;
	size_t at = 0;
	int rc = 0;

	while ((value = opt_next(opts, "repository", &at)) != NULL)
		json_array_append_new(repositories, json_string(value));
	at = 0;
	while (rc == 0 && (value = opt_next(opts, "permission", &at)) != NULL)
		if ((equals = strchr(value, '=')) == NULL)
			rc = cli_usage("--permission is like contents=read");
		else
			json_object_setn_new(permissions, value,
			    (size_t)(equals - value), json_string(equals + 1));
	if (json_array_size(repositories) > 0)
		json_object_set(source, "repositories", repositories);
	if (json_object_size(permissions) > 0)
		json_object_set(source, "permissions", permissions);
	json_decref(repositories);
	json_decref(permissions);
	return rc;
}

/* Google's file: who, with which key, and where to ask. */
static int
set_google(json_t *source, const char *text)
{
	static const struct { const char *theirs, *ours; } members[] = {
		{ "client_email", "issuer" }, { "private_key", "key" },
		{ "private_key_id", "key_id" }, { "token_uri", "token_url" },
	};
	char unshown[128];
	json_t *file = json_in_parse(text, strlen(text), unshown, sizeof(unshown));
	const char *value;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof(members) / sizeof(*members); i++) {
		value = json_string_value(json_object_get(file, members[i].theirs));
		if (value == NULL)
			rc = cli_usage("this is no service account's key as Google gives it: "
			    "JSON with \"%s\" in it", members[i].theirs);
		else if (json_object_get(source, members[i].ours) == NULL)
			json_object_set_new(source, members[i].ours, json_string(value));
	}
	json_in_wipe(file);
	return rc;
}

/* Without the end of the last line; the caller wipes and frees it. */
static char *
read_text(const char *file, char *err, size_t err_len)
{
	struct secret *secret = file == NULL && isatty(STDIN_FILENO) ?
	    ask_terminal("What is secret of it", true, err, err_len) :
	    ask_text(file, err, err_len);
	char *text = NULL;
	size_t len;

	if (secret == NULL)
		return NULL;
	len = secret_bytes(secret).n;
	if ((text = calloc(1, len + 1)) != NULL)
		memcpy(text, secret_bytes(secret).p, len);
	secret_unref(secret);
	while (text != NULL && len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r'))
		text[--len] = '\0';
	return text;
}

static int
set_secrets(const struct opts *opts, json_t *source, const char *member)
{
	const char *file = opt_value(opts, "client-secret-file");
	char err[CLI_ERR_MAX] = "", *text, *client;
	int rc = 0;

	text = read_text(opt_value(opts, "from-file"), err, sizeof(err));
	if (text == NULL)
		return cli_usage("%s", err);
	if (member == NULL)
		rc = set_google(source, text);
	else
		set(source, member, text);
	secret_text_free(text);
	if (rc != 0 || file == NULL)
		return rc;
	if ((client = read_text(file, err, sizeof(err))) == NULL)
		return cli_usage("%s", err);
	set(source, "client_secret", client);
	secret_text_free(client);
	return 0;
}

static int
word(const struct opts *opts, json_t *source)
{
	const char *as = opt_value(opts, "as");
	size_t i;
	int rc;

	for (i = 0; as != NULL && i < sizeof(flows) / sizeof(*flows); i++)
		if (strcmp(as, flows[i].name) == 0)
			break;
	if (as == NULL || i == sizeof(flows) / sizeof(*flows))
		return cli_usage("--as is one of refresh-token, client-credentials, "
		    "jwt-bearer, github-app, google-service-account");
	json_object_set_new(source, "v", json_integer(1));
	set(source, "flow", flows[i].flow);
	for (size_t j = 0; j < sizeof(same) / sizeof(*same); j++)
		set(source, same[j], opt_value(opts, same[j]));
	if ((rc = set_lists(opts, source)) != 0)
		return rc;
	return set_secrets(opts, source, flows[i].member);
}

/* The value, checked as the daemon will check it: its message is better here. */
static int
make_value(json_t *source, struct secret **out)
{
	char *text = json_dumps(source, JSON_COMPACT), *value = NULL, err[256] = "";
	struct mint_source checked;
	size_t len = text == NULL ? 0 : strlen(text) + 6;
	int rc = CLI_REFUSED;

	if (text != NULL && (value = malloc(len)) != NULL) {
		snprintf(value, len, "mint:%s", text);
		rc = mint_source_read(slice_of(value), &checked, err, sizeof(err)) != 0 ?
		    cli_usage("%s", err) : 0;
		if (rc == 0)
			mint_source_free(&checked);
	}
	if (rc == 0 && (*out = secret_new(value, strlen(value))) == NULL) {
		cli_err("it is longer than %d bytes, or locked memory is out", SECRET_MAX);
		rc = CLI_REFUSED;
	}
	secret_text_free(value);
	secret_text_free(text);
	return rc;
}

int
cmd_secret_mint(const struct opts *opts)
{
	struct secret *secret = NULL;
	json_t *source;
	int rc;

	if ((rc = secret_store_begin(opts)) != 0)
		return rc;
	source = json_object();
	if ((rc = word(opts, source)) == 0)
		rc = make_value(source, &secret);
	json_in_wipe(source);
	if (rc == 0)
		rc = secret_store_send(opts->rest[0], secret, opt_flag(opts, "rotate"));
	secret_unref(secret);
	return rc;
}
