/*
 * Rego terms without variables, as text: JSON and sets ({1, 2}, set()), keys
 * of any type.
 */
#ifndef TESTS_REGO_TERM_H
#define TESTS_REGO_TERM_H

#include "policy/value/value.h"

/* NULL with err set. */
const struct value *rego_term_parse(struct arena *arena, const char *text,
    size_t len, char *err, size_t err_len);

#endif
