/* countersign start|status|stop, and policy reload. */
#include "cli/approve/approve.h"
#include "cli/client.h"
#include "cli/cmd.h"
#include "cli/start.h"
#include "policy/command/command_data.h"
#include "policy/command/command_sources.h"
#include "policy/policy.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define STOP_WAIT_MS 30000
#define STOP_STEP_MS 20

const struct opt cmd_status_opts[] = {
	{ "json", 0, NULL, false, "print JSON" },
	{ NULL, 0, NULL, false, NULL }
};

int
cmd_start(const struct opts *opts)
{
	struct start_found found;
	int rc = start_needed(&found);

	if (rc != 0)
		return rc;
	puts(found.started ? "the daemon runs" : "the daemon runs already");
	start_tell(&found);
	return CLI_OK;
}

static size_t
open_runs(const json_t *reply)
{
	const json_t *runs = json_object_get(reply, "runs");
	json_t *run;
	size_t i, n = 0;

	json_array_foreach(json_is_array(runs) ? runs : reply, i, run)
		n += strcmp(client_str(run, "state"), "open") == 0;
	return n;
}

/* Who vouches for the ledger, and how far behind. */
static void
print_anchors(const json_t *health)
{
	const json_t *list = json_object_get(health, "anchors");
	bool gone = strcmp(client_str(health, "anchoring"), "gone") == 0;
	json_t *anchor;
	size_t i;

	if (gone)
		printf("anchors   %sthe anchoring process is gone: restart the "
		    "daemon%s\n", cli_colour(stdout, CLI_RED),
		    cli_colour(stdout, CLI_PLAIN));
	json_array_foreach(list, i, anchor) {
		const char *state = client_str(anchor, "state");
		const char *detail = client_str(anchor, "detail");
		bool good = strcmp(state, "ok") == 0;

		printf("%-9s %s: %s%s%s%s%s, %" JSON_INTEGER_FORMAT
		    " records behind\n", cli_clean(client_str(anchor, "kind")),
		    cli_clean(client_str(anchor, "name")),
		    cli_colour(stdout, good ? CLI_GREEN : CLI_YELLOW),
		    cli_clean(state), detail[0] != '\0' ? ": " : "",
		    cli_clean(detail), cli_colour(stdout, CLI_PLAIN),
		    json_integer_value(json_object_get(anchor, "behind")));
	}
}

/* It holds its sockets and says nothing: stopped, or stuck. */
static void
print_mute(const json_t *daemon)
{
	const json_int_t pid = json_integer_value(json_object_get(daemon, "pid"));

	printf("home      %s\ndaemon    %spid %" JSON_INTEGER_FORMAT
	    " does not answer%s: it is stopped or stuck; where that does not pass, "
	    "kill -9 %" JSON_INTEGER_FORMAT " and `countersign start`\n",
	    cli_home(), cli_colour(stdout, CLI_RED), pid,
	    cli_colour(stdout, CLI_PLAIN), pid);
}

static void
print_ledger(const struct client_reply *health)
{
	const char *state = client_str(health->json, "ledger");
	bool well = health->status == 200, low = strcmp(state, "low") == 0;

	printf("ledger    %s", cli_colour(stdout, !well ? CLI_RED : low ?
	    CLI_YELLOW : CLI_GREEN));
	if (well && low)
		printf("low: %" JSON_INTEGER_FORMAT " MB left for records; without "
		    "any, everything is refused", json_integer_value(
		    json_object_get(health->json, "space")) / 1000000);
	else if (strcmp(state, "silent") == 0)
		printf("silent: %s", cli_clean(client_str(health->json,
		    "reason")));
	else
		printf("%s", well ? "ok" : strcmp(state, "full") == 0 ?
		    "full: everything is refused until there is space; free some "
		    "where the ledger is" :
		    "failed: everything is refused; see run/daemon.log");
	printf("%s\n", cli_colour(stdout, CLI_PLAIN));
}

/* Not as the daemon read it; older ones do not tell. */
static bool
config_changed(const struct client_reply *health)
{
	return strcmp(client_str(health->json, "config"), "changed") == 0;
}

static bool
policy_changed(const struct client_reply *health)
{
	return strcmp(client_str(health->json, "policy"), "changed") == 0;
}

static bool
pack_older(void)
{
	char path[PATH_MAX];

	cli_home_path("pack", path, sizeof(path));
	return policy_default_pack_older(path);
}

