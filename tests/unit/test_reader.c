/* Reading records one after the other: of whole files, cut ones, growing ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "ledger/evidence/reader.h"
#include "ledger_maker.h"

#define RECORDS 300

static struct maker good;
static char base[64];
static char err[256];

static int
setup(void **state)
{
	make_temp_dir(base);
	maker_init(&good);
	maker_usual(&good, RECORDS);
	return 0;
}

static int
teardown(void **state)
{
	maker_free(&good);
	remove_tree(base);
	return 0;
}

static void
path_of(char path[128], const char *name)
{
	snprintf(path, 128, "%s/%s", base, name);
}

static void
all(void **state)
{
	static const size_t sizes[] = { 0, 1, 7, 64, 299, 300, 1000 };
	struct reader_line line;
	struct reader *r;
	char dir[128];
	size_t i, k;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		path_of(dir, "all");
		remove_tree(dir);
		maker_save(&good, dir, sizes[i]);
		assert_non_null(r = reader_open(dir, err, sizeof(err)));
		assert_int_equal(reader_first(r), 0);
		assert_false(reader_is_bundle(r));
		for (k = 0; k < good.count; k++) {
			assert_int_equal(reader_next(r, &line, err, sizeof(err)), 1);
			assert_null(line.rule);
			assert_int_equal(line.index, k);
			assert_int_equal(line.len, good.line[k].len);
			assert_memory_equal(line.text, good.line[k].text, line.len);
		}
		assert_int_equal(reader_next(r, &line, err, sizeof(err)), 0);
		assert_int_equal(reader_next(r, &line, err, sizeof(err)), 0);
		for (k = 0; k <= good.count; k += 37) {
			assert_int_equal(reader_seek(r, k, err, sizeof(err)), 0);
			assert_int_equal(reader_next(r, &line, err, sizeof(err)), k < good.count);
			if (k < good.count)
				assert_int_equal(line.index, k);
		}
		assert_int_equal(reader_seek(r, good.count, err, sizeof(err)), 0);
		assert_int_equal(reader_seek(r, good.count + 1, err, sizeof(err)), -1);
		reader_close(r);
	}
}

/* The bytes of a file of records, read to the end: how many are records, how
 * many are not. */
static void
count(const char *bytes, size_t len, unsigned *records, unsigned *others)
{
	struct reader_line line;
	struct reader *r;
	char dir[128];
	int n;

	path_of(dir, "count");
	remove_tree(dir);
	mkdir(dir, 0700);
	write_file(dir, "records-00000000000000000000.jsonl", bytes, len);
	assert_non_null(r = reader_open(dir, err, sizeof(err)));
	*records = *others = 0;
	while ((n = reader_next(r, &line, err, sizeof(err))) == 1) {
		assert_true(line.len <= 1024 * 1024);
		*(line.rule == NULL ? records : others) += 1;
	}
	assert_int_equal(n, 0);
	reader_close(r);
}

static void
odd_files(void **state)
{
	static char big[4 * 1024 * 1024];
	unsigned records, others;
	char dir[128], *text;
	size_t len, at;

	path_of(dir, "odd");
	maker_save(&good, dir, 0);
	text = read_file(dir, "records-00000000000000000000.jsonl", &len);
	count(text, len - 1, &records, &others);	/* the last LF is not there yet */
	assert_int_equal(records, good.count - 1);
	memcpy(big, text, len);
	memset(big + len, 0, sizeof(big) - len);	/* space taken ahead */
	count(big, sizeof(big), &records, &others);
	assert_int_equal(records, good.count);
	assert_int_equal(others, 0);
	big[len] = '{';					/* a beginning before the NULs */
	count(big, sizeof(big), &records, &others);
	assert_int_equal(records, good.count);
	assert_int_equal(others, 0);
	/* lines that are too long, around every limit, and records behind */
	for (at = 65530; at < 65545; at++) {
		memset(big, 'x', at);
		big[at] = '\n';
		memcpy(big + at + 1, text, len);
		count(big, at + 1 + len, &records, &others);
		assert_int_equal(records, good.count);
		assert_int_equal(others, 1);
	}
	memset(big, 'x', sizeof(big));
	count(big, sizeof(big), &records, &others);	/* and one without an end */
	assert_int_equal(others, 1);
	memcpy(big + sizeof(big) - len - 1, "\n", 1);
	memcpy(big + sizeof(big) - len, text, len);
	count(big, sizeof(big), &records, &others);
	assert_int_equal(records, good.count);
	assert_int_equal(others, 1);
	memset(big, '\n', 1000);
	count(big, 1000, &records, &others);
	assert_int_equal(others, 1000);
	count("", 0, &records, &others);
	assert_int_equal(records + others, 0);
	free(text);
}

static void
no_ledger(void **state)
{
	char dir[128], path[256];

	assert_null(reader_open("/nonexistent", err, sizeof(err)));
	path_of(dir, "empty");
	mkdir(dir, 0700);
	assert_null(reader_open(dir, err, sizeof(err)));
	assert_non_null(strstr(err, "neither"));
	/* a link is none of a ledger's files, nor is a directory */
	snprintf(path, sizeof(path), "%s/records-00000000000000000000.jsonl", dir);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_null(reader_open(dir, err, sizeof(err)));
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_null(reader_open(dir, err, sizeof(err)));
	rmdir(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_null(reader_open(dir, err, sizeof(err)));
	reader_close(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all),
		cmocka_unit_test(odd_files),
		cmocka_unit_test(no_ledger),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
