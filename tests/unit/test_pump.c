/* One body from source framing to sink framing, in any pieces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "plane/pump.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#define SECRET "canary-5ecret-made-up-for-tests"

/* Feeds text in pieces of `piece` bytes, end at the end; the last result. */
static enum pump_result
run(struct pump *pump, struct slice text, size_t piece, struct buf *out)
{
	enum pump_result result = PUMP_MORE;
	struct slice in;

	while (text.n > 0 && result == PUMP_MORE) {
		in = (struct slice){ text.p, text.n < piece ? text.n : piece };
		text.p += in.n;
		text.n -= in.n;
		result = pump_feed(pump, &in, out);
	}
	return result == PUMP_MORE ? pump_end(pump, out) : result;
}

static void
expect(enum frame from, uint64_t length, enum frame to, const char *in,
    const char *want)
{
	for (size_t piece = 1; piece <= strlen(in) + 1; piece++) {
		struct buf out = { 0 };
		struct pump pump;

		pump_init(&pump, from, length, to, NULL, NULL);
		assert_int_equal(run(&pump, slice_of(in), piece, &out), PUMP_DONE);
		assert_true(pump.done);
		if (to != FRAME_CHUNKED) {
			assert_int_equal(out.len, strlen(want));
			assert_memory_equal(out.p + out.off, want, out.len);
		} else {	/* how it was cut shows in the chunks only */
			struct chunk_decoder decoder;
			struct slice rest = buf_slice(&out), data;
			size_t n = 0;
			enum chunk_result result;

			chunk_init(&decoder);
			while ((result = chunk_decode(&decoder, &rest, &data)) == CHUNK_DATA) {
				assert_memory_equal(data.p, want + n, data.n);
				n += data.n;
			}
			assert_int_equal(result, CHUNK_END);
			assert_int_equal(rest.n, 0);
			assert_int_equal(n, strlen(want));
		}
		buf_free(&out);
		pump_free(&pump);
	}
}

static void
test_framing(void **state)
{
	const char *chunked = "5\r\nhello\r\n7;x=y\r\n, world\r\n0\r\nT: u\r\n\r\n";
	enum frame sinks[] = { FRAME_LENGTH, FRAME_CHUNKED, FRAME_CLOSE };

	for (size_t i = 0; i < 3; i++) {
		expect(FRAME_LENGTH, 12, sinks[i], "hello, world", "hello, world");
		expect(FRAME_CHUNKED, 0, sinks[i], chunked, "hello, world");
		expect(FRAME_CLOSE, 0, sinks[i], "hello, world", "hello, world");
		expect(FRAME_LENGTH, 0, sinks[i], "", "");
		expect(FRAME_CHUNKED, 0, sinks[i], "0\r\n\r\n", "");
		expect(FRAME_CLOSE, 0, sinks[i], "", "");
	}
	expect(FRAME_NONE, 0, FRAME_NONE, "", "");
}

/* What follows a body stays where it is. */
static void
test_rest(void **state)
{
	struct slice in = SLICE("abcGET / ");
	struct buf out = { 0 };
	struct pump pump;

	pump_init(&pump, FRAME_LENGTH, 3, FRAME_LENGTH, NULL, NULL);
	assert_int_equal(pump_feed(&pump, &in, &out), PUMP_DONE);
	assert_int_equal(in.n, 6);
	assert_int_equal(pump_feed(&pump, &in, &out), PUMP_DONE);
	assert_int_equal(in.n, 6);
	assert_int_equal(pump.taken, 3);
	buf_free(&out);
	pump_free(&pump);
}

static void
test_cut(void **state)
{
	const struct { enum frame from; const char *in; enum pump_result want; }
	cases[] = {
		{ FRAME_LENGTH, "short", PUMP_CUT }, { FRAME_LENGTH, "", PUMP_CUT },
		{ FRAME_CHUNKED, "5\r\nhel", PUMP_CUT },
		{ FRAME_CHUNKED, "5\r\nhello\r\n", PUMP_CUT },
		{ FRAME_CHUNKED, "5\r\nhello\r\n0\r\n", PUMP_CUT },
		{ FRAME_CHUNKED, "5\nhello\r\n", PUMP_BAD },
		{ FRAME_CHUNKED, "xyz\r\n", PUMP_BAD },
		{ FRAME_CHUNKED, "5\r\nhellooo", PUMP_BAD },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf out = { 0 };
		struct pump pump;

		pump_init(&pump, cases[i].from, 10, FRAME_CHUNKED, NULL, NULL);
		assert_int_equal(run(&pump, slice_of(cases[i].in), 3, &out),
		    cases[i].want);
		assert_false(pump.done);
		buf_free(&out);
		pump_free(&pump);
	}
}

