/* What looks packed: headers that are none, in numbers, hide nothing and cost little. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sodium.h>
#include <zlib.h>

#include "ledger/scan/stream_impl.h"

#define GHP "ghp" "_Q7xk2LmZp9RtVb4NcW8sYd1HgJ5aEf2j6fV9"
#define TEXT "x " GHP " y"
#define ROOM (1024u * 1024)

struct told {
	unsigned sure, incomplete;
	char why[128];	/* the last */
};

static struct scan_worker *worker;
static uint8_t text[ROOM + 200000];

static void
on_found(void *context, const struct scan_found *found)
{
	struct told *seen = context;

	seen->sure += found->confidence != SCAN_LOW && !found->identifier;
}

static void
on_incomplete(void *context, const char *chain, const char *why)
{
	struct told *seen = context;

	seen->incomplete++;
	snprintf(seen->why, sizeof(seen->why), "%s", why);
}

static struct told
scan(size_t len)
{
	struct told seen = { 0 };
	struct scan_sink sink = { on_found, on_incomplete, &seen };
	struct scan_stream *stream = scan_stream_new(worker, &sink, SCAN_BLOCK, SCAN_OVERLAP);

	assert_non_null(stream);
	scan_stream_feed(stream, text, len);
	scan_stream_end(stream);
	return seen;
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gzip_headers),
		cmocka_unit_test(no_gzip),
		cmocka_unit_test(among_many),
		cmocka_unit_test(more_than_kept),
		cmocka_unit_test(one_in_another),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
