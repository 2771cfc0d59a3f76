/* countersign approve: what agents wait for, and the answer of a person. */
#include "cli/approve/approve.h"
#include "cli/cli.h"
#include "cli/cmd.h"

#include <string.h>

const struct opt cmd_approve_opts[] = {
	{ "for-run", 0, NULL, false, "approve the same request again, too, until the run ends" },
	{ "deny", 0, NULL, false, "deny instead" },
	{ "watch", 0, NULL, false, "stay, and show each question as it comes; on a terminal, ask for the answer" },
	{ "json", 0, NULL, false, "print JSON; with --watch, one question a line" },
	{ NULL, 0, NULL, false, NULL }
};

const char cmd_approve_details[] =
"Without ID, what waits for an answer is listed, one question a line. The beginning\n"
"of an ID is enough, where no other one begins so. An answer is good for the request\n"
"that waits, or for the next one like it: same run, method, URL and secret.\n"
"Look at the URL: that is what you agree to; of a grant, also at how often and how long.\n"
"Bodies are not shown. --deny also takes back what was approved with --for-run.";

/* Consents that stand until a run ends. */
static size_t
standing(const json_t *list)
{
	json_t *one;
	size_t i, n = 0;

	json_array_foreach(list, i, one)
		n += strcmp(client_str(one, "state"), "approved") == 0 &&
		    json_is_null(json_object_get(one, "expires"));
	return n;
}

/* What is asked by those that wait: how one goes on. */
static void
print_list(const json_t *list)
{
	json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
		if (approve_waits(one))
			approve_print(one);
	if (approve_waiting(list) == 0)
		puts("no request waits for an answer");
	else
		puts("`countersign approve ID` approves one once, --for-run until "
		    "its run ends, --deny denies");
	if (standing(list) > 0)
		printf("consents that stand until their run ends: %zu (--json "
		    "shows them, --deny ID takes one back)\n", standing(list));
}

static int
show(bool json)
{
	struct client_reply reply;
	const json_t *list;
	enum client_result result = approve_fetch(&reply, &list);
	int rc = CLI_OK;

	if (result != CLIENT_OK) {
		rc = client_fail(result, &reply);
	} else if (json) {
		cli_json(stdout, reply.json, JSON_INDENT(2));
	} else {
		print_list(list);
	}
	client_reply_release(&reply);
	return rc;
}

/* How many have an id that begins so; *id is the last of them, borrowed. */
static size_t
begin_so(const json_t *list, const char *text, bool waiting, const char **id)
{
	json_t *one;
	size_t i, n = 0;

	json_array_foreach(list, i, one) {
		if (strncmp(client_str(one, "id"), text, strlen(text)) != 0 ||
		    (waiting && !approve_waits(one)))
			continue;
		*id = client_str(one, "id");
		n++;
	}
	return n;
}

/* The id that was meant, borrowed; of those that have their answer, the daemon says
 * that.  NULL with a message. */
static const char *
meant(const json_t *list, const char *text)
{
	const char *id = NULL;
	size_t n = begin_so(list, text, true, &id);

	if (n == 0)
		n = begin_so(list, text, false, &id);
	if (n == 1)
		return id;
	if (n > 1)
		cli_err("%s: %zu questions have an id that begins so; give more of it",
		    cli_clean(text), n);
	else
		cli_err("%s: there is no such question; it may have been asked too "
		    "long ago, or its run is over: `countersign approve` lists "
		    "what waits", cli_clean(text));
	return NULL;
}

static int
answer_all(const struct opts *opts, enum approve_answer answer, json_t *done)
{
	struct client_reply reply;
	const json_t *list;
	enum client_result result = approve_fetch(&reply, &list);
	int rc = CLI_OK, one;

	if (result != CLIENT_OK)
		rc = client_fail(result, &reply);
	for (int i = 0; result == CLIENT_OK && i < opts->n_rest; i++) {
		const char *id = meant(list, opts->rest[i]);

		one = id != NULL ? approve_answer(id, answer, done) : CLI_REFUSED;
		rc = one > rc ? one : rc;
	}
	client_reply_release(&reply);
	return rc;
}

static int
answer(const struct opts *opts, enum approve_answer answer)
{
	json_t *done = opt_flag(opts, "json") ? json_array() : NULL;
	int rc = answer_all(opts, answer, done);

	if (done != NULL) {
		json_t *out = json_pack("{s:O}", "approvals", done);

		cli_json(stdout, out, JSON_INDENT(2));
		json_decref(out);
	}
	json_decref(done);
	return rc;
}

int
cmd_approve(const struct opts *opts)
{
	const bool deny = opt_flag(opts, "deny"), run = opt_flag(opts, "for-run");
	int rc;

	for (int i = 0; i < opts->n_rest; i++)
		if (strncmp(opts->rest[i], "q_", 2) != 0 || opts->rest[i][2] == '\0')
			return cli_usage("%s: an ID begins with q_", cli_clean(opts->rest[i]));
	if (deny && run)
		return cli_usage("--deny and --for-run exclude each other: a denial "
		    "holds for a quarter of an hour");
	if (opt_flag(opts, "watch") && (deny || run || opts->n_rest > 0))
		return cli_usage("--watch asks for each answer by itself");
	if ((deny || run) && opts->n_rest == 0)
		return cli_usage("which? `countersign approve` lists what waits");
	if ((rc = cli_need_home()) != 0)
		return rc;
	if (opt_flag(opts, "watch"))
		return approve_watch(opt_flag(opts, "json"));
	if (opts->n_rest == 0)
		return show(opt_flag(opts, "json"));
	return answer(opts, deny ? APPROVE_DENY : run ? APPROVE_RUN : APPROVE_ONCE);
}
