#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "policy/builtin.h"
#include "policy/plan.h"

const char *const plan_kind_names[PLAN_KINDS] = {
	"ArrayAppendStmt", "AssignIntStmt", "AssignVarOnceStmt",
	"AssignVarStmt", "BlockStmt", "BreakStmt", "CallDynamicStmt",
	"CallStmt", "DotStmt", "EqualStmt", "IsArrayStmt", "IsDefinedStmt",
	"IsObjectStmt", "IsSetStmt", "IsUndefinedStmt", "LenStmt",
	"MakeArrayStmt", "MakeNullStmt", "MakeNumberIntStmt",
	"MakeNumberRefStmt", "MakeObjectStmt", "MakeSetStmt", "NopStmt",
	"NotEqualStmt", "NotStmt", "ObjectInsertOnceStmt", "ObjectInsertStmt",
	"ObjectMergeStmt", "ResetLocalStmt", "ResultSetAddStmt",
	"ReturnLocalStmt", "ScanStmt", "SetAddStmt", "WithStmt"
};

/* What a statement carries beside its kind. */
enum field {
	F_END, F_TARGET, F_ARRAY, F_OBJECT, F_SET, F_RESULT, F_LOCAL, F_SOURCE,
	F_SOURCE_LOCAL, F_VALUE, F_VALUE_LOCAL, F_VALUE_INT, F_KEY, F_A, F_B,
	F_A_LOCAL, F_B_LOCAL, F_INDEX, F_NUMBER_REF, F_CAPACITY, F_BLOCK,
	F_BLOCKS, F_FUNC, F_ARGS, F_DYNAMIC_PATH, F_DYNAMIC_ARGS, F_PATH,
	F_SCAN_KEY, F_SCAN_VALUE
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

/*
 * Locals are numbered across a whole plan; a frame wants them dense.  The map
 * is from the plan's number to 1 + ours, for the function being loaded.
 */
#define RAW_LOCALS_MAX (1u << 20)

struct edge {
	struct plan_func *from;
	const struct plan_func *to;
};

struct loader {
	struct arena *arena;
	struct plan *plan;
	const struct value *func_index;	/* name to index */
	uint32_t *map, map_len, n_locals;
	unsigned depth;
	/* Which functions look at the input (their first parameter), and who
	 * hands it to whom. */
	struct plan_func *now;
	bool uses_input;
	struct edge *edges;
	uint32_t n_edges, cap_edges;
	char where[160];
	char *err;
	size_t err_len;
};

/* The first problem is the one that is told. */
static void __attribute__((format(printf, 2, 3)))
note_problem(struct loader *l, const char *format, ...)
{
	char what[256];
	va_list ap;

	va_start(ap, format);
	vsnprintf(what, sizeof(what), format, ap);
	va_end(ap);
	if (l->err_len > 0 && l->err[0] == '\0')
		snprintf(l->err, l->err_len, "%s: %s", l->where, what);
}

/* A macro, so that who analyzes a caller sees that the result is false. */
#define refuse(l, ...) (note_problem((l), __VA_ARGS__), false)

static char *
text_copy(struct loader *l, const struct value *v)
{
	char *s = arena_alloc(l->arena, v->str.n + 1);

	memcpy(s, v->str.p, v->str.n);
	s[v->str.n] = '\0';
	return s;
}

/* The array under name; absent and null are the empty one. */
static bool
array_of(struct loader *l, const struct value *object, const char *name,
    const struct value **items, uint32_t *n)
{
	const struct value *v = value_member(object, name);

	*items = NULL;
	*n = 0;
	if (v == NULL || v->kind == VALUE_NULL)
		return true;
	if (v->kind != VALUE_ARRAY)
		return refuse(l, "%s is not an array", name);
	*items = v;
	*n = v->col.n;
	return true;
}

static bool
int_of(struct loader *l, const struct value *object, const char *name,
    int64_t min, int64_t max, int64_t *out)
{
	const struct value *v = value_member(object, name);

	if (v == NULL || v->kind != VALUE_NUMBER || !v->is_int)
		return refuse(l, "%s is not an integer", name);
	if (v->num.i < min || v->num.i > max)
		return refuse(l, "%s is %lld, out of range", name,
		    (long long)v->num.i);
	*out = v->num.i;
	return true;
}

static bool
local_from(struct loader *l, const struct value *v, uint32_t *out)
{
	uint32_t raw, len, *map;

	if (v == NULL || v->kind != VALUE_NUMBER || !v->is_int)
		return refuse(l, "a local is not an integer");
	if (v->num.i < 0 || v->num.i >= RAW_LOCALS_MAX)
		return refuse(l, "local %lld out of range",
		    (long long)v->num.i);
	raw = (uint32_t)v->num.i;
	if (raw >= l->map_len) {
		for (len = 256; len <= raw; len *= 2)
			continue;
		map = arena_array(l->arena, len, sizeof(*map));
		memset(map, 0, len * sizeof(*map));
		if (l->map_len > 0)
			memcpy(map, l->map, l->map_len * sizeof(*map));
		l->map = map;
		l->map_len = len;
	}
	if (l->map[raw] == 0) {
		if (l->n_locals >= PLAN_LOCALS_MAX)
			return refuse(l, "more than %d locals",
			    PLAN_LOCALS_MAX);
		l->map[raw] = ++l->n_locals;
	}
	*out = l->map[raw] - 1;
	if (*out == 0)
		l->uses_input = true;
	return true;
}

static bool
local_of(struct loader *l, const struct value *object, const char *name,
    uint32_t *out)
{
	const struct value *v = value_member(object, name);

	if (v == NULL)
		return refuse(l, "%s is missing", name);
	return local_from(l, v, out);
}

static bool
string_at(struct loader *l, const struct value *v, const struct value **out)
{
	if (v == NULL || v->kind != VALUE_NUMBER || !v->is_int ||
	    v->num.i < 0 || v->num.i >= l->plan->n_strings)
		return refuse(l, "string index out of range");
	*out = l->plan->strings[v->num.i];
	return true;
}

static bool
is_text(const struct value *v, const char *text)
{
	return v != NULL && v->kind == VALUE_STRING &&
	    v->str.n == strlen(text) && memcmp(v->str.p, text, v->str.n) == 0;
}

static bool
operand_from(struct loader *l, const struct value *v, struct operand *out)
{
	const struct value *type = value_member(v, "type");
	const struct value *value = value_member(v, "value");

	out->constant = NULL;
	out->local = 0;
	if (is_text(type, "local"))
		return local_from(l, value, &out->local);
	if (is_text(type, "string_index"))
		return string_at(l, value, &out->constant);
	if (!is_text(type, "bool") || value == NULL ||
	    value->kind != VALUE_BOOL)
		return refuse(l, "unknown type of operand");
	out->constant = value_bool(value->truth);
	return true;
}

static bool
operand_of(struct loader *l, const struct value *object, const char *name,
    struct operand *out)
{
	return operand_from(l, value_member(object, name), out);
}

static bool load_blocks(struct loader *, const struct value *, uint32_t,
    struct plan_stmt *);

static bool
load_block_field(struct loader *l, const struct value *v,
    struct plan_stmt *stmt)
{
	const struct value *block = value_member(v, "block");
	struct value *one;

