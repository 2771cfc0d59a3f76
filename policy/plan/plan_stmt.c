/* Statements of a plan, by tables of what each kind carries and how that is loaded. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "policy/plan/builtin.h"
#include "policy/plan/plan_load.h"

static const char *const kind_names[PLAN_KINDS] = {
	[PLAN_ARRAY_APPEND] = "ArrayAppendStmt",
	[PLAN_ASSIGN_INT] = "AssignIntStmt",
	[PLAN_ASSIGN_VAR_ONCE] = "AssignVarOnceStmt",
	[PLAN_ASSIGN_VAR] = "AssignVarStmt",
	[PLAN_BLOCK] = "BlockStmt",
	[PLAN_BREAK] = "BreakStmt",
	[PLAN_CALL_DYNAMIC] = "CallDynamicStmt",
	[PLAN_CALL] = "CallStmt",
	[PLAN_DOT] = "DotStmt",
	[PLAN_EQUAL] = "EqualStmt",
	[PLAN_IS_ARRAY] = "IsArrayStmt",
	[PLAN_IS_DEFINED] = "IsDefinedStmt",
	[PLAN_IS_OBJECT] = "IsObjectStmt",
	[PLAN_IS_SET] = "IsSetStmt",
	[PLAN_IS_UNDEFINED] = "IsUndefinedStmt",
	[PLAN_LEN] = "LenStmt",
	[PLAN_MAKE_ARRAY] = "MakeArrayStmt",
	[PLAN_MAKE_NULL] = "MakeNullStmt",
	[PLAN_MAKE_NUMBER_INT] = "MakeNumberIntStmt",
	[PLAN_MAKE_NUMBER_REF] = "MakeNumberRefStmt",
	[PLAN_MAKE_OBJECT] = "MakeObjectStmt",
	[PLAN_MAKE_SET] = "MakeSetStmt",
	[PLAN_NOP] = "NopStmt",
	[PLAN_NOT_EQUAL] = "NotEqualStmt",
	[PLAN_NOT] = "NotStmt",
	[PLAN_OBJECT_INSERT_ONCE] = "ObjectInsertOnceStmt",
	[PLAN_OBJECT_INSERT] = "ObjectInsertStmt",
	[PLAN_OBJECT_MERGE] = "ObjectMergeStmt",
	[PLAN_RESET_LOCAL] = "ResetLocalStmt",
	[PLAN_RESULT_SET_ADD] = "ResultSetAddStmt",
	[PLAN_RETURN_LOCAL] = "ReturnLocalStmt",
	[PLAN_SCAN] = "ScanStmt",
	[PLAN_SET_ADD] = "SetAddStmt",
	[PLAN_WITH] = "WithStmt",
};

/* --- fields that are more than a local or an operand ------------------ */

static bool
load_block_field(struct loader *l, const struct value *v,
    struct plan_stmt *stmt)
{
	const struct value *block = value_member(v, "block");
	struct value *one;

	if (block == NULL || block->kind == VALUE_NULL) {
		block = value_object(l->paper, 0);
	}
	one = value_array(l->paper, 1);
	value_append(l->paper, one, block);
	return plan_load_blocks(l, one, 1, stmt);
}

static void
hands_input_to(struct loader *l, const struct plan_func *to)
{
	struct edge *grown;

	if (l->n_edges == l->cap_edges) {
		l->cap_edges = l->cap_edges < 64 ? 64 : l->cap_edges * 2;
		grown = arena_array(l->paper, l->cap_edges, sizeof(*grown));
		if (l->n_edges > 0)
			memcpy(grown, l->edges, l->n_edges * sizeof(*grown));
		l->edges = grown;
	}
	l->edges[l->n_edges++] = (struct edge){ l->now, to };
}

/* Handing the input on is no use of it; whether it is used shows later. */
static bool
passes_input(const struct plan_stmt *stmt)
{
	return stmt->n > 0 && stmt->operands[0].constant == NULL &&
	    stmt->operands[0].local == 0;
}

