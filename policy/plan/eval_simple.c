/* Statements that only look at values and set locals. */
#include "policy/plan/eval_impl.h"

static void __attribute__((noreturn))
conflict(struct eval *eval, const char *what)
{
	eval->status = EVAL_CONFLICT;
	arena_fail(eval->arena, "%s", what);
}

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

static bool
run_merge(struct eval *eval, struct frame *frame, const struct plan_stmt *stmt)
{
	const struct value *merged = merge_objects(eval, frame->locals[stmt->other],
	    frame->locals[stmt->third]);

	frame->locals[stmt->target] = merged;
	return merged != NULL;
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
	const struct value *value = read_operand(frame, &stmt->a);
	const struct value *key = read_operand(frame, &stmt->b);
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
	const struct value *value = read_operand(frame, &stmt->a);
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
	const struct value *source = read_operand(frame, &stmt->a);
	const struct value *key = read_operand(frame, &stmt->b), *found = NULL;

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
	const struct value *a = read_operand(frame, &stmt->a);
	const struct value *b = read_operand(frame, &stmt->b);
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
	const struct value *source = read_operand(frame, &stmt->a);

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
	const struct value *source = read_operand(frame, &stmt->a);

	if (old != NULL && source != NULL &&
	    value_compare(eval->arena, old, source) != 0)
		conflict(eval, "complete rules must not produce multiple "
		    "outputs");
	frame->locals[stmt->target] = source;
	return true;
}

/* Is the source what the statement asks for? */
static bool
run_test(const struct frame *frame, const struct plan_stmt *stmt)
{
	const struct value *v = read_operand(frame, &stmt->a);

	switch ((enum plan_kind)stmt->kind) {
	case PLAN_IS_ARRAY:
		return v != NULL && v->kind == VALUE_ARRAY;
	case PLAN_IS_OBJECT:
		return v != NULL && v->kind == VALUE_OBJECT;
	case PLAN_IS_SET:
		return v != NULL && v->kind == VALUE_SET;
	case PLAN_IS_DEFINED:
		return v != NULL;
	default:
		return v == NULL;	/* IsUndefinedStmt */
	}
}

/* What a local becomes whatever it was: a copy, a constant, something empty, or
 * nothing. */
static const struct value *
new_value(struct eval *eval, const struct frame *frame, const struct plan_stmt *stmt)
{
	switch ((enum plan_kind)stmt->kind) {
	case PLAN_ASSIGN_VAR:
		return read_operand(frame, &stmt->a);
	case PLAN_ASSIGN_INT:
	case PLAN_MAKE_NUMBER_INT:
	case PLAN_MAKE_NUMBER_REF:
		return stmt->constant;
	case PLAN_MAKE_NULL:
		return &value_null;
	case PLAN_MAKE_ARRAY:
		return value_array(eval->arena, stmt->other);
	case PLAN_MAKE_OBJECT:
		return value_object(eval->arena, 0);
	case PLAN_MAKE_SET:
		return value_set(eval->arena, 0);
	default:
		return NULL;	/* ResetLocalStmt */
	}
}

static bool
run_result(struct eval *eval, const struct frame *frame, const struct plan_stmt *stmt)
{
	const struct value *result = frame->locals[stmt->a.local];

	if (result != NULL)
		value_add(eval->arena, eval->results, result);
	return result != NULL;
}

bool
eval_simple(struct eval *eval, struct frame *frame,
    const struct plan_stmt *stmt)
{
	switch ((enum plan_kind)stmt->kind) {
	case PLAN_ARRAY_APPEND:
	case PLAN_SET_ADD:
		return run_append(eval, frame, stmt);
	case PLAN_OBJECT_INSERT:
	case PLAN_OBJECT_INSERT_ONCE:
		return run_insert(eval, frame, stmt);
	case PLAN_ASSIGN_VAR_ONCE:
		return run_assign_once(eval, frame, stmt);
	case PLAN_DOT:
		return run_dot(eval, frame, stmt);
	case PLAN_EQUAL:
	case PLAN_NOT_EQUAL:
		return run_equal(eval, frame, stmt);
	case PLAN_LEN:
		return run_len(eval, frame, stmt);
	case PLAN_IS_ARRAY:
	case PLAN_IS_OBJECT:
	case PLAN_IS_SET:
	case PLAN_IS_DEFINED:
	case PLAN_IS_UNDEFINED:
		return run_test(frame, stmt);
	case PLAN_OBJECT_MERGE:
		return run_merge(eval, frame, stmt);
	case PLAN_CALL:
		return eval_call(eval, frame, stmt);
	case PLAN_RESULT_SET_ADD:
		return run_result(eval, frame, stmt);
	case PLAN_NOP:
		return true;
	default:
		frame->locals[stmt->target] = new_value(eval, frame, stmt);
		return true;
	}
}