	if (block == NULL || block->kind == VALUE_NULL) {
		block = value_object(l->arena, 0);
	}
	one = value_array(l->arena, 1);
	value_append(l->arena, one, block);
	return load_blocks(l, one, 1, stmt);
}

static void
hands_input_to(struct loader *l, const struct plan_func *to)
{
	struct edge *grown;

	if (l->n_edges == l->cap_edges) {
		l->cap_edges = l->cap_edges < 64 ? 64 : l->cap_edges * 2;
		grown = arena_array(l->arena, l->cap_edges, sizeof(*grown));
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
		if (!is_text(name, l->plan->builtins[i]->name))
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
    bool bare_locals, struct plan_stmt *stmt)
{
	const struct value *items;
	bool used = l->uses_input;
	uint32_t i;

	if (!array_of(l, v, name, &items, &stmt->n))
		return false;
	if (stmt->n > PLAN_ARGS_MAX)
		return refuse(l, "more than %d in %s", PLAN_ARGS_MAX, name);
	stmt->operands = arena_array(l->arena, stmt->n,
	    sizeof(*stmt->operands));
	for (i = 0; i < stmt->n; i++) {
		struct operand *o = &stmt->operands[i];

		o->constant = NULL;
		if (bare_locals ? !local_from(l, value_at(items, i), &o->local)
		    : !operand_from(l, value_at(items, i), o))
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

	if (!array_of(l, v, "args", &items, &n))
		return false;
	if (n != 2)
		return refuse(l, "a dynamic call takes input and data");
	l->uses_input = true;
	return local_from(l, value_at(items, 0), &stmt->other) &&
	    local_from(l, value_at(items, 1), &stmt->third);
}

static bool
load_path(struct loader *l, const struct value *v, struct plan_stmt *stmt)
{
	const struct value *items;
	uint32_t i;

	if (!array_of(l, v, "path", &items, &stmt->n))
		return false;
	stmt->path = arena_array(l->arena, stmt->n, sizeof(*stmt->path));
	for (i = 0; i < stmt->n; i++)
		if (!string_at(l, value_at(items, i), &stmt->path[i]))
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
	if (!string_at(l, index, &text))
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

	if (!int_of(l, v, "value", INT64_MIN, INT64_MAX, &i))
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

	if (!int_of(l, v, name, 0, max, &i))
		return false;
	*out = (uint32_t)i;
	return true;
}

static bool
load_field(struct loader *l, const struct value *v, enum field field,
    struct plan_stmt *stmt)
{
	const struct value *items;

	switch (field) {
	case F_END:
		return true;
	case F_TARGET:
		return local_of(l, v, "target", &stmt->target);
	case F_ARRAY:
		return local_of(l, v, "array", &stmt->target);
	case F_OBJECT:
		return local_of(l, v, "object", &stmt->target);
	case F_SET:
		return local_of(l, v, "set", &stmt->target);
	case F_RESULT:
		return local_of(l, v, "result", &stmt->target);
	case F_LOCAL:
		return local_of(l, v, "local", &stmt->target);
	case F_SOURCE:
		return operand_of(l, v, "source", &stmt->a);
	case F_SOURCE_LOCAL:
		return local_of(l, v, "source", &stmt->a.local);
	case F_VALUE:
		return operand_of(l, v, "value", &stmt->a);
	case F_VALUE_LOCAL:
		return local_of(l, v, "value", &stmt->a.local);
	case F_VALUE_INT:
		return load_value_int(l, v, stmt);
	case F_KEY:
		return operand_of(l, v, "key", &stmt->b);
	case F_A:
		return operand_of(l, v, "a", &stmt->a);
	case F_B:
		return operand_of(l, v, "b", &stmt->b);
	case F_A_LOCAL:
		return local_of(l, v, "a", &stmt->other);
	case F_B_LOCAL:
		return local_of(l, v, "b", &stmt->third);
	case F_INDEX:
		return load_small(l, v, "index", PLAN_NEST_MAX, &stmt->other);
	case F_CAPACITY:
		return load_small(l, v, "capacity", 1 << 20, &stmt->other);
	case F_NUMBER_REF:
		return load_number_ref(l, v, stmt);
	case F_BLOCK:
		return load_block_field(l, v, stmt);
	case F_BLOCKS:
		return array_of(l, v, "blocks", &items, &stmt->n_blocks) &&
		    load_blocks(l, items, stmt->n_blocks, stmt);
	case F_FUNC:
		return load_func_name(l, v, stmt);
	case F_ARGS:
		return load_operands(l, v, "args", false, stmt);
	case F_DYNAMIC_PATH:
		return load_operands(l, v, "path", false, stmt);
	case F_DYNAMIC_ARGS:
		return load_dynamic_args(l, v, stmt);
	case F_PATH:
		return load_path(l, v, stmt);
	case F_SCAN_KEY:
		return local_of(l, v, "key", &stmt->other);
	case F_SCAN_VALUE:
		return local_of(l, v, "value", &stmt->third);
	}
	return refuse(l, "a field that nobody loads");
}

static int
kind_of(const struct value *type)
{
	int i;

	for (i = 0; i < PLAN_KINDS; i++)
		if (is_text(type, plan_kind_names[i]))
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
		return refuse(l, "%s without its stmt", plan_kind_names[kind]);
	load_location(l, body, stmt);
	for (i = 0; i < 6 && fields[kind][i] != F_END; i++)
		if (!load_field(l, body, (enum field)fields[kind][i], stmt))
			return false;
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
	if (!array_of(l, v, "stmts", &items, &block->n))
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

static bool
load_blocks(struct loader *l, const struct value *items, uint32_t n,
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

/* params before anything else, so that they are locals 0, 1, ... */
static bool
load_params(struct loader *l, const struct value *v, struct plan_func *func)
{
	const struct value *items;
	uint32_t i;

	if (!array_of(l, v, "params", &items, &func->n_params))
		return false;
	if (func->n_params > PLAN_ARGS_MAX)
		return refuse(l, "more than %d parameters", PLAN_ARGS_MAX);
	func->params = arena_array(l->arena, func->n_params,
	    sizeof(*func->params));
	for (i = 0; i < func->n_params; i++)
		if (!local_from(l, value_at(items, i), &func->params[i]))
			return false;
	return local_of(l, v, "return", &func->result);
}

static bool
load_entry_params(struct loader *l, struct plan_func *func)
{
	func->n_params = 2;
	func->params = arena_array(l->arena, 2, sizeof(*func->params));
	return local_from(l, value_int(l->arena, 0), &func->params[0]) &&
	    local_from(l, value_int(l->arena, 1), &func->params[1]);
}

static bool
load_body(struct loader *l, const struct value *v, struct plan_func *func,
    bool entry)
{
	struct plan_stmt outer = { 0 };
	const struct value *items;
	uint32_t n;

	l->map_len = 0;
	l->n_locals = 0;
	l->depth = 0;
	l->now = func;
	if (!(entry ? load_entry_params(l, func) : load_params(l, v, func)))
		return false;
	l->uses_input = false;
	if (!array_of(l, v, "blocks", &items, &n) ||
	    !load_blocks(l, items, n, &outer))
		return false;
	func->of_data_only = !l->uses_input;
	func->blocks = outer.blocks;
	func->n_blocks = n;
	func->n_locals = l->n_locals;
	return true;
}

static bool
name_of(struct loader *l, const struct value *v, const char **out)
{
	const struct value *name = value_member(v, "name");

	if (name == NULL || name->kind != VALUE_STRING ||
	    memchr(name->str.p, '\0', name->str.n) != NULL)
		return refuse(l, "name is not a string");
	*out = text_copy(l, name);
	return true;
}

static bool
load_strings(struct loader *l, const struct value *fixed)
{
	const struct value *items, *text;
	uint32_t i;

	if (!array_of(l, fixed, "strings", &items, &l->plan->n_strings))
		return false;
	l->plan->strings = arena_array(l->arena, l->plan->n_strings,
	    sizeof(*l->plan->strings));
	for (i = 0; i < l->plan->n_strings; i++) {
		text = value_member(value_at(items, i), "value");
		if (text == NULL || text->kind != VALUE_STRING)
			return refuse(l, "strings/%u is not a string", i);
		value_freeze(l->arena, text);
		l->plan->strings[i] = text;
	}
	return true;
}

static bool
load_files(struct loader *l, const struct value *fixed)
{
	const struct value *items, *text;
	uint32_t i;

	if (!array_of(l, fixed, "files", &items, &l->plan->n_files))
		return false;
	l->plan->files = arena_array(l->arena, l->plan->n_files,
	    sizeof(*l->plan->files));
	for (i = 0; i < l->plan->n_files; i++) {
		text = value_member(value_at(items, i), "value");
		if (text == NULL || text->kind != VALUE_STRING)
			return refuse(l, "files/%u is not a string", i);
		l->plan->files[i] = text_copy(l, text);
	}
	return true;
}

static bool
load_builtins(struct loader *l, const struct value *fixed)
{
	const struct value *items;
	const char *name, *why;
	uint32_t i;

	if (!array_of(l, fixed, "builtin_funcs", &items, &l->plan->n_builtins))
		return false;
	l->plan->builtins = arena_array(l->arena, l->plan->n_builtins,
	    sizeof(*l->plan->builtins));
	for (i = 0; i < l->plan->n_builtins; i++) {
		if (!name_of(l, value_at(items, i), &name))
			return false;
		l->plan->builtins[i] = builtin_find(name, &why);
		if (l->plan->builtins[i] == NULL)
			return refuse(l, "builtin %.80s: %s", name, why);
	}
	return true;
}

/* The names first: functions call each other in any order. */
static bool
load_func_names(struct loader *l, const struct value *items)
{
	struct value *index = value_object(l->arena, l->plan->n_funcs);
	struct value *by_path = value_object(l->arena, l->plan->n_funcs);
	const struct value *v, *name, *path, *params;
	uint32_t i, n_params;

	l->func_index = index;
	l->plan->by_path = by_path;
	for (i = 0; i < l->plan->n_funcs; i++) {
		struct plan_func *func = &l->plan->funcs[i];

		v = value_at(items, i);
		snprintf(l->where, sizeof(l->where), "funcs/%u", i);
		if (!name_of(l, v, &func->name) ||
		    !array_of(l, v, "params", &params, &n_params))
			return false;
		func->index = i;
		func->n_params = n_params;
		name = value_member(v, "name");
		if (value_get(l->arena, index, name) != NULL)
			return refuse(l, "a second function %s", func->name);
		value_put(l->arena, index, name, value_int(l->arena, i));
		path = value_member(v, "path");
		if (path != NULL && path->kind == VALUE_ARRAY)
			value_put(l->arena, by_path, path,
			    value_int(l->arena, i));
	}
	value_freeze(l->arena, by_path);
	return true;
}

/* Who hands the input to somebody who looks at it, looks at it, too. */
static void
spread_uses(struct loader *l)
{
	bool changed = true;
	uint32_t i;

	while (changed) {
		changed = false;
		for (i = 0; i < l->n_edges; i++) {
			if (!l->edges[i].from->of_data_only ||
			    l->edges[i].to->of_data_only)
				continue;
			l->edges[i].from->of_data_only = false;
			changed = true;
		}
	}
	for (i = 0; i < l->plan->n_funcs; i++)
		if (l->plan->funcs[i].n_params != 2)
			l->plan->funcs[i].of_data_only = false;
}

static bool
load_funcs(struct loader *l, const struct value *root)
{
	const struct value *items;
	uint32_t i, n;

	if (!array_of(l, value_member(root, "funcs"), "funcs", &items, &n))
		return false;
	l->plan->n_funcs = n;
	l->plan->funcs = arena_array(l->arena, n, sizeof(*l->plan->funcs));
	memset(l->plan->funcs, 0, n * sizeof(*l->plan->funcs));
	if (!load_func_names(l, items))
		return false;
	for (i = 0; i < n; i++) {
		snprintf(l->where, sizeof(l->where), "funcs/%u (%.100s)", i,
		    l->plan->funcs[i].name);
		if (!load_body(l, value_at(items, i), &l->plan->funcs[i],
		    false))
			return false;
	}
	spread_uses(l);
	return true;
}

static bool
load_plans(struct loader *l, const struct value *root)
{
	const struct value *items;
	uint32_t i, n;

	snprintf(l->where, sizeof(l->where), "plans");
	if (!array_of(l, value_member(root, "plans"), "plans", &items, &n))
		return false;
	l->plan->n_plans = n;
	l->plan->plans = arena_array(l->arena, n, sizeof(*l->plan->plans));
	memset(l->plan->plans, 0, n * sizeof(*l->plan->plans));
	for (i = 0; i < n; i++) {
		struct plan_func *entry = &l->plan->plans[i];

		snprintf(l->where, sizeof(l->where), "plans/%u", i);
		if (!name_of(l, value_at(items, i), &entry->name) ||
		    !load_body(l, value_at(items, i), entry, true))
			return false;
	}
	return true;
}

const struct plan *
plan_load(struct arena *arena, const char *text, size_t len, char *err,
    size_t err_len)
{
	static const struct value_json_limits limits = {
		.depth = 8 * PLAN_NEST_MAX, .last_wins = true,
		.lone_surrogates = true
	};
	struct loader l = { .arena = arena, .err = err, .err_len = err_len };
	const struct value *root, *fixed;

	if (err_len > 0)
		err[0] = '\0';
	root = value_from_json(arena, text, len, &limits, err, err_len);
	if (root == NULL)
		return NULL;
	l.plan = arena_alloc(arena, sizeof(*l.plan));
	memset(l.plan, 0, sizeof(*l.plan));
	fixed = value_member(root, "static");
	snprintf(l.where, sizeof(l.where), "static");
	if (!load_strings(&l, fixed) || !load_files(&l, fixed) ||
	    !load_builtins(&l, fixed) || !load_funcs(&l, root) ||
	    !load_plans(&l, root))
		return NULL;
	return l.plan;
}

const struct plan_func *
plan_entry(const struct plan *plan, const char *name)
{
	uint32_t i;

	for (i = 0; i < plan->n_plans; i++)
		if (strcmp(plan->plans[i].name, name) == 0)
			return &plan->plans[i];
	return NULL;
}
