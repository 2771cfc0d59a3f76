/*
 * Regular expressions as decisions use them: compiled, with what makes the
 * short ones quick, and kept by the thread between decisions, since a policy
 * asks with the same few patterns every time.
 */
#ifndef POLICY_REGEX_PATTERN_H
#define POLICY_REGEX_PATTERN_H

#include "policy/regex/bits.h"
#include "policy/regex/regex.h"

struct pattern {
	struct regex regex;
	const struct bits *bits;	/* NULL: not one of the short ones */
};

/* Compiled patterns of one thread, in 256 KiB at most. */
struct patterns;

/* NULL without memory. */
struct patterns *patterns_new(void);
void patterns_free(struct patterns *known);
/* Before a decision: patterns of those before may go. */
void patterns_begin(struct patterns *known);

/*
 * The pattern in p, compiled into arena where it is not known (known may be
 * NULL).  It costs the steps of compiling both times, so that limits are met at
 * the same place.  Valid until patterns_begin() or the end of arena, and as
 * long as p.  NULL with a reason for people.
 */
const struct pattern *pattern_of(struct patterns *known, struct arena *arena,
    const char *p, size_t n, const char **why);

/* Does it match anywhere in text? */
bool pattern_matches(const struct pattern *pattern, struct arena *arena,
    const char *text, size_t len);

#endif
