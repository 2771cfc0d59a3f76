#include "cli/run/run_close.h"
#include "cli/client.h"
#include "cli/cli.h"
#include "cli/lacking.h"
#include "cli/run_bundle.h"
#include "cli/run/run_exposed.h"
#include "cli/run/run_reasons.h"
#include "cli/run/run_refused.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static long long
number(const json_t *json, const char *name)
{
	return (long long)json_integer_value(json_object_get(json, name));
}

static void
human_bytes(long long bytes, char *buf, size_t cap)
{
	static const char *const units[] = { "B", "kB", "MB", "GB" };
	double value = (double)bytes;
	unsigned unit = 0;

	while (value >= 1000 && unit < 3) {
		value /= 1000;
		unit++;
	}
	snprintf(buf, cap, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
}

static const char *
hidden_text(const struct run_close *close)
{
	if (!close->hide_wanted)
		return "no (--no-hide)";
	if (!close->child->hidden)
		return "no";
	return close->root ? "yes, though root could undo it" : "yes";
}

static void
print_names(const struct run_close *close)
{
	const struct run_env *env = close->env;
	json_t *one, *name;
	size_t i, k, n = 0;

	json_array_foreach(json_object_get(close->run, "placeholders"), i, one)
		json_array_foreach(json_object_get(one, "env"), k, name)
			fprintf(stderr, "%s%s", n++ == 0 ?
			    "  placeholders in " : ", ",
			    cli_clean(json_string_value(name)));
	for (i = 0; i < env->n_removed && i < RUN_ENV_REMOVED_MAX; i++)
		fprintf(stderr, "%s%s", i == 0 ? n > 0 ? "; removed " :
		    "  removed " : ", ", cli_clean(env->removed[i]));
	if (env->n_removed > RUN_ENV_REMOVED_MAX)
		fprintf(stderr, " and %zu more",
		    env->n_removed - RUN_ENV_REMOVED_MAX);
	if (n + env->n_removed > 0)
		fputc('\n', stderr);
}

static void
print_files(const json_t *list, const char *before)
{
	json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
		fprintf(stderr, "%s%s", i == 0 ? before : ", ",
		    json_string_value(one));
	if (json_array_size(list) > 0)
		fputc('\n', stderr);
}

static const json_t *
hidden_files(const struct run_close *close)
{
	return close->child->hidden ? close->hidden : NULL;
}

static json_t *
exposed(const struct run_close *close)
{
	return run_exposed_but(run_env_get(close->env, "HOME"),
	    hidden_files(close), json_object_get(close->run, "placeholders"));
}

/* A run within another one has that one's files, and its lines. */
static void
print_exposed(const struct run_close *close)
{
	json_t *list = exposed(close);

	print_files(list, "  credentials of other programs that the command could "
	    "read: ");
	print_files(hidden_files(close), "  credentials of other programs hidden "
	    "from the command: ");
	json_decref(list);
}

static void
print_counts(const json_t *closed)
{
	long long refused = number(closed, "refused");
	long long failed = number(closed, "failed");
	char sent[32], missed[48] = "";

	if (json_object_get(closed, "allowed") == NULL) {
		fprintf(stderr, "  what it was allowed and refused is not known\n");
		return;
	}
	human_bytes(number(closed, "bytes_out"), sent, sizeof(sent));
	if (failed > 0)
		snprintf(missed, sizeof(missed), "%lld failed, ", failed);
	fprintf(stderr, "  %s%lld allowed%s, %s%lld refused%s, %s%lld redacted, "
	    "%s sent\n", cli_colour(stderr, CLI_GREEN), number(closed, "allowed"),
	    cli_colour(stderr, CLI_PLAIN),
	    cli_colour(stderr, refused > 0 ? CLI_RED : CLI_PLAIN), refused,
	    cli_colour(stderr, CLI_PLAIN), missed, number(closed, "redacted"), sent);
}

/* A run below counts for itself: this one's numbers are its own requests'. */
static void
print_below(const struct run_below *below)
{
	char sent[32], missed[48] = "";

	if (below->n == 0)
		return;
	human_bytes(below->bytes_out, sent, sizeof(sent));
	if (below->failed > 0)
		snprintf(missed, sizeof(missed), "%lld failed, ", below->failed);
	fprintf(stderr, "  and in %zu run%s below: %s%lld allowed%s, %s%lld refused%s, "
	    "%s%lld redacted, %s sent\n", below->n, below->n == 1 ? "" : "s",
	    cli_colour(stderr, CLI_GREEN), below->allowed,
	    cli_colour(stderr, CLI_PLAIN),
	    cli_colour(stderr, below->refused > 0 ? CLI_RED : CLI_PLAIN),
	    below->refused, cli_colour(stderr, CLI_PLAIN), missed,
	    below->redacted, sent);
	if (below->open > 0)
		fprintf(stderr, "    without %zu whose end is not in the evidence\n",
		    below->open);
}

static json_t *
below_json(const struct run_below *below)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
	    "runs", (json_int_t)below->n, "unknown", (json_int_t)below->open,
	    "allowed", (json_int_t)below->allowed,
	    "refused", (json_int_t)below->refused,
	    "failed", (json_int_t)below->failed,
	    "redacted", (json_int_t)below->redacted,
	    "bytes_out", (json_int_t)below->bytes_out);
}