/* Above the mark nothing is taken; no byte is lost. */
static void
test_back_pressure(void **state)
{
	static char data[1000000];
	struct slice in = { data, sizeof(data) };
	struct buf out = { 0 };
	struct pump pump;
	enum pump_result result;
	size_t got = 0;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)(i * 7 + i / 256);
	pump_init(&pump, FRAME_CLOSE, 0, FRAME_CLOSE, NULL, NULL);
	while ((result = pump_feed(&pump, &in, &out)) == PUMP_FULL) {
		assert_true(out.len >= PUMP_MARK);
		assert_true(out.len <= PUMP_MARK + PUMP_PIECE);
		assert_memory_equal(out.p + out.off, data + got, out.len);
		got += out.len;
		buf_take(&out, out.len);
	}
	assert_int_equal(result, PUMP_MORE);
	assert_int_equal(got + out.len, sizeof(data));
	buf_free(&out);
	pump_free(&pump);
}

static struct pump
redacting(enum frame to, bool early)
{
	struct redact_needles *needles = redact_needles_new(slice_of(SECRET), NULL);
	struct pump pump;

	pump_init(&pump, FRAME_CLOSE, 0, to, NULL, redact_new(needles));
	redact_needles_unref(needles);
	pump.early.on = early;
	return pump;
}

static void
test_redaction(void **state)
{
	const char *in = "a " SECRET " b " SECRET;
	const char *want = "a [redacted] b [redacted]";

	for (size_t piece = 1; piece <= strlen(in); piece++) {
		struct pump pump = redacting(FRAME_CLOSE, false);
		struct buf out = { 0 };

		assert_int_equal(run(&pump, slice_of(in), piece, &out), PUMP_DONE);
		assert_int_equal(out.len, strlen(want));
		assert_memory_equal(out.p + out.off, want, out.len);
		buf_free(&out);
		pump_free(&pump);
	}
}

/* Early bytes are the same bytes: none twice, none lost, none out of order. */
static void
test_early_text(void **state)
{
	static const char letters[] = "cancanary-5e63NYg";	/* beginnings of many forms */
	char text[400];

	srandom(11);
	for (unsigned round = 0; round < 300; round++) {
		struct pump pump = redacting(FRAME_CLOSE, true);
		struct buf out = { 0 };
		size_t fed = 0;

		for (size_t i = 0; i < sizeof(text); i++)
			text[i] = letters[(size_t)random() % (sizeof(letters) - 1)];
		while (fed < sizeof(text)) {
			struct slice in = { text + fed, 1 + (size_t)random() % 9 };

			if (in.n > sizeof(text) - fed)
				in.n = sizeof(text) - fed;
			fed += in.n;
			assert_int_equal(pump_feed(&pump, &in, &out), PUMP_MORE);
			if (pump.early.on && pump.early.held <= PUMP_EARLY)
				assert_int_equal(out.len, fed);
			assert_memory_equal(out.p + out.off, text, out.len);
		}
		assert_int_equal(pump_end(&pump, &out), PUMP_DONE);
		assert_int_equal(out.len, sizeof(text));
		assert_memory_equal(out.p + out.off, text, out.len);
		buf_free(&out);
		pump_free(&pump);
	}
}

/* Sent byte by byte, no more of the secret shows than its first bytes, once. */
static void
test_early_secret(void **state)
{
	const char *in = "x" SECRET "y" SECRET "z";

	for (size_t piece = 1; piece <= strlen(in); piece++) {
		struct pump pump = redacting(FRAME_CLOSE, true);
		struct buf out = { 0 };
		char *text;

		assert_int_equal(run(&pump, slice_of(in), piece, &out), PUMP_DONE);
		text = strndup(out.p + out.off, out.len);
		assert_null(strstr(text, "cana"));
		assert_null(strstr(text, "tests"));
		assert_non_null(strstr(text, "[redacted]y[redacted]z"));
		assert_true(out.len <= strlen("x[redacted]y[redacted]z") + PUMP_EARLY);
		free(text);
		buf_free(&out);
		pump_free(&pump);
	}
}

