/* What looks packed: headers that are none, in numbers, hide nothing and cost little. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <bzlib.h>
#include <lz4frame.h>
#include <lzma.h>
#include <sodium.h>
#include <zlib.h>
#include <zstd.h>

#include "ledger/scan/stream_impl.h"

#define GHP "ghp" "_Q7xk2LmZp9RtVb4NcW8sYd1HgJ5aEf2j6fV9"
#define TEXT "x " GHP " y"
#define ROOM (1024u * 1024)

struct told {
	unsigned sure, incomplete;
	char why[128];	/* the last */
	char chain[96];	/* the last */
};

static struct scan_worker *worker;
static uint8_t text[ROOM + 200000];

static void
on_found(void *context, const struct scan_found *found)
{
	struct told *seen = context;

	seen->sure += found->confidence != SCAN_LOW && !found->identifier;
	snprintf(seen->chain, sizeof(seen->chain), "%s", found->chain);
}

static void
on_incomplete(void *context, const char *chain, const char *why)
{
	struct told *seen = context;

	seen->incomplete++;
	snprintf(seen->why, sizeof(seen->why), "%s", why);
}

/* In two pieces, in windows of a size. */
static struct told
scan_cut(size_t len, size_t cut, size_t block, size_t overlap)
{
	struct told seen = { 0 };
	struct scan_sink sink = { on_found, on_incomplete, &seen };
	struct scan_stream *stream = scan_stream_new(worker, &sink, block, overlap);

	assert_non_null(stream);
	scan_stream_feed(stream, text, cut);
	scan_stream_feed(stream, text + cut, len - cut);
	scan_stream_end(stream);
	return seen;
}

static struct told
scan(size_t len)
{
	return scan_cut(len, len, SCAN_BLOCK, SCAN_OVERLAP);
}

static int
setup(void **state)
{
	char err[200];

	return sodium_init() < 0 || (worker = scan_worker_new(NULL, NULL, &scan_engine_formats,
	    err, sizeof(err))) == NULL;
}

static int
teardown(void **state)
{
	scan_worker_free(worker);
	return 0;
}

static size_t
fill(const char *unit, size_t unit_len, size_t len)
{
	size_t at;

	for (at = 0; at + unit_len <= len; at += unit_len)
		memcpy(text + at, unit, unit_len);
	return at;
}

/* A gzip of the token, its header with these parts. */
static size_t
put_gzip(size_t at, size_t extra, size_t name, size_t comment, int crc)
{
	static Bytef extra_bytes[65536], name_bytes[200000], comment_bytes[200000];
	gz_header header = { .os = 3, .hcrc = crc };
	z_stream z = { 0 };
	const size_t start = at;

	memset(extra_bytes, 'e', sizeof(extra_bytes));
	memset(name_bytes, 'n', sizeof(name_bytes));
	memset(comment_bytes, 'c', sizeof(comment_bytes));
	name_bytes[name] = comment_bytes[comment] = 0;
	header.extra = extra > 0 ? extra_bytes : NULL;
	header.extra_len = (uInt)extra;
	header.name = name > 0 ? name_bytes : NULL;
	header.comment = comment > 0 ? comment_bytes : NULL;
	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
	assert_int_equal(deflateSetHeader(&z, &header), Z_OK);
	z.next_in = (z_const Bytef *)(uintptr_t)TEXT;
	z.avail_in = sizeof(TEXT) - 1;
	z.next_out = text + at;
	z.avail_out = (uInt)(sizeof(text) - at);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	at = (size_t)(z.next_out - text);
	deflateEnd(&z);
	return at - start;
}

/* Whatever stands in its header. */
static void
gzip_headers(void **state)
{
	static const struct { size_t extra, name, comment; int crc; } header[] = {
		{ 0, 0, 0, 0 }, { 5, 0, 0, 0 }, { 65535, 0, 0, 0 }, { 0, 9, 0, 0 }, { 0, 0, 900, 0 },
		{ 0, 0, 0, 1 }, { 300, 3000, 60000, 1 },
	};
	struct told seen;
	size_t i, n, front;

	for (i = 0; i < sizeof(header) / sizeof(header[0]); i++)
		for (front = 0; front < 20; front += 10) {
			memset(text, '.', front);
			n = put_gzip(front, header[i].extra, header[i].name, header[i].comment,
			    header[i].crc);
			seen = scan(front + n);
			if (seen.sure != 1 || seen.incomplete != 0)
				fail_msg("header %zu behind %zu: %u found, %u incomplete: %s", i, front,
				    seen.sure, seen.incomplete, seen.why);
		}
	memset(text, '.', 10);
	seen = scan(10 + put_gzip(10, 0, 0, 150000, 0));
	assert_true(seen.sure == 1 || seen.incomplete > 0);
}

