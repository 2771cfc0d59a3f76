/*
 * The engines of ledger/sha256 against the vectors of FIPS 180-4 and against
 * OpenSSL: every length around every limit, every alignment, every number of
 * messages at once, and lengths that differ.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#include <openssl/evp.h>
#include <sodium.h>

#include "ledger/sha256/sha256.h"

#define LONGEST 9000		/* beyond what is sorted by length */
#define MANY 200

static const char *const engines[] = { "avx512", "sha-ni", "openssl" };

static uint8_t text[2 * LONGEST];

static void
expect(const void *data, size_t len, uint8_t out[SHA256_LEN])
{
	EVP_MD_CTX *sha = EVP_MD_CTX_new();

	assert_non_null(sha);
	assert_int_equal(EVP_DigestInit_ex(sha, EVP_sha256(), NULL), 1);
	assert_int_equal(EVP_DigestUpdate(sha, data, len), 1);
	assert_int_equal(EVP_DigestFinal_ex(sha, out, NULL), 1);
	EVP_MD_CTX_free(sha);
}

/* Hash count messages, whose lengths are given, at once; compare each. */
static void
check(const size_t *len, size_t count, size_t shift)
{
	struct sha256_job job[MANY];
	uint8_t out[MANY][SHA256_LEN + 1], want[SHA256_LEN];
	size_t i;

	assert_true(count <= MANY);
	memset(out, 0xee, sizeof(out));
	for (i = 0; i < count; i++)
		job[i] = (struct sha256_job){ text + (i + shift) % 64, len[i], out[i] };
	sha256_jobs(job, count);
	for (i = 0; i < count; i++) {
		expect(job[i].data, job[i].len, want);
		assert_memory_equal(out[i], want, SHA256_LEN);
		assert_int_equal(out[i][SHA256_LEN], 0xee);
	}
}

/* Run a check with each engine that this processor has. */
static void
with_each(void (*run)(void))
{
	unsigned i, had = 0;

	for (i = 0; i < 3; i++) {
		if (!sha256_use(engines[i]))
			continue;
		assert_string_equal(sha256_engine(), engines[i]);
		run();
		had++;
	}
	assert_true(had >= 1);
	assert_true(sha256_use(NULL));
}

