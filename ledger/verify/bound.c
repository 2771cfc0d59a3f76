#include "ledger/verify/bound.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/anchor/after.h"
#include "ledger/evidence/evidence.h"
#include "ledger/record/record_memo.h"
#include "ledger/verify/member.h"

#define KEPT 64			/* openings that are under way at once name older ones */
#define CLOCKS_APART_S 300	/* of the recorder and of those who vouch */

enum { ANCHOR, OPENING, OPENING_BARE, OPENING_BAD };

struct bound {
	const struct load *load;
	const struct verify_options *options;
	struct bound_fact kept[KEPT];	/* the anchors that came last; after: its own index */
	uint64_t anchors;		/* in all */
	struct verify_finding finding[VERIFY_FINDINGS_MAX];
	unsigned findings;
	uint64_t more;
	/* a ledger's */
	uint64_t openings, good, first_short;
	int64_t latest_s;
	/* a bundle's opening */
	bool opened;
	struct bound_fact opening;
	int64_t opened_us;
	int64_t not_before_s;
	char by[AFTER_WHO_MAX];
	const char *why;
};

struct bound *
bound_new(const struct load *load, const struct verify_options *options)
{
	struct bound *bound = calloc(1, sizeof(*bound));

	if (bound == NULL)
		return NULL;
	bound->load = load;
	bound->options = options;
	bound->first_short = UINT64_MAX;
	bound->why = "its opening names no anchor";
	return bound;
}

void
bound_free(struct bound *bound)
{
	free(bound);
}

/* ---- a batch by itself ---- */

static void
ask(const struct bound *bound, const struct record_line *r, uint64_t index,
    struct after_answer *answer)
{
	*answer = (struct after_answer){ .verdict = AFTER_SHORT, .why = "" };
	if (bound->options->trust != NULL)
		after_ask_body(r->body.ptr, r->body.len, bound->load->origin, index,
		    bound->options->trust, answer);
}

static void
look_anchor(const struct bound *bound, const struct walk_line *line, uint64_t index,
    struct bound_fact *fact)
{
	struct after_answer answer;

	ask(bound, &line->record, index, &answer);
	fact->kind = ANCHOR;
	fact->verdict = (uint8_t)answer.verdict;
	fact->why = answer.why;
	fact->time_s = answer.time_s;
	fact->latest_s = answer.latest_s;
	fact->after = index;
	memcpy(fact->leaf, line->leaf, TREE_HASH_LEN);
}

static void
look_opening(const struct record_line *r, uint64_t index, struct bound_fact *fact)
{
	struct record_slice value;

	fact->kind = OPENING_BARE;
	if (!member_find(r->body, "after", &value))
		return;
	fact->kind = OPENING_BAD;
	if (value.len == 2 * TREE_HASH_LEN + 2 && value.ptr[0] == '"' &&
	    record_hash_decode(value.ptr + 1, fact->leaf) &&
	    member_number(r->body, "after_index", &fact->after) && fact->after < index)
		fact->kind = OPENING;
}

void
bound_look(const struct bound *bound, const struct walk_batch *batch,
    struct bound_part *part)
{
	const struct record_line *r;
	struct bound_fact *fact;
	unsigned i;

	part->count = 0;
	for (i = 0; i < batch->count; i++) {
		r = &batch->lines[i].record;
		if (batch->lines[i].rule != NULL || (r->type.len != 6 && r->type.len != 3))
			continue;
		fact = &part->fact[part->count];
		fact->line = (uint16_t)i;
		if (record_slice_is(r->type, "anchor"))
			look_anchor(bound, &batch->lines[i], batch->index + i, fact);
		else if (record_slice_is(r->type, "run") && member_is(r->body, "state", "open"))
			look_opening(r, batch->index + i, fact);
		else
			continue;
		part->count++;
	}
}

/* ---- in order ---- */

static void
note(struct bound *bound, const struct walk_batch *batch, unsigned i,
    enum verify_verdict verdict, const char *code, const char *why)
{
	const struct record_line *r = &batch->lines[i].record;
	struct verify_finding *f;

