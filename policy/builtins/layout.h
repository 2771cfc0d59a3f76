/*
 * Go's time layouts: the way "Mon Jan 2 15:04:05 MST 2006" would be written is
 * the way other moments are written and read.
 */
#ifndef POLICY_BUILTINS_LAYOUT_H
#define POLICY_BUILTINS_LAYOUT_H

#include "policy/builtins/zone.h"
#include "policy/value/value.h"

struct moment {
	int64_t seconds;	/* since the epoch */
	int32_t nanoseconds;
	struct zone_moment zone;
};

/* Names like "RFC3339" become their layout; others stay. */
const struct value *layout_named(struct arena *arena,
    const struct value *layout);
void layout_format(struct buf *out, const struct value *layout,
    const struct moment *moment);
bool layout_parse(const struct value *layout, const struct value *text,
    struct moment *out);

#endif
