#include <string.h>

#include "policy/input.h"
#include "policy/plan/builtin.h"
#include "policy/plan/plan_reads.h"

#define INPUT_LOCAL 0	/* the first parameter of every function */
#define DATA_LOCAL 1
#define EVERY_FIELD ((UINT64_C(1) << INPUT_FIELDS) - 1)
#define EVERY_SECTION ((1u << INPUT_SECTIONS) - 1)
#define ALL_MOVING ((1u << INPUT_MOVING) - 1)

/* What the simple kinds do with their operands a and b, and with target: they
 * set it, and some look at what it held. */
enum { A = 1, B = 2, TARGET = 4, HELD = 8 };

static const uint8_t uses[PLAN_KINDS] = {
	[PLAN_ARRAY_APPEND] = A | TARGET | HELD,
	[PLAN_ASSIGN_INT] = TARGET,
	[PLAN_ASSIGN_VAR_ONCE] = A | TARGET | HELD,
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
	[PLAN_OBJECT_INSERT_ONCE] = A | B | TARGET | HELD,
	[PLAN_OBJECT_INSERT] = A | B | TARGET | HELD,
	[PLAN_OBJECT_MERGE] = TARGET,
	[PLAN_RESET_LOCAL] = TARGET,
	[PLAN_RESULT_SET_ADD] = A,
	[PLAN_RETURN_LOCAL] = A,
	[PLAN_SCAN] = A,
	[PLAN_SET_ADD] = A | TARGET | HELD,
	[PLAN_WITH] = TARGET,
};

/*
 * One function.  `holds` says of each local which sections of the input it may
 * be: those that any statement puts there, whatever the order they run in;
 * `numbers` the same of numbers that move.
 */
struct walk {
	struct plan_reads reads;
	uint16_t *holds;
	uint8_t *numbers;
	bool more_numbers;	/* were found in this round */
	bool lost;		/* input or data are not what was handed in */
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

static uint64_t
fields_that_move(void)
{
	uint64_t fields = 0;

	for (unsigned i = 0; i < INPUT_MOVING; i++)
		fields |= UINT64_C(1) << input_moving[i];
	return fields;
}

static uint8_t
moving_among(uint64_t fields)
{
	uint8_t moving = 0;

	for (unsigned i = 0; i < INPUT_MOVING; i++)
		moving |= (fields >> input_moving[i] & 1) << i;
	return moving;
}

/* --- what one statement reads ------------------------------------------ */

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
read_dot(struct walk *w, struct plan_stmt *stmt)
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
read_call(struct walk *w, struct plan_stmt *stmt)
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
read_stmt(struct walk *w, struct plan_stmt *stmt)
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
	if (uses[stmt->kind] & HELD)
		read_local(w, stmt->target);
}

/* --- one function ----------------------------------------------------- */

static void
walk_block(struct walk *w, const struct plan_block *block,
    void (*visit)(struct walk *w, struct plan_stmt *stmt))
{
	for (uint32_t i = 0; i < block->n; i++) {
		struct plan_stmt *stmt = &block->stmts[i];

		visit(w, stmt);
		for (uint32_t k = 0; k < stmt->n_blocks; k++)
			walk_block(w, &stmt->blocks[k], visit);
	}
}

static void
walk_func(struct walk *w, const struct plan_func *func,
    void (*visit)(struct walk *w, struct plan_stmt *stmt))
{
	for (uint32_t i = 0; i < func->n_blocks; i++)
		walk_block(w, &func->blocks[i], visit);
}

/* Who takes a section out of the input, and into which local. */
static void
note_section(struct walk *w, struct plan_stmt *stmt)
{
	if (stmt->kind == PLAN_DOT && stmt->a.constant == NULL &&
	    stmt->a.local == INPUT_LOCAL && stmt->b.constant != NULL)
		w->holds[stmt->target] |= section_of(stmt->b.constant);
}

