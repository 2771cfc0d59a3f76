#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "policy/plan/builtin.h"
#include "policy/plan/eval.h"
#include "policy/plan/recall.h"

/*
 * How a block ended: LEFT + n says that n more blocks are to be left, so an
 * undefined statement is LEFT, "break 1" is LEFT + 1 at its own block.
 */
enum { DONE = -2, RETURNED = -1, LEFT = 0 };

#define ARGS_FEW 6	/* arguments of a call that need no memory of their own */

enum memo_state { MEMO_EMPTY, MEMO_RUNNING, MEMO_KNOWN };

/* What a rule gave for this input and data; `with` changes the pointers. */
struct eval_memo {
	const struct value *input, *data, *result;
	enum memo_state state;
};

struct frame {
	const struct plan_func *func;
	const struct value **locals;
	const struct value *result;
};

static int run_block(struct eval *, struct frame *, const struct plan_block *);

const struct value *
eval_error(struct eval *eval, const char *format, ...)
{
	va_list ap;

	eval->status = EVAL_BUILTIN_ERROR;
	if (eval->strict) {
		va_start(ap, format);
		vsnprintf(eval->error, sizeof(eval->error), format, ap);
		va_end(ap);
	}
	return NULL;
}

const struct value *
eval_operand_error(struct eval *eval, unsigned operand, const char *format, ...)
{
	char what[160];
	va_list ap;

	va_start(ap, format);
	vsnprintf(what, sizeof(what), format, ap);
	va_end(ap);
	eval_error(eval, "operand %u %s", operand, what);
	eval->status = EVAL_TYPE_ERROR;
	return NULL;
}

const struct value *
eval_type_error(struct eval *eval, unsigned operand, const char *wanted,
    const struct value *got)
{
	const char *name = value_type_name(got);

	eval_error(eval, "operand %u must be %s%s%s but got %s", operand,
	    strchr(wanted, ',') != NULL ? "one of {" : "", wanted,
	    strchr(wanted, ',') != NULL ? "}" : "", name);
	eval->status = EVAL_TYPE_ERROR;
	return NULL;
}

static void __attribute__((noreturn))
conflict(struct eval *eval, const char *what)
{
	eval->status = EVAL_CONFLICT;
	arena_fail(eval->arena, "%s", what);
}

static const struct value *
read(const struct frame *frame, const struct operand *operand)
{
	return operand->constant != NULL ? operand->constant :
	    frame->locals[operand->local];
}

static void
enter(struct eval *eval)
{
	if (++eval->depth > EVAL_DEPTH_MAX)
		arena_fail(eval->arena, "depth limit of %d", EVAL_DEPTH_MAX);
}

/* Before a statement that looks at numbers of the input, or compares. */
static void
note_looks(struct eval *eval, const struct plan_stmt *stmt)
{
	if (eval->recall != NULL)
		moving_looked_at(recall_moving(eval->recall), stmt->looks_at);
}

static void
note_compares(struct eval *eval, const struct plan_stmt *stmt,
    const struct value *a, const struct value *b)
{
	if (stmt->compares && eval->recall != NULL)
		moving_compared(recall_moving(eval->recall), a, b);
}

/* --- calls ------------------------------------------------------------ */

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
		end = run_block(eval, &frame, &func->blocks[i]);
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

