/*
 * A plan: OPA's intermediate representation (the plan.json of
 * `opa build -t plan`), checked once and laid out to be run.
 *
 * After loading every local, string, function and break is known to be in
 * range, every builtin is known, and constants are frozen values, so that the
 * evaluator checks none of it again.
 */
#ifndef POLICY_PLAN_PLAN_H
#define POLICY_PLAN_PLAN_H

#include "policy/value/value.h"

#define PLAN_LOCALS_MAX 20000	/* of one function */
#define PLAN_NEST_MAX 400	/* blocks within blocks */
#define PLAN_ARGS_MAX 64

struct builtin;

/* First those that only look at values and set locals, then those that lead
 * somewhere else: the evaluator tells them apart at every statement. */
enum plan_kind {
	PLAN_ARRAY_APPEND, PLAN_ASSIGN_INT, PLAN_ASSIGN_VAR_ONCE,
	PLAN_ASSIGN_VAR, PLAN_CALL, PLAN_DOT, PLAN_EQUAL, PLAN_IS_ARRAY,
	PLAN_IS_DEFINED, PLAN_IS_OBJECT, PLAN_IS_SET, PLAN_IS_UNDEFINED,
	PLAN_LEN, PLAN_MAKE_ARRAY, PLAN_MAKE_NULL, PLAN_MAKE_NUMBER_INT,
	PLAN_MAKE_NUMBER_REF, PLAN_MAKE_OBJECT, PLAN_MAKE_SET, PLAN_NOP,
	PLAN_NOT_EQUAL, PLAN_OBJECT_INSERT_ONCE, PLAN_OBJECT_INSERT,
	PLAN_OBJECT_MERGE, PLAN_RESET_LOCAL, PLAN_RESULT_SET_ADD, PLAN_SET_ADD,
	PLAN_SIMPLE,
	PLAN_BLOCK = PLAN_SIMPLE, PLAN_BREAK, PLAN_CALL_DYNAMIC, PLAN_NOT,
	PLAN_RETURN_LOCAL, PLAN_SCAN, PLAN_WITH, PLAN_KINDS
};

/* A constant (string or boolean), or else a local. */
struct operand {
	const struct value *constant;
	uint32_t local;
};

struct plan_block {
	struct plan_stmt *stmts;
	uint32_t n;
};

/* What most statements need lies together, within a line of the cache. */
struct plan_stmt {
	uint8_t kind;
	bool of_base_data : 1;	/* dot: along a path into the data document */
	bool compares : 1;	/* perhaps a number of the input that moves, */
	uint8_t looks_at : 6;	/* or looks closer at these (moving.h) */
	uint16_t file;
	uint32_t target;	/* or array, object, set, result, local */
	uint32_t other;		/* scan: key; merge: a; break: index; capacity */
	uint32_t third;		/* scan: value; merge: b */
	uint32_t n;				/* of operands or path */
	uint32_t n_blocks;
	struct operand a, b;	/* source, value; key */
	struct operand *operands;		/* call arguments, dynamic path */
	struct plan_block *blocks;
	const struct builtin *builtin;		/* call: this, */
	const struct plan_func *func;		/* or this */
	const struct value *constant;		/* numbers */
	const struct value **path;		/* with */
	uint32_t row, col;
};

/* Members of the input document that a function looks at, as bits of
 * input_fields and enum input_section (policy/input.h). */
struct plan_reads {
	uint64_t fields;
	uint64_t still;		/* those of the fields that do not move (moving.h), */
	uint8_t moving;		/* and those that do */
	uint16_t sections;	/* whether they are there at all */
	bool clock;		/* and the moment of the decision, or what nobody could follow */
};

struct plan_func {
	const char *name;	/* terminated, for messages */
	uint32_t index;		/* of the memo; entry points stand behind all others */
	uint32_t *params, n_params;
	uint32_t result, n_locals;
	struct plan_block *blocks;
	uint32_t n_blocks;
	/* A rule that reads neither the input nor the clock: its value is the
	 * same for every decision on the same data. */
	bool of_data_only;
	struct plan_reads reads;
};

struct plan {
	const struct value **strings;
	uint32_t n_strings;
	const char **files;
	uint32_t n_files;
	const struct builtin **builtins;
	uint32_t n_builtins;
	struct plan_func *funcs;
	uint32_t n_funcs;
	const struct value *by_path;	/* array of strings to index */
	struct plan_func *plans;	/* entry points: params are input and data */
	uint32_t n_plans;
};

/*
 * From the text of a plan.json.  Everything lives in arena, which must be
 * armed for lack of memory.  NULL with a message that names the place, such as
 * "funcs/3 (g0.data.x.p) block 0 stmt 2: local 77 out of range".
 */
const struct plan *plan_load(struct arena *arena, const char *text,
    size_t len, char *err, size_t err_len);

/* NULL where there is none of this name, such as "countersign/decision". */
const struct plan_func *plan_entry(const struct plan *plan, const char *name);

#endif
