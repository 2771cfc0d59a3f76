#include "gate/budget.h"

#include "gate/delegation.h"

static int64_t
narrower(int64_t a, int64_t b)
{
	if (a < 0)
		return b;
	return b < 0 || a < b ? a : b;
}

struct policy_budget
budget_narrow(const struct policy_budget *a, const struct policy_budget *b)
{
	return (struct policy_budget){
		.requests = narrower(a->requests, b->requests),
		.bytes_out = narrower(a->bytes_out, b->bytes_out),
		.cost = narrower(a->cost, b->cost),
		.wall_ms = narrower(a->wall_ms, b->wall_ms),
	};
}

static _Atomic int64_t *
counter(struct run *run, enum budget_kind kind)
{
	switch (kind) {
	case BUDGET_REQUESTS:
		return &run->used_requests;
	case BUDGET_BYTES_OUT:
		return &run->used_bytes_out;
	default:
		return &run->used_cost;
	}
}

static int64_t
limit(const struct run *run, const struct policy_budget *pack,
    enum budget_kind kind)
{
	switch (kind) {
	case BUDGET_REQUESTS:
		return narrower(run->limits.requests, pack->requests);
	case BUDGET_BYTES_OUT:
		return narrower(run->limits.bytes_out, pack->bytes_out);
	default:
		return narrower(run->limits.cost, pack->cost);
	}
}

/* Compare and swap rather than add and take back: a request that does not fit
 * must not make another one fail that does. */
static bool
spend_one(_Atomic int64_t *used, int64_t max, int64_t n)
{
	int64_t now = atomic_load_explicit(used, memory_order_relaxed), then;

	do {
		if (__builtin_add_overflow(now, n, &then) ||
		    (max >= 0 && then > max))
			return false;
	} while (!atomic_compare_exchange_weak(used, &now, then));
	return true;
}

bool
budget_spend(struct run *run, const struct policy_budget *pack,
    enum budget_kind kind, int64_t n)
{
	struct run *at, *undo;

	for (at = run; at != NULL; at = at->parent)
		if (!spend_one(counter(at, kind), limit(at, pack, kind), n))
			break;
	if (at == NULL)
		return true;
	for (undo = run; undo != at; undo = undo->parent)
		atomic_fetch_sub(counter(undo, kind), n);
	return false;
}

void
budget_return(struct run *run, enum budget_kind kind, int64_t n)
{
	for (; run != NULL; run = run->parent)
		atomic_fetch_sub(counter(run, kind), n);
}

bool
budget_fits(struct run *run, const struct policy_budget *pack,
    enum budget_kind kind, int64_t n)
{
	int64_t max, then;

	for (; run != NULL; run = run->parent) {
		max = limit(run, pack, kind);
		if (__builtin_add_overflow(atomic_load(counter(run, kind)), n,
		    &then) || (max >= 0 && then > max))
			return false;
	}
	return true;
}

static int64_t
wall_ms(const struct run *run)
{
	const int64_t closed = atomic_load(&run->closed_boot_ns);

	return ((closed != 0 ? closed : clock_boot_ns()) -
	    run->opened_boot_ns) / 1000000;
}

int64_t
budget_wall_left_ms(const struct run *run, const struct policy_budget *pack)
{
	int64_t left = delegation_left_ms(run), max, here;

	for (; run != NULL; run = run->parent) {
		max = narrower(run->limits.wall_ms, pack->wall_ms);
		here = max < 0 ? INT64_MAX : max - wall_ms(run);
		if (here < left)
			left = here;
	}
	return left;
}

bool
budget_wall_ok(const struct run *run, const struct policy_budget *pack)
{
	return budget_wall_left_ms(run, pack) >= 0;
}

void
budget_used_again(const struct run *run, struct policy_budget *out)
{
	out->requests = atomic_load(&run->used_requests);
	out->bytes_out = atomic_load(&run->used_bytes_out);
	out->cost = atomic_load(&run->used_cost);
}

void
budget_used(const struct run *run, struct policy_budget *out)
{
	budget_used_again(run, out);
	out->wall_ms = wall_ms(run);
}