	if (bound->findings == VERIFY_FINDINGS_MAX) {
		bound->more++;
		return;
	}
	f = &bound->finding[bound->findings++];
	*f = (struct verify_finding){ .verdict = verdict, .code = code,
	    .has_index = true, .has_seq = true, .count = 1,
	    .index = batch->index + i, .seq = r->seq, .line = batch->line + i };
	snprintf(f->what, sizeof(f->what), "%s", why);
	snprintf(f->file, sizeof(f->file), "%s", bound->load->segment[batch->segment].path);
	snprintf(f->stream, sizeof(f->stream), "%.*s", (int)r->stream.len, r->stream.ptr);
	snprintf(f->type, sizeof(f->type), "%.*s", (int)r->type.len, r->type.ptr);
}

#define BACKDATED "it says that it is of an earlier time than what it holds, or stands " \
    "behind: one of the clocks is wrong, and when things happened is not known"

static bool
is_backdated(int64_t time_us, int64_t anchor_s)
{
	return anchor_s > CLOCKS_APART_S && time_us / 1000000 < anchor_s - CLOCKS_APART_S;
}

static void
take_anchor(struct bound *bound, const struct walk_batch *batch,
    const struct bound_fact *fact)
{
	bound->kept[bound->anchors++ % KEPT] = *fact;
	if (fact->verdict == AFTER_FALSE)
		note(bound, batch, fact->line, VERIFY_GAP, "anchor", fact->why);
	else if (is_backdated(batch->lines[fact->line].record.time_us, fact->latest_s))
		note(bound, batch, fact->line, VERIFY_NOT_ESTABLISHED, "clock", BACKDATED);
}

/* The anchor that an opening names; NULL: none that is kept.  *gone: it may have
 * been one, before those that are. */
static const struct bound_fact *
named(const struct bound *bound, const struct bound_fact *opening, bool *gone)
{
	const unsigned n = bound->anchors < KEPT ? (unsigned)bound->anchors : KEPT;
	uint64_t oldest = bound->load->frontier.size;

	for (unsigned i = 0; i < n; i++)
		if (bound->kept[i].after == opening->after &&
		    memcmp(bound->kept[i].leaf, opening->leaf, TREE_HASH_LEN) == 0)
			return &bound->kept[i];
	if (bound->anchors > KEPT)
		oldest = bound->kept[bound->anchors % KEPT].after;
	*gone = opening->after < oldest;
	return NULL;
}

/* Is the opening as near behind it as the policy wants? */
static bool
is_near(const struct bound *bound, int64_t time_us, int64_t anchor_s)
{
	const struct trust *trust = bound->options->trust;

	return trust == NULL || trust->max_width_s == 0 || time_us / 1000000 <= anchor_s ||
	    (uint64_t)(time_us / 1000000 - anchor_s) <= trust->max_width_s;
}

static void
count_opening(struct bound *bound, const struct record_line *r, uint64_t index,
    const struct bound_fact *anchor)
{
	const bool good = anchor != NULL && anchor->verdict == AFTER_GOOD;
	const bool wide = good && !is_near(bound, r->time_us, anchor->time_s);

	bound->openings++;
	bound->good += good;
	if (good && anchor->time_s > bound->latest_s)
		bound->latest_s = anchor->time_s;
	if ((!good || wide) && bound->first_short == UINT64_MAX)
		bound->first_short = index;
}

#define NO_ANCHOR "the opening names a record as the anchor before it that is none"

static void
take_opening(struct bound *bound, const struct walk_batch *batch,
    const struct bound_fact *fact)
{
	const struct record_line *r = &batch->lines[fact->line].record;
	const struct bound_fact *anchor = NULL;
	bool gone = false;

	if (fact->kind == OPENING)
		anchor = named(bound, fact, &gone);
	if (fact->kind == OPENING_BAD || (fact->kind == OPENING && anchor == NULL && !gone))
		note(bound, batch, fact->line, VERIFY_GAP, "anchor", NO_ANCHOR);
	if (anchor != NULL && is_backdated(r->time_us, anchor->latest_s))
		note(bound, batch, fact->line, VERIFY_NOT_ESTABLISHED, "clock", BACKDATED);
	if (gone && fact->after < bound->load->frontier.size)
		return;		/* before what is read: verified when the head was saved */
	count_opening(bound, r, batch->index + fact->line, anchor);
}

/* The bundle's own opening is its first record. */
static void
take_own(struct bound *bound, const struct walk_batch *batch,
    const struct bound_fact *fact)
{
	if (batch->index + fact->line != bound->load->frontier.size || fact->kind == ANCHOR)
		return;
	bound->opened = true;
	bound->opening = *fact;
	bound->opened_us = batch->lines[fact->line].record.time_us;
	if (fact->kind == OPENING_BAD)
		note(bound, batch, fact->line, VERIFY_GAP, "anchor", NO_ANCHOR);
}

