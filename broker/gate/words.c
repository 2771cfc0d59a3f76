#include "gate/words.h"

#include "ledger/record/record.h"

#include <stdio.h>

static struct policy_str
marked(const uint8_t *key, struct policy_str text, char buf[KEYED_TEXT_MAX])
{
	struct slice mark;

	if (text.p == NULL)
		return text;
	mark = keyed_text(key, (struct slice){ text.p, text.n }, buf);
	return (struct policy_str){ mark.p, mark.n };
}

/* Arguments are JSON text: the digest goes in as a JSON string. */
static struct policy_str
marked_json(const uint8_t *key, struct policy_str text,
    char buf[KEYED_TEXT_MAX + 2])
{
	char mark[KEYED_TEXT_MAX];

	if (text.p == NULL)
		return text;
	keyed_text(key, (struct slice){ text.p, text.n }, mark);
	return (struct policy_str){ buf, (size_t)snprintf(buf,
	    KEYED_TEXT_MAX + 2, "\"%s\"", mark) };
}

/* What git asks before a push or a fetch: known to all, and policies look at
 * it, so that a replay needs it. */
static bool
is_discovery(struct policy_str query)
{
	const struct slice text = { query.p, query.n };

	return slice_eq(text, SLICE("service=git-upload-pack")) ||
	    slice_eq(text, SLICE("service=git-receive-pack"));
}

int
words_input(struct gate_thread *thread, const struct run *run,
    const struct policy_input *input, bool tainted)
{
	const struct keyed *keyed = thread->gate->keyed;
	struct policy_input safe = *input;
	char query[KEYED_TEXT_MAX], path[KEYED_TEXT_MAX], host[KEYED_TEXT_MAX];
	char name[KEYED_TEXT_MAX], args[KEYED_TEXT_MAX + 2];

	if (!is_discovery(safe.target.query))
		safe.target.query = marked(keyed->query, safe.target.query,
		    query);
	safe.action.args = marked_json(keyed->query, safe.action.args, args);
	if (tainted) {
		safe.target.path = marked(keyed->query, safe.target.path,
		    path);
		safe.target.host = marked(keyed->query, safe.target.host,
		    host);
		safe.action.name = marked(keyed->query, safe.action.name,
		    name);
	}
	if (run != NULL && run->principal_mark[0] != '\0')
		safe.run.principal = (struct policy_str){ run->principal_mark,
		    strlen(run->principal_mark) };
	return policy_input_json_again(&thread->worded, &safe, thread->input,
	    sizeof(thread->input));
}

static void
text_out(struct json_out *out, const char *key, const char *text)
{
	if (text != NULL && text[0] != '\0')
		json_out_str(out, key, text);
}

void
words_peer(struct json_out *out, const struct peer *peer, const char *program)
{
	if (peer == NULL || (peer->uid < 0 && peer->pid <= 0))
		return;
	json_out_object(out, "peer");
	if (peer->uid >= 0)
		json_out_int(out, "uid", peer->uid);
	if (peer->pid > 0)
		json_out_int(out, "pid", peer->pid);
	else
		json_out_str(out, "process", "not established");
	text_out(out, "program", program);
	json_out_object_end(out);
}

/* Of a request that was not understood, only what was is shown. */
static void
place_out(struct json_out *out, const char *host, bool https, unsigned port)
{
	if (host[0] == '\0')
		return;
	json_out_object(out, "target");
	if (port != 0)
		json_out_str(out, "scheme", https ? "https" : "http");
	json_out_str(out, "host", host);
	if (port != 0)
		json_out_uint(out, "port", port);
	json_out_object_end(out);
}

void
words_engine(struct json_out *out, const struct policy_decision *judged)
{
	if (judged == NULL || judged->engine == NULL)
		return;
	json_out_str(out, "engine", judged->engine);
	text_out(out, "decision_id", judged->id);
}

/* Who decided, where it was not the policy; NULL where it was.  A refusal is a
 * person's where they said no, else the gate's: though the policy agreed, would have
 * asked or was agreed with, or was not asked itself. */
