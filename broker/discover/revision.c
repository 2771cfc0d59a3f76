#include "discover/revision.h"

#include <stdio.h>
#include <string.h>

bool
revision_ordered(const char *revision)
{
	size_t n = strlen(revision);

	/* 40 or 64 hex digits are a hash, whatever it begins with. */
	return revision[0] >= '0' && revision[0] <= '9' &&
	    strspn(revision, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "abcdefghijklmnopqrstuvwxyz._:+-") == n &&
	    !((n == 40 || n == 64) &&
	    strspn(revision, "0123456789abcdef") == n);
}

const char *
revision_wrong(const struct revision_history *history, const char *digest,
    const char *revision)
{
	size_t i;

	if (history->n == 0)
		return NULL;
	for (i = 0; i + 1 < history->n; i++)
		if (strcmp(history->seen[i], digest) == 0)
			return "it was in force before and was replaced";
	if (!revision_ordered(history->revision))
		return NULL;
	if (!revision_ordered(revision))
		return "the one in force has a revision that is ordered, and "
		    "this one has not";
	return strverscmp(revision, history->revision) > 0 ? NULL :
	    "its revision is not higher than the one in force";
}

void
revision_note(struct revision_history *history, const char *digest,
    const char *revision)
{
	if (history->n == REVISION_SEEN_MAX) {
		memmove(history->seen[0], history->seen[1],
		    sizeof(history->seen[0]) * (REVISION_SEEN_MAX - 1));
		history->n--;
	}
	snprintf(history->seen[history->n++], sizeof(history->seen[0]), "%s",
	    digest);
	snprintf(history->revision, sizeof(history->revision), "%s", revision);
}
