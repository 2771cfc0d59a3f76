#include "ledger/verify/tally.h"

#include <inttypes.h>
#include <string.h>

#include "ledger/evidence/facts.h"
#include "ledger/verify/load.h"
#include "ledger/verify/member.h"

/* A count that older brokers may not have told.  False: it is none. */
static bool
may_count(struct record_slice counts, const char *name, bool *tells, uint64_t *number)
{
	*tells = member_number(counts, name, number);
	return !member_no_number(counts, name);
}

static void
take_teardown(struct tally *tally, const struct record_line *r)
{
	struct record_slice counts;

	if (tally->over)
		return;
	tally->over = true;
	tally->at_end = tally->sum;
	tally->places = member_find(r->body, "last_seq", &counts) ||
	    member_find(r->body, "last_index", &counts) ||
	    member_find(r->body, "counts", &counts);
	tally->counts = member_find(r->body, "counts", &counts) && counts.ptr[0] == '{' &&
	    member_number(counts, "allowed", &tally->allowed) &&
	    member_number(counts, "refused", &tally->refused) &&
	    member_number(counts, "failed", &tally->failed) &&
	    member_number(counts, "unfinished", &tally->unfinished) &&
	    may_count(counts, "grants", &tally->tells_grants, &tally->grants) &&
	    may_count(counts, "redacted", &tally->tells_redacted, &tally->redacted) &&
	    !member_no_number(counts, "bytes_out") && !member_no_number(counts, "cost");
}

static uint64_t
refusals_of(const struct record_line *r)
{
	uint64_t n = facts_told(r);

	return n > 0 ? n : 1;
}

/* What adapters ask about is decided, and not counted by the broker. */
static bool
is_request(const struct record_line *r)
{
	return !member_is(r->body, "kind", "action");
}

static void
take_odd(struct tally_odd *odd, const struct record_line *r, uint64_t index)
{
	if (odd->count++ > 0)
		return;
	odd->first = index;
	odd->first_seq = r->seq;
}

/* What was not reached has no answer. */
static void
take_outcome(struct tally *tally, const struct record_line *r, uint64_t index)
{
	const bool withdrawn = member_is(r->body, "ended", "refused");
	const bool unreached = member_is(r->body, "ended", "unreached");
	struct record_slice value;
	uint64_t redactions;

	tally->sum.redacted += member_number(r->body, "redactions", &redactions) ? redactions : 0;
	tally->sum.outcomes++;
	tally->sum.withdrawn += withdrawn;
	tally->sum.unreached += unreached;
	if (unreached && member_find(r->body, "status", &value))
		take_odd(&tally->opposed, r, index);
	else if (!unreached && !withdrawn && member_find(r->body, "ended", &value))
		take_odd(&tally->unknown, r, index);
}

void
tally_take(struct tally *tally, const struct record_line *r, uint64_t index)
{
	struct tally_sum *sum = &tally->sum;

	if (record_slice_is(r->type, "teardown")) {
		take_teardown(tally, r);
	} else if (record_slice_is(r->type, "use")) {
		sum->admitted++;
	} else if (record_slice_is(r->type, "decision")) {
		sum->admitted += is_request(r);
	} else if (record_slice_is(r->type, "refusal")) {
		sum->refused += is_request(r) ? refusals_of(r) : 0;
	} else if (record_slice_is(r->type, "outcome")) {
		take_outcome(tally, r, index);
	} else if (record_slice_is(r->type, "grant")) {
		sum->grants += member_is(r->body, "state", "issued");
	}
}

/* Requests that were let through and not withdrawn since. */
static uint64_t
tally_admitted(const struct tally_sum *sum)
{
	const uint64_t ended = sum->withdrawn + sum->unreached;

	return sum->admitted > ended ? sum->admitted - ended : 0;
}

/* What a teardown may leave open: no more than there are requests. */
static uint64_t
under_way(const struct tally *tally, struct verify_result *result)
{
	const uint64_t most = tally->sum.admitted + tally->sum.refused;

	if (tally->unfinished <= most)
		return tally->unfinished;
	verify_find(result, VERIFY_NOT_ESTABLISHED, "teardown", "the teardown counts %" PRIu64
	    " requests as unfinished, %" PRIu64 " are here", tally->unfinished, most);
	return most;
}

