#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ledger/evidence/facts.h"

size_t
facts_cut(const char *text, size_t len, size_t max)
{
	if (len <= max)
		return len;
	while (max > 0 && ((unsigned char)text[max] & 0xc0) == 0x80)
		max--;
	return max;
}

static void
put(char *out, size_t cap, const char *text, size_t len)
{
	len = facts_cut(text, len, cap - 1);
	memcpy(out, text, len);
	out[len] = '\0';
}

static void
put_slice(char *out, size_t cap, struct record_slice slice)
{
	put(out, cap, slice.ptr != NULL ? slice.ptr : "", slice.len);
}

static void
get_text(const json_t *object, const char *key, char *out, size_t cap)
{
	const json_t *value = json_object_get(object, key);

	if (json_is_string(value))
		put(out, cap, json_string_value(value), json_string_length(value));
}

static int64_t
get_number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_integer(value) && json_integer_value(value) >= 0 ?
	    json_integer_value(value) : -1;
}

static void
read_target(struct facts *f, const json_t *target)
{
	get_text(target, "scheme", f->scheme, sizeof(f->scheme));
	get_text(target, "host", f->host, sizeof(f->host));
	get_text(target, "path", f->path, sizeof(f->path));
	f->port = get_number(target, "port");
}

static void
read_input(struct facts *f, const json_t *input)
{
	const json_t *action = json_object_get(input, "action");
	const json_t *secret = json_object_get(input, "secret");

	get_text(action, "verb", f->verb, sizeof(f->verb));
	get_text(action, "name", f->tool, sizeof(f->tool));
	get_text(secret, "name", f->secret, sizeof(f->secret));
	f->version = get_number(secret, "version");
	get_text(json_object_get(input, "agent"), "name", f->agent, sizeof(f->agent));
	if (json_object_get(input, "target") != NULL)
		read_target(f, json_object_get(input, "target"));
}

bool
facts_tells_loss(const struct facts *f)
{
	return strcmp(f->type, "drop") == 0 || strcmp(f->type, "loss") == 0;
}

static void
read_body(struct facts *f, const json_t *b)
{
	const json_t *peer = json_object_get(b, "peer");
	const json_t *approval = json_object_get(b, "approval");

	get_text(b, "decision", f->decision, sizeof(f->decision));
	get_text(b, "rule", f->rule, sizeof(f->rule));
	get_text(b, "reason", f->reason, sizeof(f->reason));
	get_text(b, "remedy", f->remedy, sizeof(f->remedy));
	get_text(b, "error", f->error, sizeof(f->error));
	get_text(b, "grant", f->grant, sizeof(f->grant));
	get_text(b, "state", f->state, sizeof(f->state));
	get_text(b, "event", f->event, sizeof(f->event));
	get_text(b, "parent", f->parent, sizeof(f->parent));
	get_text(b, "by", f->by, sizeof(f->by));
	f->answer = json_is_object(approval);
	get_text(approval, "id", f->question, sizeof(f->question));
	get_text(approval, "for", f->good_for, sizeof(f->good_for));
	get_text(b, "action", f->verb, sizeof(f->verb));
	get_text(json_object_get(b, "agent"), "name", f->agent, sizeof(f->agent));
	if (json_object_get(b, "target") != NULL)
		read_target(f, json_object_get(b, "target"));
	read_input(f, json_object_get(b, "input"));
	f->status = get_number(b, "status");
	f->uid = get_number(peer, "uid");
	f->pid = get_number(peer, "pid");
	f->bytes_out = get_number(b, "bytes_out");
	if (json_is_boolean(json_object_get(b, "head_sent")))
		f->head_sent = json_is_true(json_object_get(b, "head_sent"));
	f->bytes_in = get_number(b, "bytes_in");
	f->duration_us = get_number(b, "duration_us");
	f->redactions = get_number(b, "redactions");
	if (facts_tells_loss(f) && get_number(b, "count") > 0)
		f->count = (uint64_t)get_number(b, "count");
	if (strcmp(f->type, "scan") == 0) {
		get_text(b, "verdict", f->event, sizeof(f->event));
		get_text(b, "why", f->reason, sizeof(f->reason));
	}
	if (strcmp(f->type, "secret") == 0) {
		get_text(b, "name", f->secret, sizeof(f->secret));
		f->version = get_number(b, "version");
	}
}

