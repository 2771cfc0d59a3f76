/* Bundles as one file: nothing but exactly that is taken, whatever somebody packs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "archive_case.h"
#include "ledger/bundle/tar.h"

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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_kinds),
		cmocka_unit_test(paths),
		cmocka_unit_test(every_byte_of_a_header),
		cmocka_unit_test(sizes),
		cmocka_unit_test(duplicates_and_more),
		cmocka_unit_test(ends),
		cmocka_unit_test(flips),
		cmocka_unit_test(bombs),
	};

	return cmocka_run_group_tests_name("archive_hostile", tests, setup, teardown);
}
