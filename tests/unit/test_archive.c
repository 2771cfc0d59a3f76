/* Bundles as one file: the same bytes each time, and nothing but exactly that
 * is taken, whatever somebody packs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include <sodium.h>
#include <zstd.h>

#include "ledger/bundle/archive.h"
#include "ledger/bundle/bundle.h"
#include "ledger/bundle/tar.h"
#include "ledger/tree/hashes.h"
#include "ledger/verify/verify.h"
#include "ledger_maker.h"
#include "scratch_ledger.h"

static struct maker good;
static char base[64], ledger[96], packs[96], file[96], places[96];
static const struct bundle_pack pack = { MAKER_POLICY, packs };
static uint8_t *tar;		/* of the good archive, unpacked */
static size_t tar_len;
static char err[512];

static int
setup(void **state)
{
	struct bundle_options options = { .ledger = ledger, .run = "run_b", .out = file,
	    .packs = &pack, .pack_count = 1, .archive = true };
	size_t len, n;
	char *bytes;

	make_temp_dir(base);
	snprintf(ledger, sizeof(ledger), "%s/ledger", base);
	snprintf(packs, sizeof(packs), "%s/pack", base);
	snprintf(file, sizeof(file), "%s/good.tar.zst", base);
	snprintf(places, sizeof(places), "%s/tmp", base);
	mkdir(places, 0700);
	setenv("TMPDIR", places, 1);
	mkdir(packs, 0700);
	write_file(packs, "main.rego", "package x\n", 10);
	maker_init(&good);
	maker_usual(&good, 300);
	maker_save(&good, ledger, 64);
	if (bundle_write(&options, err, sizeof(err)) != 0) {
		fprintf(stderr, "bundle_write: %s\n", err);
		return -1;
	}
	bytes = read_file(base, "good.tar.zst", &len);
	tar = malloc(4 * 1024 * 1024);
	n = ZSTD_decompress(tar, 4 * 1024 * 1024, bytes, len);
	/* the frame does not say its size, so this tells whether that is needed */
	free(bytes);
	tar_len = n;
	return ZSTD_isError(n) ? -1 : 0;
}

static int
teardown(void **state)
{
	free(tar);
	maker_free(&good);
	remove_tree(base);
	return 0;
}

static unsigned
left_behind(void)
{
	DIR *dir = opendir(places);
	unsigned n = 0;

	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n - 2;
}

static enum verify_verdict
verify(const char *path)
{
	struct verify_options options = { .path = path, .key = &good.key, .threads = 1 };
	struct verify_result *result = calloc(1, sizeof(*result));
	enum verify_verdict verdict;

	assert_int_equal(verify_run(&options, result, err, sizeof(err)), 0);
	verdict = result->verdict;
	verify_free(result);
	free(result);
	return verdict;
}

/* Unpack what stands at path, and verify it where that is possible; nothing
 * may be left behind. */
static enum archive_status
unpack(const char *path, enum verify_verdict *verdict)
{
	struct tempdir dir;
	enum archive_status status = archive_unpack(path, &dir, err, sizeof(err));

	if (status == ARCHIVE_GOOD && verdict != NULL)
		*verdict = verify(dir.path);
	tempdir_remove(&dir);
	assert_int_equal(left_behind(), 0);
	return status;
}

/* The same for an archive of these bytes of tar, packed with a window. */
static enum archive_status
unpack_tar(const void *bytes, size_t len, int window)
{
	char path[128];
	size_t cap = ZSTD_compressBound(len), n;
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	void *packed = malloc(cap);

	ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_contentSizeFlag, 0);
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_windowLog, window);
	n = ZSTD_compress2(zstd, packed, cap, bytes, len);
	assert_false(ZSTD_isError(n));
	write_file(base, "other.tar.zst", packed, n);
	snprintf(path, sizeof(path), "%s/other.tar.zst", base);
	free(packed);
	ZSTD_freeCCtx(zstd);
	return unpack(path, NULL);
}

static void
must_refuse(const void *bytes, size_t len, const char *why)
{
	assert_int_equal(unpack_tar(bytes, len, 20), ARCHIVE_BAD);
	if (strstr(err, why) == NULL)
		fail_msg("\"%s\" is not in: %s", why, err);
}

/* A copy of the good tar; its entries are found by number. */
static uint8_t *
copy(size_t *len, size_t more)
{
	uint8_t *bytes = calloc(1, tar_len + more);

	memcpy(bytes, tar, tar_len);
	*len = tar_len;
	return bytes;
}

static size_t
entry_at(unsigned number, struct tar_entry *entry)
{
	size_t at = 0;

	for (;; number--) {
		assert_null(tar_parse(entry, tar + at));
		if (number == 0)
			return at;
		at += TAR_BLOCK + entry->size + tar_padding(entry->size);
	}
}

