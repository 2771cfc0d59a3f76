/* The one pass over a text: every engine gives the same bits as the table, at
 * every length; what reads the bits agrees with what a loop over bytes says;
 * and what long runs hide is found wherever in them it stands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sodium.h>
#include <zlib.h>

#include "ledger/scan/needles.h"
#include "ledger/scan/scan.h"
#include "ledger/scan/stream.h"
#include "ledger/scan/view/classes.h"
#include "ledger/scan/view/escape.h"
#include "ledger/scan/view/view.h"

#define GHP "ghp" "_Q7xk2LmZp9RtVb4NcW8sYd1HgJ5aEf2j6fV9"

/* Always the same bytes. */
static void
noise(uint8_t *p, size_t len, uint8_t which)
{
	uint8_t seed[randombytes_SEEDBYTES] = { which };

	randombytes_buf_deterministic(p, len, seed);
}

static void
engines_agree(void **state)
{
	static const struct scan_classifier *const engines[] = { &scan_classifier_avx512,
	    &scan_classifier_avx2 };
	static uint8_t text[64 * 40];
	static struct scan_planes plain[40], other[40];
	struct scan_table table;
	unsigned i, round, tried = 0;

	(void)state;
	for (round = 0; round < 20; round++) {
		noise(text, sizeof(text), (uint8_t)round);
		noise(table.of, sizeof(table.of), (uint8_t)(100 + round));
		if (round % 2 != 0)	/* rows that are empty */
			memset(table.of + 16 * (round % 8), 0, 128);
		scan_table_made(&table);
		scan_classifier_plain.blocks(&table, text, 40, plain);
		for (i = 0; i < 2; i++) {
			if (!engines[i]->available())
				continue;
			memset(other, 0xff, sizeof(other));
			engines[i]->blocks(&table, text, 40, other);
			assert_memory_equal(plain, other, sizeof(plain));
			tried++;
		}
	}
	print_message("# %u comparisons with the plain engine\n", tried);
}

static void
every_length(void **state)
{
	static uint8_t text[300];
	struct scan_planes got[6];
	struct scan_table table;
	size_t len, i;
	unsigned k;

	(void)state;
	noise(text, sizeof(text), 1);
	noise(table.of, sizeof(table.of), 2);
	scan_table_made(&table);
	for (len = 0; len <= sizeof(text); len++) {
		memset(got, 0xff, sizeof(got));
		scan_planes_of(&table, text, len, got);
		for (i = 0; i < (len + 63) / 64 * 64; i++)
			for (k = 0; k < SCAN_PLANES; k++)
				assert_int_equal(got[i / 64].plane[k] >> i % 64 & 1,
				    i < len ? table.of[text[i]] >> k & 1 : 0);
	}
}

/* The bit of a 128-bit row. */
static bool
bit(const uint64_t row[2], unsigned i)
{
	return i < 128 && (row[i / 64] >> i % 64 & 1) != 0;
}

static void
rows(void **state)
{
	static const unsigned lengths[] = { 17, 24, 29, 32, 33, 36, 64 };
	uint64_t row[2], got, all;
	unsigned round, n, i, k;

	(void)state;
	for (round = 0; round < 200; round++)
		for (n = 0; n < sizeof(lengths) / sizeof(lengths[0]); n++) {
			noise((uint8_t *)&row, sizeof(row), (uint8_t)round);
			for (k = 0; k < 3; k++)	/* mostly ones */
				row[0] |= row[0] << (1 + round % 7), row[1] |= row[1] >> (1 + round % 5);
			got = scan_row(row[0], row[1], lengths[n]);
			for (i = 0; i < 64; i++) {
				for (all = 1, k = 0; k < lengths[n]; k++)
					all &= bit(row, i + k);
				assert_int_equal(got >> i & 1, all);
			}
		}
	assert_int_equal(scan_since(UINT64_MAX, 2, 130), UINT64_MAX << 2);
	assert_int_equal(scan_since(UINT64_MAX, 2, 192), 0);
	assert_int_equal(scan_since(7, 2, 128), 7);
}

static void
zlib_places(void **state)
{
	struct scan_classes classes = { NULL, 0 };
	uint8_t text[200];
	size_t at;

	(void)state;
	for (at = 0; at + 1 < sizeof(text); at++) {
		memset(text, 'x', sizeof(text));
		text[at + 1] = at % 2 != 0 ? 0x9c : 0x5e;
		assert_int_equal(scan_classes_of(&classes, text, sizeof(text)), 0);
		assert_int_equal(scan_classes_zlib(&classes, text, sizeof(text), 0), at);
		assert_int_equal(scan_classes_zlib(&classes, text, sizeof(text), at + 1),
		    sizeof(text));
	}
	scan_classes_free(&classes);
}

