/* Tags: which secrets are strong enough, that what is written finds them and
 * nothing else, and files that must be refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <openssl/evp.h>
#include <sodium.h>

#include "ledger/scan/stream.h"
#include "ledger/scan/tags/tags.h"
#include "ledger/scan/tags/tags_impl.h"
#include "scan_sample.h"

#define GHP "ghp" "_Q7xk2LmZp9RtVb4NcW8sYd1HgJ5aEf2j6fV9"

static int
setup(void **state)
{
	return sodium_init() < 0;
}

static enum scan_strength
strength(const char *secret)
{
	return scan_tags_strength((const uint8_t *)secret, strlen(secret));
}

static void
strengths(void **state)
{
	static const char *const strong[] = {
		GHP, "Q7xk2LmZp9RtVb4NcW8sYd1HgJ5aEfQ7xk2Lm", /* looks drawn */
		"4f1c0de9a8b7c6d5e4f3a2b1c0d9e8f7", "sk" "_live_Q7xk2LmZp9RtVb4NcW8sYd1HgJ5aEf",
	};
	static const char *const weak[] = {
		"", "short", "GtZqkLmXWpRtVbNcQWsYdHgJaEfQxkmZpRw", /* no digit */ "Q7xk2LmZp9RtVb4NcW8sYd1", "correct-horse-battery-staple",
		"correcthorsebatterystaple12", "CorrectHorse7Battery42Staple",
		"SummerHoliday2026InTheMountains", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		"0000000000000000000000000000000000000000", "12345678901234567890123456789012",
		"AKIA" "Q7XK2LMZP5RTVB4N", "AGE-SECRET" "-KEY", "the quick brown fox jumps over it",
		/* 22 unknown characters, then a checksum that follows from them */
		"sk" "_live_Q7xk2LmZp9",
		/* what a token says of itself can be guessed; its end is too short */
		"ey" "JhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibiI6MX0.Q7xk2LmZp9RtVb",
	};
	size_t i;

	for (i = 0; i < sizeof(strong) / sizeof(strong[0]); i++)
		if (strength(strong[i]) != SCAN_TAGGED)
			fail_msg("strong %zu is called weak", i);
	for (i = 0; i < sizeof(weak) / sizeof(weak[0]); i++)
		if (strength(weak[i]) != SCAN_WEAK)
			fail_msg("weak %zu is published", i);
}

/* The bits that a format's own token hides: never a fixed one, or a checksum's. */
static void
hidden(void **state)
{
	uint8_t tenths[64];
	size_t i;

	assert_true(scan_formats_hidden(GHP, 40, tenths));
	for (i = 0; i < 40; i++)
		assert_int_equal(tenths[i], i < 4 || i >= 34 ? 0 : 59);
	assert_false(scan_formats_hidden("nothing", 7, tenths));
}

static char *
file_of(const char *secret, size_t *len)
{
	struct scan_tags_writer *writer = scan_tags_writer_new();
	char commitment[SCAN_TAGS_COMMITMENT_MAX], again[SCAN_TAGS_COMMITMENT_MAX];
	char *text;

	assert_non_null(writer);
	assert_int_equal(scan_tags_add(writer, (const uint8_t *)secret, strlen(secret)),
	    SCAN_TAGGED);
	assert_int_equal(scan_tags_add(writer, (const uint8_t *)secret, strlen(secret)),
	    SCAN_TAGGED);
	text = scan_tags_write(writer, len, commitment);
	assert_non_null(text);
	scan_tags_commitment(text, *len, again);
	assert_string_equal(commitment, again);
	scan_tags_writer_free(writer);
	return text;
}

static void
count(void *context, size_t at, const char *id)
{
	if (strcmp(id, SCAN_TAG_CANARY) != 0)
		++*(unsigned *)context;
}

static unsigned
run(struct scan_tags *tags, const char *text)
{
	struct scan_tags_room *room = scan_tags_room_new(tags);
	unsigned n = 0;

	assert_non_null(room);
	assert_int_equal(scan_tags_run(room, (const uint8_t *)text, strlen(text), count,
	    &n), 0);
	scan_tags_room_free(room);
	return n;
}

