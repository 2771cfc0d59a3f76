/*
 * Globs as OPA's glob.match has them: * and ? stop at delimiters, ** does not,
 * [a-z], [!abc], {a,b,c*}, \ before a character that means itself.
 */
#ifndef POLICY_REGEX_GLOB_H
#define POLICY_REGEX_GLOB_H

#include "policy/regex/prog.h"

/* false with a reason for people. */
bool glob_compile(struct prog *prog, const char *pattern, size_t len,
    const uint32_t *delimiters, uint32_t n_delimiters, const char **why);

#endif
