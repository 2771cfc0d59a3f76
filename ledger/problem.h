/*
 * What went wrong, in words for the operator: what, by which rule, what to do.
 * Filled by the first failure; callers pass it on.
 */
#ifndef LEDGER_PROBLEM_H
#define LEDGER_PROBLEM_H

#define PROBLEM_MAX 512

struct problem {
	char text[PROBLEM_MAX];
};

/* Format the text.  Always -1, so that a caller can return it. */
int problem_set(struct problem *problem, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same, with ": " and the text of errno behind it. */
int problem_errno(struct problem *problem, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
