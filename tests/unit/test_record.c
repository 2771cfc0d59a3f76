#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ledger/record/record.h"

#define ZEROS16 "0000000000000000"
#define POLICY "sha256:" ZEROS16 ZEROS16 "1111111111111111" "aaaaaaaaaaaaaaaa"
#define LINE(run, body) "{\"v\":1,\"prev\":\"" ZEROS16 ZEROS16 ZEROS16 \
	"0000000000000aff\",\"stream\":\"broker\",\"seq\":7," \
	"\"t\":\"2026-11-29T15:36:01.123456Z\",\"type\":\"use\"" run \
	",\"policy\":\"" POLICY "\",\"body\":" body "}"

static struct json_scan scratch;

static struct record_slice
slice(const char *text)
{
	return (struct record_slice){ text, strlen(text) };
}

static void
assert_slice(struct record_slice actual, const char *expected)
{
	assert_int_equal(actual.len, strlen(expected));
	assert_memory_equal(actual.ptr, expected, actual.len);
}

static const uint8_t prev[RECORD_HASH_LEN] = { [30] = 0x0a, [31] = 0xff };

static struct record_parts
parts(const char *run)
{
	return (struct record_parts){ .prev = prev, .stream = slice("broker"),
	    .type = slice("use"), .policy = slice(POLICY),
	    .run = run != NULL ? slice(run) : (struct record_slice){ NULL, 0 },
	    .body = slice("{\"uses\":1}"), .seq = 7,
	    .time_us = INT64_C(1795966561123456) };
}

static void
composes_the_documented_form(void **state)
{
	struct record_parts with = parts("r1"), without = parts(NULL);
	char line[1024];
	size_t len = record_compose(line, sizeof(line), &with);

	assert_slice((struct record_slice){ line, len },
	    LINE(",\"run\":\"r1\"", "{\"uses\":1}"));
	assert_memory_equal(line + RECORD_PREV_AT, ZEROS16, 16);
	len = record_compose(line, sizeof(line), &without);
	assert_slice((struct record_slice){ line, len },
	    LINE("", "{\"uses\":1}"));
}

static void
reads_back_what_it_wrote(void **state)
{
	struct record_parts with = parts("r1");
	struct record_line read;
	char line[1024];
	size_t len = record_compose(line, sizeof(line), &with);

	assert_null(record_check(&scratch, line, len, &read));
	assert_slice(read.stream, "broker");
	assert_slice(read.type, "use");
	assert_slice(read.run, "r1");
	assert_slice(read.policy, POLICY);
	assert_slice(read.body, "{\"uses\":1}");
	assert_slice(read.t, "2026-11-29T15:36:01.123456Z");
	assert_int_equal(read.seq, 7);
	assert_int_equal(read.time_us, with.time_us);
	assert_int_equal(read.prev.ptr - line, RECORD_PREV_AT);
}

/* Every byte as the two digits that printf gives. */
static void
digits_of_every_byte(void **state)
{
	struct record_parts some = parts("r1");
	uint8_t hash[RECORD_HASH_LEN];
	char line[1024], two[16];

	some.prev = hash;
	for (unsigned from = 0; from < 256; from += RECORD_HASH_LEN) {
		for (unsigned i = 0; i < RECORD_HASH_LEN; i++)
			hash[i] = (uint8_t)(from + i);
		assert_int_not_equal(record_compose(line, sizeof(line), &some), 0);
		for (unsigned i = 0; i < RECORD_HASH_LEN; i++) {
			snprintf(two, sizeof(two), "%02x", from + i);
			assert_memory_equal(line + RECORD_PREV_AT + 2 * i, two, 2);
		}
	}
}

/* A time that the caller wrote, moved on within its second. */
static void
a_time_is_moved_on_within_its_second(void **state)
{
	struct record_parts with = parts("r1"), plain = with;
	char one[1024], other[1024], text[RECORD_TIME_LEN];
	size_t len;

	record_time_format(text, with.time_us);
	with.time_us = plain.time_us = INT64_C(1795966561000042);
	record_time_micros(text, with.time_us);
	with.time = text;
	len = record_compose(one, sizeof(one), &with);
	assert_int_equal(record_compose(other, sizeof(other), &plain), len);
	assert_memory_equal(one, other, len);
}

