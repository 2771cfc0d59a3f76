/*
 * What reading patterns shares: the reader's state, and sets of runes
 * (parse_class.c) as the rest of the reader (parse.c) needs them.
 */
#ifndef POLICY_REGEX_PARSE_H
#define POLICY_REGEX_PARSE_H

#include "policy/regex/node.h"
#include "policy/regex/regex.h"

enum { FLAG_FOLD = 1, FLAG_MULTI = 2, FLAG_DOT_ALL = 4, FLAG_UNGREEDY = 8 };

struct parser {
	struct arena *arena;
	struct regex *regex;
	const char *p, *end;
	unsigned flags, depth;
	const char *why;
};

/* A growing set of ranges. */
struct set {
	struct arena *arena;
	struct rune_range *ranges;
	uint32_t n, cap;
};

/* Keeps the first reason; NULL. */
struct node *parse_bad(struct parser *r, const char *why);
struct node *parse_node(struct parser *r, enum node_kind kind,
    struct node *child);

void parse_set_add(struct set *set, uint32_t low, uint32_t high);
/* With FLAG_FOLD, what differs by case only belongs to it, too. */
struct node *parse_class_node(struct parser *r, struct set *set,
    bool inverted);
struct node *parse_rune_node(struct parser *r, uint32_t rune);

/* \d, \W, ...: p stands at the letter.  false: not one of them. */
bool parse_perl_class(struct parser *r, struct set *set);
/* \p{Greek}, \PL: p stands at the letter.  false with a reason. */
bool parse_unicode_property(struct parser *r, struct set *set);
/* Behind the backslash; one that stands for a single rune. */
bool parse_escaped_rune(struct parser *r, uint32_t *rune);
/* Behind the opening bracket. */
struct node *parse_class(struct parser *r);

#endif