/* A header whose flags no version has is no gzip; but a file that begins so is told. */
static void
no_gzip(void **state)
{
	struct told seen;

	fill("\x1f\x8b\x08\xe0 text\n", 9, 9000);
	text[0] = '.';
	seen = scan(9000);
	assert_int_equal(seen.incomplete, 0);
	text[0] = 0x1f;
	seen = scan(9000);
	assert_int_equal(seen.incomplete, 1);
}

/* One real stream among a hundred thousand headers of none. */
static void
among_many(void **state)
{
	static const struct { const char *unit; size_t len; } dense[] = {
		{ "\x1f\x8b\x08\xff\0\0\0\0\0\3zz", 12 },	/* flags that are none */
		{ "\x1f\x8b\x08\0\0\0\0\0\0\3\x07z", 12 },	/* a block of no kind */
		{ "\x1f\x8b\x08\x08" "abcdef", 10 },		/* a name that goes on */
		{ "\x28\xb5\x2f\xfd\x24" "abcdefg", 12 },	/* a reserved bit, or block */
		{ "PK\3\4\x14\0\0\0\x08\0" "aaaabbbbccccdddd\0\0\0\0\x07z", 32 },
		{ "\x78\x9c\x07zzzzzzz", 10 }, { "BZh91AY&SYzz", 12 },
	};
	struct told seen;
	size_t i, at, n;

	for (i = 0; i < sizeof(dense) / sizeof(dense[0]); i++) {
		fill(dense[i].unit, dense[i].len, ROOM);
		for (at = 1000; at < ROOM; at += 500000) {
			memset(text + at, '\n', 200);
			n = put_gzip(at + 50, 0, 4, 0, 0);
			assert_true(n < 150);
		}
		seen = scan(ROOM - 1);
		if (seen.sure != 3)
			fail_msg("headers of kind %zu: %u of 3 found, %s", i, seen.sure, seen.why);
	}
}

/* More headers than places that are kept: a token beside them is found. */
static void
more_than_kept(void **state)
{
	struct told seen;

	fill("PK\3\4", 4, ROOM);
	memcpy(text + ROOM - 100, "\n" TEXT "\n", sizeof(TEXT) + 1);
	seen = scan(ROOM - 20);
	assert_int_equal(seen.sure, 1);
	assert_true(seen.incomplete > 0);
}

/* Streams that all break far behind their beginning, each of which holds the next. */
static void
one_in_another(void **state)
{
	static const struct { const char *unit; size_t len; } nested[] = {
		{ "\x1f\x8b\x08\0\0\0\0\0\0\3\0\xff\xff\0\0", 15 }, { "\x78\x9c\0\xff\xff\0\0", 7 },
		{ "\x1f\x8b\x08\0\0\0\0\0\0\3\0\xd0\x07\x2f\xf8", 15 },
		{ "PK\3\4\x14\0\0\0\x08\0" "aaaabbbbccccdddd\0\0\0\0\0\xff\xff\0\0", 35 },
	};
	struct told seen;
	size_t i;

	for (i = 0; i < sizeof(nested) / sizeof(nested[0]); i++) {
		fill(nested[i].unit, nested[i].len, ROOM);
		seen = scan(ROOM);
		assert_true(seen.incomplete > 0);
		assert_in_range(worker->unpacked, 1, 48 * ROOM);
	}
}

/* ---- each of the libraries ---- */

enum packer { GZIP, ZLIB, ZSTD, BZIP2, XZ, LZ4, PACKERS };
static const char *const packer_name[PACKERS] = { "gzip", "zlib", "zstd", "bzip2", "xz", "lz4" };