/* ---- whole scans ---- */

struct seen {
	unsigned sure, known, incomplete;
};

static void
on_found(void *context, const struct scan_found *found)
{
	struct seen *seen = context;

	seen->known += found->source == SCAN_BY_SECRET;
	seen->sure += found->source == SCAN_BY_FORMAT && found->confidence == SCAN_HIGH;
}

static void
on_incomplete(void *context, const char *chain, const char *why)
{
	((struct seen *)context)->incomplete++;
}

static struct seen
scan(struct scan_worker *worker, const void *text, size_t len)
{
	struct seen seen = { 0, 0, 0 };
	struct scan_sink sink = { on_found, on_incomplete, &seen };
	struct scan_stream *stream = scan_stream_new(worker, &sink, SCAN_BLOCK, SCAN_OVERLAP);

	assert_non_null(stream);
	scan_stream_feed(stream, text, len);
	scan_stream_end(stream);
	return seen;
}

static struct scan_worker *
worker_with(struct scan_needles *needles)
{
	char err[200];
	struct scan_worker *worker = scan_worker_new(needles, NULL, &scan_engine_formats, err, sizeof(err));

	assert_non_null(worker);
	return worker;
}

/* A thing in 3000 bytes of noise, in base64, at each place of its groups, from
 * its beginning to its end. */
static void
in_long_base64(struct scan_worker *worker, const uint8_t *thing, size_t len, bool known)
{
	static const size_t places[] = { 0, 1, 2, 40, 41, 42, 1000, 1001, 1002 };
	uint8_t bytes[3000];
	char text[4100];
	struct seen seen;
	size_t i, at;

	for (i = 0; i < 2 * sizeof(places) / sizeof(places[0]); i++) {
		at = places[i / 2];
		at = i % 2 != 0 ? sizeof(bytes) - len - at : at;
		noise(bytes, sizeof(bytes), 9);
		memcpy(bytes + at, thing, len);
		sodium_bin2base64(text, sizeof(text), bytes, sizeof(bytes),
		    sodium_base64_VARIANT_ORIGINAL);
		seen = scan(worker, text, strlen(text));
		if ((known ? seen.known : seen.sure) != 1)
			fail_msg("missed at %zu", at);
	}
}

static size_t
deflated(const char *text, int bits, uint8_t *out, size_t cap)
{
	z_stream z = { .next_in = (z_const Bytef *)text, .avail_in = (uInt)strlen(text),
	    .next_out = out, .avail_out = (uInt)cap };

	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	deflateEnd(&z);
	return cap - z.avail_out;
}

static void
long_runs(void **state)
{
	struct scan_worker *worker = worker_with(NULL);
	uint8_t packed[300];
	size_t n;

	(void)state;
	in_long_base64(worker, (const uint8_t *)" " GHP " ", sizeof(GHP) + 1, false);
	n = deflated("one line, and then " GHP " and more of it", 15, packed, sizeof(packed));
	in_long_base64(worker, packed, n, false);
	n = deflated("one line, and then " GHP " and more of it", 15 + 16, packed,
	    sizeof(packed));
	in_long_base64(worker, packed, n, false);
	scan_worker_free(worker);
}

/* A secret that is not ASCII is found in base64 of base64, too. */
static void
bytes_in_long_runs(void **state)
{
	static const uint8_t secret[] = "\xc3\xa4\xff\x80\x81\xe9\xe8\x99\xaa\xbb\xcc\xdd";
	struct scan_needles *needles = scan_needles_new();
	struct scan_worker *worker;

	(void)state;
	assert_int_equal(scan_needles_add(needles, "bytes", secret, sizeof(secret) - 1), 0);
	assert_true(scan_needles_bytes(needles));
	worker = worker_with(needles);
	in_long_base64(worker, secret, sizeof(secret) - 1, true);
	scan_worker_free(worker);
	scan_needles_free(needles);
}

static void
count(void *context, size_t at, size_t len, const char *name, const char *form)
{
	*(size_t *)context += at;
}

/* However a secret lies to the places that are looked up. */
static void
needles_anywhere(void **state)
{
	struct scan_needles *needles = scan_needles_new();
	static const char *const secrets[] = { "kX9.qP2w", "kX9.qP2wLonger", "another one" };
	char text[128];
	size_t at, len, i, sum;

	(void)state;
	for (i = 0; i < 3; i++)
		assert_int_equal(scan_needles_add(needles, "it", (const uint8_t *)secrets[i],
		    strlen(secrets[i])), 0);
	assert_false(scan_needles_bytes(needles));
	for (i = 0; i < 3; i++)
		for (at = 1; at < 40; at++)
			for (len = at + strlen(secrets[i]); len < at + 24; len++) {
				memset(text, '-', sizeof(text));
				memcpy(text + at, secrets[i], strlen(secrets[i]));
				sum = 0;
				scan_needles_run(needles, (const uint8_t *)text, len, count, &sum);
				assert_int_equal(sum, at);
			}
	/* one behind the other */
	sum = 0;
	scan_needles_run(needles, (const uint8_t *)"kX9.qP2wkX9.qP2wkX9.qP2wLonger", 30,
	    count, &sum);
	assert_int_equal(sum, 8 + 16);
	scan_needles_free(needles);
}

