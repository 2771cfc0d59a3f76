/*
 * Which pack may take another's place.  Pure.
 *
 * OPA says nothing about the order of revisions.  Ours: where the revision in
 * force begins with a digit and is made of digits, letters and ". _ : + -" (a
 * number, a version, a date), revisions are ordered as version numbers are, and
 * only a higher one takes its place.  Where it is something else (a hash, none)
 * there is no order: anything but a pack that was in force before does.
 */
#ifndef BROKER_DISCOVER_REVISION_H
#define BROKER_DISCOVER_REVISION_H

#include "policy/policy.h"

#define REVISION_SEEN_MAX 64	/* packs that are remembered */

struct revision_history {
	/* Digests that were in force, oldest first; the last one is now. */
	char seen[REVISION_SEEN_MAX][POLICY_DIGEST_LEN + 1];
	size_t n;
	char revision[POLICY_REVISION_MAX + 1];	/* of the last one */
};

/* Is it one that is ordered? */
bool revision_ordered(const char *revision);

/* NULL, or why the pack may not take the place of the history's last. */
const char *revision_wrong(const struct revision_history *history,
    const char *digest, const char *revision);

/* It is in force now. */
void revision_note(struct revision_history *history, const char *digest,
    const char *revision);

#endif
