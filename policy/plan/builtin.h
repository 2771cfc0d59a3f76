/*
 * Builtin functions.  Each is a pure function of its arguments and the frozen
 * clock; it allocates in the evaluation's arena only, spends steps in
 * proportion to its work, and reports what it cannot do with eval_error() or
 * eval_type_error(), returning their NULL.
 */
#ifndef POLICY_PLAN_BUILTIN_H
#define POLICY_PLAN_BUILTIN_H

#include "policy/plan/eval.h"
#include "policy/value/number.h"
#include "policy/value/value.h"

struct builtin {
	const char *name;
	uint8_t min_args, max_args;
	const struct value *(*call)(struct eval *eval,
	    const struct value *const *args);
	bool clock;	/* depends on the moment of the decision */
};

/* NULL with why: "unknown", or why policy decisions must not have it. */
const struct builtin *builtin_find(const char *name, const char **why);

/* The tables, one a file in builtins/; each ends with a NULL name. */
extern const struct builtin builtins_aggregate[], builtins_arith[],
    builtins_array[], builtins_bits[], builtins_compare[], builtins_crypto[],
    builtins_encoding[], builtins_glob[], builtins_graph[], builtins_json[],
    builtins_jwt[], builtins_jwt_sign[], builtins_net[], builtins_object[], builtins_regex[],
    builtins_set[], builtins_string[], builtins_template[], builtins_text[],
    builtins_time[], builtins_type[], builtins_units[], builtins_x509[];

/* Is argument i of this kind?  Else reports a type error, false. */
bool builtin_want(struct eval *eval, const struct value *const *args,
    unsigned i, enum value_kind kind);
/* The same for integers as OPA sees them: spelled without point. */
bool builtin_want_int(struct eval *eval, const struct value *const *args,
    unsigned i, int64_t *out);

#endif
