#include "ledger/verify/allowances.h"

#include <stdlib.h>

#define WAYS 8

struct set {
	uint64_t mark[WAYS];	/* the one that was used last in front; 0: free */
	uint32_t left[WAYS];
};

struct allowances {
	unsigned sets;
	struct set *set;
};

struct allowances *
allowances_new(unsigned sets)
{
	struct allowances *all = calloc(1, sizeof(*all));

	if (all == NULL)
		return NULL;
	all->sets = sets;
	all->set = calloc(sets, sizeof(*all->set));
	if (all->set == NULL) {
		free(all);
		return NULL;
	}
	return all;
}

void
allowances_free(struct allowances *all)
{
	if (all == NULL)
		return;
	free(all->set);
	free(all);
}

static struct set *
set_of(const struct allowances *all, uint64_t mark)
{
	return &all->set[(mark >> 32) & (all->sets - 1)];
}

/* In front, in place of what stands at i. */
static void
to_front(struct set *set, unsigned i, uint64_t mark, uint32_t left)
{
	for (; i > 0; i--) {
		set->mark[i] = set->mark[i - 1];
		set->left[i] = set->left[i - 1];
	}
	set->mark[0] = mark;
	set->left[0] = left;
}

void
allowances_put(struct allowances *all, uint64_t mark, uint32_t uses)
{
	to_front(set_of(all, mark), WAYS - 1, mark, uses);
}

enum allowance
allowances_take(struct allowances *all, uint64_t mark)
{
	struct set *set = set_of(all, mark);
	uint32_t left;
	unsigned i;

	for (i = 0; i < WAYS && set->mark[i] != mark; i++)
		;
	if (i == WAYS)
		return ALLOWANCE_UNKNOWN;
	left = set->left[i];
	if (left == 0)
		return ALLOWANCE_SPENT;
	to_front(set, i, mark, left == ALLOWANCE_ENDLESS ? left : left - 1);
	return ALLOWANCE_TAKEN;
}