/* in[0..len) packed, to out; returns how much that is. */
static size_t
pack(enum packer how, const uint8_t *in, size_t len, uint8_t *out, size_t cap)
{
	z_stream z = { 0 };
	const LZ4F_preferences_t checked = {
		.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled };
	unsigned made = (unsigned)cap;
	size_t at = 0;

	switch (how) {
	case GZIP:
	case ZLIB:
		assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, how == GZIP ? 31 : 15, 8,
		    Z_DEFAULT_STRATEGY), Z_OK);
		z.next_in = (z_const Bytef *)(uintptr_t)in;
		z.avail_in = (uInt)len;
		z.next_out = out;
		z.avail_out = (uInt)cap;
		assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
		at = (size_t)(z.next_out - out);
		deflateEnd(&z);
		return at;
	case ZSTD:
		return ZSTD_compress(out, cap, in, len, 3);
	case BZIP2:
		assert_int_equal(BZ2_bzBuffToBuffCompress((char *)out, &made, (char *)(uintptr_t)in,
		    (unsigned)len, 9, 0, 0), BZ_OK);
		return made;
	case XZ:
		assert_int_equal(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, NULL, in, len, out, &at,
		    cap), LZMA_OK);
		return at;
	default:
		at = LZ4F_compressFrame(out, cap, in, len, &checked);
		assert_false(LZ4F_isError(at));
		return at;
	}
}

/* Text that is like none before it, but for letters; the token amid it. */
static size_t
prose(uint8_t *out, size_t len)
{
	static const char letters[] = "etaoin shrdlu\n";
	uint32_t state = 7;
	size_t i;

	for (i = 0; i < len; i++) {
		state = state * 1664525 + 1013904223;
		out[i] = (uint8_t)letters[(state >> 24) % (sizeof(letters) - 1)];
	}
	memcpy(out + len / 2, " " GHP " ", sizeof(GHP) + 1);
	return len;
}

/* Whole, behind other bytes, twice in a row, in base64: found, and all looked at. */
static void
is_unpacked(const char *name, const uint8_t *packed, size_t n)
{
	static char encoded[65536];
	struct told seen;
	size_t front, k;

	for (front = 0; front < 30; front += 7) {
		memset(text, '.', front);
		memcpy(text + front, packed, n);
		memcpy(text + front + n, packed, n);
		seen = scan(front + 2 * n);
		if (seen.sure < 2 || seen.incomplete != 0 || strstr(seen.chain, name) == NULL)
			fail_msg("%s behind %zu bytes: %u, in %s; %s", name, front, seen.sure,
			    seen.chain, seen.why);
		memcpy(text + front + n, "behind", 6);
		sodium_bin2base64(encoded, sizeof(encoded), text, front + n + 6,
		    sodium_base64_VARIANT_ORIGINAL);
		memcpy(text, encoded, strlen(encoded));
		if (strcmp(name, "zlib") == 0 && front > 0 && n < 200)
			continue;	/* amid a short run its two bytes tell nothing */
		seen = scan(strlen(encoded));
		if (seen.sure == 0 || seen.incomplete != 0 || strstr(seen.chain, name) == NULL)
			fail_msg("%s behind %zu bytes in base64: %u, in %s; %s", name, front,
			    seen.sure, seen.chain, seen.why);
		/* in lines of 76 and of 60 digits */
		for (k = 60; k <= 76; k += 16) {
			size_t i, at = 0;

			for (i = 0; i < strlen(encoded); i += k)
				at += (size_t)sprintf((char *)text + at, "%.*s\n", (int)k, encoded + i);
			seen = scan(at);
			if (seen.sure == 0 || seen.incomplete != 0)
				fail_msg("%s behind %zu in lines: %u; %s", name, front, seen.sure, seen.why);
		}
	}
}

static void
each_packing(void **state)
{
	static uint8_t plain[20000], packed[30000];
	static const size_t lengths[] = { 100, 400, 3000, 20000 };
	unsigned how, i;

	for (how = 0; how < PACKERS; how++)
		for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
			is_unpacked(packer_name[how], packed, pack((enum packer)how, plain,
			    prose(plain, lengths[i]), packed, sizeof(packed)));
}

/* Each in each, three deep. */
static void
packed_in_packed(void **state)
{
	static uint8_t plain[3000], one[8000], two[8000];
	unsigned a, b, c;
	struct told seen;
	size_t n;

	for (a = 0; a < PACKERS; a++)
		for (b = 0; b < PACKERS; b++) {
			c = (a + b) % PACKERS;
			n = pack((enum packer)a, plain, prose(plain, sizeof(plain)), one, sizeof(one));
			n = pack((enum packer)b, one, n, two, sizeof(two));
			n = pack((enum packer)c, two, n, text, sizeof(text));
			seen = scan(n);
			if (seen.sure == 0 || seen.incomplete != 0)
				fail_msg("%s in %s in %s: %u; %s", packer_name[a], packer_name[b],
				    packer_name[c], seen.sure, seen.why);
		}
}

