#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "ledger/coverage/recorded.h"
#include "ledger/evidence/facts.h"
#include "ledger/evidence/reader.h"

#define HIDDEN "hmac:"		/* what stands for a text that could hold a secret */

/* What became of one, by the leaf of its record. */
struct outcome {
	uint8_t parent[TREE_HASH_LEN];
	int64_t time_us;
	int status;
	enum recorded_fate fate;
	bool faulty;		/* it names an error */
};

struct reading {
	struct recorded *r;
	const char *run;
	struct act *act;		/* scratch */
	struct outcome *outcome;
	size_t outcomes;
	int64_t first_us, last_us;
	bool opened, claims_only;
};

/* ---- what a record is about ---- */

static const char *
text(const json_t *object, const char *name)
{
	const char *value = json_string_value(json_object_get(object, name));

	return value != NULL ? value : "";
}

static bool
is_hidden(const char *value)
{
	return strncmp(value, HIDDEN, sizeof(HIDDEN) - 1) == 0;
}

/* host, [::1] */
static void
put_host(const json_t *target, char *buf, size_t cap)
{
	const char *host = text(target, "host");
	const bool colons = strchr(host, ':') != NULL;

	snprintf(buf, cap, "%s%s%s", colons ? "[" : "", host, colons ? "]" : "");
}

static const char *
http_target(const json_t *target, bool *hidden, char *buf, size_t cap)
{
	const json_int_t port = json_integer_value(json_object_get(target, "port"));
	const char *path = text(target, "path");
	char host[ACT_HOST_MAX + 4];
	int n;

	*hidden = is_hidden(path);
	if (is_hidden(text(target, "host")))
		return NULL;
	put_host(target, host, sizeof(host));
	n = snprintf(buf, cap, "%s://%s:%lld%s", text(target, "scheme"), host,
	    (long long)port, *hidden ? "/" : path);
	return n > 0 && (size_t)n < cap ? buf : NULL;
}

static const char *
host_target(const json_t *target, char *buf, size_t cap)
{
	const json_t *port = json_object_get(target, "port");
	char host[ACT_HOST_MAX + 4];

	put_host(target, host, sizeof(host));
	if (host[0] == '\0' || is_hidden(host))
		return NULL;
	if (json_is_integer(port))
		snprintf(buf, cap, "%s:%lld", host, (long long)json_integer_value(port));
	else
		snprintf(buf, cap, "%s", host);
	return buf;
}

/* What an adapter asked about: a tool, a file, a name, a connection. */
static const char *
other_target(const json_t *action, const json_t *target, char *buf, size_t cap)
{
	const char *name = text(action, "name"), *path = text(target, "path");

	if (name[0] != '\0')
		return is_hidden(name) ? NULL : name;
	if (text(target, "host")[0] != '\0')
		return host_target(target, buf, cap);
	return path[0] == '\0' || is_hidden(path) ? NULL : path;
}

/* NULL: it is about no action that could be seen; "": its target is unclear. */
static const char *
act_of(struct reading *in, const struct facts *f, bool *hidden)
{
	const json_t *input = json_object_get(f->body, "input");
	const json_t *action = json_object_get(input, "action");
	const json_t *target = json_object_get(input, "target");
	const char *kind = text(action, "kind"), *verb = text(action, "verb"), *where;
	char buf[ACT_TARGET_MAX + 1];

	*hidden = false;
	if (action == NULL || strcmp(kind, "credential") == 0)
		return NULL;
	if (strcmp(kind, "http") == 0)
		where = http_target(target, hidden, buf, sizeof(buf));
	else if (strcmp(kind, "connect") == 0)
		where = host_target(target, buf, sizeof(buf));
	else
		where = other_target(action, target, buf, sizeof(buf));
	if (strcmp(kind, "connect") == 0)
		verb = "CONNECT";
	if (where == NULL)
		return "";
	return act_set(in->act, kind, verb[0] != '\0' ? verb : "*", where) == NULL ?
	    in->act->target : "";
}

/* ---- taking records ---- */

static int
grow(void **list, size_t n, size_t size)
{
	void *more;

	if ((n & (n + 1)) != 0)
		return 0;
	more = realloc(*list, (2 * n + 2) * size);
	if (more == NULL)
		return -1;
	*list = more;
	return 0;
}

static bool
is_ours(const struct reading *in, const struct facts *f)
{
	return in->run == NULL || strcmp(f->run, in->run) == 0;
}

