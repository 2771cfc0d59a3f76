/*
 * A slice is a view of bytes that somebody else owns.  It may hold any byte
 * and carries no terminator.  Its owner must outlive it; a function that
 * keeps one says so.
 */
#ifndef BROKER_SLICE_H
#define BROKER_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

struct slice {
	const char *p;
	size_t n;
};

#define SLICE(literal) ((struct slice){ (literal), sizeof(literal) - 1 })

static inline struct slice
slice_of(const char *text)
{
	return (struct slice){ text, text != NULL ? strlen(text) : 0 };
}

static inline bool
slice_eq(struct slice a, struct slice b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

/* ASCII case only: header names, schemes, hosts.  Nearly all that are unequal
 * differ in length or first letter, and are told apart here without a call. */
static inline bool
slice_case_eq(struct slice a, struct slice b)
{
	return a.n == b.n && (a.n == 0 ||
	    ((a.p[0] | 0x20) == (b.p[0] | 0x20) &&
	    strncasecmp(a.p, b.p, a.n) == 0));
}

static inline bool
slice_case_begins(struct slice s, struct slice with)
{
	return s.n >= with.n && slice_case_eq((struct slice){ s.p, with.n }, with);
}

#endif