/* Input and data have to be what they were handed in as. */
static void
note_changed(struct walk *w, struct plan_stmt *stmt)
{
	if (((uses[stmt->kind] & TARGET) && stmt->target <= DATA_LOCAL) ||
	    (stmt->kind == PLAN_SCAN && (stmt->other <= DATA_LOCAL ||
	    stmt->third <= DATA_LOCAL))) {
		read_everything(w);
		w->reads.clock = true;
		w->lost = true;
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

/* --- what one statement does with numbers that move --------------------- */

static bool
is_input(const struct operand *operand)
{
	return operand->constant == NULL && operand->local == INPUT_LOCAL;
}

/* Numbers that this takes out of the input or hands on, and into which local. */
static void
note_numbers(struct walk *w, struct plan_stmt *stmt)
{
	uint8_t *to = &w->numbers[stmt->target], found = 0;

	if (stmt->a.constant != NULL)
		return;
	if (stmt->kind == PLAN_ASSIGN_VAR)
		found = w->numbers[stmt->a.local];
	else if (stmt->kind == PLAN_DOT && stmt->b.constant != NULL)
		found = moving_among(is_input(&stmt->a) ?
		    fields_of(section_of(stmt->b.constant), NULL) :
		    fields_of(w->holds[stmt->a.local], stmt->b.constant));
	w->more_numbers |= (found & ~*to) != 0;
	*to |= found;
}

/* Those that lie in what the local may hold. */
static uint8_t
within(const struct walk *w, uint32_t local)
{
	return local == INPUT_LOCAL ? ALL_MOVING :
	    moving_among(fields_of(w->holds[local] & ~(1u << INPUT_NOW), NULL));
}

static uint8_t
within_operand(const struct walk *w, const struct operand *operand)
{
	return operand->constant != NULL ? 0 : within(w, operand->local);
}

/* And those that it may be. */
static uint8_t
all_of_local(const struct walk *w, uint32_t local)
{
	return within(w, local) | w->numbers[local];
}

static uint8_t
all_of(const struct walk *w, const struct operand *operand)
{
	return operand->constant != NULL ? 0 : all_of_local(w, operand->local);
}

static bool
is_comparison(const struct builtin *builtin)
{
	for (const struct builtin *b = builtins_compare; b->name != NULL; b++) {
		if (b == builtin)
			return true;
	}
	return false;
}

static void
mark_comparison(const struct walk *w, struct plan_stmt *stmt,
    const struct operand *a, const struct operand *b)
{
	stmt->looks_at = within_operand(w, a) | within_operand(w, b);
	stmt->compares = (all_of(w, a) | all_of(w, b)) != 0;
}

static void
mark_call(const struct walk *w, struct plan_stmt *stmt)
{
	uint8_t looks_at = 0;

	if (stmt->builtin != NULL && is_comparison(stmt->builtin)) {
		mark_comparison(w, stmt, &stmt->operands[0],
		    &stmt->operands[1]);
		return;
	}
	for (uint32_t i = 0; i < stmt->n; i++) {
		if (i > 0 || stmt->func == NULL || !is_input(&stmt->operands[0]))
			looks_at |= all_of(w, &stmt->operands[i]);
	}
	stmt->looks_at = looks_at;
}

/* What is told here to look at less than everything gives the same for every
 * number: a number has no members and is of no other type. */
static uint8_t
looked_at(const struct walk *w, const struct plan_stmt *stmt)
{
	uint8_t use = uses[stmt->kind];

	switch ((enum plan_kind)stmt->kind) {
	case PLAN_DOT:
		if (stmt->b.constant != NULL)
			return 0;
		use = A | B;
		break;
	case PLAN_ASSIGN_VAR:	/* followed, see note_numbers() */
	case PLAN_IS_ARRAY:
	case PLAN_IS_DEFINED:
	case PLAN_IS_OBJECT:
	case PLAN_IS_SET:
	case PLAN_IS_UNDEFINED:
	case PLAN_SCAN:
		return within_operand(w, &stmt->a);
	case PLAN_CALL_DYNAMIC:
	case PLAN_WITH:
		return ALL_MOVING;
	case PLAN_OBJECT_MERGE:
		return all_of_local(w, stmt->other) |
		    all_of_local(w, stmt->third);
	default:
		break;
	}
	return (use & A ? all_of(w, &stmt->a) : 0) |
	    (use & B ? all_of(w, &stmt->b) : 0) |
	    (use & HELD ? all_of_local(w, stmt->target) : 0);
}

static void
mark_stmt(struct walk *w, struct plan_stmt *stmt)
{
	if (w->lost)
		stmt->looks_at = ALL_MOVING;
	else if (stmt->kind == PLAN_CALL)
		mark_call(w, stmt);
	else if (stmt->kind == PLAN_EQUAL || stmt->kind == PLAN_NOT_EQUAL)
		mark_comparison(w, stmt, &stmt->a, &stmt->b);
	else
		stmt->looks_at = looked_at(w, stmt) & ALL_MOVING;
}

static void
find_moving(struct walk *w, struct plan_func *func)
{
	func->reads.moving = moving_among(func->reads.fields);
	func->reads.still = func->reads.fields & ~fields_that_move();
	memset(w->holds, 0, func->n_locals * sizeof(*w->holds));
	memset(w->numbers, 0, func->n_locals * sizeof(*w->numbers));
	w->lost = false;
	walk_func(w, func, note_section);
	walk_func(w, func, note_changed);
	do {
		w->more_numbers = false;
		walk_func(w, func, note_numbers);
	} while (w->more_numbers);
	walk_func(w, func, mark_stmt);
}

/* --- all functions ------------------------------------------------------ */

static uint32_t
most_locals(const struct plan_func *funcs, uint32_t n, uint32_t most)
{
	for (uint32_t i = 0; i < n; i++) {
		if (funcs[i].n_locals > most)
			most = funcs[i].n_locals;
	}
	return most;
}

void
plan_find_reads(struct arena *arena, struct plan *plan)
{
	struct walk walk = { .holds = NULL };
	uint32_t locals = most_locals(plan->plans, plan->n_plans,
	    most_locals(plan->funcs, plan->n_funcs, 1));
	bool changed = true;

	walk.holds = arena_array(arena, locals, sizeof(*walk.holds));
	walk.numbers = arena_array(arena, locals, sizeof(*walk.numbers));
	while (changed) {
		changed = false;
		for (uint32_t i = 0; i < plan->n_funcs; i++)
			changed |= find_reads(&walk, &plan->funcs[i]);
	}
	for (uint32_t i = 0; i < plan->n_plans; i++)
		find_reads(&walk, &plan->plans[i]);
	for (uint32_t i = 0; i < plan->n_funcs; i++)
		find_moving(&walk, &plan->funcs[i]);
	for (uint32_t i = 0; i < plan->n_plans; i++)
		find_moving(&walk, &plan->plans[i]);
}
