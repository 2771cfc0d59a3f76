/*
 * What loading a plan shares: the loader's state, members of the plan's JSON
 * (plan_member.c), and statements (plan_stmt.c) as functions (plan_load.c) are
 * made of them.
 */
#ifndef POLICY_PLAN_PLAN_LOAD_H
#define POLICY_PLAN_PLAN_LOAD_H

#include "policy/plan/plan.h"

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
	struct arena *paper;	/* for what only loading needs: the text as values, maps */
	struct plan *plan;
	const struct value *func_index;	/* name to index */
	uint32_t *map, map_len, n_locals;
	uint8_t in_data[PLAN_LOCALS_MAX];	/* the local is the data document or lies in it */
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
void plan_problem(struct loader *l, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A macro, so that who analyzes a caller sees that the result is false. */
#define refuse(l, ...) (plan_problem((l), __VA_ARGS__), false)

char *plan_text_copy(struct loader *l, const struct value *v);
bool plan_int_of(struct loader *l, const struct value *object, const char *name,
    int64_t min, int64_t max, int64_t *out);
/* The string of the plan's table that v is the index of. */
bool plan_string_at(struct loader *l, const struct value *v, const struct value **out);
/* The array under name; absent and null are the empty one. */
bool plan_array_of(struct loader *l, const struct value *object,
    const char *name, const struct value **items, uint32_t *n);
/* Our number for a local of the plan. */
bool plan_local_from(struct loader *l, const struct value *v, uint32_t *out);
bool plan_local_of(struct loader *l, const struct value *object,
    const char *name, uint32_t *out);
/* A local, a string of the table or a boolean. */
bool plan_operand_from(struct loader *l, const struct value *v, struct operand *out);
bool plan_operand_of(struct loader *l, const struct value *object,
    const char *name, struct operand *out);
/* Blocks into stmt->blocks. */
bool plan_load_blocks(struct loader *l, const struct value *items, uint32_t n,
    struct plan_stmt *stmt);

#endif