static const struct value *
call_func(struct eval *eval, const struct plan_func *func,
    const struct value *const *args)
{
	struct eval_memo *memo = NULL;
	const struct value *result;

	if (func->of_data_only && eval->facts != NULL &&
	    args[1] == eval->facts_of && eval->facts[func->index].known)
		return eval->facts[func->index].result;
	if (func->n_params == 2) {
		memo = &eval->memo[func->index];
		if (memo->state == MEMO_KNOWN && memo->input == args[0] &&
		    memo->data == args[1])
			return memo->result;
	}
	if (eval->recall != NULL && func->n_params >= 2 &&
	    args[0] == eval->input && args[1] == eval->data)
		result = recall_func(eval, func, args);
	else
		result = run_func(eval, func, args);
	if (memo != NULL)
		*memo = (struct eval_memo){ args[0], args[1], result,
		    MEMO_KNOWN };
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

static bool
run_call(struct eval *eval, struct frame *frame, const struct plan_stmt *stmt)
{
	const struct value *few[ARGS_FEW] = { NULL }, **args = few, *result;
	uint32_t i;

	if (stmt->n > ARGS_FEW)
		args = arena_array(eval->arena, stmt->n, sizeof(*args));
	for (i = 0; i < stmt->n; i++) {
		args[i] = read(frame, &stmt->operands[i]);
		/* input and data may be undefined; other arguments may not */
		if (args[i] == NULL && (stmt->builtin != NULL || i > 1))
			return false;
	}
	note_compares(eval, stmt, args[0], args[1]);
	result = stmt->builtin != NULL ?
	    call_builtin(eval, stmt->builtin, args) :
	    call_func(eval, stmt->func, args);
	frame->locals[stmt->target] = result;
	return result != NULL;
}

/* A rule whose path is known only now.  No such rule: undefined, and the
 * block goes on to the base document; an undefined rule: leave it all. */
static int
run_call_dynamic(struct eval *eval, struct frame *frame,
    const struct plan_stmt *stmt)
{
	struct value *path = value_array(eval->arena, stmt->n);
	const struct value *args[2], *part, *index;
	uint32_t i;

	for (i = 0; i < stmt->n; i++) {
		if ((part = read(frame, &stmt->operands[i])) == NULL)
			return LEFT;
		value_append(eval->arena, path, part);
	}
	index = value_get(eval->arena, eval->plan->by_path, path);
	if (index == NULL ||
	    eval->plan->funcs[index->num.i].n_params != 2)
		return LEFT;
	args[0] = frame->locals[stmt->other];
	args[1] = frame->locals[stmt->third];
	frame->locals[stmt->target] = call_func(eval,
	    &eval->plan->funcs[index->num.i], args);
	return frame->locals[stmt->target] != NULL ? DONE : LEFT + 3;
}

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
		end = run_block(eval, frame, &stmt->blocks[i]);
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
		end = run_block(eval, frame, &stmt->blocks[0]);
		if (end != DONE && end != LEFT)
			return outward(end);
	}
	return DONE;
}

static int
run_not(struct eval *eval, struct frame *frame, const struct plan_stmt *stmt)
{
	int end = run_block(eval, frame, &stmt->blocks[0]);

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
	const struct value *value = read(frame, &stmt->a);
	int end;

	/* Whole documents may become undefined: so was the one put back. */
	if (value == NULL && stmt->n > 0)
		return LEFT;
	frame->locals[stmt->target] = upsert(eval, saved, stmt->path, stmt->n,
	    value);
	end = run_block(eval, frame, &stmt->blocks[0]);
	frame->locals[stmt->target] = saved;
	return outward(end);
}

/* --- statements on values --------------------------------------------- */

static struct value *
writable(struct eval *eval, const struct frame *frame, uint32_t local,
    enum value_kind kind)
{
	const struct value *v = frame->locals[local];

	if (v == NULL || v->kind != kind)
		arena_fail(eval->arena, "the plan builds on a value of the "
		    "wrong type");
	return (struct value *)(uintptr_t)v;
}

static const struct value *
merge_objects(struct eval *eval, const struct value *a, const struct value *b)
{
	struct value *out;
	const struct value *other, *key;
	uint32_t i;

	if (a == NULL)
		return b;
	if (b == NULL || a->kind != VALUE_OBJECT || b->kind != VALUE_OBJECT)
		return a;
	enter(eval);
	arena_step(eval->arena, a->col.n + b->col.n);
	out = value_object(eval->arena, a->col.n + b->col.n);
	value_sort(eval->arena, a);
	value_sort(eval->arena, b);
	for (i = 0; i < b->col.n; i++)
		value_put(eval->arena, out, value_key_at(b, i),
		    value_at(b, i));
	for (i = 0; i < a->col.n; i++) {
		key = value_key_at(a, i);
		other = value_get(eval->arena, b, key);
		value_put(eval->arena, out, key, other == NULL ?
		    value_at(a, i) : merge_objects(eval, value_at(a, i),
		    other));
	}
	eval->depth--;
	return out;
}

