/*
 * Runs plans.  One evaluation belongs to one thread; the plan and the pack's
 * data are shared and unchanged.
 */
#ifndef POLICY_PLAN_EVAL_H
#define POLICY_PLAN_EVAL_H

#include "policy/plan/plan.h"
#include "policy/value/value.h"

#define EVAL_DEPTH_MAX 1500	/* blocks within calls within blocks */

enum eval_status {
	EVAL_OK,
	EVAL_BUILTIN_ERROR,	/* eval_builtin_error of OPA */
	EVAL_TYPE_ERROR,	/* eval_type_error */
	EVAL_CONFLICT,		/* eval_conflict_error */
	EVAL_LIMIT		/* memory, steps, depth */
};

struct eval_memo;

struct eval_fact {
	bool known;
	const struct value *result;	/* NULL: undefined */
};

struct eval {
	/* Set by the caller. */
	struct arena *arena;
	const struct plan *plan;
	const struct value *input;	/* NULL: undefined */
	const struct value *data;
	/* What rules of data alone gave for exactly this data, by function;
	 * NULL: not known. */
	const struct eval_fact *facts;
	const struct value *facts_of;
	struct recall *recall;	/* of earlier decisions; NULL: none (recall.h) */
	struct patterns *patterns;	/* the same (policy/regex/pattern.h) */
	int64_t now_ns;
	bool strict;		/* a builtin's error ends the evaluation */
	/* Called when a statement is done; NULL: nobody watches. */
	void (*trace)(void *arg, const struct plan_func *func,
	    const struct plan_stmt *stmt, const struct value *const *locals,
	    bool held);
	void *trace_arg;

	/* The evaluator's own. */
	enum eval_status status;	/* of a builtin that just failed */
	char error[200];
	const char *builtin;		/* which one runs */
	struct eval_memo *memo;
	struct value *results;
	unsigned depth;
};

/*
 * Run an entry point: the results are a set of objects, in eval->results.
 * What goes wrong is in eval->status and, worded, in eval->arena->message.
 */
enum eval_status eval_run(struct eval *eval, const struct plan_func *entry);

/* The same for one function of input and data; its value in *result. */
enum eval_status eval_rule(struct eval *eval, const struct plan_func *rule,
    const struct value **result);

/* For builtins: NULL, after noting the error. */
const struct value *eval_error(struct eval *eval, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* "operand 2 ..." of a value that is of the right type but will not do; counts
 * as a type error, as in OPA. */
const struct value *eval_operand_error(struct eval *eval, unsigned operand,
    const char *format, ...) __attribute__((format(printf, 3, 4)));
/* "operand 2 must be one of {a, b} but got number". */
const struct value *eval_type_error(struct eval *eval, unsigned operand,
    const char *wanted, const struct value *got);

#endif
