/* What was not looked at, by kind. */
#include <stdio.h>
#include <string.h>

#include "ledger/scan/scan.h"

static struct scan_reason *
reason_of(struct scan_result *result, const char *why)
{
	unsigned i;

	for (i = 0; i < result->reasons; i++)
		if (strncmp(result->reason[i].why, why, sizeof(result->reason[i].why) - 1) == 0)
			return &result->reason[i];
	return NULL;
}

/* What fits whole, or nothing. */
static void
put(char *to, size_t room, const char *text)
{
	const size_t len = strlen(text);

	if (len < room)
		memcpy(to, text, len + 1);
}

void
scan_result_incomplete(struct scan_result *result, const char *path, const char *form,
    const char *why)
{
	struct scan_reason *reason = reason_of(result, why);

	if (result->incomplete_count++ == 0)
		snprintf(result->incomplete, sizeof(result->incomplete), "%.130s%s%.40s%s%.*s", path,
		    path[0] != '\0' ? ": " : "", form, form[0] != '\0' ? ": " : "",
		    path[0] != '\0' ? 80 : 250, why);
	if (reason == NULL && result->reasons < SCAN_REASONS_MAX) {
		reason = &result->reason[result->reasons++];
		snprintf(reason->why, sizeof(reason->why), "%s", why);
		put(reason->path, sizeof(reason->path), path);
		put(reason->form, sizeof(reason->form), form);
	}
	if (reason != NULL)
		reason->count++;
}

uint64_t
scan_result_unkept(const struct scan_result *result)
{
	uint64_t kept = 0;
	unsigned i;

	for (i = 0; i < result->reasons; i++)
		kept += result->reason[i].count;
	return result->incomplete_count - kept;
}