static void
fix_sum(uint8_t *header)
{
	unsigned sum = 0, i;

	memset(header + 148, ' ', 8);
	for (i = 0; i < TAR_BLOCK; i++)
		sum += header[i];
	snprintf((char *)header + 148, 7, "%06o", sum);
	header[155] = ' ';
}

/* ---- what is good ---- */

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
	assert_non_null(strstr(err, "exists"));
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
	for (tries = 0; tries < 1000 && left_behind() != 0; tries++)
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

/* ---- what is not ---- */

static void
other_kinds(void **state)
{
	static const struct { char type; const char *why; } kinds[] = {
		{ '1', "link" }, { '2', "link" }, { '3', "device" }, { '4', "device" },
		{ '5', "directory" }, { '6', "FIFO" }, { 'x', "pax" }, { 'g', "pax" },
		{ 'S', "sparse" }, { 'L', "long name" }, { 'K', "long name" },
		{ '7', "unknown type" }, { '\0', "unknown type" }, { 'V', "unknown type" },
	};
	struct tar_entry entry;
	uint8_t *bytes;
	size_t len, i, at = entry_at(1, &entry);

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		bytes = copy(&len, 0);
		bytes[at + 156] = (uint8_t)kinds[i].type;
		if (kinds[i].type == '2')
			memcpy(bytes + at + 157, "/etc/passwd", 12);
		fix_sum(bytes + at);
		must_refuse(bytes, len, kinds[i].why);
		/* also as the very first */
		memcpy(bytes, bytes + at, TAR_BLOCK);
		must_refuse(bytes, len, kinds[i].why);
		free(bytes);
	}
}

static void
paths(void **state)
{
	static const char *const unclean[] = { "/etc/cron.d/x", "../x", "ledger/../../x",
	    "./x", "ledger//x", "ledger/", "", "ledger/./x", "..", "a\nb", "a\x7f" };
	struct tar_entry entry;
	uint8_t *bytes;
	size_t len, i, at = entry_at(1, &entry);

	for (i = 0; i < sizeof(unclean) / sizeof(unclean[0]); i++) {
		bytes = copy(&len, 0);
		memset(bytes + at, 0, 100);
		memcpy(bytes + at, unclean[i], strlen(unclean[i]));
		fix_sum(bytes + at);
		must_refuse(bytes, len, "path");
		free(bytes);
	}
	/* a prefix that climbs */
	bytes = copy(&len, 0);
	memcpy(bytes + at + 345, "../..", 5);
	fix_sum(bytes + at);
	must_refuse(bytes, len, "path");
	free(bytes);
	/* another name than the manifest has there */
	bytes = copy(&len, 0);
	memset(bytes + at, 0, 100);
	memcpy(bytes + at, "ledger/other", 12);
	fix_sum(bytes + at);
	must_refuse(bytes, len, "stands where the manifest has");
	free(bytes);
}

/* Every byte of a header changed, with the sum put right again: where it is
 * still a header of tar, it is none of ours. */
static void
every_byte_of_a_header(void **state)
{
	struct tar_entry entry, read;
	uint8_t header[TAR_BLOCK];
	size_t at = entry_at(1, &entry), i;

	for (i = 0; i < TAR_BLOCK; i++) {
		memcpy(header, tar + at, TAR_BLOCK);
		header[i] ^= 1;
		assert_non_null(tar_parse(&read, header));
		if (i >= 148 && i < 156)
			continue;
		fix_sum(header);
		if (tar_parse(&read, header) == NULL)
			assert_true(strcmp(read.path, entry.path) != 0 || read.size != entry.size);
	}
}

static void
sizes(void **state)
{
	static const char *const wrong[] = { "77777777777", "0000000000x", "-0000000001",
	    "           ", "00000000000" };
	struct tar_entry entry;
	uint8_t *bytes;
	size_t len, i, at = entry_at(1, &entry);

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		bytes = copy(&len, 0);
		memcpy(bytes + at + 124, wrong[i], 11);
		fix_sum(bytes + at);
		must_refuse(bytes, len, i == 0 || i == 4 ? "in the manifest" : "size");
		free(bytes);
	}
	bytes = copy(&len, 0);
	memset(bytes + at + 124, 0xff, 12);	/* negative in base 256 */
	fix_sum(bytes + at);
	must_refuse(bytes, len, "size");
	bytes[at + 124] = 0x80;			/* beyond all */
	fix_sum(bytes + at);
	must_refuse(bytes, len, "size");
	free(bytes);
	/* one byte in the padding */
	bytes = copy(&len, 0);
	bytes[at + TAR_BLOCK + entry.size] = 'x';
	must_refuse(bytes, len, "hidden behind a file");
	free(bytes);
}

