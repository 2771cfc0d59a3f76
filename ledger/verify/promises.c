#include "ledger/verify/promises.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/record/record_memo.h"
#include "ledger/verify/budgets.h"
#include "ledger/verify/load.h"
#include "ledger/verify/member.h"

#define SETS 1024
#define WAYS 16			/* as many grants as links.c counts */
#define MARK_LEN 16
#define SECONDS_MAX (INT64_MAX / 1000000)

struct grant {
	uint8_t mark[MARK_LEN];	/* of its leaf */
	int64_t until_us;
	bool used;
};

struct promises {
	uint64_t late, first_late, first_seq;
	uint64_t odd, first_odd, odd_seq;	/* bounds that are none */
	struct grant grant[SETS][WAYS];	/* the one that came last in front */
};

struct promises *
promises_new(void)
{
	return calloc(1, sizeof(struct promises));
}

void
promises_free(struct promises *promises)
{
	free(promises);
}

/* Of a body's expires_s, INT64_MAX where it says none. */
static int64_t
until(struct record_slice body)
{
	uint64_t seconds;

	return member_number(body, "expires_s", &seconds) && seconds < (uint64_t)SECONDS_MAX ?
	    (int64_t)seconds * 1000000 : INT64_MAX;
}

static struct grant *
set_of(struct promises *p, const uint8_t *leaf)
{
	return p->grant[(leaf[0] << 8 | leaf[1]) % SETS];
}

static void
add(struct promises *p, const uint8_t leaf[TREE_HASH_LEN], int64_t until_us)
{
	struct grant *set = set_of(p, leaf);

	memmove(set + 1, set, (WAYS - 1) * sizeof(*set));
	set[0] = (struct grant){ .until_us = until_us, .used = true };
	memcpy(set[0].mark, leaf, MARK_LEN);
}

/* The grant that the record names; NULL: none that is kept. */
static struct grant *
named(struct promises *p, const struct record_line *r)
{
	uint8_t leaf[TREE_HASH_LEN];
	struct grant *set;

	if (r->parent.ptr == NULL || r->parent.len != 2 * TREE_HASH_LEN + 2 ||
	    !record_hash_decode(r->parent.ptr + 1, leaf))
		return NULL;
	set = set_of(p, leaf);
	for (unsigned i = 0; i < WAYS && set[i].used; i++)
		if (memcmp(set[i].mark, leaf, MARK_LEN) == 0)
			return &set[i];
	return NULL;
}

static void
take_odd(struct promises *p, const struct record_line *r, uint64_t index)
{
	if (p->odd++ > 0)
		return;
	p->first_odd = index;
	p->odd_seq = r->seq;
}

static void
take_grant(struct promises *p, const struct record_line *r, const uint8_t *leaf,
    uint64_t index)
{
	struct grant *grant;

	if (member_no_number(r->body, "expires_s") || member_no_number(r->body, "requests"))
		take_odd(p, r, index);

	if (!member_is(r->body, "state", "revoked"))
		add(p, leaf, until(r->body));
	else if ((grant = named(p, r)) != NULL && grant->until_us > r->time_us)
		grant->until_us = r->time_us;
}

static bool
is_late(const struct record_line *r, int64_t until_us)
{
	return until_us < INT64_MAX - BUDGET_LATE_US && r->time_us > until_us + BUDGET_LATE_US;
}

static void
take_admitted(struct promises *p, const struct record_line *r, uint64_t index)
{
	const struct grant *grant = named(p, r);

	if (grant == NULL || !is_late(r, grant->until_us) || p->late++ > 0)
		return;
	p->first_late = index;
	p->first_seq = r->seq;
}

void
promises_take(struct promises *p, const struct record_line *record,
    const uint8_t leaf[TREE_HASH_LEN], uint64_t index)
{
	if (record_slice_is(record->type, "grant"))
		take_grant(p, record, leaf, index);
	else if (record_slice_is(record->type, "use") || record_slice_is(record->type, "decision"))
		take_admitted(p, record, index);
}

void
promises_judge(const struct promises *p, struct verify_result *result)
{
	struct verify_finding *f;

	if (p->odd > 0) {
		f = verify_find(result, VERIFY_NOT_ESTABLISHED, "unknown_value", "a bound of a "
		    "grant that is no number: what it was for is not known; %" PRIu64 " in all", p->odd);
		f->has_index = f->has_seq = true;
		f->index = p->first_odd;
		f->seq = p->odd_seq;
	}
	if (p->late == 0)
		return;
	f = verify_find(result, VERIFY_NOT_ESTABLISHED, "limit", "a use of a grant that had "
	    "expired, or was taken back; %" PRIu64 " in all: a clock was set forward, or it "
	    "should have been refused", p->late);
	f->has_index = f->has_seq = true;
	f->index = p->first_late;
	f->seq = p->first_seq;
}