/* However it comes: every two pieces give what one does, also where windows end in it. */
static void
in_two_pieces(void **state)
{
	static uint8_t plain[600];
	struct told seen;
	unsigned how;
	size_t n, cut;

	for (how = 0; how < PACKERS; how++) {
		memset(text, '.', 300);
		n = 300 + pack((enum packer)how, plain, prose(plain, sizeof(plain)), text + 300,
		    sizeof(text) - 300);
		memset(text + n, '.', 300);
		for (cut = 0; cut <= n + 300; cut++) {
			seen = scan_cut(n + 300, cut, SCAN_BLOCK, SCAN_OVERLAP);
			if (seen.sure == 0 || seen.incomplete != 0)
				fail_msg("%s cut at %zu: %u; %s", packer_name[how], cut, seen.sure, seen.why);
			seen = scan_cut(n + 300, n / 2, 1 + cut, 512);
			if (seen.sure == 0 || seen.incomplete != 0)
				fail_msg("%s in windows of %zu: %u; %s", packer_name[how], 1 + cut,
				    seen.sure, seen.why);
		}
	}
}

/* Cut off or altered, it is found or told of: never clean. */
static void
damaged(void **state)
{
	static uint8_t plain[600], packed[4000];
	struct told seen;
	unsigned how;
	size_t n, i;

	for (how = BZIP2; how < PACKERS; how++) {
		n = pack((enum packer)how, plain, prose(plain, sizeof(plain)), packed, sizeof(packed));
		for (i = 20; i < n; i++) {
			memset(text, '.', 50);
			memcpy(text + 50, packed, n);
			seen = scan(50 + i);
			if (seen.incomplete == 0)
				fail_msg("%s cut off at %zu of %zu", packer_name[how], i, n);
			text[50 + i] ^= 0x10;
			seen = scan(50 + n);
			if (seen.incomplete == 0 && seen.sure == 0)
				fail_msg("%s altered at %zu of %zu", packer_name[how], i, n);
		}
	}
}

/* What wants more memory than one stream gets is told of, wherever it stands. */
static void
too_wide(void **state)
{
	static const uint8_t zstd[] = { 0x28, 0xb5, 0x2f, 0xfd, 0, 0x90, 0x29, 0, 0, 'a', 'b', 'c', 'd', 'e' };
	struct told seen;
	size_t front;

	for (front = 0; front < 20; front += 10) {
		memset(text, '.', front);
		memcpy(text + front, zstd, sizeof(zstd));
		seen = scan(front + sizeof(zstd));
		assert_int_equal(seen.incomplete, 1);
		assert_non_null(strstr(seen.why, "memory"));
	}
}

/* Blocks of bzip2 that are undone whole before anything comes out: what they cost is
 * counted, and nothing is undone when all is spent. */
static void
whole_blocks(void **state)
{
	static uint8_t zeros[899000], block[100];
	const size_t n = pack(BZIP2, zeros, sizeof(zeros), block, sizeof(block));
	static char encoded[ROOM + 100];
	struct told seen;
	uint64_t charged;

	fill((const char *)block, n - 12, ROOM / 2);
	seen = scan(ROOM / 2);
	assert_true(seen.incomplete > 0);
	fill((const char *)block, n, ROOM / 2);
	sodium_bin2base64(encoded, sizeof(encoded), text, ROOM / 2, sodium_base64_VARIANT_ORIGINAL);
	memcpy(text, encoded, strlen(encoded));
	seen = scan(strlen(encoded));
	assert_true(seen.incomplete > 0);
	charged = worker->unpacked + worker->charged;
	assert_in_range(charged, 1, SCAN_SLACK + (SCAN_RATIO_MAX + 1) * (uint64_t)ROOM);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gzip_headers),
		cmocka_unit_test(no_gzip),
		cmocka_unit_test(among_many),
		cmocka_unit_test(more_than_kept),
		cmocka_unit_test(one_in_another),
		cmocka_unit_test(each_packing),
		cmocka_unit_test(packed_in_packed),
		cmocka_unit_test(in_two_pieces),
		cmocka_unit_test(damaged),
		cmocka_unit_test(too_wide),
		cmocka_unit_test(whole_blocks),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