static void
print_no_answer(const struct run_reasons *reasons)
{
	if (reasons->no_answer > 0)
		fprintf(stderr, "  %zu of the allowed had no whole answer from the service "
		    "(`countersign ledger --type outcome`)\n", reasons->no_answer);
}

static void
print_lost(const struct run_reasons *reasons)
{
	if (reasons->lost > 0)
		fprintf(stderr, "  %lld record%s that an adapter says it lost (%s): the evidence "
		    "has a gap\n", reasons->lost, reasons->lost == 1 ? "" : "s",
		    cli_clean(reasons->lost_by));
}

static void
print_tunnels(const struct run_reasons *reasons)
{
	size_t i;

	if (reasons->tunnels == 0)
		return;
	fprintf(stderr, "  %zu tunnel%s to unbound hosts %s not inspected",
	    reasons->tunnels, reasons->tunnels == 1 ? "" : "s",
	    reasons->tunnels == 1 ? "was" : "were");
	for (i = 0; i < RUN_TUNNELS_NAMED && reasons->tunnel_hosts[i][0] != '\0';
	    i++)
		fprintf(stderr, "%s%s", i == 0 ? ": " : ", ",
		    cli_clean(reasons->tunnel_hosts[i]));
	fputc('\n', stderr);
}

/* Kinds or reasons of a list of a manifest, behind those before. */
static size_t
print_entries(const json_t *list, const char *member, const char *begin, size_t n)
{
	const json_t *entry;
	size_t i;

	json_array_foreach(list, i, entry)
		if (client_str(entry, member)[0] != '\0')
			fprintf(stderr, "%s%s", n++ == 0 ? begin :
			    strcmp(member, "kind") == 0 ? ", " : "; ",
			    cli_clean(client_str(entry, member)));
	return n;
}

static bool
is_brokers(const json_t *claim)
{
	return strcmp(client_str(claim, "instance"), "broker") == 0;
}

/* What the run said of itself is no word of ours. */
static void
print_claimed(const struct run_reasons *reasons)
{
	const json_t *claim;
	size_t i;

	json_array_foreach(reasons->claims, i, claim) {
		if (is_brokers(claim))
			continue;
		fprintf(stderr, "  claimed by an adapter of the run, %s",
		    cli_clean(client_str(claim, "adapter")));
		print_entries(json_object_get(claim, "sees"), "kind", ": ", 0);
		fputc('\n', stderr);
	}
}

/* As the broker's adapters say it themselves, and it is recorded. */
static void
print_covered(const struct run_reasons *reasons, bool direct_loopback)
{
	const json_t *claim;
	size_t i, n = 0;

	json_array_foreach(reasons->claims, i, claim)
		if (is_brokers(claim))
			n = print_entries(json_object_get(claim, "sees"), "kind", "  covered: ", n);
	if (n > 0)
		fputs("; `countersign coverage` holds it against what others saw\n", stderr);
	n = 0;
	json_array_foreach(reasons->claims, i, claim) {
		n = print_entries(json_object_get(claim, "leaves_out"), "what", "  not seen: ", n);
		n = print_entries(json_object_get(claim, "cannot_see"), "what", "  not seen: ", n);
	}
	if (n > 0)
		fputs(direct_loopback ? " (--direct-loopback)\n" : "\n", stderr);
	print_claimed(reasons);
}