static void
vectors(void)
{
	static const struct { const char *text, *digest; } v[] = {
		{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
		{ "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmno"
		    "ijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
		    "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1" }
	};
	uint8_t out[SHA256_LEN];
	struct sha256_job job = { .out = out };
	char hex[65], *million = malloc(1000000);
	unsigned i;

	assert_non_null(million);
	for (i = 0; i < 3; i++) {
		job.data = v[i].text;
		job.len = strlen(v[i].text);
		sha256_jobs(&job, 1);
		assert_string_equal(sodium_bin2hex(hex, sizeof(hex), out, sizeof(out)),
		    v[i].digest);
	}
	memset(million, 'a', 1000000);
	job.data = million;
	job.len = 1000000;
	sha256_jobs(&job, 1);
	assert_string_equal(sodium_bin2hex(hex, sizeof(hex), out, sizeof(out)),
	    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	free(million);
}

static void
test_vectors(void **state)
{
	with_each(vectors);
}

/* Sixteen of the same length, so that all lanes go through the same limit. */
static void
lengths(void)
{
	size_t len[16] = { 0 }, n, i;

	for (n = 0; n < LONGEST; n += n < 300 || n % 1024 > 960 ? 1 : 13) {
		for (i = 0; i < 16; i++)
			len[i] = n;
		check(len, 16, n);
	}
}

static void
test_lengths(void **state)
{
	with_each(lengths);
}

static void
counts(void)
{
	size_t len[MANY] = { 0 }, n, i;

	for (n = 0; n <= 70; n++) {
		for (i = 0; i < n; i++)
			len[i] = 280 + i;
		check(len, n, 0);
	}
}

/* More than are sorted at a time, and two lengths in turns. */
static void
many(void)
{
	static struct sha256_job job[2500];
	static uint8_t out[2500][SHA256_LEN];
	uint8_t want[SHA256_LEN];
	size_t i;

	for (i = 0; i < 2500; i++)
		job[i] = (struct sha256_job){ text + i % 64, i % 3 == 0 ? 65 : i % 700, out[i] };
	sha256_jobs(job, 2500);
	for (i = 0; i < 2500; i++) {
		expect(job[i].data, job[i].len, want);
		assert_memory_equal(out[i], want, SHA256_LEN);
	}
}

static void
test_many(void **state)
{
	with_each(many);
}

static void
test_counts(void **state)
{
	with_each(counts);
}

/* Short beside long: lanes end and begin at different steps. */
static void
mixtures(void)
{
	size_t len[MANY] = { 0 }, i;
	int round;

	for (round = 0; round < 40; round++) {
		for (i = 0; i < MANY; i++)
			len[i] = (size_t)rand() % (round % 2 == 0 ? 400 : LONGEST);
		if (round % 4 == 0)	/* a long one among the last */
			len[MANY - 1] = LONGEST;
		check(len, MANY, (size_t)round);
	}
}

static void
test_mixtures(void **state)
{
	srand(1);
	with_each(mixtures);
}

/* What a tree's nodes are hashed of, with every last byte, and so many that the last
 * lanes are short of them. */
static void
nodes(void)
{
	static uint8_t node[256][65], out[256][SHA256_LEN];
	struct sha256_job job[256];
	uint8_t want[SHA256_LEN];
	size_t i, count;

	randombytes_buf_deterministic(node, sizeof(node),
	    (const unsigned char[randombytes_SEEDBYTES]){ 8 });
	for (i = 0; i < 256; i++) {
		node[i][64] = (uint8_t)i;
		job[i] = (struct sha256_job){ node[i], sizeof(node[i]), out[i] };
	}
	for (count = 256; count > 0; count = count > 40 ? count - 39 : count - 1) {
		memset(out, 0, sizeof(out));
		sha256_jobs(job, count);
		for (i = 0; i < count; i++) {
			expect(node[i], sizeof(node[i]), want);
			assert_memory_equal(out[i], want, SHA256_LEN);
		}
	}
}

static void
test_nodes(void **state)
{
	with_each(nodes);
}

/* The longest line, at every alignment. */
static void
lines(void)
{
	static uint8_t line[65535 + 64];
	uint8_t out[16][SHA256_LEN], want[SHA256_LEN];
	struct sha256_job job[16];
	unsigned i;

	randombytes_buf_deterministic(line, sizeof(line),
	    (const unsigned char[randombytes_SEEDBYTES]){ 7 });
	for (i = 0; i < 16; i++)
		job[i] = (struct sha256_job){ line + 3 * i, 65535, out[i] };
	sha256_jobs(job, 16);
	for (i = 0; i < 16; i++) {
		expect(job[i].data, job[i].len, want);
		assert_memory_equal(out[i], want, SHA256_LEN);
	}
}

static void
test_lines(void **state)
{
	with_each(lines);
}

/* Messages that end where nothing can be read any more. */
static void
borders(void)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t out[16][SHA256_LEN], want[SHA256_LEN], *room;
	struct sha256_job job[16];
	size_t n, i;

	room = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(room != MAP_FAILED);
	memcpy(room, text, page);
	assert_int_equal(mprotect(room + page, page, PROT_NONE), 0);
	for (n = 0; n < 400; n++) {
		for (i = 0; i < 16; i++)
			job[i] = (struct sha256_job){ room + page - (n + i), n + i, out[i] };
		sha256_jobs(job, 16);
		for (i = 0; i < 16; i++) {
			expect(job[i].data, job[i].len, want);
			assert_memory_equal(out[i], want, SHA256_LEN);
		}
	}
	munmap(room, 2 * page);
}

static void
test_borders(void **state)
{
	with_each(borders);
}

static void
test_engines(void **state)
{
	assert_true(sha256_use(NULL));
	assert_false(sha256_use("md5"));
	assert_true(sha256_use("openssl"));
	assert_string_equal(sha256_engine(), "openssl");
	assert_true(sha256_use(NULL));
	sha256_jobs(NULL, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_mixtures),
		cmocka_unit_test(test_nodes),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_borders),
		cmocka_unit_test(test_engines)
	};

	if (sodium_init() < 0)
		return 1;
	randombytes_buf_deterministic(text, sizeof(text),
	    (const unsigned char[randombytes_SEEDBYTES]){ 1 });
	return cmocka_run_group_tests(tests, NULL, NULL);
}