static void
print_pack(void)
{
	if (pack_older())
		printf("pack      %sthe rules of an older version: `countersign policy "
		    "renew` takes this one's, and keeps data.json%s\n",
		    cli_colour(stdout, CLI_YELLOW),
		    cli_colour(stdout, CLI_PLAIN));
}

static void
print_asked(size_t asked)
{
	if (asked > 0)
		printf("approvals %s%zu request%s for your answer: `countersign "
		    "approve`%s\n", cli_colour(stdout, CLI_YELLOW), asked,
		    asked == 1 ? " waits" : "s wait",
		    cli_colour(stdout, CLI_PLAIN));
}

static void
print_status(const json_t *daemon, const struct client_reply *health,
    const struct client_reply *runs, size_t asked)
{
	const char *reason = client_str(health->json, "reason");

	printf("home      %s\n", cli_home());
	printf("daemon    pid %" JSON_INTEGER_FORMAT ", version %s, since %s\n",
	    json_integer_value(json_object_get(daemon, "pid")),
	    cli_clean(client_str(daemon, "version")),
	    cli_clean(client_str(daemon, "started")));
	printf("proxy     %s:%" JSON_INTEGER_FORMAT "\n"
	    "api       %s:%" JSON_INTEGER_FORMAT "\n",
	    cli_clean(client_str(daemon, "proxy_host")),
	    json_integer_value(json_object_get(daemon, "proxy_port")),
	    cli_clean(client_str(daemon, "api_host")),
	    json_integer_value(json_object_get(daemon, "api_port")));
	if (start_other_build(daemon))
		printf("build     %sanother one than is installed: `countersign stop` "
		    "and `start` replace the daemon%s\n",
		    cli_colour(stdout, CLI_YELLOW),
		    cli_colour(stdout, CLI_PLAIN));
	print_ledger(health);
	if (strcmp(client_str(health->json, "status"), "degraded") == 0)
		printf("alarm     %s%s%s\n", cli_colour(stdout, CLI_RED),
		    cli_clean(reason), cli_colour(stdout, CLI_PLAIN));
	print_anchors(health->json);
	if (config_changed(health))
		printf("config    %schanged since the daemon read it: `countersign "
		    "stop` and `start` put it in force%s\n",
		    cli_colour(stdout, CLI_YELLOW),
		    cli_colour(stdout, CLI_PLAIN));
	if (policy_changed(health))
		printf("policy    %schanged since the daemon read it: `countersign "
		    "policy reload` puts it in force, or says what is wrong%s\n",
		    cli_colour(stdout, CLI_YELLOW),
		    cli_colour(stdout, CLI_PLAIN));
	printf("runs      %zu open\n", open_runs(runs->json));
	print_asked(asked);
}

/* It works, and nobody contradicts its ledger. */
static bool
is_well(const struct client_reply *health)
{
	return health->status == 200 &&
	    strcmp(client_str(health->json, "status"), "ok") == 0;
}

static void
print_json(json_t *daemon, enum client_result result,
    const struct client_reply *health, const struct client_reply *runs,
    size_t asked)
{
	json_t *out = daemon != NULL ? json_deep_copy(daemon) : json_object();

	json_object_set_new(out, "home", json_string(cli_home()));
	json_object_set_new(out, "pack_older", json_boolean(pack_older()));
	json_object_set_new(out, "running",
	    json_boolean(result != CLIENT_NO_DAEMON));
	if (result == CLIENT_BROKEN) {
		json_object_set_new(out, "healthy", json_false());
		json_object_set_new(out, "reason", json_string(health->error));
	} else if (result != CLIENT_NO_DAEMON) {
		json_object_set_new(out, "healthy",
		    json_boolean(is_well(health)));
		if (json_object_get(health->json, "reason") != NULL)
			json_object_set(out, "reason",
			    json_object_get(health->json, "reason"));
		if (json_object_get(health->json, "anchors") != NULL)
			json_object_set(out, "anchors",
			    json_object_get(health->json, "anchors"));
		if (json_object_get(health->json, "vault") != NULL)
			json_object_set(out, "vault",
			    json_object_get(health->json, "vault"));
		if (json_object_get(health->json, "config") != NULL)
			json_object_set_new(out, "config_changed",
			    json_boolean(config_changed(health)));
		if (json_object_get(health->json, "policy") != NULL)
			json_object_set_new(out, "policy_changed",
			    json_boolean(policy_changed(health)));
		json_object_set_new(out, "other_build",
		    json_boolean(start_other_build(daemon)));
		json_object_set_new(out, "runs_open",
		    json_integer((json_int_t)open_runs(runs->json)));
		json_object_set_new(out, "approvals_waiting",
		    json_integer((json_int_t)asked));
	}
	cli_json(stdout, out, JSON_INDENT(2));
	json_decref(out);
}

