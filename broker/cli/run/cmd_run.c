/* countersign run -- COMMAND: one agent session, from opening to evidence. */
#include "cli/client.h"
#include "cli/cmd.h"
#include "cli/lacking.h"
#include "cli/packs.h"
#include "cli/run/node_proxy.h"
#include "cli/run/run_child.h"
#include "cli/run/run_close.h"
#include "cli/run/run_env.h"
#include "cli/run/run_exposed.h"
#include "cli/run/run_hide.h"
#include "cli/run_bundle.h"
#include "cli/start.h"
#include "conf/conf.h"
#include "private_file.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sodium.h>

const struct opt cmd_run_opts[] = {
	{ "budget-requests", 0, "N", false, "at most N requests" },
	{ "budget-bytes", 0, "N", false, "at most N bytes of request bodies" },
	{ "budget-cost", 0, "N", false, "at most N units of the policy's cost" },
	{ "budget-time", 0, "SECONDS", false, "no request after that time" },
	{ "scope", 0, "SCOPE", true, "what it may do at most: BINDING, BINDING:METHOD, tool:NAME, a kind of action, or *" },
	{ "ttl", 0, "SECONDS", false, "nothing is allowed after that time; the run and those below it are closed" },
	{ "within", 0, NULL, false, "open it below the run that this command is in, with no more than that one has" },
	{ "agent", 0, "NAME", false, "what the agent is called in policy and ledger; default: the command" },
	{ "principal", 0, "NAME", false, "on whose behalf; default: your user name (the ledger keeps a keyed digest)" },
	{ "keep-env", 0, "NAME", true, "leave this variable although it looks like a credential" },
	{ "direct-loopback", 0, NULL, false, "let clients reach loopback addresses directly: neither decided nor recorded" },
	{ "hide-credentials", 0, NULL, false, "also hide the files in which other programs keep credentials (~/.netrc, ~/.aws/credentials, ...), or run nothing" },
	{ "no-hide", 0, NULL, false, "do not hide countersign's home from the command" },
	{ "json", 0, NULL, false, "print the summary as JSON, on standard error" },
	{ "quiet", 'q', NULL, false, "print no summary" },
	{ NULL, 0, NULL, false, NULL }
};

const char cmd_run_details[] =
    "It starts the daemon if none runs, opens a run, takes real secrets out of the environment,\n"
    "puts placeholders, proxy and CA variables in, hides countersign's home where unprivileged\n"
    "name spaces allow it, runs COMMAND, closes the run and writes its evidence.\n\n"
    "The exit status is COMMAND's; 128 + N where signal N ended it, 127 where it was not found,\n"
    "126 where it could not be executed, 125 where no run could be opened or its home or\n"
    "(--hide-credentials) those files not hidden, or where COMMAND ended with 0 and its run left no evidence.";

struct session {
	const struct opts *opts;
	json_t *budget;			/* NULL: no limits of this run's own */
	json_t *scopes;			/* NULL: no narrower than usual */
	long long ttl_s;		/* 0: no end of its own */
	const char *socket, *token;	/* of the run that this one is within; NULL: none */
	struct client_reply run;	/* POST /v1/runs */
	struct run_env env;
	json_t *hidden;			/* "~/..." of --hide-credentials; NULL: not asked for */
	json_t *hidden_paths;		/* the same in full */
	struct run_hide_plan *hide;
	struct conf conf;
	char self[PATH_MAX], preload[PATH_MAX], wgetrc[PATH_MAX],
	    php_ini[PATH_MAX], home[PATH_MAX];
	char credential[PATH_MAX];
	char err[CLI_ERR_MAX];
};

/* --- opening --------------------------------------------------------- */

/* The budget's members in *out (NULL: none given); -1 with a message. */
static int
budget(struct session *session, json_t **out)
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
keep_env_check(struct session *session)
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