static void
bytes_of_a_name(void **state)
{
	static const char more[] = "-._:/@+";

	for (int c = 0; c < 256; c++) {
		char name[3] = { 'a', (char)c, 'z' };
		bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
		    (c >= 'A' && c <= 'Z');

		assert_int_equal(record_name_valid(name, 3),
		    plain || (c != 0 && strchr(more, c) != NULL));
		assert_int_equal(record_name_valid(name + 1, 2), plain);
		assert_int_equal(record_name_valid(name + 1, 1), plain);
	}
	assert_false(record_name_valid("", 0));
}

/* The widest of everything still fits the space set aside for it. */
static void
the_envelope_has_room_for_the_longest_parts(void **state)
{
	char name[RECORD_NAME_MAX + 1] = { 0 }, line[RECORD_ENVELOPE_MAX + 2];
	struct record_parts widest = parts(NULL);
	struct record_line read;
	size_t len;

	memset(name, 'a', RECORD_NAME_MAX);
	widest.stream = widest.type = widest.run = slice(name);
	widest.seq = RECORD_SEQ_MAX;
	widest.time_us = RECORD_TIME_MAX;
	widest.body = slice("{}");
	len = record_compose(line, sizeof(line), &widest);
	assert_int_not_equal(len, 0);
	assert_null(record_check(&scratch, line, len, &read));
	assert_slice(read.t, "9999-12-31T23:59:59.999999Z");
	assert_int_equal(record_compose(line, RECORD_ENVELOPE_MAX + 1,
	    &widest), 0);
}

static void
a_line_never_exceeds_its_limit(void **state)
{
	size_t most = RECORD_LINE_MAX - RECORD_ENVELOPE_MAX;
	char *body = malloc(most + 1), *line = malloc(RECORD_LINE_MAX + 100);
	struct record_parts big = parts(NULL);
	struct record_line read;
	size_t len;

	memset(body, 'a', most + 1);
	big.body = (struct record_slice){ body, most + 1 };
	assert_int_equal(record_compose(line, RECORD_LINE_MAX + 100, &big), 0);
	big.body.len = most;
	memcpy(body, "{\"a\":\"", 6);
	memcpy(body + most - 2, "\"}", 2);
	len = record_compose(line, RECORD_LINE_MAX + 100, &big);
	assert_in_range(len, most, RECORD_LINE_MAX);
	assert_null(record_check(&scratch, line, len, &read));
	memset(line + len, '}', RECORD_LINE_MAX + 1 - len);
	assert_null(record_parse(line, RECORD_LINE_MAX, &read));
	assert_string_equal(record_parse(line, RECORD_LINE_MAX + 1, &read),
	    "line over 65,535 bytes");
	free(line);
	free(body);
}

/* Cut anywhere, or with any byte of the fixed form changed, it is refused. */
static void
no_other_form_is_read(void **state)
{
	const char good[] = LINE(",\"run\":\"r1\"", "{\"uses\":1}");
	struct record_line read;

	assert_null(record_check(&scratch, good, sizeof(good) - 1, &read));
	for (size_t len = 0; len < sizeof(good) - 1; len++) {
		char *cut = malloc(len + 1);	/* no NUL: overreads show */

		memcpy(cut, good, len);
		assert_non_null(record_check(&scratch, cut, len, &read));
		free(cut);
	}
	for (size_t at = 0; at < sizeof(good) - 1; at++) {
		char bad[sizeof(good)];

		memcpy(bad, good, sizeof(good));
		bad[at] = '\x01';
		assert_non_null(record_check(&scratch, bad, sizeof(good) - 1,
		    &read));
	}
}

