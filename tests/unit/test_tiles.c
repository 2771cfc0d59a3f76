/* Names of tiles: one form each, and nothing else is one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "ledger/anchor/tiles.h"

static void
good(const char *path, bool entries, unsigned level, uint64_t index,
    unsigned width)
{
	char again[TILES_PATH_MAX];
	struct tiles_name name;

	assert_int_equal(tiles_name_parse(&name, path), 0);
	assert_int_equal(name.entries, entries);
	assert_int_equal(name.level, level);
	assert_int_equal(name.index, index);
	assert_int_equal(name.width, width);
	assert_int_equal(tiles_name_format(&name, again, sizeof(again)),
	    strlen(path));
	assert_string_equal(again, path);
}

static void
test_good(void **state)
{
	good("0/000", false, 0, 0, 256);
	good("0/000.p/1", false, 0, 0, 1);
	good("7/x001/x234/067.p/255", false, 7, 1234067, 255);
	good("1/x001/000", false, 1, 1000, 256);
	good("entries/x999/999", true, 0, 999999, 256);
	good("0/x999/x999/x999/x999/x999/999", false, 0, 999999999999999999, 256);
}

static void
test_bad(void **state)
{
	static const char *const bad[] = { "", "0", "0/", "/000", "8/000",
	    "00/000", "01/000", "-1/000", "0/0", "0/00", "0/0000", "0/000/",
	    "0/x000/000", "0/x001", "0/x001/", "0/001/000", "0/x01/000",
	    "0/000.p", "0/000.p/", "0/000.p/0", "0/000.p/01", "0/000.p/256",
	    "0/000.p/1/", "0/000.q/1", "0/../000", "entries", "entries/",
	    "Entries/000", "0/x001/x000/x000/x000/x000/x000/000", "0/00a",
	    "0/x1a0/000" };
	struct tiles_name name;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		if (tiles_name_parse(&name, bad[i]) != -1)
			fail_msg("\"%s\" was taken for a tile's name", bad[i]);
	}
}

static void
test_no_room(void **state)
{
	struct tiles_name name = { .index = 1234067, .width = 256 };
	char out[16];

	assert_int_equal(tiles_name_format(&name, out, 15), -1);
	assert_int_equal(tiles_name_format(&name, out, 16), 15);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
