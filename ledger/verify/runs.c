#include "ledger/verify/runs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/verify/consents.h"
#include "ledger/verify/grant_ids.h"
#include "ledger/verify/links.h"
#include "ledger/verify/lost.h"
#include "ledger/verify/member.h"
#include "ledger/verify/promises.h"
#include "ledger/verify/scanned.h"
#include "ledger/verify/tally.h"
#include "ledger/verify/unended.h"

#define SETS_MAX 1024
#define SETS_MIN 4
#define LINE_USUAL 4096		/* bytes of records for each set */
#define WAYS 8

struct run {
	struct place {
		bool known;
		uint64_t seq, index;
	} opened, closed;
	bool over;
};

struct set {
	uint64_t number[WAYS];	/* the one seen last in front; 0: free */
	struct run run[WAYS];
};

struct runs {
	const struct load *load;
	const struct links *links;
	unsigned sets;		/* a power of two */
	struct set *set;
	struct tally tally;	/* a bundle's */
	struct promises *promises;
	struct grant_ids *grants;
	struct consents *consents;
	uint64_t torn;		/* ends that were cut off */
	uint64_t found;		/* scans that found a secret */
	uint64_t found_at;	/* the first of them */
	uint64_t lost;		/* records, as adapters declare */
	struct unended *unended;	/* of a bundle: its run, and those below it */
	struct verify_finding finding[VERIFY_FINDINGS_MAX];
	unsigned findings;	/* kept */
	uint64_t more, more_open;	/* gaps; what is not established */
	bool ends_lost;		/* a session closed, and not all that it had opened were kept */
};

struct runs *
runs_new(const struct load *load, const struct links *links)
{
	struct runs *runs = calloc(1, sizeof(*runs));

	if (runs == NULL)
		return NULL;
	runs->load = load;
	runs->links = links;
	for (runs->sets = SETS_MIN; runs->sets < SETS_MAX &&
	    runs->sets < load->bytes / LINE_USUAL; runs->sets *= 2)
		;
	runs->set = calloc(runs->sets, sizeof(*runs->set));
	runs->promises = promises_new();
	runs->grants = grant_ids_new();
	runs->consents = consents_new();
	runs->unended = unended_new();
	if (runs->set == NULL || runs->promises == NULL || runs->grants == NULL || runs->consents == NULL ||
	    runs->unended == NULL) {
		runs_free(runs);
		return NULL;
	}
	return runs;
}

void
runs_free(struct runs *runs)
{
	if (runs == NULL)
		return;
	free(runs->set);
	promises_free(runs->promises);
	grant_ids_free(runs->grants);
	consents_free(runs->consents);
	unended_free(runs->unended);
	free(runs);
}

static void
note_as(struct runs *runs, const struct walk_batch *batch, unsigned i,
    enum verify_verdict verdict, const char *code, const char *why)
{
	const struct record_line *r = &batch->lines[i].record;
	struct verify_finding *f;

	if (runs->findings == VERIFY_FINDINGS_MAX) {
		runs->more += verdict == VERIFY_GAP;
		runs->more_open += verdict != VERIFY_GAP;
		return;
	}
	f = &runs->finding[runs->findings++];
	*f = (struct verify_finding){ .verdict = verdict, .code = code,
	    .has_index = true, .has_seq = true,
	    .index = batch->index + i, .seq = r->seq, .line = batch->line + i };
	snprintf(f->what, sizeof(f->what), "%s", why);
	snprintf(f->file, sizeof(f->file), "%s", runs->load->segment[batch->segment].path);
	snprintf(f->stream, sizeof(f->stream), "%.*s", (int)r->stream.len, r->stream.ptr);
	snprintf(f->type, sizeof(f->type), "%.*s", (int)r->type.len, r->type.ptr);
}

static void
note(struct runs *runs, const struct walk_batch *batch, unsigned i, const char *code,
    const char *why)
{
	note_as(runs, batch, i, VERIFY_GAP, code, why);
}

