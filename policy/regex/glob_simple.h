/*
 * Globs without brackets and braces, over ASCII: matched where they stand,
 * nothing compiled, nothing allocated.
 */
#ifndef POLICY_REGEX_GLOB_SIMPLE_H
#define POLICY_REGEX_GLOB_SIMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 1 or 0; -1: not one of the simple ones, compile it. */
int glob_simple(const char *pattern, size_t len, const uint32_t *delimiters,
    uint32_t n_delimiters, const char *text, size_t text_len);

#endif