static bool
load_func_name(struct loader *l, const struct value *v, struct plan_stmt *stmt)
{
	const struct value *name = value_member(v, "func"), *index;
	uint32_t i;

	if (name == NULL || name->kind != VALUE_STRING)
		return refuse(l, "func is not a string");
	if ((index = value_get(l->arena, l->func_index, name)) != NULL) {
		stmt->func = &l->plan->funcs[index->num.i];
		if (stmt->n != stmt->func->n_params)
			return refuse(l, "%s takes %u arguments, not %u",
			    stmt->func->name, stmt->func->n_params, stmt->n);
		if (passes_input(stmt))
			hands_input_to(l, stmt->func);
		return true;
	}
	for (i = 0; i < l->plan->n_builtins; i++) {
		if (!value_is_text(name, l->plan->builtins[i]->name))
			continue;
		stmt->builtin = l->plan->builtins[i];
		if (stmt->n < stmt->builtin->min_args ||
		    stmt->n > stmt->builtin->max_args)
			return refuse(l, "%s called with %u arguments",
			    stmt->builtin->name, stmt->n);
		if (passes_input(stmt) || stmt->builtin->clock)
			l->uses_input = true;
		return true;
	}
	return refuse(l, "call of %.*s, which is neither declared nor defined",
	    (int)(name->str.n < 80 ? name->str.n : 80), name->str.p);
}

static bool
load_operands(struct loader *l, const struct value *v, const char *name,
    struct plan_stmt *stmt)
{
	const struct value *items;
	bool used = l->uses_input;
	uint32_t i;

	if (!plan_array_of(l, v, name, &items, &stmt->n))
		return false;
	if (stmt->n > PLAN_ARGS_MAX)
		return refuse(l, "more than %d in %s", PLAN_ARGS_MAX, name);
	stmt->operands = arena_array(l->arena, stmt->n,
	    sizeof(*stmt->operands));
	for (i = 0; i < stmt->n; i++) {
		if (!plan_operand_from(l, value_at(items, i), &stmt->operands[i]))
			return false;
		if (i == 0)
			l->uses_input = used;
	}
	return true;
}

/* The arguments are input and data, as a rule wants them. */
static bool
load_dynamic_args(struct loader *l, const struct value *v,
    struct plan_stmt *stmt)
{
	const struct value *items;
	uint32_t n;

	if (!plan_array_of(l, v, "args", &items, &n))
		return false;
	if (n != 2)
		return refuse(l, "a dynamic call takes input and data");
	l->uses_input = true;
	return plan_local_from(l, value_at(items, 0), &stmt->other) &&
	    plan_local_from(l, value_at(items, 1), &stmt->third);
}

static bool
load_path(struct loader *l, const struct value *v, struct plan_stmt *stmt)
{
	const struct value *items;
	uint32_t i;

	if (!plan_array_of(l, v, "path", &items, &stmt->n))
		return false;
	stmt->path = arena_array(l->arena, stmt->n, sizeof(*stmt->path));
	for (i = 0; i < stmt->n; i++)
		if (!plan_string_at(l, value_at(items, i), &stmt->path[i]))
			return false;
	return true;
}

static bool
load_number_ref(struct loader *l, const struct value *v,
    struct plan_stmt *stmt)
{
	const struct value *index = value_member(v, "index"), *text;

	if (index == NULL)
		index = value_member(v, "Index");
	if (!plan_string_at(l, index, &text))
		return false;
	if (num_scan(text->str.p, text->str.n) != text->str.n ||
	    text->str.n == 0)
		return refuse(l, "a number that is none");
	stmt->constant = value_number(l->arena, text->str.p, text->str.n);
	value_freeze(l->arena, stmt->constant);
	return true;
}

