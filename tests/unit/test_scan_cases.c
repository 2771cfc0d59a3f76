/* What other scanners and redactors were reported to miss, to cut short or to
 * raise a false alarm about, with made-up values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sodium.h>
#include <zlib.h>

#include "ledger/scan/stream.h"
#include "scan_forms.h"

#define GHP "ghp" "_Q7xk2LmZp9RtVb4NcW8sYd1HgJ5aEf2j6fV9"

struct seen {
	unsigned sure, low, known, incomplete;
	uint64_t len;
	char what[64], chain[96];
};

static struct scan_worker *worker;
static struct scan_needles *needles;

static void
on_found(void *context, const struct scan_found *found)
{
	struct seen *seen = context;

	seen->known += found->source == SCAN_BY_SECRET;
	if (found->confidence == SCAN_LOW || found->identifier)
		seen->low++;
	else if (seen->sure++ == 0) {
		seen->len = found->len;
		snprintf(seen->what, sizeof(seen->what), "%s", found->what);
		snprintf(seen->chain, sizeof(seen->chain), "%s", found->chain);
	}
}

static void
on_incomplete(void *context, const char *chain, const char *why)
{
	((struct seen *)context)->incomplete++;
}

static struct seen
scan(const void *text, size_t len)
{
	struct seen seen = { 0 };
	struct scan_sink sink = { on_found, on_incomplete, &seen };
	struct scan_stream *stream = scan_stream_new(worker, &sink, SCAN_BLOCK,
	    SCAN_OVERLAP);

	assert_non_null(stream);
	scan_stream_feed(stream, text, len);
	scan_stream_end(stream);
	return seen;
}

static struct seen
scans(const char *text)
{
	return scan(text, strlen(text));
}

static int
setup(void **state)
{
	char err[200];

	needles = scan_needles_new();
	return sodium_init() < 0 || needles == NULL ||
	    (worker = scan_worker_new(needles, NULL, &scan_engine_formats, err, sizeof(err))) == NULL;
}

static int
teardown(void **state)
{
	scan_worker_free(worker);
	scan_needles_free(needles);
	return 0;
}

static void
know(const char *name, const char *value)
{
	assert_int_equal(scan_needles_add(needles, name, (const uint8_t *)value,
	    strlen(value)), 0);
}

/* Tokens that go on behind what an older rule takes for their end. */
static void
to_their_end(void **state)
{
	char text[1024], body[512];
	struct seen seen;
	size_t n;
	int i;

	for (i = 0; i < 400; i++)
		body[i] = "Q7xk2LmZp9RtVb4NcW8sYd1HgJ5aEf"[i % 30];
	n = (size_t)snprintf(text, sizeof(text), "t=%s_123456_%.36s.%.300s.%.86s;", "ghs",
	    body, body, body);
	seen = scans(text);
	assert_string_equal(seen.what, "github-ghs-jwt");
	assert_int_equal(seen.len, n - 3);
	n = (size_t)snprintf(text, sizeof(text), "t=%s-%.120s.01.0w0abcdef;", "glpat", body);
	seen = scans(text);
	assert_int_equal(seen.sure + seen.low, 1);
	n = (size_t)snprintf(text, sizeof(text), "t=%s_%.76s;", "ghr", body);
	seen = scans(text);
	assert_int_equal(seen.sure + seen.low, 1);
	assert_true(n > 0);
}

static void
wrapped_keys(void **state)
{
	static const char pem[] = "-----BEGIN" " RSA PRIVATE KEY-----\n"
	    "MIIEpAIBAAKCAQEAq7xk2LmZp9RtVb4NcW8sYd1HgJ5aEfQ7xk2LmZp9RtVb4NcW\n"
	    "8sYd1HgJ5aEfQ7xk2LmZp9RtVb4NcW8sYd1HgJ5aEfQ7xk2LmZp9RtVb4NcW8sYd\n";
	char plain[512], text[1024];
	struct seen seen;
	int shift;

	for (shift = 0; shift < 3; shift++) {
		snprintf(plain, sizeof(plain), "%.*s%s", shift, "xy", pem);
		sodium_bin2base64(text, sizeof(text), (const uint8_t *)plain, strlen(plain),
		    sodium_base64_VARIANT_ORIGINAL);
		seen = scans(text);
		assert_true(seen.sure >= 1);
	}
	assert_int_equal(scans(pem).sure, 1);
	/* a mention, and placeholders between markers, are none */
	assert_int_equal(scans("a file with -----BEGIN" " PRIVATE KEY----- in its first line").sure, 0);
	assert_int_equal(scans("-----BEGIN" " PRIVATE KEY-----\nXXXX\nXXXX\n-----END PRIVATE KEY-----").sure, 0);
	/* certificates are public */
	assert_int_equal(scans("LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUIxekNDQVh5Z0F3SUJBZ0lJZGxpT1dVY1NXM3M").sure, 0);
}

/* Across the offsets at which scanners cut their input. */
static void
straddling(void **state)
{
	static const size_t at[] = { 10000, 100000, 102400, 262144, SCAN_BLOCK,
	    SCAN_BLOCK + SCAN_OVERLAP };
	size_t len = SCAN_BLOCK + 3 * SCAN_OVERLAP, i, shift;
	char *text = malloc(len);

	memset(text, ' ', len);
	for (i = 0; i < sizeof(at) / sizeof(at[0]); i++)
		for (shift = 1; shift < 40; shift += 19) {
			memcpy(text + at[i] - shift, GHP, 40);
			if (scan(text, len).sure != 1)
				fail_msg("missed across %zu", at[i]);
			memset(text + at[i] - shift, ' ', 40);
		}
	free(text);
}

