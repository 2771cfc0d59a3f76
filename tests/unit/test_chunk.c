/* The chunked coding: every split gives what one block gives; what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "http/chunk.h"

#define N(cases) (sizeof(cases) / sizeof((cases)[0]))

struct result {
	char body[4096];
	size_t n, left;
	enum chunk_result end;
};

/* Feeds text in pieces of at most `piece` bytes; a piece that ends early shows
 * in `left`. */
static void
run(struct slice text, size_t first, size_t piece, struct result *out)
{
	struct chunk_decoder d;
	struct slice in, data;

	*out = (struct result){ .end = CHUNK_MORE };
	chunk_init(&d);
	while (text.n > 0 && out->end == CHUNK_MORE) {
		in = text;
		if (in.n > first)
			in.n = first;
		first = piece;
		text.p += in.n;
		text.n -= in.n;
		while ((out->end = chunk_decode(&d, &in, &data)) == CHUNK_DATA) {
			assert_true(out->n + data.n <= sizeof(out->body));
			memcpy(out->body + out->n, data.p, data.n);
			out->n += data.n;
		}
		out->left = in.n + text.n;
	}
}

static void
check_all_splits(struct slice text, enum chunk_result end, const char *body,
    size_t left)
{
	struct result r;

	for (size_t first = 1; first <= text.n; first++) {
		run(text, first, text.n, &r);
		assert_int_equal(r.end, end);
		if (end == CHUNK_BAD)
			continue;
		assert_int_equal(r.n, strlen(body));
		assert_memory_equal(r.body, body, r.n);
		assert_int_equal(r.left, left);
	}
	for (size_t piece = 1; piece < 5; piece++) {
		run(text, piece, piece, &r);
		assert_int_equal(r.end, end);
	}
}

static void
test_good(void **state)
{
	static const struct { const char *text, *body; size_t left; } cases[] = {
		{ "0\r\n\r\n", "", 0 },
		{ "5\r\nhello\r\n0\r\n\r\n", "hello", 0 },
		{ "5\r\nhello\r\n0\r\n\r\nGET / ", "hello", 6 },
		{ "0005\r\nhello\r\n000\r\n\r\n", "hello", 0 },
		{ "5;a=\"b\t\"; c\r\nhello\r\n1;\r\n\r\r\n0;x\r\n\r\n", "hello\r", 0 },
		{ "A\r\n0123456789\r\na\r\n\r\n0\r\n\r\n12\r\n0\r\n\r\n", "0123456789\r\n0\r\n\r\n12\r", 0 },
		{ "0\r\nA: b\r\nX-Y:\r\n\r\nrest", "", 4 },
	};

	check_all_splits(slice_of(cases[0].text), CHUNK_END, "", 0);
	for (size_t i = 0; i < N(cases); i++) {
		if (i == 5)
			continue;
		check_all_splits(slice_of(cases[i].text), CHUNK_END,
		    cases[i].body, cases[i].left);
	}
}

static void
test_bad(void **state)
{
	static const struct { const char *text; size_t n; } cases[] = {
#define BAD(text) { text, sizeof(text) - 1 }
		BAD("\r\n"), BAD(";\r\n"), BAD(" 5\r\n"), BAD("5 \r\n"), BAD("5 ;a\r\n"),
		BAD("g\r\n"), BAD("-1\r\n"), BAD("+1\r\n"), BAD("0x5\r\n"), BAD("5\n"),
		BAD("5\rx"), BAD("5;a\n"), BAD("5;a\rb"), BAD("5;\x01\r\n"), BAD("5;\0\r\n"),
		BAD("8000000000000000\r\n"), BAD("10000000000000005\r\n"),
		BAD("ffffffffffffffff0\r\n"),
		BAD("1\r\nab"), BAD("1\r\na\n"), BAD("1\r\na\rx"), BAD("1\r\na0\r\n\r\n"),
		BAD("1\r\na\r\n\r\n"),
		BAD("0\r\n\n"), BAD("0\r\n\rx"), BAD("0\r\n a: b\r\n\r\n"), BAD("0\r\n: b\r\n"),
		BAD("0\r\nA b: c\r\n"), BAD("0\r\nA\r\n"), BAD("0\r\nA: \x7f\r\n"),
		BAD("0\r\nA: b\n"), BAD("0\r\nA: b\rc"), BAD("0\r\n\x80: b\r\n"),
		BAD("0\r\nA: b\r\n c\r\n\r\n"),
	};

	for (size_t i = 0; i < N(cases); i++)
		check_all_splits((struct slice){ cases[i].text, cases[i].n },
		    CHUNK_BAD, "", 0);
}