/* What the run may do, and how long; -1 with a message. */
static int
narrow(struct session *session)
{
	const char *scope;
	size_t cursor = 0;

	if (keep_env_check(session) != 0)
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
within(struct session *session)
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
credentials(struct session *session)
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
	session->hidden = run_exposed(home);
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

static json_t *
who(struct session *session)
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

static int
open_run(struct session *session)
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

/* --- what the command gets ------------------------------------------- */

/* Kept in HOME, so that it can be shown inside; NULL where it cannot be. */
static const char *
kept(const char *name, const char *text, size_t len, char path[PATH_MAX])
{
	size_t had = 0;
	uint8_t *old;
	bool same;

	cli_home_path(name, path, PATH_MAX);
	old = private_file_read(path, PRIVATE_SETTINGS, 1u << 20, &had);
	same = old != NULL && had == len && memcmp(old, text, len) == 0;
	free(old);
	if (same || private_file_replace(path, text, len) == 0)
		return path;
	path[0] = '\0';
	return NULL;
}

static const char *
node_preload(struct session *session)
{
	size_t len;
	const char *text = node_proxy_text(&len);

	return kept("run/node_proxy.cjs", text, len, session->preload);
}

/* wget takes no certificates from a variable, but its system settings' place. */
static const char *
wgetrc(struct session *session)
{
	char text[PATH_MAX + 32];
	int len = snprintf(text, sizeof(text), "ca_certificate = %s\n",
	    client_str(json_object_get(session->run.json, "ca"), "bundle"));

	return kept("run/wgetrc", text, (size_t)len, session->wgetrc);
}

/* PHP takes them from its settings only, too, of which there may be more files.
 * Within single quotes nothing but one of those means anything. */
static const char *
php_ini(struct session *session)
{
	const char *bundle = client_str(json_object_get(session->run.json, "ca"),
	    "bundle");
	char text[2 * PATH_MAX + 64];
	int len = snprintf(text, sizeof(text),
	    "curl.cainfo = '%s'\nopenssl.cafile = '%s'\n", bundle, bundle);

	if (strpbrk(bundle, "'\n") != NULL)
		return NULL;
	return kept("run/php.ini", text, (size_t)len, session->php_ini);
}

/* Real secrets, or the placeholders of the run around this one, which took the
 * secrets out. */
static int
scrub_env(struct session *session)
{
	if (session->token != NULL) {
		run_env_forget(&session->env);
		return 0;
	}
	if (run_env_scrub(&session->env,
	    json_object_get(session->run.json, "scrub"), session->opts) != 0) {
		cli_err("the daemon's answer has no usable scrub tags");
		return -1;
	}
	if (json_is_false(json_object_get(json_object_get(session->run.json,
	    "scrub"), "complete")))
		cli_err("note: the vault did not give all of its secrets: others "
		    "than those are not looked for in the environment");
	return 0;
}

static int
make_env(struct session *session)
{
	bool inside = session->token != NULL;	/* has files of that run already */
	struct run_env_tools tools = { .self = session->self,
	    .node_preload = inside ? NULL : node_preload(session),
	    .wgetrc = inside ? NULL : wgetrc(session),
	    .php_ini = inside ? NULL : php_ini(session),
	    .direct_loopback = opt_flag(session->opts, "direct-loopback") };

	run_env_init(&session->env, environ);
	if (!session->env.failed && scrub_env(session) != 0)
		return -1;
	run_env_fill(&session->env, session->run.json, &tools);
	if (session->env.bindings_left_out > 0)
		cli_err("note: %zu bindings have no room in COUNTERSIGN_BINDINGS, so git "
		    "does not find them; --scope opens a run with those it needs",
		    session->env.bindings_left_out);
	if (!session->env.failed)
		return 0;
	cli_err("out of memory");
	return -1;
}

#define OUR_MASKS 5
_Static_assert(OUR_MASKS + RUN_EXPOSED_MAX <= RUN_HIDE_MASKS, "all have room");

/* Wherever the vault's passphrase may lie, or a token of the broker's own: the
 * command could open the vault, or ask in the broker's name.  And what else it is
 * not to see. */
static void
masks(struct session *session, const char *out[RUN_HIDE_MASKS])
{
	const char *dir = getenv("CREDENTIALS_DIRECTORY");
	size_t i;
	json_t *one;
	int n;

	json_array_foreach(session->hidden_paths, i, one)
		out[OUR_MASKS + i] = json_string_value(one);

	out[0] = getenv("COUNTERSIGN_PASSPHRASE_FILE");
	out[1] = session->conf.passphrase_file;
	out[3] = session->conf.kv.token_file;
	out[4] = session->conf.policy.token_file;
	if (dir == NULL)
		return;
	n = snprintf(session->credential, sizeof(session->credential),
	    "%s/passphrase", dir);
	if (n > 0 && (size_t)n < sizeof(session->credential))
		out[2] = session->credential;
}

static int
plan_hiding(struct session *session)
{
	const json_t *ca = json_object_get(session->run.json, "ca");
	struct run_hide what = { .home = session->home,
	    .socket = client_str(json_object_get(session->run.json, "api"),
	    "socket") };
	size_t n = 0;

	if (opt_flag(session->opts, "no-hide") || session->token != NULL)
		return 0;
	masks(session, what.masks);
	what.files[n++] = client_str(ca, "cert");
	what.files[n++] = client_str(ca, "bundle");
	if (session->preload[0] != '\0')
		what.files[n++] = session->preload;
	if (session->wgetrc[0] != '\0')
		what.files[n++] = session->wgetrc;
	if (session->php_ini[0] != '\0')
		what.files[n++] = session->php_ini;
	session->hide = run_hide_prepare(&what, session->err,
	    sizeof(session->err));
	if (session->hide != NULL)
		return 0;
	if (access(client_str(ca, "cert"), R_OK) != 0)
		cli_err("local CA: %s: %s; restore it from a copy, or make another: "
		    "countersign ca renew", client_str(ca, "cert"),
		    strerror(errno));
	else
		cli_err("the home cannot be hidden from the command: %s; --no-hide "
		    "runs it without", cli_clean(session->err));
	return -1;
}

/* What is kept in the home of the operator, who is not inside a run. */
static int
prepare_home(struct session *session)
{
	char path[PATH_MAX];

	if (run_bundle_remember(session->run.json, session->err,
	    sizeof(session->err)) != 0) {
		cli_err("%s", session->err);
		return -1;
	}
	snprintf(session->home, sizeof(session->home), "%s", cli_home());
	cli_home_path("config.json", path, sizeof(path));
	if (conf_load(path, &session->conf, session->err,
	    sizeof(session->err)) != 0) {
		cli_err("%s", session->err);
		return -1;
	}
	/* Before the command fails for the want of it. */
	lacking_print(stderr, json_object_get(session->run.json,
	    "placeholders_missing"), "countersign: note: ");
	return 0;
}

static int
prepare(struct session *session)
{
	ssize_t len;

	if (session->token == NULL && prepare_home(session) != 0)
		return -1;
	len = readlink("/proc/self/exe", session->self, sizeof(session->self) - 1);
	if (len <= 0) {
		cli_err("/proc/self/exe: %s", strerror(errno));
		return -1;
	}
	session->self[len] = '\0';
	if (make_env(session) != 0)
		return -1;
	return plan_hiding(session);
}

/* --- the run --------------------------------------------------------- */

static double
seconds_since(const struct timespec *began)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - began->tv_sec) +
	    (double)(now.tv_nsec - began->tv_nsec) / 1e9;
}

