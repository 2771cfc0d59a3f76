/* Calls: of functions, from what is known of earlier ones, and of builtins. */
#include <string.h>

#include "policy/plan/builtin.h"
#include "policy/plan/eval_impl.h"

#define ARGS_FEW 6	/* arguments of a call that need no memory of their own */

static const struct value *
run_func(struct eval *eval, const struct plan_func *func,
    const struct value *const *args)
{
	struct frame frame = { .func = func };
	uint32_t i;
	int end = DONE;

	enter(eval);
	arena_step(eval->arena, 1 + func->n_locals / 16);
	frame.locals = arena_array(eval->arena, func->n_locals,
	    sizeof(*frame.locals));
	memset(frame.locals, 0, func->n_locals * sizeof(*frame.locals));
	for (i = 0; i < func->n_params; i++) {
		value_fix(eval->arena, args[i]);
		frame.locals[func->params[i]] = args[i];
	}
	for (i = 0; i < func->n_blocks && end != RETURNED; i++)
		end = eval_block(eval, &frame, &func->blocks[i]);
	eval->depth--;
	value_fix(eval->arena, frame.result);
	return frame.result;
}

/* From an earlier decision, or run and kept for a later one. */
static const struct value *
recall_func(struct eval *eval, const struct plan_func *func,
    const struct value *const *args)
{
	uint64_t steps = eval->arena->steps;
	const struct value *result;
	struct recall_call call;

	if (recall_find(eval->recall, eval->arena, func, args, &call, &result,
	    &steps)) {
		arena_step(eval->arena, steps);
		return result;
	}
	result = run_func(eval, func, args);
	recall_keep(eval->recall, func, &call, result,
	    eval->arena->steps - steps);
	return result;
}

const struct value *
eval_func(struct eval *eval, const struct plan_func *func,
    const struct value *const *args)
{
	struct eval_memo *memo = NULL;
	const struct value *result;

	if (func->of_data_only && eval->facts != NULL &&
	    args[1] == eval->facts_of && eval->facts[func->index].known)
		return eval->facts[func->index].result;
	if (func->n_params == 2) {
		memo = &eval->memo[func->index];
		if (memo->known && memo->input == args[0] &&
		    memo->data == args[1])
			return memo->result;
	}
	if (eval->recall != NULL && func->n_params >= 2 &&
	    args[0] == eval->input && args[1] == eval->data)
		result = recall_func(eval, func, args);
	else
		result = run_func(eval, func, args);
	if (memo != NULL)
		*memo = (struct eval_memo){ args[0], args[1], result, true };
	return result;
}

static const struct value *
call_builtin(struct eval *eval, const struct builtin *builtin,
    const struct value *const *args)
{
	const struct value *result;

	eval->status = EVAL_OK;
	eval->builtin = builtin->name;
	result = builtin->call(eval, args);
	if (eval->status == EVAL_OK)
		return result;
	if (eval->strict)
		arena_fail(eval->arena, "%s: %s", builtin->name, eval->error);
	eval->status = EVAL_OK;
	return NULL;
}

bool
eval_call(struct eval *eval, struct frame *frame, const struct plan_stmt *stmt)
{
	const struct value *few[ARGS_FEW] = { NULL }, **args = few, *result;
	uint32_t i;

	if (stmt->n > ARGS_FEW)
		args = arena_array(eval->arena, stmt->n, sizeof(*args));
	for (i = 0; i < stmt->n; i++) {
		args[i] = read_operand(frame, &stmt->operands[i]);
		/* input and data may be undefined; other arguments may not */
		if (args[i] == NULL && (stmt->builtin != NULL || i > 1))
			return false;
	}
	note_compares(eval, stmt, args[0], args[1]);
	result = stmt->builtin != NULL ?
	    call_builtin(eval, stmt->builtin, args) :
	    eval_func(eval, stmt->func, args);
	frame->locals[stmt->target] = result;
	return result != NULL;
}

/* A rule whose path is known only now.  No such rule: undefined, and the
 * block goes on to the base document; an undefined rule: leave it all. */
int
eval_call_dynamic(struct eval *eval, struct frame *frame,
    const struct plan_stmt *stmt)
{
	struct value *path = value_array(eval->arena, stmt->n);
	const struct value *args[2], *part, *index;
	uint32_t i;

	for (i = 0; i < stmt->n; i++) {
		if ((part = read_operand(frame, &stmt->operands[i])) == NULL)
			return LEFT;
		value_append(eval->arena, path, part);
	}
	index = value_get(eval->arena, eval->plan->by_path, path);
	if (index == NULL ||
	    eval->plan->funcs[index->num.i].n_params != 2)
		return LEFT;
	args[0] = frame->locals[stmt->other];
	args[1] = frame->locals[stmt->third];
	frame->locals[stmt->target] = eval_func(eval,
	    &eval->plan->funcs[index->num.i], args);
	return frame->locals[stmt->target] != NULL ? DONE : LEFT + 3;
}
