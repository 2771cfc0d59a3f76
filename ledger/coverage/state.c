/* What all observers together say, in one statement. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ledger/coverage/reconcile.h"

struct sums {
	size_t given, vouched;	/* brought by the verifier; they, or signed for him */
	size_t heard;		/* observers that the verifier pins, and who establish it */
	uint64_t recorded, unrecorded, outside_time, outside_scope, in_tunnel;
	const struct coverage_source *first_bad;	/* of them, or of all if there are none */
};

static void
add_source(struct sums *sum, const struct coverage_source *s)
{
	sum->given += s->given;
	sum->vouched += coverage_vouched(s);
	sum->recorded += s->recorded;
	sum->unrecorded += s->unrecorded;
	sum->outside_time += s->outside_time;
	sum->outside_scope += s->outside_scope;
	sum->in_tunnel += s->in_tunnel;
}

static bool
counts(const struct sums *sum, const struct coverage_source *s)
{
	return sum->vouched == 0 || coverage_vouched(s) || s->signature == SIGNED_FORGED;
}

/* One observer counts once, however many files he signed. */
static bool
is_heard(const struct coverage *c, size_t observer)
{
	for (size_t i = 0; i < c->sources; i++) {
		const struct coverage_source *s = &c->source[i];

		if (s->signature == SIGNED_GOOD && s->observer == observer && s->spans &&
		    s->verdict == VERIFY_COMPLETE)
			return true;
	}
	return false;
}

static void
add_up(const struct coverage *c, struct sums *sum)
{
	memset(sum, 0, sizeof(*sum));
	for (size_t i = 0; i < c->sources; i++)
		add_source(sum, &c->source[i]);
	for (size_t i = 0; i < c->observers; i++)
		sum->heard += is_heard(c, i);
	for (size_t i = 0; i < c->sources && sum->first_bad == NULL; i++)
		if (c->source[i].verdict == VERIFY_NOT_ESTABLISHED && counts(sum, &c->source[i]))
			sum->first_bad = &c->source[i];
}

/* How many it takes: as the policy says; or else all whom it names, unless the
 * verifier brought somebody's himself. */
static size_t
needed(const struct coverage *c, const struct sums *sum)
{
	return c->observed > 0 ? c->observed : sum->given > 0 ? 0 : c->observers;
}

static bool
has_recorded_claim(const struct coverage *c)
{
	for (size_t i = 0; i < c->recorded.claims; i++)
		if (c->recorded.claim[i].is_record)
			return true;
	return false;
}

static void
without_truth(const struct coverage *c, struct verify_statement *s)
{
	char names[128] = "";

	for (size_t i = 0; i < c->recorded.claims; i++)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
		    i > 0 ? ", " : "", c->recorded.claim[i].claim.adapter);
	if (names[0] == '\0')
		snprintf(s->text, sizeof(s->text), "no coverage manifest and no independent "
		    "observer: what was never recorded leaves no trace here");
	else
		snprintf(s->text, sizeof(s->text), "%s say%s what they see; no independent "
		    "observer was asked (--truth): what was never recorded leaves no trace here",
		    names, c->recorded.claims == 1 ? "s" : "");
}

/* The first reason why what was given establishes nothing. */
static void
say_why_not(const struct coverage *c, const struct coverage_source *s, char *buf, size_t cap)
{
	if (s->signature == SIGNED_FORGED)
		snprintf(buf, cap, "%s is signed in the name of %.100s, and not by his key",
		    s->file, s->signer);
	else if (s->source[0] == '\0' || s->bad > 0)
		snprintf(buf, cap, "%s cannot be read in full: %.100s", s->file, s->why);
	else if (s->unread > 0)
		snprintf(buf, cap, "%" PRIu64 " lines of what %s wrote were not understood",
		    s->unread, s->source);
	else if (s->beyond > 0)
		snprintf(buf, cap, "%" PRIu64 " action%s in the file of %s that he says not to see",
		    s->beyond, s->beyond == 1 ? " is" : "s are", s->source);
	else if (s->ahead)
		snprintf(buf, cap, "%s says to miss nothing of a time that is not over", s->source);
	else if (s->missed > 0)
		snprintf(buf, cap, "%" PRIu64 " recorded actions that %s should have seen he "
		    "did not see", s->missed, s->source);
	else if (s->unsettled > 0)
		snprintf(buf, cap, "for %" PRIu64 " action%s that %s saw the only record left does "
		    "not tell whether it was carried out", s->unsettled,
		    s->unsettled == 1 ? "" : "s", s->source);
	else if (s->in_tunnel > 0)
		snprintf(buf, cap, "%" PRIu64 " action%s that %s saw may have gone through a "
		    "recorded tunnel, and what was said in it is not recorded", s->in_tunnel,
		    s->in_tunnel == 1 ? "" : "s", s->source);
	else if (s->gave_up)
		snprintf(buf, cap, "too many actions of %s are alike to be told apart", s->source);
	else if (s->lists_long)
		snprintf(buf, cap, "the lists of what is seen are too long to hold all that %s "
		    "saw against them", s->source);
	else if (s->edge > 0)
		snprintf(buf, cap, "of %" PRIu64 " actions it cannot be told whether they were "
		    "within the run", s->edge);
	else if (s->ours == 0)
		snprintf(buf, cap, "%s saw nothing that this run has a record of", s->source);
	else
		snprintf(buf, cap, "not all records could be read for it (%" PRIu64
		    " without a clear target)", c->recorded.unclear);
}

