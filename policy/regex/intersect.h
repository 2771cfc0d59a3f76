/*
 * Do two globs of regex.globs_match have a string in common?  Their syntax is
 * its own: '.', character classes [a-z], each perhaps with * or +; backslash.
 */
#ifndef POLICY_REGEX_INTERSECT_H
#define POLICY_REGEX_INTERSECT_H

#include "policy/value/arena.h"

/* 1, 0, or -1 with a reason. */
int glob_intersect(struct arena *arena, const char *a, size_t na,
    const char *b, size_t nb, const char **why);

#endif