/* What an operator must hear of, whatever the run did. */
static void
print_alarm(void)
{
	struct client_reply reply;

	(void)client_operator("GET", "/healthz", NULL, &reply);
	if (client_str(reply.json, "reason")[0] != '\0')
		fprintf(stderr, "  %salarm: %s%s; see `countersign status`\n",
		    cli_colour(stderr, CLI_RED),
		    cli_clean(client_str(reply.json, "reason")),
		    cli_colour(stderr, CLI_PLAIN));
	client_reply_release(&reply);
}

static void
print_text(const struct run_close *close, const json_t *closed,
    const struct run_reasons *reasons, const char *bundle)
{
	/* Of a command that never began it says why that is. */
	const char *why = close->child->started ? close->child->why : "";

	fprintf(stderr, "\n%scountersign: run %s%s, %.1f s, command ended with %d\n",
	    cli_colour(stderr, CLI_BOLD), cli_clean(client_str(closed, "id")),
	    cli_colour(stderr, CLI_PLAIN), close->seconds, close->child->status);
	print_counts(closed);
	print_below(&reasons->below);
	run_refused_print(reasons, client_str(closed, "id"));
	print_no_answer(reasons);
	print_lost(reasons);
	print_tunnels(reasons);
	print_names(close);
	lacking_print(stderr, json_object_get(close->run, "placeholders_missing"), "  ");
	if (close->socket == NULL)
		print_exposed(close);
	if (close->socket == NULL)
		fprintf(stderr, "  home hidden from the command: %s%s%s%s\n",
		    hidden_text(close), why[0] != '\0' ? " (" : "", why,
		    why[0] != '\0' ? ")" : "");
	print_covered(reasons, close->direct_loopback);
	if (close->left_behind > 0)
		fprintf(stderr, "  %zu process%s of the run still live; what they "
		    "ask for is refused\n", close->left_behind,
		    close->left_behind == 1 ? "" : "es");
	if (close->socket == NULL)
		print_alarm();
	if (close->socket != NULL)
		fprintf(stderr, "  within %s: its records are there\n",
		    cli_clean(client_str(close->run, "parent")));
	else if (bundle == NULL)
		fprintf(stderr, "  evidence: %snone%s; once the cause is gone: "
		    "countersign bundle %s\n", cli_colour(stderr, CLI_RED),
		    cli_colour(stderr, CLI_PLAIN),
		    cli_clean(client_str(closed, "id")));
	else
		fprintf(stderr, "  evidence: %s\n  verify:   countersign verify\n",
		    bundle);
}

static void
print_json(const struct run_close *close, const json_t *closed,
    const struct run_reasons *reasons, const char *bundle)
{
	json_t *out = json_object();

	json_object_update(out, (json_t *)closed);
	json_object_del(out, "checkpoint");
	json_object_set_new(out, "reasons", run_refused_json(reasons));
	json_object_set_new(out, "approvals", run_answers_json(reasons));
	json_object_set(out, "placeholders_missing",
	    json_object_get(close->run, "placeholders_missing"));
	json_object_set_new(out, "below", below_json(&reasons->below));
	json_object_set_new(out, "tunnels_unbound",
	    json_integer((json_int_t)reasons->tunnels));
	json_object_set_new(out, "no_answer",
	    json_integer((json_int_t)reasons->no_answer));
	json_object_set_new(out, "lost", json_integer(reasons->lost));
	json_object_set_new(out, "status", json_integer(close->child->status));
	json_object_set_new(out, "seconds", json_real(close->seconds));
	json_object_set_new(out, "home_hidden", json_boolean(close->child->hidden));
	json_object_set_new(out, "environment_removed",
	    json_integer((json_int_t)close->env->n_removed));
	json_object_set_new(out, "credential_files", exposed(close));
	json_object_set_new(out, "credential_files_hidden",
	    hidden_files(close) != NULL ? json_deep_copy(close->hidden) :
	    json_array());
	json_object_set_new(out, "bundle", bundle != NULL ? json_string(bundle) :
	    json_null());
	cli_json(stderr, out, JSON_COMPACT | JSON_REAL_PRECISION(6));
	json_decref(out);
}

