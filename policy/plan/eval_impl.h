/*
 * What the parts of the evaluator share: blocks (eval.c) run statements on values
 * (eval_simple.c) and calls (eval_call.c), which run blocks again.
 */
#ifndef POLICY_PLAN_EVAL_IMPL_H
#define POLICY_PLAN_EVAL_IMPL_H

#include "policy/plan/eval.h"
#include "policy/plan/recall.h"

/*
 * How a block ended: LEFT + n says that n more blocks are to be left, so an
 * undefined statement is LEFT, "break 1" is LEFT + 1 at its own block.
 */
enum { DONE = -2, RETURNED = -1, LEFT = 0 };

/* What a rule gave for this input and data; `with` changes the pointers. */
struct eval_memo {
	const struct value *input, *data, *result;
	bool known;
};

struct frame {
	const struct plan_func *func;
	const struct value **locals;
	const struct value *result;
};

static inline const struct value *
read_operand(const struct frame *frame, const struct operand *operand)
{
	return operand->constant != NULL ? operand->constant :
	    frame->locals[operand->local];
}

static inline void
enter(struct eval *eval)
{
	if (++eval->depth > EVAL_DEPTH_MAX)
		arena_fail(eval->arena, "depth limit of %d", EVAL_DEPTH_MAX);
}

/* Before two values are compared. */
static inline void
note_compares(struct eval *eval, const struct plan_stmt *stmt,
    const struct value *a, const struct value *b)
{
	if (stmt->compares && eval->recall != NULL)
		moving_compared(recall_moving(eval->recall), a, b);
}

/* How it ended, as above. */
int eval_block(struct eval *eval, struct frame *frame, const struct plan_block *block);

/* A function's value, NULL where it is undefined; args are its parameters. */
const struct value *eval_func(struct eval *eval, const struct plan_func *func,
    const struct value *const *args);
/* PLAN_CALL: true when it holds.  PLAN_CALL_DYNAMIC: how it ended. */
bool eval_call(struct eval *eval, struct frame *frame, const struct plan_stmt *stmt);
int eval_call_dynamic(struct eval *eval, struct frame *frame, const struct plan_stmt *stmt);

/* A statement that only looks at values and sets locals (its kind is less than
 * PLAN_SIMPLE): true when it holds. */
bool eval_simple(struct eval *eval, struct frame *frame, const struct plan_stmt *stmt);

#endif