static void
known_secrets(void **state)
{
	struct seen seen;

	know("short", "prefixQ7xk2LmZp9");
	know("long", "prefixQ7xk2LmZp9andMore");
	know("json", "{\"client\":\"robot-7\",\"deep\":{\"key\":\"Q9leafRtVb4Nc\"}}");
	know("lines", "first line of it\nsecond line of it");
	know("percent", "abc%25def123XY");
	seen = scans("x prefixQ7xk2LmZp9andMore y");
	assert_int_equal(seen.known, 1);
	assert_string_equal(seen.what, "long");
	assert_string_equal(scans("x prefixQ7xk2LmZp9 y").what, "short");
	assert_string_equal(scans("only the leaf: Q9leafRtVb4Nc.").what, "json");
	assert_int_equal(scans("{ and } are no secrets").known, 0);
	assert_string_equal(scans("first line of it\r\nsecond line of it").what, "lines");
	assert_string_equal(scans("first line of it second line of it").what, "lines");
	assert_string_equal(scans("log: abc%25def123XY").what, "percent");
	assert_string_equal(scans("log: abc%2525def123XY").what, "percent");
	assert_string_equal(scans("%61%62%63%25%32%35def123XY").what, "percent");
}

static size_t
gzip(const void *in, size_t len, uint8_t *out, size_t cap)
{
	z_stream z = { 0 };

	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, 0), Z_OK);
	z.next_in = (z_const Bytef *)in;
	z.avail_in = (uInt)len;
	z.next_out = out;
	z.avail_out = (uInt)cap;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	len = cap - z.avail_out;
	deflateEnd(&z);
	return len;
}

/* Garbage behind, in front and between; cut off; as deep as is looked, and
 * one deeper. */
static void
packed(void **state)
{
	static uint8_t a[65536], b[65536];
	struct seen seen;
	size_t n, k;
	unsigned depth;

	n = gzip("x " GHP " y", 44, a, sizeof(a));
	memcpy(a + n, "trailing garbage", 16);
	seen = scan(a, n + 16);
	assert_int_equal(seen.sure, 1);
	assert_int_equal(seen.incomplete, 0);
	memcpy(b, "leading garbage ", 16);
	memcpy(b + 16, a, n);
	k = gzip("nothing here", 12, b + 16 + n, 1000);
	seen = scan(b, 16 + n + k);
	assert_int_equal(seen.sure, 1);
	assert_int_equal(seen.incomplete, 0);
	assert_true(scan(a, n - 4).incomplete > 0);
	a[n / 2] ^= 0x55;
	assert_true(scan(a, n).incomplete > 0);
	for (depth = 1; depth < SCAN_DEPTH_MAX + 3; depth++) {
		n = gzip("x " GHP " y", 44, a, sizeof(a));
		for (k = 1; k < depth; k++) {
			memcpy(b, a, n);
			n = gzip(b, n, a, sizeof(a));
		}
		seen = scan(a, n);
		assert_true(seen.sure == 1 || seen.incomplete > 0);
		assert_int_equal(seen.sure == 1, depth < SCAN_DEPTH_MAX);
	}
}

/* None of this is a secret. */
static void
no_alarm(void **state)
{
	static const char *const text[] = {
		"\"integrity\": \"sha512-aWs3kd0Zq1bN2vLx7yTgRk5uHe8PmC4oJfDiSa6XwQ9rYtVbEnUlMzKhGc+/Op0aWs3kd0Zq1bN2vLx7yTg==\"",
		"commit 4f1c0de9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3",
		"github.com/x/y v1.2.3 h1:Q7xk2LmZp9RtVb4NcW8sYd1HgJ5aEfQ7xk2LmZp9RtU=",
		"checksum = \"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"",
		"/ID [<0123456789ABCDEF0123456789ABCDEF> <0123456789ABCDEF0123456789ABCDEF>]",
		"0123456789abcdef0123456789abcdef01234567", "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
		"https://user:password@host/", "https://user:pass@example.com/", "password: correct-horse",
		"token = p4ssw0rd", "AKIA" "IOSFODNN7EXAMPLE", "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
	};
	struct seen seen;
	size_t i;

	for (i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		seen = scans(text[i]);
		if (seen.sure > 0 || seen.incomplete > 0)
			fail_msg("sample %zu: %s", i, seen.what);
	}
}

/* Random bytes, and bytes of every value, hold nothing and hide nothing. */
static void
noise(void **state)
{
	static uint8_t text[400000];
	struct seen seen;
	size_t i;

	for (i = 0; i < sizeof(text); i++)
		text[i] = (uint8_t)(i * i >> 3 ^ i * 2654435761u >> 9);
	memcpy(text + 123456, " " GHP " ", 42);
	seen = scan(text, sizeof(text));
	assert_int_equal(seen.sure, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(to_their_end),
		cmocka_unit_test(wrapped_keys),
		cmocka_unit_test(straddling),
		cmocka_unit_test(known_secrets),
		cmocka_unit_test(packed),
		cmocka_unit_test(no_alarm),
		cmocka_unit_test(noise),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
