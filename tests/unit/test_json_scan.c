#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/record/json_scan.h"

static struct json_scan scratch;

static const char *
scan(const char *text)
{
	/* On the heap without a NUL, so that a read past the end is seen. */
	size_t len = strlen(text);
	char *copy = malloc(len + 1);
	const char *rule;

	assert_non_null(copy);
	memcpy(copy + 1, text, len);
	rule = json_scan_object(&scratch, copy + 1, len);
	free(copy);
	return rule;
}

static void
good_objects_pass(void **state)
{
	static const char *const good[] = {
		"{}", "{\"a\":1}", "{\"\":null}",
		"{\"a\":{\"a\":{\"a\":[{},[],true,false,null]}},\"b\":\"\"}",
		"{\"n\":[0,-0,9007199254740991,-9007199254740991,0.5,-1e9,"
		    "1E+99,12.25e-10]}",
		"{\"s\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0001\\uFFFF\"}",
		"{\"s\":\"\\ud83d\\udd11 \xf0\x9f\x94\x91 \xc3\xa9 \xe2\x82\xac\"}",
		"{\"0123456789abcdef\":\"0123456789abcdef0123456789abcdef\"}",
		"{\"a\":[{\"x\":1},{\"x\":2}]}",
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		json_t *value = json_loads(good[i], JSON_REJECT_DUPLICATES,
		    NULL);

		assert_null(scan(good[i]));
		assert_non_null(value);
		json_decref(value);
	}
}

