/* A tree as instructions: repetition copies what it repeats. */
#include "policy/regex/node.h"

static bool
can_be_empty(const struct node *node)
{
	const struct node *child;
	bool any = node->kind == NODE_ALT;

	if (node->kind == NODE_CLASS)
		return false;
	if (node->kind == NODE_REPEAT && node->min == 0)
		return true;
	/* All parts of a sequence, any alternative. */
	for (child = node->child; child != NULL; child = child->next)
		if (can_be_empty(child) == any)
			return any;
	return !any;
}

static uint32_t
emit_split(struct prog *prog)
{
	return prog_emit(prog, PROG_SPLIT, 0, 0);
}

/* The side that is tried first is the one into the repeated part, unless
 * lazy. */
static void
set_split(struct prog *prog, uint32_t at, uint32_t into, uint32_t out,
    bool lazy)
{
	prog->inst[at].x = lazy ? out : into;
	prog->inst[at].y = lazy ? into : out;
}

static void
emit_plus(struct prog *prog, const struct node *node, bool lazy)
{
	uint32_t start = prog->n, split;

	node_emit(prog, node);
	split = emit_split(prog);
	set_split(prog, split, start, prog->n, lazy);
}

static void
emit_star(struct prog *prog, const struct node *node, bool lazy)
{
	uint32_t split = emit_split(prog), start = prog->n;

	if (can_be_empty(node)) {
		/* (x+)?, so that an empty x is tried once and in order */
		emit_plus(prog, node, lazy);
	} else {
		node_emit(prog, node);
		prog_emit(prog, PROG_JUMP, split, 0);
	}
	set_split(prog, split, start, prog->n, lazy);
}

/* Up to n times, nested: (x(x(x)?)?)?; all ways out lead to the end. */
static void
emit_optional(struct prog *prog, const struct node *node, int32_t n, bool lazy)
{
	uint32_t chain = UINT32_MAX, split, next;

	for (; n > 0 && !prog->overflow; n--) {
		split = emit_split(prog);
		prog->inst[split].x = chain;
		chain = split;
		node_emit(prog, node);
	}
	while (!prog->overflow && chain != UINT32_MAX) {
		next = prog->inst[chain].x;
		set_split(prog, chain, chain + 1, prog->n, lazy);
		chain = next;
	}
}

static void
emit_repeat(struct prog *prog, const struct node *node)
{
	int32_t i;

	for (i = 0; i < node->min - (node->max < 0) && !prog->overflow; i++)
		node_emit(prog, node->child);
	if (node->max >= 0)
		emit_optional(prog, node->child, node->max - node->min,
		    node->lazy);
	else if (node->min > 0)
		emit_plus(prog, node->child, node->lazy);
	else
		emit_star(prog, node->child, node->lazy);
}

/* Each but the last behind a split; all end at the same place. */
static void
emit_alternatives(struct prog *prog, const struct node *node)
{
	const struct node *child;
	uint32_t split, jump, chain = UINT32_MAX;

	for (child = node->child; child->next != NULL; child = child->next) {
		split = prog_emit(prog, PROG_SPLIT, prog->n + 1, 0);
		node_emit(prog, child);
		chain = prog_emit(prog, PROG_JUMP, chain, 0);
		if (prog->overflow)
			return;
		prog->inst[split].y = prog->n;
	}
	node_emit(prog, child);
	while (!prog->overflow && chain != UINT32_MAX) {
		jump = prog->inst[chain].x;
		prog->inst[chain].x = prog->n;
		chain = jump;
	}
}

static void
emit_class(struct prog *prog, const struct node *node)
{
	struct rune_range *copy;

	if (node->n == 1 && !node->inverted &&
	    node->ranges[0].low == node->ranges[0].high) {
		prog_emit(prog, PROG_RUNE, node->ranges[0].low, 0);
		return;
	}
	copy = arena_copy(prog->arena, node->ranges,
	    node->n * sizeof(*copy));
	arena_step(prog->arena, 1 + node->n / 8);
	prog_emit_class(prog, copy, node->n, node->inverted);
}

void
node_emit(struct prog *prog, const struct node *node)
{
	const struct node *child;

	if (prog->overflow)
		return;
	switch (node->kind) {
	case NODE_EMPTY:
		break;
	case NODE_CLASS:
		emit_class(prog, node);
		break;
	case NODE_ASSERT:
		prog_emit(prog, PROG_ASSERT, node->assert, 0);
		break;
	case NODE_CAT:
		for (child = node->child; child != NULL; child = child->next)
			node_emit(prog, child);
		break;
	case NODE_ALT:
		emit_alternatives(prog, node);
		break;
	case NODE_REPEAT:
		emit_repeat(prog, node);
		break;
	case NODE_GROUP:
		prog_emit(prog, PROG_SAVE, 2 * node->group, 0);
		node_emit(prog, node->child);
		prog_emit(prog, PROG_SAVE, 2 * node->group + 1, 0);
		break;
	}
}
