/*
 * Regular expressions of RE2's syntax (as Go's regexp has it) as programs:
 * no backreferences, no look-around, hence linear time.
 */
#ifndef POLICY_REGEX_REGEX_H
#define POLICY_REGEX_REGEX_H

#include "policy/regex/prog.h"

#define REGEX_GROUPS_MAX 99
#define REGEX_REPEAT_MAX 1000	/* as RE2's */
#define REGEX_DEPTH_MAX 200

struct regex {
	struct prog prog;
	uint32_t n_groups;		/* with group 0 */
	struct {
		const char *p;		/* NULL: has no name */
		size_t n;
	} names[REGEX_GROUPS_MAX + 1];
};

/* Into arena, with slots 2 * n_groups.  false with a reason for people. */
bool regex_compile(struct arena *arena, struct regex *regex,
    const char *pattern, size_t len, const char **why);

#endif
