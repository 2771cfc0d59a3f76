/* Bundles as one file: the same bytes each time, and nothing is left of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "archive_case.h"
#include "ledger/bundle/tar.h"
#include "ledger/tree/hashes.h"
#include "scratch_ledger.h"

static void
round_trip(void **state)
{
	struct bundle_options options = { .ledger = ledger, .run = "run_b",
	    .packs = &pack, .pack_count = 1, .archive = true };
	enum verify_verdict verdict = VERIFY_GAP;
	char again[128], dir[128];
	size_t a_len, b_len;
	char *a, *b;
	struct tempdir unpacked;

	assert_true(archive_is(file));
	assert_false(archive_is(base));
	assert_false(archive_is("/dev/null"));
	assert_int_equal(unpack(file, &verdict), ARCHIVE_GOOD);
	assert_int_equal(verdict, VERIFY_COMPLETE);
	/* twice the same bytes */
	snprintf(again, sizeof(again), "%s/again.tar.zst", base);
	options.out = again;
	assert_int_equal(bundle_write(&options, err, sizeof(err)), 0);
	a = read_file(base, "good.tar.zst", &a_len);
	b = read_file(base, "again.tar.zst", &b_len);
	assert_int_equal(a_len, b_len);
	assert_memory_equal(a, b, a_len);
	free(a);
	free(b);
	/* it is not written over */
	assert_int_equal(bundle_write(&options, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "is there already"));
	/* and holds what the directory holds */
	snprintf(dir, sizeof(dir), "%s/dir", base);
	options.out = dir;
	options.archive = false;
	assert_int_equal(bundle_write(&options, err, sizeof(err)), 0);
	assert_int_equal(archive_unpack(file, &unpacked, err, sizeof(err)), ARCHIVE_GOOD);
	a = read_file(dir, "manifest.json", &a_len);
	b = read_file(unpacked.path, "manifest.json", &b_len);
	assert_int_equal(a_len, b_len);
	assert_memory_equal(a, b, a_len);
	free(a);
	free(b);
	tempdir_remove(&unpacked);
	tempdir_remove(&unpacked);
	assert_int_equal(left_behind(), 0);
}