static void
insert_once(struct eval *eval, struct value *object, const struct value *key,
    const struct value *value)
{
	const struct value *old = value_get(eval->arena, object, key);

	if (old != NULL && value_compare(eval->arena, old, value) != 0)
		conflict(eval, "object keys must be unique");
	value_put(eval->arena, object, key, value);
}

static bool
run_insert(struct eval *eval, struct frame *frame,
    const struct plan_stmt *stmt)
{
	const struct value *value = read(frame, &stmt->a);
	const struct value *key = read(frame, &stmt->b);
	struct value *object = writable(eval, frame, stmt->target,
	    VALUE_OBJECT);

	if (value == NULL || key == NULL)
		return false;
	if (stmt->kind == PLAN_OBJECT_INSERT_ONCE)
		insert_once(eval, object, key, value);
	else
		value_put(eval->arena, object, key, value);
	return true;
}

static bool
run_append(struct eval *eval, struct frame *frame,
    const struct plan_stmt *stmt)
{
	const struct value *value = read(frame, &stmt->a);
	struct value *to = writable(eval, frame, stmt->target,
	    stmt->kind == PLAN_SET_ADD ? VALUE_SET : VALUE_ARRAY);

	if (value == NULL)
		return false;
	if (stmt->kind == PLAN_SET_ADD)
		value_add(eval->arena, to, value);
	else
		value_append(eval->arena, to, value);
	return true;
}

/* A number as a key of the data document. */
static const struct value *
get_by_spelling(struct arena *arena, const struct value *source,
    const struct value *key)
{
	struct buf text = { .arena = arena };

	if (source == NULL || source->kind != VALUE_OBJECT)
		return NULL;
	value_to_json(&text, key, 0);
	return value_get(arena, source, buf_value(&text));
}

static bool
run_dot(struct eval *eval, struct frame *frame, const struct plan_stmt *stmt)
{
	const struct value *source = read(frame, &stmt->a);
	const struct value *key = read(frame, &stmt->b), *found = NULL;

	if (source != NULL && key != NULL)
		found = value_get(eval->arena, source, key);
	if (found == NULL && stmt->of_base_data && key != NULL &&
	    key->kind == VALUE_NUMBER)
		found = get_by_spelling(eval->arena, source, key);
	frame->locals[stmt->target] = found;
	return found != NULL;
}

static bool
run_equal(struct eval *eval, struct frame *frame, const struct plan_stmt *stmt)
{
	const struct value *a = read(frame, &stmt->a);
	const struct value *b = read(frame, &stmt->b);
	bool equal = a == b;

	if (!equal && a != NULL && b != NULL) {
		note_compares(eval, stmt, a, b);
		equal = value_compare(eval->arena, a, b) == 0;
	}
	return equal == (stmt->kind == PLAN_EQUAL);
}

static bool
run_len(struct eval *eval, struct frame *frame, const struct plan_stmt *stmt)
{
	const struct value *source = read(frame, &stmt->a);

	if (source == NULL || (!value_is_collection(source) &&
	    source->kind != VALUE_STRING))
		return false;
	frame->locals[stmt->target] = value_int(eval->arena,
	    source->kind == VALUE_STRING ? (int64_t)source->str.n :
	    (int64_t)source->col.n);
	return true;
}

static bool
run_assign_once(struct eval *eval, struct frame *frame,
    const struct plan_stmt *stmt)
{
	const struct value *old = frame->locals[stmt->target];
	const struct value *source = read(frame, &stmt->a);

	if (old != NULL && source != NULL &&
	    value_compare(eval->arena, old, source) != 0)
		conflict(eval, "complete rules must not produce multiple "
		    "outputs");
	frame->locals[stmt->target] = source;
	return true;
}