/* Somebody else closed it, or nobody can. */
static void
say_early(enum client_result result, const struct client_reply *reply)
{
	if (result == CLIENT_REFUSED && reply->status == 409)
		return;		/* its record says by whom: say_closer */
	if (result == CLIENT_NO_DAEMON || result == CLIENT_BROKEN)
		cli_err("the run was closed before its command ended: its daemon "
		    "is gone or no longer answers%s%s",
		    result == CLIENT_BROKEN ? ": " : "",
		    result == CLIENT_BROKEN ? cli_clean(reply->error) : "");
	else
		cli_err("the run could not be closed: %s",
		    cli_clean(reply->error));
}

static const char *
closer_text(const char *by)
{
	static const struct { const char *by, *text; } all[] = {
		{ "run", "a process of the run" }, { "operator", "an operator" },
		{ "parent", "the run above it" }, { "broker", "the daemon" }, { "opener", "the process that opened it" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (strcmp(all[i].by, by) == 0)
			return all[i].text;
	return "somebody; its record is not there";
}

static void
say_closer(const json_t *closed)
{
	const json_t *peer = json_object_get(closed, "peer");
	const char *reason = client_str(closed, "reason");
	const char *program = client_str(peer, "program");
	char who[96] = "";

	if (json_object_get(peer, "pid") != NULL)
		snprintf(who, sizeof(who), " (%s%spid %lld)", cli_clean(program),
		    program[0] != '\0' ? ", " : "", number(peer, "pid"));
	cli_err("the run was closed before its command ended: by %s%s%s%s",
	    closer_text(client_str(closed, "by")), who,
	    reason[0] != '\0' ? ": " : "", cli_clean(reason));
}

/* What the summary is made of: the daemon's answer, or what the evidence says. */
static json_t *
closing(const json_t *run, const struct client_reply *reply, bool ok,
    const struct run_reasons *reasons)
{
	json_t *closed = json_object();

	json_object_set_new(closed, "id", json_string(client_str(run, "id")));
	if (ok)
		json_object_update(closed, reply->json);
	else if (reasons->counts != NULL)
		json_object_update(closed, reasons->counts);
	json_object_set_new(closed, "closed_early", json_boolean(!ok));
	if (json_object_get(reasons->closed, "by") != NULL)
		json_object_set(closed, "closed_by",
		    json_object_get(reasons->closed, "by"));
	return closed;
}

static enum client_result
close_it(const struct run_close *close, struct client_reply *reply)
{
	char path[64 + 16];

	snprintf(path, sizeof(path), "/v1/runs/%.64s", client_str(close->run, "id"));
	if (close->socket == NULL)
		return client_operator("DELETE", path, NULL, reply);
	return client_run(close->socket, client_str(close->run, "token"),
	    "DELETE", path, NULL, reply);
}

/* Evidence and why things were refused, as far as the ledger can be read. */
static int
evidence(const struct run_close *close, const struct client_reply *reply,
    char *bundle, size_t cap, struct run_reasons *reasons)
{
	if (close->socket != NULL)
		return 0;
	if (run_bundle_write(close->run, reply->status == 409, bundle, cap) != 0)
		return -1;
	run_reasons_read(reasons, bundle, client_str(close->run, "id"));
	return 0;
}

int
run_close(const struct run_close *close)
{
	struct run_reasons reasons = { .n = 0 };
	struct client_reply reply;
	enum client_result result;
	char bundle[PATH_MAX] = "";
	json_t *closed;
	int rc;

	result = close_it(close, &reply);
	if (result != CLIENT_OK)
		say_early(result, &reply);
	/* The ledger's directory is enough, if the run's end is in it. */
	rc = evidence(close, &reply, bundle, sizeof(bundle), &reasons);
	if (reply.status == 409 && close->socket == NULL)
		say_closer(reasons.closed);
	closed = closing(close->run, &reply, result == CLIENT_OK, &reasons);
	if (close->json)
		print_json(close, closed, &reasons, bundle[0] != '\0' && rc == 0 ? bundle : NULL);
	else if (!close->quiet)
		print_text(close, closed, &reasons, bundle[0] != '\0' && rc == 0 ? bundle : NULL);
	json_decref(closed);
	run_reasons_release(&reasons);
	client_reply_release(&reply);
	return rc;
}