/* In place of the one at i, which was seen longest ago or is this one. */
static struct run *
to_front(struct set *set, unsigned i, uint64_t number, const struct run *run)
{
	const struct run keep = *run;

	memmove(set->number + 1, set->number, i * sizeof(set->number[0]));
	memmove(set->run + 1, set->run, i * sizeof(set->run[0]));
	set->number[0] = number;
	set->run[0] = keep;
	return &set->run[0];
}

/* The run of that number; NULL, or a new one, where there is none. */
static struct run *
run_of(struct runs *runs, uint64_t number, bool make)
{
	static const struct run fresh = { .over = false };
	struct set *set = &runs->set[(number >> 32) & (runs->sets - 1)];
	unsigned i;

	for (i = 0; i < WAYS && set->number[i] != number; i++)
		;
	if (i == 0)
		return &set->run[0];
	if (i < WAYS)
		return to_front(set, i, number, &set->run[i]);
	return make ? to_front(set, WAYS - 1, number, &fresh) : NULL;
}

/* ---- runs without an end ---- */

static void
name_of(char to[RECORD_NAME_MAX + 1], struct record_slice name)
{
	memcpy(to, name.ptr, name.len);
	to[name.len] = '\0';
}

/* The number of the run that the record's run was opened below; 0: of none. */
static uint64_t
above(const struct runs *runs, const struct record_line *r)
{
	struct record_slice name;

	if (!member_find(r->body, "parent_run", &name) || name.len < 2 || name.ptr[0] != '"')
		return 0;
	return links_run(runs->links, (struct record_slice){ name.ptr + 1, name.len - 2 });
}

static void
await_end(struct runs *runs, uint64_t number, const struct walk_batch *batch, unsigned i)
{
	const struct record_line *r = &batch->lines[i].record;
	struct unended_run run = { .number = number, .index = batch->index + i,
	    .seq = r->seq, .line = batch->line + i, .segment = batch->segment };

	name_of(run.id, r->run);
	name_of(run.stream, r->stream);
	budgets_open(runs->unended, &run.budget, r, above(runs, r));
	if (run.budget.odd)
		note_as(runs, batch, i, VERIFY_NOT_ESTABLISHED, "unknown_value",
		    "a bound of a run that is no number: what it was for is not known");
	unended_add(runs->unended, &run);
}

/* Its teardown, by what it was opened for. */
static void
end_run(struct runs *runs, uint64_t number, const struct walk_batch *batch, unsigned i)
{
	const char *why = budgets_end(runs->unended, number, &batch->lines[i].record);

	if (why != NULL)
		note(runs, batch, i, "teardown", why);
	unended_remove(runs->unended, number);
}

static bool
is_request(const struct walk_line *line)
{
	return line->rule == NULL && links_request(&line->record);
}

/* The lines [from, to) hold so many requests of the run that were let through. */
static void
admit(struct runs *runs, uint64_t number, const struct walk_batch *batch, unsigned from,
    unsigned to, unsigned requests)
{
	const struct walk_line *line = batch->lines;
	unsigned fits, i, breach = budgets_admit(runs->unended, number, requests,
	    line[to - 1].record.time_us, &fits);
	const struct unended_run *run;

	if ((breach & BUDGETS_BEYOND) != 0) {
		for (i = from; i + 1 < to && (!is_request(&line[i]) || fits-- > 0); i++)
			;
		note(runs, batch, i, "limit", "a request more than its run, or one above it, was "
		    "opened for: those of all runs below one count");
	}
	if ((breach & BUDGETS_LATE) == 0 || (run = unended_find(runs->unended, number)) == NULL)
		return;
	for (i = from; i + 1 < to && (!is_request(&line[i]) ||
	    !budgets_late(&run->budget, line[i].record.time_us)); i++)
		;
	note_as(runs, batch, i, VERIFY_NOT_ESTABLISHED, "limit", "let through when the time for "
	    "which the run was opened was over: a clock was set forward, or it should have "
	    "been refused");
}

