#include "policy/plan/moving.h"

#include "policy/value/number.h"

void
moving_begin(struct moving *moving, const struct policy_input *input)
{
	for (unsigned i = 0; i < INPUT_MOVING; i++) {
		moving->now[i] = input_integer_of(
		    &input_fields[input_moving[i]], input);
		moving->leaf[i] = NULL;
		moving->range[i] = (struct moving_range){ INT64_MIN,
		    INT64_MAX };
	}
}

void
moving_document(struct moving *moving, const struct value *document)
{
	for (unsigned i = 0; i < INPUT_MOVING; i++)
		moving->leaf[i] = input_leaf(document, input_moving[i]);
}

static void
narrow(struct moving_range *range, struct moving_range by)
{
	if (by.lo > range->lo)
		range->lo = by.lo;
	if (by.hi < range->hi)
		range->hi = by.hi;
}

static void
pin(struct moving *moving, unsigned i)
{
	narrow(&moving->range[i], (struct moving_range){ moving->now[i],
	    moving->now[i] });
}

void
moving_looked_at(struct moving *moving, uint8_t mask)
{
	for (unsigned i = 0; mask != 0; i++, mask >>= 1) {
		if (mask & 1)
			pin(moving, i);
	}
}

/* INPUT_MOVING where it is none of them. */
static unsigned
which(const struct moving *moving, const struct value *v)
{
	unsigned i = 0;

	while (i < INPUT_MOVING && moving->leaf[i] != v)
		i++;
	return i;
}

/* All numbers stand on the same side of another type.  A fraction, or what no
 * number of ours can reach, would need care at its ends and is rare. */
static void
compared_with(struct moving *moving, unsigned i, const struct value *other)
{
	int64_t now = moving->now[i], v;

	if (other->kind != VALUE_NUMBER)
		return;
	if (!num_to_int64(other, &v) || v == now)
		pin(moving, i);
	else if (now < v)
		narrow(&moving->range[i], (struct moving_range){ INT64_MIN,
		    v - 1 });
	else
		narrow(&moving->range[i], (struct moving_range){ v + 1,
		    INT64_MAX });
}

void
moving_compared(struct moving *moving, const struct value *a,
    const struct value *b)
{
	unsigned i = which(moving, a), k = which(moving, b);

	if (i < INPUT_MOVING && k < INPUT_MOVING) {
		pin(moving, i);
		pin(moving, k);
	} else if (i < INPUT_MOVING) {
		compared_with(moving, i, b);
	} else if (k < INPUT_MOVING) {
		compared_with(moving, k, a);
	}
}

void
moving_ranges(const struct moving *moving, uint8_t mask,
    struct moving_range *out)
{
	for (unsigned i = 0; mask != 0; i++, mask >>= 1) {
		if (mask & 1)
			*out++ = moving->range[i];
	}
}

bool
moving_within(const struct moving *moving, uint8_t mask,
    const struct moving_range *ranges)
{
	for (unsigned i = 0; mask != 0; i++, mask >>= 1) {
		if ((mask & 1) == 0)
			continue;
		if (moving->now[i] < ranges->lo || moving->now[i] > ranges->hi)
			return false;
		ranges++;
	}
	return true;
}

void
moving_narrow(struct moving *moving, uint8_t mask,
    const struct moving_range *ranges)
{
	for (unsigned i = 0; mask != 0; i++, mask >>= 1) {
		if (mask & 1)
			narrow(&moving->range[i], *ranges++);
	}
}
