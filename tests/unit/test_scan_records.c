/* A run's records are found from a place that is known, not from the beginning of
 * their segment each time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ledger/recorder/segment.h"
#include "ledger/scan/scan.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#define GHP "ghp" "_Q7xk2LmZp9RtVb4NcW8sYd1HgJ5aEf2j6fV9"
#define LINES 4000u
#define LINE 300u		/* bytes: blocks of the reader end within lines */
#define SECRET_AT 3000u

static char dir[] = "/tmp/countersign-records-XXXXXX";
static char path[sizeof(dir) + SEGMENT_NAME_MAX];
static char text[LINES * LINE + 4096];	/* zeros behind, as in a segment that grows */

static void
write_at(const char *bytes, size_t len, off_t at)
{
	const int fd = open(path, O_WRONLY | O_CREAT, 0600);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, len, at), len);
	close(fd);
}

static int
begin(void **state)
{
	char name[SEGMENT_NAME_MAX];

	if (sodium_init() < 0 || mkdtemp(dir) == NULL)
		return -1;
	segment_name(name, 0);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	for (unsigned i = 0; i < LINES; i++) {
		char *line = text + (size_t)i * LINE;

		memset(line, ' ', LINE);
		line[LINE - 1] = '\n';
		if (i == SECRET_AT)
			memcpy(line + 100, GHP, sizeof(GHP) - 1);
	}
	return 0;
}

static int
end(void **state)
{
	(void)unlink(path);
	return rmdir(dir);
}

/* Findings in the records first to last; bytes looked at. */
static uint64_t
scan(uint64_t first, uint64_t last, struct scan_place *place, uint64_t *bytes,
    const char **lacks)
{
	static struct scan_result result;
	struct scanner *scanner = scanner_new();
	char err[256] = "";

	memset(&result, 0, sizeof(result));
	assert_non_null(scanner);
	assert_int_equal(scanner_scan_records(scanner, dir, first, last, UINT32_MAX,
	    place, &result, err, sizeof(err)), 0);
	scanner_free(scanner);
	*bytes = result.bytes;
	*lacks = result.incomplete_count > 0 ? result.incomplete : "";
	return result.finding_count;
}

static void
test_from_a_place(void **state)
{
	struct scan_place place = { 0, 0 }, none = { 0, 0 };
	static char spoilt[2048 * LINE];
	uint64_t bytes;
	const char *lacks;

	write_at(text, sizeof(text), 0);
	assert_int_equal(scan(SECRET_AT, SECRET_AT + 1, &place, &bytes, &lacks), 1);
	assert_int_equal(bytes, 2 * LINE);
	assert_string_equal(lacks, "");
	assert_int_equal(place.index, 2048);
	assert_int_equal(place.offset, 2048 * LINE);

	/* What lies before that place is not read again: it could be anything. */
	memset(spoilt, 'x', sizeof(spoilt));
	write_at(spoilt, sizeof(spoilt), 0);
	assert_int_equal(scan(SECRET_AT, SECRET_AT, &place, &bytes, &lacks), 1);
	assert_int_equal(bytes, LINE);
	assert_int_equal(scan(SECRET_AT + 1, LINES - 1, &place, &bytes, &lacks), 0);
	assert_int_equal(bytes, (LINES - SECRET_AT - 1) * LINE);
	assert_string_equal(lacks, "");
	assert_int_equal(scan(SECRET_AT, SECRET_AT, &none, &bytes, &lacks), 0);
	assert_string_not_equal(lacks, "");
}

/* One that lies behind, or in another segment, is of no use and does no harm. */
static void
test_from_the_beginning(void **state)
{
	struct scan_place behind = { 3072, 3072 * LINE },
	    elsewhere = { SEGMENT_RECORDS + 1024, 1024 * LINE };
	uint64_t bytes;
	const char *lacks;

	write_at(text, sizeof(text), 0);
	assert_int_equal(scan(SECRET_AT, SECRET_AT, &behind, &bytes, &lacks), 1);
	assert_int_equal(bytes, LINE);
	assert_int_equal(behind.index, 2048);
	assert_int_equal(scan(SECRET_AT, SECRET_AT, &elsewhere, &bytes, &lacks), 1);
	assert_int_equal(bytes, LINE);
	assert_int_equal(scan(LINES, LINES, &behind, &bytes, &lacks), 0);
	assert_string_not_equal(lacks, "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_from_a_place),
		cmocka_unit_test(test_from_the_beginning),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
