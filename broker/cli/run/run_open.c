/* What a run is asked to be, and its opening. */
#include "cli/run/run_exposed.h"
#include "cli/run/run_session.h"
#include "gate/admin.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The budget's members in *out (NULL: none given); -1 with a message. */
static int
budget(struct run_session *session, json_t **out)
{
	static const struct { const char *opt, *member; long long factor; }
	    table[] = {
		{ "budget-requests", "requests", 1 },
		{ "budget-bytes", "bytes_out", 1 },
		{ "budget-cost", "cost", 1 },
		{ "budget-time", "wall_ms", 1000 },
	};
	long long value;
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (opt_value(session->opts, table[i].opt) == NULL)
			continue;
		if (opt_number(session->opts, table[i].opt, 0, 1000000000000LL,
		    &value, session->err, sizeof(session->err)) != 0)
			return -1;
		if (*out == NULL)
			*out = json_object();
		json_object_set_new(*out, table[i].member,
		    json_integer(value * table[i].factor));
	}
	return 0;
}

/* A name, not NAME=VALUE, which would keep nothing. */
static int
keep_env_check(struct run_session *session)
{
	const char *name;
	size_t cursor = 0;

	while ((name = opt_next(session->opts, "keep-env", &cursor)) != NULL) {
		if (*name != '\0' && strchr(name, '=') == NULL)
			continue;
		snprintf(session->err, sizeof(session->err), "--keep-env takes the "
		    "name of a variable that is set already, without a value");
		return -1;
	}
	return 0;
}

/* Names as they are recorded. */
static int
names_check(struct run_session *session)
{
	static const char *const options[] = { "agent", "principal" };

	for (size_t i = 0; i < 2; i++) {
		const char *name = opt_value(session->opts, options[i]);

		if (name == NULL || strlen(name) < GATE_NAME_MAX)
			continue;
		snprintf(session->err, sizeof(session->err), "--%s: a name has at "
		    "most %d bytes, this one %zu", options[i], GATE_NAME_MAX - 1,
		    strlen(name));
		return -1;
	}
	return 0;
}

/* What the run may do, and how long; -1 with a message. */
static int
narrow(struct run_session *session)
{
	const char *scope;
	size_t cursor = 0;

	if (keep_env_check(session) != 0 || names_check(session) != 0)
		return -1;
	while ((scope = opt_next(session->opts, "scope", &cursor)) != NULL) {
		if (session->scopes == NULL)
			session->scopes = json_array();
		if (json_array_append_new(session->scopes,
		    json_string(scope)) == -1) {
			snprintf(session->err, sizeof(session->err),
			    "--scope is not UTF-8");
			return -1;
		}
	}
	if (opt_value(session->opts, "ttl") == NULL)
		return 0;
	return opt_number(session->opts, "ttl", 1, 366LL * 86400,
	    &session->ttl_s, session->err, sizeof(session->err));
}

/* The run that this process is in, by what that run put into its environment. */
static int
within(struct run_session *session)
{
	if (!opt_flag(session->opts, "within"))
		return 0;
	session->token = getenv("COUNTERSIGN_TOKEN");
	session->socket = getenv("COUNTERSIGN_SOCKET");
	if (session->token != NULL && session->token[0] != '\0' &&
	    session->socket != NULL && session->socket[0] != '\0')
		return 0;
	snprintf(session->err, sizeof(session->err), "--within: this command is "
	    "in no run (COUNTERSIGN_TOKEN and COUNTERSIGN_SOCKET are not set)");
	return -1;
}

/* Which files are there to be hidden; -1 with a message. */
static int
credentials(struct run_session *session)
{
	const char *home = getenv("HOME");
	json_t *one;
	size_t i;

	if (!opt_flag(session->opts, "hide-credentials"))
		return 0;
	if (opt_flag(session->opts, "no-hide") || session->token != NULL) {
		snprintf(session->err, sizeof(session->err), "--hide-credentials and "
		    "%s exclude each other", session->token != NULL ?
		    "--within (the run above says what is hidden)" : "--no-hide");
		return -1;
	}
	session->hidden = run_exposed(home, NULL);
	session->hidden_paths = json_array();
	json_array_foreach(session->hidden, i, one)
		json_array_append_new(session->hidden_paths, json_sprintf("%s/%s",
		    home, json_string_value(one) + 2));
	if (json_array_size(session->hidden_paths) ==
	    json_array_size(session->hidden))
		return 0;
	snprintf(session->err, sizeof(session->err), "--hide-credentials: HOME is "
	    "not UTF-8");
	return -1;
}

int
run_session_read(struct run_session *session)
{
	return budget(session, &session->budget) != 0 || narrow(session) != 0 ||
	    within(session) != 0 || credentials(session) != 0 ? -1 : 0;
}

static json_t *
who(struct run_session *session)
{
	const char *principal = opt_value(session->opts, "principal");
	const char *agent = opt_value(session->opts, "agent");
	const char *slash;
	struct passwd *user;
	json_t *body = json_pack("{s:i}", "pid", (int)getpid());

	if (principal == NULL && session->token == NULL && (user = getpwuid(getuid())) != NULL)
		principal = user->pw_name;
	if (principal != NULL)
		json_object_set_new(body, "principal", json_string(principal));
	if (agent == NULL) {
		slash = strrchr(session->opts->rest[0], '/');
		agent = slash != NULL ? slash + 1 : session->opts->rest[0];
	}
	json_object_set_new(body, "agent", json_pack("{s:s}", "name", agent));
	if (opt_flag(session->opts, "direct-loopback"))
		json_object_set_new(body, "direct_loopback", json_true());
	if (json_array_size(session->hidden) > 0)
		json_object_set(body, "hidden_files", session->hidden);
	return body;
}

int
run_session_open(struct run_session *session)
{
	json_t *body = who(session);
	enum client_result result;

	if (session->budget != NULL)
		json_object_set(body, "budget", session->budget);
	if (session->scopes != NULL)
		json_object_set(body, "scopes", session->scopes);
	if (session->ttl_s > 0)
		json_object_set_new(body, "ttl_s",
		    json_integer(session->ttl_s));
	result = session->token == NULL ?
	    client_operator("POST", "/v1/runs", body, &session->run) :
	    client_run(session->socket, session->token, "POST", "/v1/runs",
	    body, &session->run);
	json_decref(body);
	if (result == CLIENT_OK && session->run.json != NULL)
		return 0;
	(void)client_fail(result, &session->run);
	return CLI_NO_RUN;
}