void
bound_batch(struct bound *bound, const struct walk_batch *batch,
    const struct bound_part *part, uint64_t end)
{
	for (unsigned i = 0; i < part->count; i++) {
		const struct bound_fact *fact = &part->fact[i];

		if (batch->index + fact->line >= end)
			return;
		if (bound->load->kind == VERIFY_BUNDLE)
			take_own(bound, batch, fact);
		else if (fact->kind == ANCHOR)
			take_anchor(bound, batch, fact);
		else
			take_opening(bound, batch, fact);
	}
}

/* ---- a bundle's anchor ---- */

/* What stands in the file is what the opening names, or has been changed since. */
static bool
is_named(const struct bound *bound, const char *line, size_t len, struct record_line *r)
{
	uint8_t leaf[TREE_HASH_LEN];
	struct json_scan scratch;

	tree_leaf(line, len, leaf);
	return memcmp(leaf, bound->opening.leaf, TREE_HASH_LEN) == 0 &&
	    record_check(&scratch, line, len, r) == NULL && record_slice_is(r->type, "anchor");
}

static void
of_opening(struct verify_finding *f, const struct bound *bound)
{
	f->has_index = true;
	f->index = bound->load->frontier.size;
}

static void
judge_line(struct bound *bound, const struct record_line *r, struct verify_result *result)
{
	struct after_answer answer;

	ask(bound, r, bound->opening.after, &answer);
	bound->why = answer.why;
	if (answer.verdict == AFTER_FALSE)
		verify_of_file(verify_find(result, VERIFY_GAP, "anchor", BOUND_FILE ": %s",
		    answer.why), BOUND_FILE);
	else if (is_backdated(r->time_us, answer.latest_s) ||
	    is_backdated(bound->opened_us, answer.latest_s))
		of_opening(verify_find(result, VERIFY_NOT_ESTABLISHED, "clock", BACKDATED), bound);
	else if (answer.verdict == AFTER_GOOD)
		bound->not_before_s = answer.time_s;
	snprintf(bound->by, sizeof(bound->by), "%s", answer.who);
}

static void
judge_own(struct bound *bound, struct verify_result *result)
{
	struct record_line r;
	size_t len = 0;
	char *text;

	if (!bound->opened || bound->opening.kind != OPENING)
		return;
	bound->why = "the anchor that its opening names is not in the bundle";
	text = evidence_read(bound->load->dirfd, BOUND_FILE, RECORD_LINE_MAX + 1, &len);
	if (text == NULL)
		return;
	if (len > 0 && text[len - 1] == '\n' && is_named(bound, text, len - 1, &r)) {
		result->after_vouched = true;
		judge_line(bound, &r, result);
	} else {
		bound->why = "the anchor in the bundle is not the one that its opening names";
		verify_of_file(verify_find(result, VERIFY_GAP, "anchor", BOUND_FILE
		    " is not the anchor's record that the run's opening names"), BOUND_FILE);
	}
	free(text);
}

void
bound_judge(struct bound *bound, struct verify_result *result)
{
	for (unsigned i = 0; i < bound->findings; i++)
		*verify_find(result, bound->finding[i].verdict, bound->finding[i].code,
		    "%s", bound->finding[i].what) = bound->finding[i];
	if (bound->more > 0)
		verify_find(result, VERIFY_GAP, "more", "%" PRIu64
		    " more records that do not fit an anchor", bound->more);
	if (bound->load->kind == VERIFY_BUNDLE)
		judge_own(bound, result);
}

/* ---- what is said ---- */

static void
append(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void
append(char *text, const char *format, ...)
{
	const size_t at = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + at, VERIFY_INTERVAL_MAX - at, format, args);
	va_end(args);
}

static void
append_time(char *text, const char *before, int64_t time_s)
{
	char t[RECORD_TIME_LEN];

	if (time_s < 0 || time_s > RECORD_TIME_MAX / 1000000)
		return;
	record_time_format(t, time_s * 1000000);
	append(text, "%s%.19sZ", before, t);
}

