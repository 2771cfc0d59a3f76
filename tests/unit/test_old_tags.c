/* Tags that nobody fetched go after a month; they are looked for once an hour, not
 * with each run that is closed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "gate/impl.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define DAY 86400
#define NOW ((time_t)2000000000)

static char dir[] = "/tmp/countersign-tags-XXXXXX";

static const char *
in_dir(const char *name)
{
	static char path[sizeof(dir) + 64];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void
put(const char *name, time_t when)
{
	const struct timespec times[2] = { { .tv_sec = when }, { .tv_sec = when } };
	const int fd = open(in_dir(name), O_WRONLY | O_CREAT, 0600);

	assert_true(fd >= 0);
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
}

static bool
is_there(const char *name)
{
	return access(in_dir(name), F_OK) == 0;
}

static void
test_once_an_hour(void **state)
{
	struct gate gate = { .tags_dir = dir };

	put("old.tags", NOW - 31 * DAY);
	put("old.other", NOW - 31 * DAY);
	put("young.tags", NOW - 29 * DAY);
	gate_tags_tidy(&gate, NOW);
	assert_false(is_there("old.tags"));
	assert_true(is_there("old.other"));
	assert_true(is_there("young.tags"));

	put("old.tags", NOW - 31 * DAY);
	gate_tags_tidy(&gate, NOW);
	gate_tags_tidy(&gate, NOW + 3599);
	assert_true(is_there("old.tags"));
	gate_tags_tidy(&gate, NOW + 3600);
	assert_false(is_there("old.tags"));
}

/* A clock that was years ahead does not put it off for years. */
static void
test_clock_set_back(void **state)
{
	struct gate gate = { .tags_dir = dir };

	gate_tags_tidy(&gate, NOW + 1000 * (time_t)DAY);
	put("old.tags", NOW - 31 * DAY);
	gate_tags_tidy(&gate, NOW);
	assert_false(is_there("old.tags"));
}

static int
begin(void **state)
{
	return mkdtemp(dir) == NULL ? -1 : 0;
}

static int
end(void **state)
{
	(void)unlink(in_dir("old.tags"));
	(void)unlink(in_dir("young.tags"));
	(void)unlink(in_dir("old.other"));
	return rmdir(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_once_an_hour),
		cmocka_unit_test(test_clock_set_back),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
