#include <string.h>

#include "policy/builtin.h"
#include "policy/input.h"
#include "policy/plan_reads.h"

#define INPUT_LOCAL 0	/* the first parameter of every function */
#define DATA_LOCAL 1
#define EVERY_FIELD ((UINT64_C(1) << INPUT_FIELDS) - 1)
#define EVERY_SECTION ((1u << INPUT_SECTIONS) - 1)

/* What the simple kinds do with their operands a and b, and with target. */
enum { A = 1, B = 2, TARGET = 4 };

static const uint8_t uses[PLAN_KINDS] = {
	[PLAN_ARRAY_APPEND] = A | TARGET,
	[PLAN_ASSIGN_INT] = TARGET,
	[PLAN_ASSIGN_VAR_ONCE] = A | TARGET,
	[PLAN_ASSIGN_VAR] = A | TARGET,
	[PLAN_CALL_DYNAMIC] = TARGET,
	[PLAN_CALL] = TARGET,
	[PLAN_DOT] = TARGET,
	[PLAN_EQUAL] = A | B,
	[PLAN_IS_ARRAY] = A,
	[PLAN_IS_DEFINED] = A,
	[PLAN_IS_OBJECT] = A,
	[PLAN_IS_SET] = A,
	[PLAN_IS_UNDEFINED] = A,
	[PLAN_LEN] = A | TARGET,
	[PLAN_MAKE_ARRAY] = TARGET,
	[PLAN_MAKE_NULL] = TARGET,
	[PLAN_MAKE_NUMBER_INT] = TARGET,
	[PLAN_MAKE_NUMBER_REF] = TARGET,
	[PLAN_MAKE_OBJECT] = TARGET,
	[PLAN_MAKE_SET] = TARGET,
	[PLAN_NOT_EQUAL] = A | B,
	[PLAN_OBJECT_INSERT_ONCE] = A | B | TARGET,
	[PLAN_OBJECT_INSERT] = A | B | TARGET,
	[PLAN_OBJECT_MERGE] = TARGET,
	[PLAN_RESET_LOCAL] = TARGET,
	[PLAN_RESULT_SET_ADD] = A,
	[PLAN_RETURN_LOCAL] = A,
	[PLAN_SCAN] = A,
	[PLAN_SET_ADD] = A | TARGET,
	[PLAN_WITH] = TARGET,
};

/*
 * One function.  `holds` says of each local which sections of the input it may
 * be: those that any statement puts there, whatever the order they run in.
 */
struct walk {
	struct plan_reads reads;
	uint16_t *holds;
};

/* --- sets of members -------------------------------------------------- */

static bool
same_text(const struct value *a, const struct value *b)
{
	return a->str.n == b->str.n && memcmp(a->str.p, b->str.p, a->str.n) == 0;
}

/* The section of this name, or no section: what is not there is undefined for
 * every input. */
static uint16_t
section_of(const struct value *name)
{
	for (unsigned i = 0; i < INPUT_SECTIONS; i++) {
		if (name->kind == VALUE_STRING &&
		    same_text(name, &input_section_names[i]))
			return (uint16_t)(1u << i);
	}
	return 0;
}

/* The members of these sections: all, or those of a name (and what stands
 * alone, whose inside has no names here). */
static uint64_t
fields_of(uint16_t sections, const struct value *name)
{
	uint64_t fields = 0;

	for (unsigned i = 0; i < INPUT_FIELDS; i++) {
		const struct input_field *field = &input_fields[i];

		if ((sections >> field->section & 1) != 0 && (name == NULL ||
		    field->alone || (name->kind == VALUE_STRING &&
		    same_text(name, &field->name))))
			fields |= UINT64_C(1) << i;
	}
	return fields;
}

/* --- one statement ---------------------------------------------------- */

static void
read_everything(struct walk *w)
{
	w->reads.fields = EVERY_FIELD;
	w->reads.sections = EVERY_SECTION;
}

/* A local is looked at as a whole, or goes where nobody follows it. */
static void
read_local(struct walk *w, uint32_t local)
{
	if (local == INPUT_LOCAL)
		read_everything(w);
	w->reads.fields |= fields_of(w->holds[local], NULL);
}

static void
read_operand(struct walk *w, const struct operand *operand)
{
	if (operand->constant == NULL)
		read_local(w, operand->local);
}