static void
written_and_read(void **state)
{
	char err[200], text[512];
	struct scan_tags *tags;
	size_t len, i;
	char *file = file_of(GHP, &len);

	tags = scan_tags_read(file, len, err, sizeof(err));
	assert_non_null(tags);
	assert_int_equal(scan_tags_count(tags), 64);
	assert_int_equal(run(tags, GHP), 2);
	for (i = 0; i < 60; i++) {
		snprintf(text, sizeof(text), "%.*s%s", (int)i,
		    "=abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", GHP);
		assert_int_equal(run(tags, text), 2);
	}
	/* less than a window, or another character in both, is nothing */
	snprintf(text, sizeof(text), "%.23s", GHP);
	assert_int_equal(run(tags, text), 0);
	snprintf(text, sizeof(text), "%s", GHP);
	text[20] ^= 1;
	assert_int_equal(run(tags, text), 0);
	assert_int_equal(run(tags, SCAN_TAG_FIXTURE), 0);
	scan_tags_free(tags);
	free(file);
}

/* FORMAT.md's words, followed by somebody else. */
static void
by_the_format(void **state)
{
	static const uint8_t key[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
	static const uint8_t w[25] = "Q7xk2LmZp9RtVb4NcW8sYd1H";
	uint8_t h[16], x2[16] = { 0 }, e[32], tag[16], want[16];
	EVP_CIPHER_CTX *aes = EVP_CIPHER_CTX_new();
	int i, len;

	EVP_EncryptInit_ex(aes, EVP_aes_128_ecb(), NULL, key, NULL);
	EVP_CIPHER_CTX_set_padding(aes, 0);
	EVP_EncryptUpdate(aes, e, &len, w, 16);
	for (i = 0; i < 16; i++)
		h[i] = e[i] ^ w[i];
	memcpy(x2, w + 16, 8);
	x2[8] = 0x80;
	x2[15] = 0x18;
	for (i = 0; i < 16; i++)
		x2[i] ^= h[i];
	EVP_EncryptUpdate(aes, e, &len, x2, 16);
	for (i = 0; i < 16; i++)
		want[i] = e[i] ^ x2[i];
	EVP_CIPHER_CTX_free(aes);
	assert_int_equal(scan_tag_make(key, w, tag), 0);
	assert_memory_equal(tag, want, 16);
}

/* Made by `openssl enc -aes-128-ecb -nopad` and exclusive ors on paper. */
static void
vectors(void **state)
{
	static const struct {
		uint8_t key[16];
		const char *window;
		uint8_t tag[16];
	} known[] = {
		{ { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 },
		  "abcdefghijklmnopqrstuvwx",
		  { 0xff, 0x27, 0x49, 0x83, 0xa9, 0x35, 0xfe, 0xb3, 0x92, 0xa9,
		    0x73, 0x93, 0x41, 0x78, 0x1e, 0xa7 } },
		{ { 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
		    255, 255, 255 },
		  "0123456789ABCDEFGHIJ+/_-",
		  { 0x9f, 0x13, 0xe5, 0x9f, 0xc6, 0x4c, 0xec, 0xb2, 0x87, 0xf3,
		    0x81, 0x97, 0x7f, 0x70, 0x6b, 0x22 } },
	};
	uint8_t tag[16];
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		assert_int_equal(scan_tag_make(known[i].key,
		    (const uint8_t *)known[i].window, tag), 0);
		assert_memory_equal(tag, known[i].tag, 16);
	}
}

/* The processor's words are the library's, however many windows there are, up to
 * the last byte of a text. */
