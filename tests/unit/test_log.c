/* The daemon's log file stays small, whoever writes to it; what is not ours stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "log.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[] = "/tmp/log-XXXXXX";
static char path[64], before[64];

static int
setup(void **state)
{
	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(path, sizeof(path), "%s/daemon.log", dir);
	snprintf(before, sizeof(before), "%s/daemon.log.1", dir);
	return 0;
}

static int
teardown(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static size_t
size_of(const char *name)
{
	struct stat st;

	return stat(name, &st) == 0 ? (size_t)st.st_size : (size_t)-1;
}

static bool
has(const char *name, const char *text)
{
	static char buf[1 << 16];
	FILE *in = fopen(name, "r");
	size_t n = in != NULL ? fread(buf, 1, sizeof(buf) - 1, in) : 0;

	if (in != NULL)
		fclose(in);
	buf[n] = '\0';
	return strstr(buf, text) != NULL;
}

/* In a child, whose standard error is the file name: its exit status. */
static int
in_child(const char *name, void (*what)(void))
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		int fd = open(name, O_WRONLY | O_CREAT | O_APPEND, 0600);

		if (fd == -1 || dup2(fd, STDERR_FILENO) == -1)
			_exit(99);
		what();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return status;
}

static void
fill(unsigned lines)
{
	for (unsigned i = 0; i < lines; i++)
		log_event(LOG_INFO, "filling", "line %u of those that fill", i);
}

static void
grow_and_trim(void)
{
	for (unsigned i = 0; i < 20; i++) {
		fill(30);
		log_trim(path, 4096);
	}
	log_event(LOG_INFO, "last", "is there");
}

static void
test_stays_small(void **state)
{
	assert_int_equal(in_child(path, grow_and_trim), 0);
	assert_true(size_of(path) < 4096 + 30 * 80);
	assert_in_range(size_of(before), 4096, 2 * 4096);
	assert_true(has(path, "last: is there"));
	assert_true(has(before, "filling"));
}

static void
two_processes(void)
{
	int trimmed[2];
	char byte = 0;
	pid_t pid;

	if (pipe(trimmed) != 0 || (pid = fork()) == -1)
		_exit(98);
	if (pid == 0) {
		/* keeps its descriptor, as the recorder does */
		if (read(trimmed[0], &byte, 1) == 1)
			log_event(LOG_INFO, "other", "still there");
		_exit(0);
	}
	fill(200);
	log_trim(path, 4096);
	if (write(trimmed[1], &byte, 1) != 1)
		_exit(97);
	waitpid(pid, NULL, 0);
}

static void
test_other_process(void **state)
{
	unlink(path);
	assert_int_equal(in_child(path, two_processes), 0);
	assert_true(has(path, "other: still there"));
	assert_true(size_of(path) < 200);
}

static void
long_then_trim(void)
{
	fill(1000);
	log_trim(path, 4096);
}

static void
test_long_before(void **state)
{
	assert_int_equal(in_child(path, long_then_trim), 0);
	assert_int_equal(size_of(path), 0);
	assert_int_equal(size_of(before), 2 * 4096);
	assert_true(has(before, "line 999 of"));
}

static void
test_not_ours(void **state)
{
	char other[64];

	snprintf(other, sizeof(other), "%s/chosen", dir);
	assert_int_equal(in_child(other, long_then_trim), 0);
	assert_true(size_of(other) > 10000);
	assert_int_equal(size_of(path), 0);
	/* nor one that only looks like it */
	unlink(path);
	assert_int_equal(symlink(other, path), 0);
	assert_int_equal(in_child(other, long_then_trim), 0);
	assert_true(size_of(other) > 20000);
	unlink(path);
}

/* Where the copy cannot be kept the file is cut all the same. */
static void
test_copy_fails(void **state)
{
	char next[80];

	snprintf(next, sizeof(next), "%s.new", before);
	assert_int_equal(mkdir(next, 0700), 0);
	assert_int_equal(in_child(path, long_then_trim), 0);
	assert_true(size_of(path) < 200);
	assert_true(has(path, "log_not_kept"));
	assert_int_equal(rmdir(next), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stays_small),
		cmocka_unit_test(test_other_process),
		cmocka_unit_test(test_long_before),
		cmocka_unit_test(test_not_ours),
		cmocka_unit_test(test_copy_fails),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
