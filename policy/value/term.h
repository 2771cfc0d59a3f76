/*
 * Rego terms without variables, as text: JSON and sets ({1, 2}, set()), keys
 * of any type.
 */
#ifndef POLICY_VALUE_TERM_H
#define POLICY_VALUE_TERM_H

#include "policy/value/value.h"

/* NULL with err set. */
const struct value *term_parse(struct arena *arena, const char *text,
    size_t len, char *err, size_t err_len);

#endif
