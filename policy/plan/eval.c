#include <assert.h>
#include <string.h>

#include "policy/plan/eval_impl.h"

/* --- statements with blocks ------------------------------------------- */

/* Statuses of an inner block, seen from the block around it. */
static int
outward(int end)
{
	return end > LEFT ? end - 1 : end;
}

static int
run_blocks(struct eval *eval, struct frame *frame,
    const struct plan_stmt *stmt)
{
	uint32_t i;
	int end;

	for (i = 0; i < stmt->n_blocks; i++) {
		end = eval_block(eval, frame, &stmt->blocks[i]);
		if (end != DONE && end != LEFT)
			return outward(end);
	}
	return DONE;
}

static int
run_scan(struct eval *eval, struct frame *frame, const struct plan_stmt *stmt)
{
	const struct value *source = frame->locals[stmt->a.local];
	uint32_t i;
	int end;

	if (source == NULL || !value_is_collection(source))
		return DONE;
	value_sort(eval->arena, source);
	for (i = 0; i < source->col.n; i++) {
		frame->locals[stmt->other] = source->kind == VALUE_ARRAY ?
		    value_int(eval->arena, i) : value_key_at(source, i);
		frame->locals[stmt->third] = value_at(source, i);
		end = eval_block(eval, frame, &stmt->blocks[0]);
		if (end != DONE && end != LEFT)
			return outward(end);
	}
	return DONE;
}

static int
run_not(struct eval *eval, struct frame *frame, const struct plan_stmt *stmt)
{
	int end = eval_block(eval, frame, &stmt->blocks[0]);

	if (end == DONE)
		return LEFT;
	return end == LEFT ? DONE : outward(end);
}

static const struct value *
shallow_copy(struct eval *eval, const struct value *from)
{
	struct value *to = value_object(eval->arena, 8);
	uint32_t i;

	if (from == NULL || from->kind != VALUE_OBJECT)
		return to;
	value_sort(eval->arena, from);
	arena_step(eval->arena, from->col.n / 8);
	for (i = 0; i < from->col.n; i++)
		value_put(eval->arena, to, value_key_at(from, i),
		    value_at(from, i));
	return to;
}

/* base with the value at path, everything on the way copied. */
static const struct value *
upsert(struct eval *eval, const struct value *base,
    const struct value *const *path, uint32_t n, const struct value *value)
{
	const struct value *inner = NULL;
	struct value *copy;

	if (n == 0)
		return value;
	copy = (struct value *)(uintptr_t)shallow_copy(eval, base);
	if (base != NULL && base->kind == VALUE_OBJECT)
		inner = value_get(eval->arena, base, path[0]);
	value_put(eval->arena, copy, path[0],
	    upsert(eval, inner, path + 1, n - 1, value));
	return copy;
}

static int
run_with(struct eval *eval, struct frame *frame, const struct plan_stmt *stmt)
{
	const struct value *saved = frame->locals[stmt->target];
	const struct value *value = read_operand(frame, &stmt->a);
	int end;

	/* Whole documents may become undefined: so was the one put back. */
	if (value == NULL && stmt->n > 0)
		return LEFT;
	frame->locals[stmt->target] = upsert(eval, saved, stmt->path, stmt->n,
	    value);
	end = eval_block(eval, frame, &stmt->blocks[0]);
	frame->locals[stmt->target] = saved;
	return outward(end);
}

/* Before a statement that looks at numbers of the input, or compares. */
static void
note_looks(struct eval *eval, const struct plan_stmt *stmt)
{
	if (eval->recall != NULL)
		moving_looked_at(recall_moving(eval->recall), stmt->looks_at);
}

static int
run_stmt(struct eval *eval, struct frame *frame, const struct plan_stmt *stmt)
{
	if (stmt->kind < PLAN_SIMPLE)
		return eval_simple(eval, frame, stmt) ? DONE : LEFT;
	switch ((enum plan_kind)stmt->kind) {
	case PLAN_BLOCK:
		return run_blocks(eval, frame, stmt);
	case PLAN_SCAN:
		return run_scan(eval, frame, stmt);
	case PLAN_NOT:
		return run_not(eval, frame, stmt);
	case PLAN_WITH:
		return run_with(eval, frame, stmt);
	case PLAN_CALL_DYNAMIC:
		return eval_call_dynamic(eval, frame, stmt);
	case PLAN_BREAK:
		return LEFT + (int)stmt->other;
	case PLAN_RETURN_LOCAL:
		frame->result = frame->locals[stmt->a.local];
		return RETURNED;
	default:
		return DONE;	/* there are no others */
	}
}

int
eval_block(struct eval *eval, struct frame *frame,
    const struct plan_block *block)
{
	uint32_t i;
	int end = DONE;

	enter(eval);
	for (i = 0; i < block->n && end == DONE; i++) {
		const struct plan_stmt *stmt = &block->stmts[i];

		arena_step(eval->arena, 1);
		if (stmt->looks_at != 0)
			note_looks(eval, stmt);
		end = run_stmt(eval, frame, stmt);
		if (eval->trace != NULL)
			eval->trace(eval->trace_arg, frame->func, stmt,
			    frame->locals, end == DONE || end == RETURNED ||
			    stmt->kind == PLAN_BREAK);
	}
	eval->depth--;
	return end;
}

/* --- entry ------------------------------------------------------------ */

static void
prepare(struct eval *eval)
{
	size_t memo_size = eval->plan->n_funcs * sizeof(*eval->memo);

	eval->depth = 0;
	eval->status = EVAL_OK;
	eval->results = value_set(eval->arena, 0);
	eval->memo = arena_alloc(eval->arena, memo_size);
	memset(eval->memo, 0, memo_size);
	/* What rules read is found without running them (plan_reads.h): a plan
	 * that puts one part of the input into another would make that wrong. */
	value_fix(eval->arena, eval->input);
}

static void
run_entry(struct eval *eval, const struct plan_func *entry)
{
	struct frame frame = { .func = entry };
	uint32_t i;

	prepare(eval);
	frame.locals = arena_array(eval->arena, entry->n_locals,
	    sizeof(*frame.locals));
	memset(frame.locals, 0, entry->n_locals * sizeof(*frame.locals));
	frame.locals[entry->params[0]] = eval->input;
	frame.locals[entry->params[1]] = eval->data;
	for (i = 0; i < entry->n_blocks; i++)
		if (eval_block(eval, &frame, &entry->blocks[i]) == RETURNED)
			break;
	value_sort(eval->arena, eval->results);
}

enum eval_status
eval_run(struct eval *eval, const struct plan_func *entry)
{
	jmp_buf here, *outer = eval->arena->armed;

	if (setjmp(here) == 0) {
		eval->arena->armed = &here;
		run_entry(eval, entry);
	} else if (eval->status == EVAL_OK) {
		eval->status = EVAL_LIMIT;
	}
	eval->arena->armed = outer;
	return eval->status;
}

enum eval_status
eval_rule(struct eval *eval, const struct plan_func *rule,
    const struct value **result)
{
	const struct value *args[2] = { eval->input, eval->data };
	jmp_buf here, *outer = eval->arena->armed;

	assert(rule->n_params == 2);
	*result = NULL;
	if (setjmp(here) == 0) {
		eval->arena->armed = &here;
		prepare(eval);
		*result = eval_func(eval, rule, args);
	} else if (eval->status == EVAL_OK) {
		eval->status = EVAL_LIMIT;
	}
	eval->arena->armed = outer;
	return eval->status;
}
