/* Content codings: every split of input and output gives the same, damage and
 * trailing bytes are told, and no ratio needs memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include <zlib.h>

#include "redact/inflate.h"

#define N(cases) (sizeof(cases) / sizeof((cases)[0]))
enum { GZIP = 31, ZLIB = 15, RAW = -15 };

static char plain[70000], packed[80000], got[200000];

static size_t
pack(int bits, size_t len, char *to)
{
	z_stream z = { .next_in = (Bytef *)plain, .avail_in = (uInt)len,
	    .next_out = (Bytef *)to, .avail_out = 80000 };

	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, bits, 8,
	    Z_DEFAULT_STRATEGY), Z_OK);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	deflateEnd(&z);
	return 80000 - z.avail_out;
}

static void
fill(void)
{
	for (size_t i = 0; i < sizeof(plain); i++)
		plain[i] = (char)(i * i / 7 % 61 + 32);
}

/* All of text through pieces of in and room for `room` bytes at once. */
static enum inflate_result
run(struct slice coding, struct slice text, size_t piece, size_t room,
    size_t *n, bool *whole, size_t *left)
{
	struct inflate *inf = inflate_new(coding);
	enum inflate_result r = INFLATE_OK;
	struct slice in;
	size_t more;

	assert_non_null(inf);
	*n = 0;
	*left = text.n;
	while (text.n > 0 && r == INFLATE_OK) {
		in = (struct slice){ text.p, piece < text.n ? piece : text.n };
		text.p += in.n;
		text.n -= in.n;
		do {
			assert_true(*n + room <= sizeof(got));
			r = inflate_feed(inf, &in, got + *n, room, &more);
			assert_true(more <= room);
			*n += more;
		} while (r == INFLATE_OK && (more > 0 || in.n > 0));
		*left = in.n + text.n;
	}
	*whole = inflate_complete(inf);
	inflate_free(inf);
	return r;
}

static void
test_coding_names(void **state)
{
	static const char *const known[] = { "gzip", "X-GZIP", "deflate" };
	static const char *const unknown[] = { "", "identity", "br", "zstd",
	    "gzip, gzip", "gzip,", "compress" };

	for (size_t i = 0; i < N(known); i++)
		assert_true(inflate_knows(slice_of(known[i])));
	for (size_t i = 0; i < N(unknown); i++) {
		assert_false(inflate_knows(slice_of(unknown[i])));
		assert_null(inflate_new(slice_of(unknown[i])));
	}
	inflate_free(NULL);
}

static void
test_all_splits(void **state)
{
	static const struct { int bits; const char *coding; } kinds[] = {
		{ GZIP, "gzip" }, { ZLIB, "deflate" }, { RAW, "deflate" } };
	static const size_t sizes[] = { 0, 1, 100, 3000, sizeof(plain) };
	size_t n, packed_n, left;
	bool whole;

	fill();
	for (size_t k = 0; k < N(kinds); k++)
		for (size_t s = 0; s < N(sizes); s++) {
			packed_n = pack(kinds[k].bits, sizes[s], packed);
			for (size_t piece = 1; piece <= packed_n; piece = piece * 2 + 1)
				for (size_t room = 1; room < 100000; room = room * 5 + 2) {
					enum inflate_result r = run(slice_of(kinds[k].coding),
					    (struct slice){ packed, packed_n }, piece,
					    room, &n, &whole, &left);
					assert_true(r == (kinds[k].bits == GZIP ? INFLATE_OK : INFLATE_END));
					assert_true(whole);
					assert_int_equal(n, sizes[s]);
					assert_memory_equal(got, plain, n);
				}
		}
}

static void
test_members_and_what_follows(void **state)
{
	size_t n, a, b, left;
	bool whole;

	fill();
	a = pack(GZIP, 1000, packed);
	b = pack(GZIP, 500, packed + a);
	for (size_t piece = 1; piece < a + b; piece += 3) {
		assert_int_equal(run(SLICE("gzip"), (struct slice){ packed, a + b },
		    piece, 100, &n, &whole, &left), INFLATE_OK);
		assert_true(whole);
		assert_int_equal(n, 1500);
	}
	memset(packed + a, 0, 10);	/* something that is no member */
	assert_int_equal(run(SLICE("gzip"), (struct slice){ packed, a + 10 }, 7, 100,
	    &n, &whole, &left), INFLATE_BAD);
	assert_false(whole);
	a = pack(ZLIB, 1000, packed);
	assert_int_equal(run(SLICE("deflate"), (struct slice){ packed, a + 10 },
	    sizeof(packed), 100, &n, &whole, &left), INFLATE_END);
	assert_int_equal(left, 10);
	assert_int_equal(n, 1000);
}

