/* A stream that shows what it is given line by line, wherever it was split. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "ledger/output/shown.h"

static const char text[] = "plain\n{\"a\":\"\xc2\x9b\xe2\x80\xae\xf3\xa0\x80\xa0\xc3\xa9\"}\n\x1b[2J\xff\n\nrest\xc2\x9b";
static const char shown[] = "plain\n{\"a\":\"\\u009b\\u202e\\udb40\\udc20\xc3\xa9\"}\n\\u001b[2J?\n\nrest\\u009b";

static void
test_splits(void **state)
{
	const size_t n = sizeof(text) - 1;

	for (size_t cut = 0; cut <= n; cut++) {
		char *got = NULL;
		size_t len = 0;
		FILE *to = open_memstream(&got, &len), *out = shown_lines(to);

		assert_non_null(out);
		fwrite(text, 1, cut, out);
		fflush(out);
		fwrite(text + cut, 1, n - cut, out);
		assert_int_equal(fclose(out), 0);
		fclose(to);
		assert_string_equal(got, shown);
		free(got);
	}
}

/* As soon as a line is whole it is there, and not before. */
static void
test_whole_lines(void **state)
{
	char *got = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&got, &len), *out = shown_lines(to);

	for (size_t i = 0; i < 300000; i++)
		putc('x', out);
	fflush(out);
	fflush(to);
	assert_int_equal(len, 0);
	putc('\n', out);
	fflush(out);
	assert_int_equal(len, 300001);
	fputs("more", out);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(len, 300005);
	fclose(to);
	free(got);
}

static void
test_full(void **state)
{
	FILE *to = fopen("/dev/full", "w"), *out = shown_lines(to);

	assert_non_null(out);
	fputs("a line\n", out);
	assert_int_not_equal(fflush(out), 0);
	fclose(out);
	assert_true(ferror(to) != 0);
	fclose(to);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_splits),
		cmocka_unit_test(test_whole_lines),
		cmocka_unit_test(test_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