/* Orphans of the command were handed to us; those that ended are reaped. */
static size_t
left_behind(void)
{
	json_t *json = start_daemon_json();
	json_int_t daemon = json_integer_value(json_object_get(json, "pid"));
	char path[64];
	FILE *in;
	size_t n = 0;
	int pid;

	json_decref(json);

	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	if ((in = fopen(path, "re")) == NULL)
		return 0;
	while (fscanf(in, "%d", &pid) == 1)
		n += pid != daemon;	/* which we may have started */
	fclose(in);
	return n;
}

static int
go(struct session *session)
{
	struct run_child child = { .argv = session->opts->rest,
	    .env = session->env.vars, .hide = session->hide,
	    .must_hide = session->hidden != NULL };
	struct run_child_result result;
	struct run_close end = { .run = session->run.json,
	    .socket = session->socket, .env = &session->env,
	    .hidden = session->hidden,
	    .child = &result, .hide_wanted = !opt_flag(session->opts, "no-hide"),
	    .root = geteuid() == 0,
	    .direct_loopback = opt_flag(session->opts, "direct-loopback"),
	    .json = opt_flag(session->opts, "json"),
	    .quiet = opt_flag(session->opts, "quiet") };
	struct timespec began;

	clock_gettime(CLOCK_MONOTONIC, &began);
	run_child(&child, &result);
	end.seconds = seconds_since(&began);
	end.left_behind = left_behind();
	if (!result.started)
		cli_err("%s", cli_clean(result.why));
	/* A run without evidence is not one that went well. */
	if (run_close(&end) != 0 && result.status == 0)
		return CLI_NO_RUN;
	return result.status;
}

/* A run that never began is closed all the same: its token lives. */
static void
give_up(struct session *session)
{
	struct client_reply reply;
	char path[80], bundle[PATH_MAX];

	snprintf(path, sizeof(path), "/v1/runs/%.64s",
	    client_str(session->run.json, "id"));
	if (session->token != NULL)
		(void)client_run(session->socket, session->token, "DELETE",
		    path, NULL, &reply);
	else if (client_operator("DELETE", path, NULL, &reply) == CLIENT_OK)
		(void)run_bundle_write(session->run.json, false, bundle,
		    sizeof(bundle));
	client_reply_release(&reply);
}

static void
finish(struct session *session)
{
	json_decref(session->budget);
	json_decref(session->scopes);
	json_decref(session->hidden);
	run_env_free(&session->env);
	run_hide_release(session->hide);
	json_decref(session->hidden_paths);
	client_reply_release(&session->run);
	conf_free(&session->conf);
}

int
cmd_run(const struct opts *opts)
{
	static struct session session;
	bool started;
	int rc;

	session.opts = opts;
	if (opts->n_rest == 0)
		return cli_usage("a COMMAND is wanted: countersign run -- COMMAND");
	if (budget(&session, &session.budget) != 0 || narrow(&session) != 0 ||
	    within(&session) != 0 || credentials(&session) != 0)
		return cli_usage("%s", session.err);
	if (session.token == NULL && cli_need_home() != 0)
		return CLI_NO_RUN;
	/* This process may use the operators' socket: the command must not be
	 * able to look into it.  Orphans of the command stay below us, where
	 * the daemon counts them to the run. */
	(void)prctl(PR_SET_DUMPABLE, 0);
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (sodium_init() < 0 || (session.token == NULL &&
	    start_daemon(&started, session.err, sizeof(session.err)) != 0)) {
		cli_err("%s", session.err);
		return CLI_NO_RUN;
	}
	rc = open_run(&session);
	if (rc == 0 && prepare(&session) == 0) {
		rc = go(&session);
	} else if (rc == 0) {
		give_up(&session);
		rc = CLI_NO_RUN;
	}
	finish(&session);
	return rc;
}