static int
take_act(struct reading *in, const struct facts *f, const struct reader_line *line)
{
	struct recorded *r = in->r;
	struct recorded_act *to;
	bool hidden;
	const char *target = act_of(in, f, &hidden);

	if (target == NULL || f->kind == FACTS_NEUTRAL)
		return 0;
	if (target[0] == '\0' || r->n >= RECORDED_ACTS_MAX) {
		r->unclear += target[0] == '\0';
		r->full = r->full || target[0] != '\0';
		return 0;
	}
	if (grow((void **)&r->act, r->n, sizeof(*r->act)) != 0)
		return -1;
	to = &r->act[r->n];
	memset(to, 0, sizeof(*to));
	to->key = act_key(in->act);
	to->grant = f->grant[0] != '\0' ? strdup(f->grant) : NULL;
	r->n += to->key != NULL;
	to->from_us = f->time_us;
	to->to_us = INT64_MAX;
	to->index = line->index;
	tree_leaf(line->text, line->len, to->leaf);
	to->fate = f->kind == FACTS_REFUSED ? RECORDED_REFUSED : RECORDED_OPEN;
	to->ours = is_ours(in, f);
	to->hidden = hidden;
	if (to->key == NULL)
		free(to->grant);
	return to->key == NULL || (f->grant[0] != '\0' && to->grant == NULL) ? -1 : 0;
}

/* Whether it says that nothing was sent.  Of older brokers, which do not tell of the
 * head, a request that was refused after all says so by its body. */
static bool
sent_nothing(const struct facts *f)
{
	if (f->status >= 100 || f->head_sent == 1 || f->bytes_out > 0)
		return false;
	return f->ended != FACTS_CARRIED_OUT || f->head_sent == 0;
}

static enum recorded_fate
fate_of(const struct facts *f)
{
	if (sent_nothing(f))
		return RECORDED_NOTHING;
	return f->ended == FACTS_CARRIED_OUT && f->error[0] == '\0' && f->status >= 100 ?
	    RECORDED_SENT : RECORDED_BROKEN;
}

static int
take_outcome(struct reading *in, const struct facts *f)
{
	struct outcome *to;
	size_t n = 0;

	if (in->outcomes >= RECORDED_ACTS_MAX)
		return 0;
	if (grow((void **)&in->outcome, in->outcomes, sizeof(*in->outcome)) != 0)
		return -1;
	to = &in->outcome[in->outcomes];
	memset(to, 0, sizeof(*to));
	if (sodium_hex2bin(to->parent, sizeof(to->parent), f->parent, strlen(f->parent),
	    NULL, &n, NULL) != 0 || n != sizeof(to->parent))
		return 0;
	to->time_us = f->time_us;
	to->status = f->status >= 100 && f->status <= 999 ? (int)f->status : 0;
	to->fate = fate_of(f);
	to->faulty = f->error[0] != '\0' || f->ended != FACTS_CARRIED_OUT;
	in->outcomes++;
	return 0;
}

void
recorded_add_claim(struct recorded *r, struct claim *claim, const char *file,
    uint64_t index)
{
	struct recorded_claim *to = &r->claim[r->claims];

	if (r->claims == RECORDED_CLAIMS_MAX) {
		claim_free(claim);
		r->bad_claims++;
		return;
	}
	memset(to, 0, sizeof(*to));
	to->claim = *claim;
	to->is_record = file == NULL;
	to->index = index;
	snprintf(to->file, sizeof(to->file), "%s", file != NULL ? file : "");
	r->claims++;
}

static void
take_claim(struct reading *in, const struct facts *f, uint64_t index)
{
	struct claim claim;
	char err[160];

	if (f->run[0] != '\0' && !is_ours(in, f))
		return;
	if (claim_read(&claim, f->body, err, sizeof(err)) == 0) {
		recorded_add_claim(in->r, &claim, NULL, index);
	} else {
		claim_free(&claim);
		in->r->bad_claims++;
	}
}

static void
take_bounds(struct reading *in, const struct facts *f)
{
	if (in->first_us == INT64_MIN)
		in->first_us = f->time_us;
	if (f->time_us > in->last_us)
		in->last_us = f->time_us;
	if (in->run == NULL || !is_ours(in, f))
		return;
	if (strcmp(f->type, "run") == 0 && !in->opened) {
		in->opened = true;
		in->r->from_us = f->time_us;
	} else if (strcmp(f->type, "teardown") == 0) {
		in->r->to_us = f->time_us;
	}
}

static bool
is_claim(const struct record_line *record)
{
	return record_slice_is(record->type, "coverage");
}

static int
take(struct reading *in, const struct reader_line *line)
{
	struct facts *f;
	int result = 0;

	if (line->rule != NULL) {
		in->r->unread++;
		return 0;
	}
	if (in->claims_only && !is_claim(&line->record))
		return 0;
	if ((f = malloc(sizeof(*f))) == NULL)
		return -1;
	facts_read(f, &line->record);
	take_bounds(in, f);
	if (strcmp(f->type, "coverage") == 0)
		take_claim(in, f, line->index);
	else if (strcmp(f->type, "outcome") == 0)
		result = take_outcome(in, f);
	else if (strcmp(f->type, "use") == 0 || strcmp(f->type, "decision") == 0 ||
	    strcmp(f->type, "refusal") == 0)
		result = take_act(in, f, line);
	facts_free(f);
	free(f);
	return result;
}