/* The directory goes also where its owner was killed. */
static void
killed_while_unpacked(void **state)
{
	int ready[2], tries;
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	if ((pid = fork()) == 0) {
		struct tempdir dir;

		if (archive_unpack(file, &dir, err, sizeof(err)) == ARCHIVE_GOOD)
			(void)!write(ready[1], "x", 1);
		pause();
		_exit(0);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(left_behind(), 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	for (tries = 0; tries < 6000 && left_behind() != 0; tries++)
		usleep(10000);
	assert_int_equal(left_behind(), 0);
	close(ready[0]);
}

/* What could not be put in place after all is removed, though it was synced. */
static void
removed_after_syncing(void **state)
{
	struct bundle_options options = { .ledger = ledger, .run = "run_b",
	    .packs = &pack, .pack_count = 1 };
	char dir[TEMPDIR_PATH_MAX], out[TEMPDIR_PATH_MAX + 8];
	struct tempdir unpacked;
	struct stat st;

	assert_int_equal(archive_unpack(file, &unpacked, err, sizeof(err)), ARCHIVE_GOOD);
	assert_int_equal(tempdir_sync_below(unpacked.dirfd), 0);
	assert_int_equal(tempdir_sync_below(unpacked.dirfd), 0);
	assert_int_equal(tempdir_erase_below(unpacked.dirfd), 0);
	snprintf(dir, sizeof(dir), "%s", unpacked.path);
	assert_int_equal(rmdir(dir), 0);
	tempdir_remove(&unpacked);
	/* a name that is refused leaves nothing in its directory */
	snprintf(dir, sizeof(dir), "%s/long", base);
	assert_int_equal(mkdir(dir, 0700), 0);
	snprintf(out, sizeof(out), "%s/", dir);
	options.out = out;
	assert_int_equal(bundle_write(&options, err, sizeof(err)), -1);
	assert_int_equal(lstat(dir, &st), 0);
	assert_int_equal(rmdir(dir), 0);
}

static void
headers(void **state)
{
	struct tar_entry entry, read;
	uint8_t block[TAR_BLOCK];
	static const uint64_t sizes[] = { 0, 1, 511, 512, UINT64_C(077777777777),
	    UINT64_C(0100000000000), TAR_SIZE_MAX - 1 };
	size_t i, n;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		entry = (struct tar_entry){ .path = "a/b", .size = sizes[i] };
		assert_int_equal(tar_compose(block, &entry), 0);
		assert_null(tar_parse(&read, block));
		assert_true(read.size == sizes[i]);
	}
	entry.size = TAR_SIZE_MAX;
	assert_int_equal(tar_compose(block, &entry), -1);
	entry.size = 0;
	/* each length of a path of parts of 50 bytes, and of one part */
	for (n = 1; n <= TAR_PATH_MAX; n++) {
		memset(&entry, 0, sizeof(entry));
		for (i = 0; i < n; i++)
			entry.path[i] = i % 50 == 49 && i + 1 < n ? '/' : 'p';
		if (tar_compose(block, &entry) != 0) {
			assert_true(n > 250);
			continue;
		}
		assert_null(tar_parse(&read, block));
		assert_string_equal(read.path, entry.path);
		memset(entry.path, 'p', n);
		assert_int_equal(tar_compose(block, &entry), n <= 100 ? 0 : -1);
	}
	assert_int_equal(tar_padding(0), 0);
	assert_int_equal(tar_padding(1), 511);
	assert_int_equal(tar_padding(512), 0);
}

static void
damage(const char *path, off_t at)
{
	int fd;

	assert_int_equal(chmod(path, 0600), 0);
	assert_true((fd = open(path, O_WRONLY)) >= 0);
	assert_int_equal(pwrite(fd, "\1", 1, at), 1);
	close(fd);
}

/* The cost follows from the run's part: what lies before is not even read, and
 * what stands beside the records is not trusted. */
static void
proportional(void **state)
{
	struct ledger_record r = { .type = "run", .run = "run_late", .policy = SCRATCH_POLICY,
	    .body = "{\"state\":\"open\"}", .body_len = 16, .seal = true };
	struct bundle_options options = { .run = "run_late" };
	struct ledger_receipt receipt;
	struct scratch s;
	struct ledger *l;
	char out[3][300], *one, *other, path[400];
	size_t n, k;
	uint64_t i;

	scratch_init(&s, NULL);
	assert_non_null(l = scratch_open(&s));
	for (i = 0; i < HASHES_SEGMENT + 300; i++)
		assert_int_equal(scratch_append(ledger_port(l, 0), i, 40, &receipt),
		    LEDGER_DURABLE);
	assert_int_equal(ledger_append_wait(ledger_port(l, 0), &r, &receipt), LEDGER_DURABLE);
	r.type = "teardown";
	assert_int_equal(ledger_append_wait(ledger_port(l, 0), &r, &receipt), LEDGER_DURABLE);
	assert_int_equal(ledger_close(l), 0);
	options.ledger = s.dir;
	for (i = 0; i < 3; i++)
		snprintf(out[i], sizeof(out[i]), "%s/out%d", s.parent, (int)i);
	options.out = out[0];
	assert_int_equal(bundle_write(&options, err, sizeof(err)), 0);
	/* the root beside the first segment is wrong: the long way */
	snprintf(path, sizeof(path), "%s/hashes-%020d", s.dir, 0);
	damage(path, 2105344);
	options.out = out[1];
	assert_int_equal(bundle_write(&options, err, sizeof(err)), 0);
	one = read_file(out[0], "manifest.json", &n);
	other = read_file(out[1], "manifest.json", &k);
	assert_int_equal(n, k);
	assert_memory_equal(one, other, n);
	free(other);
	free(one);
	/* made again by a start; then an old record is damaged */
	assert_int_equal(unlink(path), 0);
	assert_non_null(l = scratch_open(&s));
	assert_int_equal(ledger_close(l), 0);
	assert_int_equal(access(path, F_OK), 0);
	snprintf(path, sizeof(path), "%s/records-%020d.jsonl", s.dir, 0);
	damage(path, 5000);
	options.out = out[2];
	if (bundle_write(&options, err, sizeof(err)) != 0)
		fail_msg("it has read what lies before: %s", err);
	scratch_remove(&s);
}

/* What a reader would refuse as a bomb is not written. */
static void
repetitive(void **state)
{
	const off_t sizes[] = { ARCHIVE_FREE_BYTES / 2, 2 * ARCHIVE_FREE_BYTES };
	struct manifest_file one = { .path = (char[]){ "truth" } };
	const struct manifest manifest = { .file = &one, .count = 1 };
	char path[160], dir[128];
	int fd, dirfd, i;

	snprintf(dir, sizeof(dir), "%s/repetitive", base);
	assert_int_equal(mkdir(dir, 0700), 0);
	write_file(dir, "manifest.json", "{}", 2);
	write_file(dir, "truth", "", 0);
	snprintf(path, sizeof(path), "%s/truth", dir);
	assert_true((dirfd = open(dir, O_RDONLY | O_DIRECTORY)) >= 0);
	for (i = 0; i < 2; i++) {
		assert_int_equal(truncate(path, sizes[i]), 0);
		assert_true((fd = open("/dev/null", O_WRONLY)) >= 0);
		assert_int_equal(archive_write(dirfd, &manifest, fd, err, sizeof(err)),
		    i == 0 ? 0 : -1);
		close(fd);
	}
	assert_non_null(strstr(err, "write a directory"));
	close(dirfd);
}

/* Nor is one without its end: a last block that finds no room is no success. */
static void
no_room(void **state)
{
	struct manifest_file one = { .path = (char[]){ "records" } };
	const struct manifest manifest = { .file = &one, .count = 1 };
	char dir[128];
	int fd, dirfd;

	snprintf(dir, sizeof(dir), "%s/full", base);
	assert_int_equal(mkdir(dir, 0700), 0);
	write_file(dir, "manifest.json", "{}", 2);
	write_file(dir, "records", "{}", 2);
	assert_true((dirfd = open(dir, O_RDONLY | O_DIRECTORY)) >= 0);
	assert_true((fd = open("/dev/full", O_WRONLY)) >= 0);
	assert_int_equal(archive_write(dirfd, &manifest, fd, err, sizeof(err)), -1);
	assert_non_null(strstr(err, strerror(ENOSPC)));
	close(fd);
	close(dirfd);
}

static void
no_archive(void **state)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/fifo", base);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_false(archive_is(path));
	assert_int_equal(unpack(path, NULL), ARCHIVE_TROUBLE);
	assert_int_equal(unpack("/nonexistent", NULL), ARCHIVE_TROUBLE);
	assert_int_equal(unpack(base, NULL), ARCHIVE_TROUBLE);
	write_file(base, "text", "hello, this is no archive", 25);
	snprintf(path, sizeof(path), "%s/text", base);
	assert_false(archive_is(path));
	assert_int_equal(unpack(path, NULL), ARCHIVE_BAD);
	/* nowhere to unpack to is trouble, not a verdict; a relative TMPDIR is none */
	setenv("TMPDIR", "nowhere", 1);
	assert_int_equal(unpack(file, NULL), ARCHIVE_GOOD);
	setenv("TMPDIR", places, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trip),
		cmocka_unit_test(killed_while_unpacked),
		cmocka_unit_test(removed_after_syncing),
		cmocka_unit_test(headers),
		cmocka_unit_test(proportional),
		cmocka_unit_test(repetitive),
		cmocka_unit_test(no_room),
		cmocka_unit_test(no_archive),
	};

	return cmocka_run_group_tests_name("archive", tests, setup, teardown);
}
