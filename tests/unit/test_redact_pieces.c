/* A secret in the pieces of a streamed answer: told by its half, in any split, in one
 * member; nothing else is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include <sodium.h>

#include "redact/pieces.h"

#define N(cases) (sizeof(cases) / sizeof((cases)[0]))

#define TOKEN "tok_Q7v/x+9Zk\"4&Lm2pR8sT-wYb1cXd"	/* 32 bytes */

/* In pieces of `piece` bytes; after how many bytes it was told, or 0. */
static size_t
told(struct redact_needles *needles, const char *text, size_t piece)
{
	struct pieces *p = pieces_new(needles);
	size_t n = strlen(text), at = 0, step;
	bool found = false;

	assert_non_null(p);
	for (; at < n && !found; at += step) {
		step = n - at < piece ? n - at : piece;
		found = pieces_feed(p, (struct slice){ text + at, step });
	}
	pieces_free(p);
	return found ? at : 0;
}

/* The first `len` bytes of the token, so many in each event. */
static void
events(char *out, const char *event, size_t each, size_t len)
{
	char piece[64];

	for (size_t i = 0, n = 0; i < len; i += n) {
		char *p = piece;
		for (n = 0; n < each && i + n < len; n++)
			p += sprintf(p, TOKEN[i + n] == '"' ? "\\\"" : TOKEN[i + n] == '&' ?
			    "\\u0026" : "%c", TOKEN[i + n]);
		*p = '\0';
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		out += sprintf(out, event, piece);
#pragma GCC diagnostic pop
	}
}

static const char *const shapes[] = {
	"data: {\"delta\":\"%s\"}\n\n",
	"{\"id\":1,\"text\" : \"%s\",\"done\":false}\n",
	"event: x\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\","
	    "\"text\":\"%s\"}}\n\n",
	"data: {\"choices\":[{\"delta\":{\"content\":\"%s\"},\"thinking\":\"tok_Q7\"}]}\n\n",
};

static void
test_found(void **state)
{
	struct redact_needles *needles = redact_needles_new(SLICE(TOKEN), NULL);
	char text[8192];

	(void)state;
	for (size_t s = 0; s < N(shapes); s++)
		for (size_t each = 1; each < 16; each++) {
			events(text, shapes[s], each, 16);
			for (size_t piece = 1; piece < 40; piece += 3)
				assert_true(told(needles, text, piece) > 0);
			assert_true(told(needles, text, sizeof(text)) > 0);
			/* not by less than half of it */
			events(text, shapes[s], each, 15);
			assert_int_equal(told(needles, text, 7), 0);
		}
	redact_needles_unref(needles);
}

static void
test_not_found(void **state)
{
	static const char *const texts[] = {
		/* two members; what is no member; names; numbers; a broken string */
		"{\"text\":\"tok_Q7v/x\"}\n{\"delta\":\"+9Zk\\\"4&Lm2pR8sT\"}\n",
		"{\"level\":\"tok_Q7v/x+\"}\n{\"level\":\"9Zk\\\"4&Lm2pR8sT\"}\n",
		"{\"tok_Q7v/x+9Zk\\\"4&Lm2pR8sT\":1}\n",
		"{\"text\":7,\"x\":\"tok_Q7v/x+9Zk\\\"4&Lm2pR8sT\"}\n",
		"{\"text\":\"tok_Q7v/x+9Zk\n\"4&Lm2pR8sT\"}\n",
		"{\"text\":\"tok_Q7v/x+9Zk\"}\n{\"text\":\"and so on\"}\n",
		"tok_Q7v/x+9Zk\"4&Lm2pR8sT-wYb1cXd",
	};
	struct redact_needles *needles = redact_needles_new(SLICE(TOKEN), NULL);

	(void)state;
	for (size_t i = 0; i < N(texts); i++)
		for (size_t piece = 1; piece < 20; piece++)
			if (told(needles, texts[i], piece) != 0)
				fail_msg("told in text %zu", i);
	redact_needles_unref(needles);
}

/* What begins again inside of itself; a short secret is told whole. */
static void
test_overlap(void **state)
{
	struct redact_needles *needles = redact_needles_new(SLICE("abababababababacdefghijk"), NULL);

	(void)state;
	assert_true(told(needles, "{\"text\":\"abababab\"}{\"text\":\"abababababacd\"}", 3) > 0);
	redact_needles_unref(needles);
	needles = redact_needles_new(SLICE("s3cret"), NULL);
	assert_int_equal(told(needles, "{\"text\":\"s3c\"}{\"text\":\"re\"}", 3), 0);
	assert_true(told(needles, "{\"text\":\"s3c\"}{\"text\":\"ret\"}", 3) > 0);
	redact_needles_unref(needles);
}

static void
test_types(void **state)
{
	(void)state;
	assert_true(pieces_expected(SLICE("text/event-stream")));
	assert_true(pieces_expected(SLICE("Text/Event-Stream; charset=utf-8")));
	assert_true(pieces_expected(SLICE("application/x-ndjson")));
	assert_false(pieces_expected(SLICE("application/json")));
	assert_false(pieces_expected(SLICE("text/event")));
	assert_false(pieces_expected(SLICE("")));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_not_found),
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_types),
	};

	return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