static void
note_unended(struct runs *runs, const struct unended_run *run)
{
	struct verify_finding *f;

	if (runs->findings == VERIFY_FINDINGS_MAX) {
		runs->more_open++;
		return;
	}
	f = &runs->finding[runs->findings++];
	*f = (struct verify_finding){ .verdict = VERIFY_NOT_ESTABLISHED,
	    .code = "no_teardown", .has_index = true, .has_seq = true,
	    .index = run->index, .seq = run->seq, .line = run->line };
	snprintf(f->what, sizeof(f->what), "run %s is opened and never torn down, though "
	    "the session closed in order: how it ended is not recorded", run->id);
	snprintf(f->file, sizeof(f->file), "%s", runs->load->segment[run->segment].path);
	snprintf(f->stream, sizeof(f->stream), "%s", run->stream);
	snprintf(f->type, sizeof(f->type), "run");
}

/* Of a session that was cut that is said already. */
static void
take_session(struct runs *runs, const struct record_line *r, bool closes)
{
	struct unended_run run;

	while (unended_take(runs->unended, r->stream, &run))
		if (closes)
			note_unended(runs, &run);
	runs->ends_lost |= closes && unended_lost(runs->unended);
}

/* ---- records about a run ---- */

#define ODD_RUN "a run whose state is none that this version knows: neither open nor closed"

/* The first one counts. */
static void
take_place(struct runs *runs, struct place *place, const struct walk_batch *batch,
    unsigned i, const char *again)
{
	if (place->known)
		note(runs, batch, i, "twice", again);
	else
		*place = (struct place){ true, batch->lines[i].record.seq, batch->index + i };
}

static void
take_run(struct runs *runs, uint64_t number, struct run *run,
    const struct walk_batch *batch, unsigned i)
{
	const struct record_line *r = &batch->lines[i].record;

	if (run->over)
		note(runs, batch, i, "after_teardown", "a run is gone on with behind its teardown");
	if (member_is(r->body, "state", "open") && !run->opened.known && !run->over &&
	    runs->load->kind == VERIFY_LEDGER)
		await_end(runs, number, batch, i);
	if (member_is(r->body, "state", "open"))
		take_place(runs, &run->opened, batch, i, "a run is opened that was opened before");
	else if (member_is(r->body, "state", "closed"))
		take_place(runs, &run->closed, batch, i, "a run is closed that was closed before");
	else if (!run->over)
		note_as(runs, batch, i, VERIFY_NOT_ESTABLISHED, "unknown_value", ODD_RUN);
}

static bool
differs(const struct record_line *r, const char *name, uint64_t number)
{
	uint64_t told;

	return member_no_number(r->body, name) ||
	    (member_number(r->body, name, &told) && told != number);
}

/* Where the record says so, and where it is known.  seq: NULL where it tells none. */
static bool
misplaced(const struct record_line *r, const struct place *place, const char *seq,
    const char *index)
{
	return place->known && ((seq != NULL && differs(r, seq, place->seq)) ||
	    differs(r, index, place->index));
}

static void
take_teardown(struct runs *runs, uint64_t number, struct run *run,
    const struct walk_batch *batch, unsigned i)
{
	const struct record_line *r = &batch->lines[i].record;

	if (run->over)
		note(runs, batch, i, "twice", "a run is torn down that was torn down before");
	else if (misplaced(r, &run->opened, "first_seq", "first_index"))
		note(runs, batch, i, "teardown",
		    "a teardown that names another opening than the run has");
	else if (run->opened.known && !run->closed.known)
		note(runs, batch, i, "teardown",
		    "a teardown of a run that was not closed");
	else if (misplaced(r, &run->closed, "last_seq", "last_index"))
		note(runs, batch, i, "teardown",
		    "a teardown that names another end than the run has");
	run->over = true;
	if (runs->load->kind == VERIFY_LEDGER)
		end_run(runs, number, batch, i);
}