/* The lines of a log are not one word; those of a value are, however narrow. */
static void
lines(void **state)
{
	struct scan_worker *worker = worker_with(NULL);
	char text[200], *p;
	size_t width, i;

	(void)state;
	for (width = 5; width < 40; width++) {
		p = text + sprintf(text, "value: ");
		for (i = 0; i < strlen(GHP); i++)
			p += sprintf(p, i % width == width - 1 ? "%c\n" : "%c", GHP[i]);
		if (width >= 8)
			assert_int_equal(scan(worker, text, strlen(text)).sure, 1);
	}
	scan_worker_free(worker);
}

static size_t
joined(const char *before, const char *after, size_t least)
{
	return scan_join_word(&(struct scan_joint){ (const uint8_t *)after, 0, strlen(after),
	    (const uint8_t *)before + strlen(before), strlen(before), least });
}

/* What ends one line and begins the next is a value only with letters in it: not
 * so, where a known secret may be of digits. */
static void
numbers(void **state)
{
	static const char *const times[] = { "\n2026-11-29T12:00:01 ok", "\n20261129-120001 1",
	    "\n  1764417601.123456 x" };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		assert_int_equal(joined("size=12345678", times[i], SCAN_RUN_MIN), 0);
		assert_true(joined("size=12345678", times[i], SCAN_SECRET_MIN) > 0);
	}
	assert_int_equal(joined("SK12345678", "\n2026112912000100", SCAN_RUN_MIN), 1);
	assert_int_equal(joined("=1S345678", "\n20261k2912000100", SCAN_RUN_MIN), 1);
	assert_int_equal(joined("=12345678", "\n202611291200\n 01ab", SCAN_RUN_MIN), 1);
	assert_int_equal(joined("=12345678", "\n202611291200 01ab", SCAN_RUN_MIN), 0);
	assert_int_equal(joined("=12345678", "\n202611291200:01ab", SCAN_RUN_MIN), 0);
}

static size_t
least_with(const char *secret)
{
	struct scan_needles *needles = scan_needles_new();
	size_t least;

	assert_int_equal(scan_needles_add(needles, "it", (const uint8_t *)secret,
	    strlen(secret)), 0);
	least = scan_needles_least(needles);
	scan_needles_free(needles);
	return least;
}

/* Known secrets that lines cut apart: of digits, short, or of more than one word. */
static void
cut_secrets(void **state)
{
	static const char *const secrets[] = { "4929123456789012345678", "kX9.qP2wLong",
	    "two words, and=more", "kX9qP2wLonger-and-longer", "1234567@890123456789" };
	struct scan_needles *needles;
	struct scan_worker *worker;
	char text[100];
	size_t i, cut, len;

	(void)state;
	assert_int_equal(least_with("4929123456789012345678"), SCAN_SECRET_MIN);
	assert_int_equal(least_with("two words, and=more"), SCAN_SECRET_MIN);
	assert_int_equal(least_with("kX9.qP2wLong"), 12);
	assert_int_equal(least_with("kX9qP2wLonger-and-longer"), SCAN_RUN_MIN);
	for (i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++) {
		needles = scan_needles_new();
		assert_int_equal(scan_needles_add(needles, "it", (const uint8_t *)secrets[i],
		    strlen(secrets[i])), 0);
		worker = worker_with(needles);
		len = strlen(secrets[i]);
		for (cut = 1; cut < len; cut++) {
			snprintf(text, sizeof(text), "value: %.*s\n%s;", (int)cut, secrets[i],
			    secrets[i] + cut);
			/* a part of eight in one word, on one side at least */
			if (i == 0 || i == 3 || (i == 1 && (cut >= 8 || len - cut >= 8)))
				assert_int_equal(scan(worker, text, strlen(text)).known, 1);
		}
		scan_worker_free(worker);
		scan_needles_free(needles);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(engines_agree),
		cmocka_unit_test(every_length),
		cmocka_unit_test(rows),
		cmocka_unit_test(zlib_places),
		cmocka_unit_test(long_runs),
		cmocka_unit_test(bytes_in_long_runs),
		cmocka_unit_test(needles_anywhere),
		cmocka_unit_test(lines),
		cmocka_unit_test(numbers),
		cmocka_unit_test(cut_secrets),
	};

	return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