static void
bad_fields_are_named(void **state)
{
	static const char *const bad[][3] = {
		{ "\"v\":1", "\"v\":2", record_other_version },
		{ "\"v\":1", "\"v\":10", record_other_version },
		{ "\"v\":1,", "\"v\":2", "no version 1 record with a prev of 64 hex digits" },
		{ "\"v\":1", "\"v\":", "no version 1 record with a prev of 64 hex digits" },
		{ "0aff", "0AFF",
		    "no version 1 record with a prev of 64 hex digits" },
		{ "broker", "", "malformed stream" },
		{ "broker", "-roker", "malformed stream" },
		{ "broker", "bro ker", "malformed stream" },
		{ "broker", "bro\\u006b", "malformed stream" },
		{ "broker", "0123456789012345678901234567890123456789"
		    "0123456789012345678901234", "malformed stream" },
		{ "\"seq\":7", "\"seq\":07", "malformed seq" },
		{ "\"seq\":7", "\"seq\":-7", "malformed seq" },
		{ "\"seq\":7", "\"seq\":7.0", "malformed time" },
		{ "\"seq\":7", "\"seq\":9007199254740992", "malformed seq" },
		{ "\"seq\":7", "\"seq\":18446744073709551616",
		    "malformed seq" },
		{ "11-29T", "02-29T", "malformed time" },
		{ "T15:", "T24:", "malformed time" },
		{ ":01.", ":60.", "malformed time" },
		{ "456Z", "456+", "malformed time" },
		{ "\"use\"", "\"Use\"", "malformed type" },
		{ "\"use\"", "\"\"", "malformed type" },
		{ "\"r1\"", "\"\"", "malformed run" },
		{ "\"run\":\"r1\"", "\"run\":null", "malformed policy digest" },
		{ "sha256:", "sha512:", "malformed policy digest" },
		{ "aaaa\"", "aaaA\"", "malformed policy digest" },
		{ "{\"uses\":1}", "null", "malformed body" },
		{ "{\"uses\":1}", "[{}", "malformed body" },
		{ "{\"uses\":1}", "{\"a\":1},\"b\":{}",
		    "bytes behind the object" },
		{ "{\"uses\":1}", "{\"a\":1,\"a\":1}", "duplicate name" },
		{ "\"v\":1,", "\"v\":1, ",
		    "no version 1 record with a prev of 64 hex digits" },
	};
	const char good[] = LINE(",\"run\":\"r1\"", "{\"uses\":1}");

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		const char *at = strstr(good, bad[i][0]);
		struct record_line read;
		char line[1024];
		int len;

		assert_non_null(at);
		len = snprintf(line, sizeof(line), "%.*s%s%s",
		    (int)(at - good), good, bad[i][1], at + strlen(bad[i][0]));
		assert_string_equal(record_check(&scratch, line, (size_t)len,
		    &read), bad[i][2]);
	}
}

static void
types_are_a_closed_list_for_writers(void **state)
{
	assert_true(record_type_known("use", 3));
	assert_true(record_type_known("teardown", 8));
	assert_false(record_type_known("us", 2));
	assert_false(record_type_known("uses", 4));
	assert_false(record_type_known("", 0));
}

static void
times_agree_with_the_library(void **state)
{
	/* every 17 hours or so, over five centuries and all leap rules */
	for (int64_t s = 0; s < INT64_C(16725225600); s += 61234) {
		char text[RECORD_TIME_LEN + 1] = { 0 }, expected[64];
		time_t second = (time_t)s;
		int64_t back;
		struct tm tm;

		record_time_format(text, s * 1000000 + 42);
		gmtime_r(&second, &tm);
		strftime(expected, sizeof(expected), "%Y-%m-%dT%H:%M:%S.000042Z",
		    &tm);
		assert_string_equal(text, expected);
		assert_int_equal(record_time_parse(text, &back), 0);
		assert_true(back == s * 1000000 + 42);
	}
}

static void
impossible_dates_are_refused(void **state)
{
	static const char *const dates[] = { "1969-12-31", "2026-00-01",
	    "2026-13-01", "2026-01-00", "2026-01-32", "2026-04-31",
	    "2100-02-29", "2026-02-29" };
	char text[64];
	int64_t us;

	for (size_t i = 0; i < sizeof(dates) / sizeof(*dates); i++) {
		snprintf(text, sizeof(text), "%sT00:00:00.000000Z", dates[i]);
		assert_int_equal(record_time_parse(text, &us), -1);
	}
	assert_int_equal(record_time_parse("2000-02-29T00:00:00.000000Z", &us),
	    0);
	assert_int_equal(record_time_parse("2024-02-29T23:59:59.999999Z", &us),
	    0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(composes_the_documented_form),
		cmocka_unit_test(reads_back_what_it_wrote),
		cmocka_unit_test(digits_of_every_byte),
		cmocka_unit_test(a_time_is_moved_on_within_its_second),
		cmocka_unit_test(bytes_of_a_name),
		cmocka_unit_test(the_envelope_has_room_for_the_longest_parts),
		cmocka_unit_test(a_line_never_exceeds_its_limit),
		cmocka_unit_test(no_other_form_is_read),
		cmocka_unit_test(bad_fields_are_named),
		cmocka_unit_test(types_are_a_closed_list_for_writers),
		cmocka_unit_test(times_agree_with_the_library),
		cmocka_unit_test(impossible_dates_are_refused),
	};

	return cmocka_run_group_tests_name("record", tests, NULL, NULL);
}
