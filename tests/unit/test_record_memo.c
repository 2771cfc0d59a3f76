/* record_memo_check gives record_check's answer, whatever came before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ledger/record/record_memo.h"

static struct record_memo memo;
static struct json_scan scratch;

static void
same_slice(struct record_slice a, struct record_slice b)
{
	assert_ptr_equal(a.ptr, b.ptr);
	assert_int_equal(a.len, b.len);
}

static unsigned
digit(char c)
{
	return c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a') + 10;
}

/* Both answers to one line, on the heap so that an overread is seen. */
static void
compare(const char *text, size_t len)
{
	struct record_line want, got;
	uint8_t prev[RECORD_HASH_LEN];
	char *line = malloc(len + 1);
	const char *a, *b;
	size_t i;

	assert_non_null(line);
	memcpy(line + 1, text, len);
	a = record_check(&scratch, line + 1, len, &want);
	b = record_memo_check(&memo, line + 1, len, &got, prev);
	if (a == NULL || b == NULL)
		assert_ptr_equal(a, b);
	else
		assert_string_equal(a, b);
	if (a == NULL) {
		same_slice(want.prev, got.prev);
		same_slice(want.stream, got.stream);
		same_slice(want.t, got.t);
		same_slice(want.type, got.type);
		same_slice(want.run, got.run);
		same_slice(want.policy, got.policy);
		same_slice(want.body, got.body);
		same_slice(want.parent, got.parent);
		assert_true(want.seq == got.seq && want.time_us == got.time_us);
		for (i = 0; i < sizeof(prev); i++)
			assert_int_equal(prev[i], 16 * digit(want.prev.ptr[2 * i]) +
			    digit(want.prev.ptr[2 * i + 1]));
	}
	free(line);
}

static size_t
compose(char line[2048], unsigned i)
{
	static const char *const streams[] = { "broker", "a", "hook-claude/7", "x1" };
	static const char *const runs[] = { "run_01", NULL, "r", "run_02_which_is_long" };
	static const char *const types[] = { "use", "outcome", "a_type", "z" };
	static const char *const bodies[] = { "{}", "{\"a\":1}", "{\"b\":{\"c\":[\"d\"],\"parent\":1},\"parent\":\"x\"}" };
	uint8_t prev[RECORD_HASH_LEN];
	char policy[RECORD_POLICY_LEN + 1] = "sha256:";
	struct record_parts parts = { .prev = prev, .seq = (uint64_t)i * i * i,
	    .time_us = INT64_C(1764430561123456) + (int64_t)i * (i % 3 ? 997 : 41000001) };
	unsigned k;

	for (k = 0; k < sizeof(prev); k++)
		prev[k] = (uint8_t)(i * 7 + k * 13);
	for (k = 0; k < 64; k++)
		policy[7 + k] = "0123456789abcdef"[(k + i / 50) % 16];
	parts.stream = (struct record_slice){ streams[i % 4], strlen(streams[i % 4]) };
	parts.type = (struct record_slice){ types[i / 4 % 4], strlen(types[i / 4 % 4]) };
	if (runs[i / 3 % 4] != NULL)
		parts.run = (struct record_slice){ runs[i / 3 % 4], strlen(runs[i / 3 % 4]) };
	parts.policy = (struct record_slice){ policy, RECORD_POLICY_LEN };
	parts.body = (struct record_slice){ bodies[i % 3], strlen(bodies[i % 3]) };
	return record_compose(line, 2048, &parts);
}

static void
test_good_lines(void **state)
{
	char line[2048];
	unsigned i;

	memset(&memo, 0, sizeof(memo));
	for (i = 0; i < 5000; i++)
		compare(line, compose(line, i));
}

/* Every value of every byte, and every cut, when all of it is known. */
static void
test_every_byte(void **state)
{
	char line[2048];
	unsigned i, value;
	size_t at, len;

	memset(&memo, 0, sizeof(memo));
	for (i = 4; i < 7; i++) {
		len = compose(line, i);
		for (at = 0; at < len; at++) {
			const char was = line[at];

			compare(line, len);
			for (value = 0; value < 256; value++) {
				line[at] = (char)value;
				compare(line, len);
			}
			line[at] = was;
		}
		for (at = 0; at < len; at++)
			compare(line, at);
	}
}

/* A field taken out, or put in twice, moves all that follows it. */
static void
test_shifts(void **state)
{
	char line[2048], other[4096];
	size_t at, n, len;

	memset(&memo, 0, sizeof(memo));
	len = compose(line, 9);
	compare(line, len);
	for (at = 0; at < len; at++) {
		for (n = 1; n < 30 && at + n <= len; n++) {
			memcpy(other, line, at);
			memcpy(other + at, line + at + n, len - at - n);
			compare(other, len - n);
			memcpy(other, line, at + n);
			memcpy(other + at + n, line + at, len - at);
			compare(other, len + n);
		}
	}
}

static void
test_times(void **state)
{
	static const char *const times[] = { "00.000000Z", "59.999999Z", "60.000000Z",
	    "99.999999Z", "5/.123456Z", "5:.123456Z", "01,123456Z", "01.12345 Z",
	    "01.123456z", "0\x80.123456Z", "/1.123456Z", "\x7f" "1.123456Z" };
	char line[2048], *z;
	unsigned i;
	size_t len;

	memset(&memo, 0, sizeof(memo));
	len = compose(line, 5);
	compare(line, len);
	z = strstr(line, "Z\",\"type\"");
	assert_non_null(z);
	for (i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		memcpy(z - 9, times[i], 10);
		compare(line, len);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_lines),
		cmocka_unit_test(test_every_byte),
		cmocka_unit_test(test_shifts),
		cmocka_unit_test(test_times)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
