/* countersign run -- COMMAND: one agent session, from opening to evidence. */
#include "cli/cmd.h"
#include "cli/run/run_child.h"
#include "cli/run/run_close.h"
#include "cli/run/run_session.h"
#include "cli/run_bundle.h"
#include "cli/start.h"
#include "ledger/clock.h"

#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
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
go(struct run_session *session)
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
	const int64_t began_ms = clock_ms();

	run_child(&child, &result);
	end.seconds = (double)(clock_ms() - began_ms) / 1e3;
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
give_up(struct run_session *session)
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
finish(struct run_session *session)
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
	static struct run_session session;
	struct start_found found = { .started = false };
	int rc;

	session.opts = opts;
	if (opts->n_rest == 0)
		return cli_usage("a COMMAND is wanted: countersign run -- COMMAND");
	if (run_session_read(&session) != 0)
		return cli_usage("%s", session.err);
	if (session.token == NULL && cli_need_home() != 0)
		return CLI_NO_RUN;
	/* This process may use the operators' socket: the command must not be
	 * able to look into it.  Orphans of the command stay below us, where
	 * the daemon counts them to the run. */
	(void)prctl(PR_SET_DUMPABLE, 0);
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (sodium_init() < 0 || (session.token == NULL &&
	    start_daemon(&found, session.err, sizeof(session.err)) != 0)) {
		cli_err("%s", session.err);
		return CLI_NO_RUN;
	}
	start_tell(&found);
	rc = run_session_open(&session);
	if (rc == 0 && run_session_prepare(&session) == 0) {
		rc = go(&session);
	} else if (rc == 0) {
		give_up(&session);
		rc = CLI_NO_RUN;
	}
	finish(&session);
	return rc;
}
