#include "ledger/verify/budgets.h"

#include "ledger/verify/member.h"
#include "ledger/verify/unended.h"

#define US_MAX ((uint64_t)INT64_MAX / 4)

static struct budget *
budget_of(struct unended *open, uint64_t number)
{
	struct unended_run *run = number == 0 ? NULL : unended_find(open, number);

	return run != NULL ? &run->budget : NULL;
}

/* ---- opening ---- */

/* Of an object in the body; UINT64_MAX: it has none, or none that is a number. */
static uint64_t
bound(struct budget *budget, struct record_slice object, const char *name)
{
	uint64_t n;

	if (object.ptr == NULL)
		return UINT64_MAX;
	budget->odd |= member_no_number(object, name);
	return member_number(object, name, &n) ? n : UINT64_MAX;
}

/* A member that is an object.  Another one bounds nothing that is known. */
static struct record_slice
object(struct budget *budget, struct record_slice body, const char *name)
{
	struct record_slice part = { NULL, 0 };

	if (member_find(body, name, &part) && part.ptr[0] != '{') {
		budget->odd = true;
		part.ptr = NULL;
	}
	return part;
}

static int64_t
sooner(int64_t until_us, uint64_t from_us, uint64_t count, uint64_t unit_us)
{
	if (count > US_MAX / unit_us || from_us > US_MAX)
		return until_us;
	from_us += count * unit_us;
	return (int64_t)from_us < until_us ? (int64_t)from_us : until_us;
}

void
budgets_open(struct unended *open, struct budget *budget, const struct record_line *opening,
    uint64_t above)
{
	struct budget *parent = budget_of(open, above);
	struct record_slice limits, delegation;

	*budget = (struct budget){ .above = parent != NULL ? above : 0,
	    .until_us = parent != NULL ? parent->until_us : INT64_MAX };
	limits = object(budget, opening->body, "limits");
	delegation = object(budget, opening->body, "delegation");
	budget->requests = bound(budget, limits, "requests");
	budget->bytes_out = bound(budget, limits, "bytes_out");
	budget->cost = bound(budget, limits, "cost");
	budget->until_us = sooner(budget->until_us, (uint64_t)opening->time_us,
	    bound(budget, limits, "wall_ms"), 1000);
	budget->until_us = sooner(budget->until_us, 0,
	    bound(budget, delegation, "expires_s"), 1000000);
	if (parent != NULL)
		parent->below++;
}

/* ---- what it does ---- */

bool
budgets_late(const struct budget *budget, int64_t time_us)
{
	return budget->until_us < INT64_MAX - BUDGET_LATE_US &&
	    time_us > budget->until_us + BUDGET_LATE_US;
}

unsigned
budgets_admit(struct unended *open, uint64_t number, unsigned n, int64_t time_us,
    unsigned *fits)
{
	struct budget *at = budget_of(open, number);
	unsigned breach = BUDGETS_FINE;
	uint64_t left;

	*fits = n;
	if (at != NULL && !at->late && budgets_late(at, time_us)) {
		at->late = true;
		breach |= BUDGETS_LATE;
	}
	for (; at != NULL; at = budget_of(open, at->above)) {
		left = at->requests > at->admitted ? at->requests - at->admitted : 0;
		at->admitted += n;
		if (at->exceeded || at->requests == UINT64_MAX || n <= left)
			continue;
		at->exceeded = true;
		breach |= BUDGETS_BEYOND;
		*fits = left < *fits ? (unsigned)left : *fits;
	}
	return breach;
}

void
budgets_outcome(struct unended *open, uint64_t number, const struct record_line *outcome)
{
	struct budget *at;
	uint64_t bytes;

	if (!member_number(outcome->body, "bytes_out", &bytes))
		bytes = 0;
	for (; (at = budget_of(open, number)) != NULL; number = at->above) {
		at->outcomes++;
		at->sent += bytes;
	}
}

/* ---- its end ---- */

static uint64_t
told(struct record_slice counts, const char *name)
{
	uint64_t n;

	return member_number(counts, name, &n) ? n : 0;
}

/* What is booked to a run is booked for good once nothing is under way. */
static const char *
misfit(const struct budget *b, bool lost, bool settled, struct record_slice counts)
{
	const uint64_t bytes = told(counts, "bytes_out"), cost = told(counts, "cost");
	struct record_slice value;

	if ((b->bytes_out != UINT64_MAX && bytes > b->bytes_out) ||
	    (b->cost != UINT64_MAX && cost > b->cost))
		return "a teardown that counts more bytes sent, or a higher cost, than its run was opened for";
	if (member_find(counts, "bytes_out", &value) && bytes < b->sent)
		return "a teardown that counts fewer bytes sent than its run's outcomes, and those below it";
	if (settled && !lost && b->admitted == b->outcomes && bytes > b->sent)
		return "a teardown that counts more bytes sent than its run's outcomes, and those below it";
	if (!b->unsettled && ((member_find(counts, "bytes_out", &value) && bytes < b->told_bytes) ||
	    (member_find(counts, "cost", &value) && cost < b->told_cost)))
		return "a teardown that counts fewer bytes sent, or a lower cost, than those of the runs below it";
	return NULL;
}

const char *
budgets_end(struct unended *open, uint64_t number, const struct record_line *teardown)
{
	struct budget *at = budget_of(open, number), *above;
	struct record_slice counts;
	const char *why = NULL;
	bool settled = false;

	if (at == NULL)
		return NULL;
	if (member_find(teardown->body, "counts", &counts) && counts.ptr[0] == '{') {
		settled = !at->unsettled && at->below == 0 && told(counts, "unfinished") == 0;
		why = misfit(at, unended_lost(open), settled, counts);
	}
	if ((above = budget_of(open, at->above)) == NULL)
		return why;
	above->below -= above->below > 0;
	above->unsettled |= !settled;
	if (settled) {
		above->told_bytes += told(counts, "bytes_out");
		above->told_cost += told(counts, "cost");
	}
	return why;
}
