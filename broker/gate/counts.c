#include "gate/counts.h"

#include "http/target.h"

#include <stdio.h>

#define REFILL_MS 1000		/* one more refusal by itself */
#define FOR_SEVERAL 2		/* places for the rest: of actions, of all else */

bool
bucket_spend(int64_t *full_ms, unsigned burst, int64_t now_ms)
{
	int64_t full = *full_ms > now_ms ? *full_ms : now_ms;

	if (full + REFILL_MS - now_ms > (int64_t)burst * REFILL_MS)
		return false;
	*full_ms = full + REFILL_MS;
	return true;
}

void
counted_of(struct gate_counted *out, const struct gate_verdict *refusal,
    int64_t uid, const char *kind, const struct target *place)
{
	*out = (struct gate_counted){ .uid = uid, .status = refusal->status,
	    .kind = kind };
	snprintf(out->rule, sizeof(out->rule), "%s", refusal->rule);
	snprintf(out->reason, sizeof(out->reason), "%s", refusal->reason);
	if (place == NULL || place->host[0] == '\0')
		return;
	snprintf(out->host, sizeof(out->host), "%s", place->host);
	out->port = place->port;
	out->https = place->https;
}

static bool
same_kind(const struct gate_counted *a, const struct gate_counted *b)
{
	return a->kind == b->kind || (a->kind != NULL && b->kind != NULL &&
	    strcmp(a->kind, b->kind) == 0);
}

static struct gate_counted *
find(struct counts *counts, const struct gate_counted *what)
{
	for (unsigned i = 0; i < counts->n; i++) {
		struct gate_counted *one = &counts->one[i];

		if (one->uid == what->uid && same_kind(one, what) &&
		    one->port == what->port && one->https == what->https &&
		    strcmp(one->rule, what->rule) == 0 &&
		    strcmp(one->host, what->host) == 0)
			return one;
	}
	return NULL;
}

static void
drop_place(struct gate_counted *what)
{
	what->host[0] = '\0';
	what->port = 0;
	what->https = false;
}

/* Who counts requests has to tell them from what adapters asked about. */
static void
drop_rule(struct gate_counted *what)
{
	what->uid = -1;
	what->status = 0;
	if (what->kind != NULL && strcmp(what->kind, "action") != 0)
		what->kind = NULL;
	snprintf(what->rule, sizeof(what->rule), "several");
	snprintf(what->reason, sizeof(what->reason), "refusals by several rules");
}

static struct gate_counted *
place_of(struct counts *counts, const struct gate_counted *what, int64_t now_ms,
    int64_t now_us)
{
	struct gate_counted like = *what, *found = find(counts, &like);

	if (found == NULL && counts->n >= COUNTS_MAX / 2) {
		drop_place(&like);
		found = find(counts, &like);
	}
	if (found == NULL && counts->n >= COUNTS_MAX - FOR_SEVERAL) {
		drop_rule(&like);
		found = find(counts, &like);
	}
	if (found != NULL)
		return found;
	like.count = 0;
	like.from_us = now_us;
	counts->since_ms[counts->n] = now_ms;
	counts->one[counts->n] = like;
	return &counts->one[counts->n++];
}

void
counts_add(struct counts *counts, const struct gate_counted *what, int64_t now_ms,
    int64_t now_us)
{
	struct gate_counted *count = place_of(counts, what, now_ms, now_us);

	count->count++;
	count->to_us = now_us;
}

bool
counts_take(struct counts *counts, int64_t now_ms, bool all,
    struct gate_counted *out)
{
	for (unsigned i = 0; i < counts->n; i++) {
		if (!all && now_ms - counts->since_ms[i] < COUNTS_MS)
			continue;
		*out = counts->one[i];
		counts->n--;
		counts->one[i] = counts->one[counts->n];
		counts->since_ms[i] = counts->since_ms[counts->n];
		return true;
	}
	return false;
}
