/*
 * A stream through the redactor, cut at every place and in small pieces: what the
 * tests of it share.  Include it in one source of a test program.
 */
#ifndef TESTS_REDACT_CASE_H
#define TESTS_REDACT_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include <sodium.h>

#include "redact/redact.h"

#define N(cases) (sizeof(cases) / sizeof((cases)[0]))
#define M REDACT_MARKER

struct text {
	char *p;
	size_t n, cap;
};

static void
add(struct text *t, const char *p, size_t n)
{
	if (t->cap - t->n < n) {
		t->cap = 2 * (t->n + n) + 64;
		t->p = realloc(t->p, t->cap);
		assert_non_null(t->p);
	}
	if (n > 0)
		memcpy(t->p + t->n, p, n);
	t->n += n;
}

/* The stream in pieces: the first of `first` bytes, the others of `piece`. */
static void
run(struct redact *r, struct slice in, size_t first, size_t piece,
    struct text *out)
{
	size_t n = first;

	out->n = 0;
	redact_reset(r);
	do {
		n = n < in.n ? n : in.n;
		size_t bound = redact_bound(r, n), got;
		char *block = malloc(n + 1), *to = malloc(bound + 1);
		assert_non_null(block);
		assert_non_null(to);
		memcpy(block, in.p, n);
		got = redact_feed(r, block, n, n == in.n, to);
		assert_true(got <= bound);
		add(out, to, got);
		free(block);
		free(to);
		in.p += n;
		in.n -= n;
		n = piece;
	} while (in.n > 0);
}

static void
check_with(struct redact *r, struct slice in, struct slice want,
    uint32_t count)
{
	struct text out = { NULL, 0, 0 };

	for (size_t first = 1; first <= in.n; first++) {
		run(r, in, first, in.n, &out);
		if (out.n != want.n || memcmp(out.p, want.p, want.n) != 0)
			fail_msg("cut at %zu: \"%.*s\"", first, (int)out.n, out.p);
		assert_int_equal(redact_count(r), count);
	}
	for (size_t piece = 1; piece <= 7; piece++) {
		run(r, in, piece, piece, &out);
		assert_int_equal(out.n, want.n);
		assert_memory_equal(out.p, want.p, want.n);
	}
	free(out.p);
}

static void
check(struct redact *r, const char *in, const char *want, uint32_t count)
{
	check_with(r, slice_of(in), slice_of(want), count);
}

static struct redact *
looking_for(struct slice secret, const char *user)
{
	struct redact_needles *needles = redact_needles_new(secret, user);
	struct redact *r;

	assert_non_null(needles);
	r = redact_new(needles);
	assert_non_null(r);
	redact_needles_unref(needles);
	return r;
}

#endif