/* What is left out of the count, as ", 3 out of scope, 5 at other times". */
static void
say_rest(const struct sums *sum, char *buf, size_t cap)
{
	const struct { uint64_t n; const char *what; } all[] = {
		{ sum->outside_scope, "that no adapter claims to see" },
		{ sum->in_tunnel, "within recorded tunnels" },
		{ sum->outside_time, "at other times" },
	};
	size_t len = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < 3; i++)
		if (all[i].n > 0 && len < cap)
			len += (size_t)snprintf(buf + len, cap - len, "%s%" PRIu64 " %s",
			    len > 0 ? ", " : "; besides ", all[i].n, all[i].what);
}

/* Of files that nobody vouches for. */
static void
say_unvouched(const struct coverage *c, const struct sums *sum, char *buf, size_t cap)
{
	for (size_t i = 0; i < c->sources; i++)
		if (c->source[i].signature == SIGNED_GOOD) {
			snprintf(buf, cap, "%.100s does not sign that he missed nothing from the "
			    "run's opening to its end", c->source[i].signer);
			return;
		}
	snprintf(buf, cap, "what the bundle holds of observers agrees (%" PRIu64
	    " recorded), but nobody vouches for it: bring their own (--truth)", sum->recorded);
}

/* Why it is not established; "" where it is. */
static void
find_reason(const struct coverage *c, const struct sums *sum, const struct verify_result *r,
    char *buf, size_t cap)
{
	buf[0] = '\0';
	if (sum->first_bad != NULL)
		say_why_not(c, sum->first_bad, buf, cap);
	else if (sum->vouched == 0)
		say_unvouched(c, sum, buf, cap);
	else if (!has_recorded_claim(c))
		snprintf(buf, cap, "no record says what the adapters see");
	else if (r->integrity.verdict != VERIFY_COMPLETE ||
	    r->completeness.verdict != VERIFY_COMPLETE)
		snprintf(buf, cap, "the records themselves are not established");
	else if (sum->heard < needed(c, sum))
		snprintf(buf, cap, "of %zu observers that the policy names %zu establish%s it, and "
		    "it takes %zu", c->observers, sum->heard, sum->heard == 1 ? "es" : "",
		    needed(c, sum));
}

static void
judge_sources(const struct coverage *c, const struct sums *sum, struct verify_result *r)
{
	struct verify_statement *s = &r->coverage;
	char rest[128], why[256];

	say_rest(sum, rest, sizeof(rest));
	find_reason(c, sum, r, why, sizeof(why));
	s->verdict = why[0] != '\0' ? VERIFY_NOT_ESTABLISHED : VERIFY_COMPLETE;
	if (why[0] != '\0')
		snprintf(s->text, sizeof(s->text), "%.190s%s", why, rest);
	else
		snprintf(s->text, sizeof(s->text), "each of %" PRIu64 " action%s that observers "
		    "saw within the run has its record, within %" PRId64 ".%" PRId64 " s%s",
		    sum->recorded, sum->recorded == 1 ? "" : "s", c->window_ms / 1000,
		    c->window_ms % 1000 / 100, rest);
}

void
coverage_state(struct coverage *c, struct verify_result *r)
{
	struct verify_statement *s = &r->coverage;
	struct sums sum;

	add_up(c, &sum);
	s->verdict = VERIFY_NOT_ESTABLISHED;
	if (c->sources == 0 && c->observed > 0)
		snprintf(s->text, sizeof(s->text), "the policy wants %zu of %zu observers, and "
		    "there is no ground truth", c->observed, c->observers);
	else if (c->sources == 0)
		without_truth(c, s);
	else if (sum.unrecorded > 0) {
		s->verdict = VERIFY_GAP;
		snprintf(s->text, sizeof(s->text), "%" PRIu64 " action%s seen that no record "
		    "lets through; %" PRIu64 " with one", sum.unrecorded,
		    sum.unrecorded == 1 ? " was" : "s were", sum.recorded);
	} else
		judge_sources(c, &sum, r);
	if (sum.given > 0 || c->observed > 0)
		r->verdict = verify_worse(r->verdict, s->verdict);
	c->verdict = s->verdict;
}
