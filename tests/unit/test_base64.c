/* Base64 has one spelling: every other character is refused in every place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "ledger/base64.h"

static void
one_spelling(void **state)
{
	uint8_t out[6];
	size_t got = 0;

	assert_int_equal(base64_read(out, sizeof(out), "AAECAwQ=", 8, &got), 0);
	assert_int_equal(got, 5);
	assert_memory_equal(out, "\0\1\2\3\4", 5);
	assert_int_equal(base64_read(out, sizeof(out), "AAECAwQ", 7, &got), -1);
	assert_int_equal(base64_read(out, sizeof(out), "AAECAwR=", 8, &got), -1);
	assert_int_equal(base64_read(out, sizeof(out), "AAECAwQ=\n", 9, &got), -1);
	assert_int_equal(base64_read(out, sizeof(out), "AAECAw_-", 8, &got), -1);
	assert_int_equal(base64_read(out, 4, "AAECAwQ=", 8, &got), -1);
}

static void
no_other_character(void **state)
{
	static const char alphabet[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint8_t out[6];
	char text[9] = "AAAAAAAA";
	size_t got;
	int c, at;

	for (at = 0; at < 8; at++)
		for (c = 0; c < 256; c++) {
			memset(text, 'A', 8);
			text[at] = (char)c;
			if (at == 7 && c == '=')
				continue;
			assert_int_equal(base64_read(out, sizeof(out), text, 8, &got),
			    memchr(alphabet, c, 64) != NULL ? 0 : -1);
		}
}

static void
ascii_prefix(void **state)
{
	assert_int_equal(base64_ascii("abc", 3), 3);
	assert_int_equal(base64_ascii("ab\x80" "c", 4), 2);
	assert_int_equal(base64_ascii("\xff", 1), 0);
	assert_int_equal(base64_ascii("", 0), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_spelling),
		cmocka_unit_test(no_other_character),
		cmocka_unit_test(ascii_prefix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
