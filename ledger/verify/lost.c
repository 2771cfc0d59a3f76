#include "ledger/verify/lost.h"

#include <inttypes.h>
#include <stdio.h>

#include "ledger/verify/member.h"

/* A string of JSON that is a name as it stands; else "". */
static struct record_slice
name_of(struct record_slice body, const char *name)
{
	struct record_slice text;

	if (!member_find(body, name, &text) || text.len < 2 ||
	    !record_name_valid(text.ptr + 1, text.len - 2))
		return (struct record_slice){ "", 0 };
	return (struct record_slice){ text.ptr + 1, text.len - 2 };
}

const char *
lost_say(const struct record_line *record, char *buf, size_t cap, uint64_t *count)
{
	const struct record_slice adapter = name_of(record->body, "adapter"),
	    instance = name_of(record->body, "instance"),
	    reason = name_of(record->body, "reason");

	if (!member_number(record->body, "count", count) || *count == 0) {
		*count = 1;
		return "a loss that does not say how many records are lost";
	}
	if (adapter.len == 0 || reason.len == 0)
		return "a loss that does not say who lost records, and why";
	snprintf(buf, cap, "the adapter %.*s%s%.*s declares %" PRIu64 " of its records as "
	    "lost (%.*s)", (int)adapter.len, adapter.ptr, instance.len > 0 ? " " : "",
	    (int)instance.len, instance.ptr, *count, (int)reason.len, reason.ptr);
	return buf;
}