static void
test_end_and_bad_are_final(void **state)
{
	struct chunk_decoder d;
	struct slice in = SLICE("0\r\n\r\nx"), data;

	chunk_init(&d);
	assert_int_equal(chunk_decode(&d, &in, &data), CHUNK_END);
	assert_int_equal(chunk_decode(&d, &in, &data), CHUNK_END);
	assert_int_equal(in.n, 1);
	chunk_init(&d);
	in = SLICE("x0\r\n\r\n");
	assert_int_equal(chunk_decode(&d, &in, &data), CHUNK_BAD);
	assert_int_equal(chunk_decode(&d, &in, &data), CHUNK_BAD);
}

static void
test_sizes(void **state)
{
	struct chunk_decoder d;
	struct slice in, data;

	chunk_init(&d);
	in = SLICE("7fffffffffffffff\r\n");
	assert_int_equal(chunk_decode(&d, &in, &data), CHUNK_MORE);
	assert_true(d.left == UINT64_C(0x7fffffffffffffff));
	chunk_init(&d);
	in = SLICE("7FFFFFFFFFFFFFFF\r\nabc");
	assert_int_equal(chunk_decode(&d, &in, &data), CHUNK_DATA);
	assert_int_equal(data.n, 3);
}

static size_t
repeat(char *buf, const char *begin, char c, size_t times, const char *end)
{
	size_t n = strlen(begin);

	memcpy(buf, begin, n);
	memset(buf + n, c, times);
	memcpy(buf + n + times, end, strlen(end));
	return n + times + strlen(end);
}

static void
test_limits(void **state)
{
	static char buf[CHUNK_TRAILERS_MAX + 2 * CHUNK_LINE_MAX];
	struct result r;
	size_t n;

	/* the line's CR and LF count too */
	n = repeat(buf, "0;", 'a', CHUNK_LINE_MAX - 4, "\r\n\r\n");
	run((struct slice){ buf, n }, n, n, &r);
	assert_int_equal(r.end, CHUNK_END);
	n = repeat(buf, "0;", 'a', CHUNK_LINE_MAX - 3, "\r\n\r\n");
	run((struct slice){ buf, n }, n, n, &r);
	assert_int_equal(r.end, CHUNK_BAD);
	n = repeat(buf, "", '0', CHUNK_LINE_MAX + 1, "");
	run((struct slice){ buf, n }, 1, 1, &r);
	assert_int_equal(r.end, CHUNK_BAD);

	n = repeat(buf, "0\r\nA:", 'a', CHUNK_LINE_MAX - 3, "\r\n\r\n");
	run((struct slice){ buf, n }, n, n, &r);
	assert_int_equal(r.end, CHUNK_BAD);

	n = repeat(buf, "0\r\n", 'a', 0, "");
	while (n < CHUNK_TRAILERS_MAX - 2)
		n += repeat(buf + n, "Abcdef:", 'a', 23, "\r\n");
	memcpy(buf + n, "\r\n", 2);
	n += 2;
	run((struct slice){ buf, n }, n, n, &r);
	assert_int_equal(r.end, CHUNK_BAD);
	n = n - 32;
	memcpy(buf + n - 2, "\r\n", 2);
	run((struct slice){ buf, n }, n, n, &r);
	assert_int_equal(r.end, CHUNK_END);
}

static void
test_head_is_read_back(void **state)
{
	static const size_t sizes[] = { 1, 9, 10, 15, 16, 255, 256, 65535, 65536,
	    (size_t)INT64_MAX };
	struct chunk_decoder d;
	char buf[CHUNK_HEAD_MAX];
	struct slice in, data;

	for (size_t i = 0; i < N(sizes); i++) {
		in = (struct slice){ buf, chunk_head(sizes[i], buf) };
		assert_true(in.n <= sizeof(buf));
		chunk_init(&d);
		assert_int_equal(chunk_decode(&d, &in, &data), CHUNK_MORE);
		assert_true(d.left == sizes[i]);
	}
	assert_int_equal(chunk_head(SIZE_MAX, buf), CHUNK_HEAD_MAX);
	assert_memory_equal(buf, "ffffffffffffffff\r\n", CHUNK_HEAD_MAX);
	assert_int_equal(chunk_head(0, buf), 3);
	assert_memory_equal(buf, "0\r\n", 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_end_and_bad_are_final),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_head_is_read_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