int
cmd_status(const struct opts *opts)
{
	struct client_reply health, runs, approvals;
	size_t asked = 0;
	enum client_result result;
	json_t *daemon = NULL;
	int rc;

	if ((rc = cli_need_home()) != 0)
		return rc;
	memset(&runs, 0, sizeof(runs));
	memset(&approvals, 0, sizeof(approvals));
	result = client_look("/healthz", &health);
	if (result != CLIENT_NO_DAEMON)
		daemon = start_daemon_json();
	if (result == CLIENT_OK || result == CLIENT_REFUSED) {
		(void)client_look("/v1/runs", &runs);
		(void)client_look("/v1/approvals", &approvals);
		asked = approve_waiting(json_object_get(approvals.json, "approvals"));
	}
	rc = result == CLIENT_OK && is_well(&health) ? CLI_OK : CLI_REFUSED;
	if (opt_flag(opts, "json"))
		print_json(daemon, result, &health, &runs, asked);
	else if (result == CLIENT_NO_DAEMON)
		printf("home      %s\ndaemon    none runs; `countersign start` or "
		    "the next run starts it\n", cli_home());
	else if (result == CLIENT_BROKEN)
		print_mute(daemon);
	else
		print_status(daemon, &health, &runs, asked);
	if (!opt_flag(opts, "json"))
		print_pack();
	json_decref(daemon);
	client_reply_release(&health);
	client_reply_release(&runs);
	client_reply_release(&approvals);
	return rc;
}

static int
open_lock(void)
{
	char path[PATH_MAX];

	cli_home_path("run/daemon.lock", path, sizeof(path));
	return open(path, O_RDWR | O_CLOEXEC);
}

/* It has a lock until its end: when it does not answer yet, or any more, too. */
int
cmd_stop(const struct opts *opts)
{
	const struct timespec step = { 0, STOP_STEP_MS * 1000000L };
	bool told = false, broken = false, held;
	enum client_result result;
	struct client_reply reply;
	int lock, waited, rc;

	if ((rc = cli_need_home()) != 0)
		return rc;
	lock = open_lock();
	for (waited = 0;; waited += STOP_STEP_MS) {
		if (!told) {
			result = client_operator("POST", "/v1/shutdown", NULL, &reply);
			told = result == CLIENT_OK;
			if (result == CLIENT_REFUSED || (result == CLIENT_BROKEN && broken))
				rc = client_fail(result, &reply);
			broken = result == CLIENT_BROKEN;	/* it may be ending */
			client_reply_release(&reply);
		}
		held = rc == 0 && lock != -1 && flock(lock, LOCK_EX | LOCK_NB) != 0;
		if (!held || waited >= STOP_WAIT_MS)
			break;
		nanosleep(&step, NULL);
	}
	if (held) {
		cli_err("the daemon has not ended after %d s", STOP_WAIT_MS / 1000);
		rc = CLI_REFUSED;
	} else if (rc == 0) {
		puts(told || broken || waited > 0 ? "stopped" : "no daemon runs");
	}
	if (lock != -1)
		close(lock);
	return rc;
}

/* It is in force now, and what is misspelt in it, or was not compiled, is not: said,
 * since a pack may have members and sources of its own. */
static void
look_at_data(void)
{
	char path[PATH_MAX];

	cli_home_path("pack", path, sizeof(path));
	(void)command_data_look(path);
	command_sources_look(path);
}

int
cmd_reload(const struct opts *opts)
{
	struct client_reply reply;
	enum client_result result;
	int rc = CLI_OK;

	if ((rc = cli_need_home()) != 0)
		return rc;
	result = client_operator("POST", "/v1/policy/reload", NULL, &reply);
	if (result == CLIENT_OK && strcmp(client_str(reply.json, "after"),
	    client_str(reply.json, "before")) == 0)
		printf("policy %s, as before\n",
		    cli_clean(client_str(reply.json, "after")));
	else if (result == CLIENT_OK)
		printf("policy %s\nbefore %s\n",
		    cli_clean(client_str(reply.json, "after")),
		    cli_clean(client_str(reply.json, "before")));
	else if (result == CLIENT_NO_DAEMON)
		puts("no daemon runs: the next one reads the policy when it starts");
	else
		rc = client_fail(result, &reply);
	if (rc == CLI_OK)
		look_at_data();
	client_reply_release(&reply);
	return rc;
}