static enum facts_kind
kind_of(const struct facts *f)
{
	if (f->answer)
		return FACTS_NEUTRAL;
	if (strcmp(f->type, "refusal") == 0 || strcmp(f->decision, "deny") == 0)
		return FACTS_REFUSED;
	if (strcmp(f->type, "scan") == 0 && strcmp(f->event, "clean") != 0)
		return FACTS_FAILED;
	/* nobody asked for anything that was refused: a change did not come about */
	if (strcmp(f->type, "policy") == 0 && json_object_get(f->body, "refused") != NULL)
		return FACTS_FAILED;
	if (strcmp(f->type, "outcome") == 0)
		return f->error[0] != '\0' ? FACTS_FAILED : FACTS_NEUTRAL;
	if (strcmp(f->type, "use") == 0 || strcmp(f->decision, "allow") == 0 ||
	    (strcmp(f->type, "grant") == 0 && strcmp(f->state, "issued") == 0))
		return FACTS_ALLOWED;
	return FACTS_NEUTRAL;
}

static enum facts_ended
ended_of(const struct facts *f)
{
	char ended[16] = "";

	if (strcmp(f->type, "outcome") == 0)
		get_text(f->body, "ended", ended, sizeof(ended));
	return strcmp(ended, "refused") == 0 ? FACTS_WITHDRAWN :
	    strcmp(ended, "unreached") == 0 ? FACTS_UNREACHED : FACTS_CARRIED_OUT;
}

uint64_t
facts_told(const struct record_line *r)
{
	static const char begins[] = "{\"count\":";
	const size_t len = sizeof(begins) - 1;
	uint64_t n = 0;
	size_t i;

	if (r->body.len <= len || !record_slice_is(r->type, "refusal") ||
	    memcmp(r->body.ptr, begins, len) != 0)
		return 0;
	for (i = len; i < r->body.len && r->body.ptr[i] >= '0' && r->body.ptr[i] <= '9' &&
	    n <= RECORD_SEQ_MAX / 10; i++)
		n = n * 10 + (uint64_t)(r->body.ptr[i] - '0');
	return i < r->body.len && (r->body.ptr[i] == ',' || r->body.ptr[i] == '}') ? n : 0;
}

void
facts_read(struct facts *f, const struct record_line *record)
{
	memset(f, 0, sizeof(*f));
	f->port = f->status = f->uid = f->pid = -1;
	f->head_sent = -1;
	f->bytes_out = f->bytes_in = f->duration_us = f->redactions = f->version = -1;
	f->count = 1;
	put_slice(f->stream, sizeof(f->stream), record->stream);
	put_slice(f->type, sizeof(f->type), record->type);
	put_slice(f->run, sizeof(f->run), record->run);
	put_slice(f->time, sizeof(f->time), record->t);
	put_slice(f->policy, sizeof(f->policy), record->policy);
	f->seq = record->seq;
	f->time_us = record->time_us;
	f->body = json_loadb(record->body.ptr, record->body.len, 0, NULL);
	read_body(f, f->body);
	if (facts_told(record) > 0)
		f->count = facts_told(record);
	f->kind = kind_of(f);
	f->ended = ended_of(f);
}

void
facts_free(struct facts *f)
{
	json_decref(f->body);
	f->body = NULL;
}

static bool
is_default_port(const struct facts *f)
{
	return f->port < 0 || (f->port == 443 && strcmp(f->scheme, "https") == 0) ||
	    (f->port == 80 && strcmp(f->scheme, "http") == 0);
}

static void
about_teardown(const struct facts *f, char *buf, size_t cap)
{
	const json_t *counts = json_object_get(f->body, "counts");
	const int64_t allowed = get_number(counts, "allowed");
	const int64_t refused = get_number(counts, "refused");

	if (allowed >= 0 && refused >= 0)
		snprintf(buf, cap, "%" PRId64 " allowed, %" PRId64 " refused", allowed, refused);
}

static void
about_policy(const struct facts *f, char *buf, size_t cap)
{
	char refused[sizeof(f->rule)] = "", after[RECORD_POLICY_LEN + 1] = "";

	get_text(f->body, "refused", refused, sizeof(refused));
	get_text(f->body, "after", after, sizeof(after));
	if (refused[0] != '\0')
		snprintf(buf, cap, "a pack was refused, %s: %s", refused, f->reason);
	else if (after[0] != '\0')
		snprintf(buf, cap, "now decided by %.23s", after);
}

static void
about_scan(const struct facts *f, char *buf, size_t cap)
{
	const int64_t found = get_number(f->body, "found"), weak = get_number(f->body, "weak");
	int n = snprintf(buf, cap, "for secrets, before sealing: %s", f->event);

	if (found > 0 && n > 0 && (size_t)n < cap)
		n += snprintf(buf + n, cap - (size_t)n, ", %" PRId64 " places", found);
	if (weak > 0 && n > 0 && (size_t)n < cap)
		snprintf(buf + n, cap - (size_t)n, "; %" PRId64 " secrets too weak for tags", weak);
}