static void
engines_agree(void **state)
{
	static const struct scan_tag_engine *const engines[] = { &scan_tag_aes, &scan_tag_vaes };
	enum { MOST = 70 };
	uint8_t key[16], tags[MOST][16], want[MOST][16], *text = malloc(MOST + SCAN_TAG_WIDTH);
	struct scan_tag_keys keys;
	size_t at[MOST], n, i;
	unsigned e, tried = 0;

	randombytes_buf(key, sizeof(key));
	randombytes_buf(text, MOST + SCAN_TAG_WIDTH);
	for (i = 0; i < MOST; i++) {
		at[i] = (i * 37 + 1) % (MOST + 1);
		assert_int_equal(scan_tag_make(key, text + at[i], want[i]), 0);
	}
	for (e = 0; e < 2; e++) {
		if (!engines[e]->available())
			continue;
		scan_tag_keys_make(key, &keys);
		for (n = 0; n <= MOST; n++) {
			memset(tags, 0, sizeof(tags));
			engines[e]->hash(&keys, text, at, n, tags[0]);
			assert_memory_equal(tags, want, n * 16);
			for (i = 16 * n; i < sizeof(tags); i++)
				assert_int_equal(tags[i / 16][i % 16], 0);
		}
		tried++;
	}
	print_message("# %u engines\n", tried);
	free(text);
}

static void
refused(void **state)
{
	static const char *const bad[] = { "", "{}", "[]", "{\"v\":1}", "null" };
	char err[200], *other;
	size_t len, i, cut;
	char *file = file_of(GHP, &len);
	struct scan_tags *tags;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_null(scan_tags_read(bad[i], strlen(bad[i]), err, sizeof(err)));
	for (cut = 0; cut + 2 < len; cut += 97)
		assert_null(scan_tags_read(file, cut, err, sizeof(err)));
	/* any change of a digit leaves it unreadable, or without its canary, or
	 * as good as before */
	for (i = 0; i < len; i += 31) {
		other = malloc(len);
		memcpy(other, file, len);
		other[i] ^= 1;
		tags = scan_tags_read(other, len, err, sizeof(err));
		if (tags != NULL)
			assert_true(run(tags, GHP) <= 2);
		scan_tags_free(tags);
		free(other);
	}
	free(file);
}

/* Two files of one secret have nothing in common. */
static void
unlinked(void **state)
{
	size_t a_len, b_len, i;
	char *a = file_of(GHP, &a_len), *b = file_of(GHP, &b_len), tag[33];

	assert_int_equal(a_len, b_len);
	for (i = (size_t)(strstr(a, "\"tags\":[") - a) + 8; i + 34 < a_len; i++)
		if (a[i] == '"' && a[i + 33] == '"') {
			snprintf(tag, sizeof(tag), "%.32s", a + i + 1);
			assert_null(memmem(b, b_len, tag, 32));
		}
	free(a);
	free(b);
}

static void
count_found(void *context, const struct scan_found *found)
{
	++*(unsigned *)context;
}

static void
count_incomplete(void *context, const char *chain, const char *why)
{
	++*(unsigned *)context;
}

/* One window of a secret, wherever the scanner's own windows end: one tag, told once. */
static void
at_every_edge(void **state)
{
	enum { BLOCK = 1024, OVERLAP = 256 };
	const char *secret = "Q7xk2LmZp9RtVb4NcW8sYd1H";
	size_t len, at;
	char *file = file_of(secret, &len), err[128];
	struct scan_tags *tags = scan_tags_read(file, len, err, sizeof(err));
	struct scan_worker *by = scan_worker_new(NULL, tags, &scan_engine_formats, err, sizeof(err));
	uint8_t text[4 * BLOCK];

	assert_non_null(by);
	for (at = 0; at + SCAN_TAG_WIDTH <= sizeof(text); at++) {
		unsigned told = 0;
		struct scan_sink sink = { count_found, count_incomplete, &told };
		struct scan_stream *stream = scan_stream_new(by, &sink, BLOCK, OVERLAP);

		memset(text, '.', sizeof(text));
		memcpy(text + at, secret, SCAN_TAG_WIDTH);
		scan_stream_feed(stream, text, sizeof(text));
		scan_stream_end(stream);
		if (told != 1)
			fail_msg("at %zu: told %u times", at, told);
	}
	scan_worker_free(by);
	scan_tags_free(tags);
	free(file);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strengths),
		cmocka_unit_test(hidden),
		cmocka_unit_test(written_and_read),
		cmocka_unit_test(by_the_format),
		cmocka_unit_test(vectors),
		cmocka_unit_test(engines_agree),
		cmocka_unit_test(at_every_edge),
		cmocka_unit_test(refused),
		cmocka_unit_test(unlinked),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