static void
test_stop_on_hit(void **state)
{
	for (size_t piece = 1; piece <= 40; piece++) {
		struct pump pump = redacting(FRAME_CLOSE, false);
		struct buf out = { 0 };

		pump.stop_on_hit = true;
		assert_int_equal(run(&pump, slice_of("before " SECRET " after"), piece,
		    &out), PUMP_HIT);
		assert_true(out.len <= strlen("before "));
		buf_free(&out);
		pump_free(&pump);
	}
}

static size_t
gzip(const char *text, size_t len, char *out, size_t cap)
{
	z_stream z = { 0 };
	size_t n;

	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8,
	    Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = (Bytef *)(uintptr_t)text;
	z.avail_in = (uInt)len;
	z.next_out = (Bytef *)out;
	z.avail_out = (uInt)cap;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	n = cap - z.avail_out;
	deflateEnd(&z);
	return n;
}

static void
test_coding(void **state)
{
	const char *text = "zipped " SECRET " end";
	char coded[512];
	size_t n = gzip(text, strlen(text), coded, sizeof(coded));

	for (size_t piece = 1; piece <= n; piece++) {
		struct pump pump = redacting(FRAME_CLOSE, false);
		struct buf out = { 0 };

		pump.inflate = inflate_new(SLICE("gzip"));
		assert_int_equal(run(&pump, (struct slice){ coded, n }, piece, &out),
		    PUMP_DONE);
		assert_int_equal(out.len, strlen("zipped [redacted] end"));
		assert_memory_equal(out.p + out.off, "zipped [redacted] end", out.len);
		buf_free(&out);
		pump_free(&pump);
	}
	for (size_t cut = 1; cut < n; cut++) {	/* never whole */
		struct pump pump = redacting(FRAME_CLOSE, false);
		struct buf out = { 0 };

		pump.inflate = inflate_new(SLICE("gzip"));
		assert_int_equal(run(&pump, (struct slice){ coded, cut }, 7, &out),
		    PUMP_BAD);
		buf_free(&out);
		pump_free(&pump);
	}
}

/* A small body that unpacks to a large one passes in small steps. */
static void
test_bomb(void **state)
{
	static char zeros[8000000], coded[16384];
	size_t n = gzip(zeros, sizeof(zeros), coded, sizeof(coded)), got = 0;
	struct slice in = { coded, n };
	struct pump pump = redacting(FRAME_CLOSE, false);
	struct buf out = { 0 };
	enum pump_result result;

	pump.inflate = inflate_new(SLICE("gzip"));
	while ((result = pump_feed(&pump, &in, &out)) == PUMP_FULL ||
	    (result == PUMP_MORE && (result = pump_end(&pump, &out)) == PUMP_FULL)) {
		assert_true(out.cap <= 4 * PUMP_MARK);
		got += out.len;
		buf_take(&out, out.len);
	}
	assert_int_equal(result, PUMP_DONE);
	assert_int_equal(got + out.len, sizeof(zeros));
	buf_free(&out);
	pump_free(&pump);
}

/* A gzip file of text, stored or deflated; its length. */
static size_t
gzip_file(const char *text, int level, char *to, size_t cap)
{
	z_stream z = { 0 };
	size_t n;

	assert_int_equal(deflateInit2(&z, level, Z_DEFLATED, 15 + 16, 8, 0), Z_OK);
	z.next_in = (Bytef *)(uintptr_t)text;
	z.avail_in = (uInt)strlen(text);
	z.next_out = (Bytef *)to;
	z.avail_out = (uInt)cap;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	n = cap - z.avail_out;
	deflateEnd(&z);
	return n;
}

/* What can be unpacked of what was put out. */
static size_t
unpack(const struct buf *out, char *to, size_t cap)
{
	struct inflate *inflate = inflate_new(SLICE("gzip"));
	struct slice in = buf_slice(out);
	size_t n = 0;

	inflate_feed(inflate, &in, to, cap, &n);
	inflate_free(inflate);
	return n;
}

static struct redact *
looking(void)
{
	struct redact_needles *needles = redact_needles_new(SLICE(SECRET), NULL);
	struct redact *redact = redact_new(needles);

	redact_needles_unref(needles);
	return redact;
}