/* Right behind the run's closing; what lies behind its teardown is told elsewhere. */
static void
take_scan(struct runs *runs, struct run *run, const struct walk_batch *batch, unsigned i)
{
	const struct record_line *r = &batch->lines[i].record;
	const char *why = scanned_misfit(r);

	if (scanned_found(r) && runs->found++ == 0)
		runs->found_at = batch->index + i;
	if (run->over)
		note(runs, batch, i, "after_teardown", "a record of a run behind its teardown");
	else if (why != NULL)
		note(runs, batch, i, "scan", why);
	else if (misplaced(r, &run->opened, NULL, "first_index") ||
	    misplaced(r, &run->closed, NULL, "last_index"))
		note(runs, batch, i, "scan", "a scan of other records than the run's");
}

/* What an adapter saw and could not hand over: by its own word a gap of the run. */
static void
take_loss(struct runs *runs, const struct run *run, const struct walk_batch *batch, unsigned i)
{
	const struct record_line *r = &batch->lines[i].record;
	char what[sizeof(runs->finding[0].what)];
	uint64_t count;

	note(runs, batch, i, "lost", lost_say(r, what, sizeof(what), &count));
	runs->lost = count < RECORD_SEQ_MAX - runs->lost ? runs->lost + count : RECORD_SEQ_MAX;
	if (run->over)
		note(runs, batch, i, "after_teardown", "a record of a run behind its teardown");
}

/* ---- records of a run ---- */

/* Types that no honest broker writes for a run that is over.  A grant may have been
 * taken back while the run was closed. */
static bool
is_admission(const struct record_line *r)
{
	static const char *const types[] = { "use", "decision", "grant", "coverage" };
	unsigned i;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (record_slice_is(r->type, types[i]))
			return i != 2 || !member_is(r->body, "state", "revoked");
	return false;
}

static void
look_behind(struct runs *runs, const struct walk_batch *batch, unsigned from, unsigned to)
{
	unsigned i;

	for (i = from; i < to; i++)
		if (batch->lines[i].rule == NULL && is_admission(&batch->lines[i].record))
			note(runs, batch, i, "after_teardown",
			    "a record of a run behind its teardown");
}

/* Where not all that were counted are signed. */
static unsigned
requests_in(const struct walk_batch *batch, unsigned from, unsigned to)
{
	unsigned n = 0;

	for (; from < to; from++)
		n += is_request(&batch->lines[from]);
	return n;
}

/* What is of no run. */
static void
take_other(struct runs *runs, const struct walk_batch *batch, const struct runs_fact *fact)
{
	if (fact->kind == RUNS_UNKNOWN)
		note_as(runs, batch, fact->line, VERIFY_NOT_ESTABLISHED, "unknown_value",
		    "a record of a type that this version does not know: what it means is "
		    "not known");
	else if (fact->kind == RUNS_RECOVER)
		runs->torn++;
	else
		take_session(runs, &batch->lines[fact->line].record, fact->kind == RUNS_END);
}

void
runs_batch(struct runs *runs, const struct walk_batch *batch,
    const struct runs_part *part, uint64_t end)
{
	const struct runs_fact *fact;
	struct run *run;
	unsigned i, to, last;

	if (batch->index >= end)
		return;
	last = end - batch->index < batch->count ? (unsigned)(end - batch->index) : batch->count;
	for (i = 0; i < part->count; i++) {
		fact = &part->fact[i];
		if (fact->line >= last)
			return;
		if (fact->kind >= RUNS_BEGIN)
			take_other(runs, batch, fact);
		if (fact->run == 0 || fact->kind >= RUNS_BEGIN)
			continue;
		to = i + 1 < part->count && part->fact[i + 1].line < last ?
		    part->fact[i + 1].line : last;
		if (fact->requests > 0)
			admit(runs, fact->run, batch, fact->line, to, to < last ||
			    last == batch->count ? fact->requests : requests_in(batch, fact->line, to));
		if ((run = run_of(runs, fact->run, fact->kind != RUNS_ON)) == NULL)
			continue;
		if (fact->kind == RUNS_RUN)
			take_run(runs, fact->run, run, batch, fact->line);
		else if (fact->kind == RUNS_SCAN)
			take_scan(runs, run, batch, fact->line);
		else if (fact->kind == RUNS_LOSS)
			take_loss(runs, run, batch, fact->line);
		else if (fact->kind == RUNS_TEARDOWN)
			take_teardown(runs, fact->run, run, batch, fact->line);
		else if (run->over)
			look_behind(runs, batch, fact->line, to);
	}
}