static void
duplicates_and_more(void **state)
{
	struct tar_entry entry, second;
	uint8_t *bytes;
	size_t len, first = entry_at(1, &entry), next = entry_at(2, &second);
	const size_t n = next - first;

	/* a file twice */
	bytes = copy(&len, n);
	memmove(bytes + next, bytes + first, len - first);
	must_refuse(bytes, len + n, "stands where the manifest has");
	free(bytes);
	/* one left out */
	bytes = copy(&len, 0);
	memmove(bytes + first, bytes + next, len - next);
	must_refuse(bytes, len - n, "stands where the manifest has");
	free(bytes);
	/* one more behind the last */
	bytes = copy(&len, n);
	memcpy(bytes + len - 2 * TAR_BLOCK, tar + first, n);
	memset(bytes + len - 2 * TAR_BLOCK + n, 0, 2 * TAR_BLOCK);
	must_refuse(bytes, len + n, "behind the last file");
	free(bytes);
	/* the end before its time; the manifest alone; nothing at all */
	bytes = copy(&len, 0);
	memset(bytes + next, 0, 2 * TAR_BLOCK);
	must_refuse(bytes, next + 2 * TAR_BLOCK, "ends before");
	memset(bytes + first, 0, 2 * TAR_BLOCK);
	must_refuse(bytes, first + 2 * TAR_BLOCK, "ends before");
	memset(bytes, 0, 2 * TAR_BLOCK);
	must_refuse(bytes, 2 * TAR_BLOCK, "no header");
	must_refuse(bytes, 0, "no end");
	free(bytes);
	/* the first is not the manifest */
	must_refuse(tar + first, tar_len - first, "first file is not manifest.json");
}

static void
ends(void **state)
{
	char path[128], *packed;
	uint8_t *bytes;
	size_t len, n, i;

	bytes = copy(&len, 2 * TAR_BLOCK);
	must_refuse(bytes, len - TAR_BLOCK, "no end");
	must_refuse(bytes, len + TAR_BLOCK, "hidden behind the end");
	must_refuse(bytes, len + 1, "hidden behind the end");
	bytes[len - 1] = 1;
	must_refuse(bytes, len, "hidden behind the end");
	free(bytes);
	/* behind the frame: a byte, a frame, a skippable one */
	snprintf(path, sizeof(path), "%s/other.tar.zst", base);
	packed = read_file(base, "good.tar.zst", &n);
	packed = realloc(packed, 2 * n + 16);
	memcpy(packed + n, packed, n);
	write_file(base, "other.tar.zst", packed, n + 1);
	assert_int_equal(unpack(path, NULL), ARCHIVE_BAD);
	assert_non_null(strstr(err, "behind the end of its zstd frame"));
	write_file(base, "other.tar.zst", packed, 2 * n);
	assert_int_equal(unpack(path, NULL), ARCHIVE_BAD);
	memcpy(packed + n, "\x50\x2a\x4d\x18\x01\0\0\0x", 9);
	write_file(base, "other.tar.zst", packed, n + 9);
	assert_int_equal(unpack(path, NULL), ARCHIVE_BAD);
	/* cut everywhere */
	for (i = 0; i < n; i += i < 200 || i + 200 > n ? 1 : 499) {
		write_file(base, "other.tar.zst", packed, i);
		assert_int_equal(unpack(path, NULL), ARCHIVE_BAD);
	}
	free(packed);
}

/* What a flipped bit leaves unpackable is the very same evidence. */
static void
flips(void **state)
{
	enum verify_verdict verdict;
	char path[128], *packed;
	size_t n, i;
	unsigned good_ones = 0;

	snprintf(path, sizeof(path), "%s/other.tar.zst", base);
	packed = read_file(base, "good.tar.zst", &n);
	for (i = 0; i < 8 * n; i += i < 200 ? 1 : 997) {
		packed[i / 8] = (char)(packed[i / 8] ^ 1 << i % 8);
		write_file(base, "other.tar.zst", packed, n);
		verdict = VERIFY_GAP;
		if (unpack(path, &verdict) == ARCHIVE_GOOD) {
			assert_int_equal(verdict, VERIFY_COMPLETE);
			good_ones++;
		}
		packed[i / 8] = (char)(packed[i / 8] ^ 1 << i % 8);
	}
	assert_true(good_ones < 40);	/* bits of zstd's that mean nothing here */
	free(packed);
}