/* ---- the whole ---- */

static int
leaf_order(const void *a, const void *b, void *act)
{
	const struct recorded_act *of = act;

	return memcmp(of[*(const size_t *)a].leaf, of[*(const size_t *)b].leaf,
	    TREE_HASH_LEN);
}

size_t *
recorded_by_leaf(const struct recorded *r)
{
	size_t *order = calloc(r->n + 1, sizeof(*order));

	if (order == NULL)
		return NULL;
	for (size_t i = 0; i < r->n; i++)
		order[i] = i;
	if (r->n > 1)
		qsort_r(order, r->n, sizeof(*order), leaf_order, r->act);
	return order;
}

static struct recorded_act *
find(const struct recorded *r, const size_t *order, const uint8_t leaf[TREE_HASH_LEN])
{
	size_t low = 0, high = r->n, middle;
	int way;

	while (low < high) {
		middle = low + (high - low) / 2;
		way = memcmp(r->act[order[middle]].leaf, leaf, TREE_HASH_LEN);
		if (way == 0)
			return &r->act[order[middle]];
		if (way < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

const struct recorded_act *
recorded_find(const struct recorded *r, const size_t *by_leaf,
    const uint8_t leaf[TREE_HASH_LEN])
{
	return find(r, by_leaf, leaf);
}

static bool
is_http(const struct recorded_act *act)
{
	return strncmp(act->key, "http\n", 5) == 0;
}

/* A request or a tunnel of the proxy: it comes to an outcome. */
static bool
has_outcome(const struct recorded_act *act)
{
	return is_http(act) || strncmp(act->key, "connect\n", 8) == 0;
}

/* An outcome stands behind what it belongs to; one that has none stays open. */
static int
join(struct reading *in)
{
	size_t *order = recorded_by_leaf(in->r);
	struct recorded_act *act;

	if (order == NULL)
		return -1;
	for (size_t i = 0; i < in->r->n; i++)
		in->r->act[i].unsettled = has_outcome(&in->r->act[i]);
	for (size_t i = 0; i < in->outcomes; i++) {
		act = find(in->r, order, in->outcome[i].parent);
		if (act == NULL || act->fate != RECORDED_OPEN)
			continue;
		act->to_us = in->outcome[i].time_us;
		act->status = in->outcome[i].status;
		act->fate = in->outcome[i].fate;
		act->unsettled = act->status == 0 && (in->outcome[i].faulty || is_http(act));
	}
	free(order);
	for (size_t i = 0; i < in->r->n; i++)
		if (in->r->act[i].to_us == INT64_MAX)
			in->r->act[i].to_us = in->last_us;
	return 0;
}

static int
read_all(struct reading *in, struct reader *reader, char *err, size_t err_len)
{
	struct reader_line line;
	uint64_t looked_at = 0;
	int n = 0;

	while ((!in->claims_only || looked_at++ < RECORDED_LOOKED_AT) &&
	    (n = reader_next(reader, &line, err, err_len)) == 1) {
		if (take(in, &line) != 0) {
			snprintf(err, err_len, "out of memory");
			return -1;
		}
	}
	if (n >= 0 && join(in) != 0) {
		snprintf(err, err_len, "out of memory");
		return -1;
	}
	return n < 0 ? -1 : 0;
}

int
recorded_read(struct recorded *r, const char *dir, const char *run, bool claims_only,
    char *err, size_t err_len)
{
	struct reading in = { .r = r, .run = run, .first_us = INT64_MIN,
	    .last_us = INT64_MIN, .claims_only = claims_only };
	struct reader *reader = NULL;
	int result = -1;

	memset(r, 0, sizeof(*r));
	r->from_us = INT64_MIN;
	r->to_us = INT64_MIN;
	in.act = malloc(sizeof(*in.act));
	if (in.act == NULL)
		snprintf(err, err_len, "out of memory");
	else if ((reader = reader_open(dir, err, err_len)) != NULL)
		result = read_all(&in, reader, err, err_len);
	if (r->from_us == INT64_MIN)
		r->from_us = in.first_us;
	if (r->to_us == INT64_MIN)
		r->to_us = in.last_us;
	reader_close(reader);
	free(in.outcome);
	free(in.act);
	return result;
}

void
recorded_free(struct recorded *r)
{
	for (size_t i = 0; i < r->n; i++) {
		free(r->act[i].key);
		free(r->act[i].grant);
	}
	free(r->act);
	for (size_t i = 0; i < r->claims; i++)
		claim_free(&r->claim[i].claim);
	memset(r, 0, sizeof(*r));
}