/* A file in which the secret is ends the answer, wherever it is cut, before more than
 * three bytes of it can be unpacked. */
static void
test_gzip_file(void **state)
{
	static char file[8192], text[16384], plain[16384];
	static const size_t pieces[] = { 1, 2, 7, 64, 1000, 8192 };
	char *p = text;
	size_t n, k;

	(void)state;
	for (unsigned i = 0; i < 300; i++)
		p += sprintf(p, "%u of no secret, ", i * 2654435761u);
	strcpy(p, SECRET " and more");
	for (int level = 0; level <= 19; level += level == 9 ? 10 : 9) {
		if (level > 9)
			p[strlen(SECRET)] = '\0';	/* its last bytes */
		n = gzip_file(text + (level == 0 ? strlen(text) - 3000 : 0), level % 10, file, sizeof(file));
		for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
			struct buf out = { 0 };
			struct pump pump;

			pump_init(&pump, FRAME_CLOSE, 0, FRAME_CLOSE, NULL, looking());
			assert_int_equal(run(&pump, (struct slice){ file, n }, pieces[i], &out), PUMP_HIT);
			k = unpack(&out, plain, sizeof(plain) - 1);
			plain[k] = '\0';
			assert_null(strstr(plain, "cana"));
			assert_true(k > 0 || pieces[i] > 1000);
			buf_free(&out);
			pump_free(&pump);
		}
	}
}

/* Files without it, what only begins like one, one cut short, one with something
 * behind it: every byte arrives. */
static void
test_other_files(void **state)
{
	static char file[8192], text[8192];
	struct slice cases[6];
	char *p = text;
	size_t n;

	(void)state;
	for (unsigned i = 0; i < 200; i++)
		p += sprintf(p, "%u canary-5e, ", i * 2654435761u);
	n = gzip_file(text, 9, file, sizeof(file) - 16);
	memcpy(file + n, "\0\0behind it", 12);
	cases[0] = (struct slice){ file, n };
	cases[1] = (struct slice){ file, n + 12 };
	cases[2] = (struct slice){ file, n / 2 };
	cases[3] = (struct slice){ file, 1 };
	cases[4] = SLICE("\x1f\x8b\x08\xff is no gzip at all");
	cases[5] = SLICE("\x1f and text");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (size_t piece = 1; piece < 1500; piece += piece) {
			struct buf out = { 0 };
			struct pump pump;

			pump_init(&pump, FRAME_LENGTH, cases[i].n, FRAME_CLOSE, NULL, looking());
			assert_int_equal(run(&pump, cases[i], piece, &out), PUMP_DONE);
			assert_int_equal(out.len, cases[i].n);
			assert_memory_equal(out.p + out.off, cases[i].p, cases[i].n);
			buf_free(&out);
			pump_free(&pump);
		}
}

/* Not further than a hundred times: what is behind it arrives, and so does all of the
 * file, which the worker did not unpack. */
static void
test_file_unpacks_far(void **state)
{
	static const size_t zeros = 3 << 20;
	char *text = malloc(zeros + sizeof(SECRET));
	static char file[8192];
	struct buf out = { 0 };
	struct pump pump;
	size_t n;

	(void)state;
	memset(text, 'a', zeros);
	memcpy(text + zeros, SECRET, sizeof(SECRET));
	n = gzip_file(text, 9, file, sizeof(file));
	pump_init(&pump, FRAME_LENGTH, n, FRAME_CLOSE, NULL, looking());
	assert_int_equal(run(&pump, (struct slice){ file, n }, 512, &out), PUMP_DONE);
	assert_int_equal(out.len, n);
	assert_memory_equal(out.p + out.off, file, n);
	buf_free(&out);
	pump_free(&pump);
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_framing), cmocka_unit_test(test_rest),
		cmocka_unit_test(test_cut), cmocka_unit_test(test_back_pressure),
		cmocka_unit_test(test_redaction), cmocka_unit_test(test_early_text),
		cmocka_unit_test(test_early_secret), cmocka_unit_test(test_stop_on_hit),
		cmocka_unit_test(test_coding), cmocka_unit_test(test_bomb),
		cmocka_unit_test(test_gzip_file),
		cmocka_unit_test(test_file_unpacks_far),
		cmocka_unit_test(test_other_files),
	};

	if (sodium_init() < 0)
		return 1;
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
