#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <string.h>

#include "ledger/record/json_out.h"

static void
commas_stand_between_values(void **state)
{
	struct json_out out;
	char buf[256];
	int len;

	json_out_begin(&out, buf, sizeof(buf));
	json_out_object(&out, NULL);
	json_out_str(&out, "a", "x");
	json_out_array(&out, "b");
	json_out_int(&out, NULL, -7);
	json_out_uint(&out, NULL, 7);
	json_out_object(&out, NULL);
	json_out_object_end(&out);
	json_out_array(&out, NULL);
	json_out_array_end(&out);
	json_out_array_end(&out);
	json_out_bool(&out, "c", false);
	json_out_null(&out, "d");
	json_out_hex(&out, "e", (const uint8_t *)"\x00\xfa", 2);
	json_out_raw(&out, "f", "[1,2]", 5);
	json_out_object_end(&out);
	len = json_out_end(&out);
	assert_int_equal(len, strlen(buf));
	assert_string_equal(buf, "{\"a\":\"x\",\"b\":[-7,7,{},[]],\"c\":false,"
	    "\"d\":null,\"e\":\"00fa\",\"f\":[1,2]}");
}

static const char *
escaped(const char *text, size_t len)
{
	static char buf[256];
	struct json_out out;

	json_out_begin(&out, buf, sizeof(buf));
	json_out_strn(&out, NULL, text, len);
	assert_true(json_out_end(&out) >= 2);
	return buf;
}

static void
strings_become_one_clean_line(void **state)
{
	assert_string_equal(escaped("a\"\\\n\r\t", 6),
	    "\"a\\\"\\\\\\n\\r\\t\"");
	assert_string_equal(escaped("\0\x1f\x7f", 3),
	    "\"\xef\xbf\xbd\\u001f\\u007f\"");
	assert_string_equal(escaped("\xc2\x9b[", 3), "\"\\u009b[\"");
	assert_string_equal(escaped("\xc2\xa0", 2), "\"\xc2\xa0\"");
	/* what is not seen as what it is */
	assert_string_equal(escaped("\xe2\x80\xae", 3), "\"\\u202e\"");
	assert_string_equal(escaped("\xe2\x80\xa8", 3), "\"\\u2028\"");
	assert_string_equal(escaped("\xf3\xa0\x81\x81", 4), "\"\\udb40\\udc41\"");
	assert_string_equal(escaped("\xf0\x9f\x94\x91", 4),
	    "\"\xf0\x9f\x94\x91\"");
}

static void
bytes_that_are_not_utf8_are_replaced(void **state)
{
	assert_string_equal(escaped("a\xff""b", 3), "\"a\xef\xbf\xbd""b\"");
	/* overlong slash, surrogate, beyond U+10FFFF: every byte replaced */
	assert_string_equal(escaped("\xc0\xaf", 2),
	    "\"\xef\xbf\xbd\xef\xbf\xbd\"");
	assert_string_equal(escaped("\xed\xa0\x80", 3),
	    "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
	assert_string_equal(escaped("\xf4\x90\x80\x80", 4),
	    "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
	/* a character cut short at the end */
	assert_string_equal(escaped("\xc2", 1), "\"\xef\xbf\xbd\"");
	assert_string_equal(escaped("\xf0\x9f\x94", 3),
	    "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

static void
every_byte_pair_is_read_back_by_jansson(void **state)
{
	for (unsigned i = 0; i < 65536; i++) {
		char pair[2] = { (char)(i >> 8), (char)i };
		json_t *value = json_loads(escaped(pair, 2),
		    JSON_DECODE_ANY, NULL);

		assert_non_null(value);
		if (pair[0] > 0 && pair[1] > 0) {
			assert_int_equal(json_string_length(value), 2);
			assert_memory_equal(json_string_value(value), pair, 2);
		}
		json_decref(value);
	}
}

static void
integers_reach_their_limits(void **state)
{
	struct json_out out;
	char buf[128];

	json_out_begin(&out, buf, sizeof(buf));
	json_out_array(&out, NULL);
	json_out_int(&out, NULL, INT64_MIN);
	json_out_int(&out, NULL, INT64_MAX);
	json_out_uint(&out, NULL, UINT64_MAX);
	json_out_int(&out, NULL, 0);
	json_out_array_end(&out);
	assert_true(json_out_end(&out) > 0);
	assert_string_equal(buf, "[-9223372036854775808,9223372036854775807,"
	    "18446744073709551615,0]");
}

/* Every capacity: either the whole value, or -1 and nothing past the end. */
static void
what_does_not_fit_is_reported(void **state)
{
	static const char whole[] = "{\"a\":\"\\u0001\",\"b\":1}";

	for (size_t cap = 0; cap < 32; cap++) {
		bool fits = cap >= sizeof(whole);
		struct json_out out;
		char buf[40];

		memset(buf, '~', sizeof(buf));
		json_out_begin(&out, buf, cap);
		json_out_object(&out, NULL);
		json_out_str(&out, "a", "\x01");
		json_out_int(&out, "b", 1);
		json_out_object_end(&out);
		assert_int_equal(json_out_end(&out),
		    fits ? (int)sizeof(whole) - 1 : -1);
		for (size_t i = cap; i < sizeof(buf); i++)
			assert_int_equal(buf[i], '~');
		if (cap > 0)
			assert_string_equal(buf, fits ? whole : "");
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commas_stand_between_values),
		cmocka_unit_test(strings_become_one_clean_line),
		cmocka_unit_test(bytes_that_are_not_utf8_are_replaced),
		cmocka_unit_test(every_byte_pair_is_read_back_by_jansson),
		cmocka_unit_test(integers_reach_their_limits),
		cmocka_unit_test(what_does_not_fit_is_reported),
	};

	return cmocka_run_group_tests_name("json_out", tests, NULL, NULL);
}