static bool
load_value_int(struct loader *l, const struct value *v, struct plan_stmt *stmt)
{
	int64_t i;

	if (!plan_int_of(l, v, "value", INT64_MIN, INT64_MAX, &i))
		return false;
	stmt->constant = value_int(l->arena, i);
	value_freeze(l->arena, stmt->constant);
	return true;
}

static bool
load_small(struct loader *l, const struct value *v, const char *name,
    int64_t max, uint32_t *out)
{
	int64_t i;

	if (!plan_int_of(l, v, name, 0, max, &i))
		return false;
	*out = (uint32_t)i;
	return true;
}

static bool
load_index(struct loader *l, const struct value *v, struct plan_stmt *stmt)
{
	return load_small(l, v, "index", PLAN_NEST_MAX, &stmt->other);
}

static bool
load_capacity(struct loader *l, const struct value *v, struct plan_stmt *stmt)
{
	return load_small(l, v, "capacity", 1 << 20, &stmt->other);
}

static bool
load_args(struct loader *l, const struct value *v, struct plan_stmt *stmt)
{
	return load_operands(l, v, "args", stmt);
}

static bool
load_dynamic_path(struct loader *l, const struct value *v, struct plan_stmt *stmt)
{
	return load_operands(l, v, "path", stmt);
}

static bool
load_blocks_field(struct loader *l, const struct value *v, struct plan_stmt *stmt)
{
	const struct value *items;

	return plan_array_of(l, v, "blocks", &items, &stmt->n_blocks) &&
	    plan_load_blocks(l, items, stmt->n_blocks, stmt);
}

/* --- what each kind carries ------------------------------------------- */

enum field {
	F_END, F_TARGET, F_ARRAY, F_OBJECT, F_SET, F_RESULT, F_LOCAL, F_SOURCE,
	F_SOURCE_LOCAL, F_VALUE, F_VALUE_LOCAL, F_VALUE_INT, F_KEY, F_A, F_B,
	F_A_LOCAL, F_B_LOCAL, F_INDEX, F_NUMBER_REF, F_CAPACITY, F_BLOCK,
	F_BLOCKS, F_FUNC, F_ARGS, F_DYNAMIC_PATH, F_DYNAMIC_ARGS, F_PATH,
	F_SCAN_KEY, F_SCAN_VALUE
};

/* How a field is loaded: by a function, or the member of this name as a local or an
 * operand of the statement. */
struct field_form {
	const char *name;
	enum { OF_LOCAL, OF_OPERAND } of;
	size_t at;
	bool (*load)(struct loader *l, const struct value *v, struct plan_stmt *stmt);
};

#define LOCAL(name, member) { name, OF_LOCAL, offsetof(struct plan_stmt, member), NULL }
#define OPERAND(name, member) { name, OF_OPERAND, offsetof(struct plan_stmt, member), NULL }
#define BY(function) { .load = function }

static const struct field_form forms[] = {
	[F_TARGET] = LOCAL("target", target),
	[F_ARRAY] = LOCAL("array", target),
	[F_OBJECT] = LOCAL("object", target),
	[F_SET] = LOCAL("set", target),
	[F_RESULT] = LOCAL("result", target),
	[F_LOCAL] = LOCAL("local", target),
	[F_SOURCE] = OPERAND("source", a),
	[F_SOURCE_LOCAL] = LOCAL("source", a.local),
	[F_VALUE] = OPERAND("value", a),
	[F_VALUE_LOCAL] = LOCAL("value", a.local),
	[F_VALUE_INT] = BY(load_value_int),
	[F_KEY] = OPERAND("key", b),
	[F_A] = OPERAND("a", a),
	[F_B] = OPERAND("b", b),
	[F_A_LOCAL] = LOCAL("a", other),
	[F_B_LOCAL] = LOCAL("b", third),
	[F_INDEX] = BY(load_index),
	[F_NUMBER_REF] = BY(load_number_ref),
	[F_CAPACITY] = BY(load_capacity),
	[F_BLOCK] = BY(load_block_field),
	[F_BLOCKS] = BY(load_blocks_field),
	[F_FUNC] = BY(load_func_name),
	[F_ARGS] = BY(load_args),
	[F_DYNAMIC_PATH] = BY(load_dynamic_path),
	[F_DYNAMIC_ARGS] = BY(load_dynamic_args),
	[F_PATH] = BY(load_path),
	[F_SCAN_KEY] = LOCAL("key", other),
	[F_SCAN_VALUE] = LOCAL("value", third),
};