static void
every_rule_has_its_breach(void **state)
{
	static const char *const bad[][2] = {
		{ "", "not an object" },
		{ "[]", "not an object" },
		{ " {}", "not an object" },
		{ "{} ", "bytes behind the object" },
		{ "{}{}", "bytes behind the object" },
		{ "{", "malformed object" },
		{ "{\"a\"", "malformed object" },
		{ "{\"a\":", "cut short" },
		{ "{\"a\":1", "malformed object" },
		{ "{\"a\":1,}", "malformed object" },
		{ "{\"a\": 1}", "malformed value" },
		{ "{\"a\" :1}", "malformed object" },
		{ "{a:1}", "malformed object" },
		{ "{\"a\":[1,]}", "malformed value" },
		{ "{\"a\":[1 ]}", "malformed array" },
		{ "{\"a\":[1}", "malformed array" },
		{ "{\"a\":tru}", "malformed value" },
		{ "{\"a\":nul", "malformed value" },
		{ "{\"a\":NaN}", "malformed value" },
		{ "{\"a\":Infinity}", "malformed value" },
		{ "{\"a\":'x'}", "malformed value" },
		{ "{\"a\":-}", "malformed value" },
		{ "{\"a\":+1}", "malformed value" },
		{ "{\"a\":01}", "leading zero in a number" },
		{ "{\"a\":-01}", "leading zero in a number" },
		{ "{\"a\":1.}", "malformed number" },
		{ "{\"a\":1.e1}", "malformed number" },
		{ "{\"a\":1e}", "malformed number" },
		{ "{\"a\":1e+}", "malformed number" },
		{ "{\"a\":1e100}", "exponent of a number too long" },
		{ "{\"a\":9007199254740992}", "integer beyond 2^53-1" },
		{ "{\"a\":-9007199254740992}", "integer beyond 2^53-1" },
		{ "{\"a\":18446744073709551617}", "integer beyond 2^53-1" },
		{ "{\"a\":0.1234567890123456789012345678901}",
		    "number too long" },
		{ "{\"a\":\"", "unterminated string" },
		{ "{\"a\":\"0123456789", "unterminated string" },
		{ "{\"a\":\"\\", "unterminated string" },
		{ "{\"a\":\"\\x41\"}", "unknown escape" },
		{ "{\"a\":\"\\u12g4\"}", "malformed \\u escape" },
		{ "{\"a\":\"\\u12", "malformed \\u escape" },
		{ "{\"a\":\"\\u0000\"}", "U+0000 in a string" },
		{ "{\"a\":\"\\ud800\"}", "lone surrogate" },
		{ "{\"a\":\"\\ud800\\n\"}", "lone surrogate" },
		{ "{\"a\":\"\\ud800\\u0041\"}", "lone surrogate" },
		{ "{\"a\":\"\\ud800\\ud800\"}", "lone surrogate" },
		{ "{\"a\":\"\\udc00\"}", "lone surrogate" },
		{ "{\"a\":\"\n\"}", "raw control byte" },
		{ "{\"a\":\"12345678\t12345678\"}", "raw control byte" },
		{ "{\"a\":\"\x7f\"}", "raw control byte" },
		{ "{\"a\":\"\x80\"}", "invalid UTF-8" },
		{ "{\"a\":\"\xc0\xaf\"}", "invalid UTF-8" },
		{ "{\"a\":\"\xed\xa0\x80\"}", "invalid UTF-8" },
		{ "{\"a\":\"\xf4\x90\x80\x80\"}", "invalid UTF-8" },
		{ "{\"a\":\"\xe2\x82", "invalid UTF-8" },
		{ "{\"a\":1,\"a\":2}", "duplicate name" },
		{ "{\"a\":1,\"b\":{\"a\":1},\"a\":2}", "duplicate name" },
		{ "{\"b\":{\"c\":1,\"c\":2}}", "duplicate name" },
		{ "{\"\":1,\"\":2}", "duplicate name" },
		{ "{\"\\u0061\":1}", "escape in a name" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		const char *rule = scan(bad[i][0]);

		assert_non_null(rule);
		assert_string_equal(rule, bad[i][1]);
	}
}

/* A string of every byte at every place of a word of eight. */
static void
each_byte_is_seen_at_each_place(void **state)
{
	for (unsigned byte = 1; byte < 256; byte++) {
		for (size_t at = 0; at < 16; at++) {
			char text[] = "{\"a\":\"0123456789012345\"}";
			bool plain = byte >= 0x20 && byte < 0x7f &&
			    byte != '"' && byte != '\\';

			text[6 + at] = (char)byte;
			if (plain)
				assert_null(scan(text));
			else
				assert_non_null(scan(text));
		}
	}
}

/* An object of n names, or n objects one in the other. */
static char *
object_of(size_t n, bool nested)
{
	char *text = malloc(n * 16 + 16), *at = text;

	assert_non_null(text);
	at += sprintf(at, "{");
	for (size_t i = 0; i < n; i++) {
		if (nested)
			at += sprintf(at, "\"a\":%s", i + 1 < n ? "{" : "1");
		else
			at += sprintf(at, "%s\"%zu\":1", i > 0 ? "," : "", i);
	}
	for (size_t i = 0; i < (nested ? n : 1); i++)
		at += sprintf(at, "}");
	return text;
}

static void
limits_are_exact(void **state)
{
	char *text;

	assert_null(scan(text = object_of(JSON_NAMES_MAX, false)));
	free(text);
	assert_string_equal(scan(text = object_of(JSON_NAMES_MAX + 1, false)),
	    "too many names in an object");
	free(text);
	assert_null(scan(text = object_of(JSON_DEPTH_MAX, true)));
	free(text);
	assert_string_equal(scan(text = object_of(JSON_DEPTH_MAX + 1, true)),
	    "nested too deeply");
	free(text);
}

static void
long_names_and_objects_are_refused(void **state)
{
	size_t len = JSON_SCAN_MAX + 1;
	char *text = malloc(len + 1);
	char name[JSON_NAME_MAX + 16];

	assert_non_null(text);
	memset(text, 'a', len);
	memcpy(text, "{\"a\":\"", 6);
	memcpy(text + len - 2, "\"}", 3);
	assert_string_equal(scan(text), "too long");
	memcpy(text + len - 3, "\"}", 3);
	assert_null(scan(text));
	free(text);
	for (int n = JSON_NAME_MAX; n <= JSON_NAME_MAX + 1; n++) {
		snprintf(name, sizeof(name), "{\"%0*d\":1}", n, 0);
		if (n == JSON_NAME_MAX)
			assert_null(scan(name));
		else
			assert_string_equal(scan(name), "name too long");
	}
}

static void
the_outermost_member_is_found(void **state)
{
	static const struct { const char *text, *value; } cases[] = {
		{ "{}", NULL }, { "{\"parent\":1}", "1" },
		{ "{\"parent\":{\"parent\":2}}", "{\"parent\":2}" },
		{ "{\"a\":{\"parent\":2},\"parent\":\"x\",\"b\":3}", "\"x\"" },
		{ "{\"a\":[{\"parent\":2}]}", NULL }, { "{\"a\":\"parent\"}", NULL },
		{ "{\"Parent\":1,\"parents\":2,\"paren\":3}", NULL },
		{ "{\"parent\":1,\"b\":tru}", NULL }, { "{\"parent\":", NULL },
	};
	const char *value, *rule;
	size_t i, len;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rule = json_scan_member(&scratch, cases[i].text, strlen(cases[i].text),
		    "parent", &value, &len);
		assert_ptr_equal(rule, json_scan_object(&scratch, cases[i].text,
		    strlen(cases[i].text)));
		assert_int_equal(len, cases[i].value == NULL ? 0 : strlen(cases[i].value));
		assert_true((value == NULL) == (cases[i].value == NULL));
		if (value != NULL)
			assert_memory_equal(value, cases[i].value, len);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_objects_pass),
		cmocka_unit_test(the_outermost_member_is_found),
		cmocka_unit_test(every_rule_has_its_breach),
		cmocka_unit_test(each_byte_is_seen_at_each_place),
		cmocka_unit_test(limits_are_exact),
		cmocka_unit_test(long_names_and_objects_are_refused),
	};

	return cmocka_run_group_tests_name("json_scan", tests, NULL, NULL);
}