static void
test_cuts_and_damage(void **state)
{
	size_t n, packed_n, left;
	bool whole;

	fill();
	packed_n = pack(GZIP, 3000, packed);
	for (size_t cut = 1; cut < packed_n; cut++) {
		assert_int_equal(run(SLICE("gzip"), (struct slice){ packed, cut },
		    cut, 999, &n, &whole, &left), INFLATE_OK);
		assert_false(whole);
	}
	packed[packed_n - 5] ^= 1;	/* its checksum */
	assert_int_equal(run(SLICE("gzip"), (struct slice){ packed, packed_n },
	    packed_n, 999, &n, &whole, &left), INFLATE_BAD);
	assert_int_equal(run(SLICE("gzip"), SLICE("<html>"), 6, 999, &n, &whole,
	    &left), INFLATE_BAD);
	assert_int_equal(run(SLICE("deflate"), SLICE("<html>"), 6, 999, &n, &whole,
	    &left), INFLATE_BAD);
	/* a preset dictionary, which nobody has */
	assert_int_equal(run(SLICE("deflate"), SLICE("\x78\xbb\1\2\3\4\5\6"), 8, 999,
	    &n, &whole, &left), INFLATE_BAD);
}

static void
test_bad_and_end_are_final_and_nothing_is_whole(void **state)
{
	struct inflate *inf = inflate_new(SLICE("gzip"));
	struct slice in = SLICE("");
	char out[10];
	size_t n;

	assert_true(inflate_complete(inf));
	assert_int_equal(inflate_feed(inf, &in, out, sizeof(out), &n), INFLATE_OK);
	assert_true(inflate_complete(inf));
	in = SLICE("garbage");
	assert_int_equal(inflate_feed(inf, &in, out, sizeof(out), &n), INFLATE_BAD);
	in = SLICE("\x1f\x8b");
	assert_int_equal(inflate_feed(inf, &in, out, sizeof(out), &n), INFLATE_BAD);
	assert_int_equal(n, 0);
	inflate_free(inf);
	inf = inflate_new(SLICE("deflate"));
	in = (struct slice){ packed, pack(ZLIB, 3, packed) };
	assert_int_equal(inflate_feed(inf, &in, out, sizeof(out), &n), INFLATE_END);
	assert_int_equal(n, 3);
	assert_int_equal(inflate_feed(inf, &in, out, sizeof(out), &n), INFLATE_END);
	assert_int_equal(n, 0);
	in = SLICE("x");		/* bytes behind the end */
	assert_int_equal(inflate_feed(inf, &in, out, sizeof(out), &n), INFLATE_BAD);
	in = SLICE("");
	assert_int_equal(inflate_feed(inf, &in, out, sizeof(out), &n), INFLATE_BAD);
	inflate_free(inf);
}

/* A thousand to one, read through 4 KiB. */
static void
test_a_bomb_needs_no_memory(void **state)
{
	z_stream z = { .next_out = (Bytef *)packed, .avail_out = sizeof(packed) };
	struct inflate *inf = inflate_new(SLICE("gzip"));
	enum inflate_result r;
	static char zeros[65536], out[4096];
	size_t n, total = 0;
	struct slice in;

	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, GZIP, 9,
	    Z_DEFAULT_STRATEGY), Z_OK);
	for (int i = 0; i < 512; i++) {
		z.next_in = (Bytef *)zeros;
		z.avail_in = sizeof(zeros);
		assert_int_equal(deflate(&z, i == 511 ? Z_FINISH : Z_NO_FLUSH),
		    i == 511 ? Z_STREAM_END : Z_OK);
	}
	in = (struct slice){ packed, sizeof(packed) - z.avail_out };
	deflateEnd(&z);
	do {
		r = inflate_feed(inf, &in, out, sizeof(out), &n);
		total += n;
	} while (r == INFLATE_OK && n > 0);
	assert_int_equal(r, INFLATE_OK);
	assert_true(inflate_complete(inf));
	assert_int_equal(total, 512 * sizeof(zeros));
	inflate_free(inf);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_coding_names),
		cmocka_unit_test(test_all_splits),
		cmocka_unit_test(test_members_and_what_follows),
		cmocka_unit_test(test_cuts_and_damage),
		cmocka_unit_test(test_bad_and_end_are_final_and_nothing_is_whole),
		cmocka_unit_test(test_a_bomb_needs_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