static const uint8_t fields[PLAN_KINDS][6] = {
	[PLAN_ARRAY_APPEND] = { F_ARRAY, F_VALUE },
	[PLAN_ASSIGN_INT] = { F_TARGET, F_VALUE_INT },
	[PLAN_ASSIGN_VAR_ONCE] = { F_TARGET, F_SOURCE },
	[PLAN_ASSIGN_VAR] = { F_TARGET, F_SOURCE },
	[PLAN_BLOCK] = { F_BLOCKS },
	[PLAN_BREAK] = { F_INDEX },
	[PLAN_CALL_DYNAMIC] = { F_DYNAMIC_PATH, F_DYNAMIC_ARGS, F_RESULT },
	[PLAN_CALL] = { F_ARGS, F_FUNC, F_RESULT },
	[PLAN_DOT] = { F_SOURCE, F_KEY, F_TARGET },
	[PLAN_EQUAL] = { F_A, F_B },
	[PLAN_IS_ARRAY] = { F_SOURCE },
	[PLAN_IS_DEFINED] = { F_SOURCE_LOCAL },
	[PLAN_IS_OBJECT] = { F_SOURCE },
	[PLAN_IS_SET] = { F_SOURCE },
	[PLAN_IS_UNDEFINED] = { F_SOURCE_LOCAL },
	[PLAN_LEN] = { F_SOURCE, F_TARGET },
	[PLAN_MAKE_ARRAY] = { F_CAPACITY, F_TARGET },
	[PLAN_MAKE_NULL] = { F_TARGET },
	[PLAN_MAKE_NUMBER_INT] = { F_VALUE_INT, F_TARGET },
	[PLAN_MAKE_NUMBER_REF] = { F_NUMBER_REF, F_TARGET },
	[PLAN_MAKE_OBJECT] = { F_TARGET },
	[PLAN_MAKE_SET] = { F_TARGET },
	[PLAN_NOP] = { F_END },
	[PLAN_NOT_EQUAL] = { F_A, F_B },
	[PLAN_NOT] = { F_BLOCK },
	[PLAN_OBJECT_INSERT_ONCE] = { F_KEY, F_VALUE, F_OBJECT },
	[PLAN_OBJECT_INSERT] = { F_KEY, F_VALUE, F_OBJECT },
	[PLAN_OBJECT_MERGE] = { F_A_LOCAL, F_B_LOCAL, F_TARGET },
	[PLAN_RESET_LOCAL] = { F_TARGET },
	[PLAN_RESULT_SET_ADD] = { F_VALUE_LOCAL },
	[PLAN_RETURN_LOCAL] = { F_SOURCE_LOCAL },
	[PLAN_SCAN] = { F_SOURCE_LOCAL, F_SCAN_KEY, F_SCAN_VALUE, F_BLOCK },
	[PLAN_SET_ADD] = { F_VALUE, F_SET },
	[PLAN_WITH] = { F_LOCAL, F_PATH, F_VALUE, F_BLOCK },
};

static bool
load_field(struct loader *l, const struct value *v, enum field field,
    struct plan_stmt *stmt)
{
	const struct field_form *form = &forms[field];
	void *member = (char *)stmt + form->at;

	if (form->load != NULL)
		return form->load(l, v, stmt);
	return form->of == OF_LOCAL ? plan_local_of(l, v, form->name, member) :
	    plan_operand_of(l, v, form->name, member);
}