static void
read_dot(struct walk *w, const struct plan_stmt *stmt)
{
	const struct value *key = stmt->b.constant;

	read_operand(w, &stmt->b);
	if (key == NULL || stmt->a.constant != NULL) {
		read_operand(w, &stmt->a);
		return;
	}
	if (stmt->a.local == INPUT_LOCAL)
		w->reads.sections |= section_of(key);
	w->reads.fields |= fields_of(w->holds[stmt->a.local], key);
}

static void
read_call(struct walk *w, const struct plan_stmt *stmt)
{
	bool hands_on = stmt->func != NULL && stmt->n > 0 &&
	    stmt->operands[0].constant == NULL &&
	    stmt->operands[0].local == INPUT_LOCAL;

	for (uint32_t i = hands_on; i < stmt->n; i++)
		read_operand(w, &stmt->operands[i]);
	if (stmt->builtin != NULL && stmt->builtin->clock)
		w->reads.clock = true;
	if (!hands_on)
		return;
	w->reads.fields |= stmt->func->reads.fields;
	w->reads.sections |= stmt->func->reads.sections;
	w->reads.clock |= stmt->func->reads.clock;
}

static void
read_stmt(struct walk *w, const struct plan_stmt *stmt)
{
	switch ((enum plan_kind)stmt->kind) {
	case PLAN_DOT:
		read_dot(w, stmt);
		return;
	case PLAN_CALL:
		read_call(w, stmt);
		return;
	case PLAN_WITH:		/* an input of its own: nobody follows it */
	case PLAN_CALL_DYNAMIC:
		read_everything(w);
		w->reads.clock = true;
		return;
	case PLAN_OBJECT_MERGE:
		read_local(w, stmt->other);
		read_local(w, stmt->third);
		return;
	default:
		break;
	}
	if (uses[stmt->kind] & A)
		read_operand(w, &stmt->a);
	if (uses[stmt->kind] & B)
		read_operand(w, &stmt->b);
}

/* --- one function ----------------------------------------------------- */

static void
walk_block(struct walk *w, const struct plan_block *block,
    void (*visit)(struct walk *w, const struct plan_stmt *stmt))
{
	for (uint32_t i = 0; i < block->n; i++) {
		const struct plan_stmt *stmt = &block->stmts[i];

		visit(w, stmt);
		for (uint32_t k = 0; k < stmt->n_blocks; k++)
			walk_block(w, &stmt->blocks[k], visit);
	}
}

static void
walk_func(struct walk *w, const struct plan_func *func,
    void (*visit)(struct walk *w, const struct plan_stmt *stmt))
{
	for (uint32_t i = 0; i < func->n_blocks; i++)
		walk_block(w, &func->blocks[i], visit);
}

/* Who takes a section out of the input, and into which local. */
static void
note_section(struct walk *w, const struct plan_stmt *stmt)
{
	if (stmt->kind == PLAN_DOT && stmt->a.constant == NULL &&
	    stmt->a.local == INPUT_LOCAL && stmt->b.constant != NULL)
		w->holds[stmt->target] |= section_of(stmt->b.constant);
}

/* Input and data have to be what they were handed in as. */
static void
note_changed(struct walk *w, const struct plan_stmt *stmt)
{
	if (((uses[stmt->kind] & TARGET) && stmt->target <= DATA_LOCAL) ||
	    (stmt->kind == PLAN_SCAN && (stmt->other <= DATA_LOCAL ||
	    stmt->third <= DATA_LOCAL))) {
		read_everything(w);
		w->reads.clock = true;
	}
}

/* True where it reads more than was known. */
static bool
find_reads(struct walk *w, struct plan_func *func)
{
	struct plan_reads before = func->reads;

	memset(w->holds, 0, func->n_locals * sizeof(*w->holds));
	w->reads = before;
	walk_func(w, func, note_section);
	walk_func(w, func, note_changed);
	walk_func(w, func, read_stmt);
	func->reads = w->reads;
	return w->reads.fields != before.fields ||
	    w->reads.sections != before.sections ||
	    w->reads.clock != before.clock;
}

void
plan_find_reads(struct arena *arena, struct plan *plan)
{
	struct walk walk = { .holds = NULL };
	uint32_t i, locals = 1;
	bool changed = true;

	for (i = 0; i < plan->n_funcs; i++) {
		if (plan->funcs[i].n_locals > locals)
			locals = plan->funcs[i].n_locals;
	}
	walk.holds = arena_array(arena, locals, sizeof(*walk.holds));
	while (changed) {
		changed = false;
		for (i = 0; i < plan->n_funcs; i++)
			changed |= find_reads(&walk, &plan->funcs[i]);
	}
}
