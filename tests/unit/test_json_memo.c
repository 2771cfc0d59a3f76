#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/record/json_memo.h"

static struct json_memo memo;

/* Ask both, and have one answer: of the whole, and of its `parent`.  On the heap,
 * so that a read past the end is seen. */
static const char *
ask(const char *text, size_t len)
{
	static struct json_scan scratch;
	const char *value, *again, *rule, *same;
	size_t value_len, again_len;
	char *copy = malloc(len + 1);

	assert_non_null(copy);
	memcpy(copy + 1, text, len);
	rule = json_scan_member(&scratch, copy + 1, len, "parent", &value,
	    &value_len);
	same = json_memo_member(&memo, copy + 1, len, "parent", &again,
	    &again_len);
	assert_ptr_equal(rule, same);
	assert_ptr_equal(value, again);
	assert_int_equal(value_len, again_len);
	free(copy);
	return rule;
}

static const char *
say(const char *text)
{
	return ask(text, strlen(text));
}

static void
forget(void)
{
	memset(&memo, 0, sizeof(memo));
}

static unsigned
shapes(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < JSON_MEMO_SHAPES; i++)
		n += memo.shape[i].len != 0;
	return n;
}

static void
values_may_differ(void **state)
{
	static const char *const alike[] = {
		"{\"a\":\"x\",\"n\":1,\"parent\":\"p\",\"o\":{\"t\":true,\"l\":[1,2]}}",
		"{\"a\":\"\",\"n\":-1.5e9,\"parent\":\"pp\",\"o\":{\"t\":true,\"l\":[12,2]}}",
		"{\"a\":\"x\\\"y\",\"n\":10,\"parent\":\"\",\"o\":{\"t\":false,\"l\":[1,22]}}",
		"{\"a\":7,\"n\":\"1\",\"parent\":null,\"o\":{\"t\":\"true\",\"l\":[\"]\",2]}}",
		"{\"a\":\"},{\",\"n\":0,\"parent\":123,\"o\":{\"t\":1,\"l\":[1,2]}}",
	};

	forget();
	for (size_t i = 0; i < sizeof(alike) / sizeof(*alike); i++)
		assert_null(say(alike[i]));
	assert_int_equal(shapes(), 1);
}

static void
shape_may_not(void **state)
{
	static const char *const others[] = {
		"{\"a\":1,\"b\":2}", "{\"a\":1,\"c\":2}", "{\"a\":1}",
		"{\"a\":1,\"b\":2,\"c\":3}", "{\"a\":{},\"b\":2}",
		"{\"a\":1,\"b\":[]}", "{\"a\":[1],\"b\":2}", "{}",
	};

	forget();
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		assert_null(say(others[i]));
		assert_int_equal(shapes(), i + 1);
	}
	/* One more takes the place of the oldest when it comes again. */
	for (size_t i = 0; i < 5; i++)
		assert_null(say("{\"z\":1}"));
	assert_int_equal(shapes(), JSON_MEMO_SHAPES);
	assert_memory_equal(memo.shape[0].text, "{\"z\":1}", 7);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_null(say(others[i]));
}

static void
what_is_wrong_stays_wrong(void **state)
{
	static const char *const bad[] = {
		"{\"a\":1,\"b\":\"x\"", "{\"a\":1,\"b\":\"x\"}}", "{\"a\":01,\"b\":\"x\"}",
		"{\"a\":1,\"a\":\"x\"}", "{\"a\":1,\"b\":\"x}", "{\"a\":1.,\"b\":\"x\"}",
		"{\"a\":9007199254740992,\"b\":\"x\"}", "{\"a\":,\"b\":\"x\"}",
		"{\"a\":1,\"b\":\"\xff\"}", "{\"a\":1,\"b\":\"\n\"}", "{\"a\":1 ,\"b\":\"x\"}",
		"{\"a\":1,\"b\":\"x\"} ", "{\"a\":tru,\"b\":\"x\"}", "{\"a\":1\"b\":\"x\"}", "",
	};

	forget();
	assert_null(say("{\"a\":1,\"b\":\"x\"}"));
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_non_null(say(bad[i]));
	assert_int_equal(shapes(), 1);
}

/* Every byte of a body changed to each other one, one left out, one twice, and
 * every cut, each beside the shape of the body itself. */
static void
every_change_gets_the_same_answer(void **state)
{
	static const char body[] = "{\"decision\":\"allow\",\"parent\":\"0391\","
	    "\"peer\":{\"uid\":0},\"n\":[-1.5e3,\"\\u00e9\",null],\"v\":1}";
	const size_t len = sizeof(body) - 1;
	char text[sizeof(body) + 1];

	for (size_t i = 0; i < len; i++) {
		forget();
		assert_null(say(body));
		ask(body, i);
		for (unsigned byte = 0; byte < 256; byte++) {
			memcpy(text, body, len);
			text[i] = (char)byte;
			ask(text, len);
			assert_null(say(body));
		}
		memmove(text + i, body + i + 1, len - i - 1);
		memcpy(text, body, i);
		ask(text, len - 1);
		memcpy(text, body, i + 1);
		memcpy(text + i + 1, body + i, len - i);
		ask(text, len + 1);
	}
}

/* Too long, or with too many values, to be kept; a parent that is no plain
 * value; and the longest there is, like one that is kept. */
static void
limits_are_kept(void **state)
{
	static char text[JSON_SCAN_MAX + 64];
	size_t len, n;

	forget();
	assert_null(say("{\"parent\":{\"a\":1}}"));
	assert_null(say("{\"parent\":[]}"));
	for (n = JSON_MEMO_PLACES; n <= JSON_MEMO_PLACES + 1; n++) {
		len = (size_t)sprintf(text, "{\"a\":[0");
		for (size_t i = 1; i < n; i++)
			len += (size_t)sprintf(text + len, ",0");
		sprintf(text + len, "]}");
		assert_null(say(text));
		assert_int_equal(shapes(), 1);
	}
	for (n = JSON_MEMO_TEXT; n <= JSON_MEMO_TEXT + 1; n++) {
		snprintf(text, sizeof(text), "{\"%s\":\"%0*d\"}", n == JSON_MEMO_TEXT ?
		    "b" : "c", (int)n - 8, 0);
		assert_int_equal(strlen(text), n);
		assert_null(say(text));
		assert_int_equal(shapes(), 2);
	}
	for (n = JSON_SCAN_MAX; n <= JSON_SCAN_MAX + 1; n++) {
		snprintf(text, sizeof(text), "{\"b\":\"%0*d\"}", (int)n - 8, 0);
		assert_int_equal(say(text) == NULL, n == JSON_SCAN_MAX);
		assert_int_equal(shapes(), 2);
	}
}

static void
the_whole_is_asked_the_same(void **state)
{
	forget();
	assert_null(json_memo_object(&memo, "{\"a\":1}", 7));
	assert_null(json_memo_object(&memo, "{\"a\":22}", 8));
	assert_int_equal(shapes(), 1);
	assert_string_equal(json_memo_object(&memo, "{\"a\":02}", 8),
	    "leading zero in a number");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_may_differ),
		cmocka_unit_test(shape_may_not),
		cmocka_unit_test(what_is_wrong_stays_wrong),
		cmocka_unit_test(every_change_gets_the_same_answer),
		cmocka_unit_test(limits_are_kept),
		cmocka_unit_test(the_whole_is_asked_the_same),
	};

	return cmocka_run_group_tests_name("json_memo", tests, NULL, NULL);
}