static const char *
decided_by(const struct words_decision *what)
{
	if (strcmp(what->decision, "deny") != 0)
		return what->person ? "person" : NULL;
	if (what->person && strcmp(what->rule, "ask/denied") == 0)
		return "person";
	return what->judged == NULL || what->judged->verdict != POLICY_DENY ?
	    "gate" : NULL;
}

int
words_decision(struct gate_thread *thread, const struct run *run,
    const struct words_decision *what, char *buf, size_t cap)
{
	struct json_out out;
	int len;

	json_out_begin(&out, buf, cap);
	json_out_object(&out, NULL);
	json_out_str(&out, "decision", what->decision);
	text_out(&out, "rule", what->rule);
	text_out(&out, "reason", what->reason);
	text_out(&out, "remedy", what->remedy);
	text_out(&out, "by", decided_by(what));
	words_engine(&out, what->judged);
	if (what->status != 0)
		json_out_uint(&out, "status", what->status);
	text_out(&out, "kind", what->kind);
	text_out(&out, "route", what->route);
	if (what->parent != NULL)
		json_out_hex(&out, "parent", what->parent->leaf,
		    LEDGER_LEAF_LEN);
	text_out(&out, "grant", what->grant);
	words_peer(&out, what->peer, NULL);
	if (what->place != NULL)
		place_out(&out, what->place->host, what->place->https,
		    what->place->port);
	if (what->input != NULL) {
		len = words_input(thread, run, what->input, what->tainted);
		if (len <= 0)
			return -1;
		json_out_raw(&out, "input", thread->input, (size_t)len);
	}
	json_out_object_end(&out);
	return json_out_end(&out);
}

static void
time_out(struct json_out *out, const char *key, int64_t time_us)
{
	char text[RECORD_TIME_LEN + 1];

	record_time_format(text, time_us);
	text[RECORD_TIME_LEN] = '\0';
	json_out_str(out, key, text);
}

int
words_counted(const struct gate_counted *counted, const struct run *run, char *buf,
    size_t cap)
{
	const struct peer peer = { counted->uid, -1, 0 };
	struct json_out out;

	json_out_begin(&out, buf, cap);
	json_out_object(&out, NULL);
	json_out_uint(&out, "count", counted->count);
	time_out(&out, "from", counted->from_us);
	time_out(&out, "to", counted->to_us);
	json_out_str(&out, "decision", "deny");
	json_out_str(&out, "rule", counted->rule);
	json_out_str(&out, "reason", counted->reason);
	if (counted->status != 0)
		json_out_uint(&out, "status", counted->status);
	text_out(&out, "kind", counted->kind);
	if (run != NULL)
		json_out_hex(&out, "parent", run->receipt.leaf, LEDGER_LEAF_LEN);
	words_peer(&out, &peer, NULL);
	place_out(&out, counted->host, counted->https, counted->port);
	json_out_object_end(&out);
	return json_out_end(&out);
}

int
words_outcome(const struct gate_outcome *outcome, const char *grant,
    char *buf, size_t cap)
{
	struct json_out out;

	json_out_begin(&out, buf, cap);
	json_out_object(&out, NULL);
	json_out_hex(&out, "parent", outcome->parent, LEDGER_LEAF_LEN);
	text_out(&out, "grant", grant);
	if (outcome->status != 0)
		json_out_uint(&out, "status", outcome->status);
	text_out(&out, "error", outcome->error);
	if (outcome->refused || outcome->failed)
		json_out_str(&out, "ended", outcome->refused ? "refused" :
		    "unreached");
	if (outcome->unanswered)
		json_out_bool(&out, "head_sent", outcome->head_sent);
	json_out_uint(&out, "bytes_out", outcome->bytes_out);
	json_out_uint(&out, "bytes_in", outcome->bytes_in);
	json_out_uint(&out, "duration_us", outcome->duration_us);
	json_out_uint(&out, "redactions", outcome->redactions);
	json_out_object_end(&out);
	return json_out_end(&out);
}
