/*
 * What the parts of values share: how they are made (value.c), ordered
 * (value_order.c), and found and put in their place (value_find.c).
 */
#ifndef POLICY_VALUE_VALUE_IMPL_H
#define POLICY_VALUE_VALUE_IMPL_H

#include "policy/value/value.h"

/* Pointers that one item takes in col.items. */
static inline size_t
value_stride(const struct value *v)
{
	return v->kind == VALUE_OBJECT ? 2 : 1;
}

/* Room for more items. */
void value_grow(struct arena *arena, struct value *v);

/* Room for one item, in a value that may be changed. */
static inline void
value_reserve_one(struct arena *arena, struct value *v)
{
	if (v->frozen || v->fixed)
		arena_fail(arena, "the plan changes a value that others hold");
	if (v->col.n == v->cap)
		value_grow(arena, v);
}

#endif
