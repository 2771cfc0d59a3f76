#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "plane/buf.h"

#include <stdlib.h>

static void
test_queue(void **state)
{
	struct buf buf = { 0 };
	char want[512], got[512];
	size_t in = 0, out = 0;

	/* Any pattern of adds and takes keeps the order. */
	srandom(7);
	for (unsigned round = 0; round < 20000; round++) {
		size_t n = (size_t)random() % sizeof(want);

		if (random() % 2 == 0) {
			for (size_t i = 0; i < n; i++)
				want[i] = (char)(in + i);
			if (buf_add(&buf, (struct slice){ want, n }, 4096) == 0)
				in += n;
			else
				assert_true(buf.len + n > 4096);
		} else {
			n = n < buf.len ? n : buf.len;
			if (n > 0)
				memcpy(got, buf.p + buf.off, n);
			buf_take(&buf, n);
			for (size_t i = 0; i < n; i++)
				assert_int_equal(got[i], (char)(out + i));
			out += n;
		}
		assert_int_equal(buf.len, in - out);
		assert_true(buf.cap <= 8192);
	}
	buf_free(&buf);
	assert_null(buf.p);
}

static void
test_cap(void **state)
{
	struct buf buf = { 0 };

	assert_null(buf_reserve(&buf, 101, 100));
	assert_null(buf.p);
	assert_non_null(buf_reserve(&buf, 100, 100));
	buf_commit(&buf, 100);
	assert_null(buf_reserve(&buf, 1, 100));
	assert_null(buf_reserve(&buf, SIZE_MAX, SIZE_MAX - 50));
	assert_int_equal(buf_add(&buf, SLICE("x"), 100), -1);
	assert_int_equal(buf_add(&buf, (struct slice){ NULL, 0 }, 100), 0);
	buf_take(&buf, 1);
	assert_int_equal(buf_add(&buf, SLICE("x"), 100), 0);
	buf_free(&buf);
	buf_free(&buf);
}

/* What was taken is not left behind. */
static void
test_wiped(void **state)
{
	struct buf buf = { 0 };

	buf_add(&buf, SLICE("not for others"), 100);
	buf_take(&buf, 4);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(buf.p[i], 0);
	assert_memory_equal(buf.p + buf.off, "for others", 10);
	assert_non_null(buf_reserve(&buf, buf.cap - 12, 4096));	/* moves to the front */
	for (size_t i = buf.len; i < 14; i++)
		assert_int_equal(buf.p[i], 0);
	assert_memory_equal(buf.p + buf.off, "for others", 10);
	buf_free(&buf);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_queue), cmocka_unit_test(test_cap),
		cmocka_unit_test(test_wiped),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