/* Those whose time makes up the bound from above. */
static void
append_vouchers(char *text, const struct verify_result *r)
{
	bool first = true;

	for (unsigned i = 0; i < r->anchors; i++) {
		if (r->anchor[i].size < r->anchored || r->anchor[i].size == 0)
			continue;
		append(text, "%s%.60s", first ? " (" : ", ", r->anchor[i].name);
		first = false;
	}
	append(text, "%s", first ? "" : ")");
}

static void
say_run(const struct bound *bound, struct verify_result *r)
{
	struct verify_interval *in = &r->interval;

	in->not_before_s = bound->not_before_s;
	if (r->anchoring.verdict == VERIFY_COMPLETE && r->anchored >= r->sealed)
		in->not_after_s = r->anchored_s;
	if (in->not_before_s > 0) {
		append_time(in->text, "made not before ", in->not_before_s);
		append(in->text, " (%s)", bound->by);
	}
	if (in->not_after_s > 0) {
		append_time(in->text, in->not_before_s > 0 ? ", not after " : "made not after ",
		    in->not_after_s);
		append_vouchers(in->text, r);
	} else {
		append(in->text, "%sbefore when, nobody says", in->not_before_s > 0 ? "; " : "");
	}
	if (in->not_before_s == 0)
		append(in->text, "; how long before, neither: %s", bound->why);
}

static void
say_ledger(const struct bound *bound, struct verify_interval *in)
{
	in->openings = bound->openings;
	in->bound = bound->good;
	in->not_before_s = bound->latest_s;
	append(in->text, "%" PRIu64 " of %" PRIu64 " runs were opened behind an anchor",
	    bound->good, bound->openings);
	if (bound->latest_s > 0)
		append_time(in->text, ", the latest not before ", bound->latest_s);
}

/* NULL: as the policy wants; or what it wants. */
static const char *
run_misfit(const struct verify_interval *in, uint64_t max_s)
{
	if (in->not_before_s == 0 || in->not_after_s == 0)
		return "between which times the run's records were made is not known";
	if (in->not_after_s > in->not_before_s &&
	    (uint64_t)(in->not_after_s - in->not_before_s) > max_s)
		return "the run's records may be of a longer time than it wants";
	return NULL;
}

static void
fall_short(struct verify_result *r, const char *why, uint64_t max_s, uint64_t index)
{
	struct verify_finding *f = verify_find(r, VERIFY_NOT_ESTABLISHED, "interval",
	    "the policy wants them within %" PRIu64 " s: %s", max_s, why);
	const size_t at = strlen(r->anchoring.text);

	f->has_index = true;
	f->index = index;
	r->verdict = verify_worse(r->verdict, VERIFY_NOT_ESTABLISHED);
	r->anchoring.verdict = verify_worse(r->anchoring.verdict, VERIFY_NOT_ESTABLISHED);
	snprintf(r->anchoring.text + at, sizeof(r->anchoring.text) - at, "; %s", why);
}

static void
demand(const struct bound *bound, struct verify_result *r)
{
	const uint64_t max_s = bound->options->trust->max_width_s;
	const char *why;

	if (max_s == 0)
		return;
	if (r->kind == VERIFY_BUNDLE) {
		why = run_misfit(&r->interval, max_s);
		if (why != NULL)
			fall_short(r, why, max_s, r->first);
	} else if (bound->first_short != UINT64_MAX) {
		fall_short(r, "not each run was opened that soon behind an anchor; this is "
		    "the first", max_s, bound->first_short);
	}
}

/* Two of those whom the policy names contradict each other. */
static void
check_order(struct verify_result *r)
{
	const struct verify_interval *in = &r->interval;

	if (r->kind != VERIFY_BUNDLE || in->not_before_s == 0 || in->not_after_s == 0 ||
	    in->not_after_s >= in->not_before_s - CLOCKS_APART_S)
		return;
	verify_find(r, VERIFY_NOT_ESTABLISHED, "clock", "others vouched for the records before "
	    "the time of the anchor that they stand behind: one of their clocks is wrong");
	r->anchoring.verdict = VERIFY_NOT_ESTABLISHED;
}

void
bound_state(const struct bound *bound, struct verify_result *r)
{
	const struct trust *trust = bound->options->trust;

	if (trust == NULL || r->integrity.verdict != VERIFY_COMPLETE)
		return;
	if (trust->quorum + trust->stamps == 0)
		return;
	if (r->kind == VERIFY_BUNDLE)
		say_run(bound, r);
	else
		say_ledger(bound, &r->interval);
	check_order(r);
	demand(bound, r);
}