/* Further apart than the requests under way can make them? */
static bool
apart(uint64_t a, uint64_t b, uint64_t unfinished)
{
	return a > b ? a - b > unfinished : b - a > unfinished;
}

/* Brokers have always counted; of a teardown that says nothing of the run it is not known
 * who wrote it. */
static void
judge_uncounted(const struct tally *tally, struct verify_result *result)
{
	if (tally->places)
		verify_find(result, VERIFY_NOT_ESTABLISHED, "teardown", "the teardown does not "
		    "count the run's requests: that there were no others is not established");
	else
		result->uncounted = true;
}

static void
judge_odd(const struct tally_odd *odd, enum verify_verdict verdict, const char *code,
    const char *why, struct verify_result *result)
{
	struct verify_finding *f;

	if (odd->count == 0)
		return;
	f = verify_find(result, verdict, code, "%s; %" PRIu64 " in all", why, odd->count);
	f->has_index = f->has_seq = true;
	f->index = odd->first;
	f->seq = odd->first_seq;
}

/* The counts, with as many requests under way as may be. */
static void
judge_counts(const struct tally *tally, struct verify_result *result)
{
	const struct tally_sum *then = &tally->at_end, *now = &tally->sum;
	const uint64_t allowed = tally_admitted(then);
	uint64_t unfinished;

	unfinished = under_way(tally, result);
	if (apart(allowed, tally->allowed, unfinished) ||
	    apart(then->unreached, tally->failed, unfinished) ||
	    then->refused > tally->refused)
		verify_find(result, VERIFY_GAP, "teardown", "the teardown counts %" PRIu64
		    " allowed, %" PRIu64 " refused and %" PRIu64 " failed; the records are %"
		    PRIu64 ", %" PRIu64 " and %" PRIu64, tally->allowed, tally->refused,
		    tally->failed, allowed, then->refused, then->unreached);
	else if (now->withdrawn > now->refused && now->withdrawn - now->refused > unfinished)
		verify_find(result, VERIFY_GAP, "teardown", "%" PRIu64 " outcomes say that what "
		    "was allowed was refused after all, and %" PRIu64 " refusals are here",
		    now->withdrawn, now->refused);
	else if (tally->refused - then->refused >
	    now->refused - then->refused + unfinished)
		verify_find(result, VERIFY_NOT_ESTABLISHED, "teardown", "the teardown counts %"
		    PRIu64 " refusals, %" PRIu64 " are here: one may have been under way",
		    tally->refused, now->refused);
	else if (now->admitted > now->outcomes &&
	    now->admitted - now->outcomes > unfinished)
		verify_find(result, VERIFY_NOT_ESTABLISHED, "teardown", "%" PRIu64
		    " requests have no outcome, the teardown counts %" PRIu64 " as unfinished",
		    now->admitted - now->outcomes, tally->unfinished);
}

/* What is redacted is known once each request has its outcome. */
static void
judge_more(const struct tally *tally, struct verify_result *result)
{
	const struct tally_sum *then = &tally->at_end;
	const bool ended = tally->unfinished == 0 && then->outcomes == then->admitted;

	if (tally->tells_grants && tally->grants != then->grants)
		verify_find(result, VERIFY_GAP, "teardown", "the teardown counts %" PRIu64
		    " grants, the records are %" PRIu64, tally->grants, then->grants);
	if (tally->tells_redacted && (tally->redacted < then->redacted ||
	    (ended && tally->redacted > then->redacted)))
		verify_find(result, VERIFY_GAP, "teardown", "the teardown counts %" PRIu64
		    " places where a secret was replaced, the outcomes %" PRIu64,
		    tally->redacted, then->redacted);
}

void
tally_judge(const struct tally *tally, bool dropped, struct verify_result *result)
{
	judge_odd(&tally->opposed, VERIFY_GAP, "outcome", "an outcome with an answer of what it "
	    "says was not reached", result);
	judge_odd(&tally->unknown, VERIFY_NOT_ESTABLISHED, "unknown_value", "an outcome that "
	    "ended in a way that this version does not know", result);
	if (dropped || !tally->over)
		return;
	if (!tally->counts)
		judge_uncounted(tally, result);
	else if (tally->unknown.count == 0)
		judge_counts(tally, result);
	if (tally->counts)
		judge_more(tally, result);
}