static uint8_t *
with_manifest(const char *manifest, size_t files, size_t *len)
{
	struct tar_entry entry = { .path = "manifest.json", .size = strlen(manifest) };
	uint8_t *bytes = calloc(1, TAR_BLOCK + entry.size + TAR_BLOCK + files + 2 * TAR_BLOCK);

	assert_int_equal(tar_compose(bytes, &entry), 0);
	memcpy(bytes + TAR_BLOCK, manifest, entry.size);
	*len = TAR_BLOCK + entry.size + tar_padding(entry.size);
	return bytes;
}

static void
bombs(void **state)
{
	static char manifest[16 * 1024 * 1024 + 512], one[200];
	const size_t big = 200 * 1024 * 1024;
	struct tar_entry entry = { .path = "ledger/records.jsonl", .size = big };
	char path[128], *packed;
	uint8_t *bytes;
	size_t len, n = 0, i;

	/* by ratio: zeros, as the manifest says */
	snprintf(manifest, sizeof(manifest), "{\"v\":1,\"kind\":\"countersign-bundle\","
	    "\"origin\":\"a\",\"run\":\"r\",\"first\":0,\"size\":1,\"files\":[{\"path\":"
	    "\"ledger/records.jsonl\",\"bytes\":%zu,\"sha256\":\"%064d\"}]}", big, 0);
	bytes = with_manifest(manifest, TAR_BLOCK + big, &len);
	assert_int_equal(tar_compose(bytes + len, &entry), 0);
	must_refuse(bytes, len + TAR_BLOCK + big + 2 * TAR_BLOCK, "grows to more than");
	free(bytes);
	/* by size: more than any disk has, and more than there are numbers */
	snprintf(manifest, sizeof(manifest), "{\"v\":1,\"kind\":\"countersign-bundle\","
	    "\"origin\":\"a\",\"run\":\"r\",\"first\":0,\"size\":1,\"files\":[{\"path\":"
	    "\"a\",\"bytes\":%lld,\"sha256\":\"%064d\"}]}", 1LL << 55, 0);
	bytes = with_manifest(manifest, 0, &len);
	assert_int_equal(unpack_tar(bytes, len, 20), ARCHIVE_TROUBLE);
	assert_non_null(strstr(err, "not free"));
	free(bytes);
	snprintf(manifest, sizeof(manifest), "{\"v\":1,\"kind\":\"countersign-bundle\","
	    "\"origin\":\"a\",\"run\":\"r\",\"first\":0,\"size\":1,\"files\":[{\"path\":"
	    "\"a\",\"bytes\":%lld,\"sha256\":\"%064d\"}]}", 9223372036854775807LL, 0);
	bytes = with_manifest(manifest, 0, &len);
	must_refuse(bytes, len, "too large");
	free(bytes);
	/* by count */
	n = (size_t)snprintf(manifest, sizeof(manifest), "{\"v\":1,\"kind\":\"countersign-bundle\","
	    "\"origin\":\"a\",\"run\":\"r\",\"first\":0,\"size\":1,\"files\":[");
	for (i = 0; i <= 100001; i++) {
		snprintf(one, sizeof(one), "%s{\"path\":\"%06zu\",\"bytes\":0,\"sha256\":\"%064d\"}",
		    i > 0 ? "," : "", i, 0);
		memcpy(manifest + n, one, strlen(one));
		n += strlen(one);
	}
	memcpy(manifest + n, "]}", 3);
	bytes = with_manifest(manifest, 0, &len);
	must_refuse(bytes, len, "too many files");
	free(bytes);
	/* by the manifest itself */
	memset(manifest, ' ', sizeof(manifest) - 1);
	bytes = with_manifest(manifest, 0, &len);
	must_refuse(bytes, len, "too large");
	free(bytes);
	/* by memory: a window that a reader need not have */
	assert_int_equal(unpack_tar(tar, tar_len, 23), ARCHIVE_GOOD);
	snprintf(path, sizeof(path), "%s/other.tar.zst", base);
	packed = read_file(base, "good.tar.zst", &n);
	for (i = 20; i <= 31; i++) {
		packed[5] = (char)((i - 10) << 3);	/* RFC 8878, 3.1.1.1.2 */
		write_file(base, "other.tar.zst", packed, n);
		assert_int_equal(unpack(path, NULL), i <= 23 ? ARCHIVE_GOOD : ARCHIVE_BAD);
	}
	free(packed);
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
		cmocka_unit_test(other_kinds),
		cmocka_unit_test(paths),
		cmocka_unit_test(every_byte_of_a_header),
		cmocka_unit_test(sizes),
		cmocka_unit_test(duplicates_and_more),
		cmocka_unit_test(ends),
		cmocka_unit_test(flips),
		cmocka_unit_test(bombs),
		cmocka_unit_test(repetitive),
		cmocka_unit_test(no_room),
		cmocka_unit_test(no_archive),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