static bool
is_kind(const struct frame *frame, const struct plan_stmt *stmt,
    enum value_kind kind)
{
	const struct value *v = read(frame, &stmt->a);

	return v != NULL && v->kind == kind;
}

/* Statements that only look at values and set locals: true when they hold. */
static bool
run_simple(struct eval *eval, struct frame *frame,
    const struct plan_stmt *stmt)
{
	const struct value **target = &frame->locals[stmt->target];

	switch ((enum plan_kind)stmt->kind) {
	case PLAN_ARRAY_APPEND:
	case PLAN_SET_ADD:
		return run_append(eval, frame, stmt);
	case PLAN_OBJECT_INSERT:
	case PLAN_OBJECT_INSERT_ONCE:
		return run_insert(eval, frame, stmt);
	case PLAN_ASSIGN_VAR:
		*target = read(frame, &stmt->a);
		return true;
	case PLAN_ASSIGN_VAR_ONCE:
		return run_assign_once(eval, frame, stmt);
	case PLAN_ASSIGN_INT:
	case PLAN_MAKE_NUMBER_INT:
	case PLAN_MAKE_NUMBER_REF:
		*target = stmt->constant;
		return true;
	case PLAN_MAKE_NULL:
		*target = &value_null;
		return true;
	case PLAN_MAKE_ARRAY:
		*target = value_array(eval->arena, stmt->other);
		return true;
	case PLAN_MAKE_OBJECT:
		*target = value_object(eval->arena, 0);
		return true;
	case PLAN_MAKE_SET:
		*target = value_set(eval->arena, 0);
		return true;
	case PLAN_RESET_LOCAL:
		*target = NULL;
		return true;
	case PLAN_DOT:
		return run_dot(eval, frame, stmt);
	case PLAN_EQUAL:
	case PLAN_NOT_EQUAL:
		return run_equal(eval, frame, stmt);
	case PLAN_LEN:
		return run_len(eval, frame, stmt);
	case PLAN_IS_ARRAY:
		return is_kind(frame, stmt, VALUE_ARRAY);
	case PLAN_IS_OBJECT:
		return is_kind(frame, stmt, VALUE_OBJECT);
	case PLAN_IS_SET:
		return is_kind(frame, stmt, VALUE_SET);
	case PLAN_IS_DEFINED:
		return frame->locals[stmt->a.local] != NULL;
	case PLAN_IS_UNDEFINED:
		return frame->locals[stmt->a.local] == NULL;
	case PLAN_OBJECT_MERGE:
		*target = merge_objects(eval, frame->locals[stmt->other],
		    frame->locals[stmt->third]);
		return *target != NULL;
	case PLAN_CALL:
		return run_call(eval, frame, stmt);
	case PLAN_RESULT_SET_ADD:
		if (frame->locals[stmt->a.local] == NULL)
			return false;
		value_add(eval->arena, eval->results,
		    frame->locals[stmt->a.local]);
		return true;
	default:
		return true;	/* NopStmt */
	}
}

static int
run_stmt(struct eval *eval, struct frame *frame, const struct plan_stmt *stmt)
{
	if (stmt->kind < PLAN_SIMPLE)
		return run_simple(eval, frame, stmt) ? DONE : LEFT;
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
		return run_call_dynamic(eval, frame, stmt);
	case PLAN_BREAK:
		return LEFT + (int)stmt->other;
	case PLAN_RETURN_LOCAL:
		frame->result = frame->locals[stmt->a.local];
		return RETURNED;
	default:
		return DONE;	/* there are no others */
	}
}

static int
run_block(struct eval *eval, struct frame *frame,
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
		if (run_block(eval, &frame, &entry->blocks[i]) == RETURNED)
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
		*result = call_func(eval, rule, args);
	} else if (eval->status == EVAL_OK) {
		eval->status = EVAL_LIMIT;
	}
	eval->arena->armed = outer;
	return eval->status;
}