/* ---- a bundle's, one by one ---- */

/* A run of another name, right below one that counts. */
static bool
is_below(const struct runs *runs, const struct record_line *r)
{
	return record_slice_is(r->type, "run") &&
	    unended_find(runs->unended, above(runs, r)) != NULL;
}

/* Its run and those below it; what else was going on is none of theirs. */
static void
count_budget(struct runs *runs, const struct walk_batch *batch, unsigned i, bool ours)
{
	const struct record_line *r = &batch->lines[i].record;
	const uint64_t number = links_run(runs->links, r->run);
	const bool known = unended_find(runs->unended, number) != NULL;

	if (!known && record_slice_is(r->type, "run") && member_is(r->body, "state", "open") &&
	    (ours || is_below(runs, r)))
		await_end(runs, number, batch, i);
	else if (!known && !ours && is_below(runs, r) && !member_is(r->body, "state", "closed"))
		note_as(runs, batch, i, VERIFY_NOT_ESTABLISHED, "unknown_value", ODD_RUN);
	else if (known && record_slice_is(r->type, "teardown"))
		end_run(runs, number, batch, i);
	else if (known && record_slice_is(r->type, "outcome"))
		budgets_outcome(runs->unended, number, r);
	else if (known && links_request(r))
		admit(runs, number, batch, i, i + 1, 1);
}

void
runs_count(struct runs *runs, const struct walk_batch *batch, unsigned i, bool ours)
{
	const struct walk_line *line = &batch->lines[i];
	const uint64_t index = batch->index + i;

	if (line->record.run.ptr != NULL)
		count_budget(runs, batch, i, ours);
	if (!ours)
		return;
	tally_take(&runs->tally, &line->record, index);
	promises_take(runs->promises, &line->record, line->leaf, index);
	grant_ids_take(runs->grants, &line->record, line->leaf, index);
	consents_take(runs->consents, &line->record, line->leaf, index);
}

void
runs_judge(struct runs *runs, bool dropped, struct verify_result *result)
{
	struct verify_finding *f;
	unsigned i;

	for (i = 0; i < runs->findings; i++) {
		f = verify_find(result, runs->finding[i].verdict, runs->finding[i].code,
		    "%s", runs->finding[i].what);
		runs->finding[i].count = f->count;
		*f = runs->finding[i];
	}
	if (runs->more > 0)
		verify_find(result, VERIFY_GAP, "more", "%" PRIu64
		    " more records that do not fit their run, or declare losses", runs->more);
	if (runs->more_open > 0)
		verify_find(result, VERIFY_NOT_ESTABLISHED, "more", "%" PRIu64 " more runs that "
		    "are never torn down, or records of which it is not known what they mean", runs->more_open);
	if (runs->ends_lost)
		verify_find(result, VERIFY_NOT_ESTABLISHED, "no_teardown", "more than %d runs "
		    "are open at once: whether each was torn down, and did what it was opened for, is not known", UNENDED_MAX);
	tally_judge(&runs->tally, dropped, result);
	grant_ids_judge(runs->grants, result);
	consents_judge(runs->consents, result);
	promises_judge(runs->promises, result);
	result->torn = runs->torn;
	result->lost = runs->lost;
	result->scans_found = runs->found;
	result->scan_found = runs->found_at;
}