/* --- statements and blocks -------------------------------------------- */

static int
kind_of(const struct value *type)
{
	int i;

	for (i = 0; i < PLAN_KINDS; i++)
		if (value_is_text(type, kind_names[i]))
			return i;
	return -1;
}

/* Where it stands in the source; only for messages, so anything will do. */
static void
load_location(struct loader *l, const struct value *v, struct plan_stmt *stmt)
{
	static const char *const names[] = { "file", "row", "col" };
	uint32_t got[3] = { 0, 0, 0 };
	const struct value *n;
	int i;

	for (i = 0; i < 3; i++) {
		n = value_member(v, names[i]);
		if (n != NULL && n->kind == VALUE_NUMBER && n->is_int &&
		    n->num.i >= 0 && n->num.i < INT32_MAX)
			got[i] = (uint32_t)n->num.i;
	}
	stmt->file = got[0] < l->plan->n_files && got[0] < UINT16_MAX ?
	    (uint16_t)got[0] : UINT16_MAX;
	stmt->row = got[1];
	stmt->col = got[2];
}

/* data.a[2] is a path into storage, where OPA's keys are texts: a number finds
 * its spelling there.  Only a path itself does: x := data.a; x[2] does not. */
static void
follow_data(struct loader *l, struct plan_stmt *stmt)
{
	stmt->of_base_data = stmt->a.constant == NULL &&
	    l->in_data[stmt->a.local];
	l->in_data[stmt->target] = stmt->of_base_data;
}

static bool
load_stmt(struct loader *l, const struct value *v, struct plan_stmt *stmt)
{
	const struct value *body = value_member(v, "stmt");
	int kind = kind_of(value_member(v, "type")), i;

	memset(stmt, 0, sizeof(*stmt));
	if (kind < 0)
		return refuse(l, "unknown kind of statement");
	stmt->kind = (uint8_t)kind;
	if (body == NULL || body->kind != VALUE_OBJECT)
		return refuse(l, "%s without its stmt", kind_names[kind]);
	load_location(l, body, stmt);
	for (i = 0; i < 6 && fields[kind][i] != F_END; i++)
		if (!load_field(l, body, (enum field)fields[kind][i], stmt))
			return false;
	if (kind == PLAN_DOT)
		follow_data(l, stmt);
	return true;
}

static bool
load_block(struct loader *l, const struct value *v, struct plan_block *block)
{
	const struct value *items;
	size_t len = strlen(l->where);
	uint32_t i;

	if (v->kind != VALUE_OBJECT)
		return refuse(l, "a block is not an object");
	if (!plan_array_of(l, v, "stmts", &items, &block->n))
		return false;
	block->stmts = arena_array(l->arena, block->n, sizeof(*block->stmts));
	for (i = 0; i < block->n; i++) {
		snprintf(l->where + len, sizeof(l->where) - len, " stmt %u", i);
		if (!load_stmt(l, value_at(items, i), &block->stmts[i]))
			return false;
		l->where[len] = '\0';
	}
	return true;
}

bool
plan_load_blocks(struct loader *l, const struct value *items, uint32_t n,
    struct plan_stmt *stmt)
{
	size_t len = strlen(l->where);
	uint32_t i;

	if (++l->depth > PLAN_NEST_MAX)
		return refuse(l, "blocks nested more than %d deep",
		    PLAN_NEST_MAX);
	stmt->n_blocks = n;
	stmt->blocks = arena_array(l->arena, n, sizeof(*stmt->blocks));
	for (i = 0; i < n; i++) {
		snprintf(l->where + len, sizeof(l->where) - len, " block %u",
		    i);
		if (!load_block(l, value_at(items, i), &stmt->blocks[i]))
			return false;
		l->where[len] = '\0';
	}
	l->depth--;
	return true;
}