/* Which adapter: of both names of it that its records have. */
static void
about_loss(const struct facts *f, char *buf, size_t cap)
{
	char adapter[RECORD_NAME_MAX + 1] = "", instance[RECORD_NAME_MAX + 1] = "";

	get_text(f->body, "adapter", adapter, sizeof(adapter));
	get_text(f->body, "instance", instance, sizeof(instance));
	snprintf(buf, cap, "%s%s%s: %" PRIu64 " of its records are lost (%s)", adapter,
	    instance[0] != '\0' ? " " : "", instance, f->count, f->reason);
}

static void
about_secret(const struct facts *f, char *buf, size_t cap)
{
	const char *from = json_string_value(json_object_get(f->body, "from")),
	    *to = json_string_value(json_object_get(f->body, "to"));

	if (to != NULL)
		snprintf(buf, cap, "%s, version %" PRId64 ": %s %s%s", f->secret, f->version, to,
		    strcmp(f->event, "asked") == 0 ? "asked for a token" :
		    strcmp(f->event, "withdrawing") == 0 ? "is told that it is revoked" :
		    f->error[0] == '\0' ? "was told that it is revoked" :
		    "was not told that it is revoked: ", f->error);
	else if (from != NULL)
		snprintf(buf, cap, "%s: token from %s, by version %" PRId64, f->secret, from,
		    f->version);
	else if (f->version >= 0)
		snprintf(buf, cap, "%s %s, version %" PRId64, f->secret, f->event, f->version);
	else
		snprintf(buf, cap, "%s %s", f->secret, f->event);
}

static void
about_lifecycle(const struct facts *f, char *buf, size_t cap)
{
	if (strcmp(f->type, "secret") == 0)
		about_secret(f, buf, cap);
	else if (strcmp(f->type, "teardown") == 0)
		about_teardown(f, buf, cap);
	else if (strcmp(f->type, "scan") == 0)
		about_scan(f, buf, cap);
	else if (strcmp(f->type, "loss") == 0)
		about_loss(f, buf, cap);
	else if (strcmp(f->type, "policy") == 0)
		about_policy(f, buf, cap);
	else if (strcmp(f->type, "anchor") == 0)
		snprintf(buf, cap, "what witnesses and authorities said last");
	else if (f->state[0] != '\0')
		snprintf(buf, cap, "%s%s%s", f->state, f->agent[0] != '\0' ? " for " : "",
		    f->agent);
	else if (strcmp(f->type, "outcome") == 0 && f->error[0] != '\0')
		snprintf(buf, cap, "%s", f->error);
	else if (strcmp(f->type, "outcome") == 0 && f->status >= 0)
		snprintf(buf, cap, "status %" PRId64 ", %" PRId64 " bytes out, %" PRId64
		    " in, %.1f ms", f->status, f->bytes_out > 0 ? f->bytes_out : 0,
		    f->bytes_in > 0 ? f->bytes_in : 0, (double)(f->duration_us > 0 ?
		    f->duration_us : 0) / 1000);
}

const char *
facts_person(const struct facts *f, char *buf, size_t cap)
{
	char uid[32] = "";

	buf[0] = '\0';
	if (strcmp(f->by, "person") != 0)
		return buf;
	if (f->answer && f->uid >= 0)
		snprintf(uid, sizeof(uid), ", uid %" PRId64, f->uid);
	snprintf(buf, cap, "by a person%s%s%s%s%s", uid, f->question[0] != '\0' ? ", question " : "",
	    f->question, f->good_for[0] != '\0' ? ", for: " : "", f->good_for);
	return buf;
}

const char *
facts_url(const struct facts *f, bool with_port, char *buf, size_t cap)
{
	const bool v6 = strchr(f->host, ':') != NULL;
	char port[24] = "";

	if (f->port >= 0 && (with_port || !is_default_port(f)))
		snprintf(port, sizeof(port), ":%" PRId64, f->port);
	snprintf(buf, cap, "%s%s%s%s%s%s%s", f->scheme, f->scheme[0] != '\0' ? "://" : "",
	    v6 ? "[" : "", f->host, v6 ? "]" : "", port, f->path);
	return buf;
}

const char *
facts_about(const struct facts *f, char *buf, size_t cap)
{
	char url[FACTS_URL_MAX];

	buf[0] = '\0';
	if (f->host[0] != '\0')
		snprintf(buf, cap, "%s%s%s", f->verb, f->verb[0] != '\0' ? " " : "",
		    facts_url(f, false, url, sizeof(url)));
	else if (f->tool[0] != '\0')
		snprintf(buf, cap, "%s%s%s", f->verb, f->verb[0] != '\0' ? " " : "", f->tool);
	else
		about_lifecycle(f, buf, cap);
	return buf;
}
