/* The tree between a pattern and its program. */
#ifndef POLICY_REGEX_NODE_H
#define POLICY_REGEX_NODE_H

#include "policy/regex/prog.h"

enum node_kind {
	NODE_EMPTY, NODE_CLASS, NODE_ASSERT, NODE_CAT, NODE_ALT, NODE_REPEAT,
	NODE_GROUP
};

struct node {
	enum node_kind kind;
	struct node *child;	/* repeat, group: the one; cat, alt: the first */
	struct node *next;	/* brother in a cat or alt */
	struct rune_range *ranges;	/* class */
	uint32_t n;			/* of ranges */
	bool inverted;
	enum prog_assert assert;
	int32_t min, max;		/* repeat; max -1: no bound */
	bool lazy;
	uint32_t group;
};

/* The instructions of the tree; stops at prog->overflow. */
void node_emit(struct prog *prog, const struct node *node);

#endif
