/* A token in pieces, as programs, diffs, letters and streamed answers leave it: found
 * wherever it is cut, and however the stream is; and what only looks like that is
 * not put together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sodium.h>

#include "ledger/scan/needles.h"
#include "ledger/scan/stream.h"

/* Made up; its checksum is right.  Split, so that this file is no finding. */
#define GHP "ghp" "_Q7xk2LmZp9RtVb4NcW8sYd1HgJ5aEf2j6fV9"
#define LEN (sizeof(GHP) - 1)
#define SECRET "Rosebud/17:sledge"	/* of no format */
#define N(a) (sizeof(a) / sizeof((a)[0]))

struct seen {
	unsigned found, surely, known, incomplete;
	uint64_t offset;
	char chain[96];
};

static struct scan_worker *worker, *knowing;
static struct scan_needles *needles;

static void
on_found(void *context, const struct scan_found *found)
{
	struct seen *seen = context;

	seen->found++;
	seen->surely += found->source == SCAN_BY_FORMAT && found->confidence == SCAN_HIGH &&
	    strcmp(found->what, "github-ghp") == 0;
	seen->known += found->source == SCAN_BY_SECRET;
	seen->offset = found->offset;
	snprintf(seen->chain, sizeof(seen->chain), "%s", found->chain);
}

static void
on_incomplete(void *context, const char *chain, const char *why)
{
	(void)why;
	((struct seen *)context)->incomplete++;
}

static struct seen
scan_by(struct scan_worker *by, const char *text, size_t len, size_t cut, size_t block,
    size_t overlap)
{
	struct seen seen = { 0 };
	struct scan_sink sink = { on_found, on_incomplete, &seen };
	struct scan_stream *stream = scan_stream_new(by, &sink, block, overlap);

	assert_non_null(stream);
	scan_stream_feed(stream, (const uint8_t *)text, cut);
	scan_stream_feed(stream, (const uint8_t *)text + cut, len - cut);
	scan_stream_end(stream);
	assert_int_equal(seen.incomplete, 0);
	return seen;
}

static struct seen
scan(const char *text)
{
	return scan_by(worker, text, strlen(text), 0, SCAN_BLOCK, SCAN_OVERLAP);
}

static int
setup(void **state)
{
	char err[200];

	(void)state;
	if (sodium_init() < 0 || (needles = scan_needles_new()) == NULL ||
	    scan_needles_add(needles, "known", (const uint8_t *)SECRET, strlen(SECRET)) != 0)
		return -1;
	worker = scan_worker_new(NULL, NULL, &scan_engine_formats, err, sizeof(err));
	knowing = scan_worker_new(needles, NULL, NULL, err, sizeof(err));
	return worker == NULL || knowing == NULL;
}

static int
teardown(void **state)
{
	(void)state;
	scan_worker_free(worker);
	scan_worker_free(knowing);
	scan_needles_free(needles);
	return 0;
}

/* How something is written in pieces: what stands in front of the first, between
 * any two, and behind the last. */
struct cutting {
	const char *front, *between, *behind, *chain;
};

/* value, cut behind `first` bytes and then every `step` (0: only there). */
static void
write_cut(char *out, size_t cap, const struct cutting *c, const char *value, size_t first,
    size_t step)
{
	size_t n = (size_t)snprintf(out, cap, "%s", c->front), i;

	for (i = 0; value[i] != '\0'; i++) {
		if (i > 0 && (i == first || (step > 0 && i > first && (i - first) % step == 0)))
			n += (size_t)snprintf(out + n, cap - n, "%s", c->between);
		n += (size_t)snprintf(out + n, cap - n, "%c", value[i]);
	}
	snprintf(out + n, cap - n, "%s", c->behind);
}

static void
is_found(const struct cutting *c, const char *text)
{
	struct seen seen = scan(text);

	if (seen.surely != 1 || seen.found != 1 || strcmp(seen.chain, c->chain) != 0)
		print_error("%u surely, %u in all, %s for %s, in\n%s\n", seen.surely, seen.found,
		    seen.chain, c->chain, text);
	assert_int_equal(seen.surely, 1);
	assert_int_equal(seen.found, 1);
	assert_string_equal(seen.chain, c->chain);
}

static void
everywhere(const struct cutting *c)
{
	char text[8192];
	size_t at, step;

	for (at = 1; at < LEN; at++) {
		write_cut(text, sizeof(text), c, GHP, at, 0);
		is_found(c, text);
	}
	for (step = 1; step < 20; step++) {
		write_cut(text, sizeof(text), c, GHP, step, step);
		is_found(c, text);
	}
}

static const struct cutting concatenated[] = {
	{ "x = \"", "\" + \"", "\";\n", "escaped" },
	{ "x = \"", "\"+\"", "\";\n", "escaped" },
	{ "$x = '", "' . '", "';\n", "escaped" },
	{ "$x = '", "'.'", "';\n", "escaped" },
	{ "x = \"", "\" .. \"", "\"\n", "escaped" },
	{ "x = '", "' || '", "'\n", "escaped" },
	{ "x = \"", "\" & \"", "\"\n", "escaped" },
	{ "x = \"", "\" \"", "\"\n", "escaped" },
	{ "x=\"", "\"\"", "\"\n", "escaped" },
	{ "x=\"", "\"'", "'\n", "escaped" },
	{ "x=\"", "\"\t \t\"", "\"\n", "escaped" },
	{ "f(\"", "\" +\n    \"", "\");\n", "escaped" },
	{ "{\"code\":\"x = \\\"", "\\\" + \\\"", "\\\";\\n\"}", "escaped > escaped" },
};

static const struct cutting listed[] = {
	{ "[\"", "\", \"", "\"]", "escaped" },
	{ "[\"curl\",\"-u\",\"", "\",\"", "\",\"--url\"]", "escaped" },
	{ "{\"argv\": [\n    \"curl\",\n    \"", "\",\n    \"", "\",\n    \"x\"\n  ]}\n", "escaped" },
	{ "[\r\n'", "',\r\n'", "'\r\n]\r\n", "escaped" },
	{ "a=(\"curl\" \"", "\" \"", "\" \"x\")\n", "escaped" },
	{ "x := concat('", "', '", "');\n", "escaped" },
	{ "select '", "' ||\n  '", "' as x;\n", "escaped" },
	{ "args:\n  - \"curl\"\n  - \"", "\"\n  - \"", "\"\n  - \"x\"\n", "escaped" },
	{ "\"key\",\"", "\",\"", "\"\n\"next\",\"row\"\n", "escaped" },
	{ "{\"code\":\"x = [\\\"", "\\\", \\\"", "\\\"]\\n\"}", "escaped > escaped" },
};

/* Pieces of less than eight characters on either side are words of their own. */
static const struct cutting items[] = {
	{ "args:\n  - curl\n  - ", "\n  - ", "\n  - x\n", "escaped" },
	{ "args:\r\n- ", "\r\n- ", "\r\n", "escaped" },
};

static const struct cutting continued[] = {
	{ "key=", "\\\n", "\n", "escaped" },
	{ "key=", "\\\r\n", "\r\n", "escaped" },
	{ "RUN curl -u ", "\\\n    ", " https://example.com/\n", "escaped" },
};

/* A diff's lines, and those of a letter that is answered; both in JSON too.  Pieces of
 * less than eight characters on either side are words of their own. */
static const struct cutting marked[] = {
	{ "--- a/f\n+++ b/f\n@@ -1,2 +1,4 @@\n line\n+key = ", "\n+", "\n line\n", "escaped" },
	{ "--- a/f\n+++ b/f\n@@ -1,4 +1,2 @@\n line\n-key = ", "\n-    ", "\n line\n", "escaped" },
	{ "diff\r\n@@ -1 +1,2 @@\r\n+", "\r\n+", "\r\n", "escaped" },
	{ "a letter:\n\n> Hello,\n> key ", "\n> ", "\n> and\n", "escaped" },
	{ "a letter:\n\n>> key ", "\n>>", "\nand\n", "escaped" },
	{ "a letter:\n\n> > key ", "\n> > ", "\nand\n", "escaped" },
	{ "> @@ -1 +1,2 @@\n> +", "\n> +", "\n", "escaped" },
	{ "{\"body\":\"> Hello,\\n> key ", "\\n> ", "\\n> and\"}", "escaped > escaped" },
	{ "{\"patch\":\"@@ -1 +1,2 @@\\n+", "\\n+", "\\n line\"}", "escaped > escaped" },
};

/* Comments and frames: the piece in front has eight characters at least. */
static const struct cutting commented[] = {
	{ "x\n# key ", "\n# ", "\n# and so on\n", "escaped" },
	{ "  // key\r\n  // ", "\r\n  // ", "\r\n  // end\r\n", "escaped" },
	{ "/*\n * key ", "\n * ", "\n */\n", "escaped" },
	{ "; ", "\n; ", "\n", "escaped" },
	{ "-- ", "\n--   ", "\n", "escaped" },
	{ "+# ", "\n+# ", "\n", "escaped" },
	{ "| ", " |\n| ", " |\n", "escaped" },
	{ "\xe2\x94\x82 ", " \xe2\x94\x82\n\xe2\x94\x82 ", " \xe2\x94\x82\n", "escaped" },
	{ "\xe2\x94\x83 key ", "\n\xe2\x94\x83 ", "\n", "escaped" },
};

/* Lines of a log and numbered ones, in which nothing else stands. */
static const struct cutting logged[] = {
	{ "2026-11-29T09:59:59.9Z app[7]: ", "\n2026-11-29T10:00:00.12Z app[7]: ", "\n", "escaped" },
	{ "Nov 29 12:00:01 host sh: ", "\nNov 29 12:00:02 host sh: ", "\n", "escaped" },
	{ "web-1  | ", "\nweb-1  | ", "\n", "escaped" },
	{ "     9\t", "\n    10\t", "\n", "escaped" },
	{ "9:", "\r\n10:", "\r\n", "escaped" },
	{ "a/b.txt:99:", "\na/b.txt:100:", "\n", "escaped" },
	{ "     9\xe2\x86\x92", "\n    10\xe2\x86\x92", "\n", "escaped" },
	{ "[INFO] ", "\n[INFO] ", "\n", "escaped" },
};

static const struct cutting streamed[] = {
	{ "{\"delta\":\"", "\"}\n{\"delta\":\"", "\"}\n", "deltas" },
	{ "{\"id\":1,\"text\": \"", "\", \"done\": false}\n{\"id\":1,\"text\": \"",
	    "\", \"done\": true}\n", "deltas" },
	{ "{\"model\":\"m\",\"response\":\"", "\",\"done\":false}\r\n"
	    "{\"model\":\"m\",\"response\":\"", "\",\"done\":true}\r\n", "deltas" },
	{ "{\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"", "\"}}]}\n"
	    "{\"choices\":[{\"delta\":{\"content\":\"", "\"}}]}\n", "deltas" },
	{ "[{\"candidates\":[{\"content\":{\"parts\":[{\"text\": \"", "\"}]}}]}\n,\n"
	    "{\"candidates\":[{\"content\":{\"parts\":[{\"text\": \"", "\"}]}}]}\n]\n", "deltas" },
	/* two streams side by side, each its own: by member, and by index */
	{ "{\"choices\":[{\"index\":1,\"delta\":{\"content\":\"so\"}}]}\n"
	    "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"", "\"}}]}\n"
	    "{\"choices\":[{\"index\":1,\"delta\":{\"content\":\" on\"}}]}\n"
	    "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"", "\"}}]}\n", "deltas" },
	{ "data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":"
	    "\"input_json_delta\",\"partial_json\":\"", "\"}}\n\ndata: {\"type\":"
	    "\"content_block_delta\",\"index\":2,\"delta\":{\"partial_json\":\"other\"}}\n\n"
	    "data: {\"index\": 1,\"delta\":{\"partial_json\":\"", "\"}}\n\n", "deltas" },
	{ "{\"text\":\"", "\",\"thinking\":\"and so on \"}\n{\"text\":\"", "\"}\n", "deltas" },
	{ "data: {\"delta\":\"", "\"}\n\ndata: {\"delta\":\"", "\"}\n\n", "deltas" },
	{ "{\\\"text\\\":\\\"", "\\\"}\\n{\\\"text\\\":\\\"", "\\\"}\\n", "escaped > deltas" },
};

static void
literals(void **state)
{
	(void)state;
	for (size_t i = 0; i < N(concatenated); i++)
		everywhere(&concatenated[i]);
}

static void
lists(void **state)
{
	char text[1024];

	(void)state;
	for (size_t i = 0; i < N(listed); i++)
		everywhere(&listed[i]);
	for (size_t i = 0; i < N(items); i++) {
		for (size_t at = 1; at < LEN; at++) {
			write_cut(text, sizeof(text), &items[i], GHP, at, 0);
			is_found(&items[i], text);
		}
		for (size_t step = 8; step < LEN; step++) {
			write_cut(text, sizeof(text), &items[i], GHP, step, step);
			is_found(&items[i], text);
		}
	}
}

static void
continuations(void **state)
{
	(void)state;
	for (size_t i = 0; i < N(continued); i++)
		everywhere(&continued[i]);
}

static void
marks(void **state)
{
	char text[1024];

	(void)state;
	for (size_t i = 0; i < N(marked); i++) {
		for (size_t at = 1; at < LEN; at++) {
			write_cut(text, sizeof(text), &marked[i], GHP, at, 0);
			is_found(&marked[i], text);
		}
		for (size_t step = 8; step < LEN; step++) {
			write_cut(text, sizeof(text), &marked[i], GHP, step, step);
			is_found(&marked[i], text);
		}
	}
}

/* Cut once behind each of `from` characters, and every so many. */
static void
beyond(const struct cutting *c, size_t from)
{
	char text[1024];

	for (size_t at = from; at < LEN; at++) {
		write_cut(text, sizeof(text), c, GHP, at, 0);
		is_found(c, text);
		write_cut(text, sizeof(text), c, GHP, at, at);
		is_found(c, text);
	}
}

static void
comments(void **state)
{
	(void)state;
	for (size_t i = 0; i < N(commented); i++)
		beyond(&commented[i], 10);
}

static void
logs(void **state)
{
	(void)state;
	for (size_t i = 0; i < N(logged); i++)
		beyond(&logged[i], 16);
}

static void
deltas(void **state)
{
	static const struct cutting coded = { "{\"text\":\"", "\"}\n{\"text\":\"", "\"}\n",
	    "deltas > escaped" };
	char text[8192], value[LEN + 16];

	(void)state;
	for (size_t i = 0; i < N(streamed); i++)
		everywhere(&streamed[i]);
	/* with an escape in a piece */
	snprintf(value, sizeof(value), "\\u0067%s", GHP + 1);
	for (size_t at = 6; at < LEN; at++) {
		write_cut(text, sizeof(text), &coded, value, at, 0);
		is_found(&coded, text);
	}
}

/* What is not the same text: other marks, other members, a list. */
static void
apart(void **state)
{
	static const struct cutting none[] = {
		{ "@@ -1 +1 @@\n-key = ", "\n+", "\n", "" },
		{ "> key = ", "\n>> ", "\n", "" },
		{ "# key = ", "\n// ", "\n", "" },
		{ "| ", " |\n# ", "\n", "" },
		{ "12:00:01 a: ", "\n12:00:02 b: ", "\n", "" },
		{ "12:00:01 a: x ", "\n12:00:02 a: ", "\n", "" },
		{ "#define X ", "\n#", "\n", "" },
		{ "[\"", "\", , \"", "\"]", "" },
		{ "[\"", "\", + \"", "\"]", "" },
		{ "{\"a\": \"", "\", \"", "\": 1}", "" },
		{ "{\"a\": \"", "\",\n  \"", "\" : 1}", "" },
		{ "{'a' => '", "', '", "' => 1}", "" },
		{ "x:\n- a ", "\n- ", "\n", "" },
		{ "  - ", "\n    - ", "\n", "" },
		{ "- ", "\n* ", "\n", "" },
		{ "[\"", "\" : \"", "\"]", "" },
		{ "\"", "\" + + \"", "\"", "" },
		{ "\"", "\" + x + \"", "\"", "" },
		{ "x \"", "\" + ", "\n", "" },
		{ "{\"text\":\"", "\"}\n{\"other\":\"", "\"}\n", "" },
		{ "{\"text\":\"", "\"}\n{\"content\":\"", "\"}\n", "" },
		{ "{\"text\":\"", "\",\"text\":7}\n{\"texts\":\"", "\"}\n", "" },
	};
	char text[1024];

	(void)state;
	for (size_t i = 0; i < N(none); i++) {
		write_cut(text, sizeof(text), &none[i], GHP, 20, 0);
		if (scan(text).surely != 0)
			fail_msg("put together: %s", text);
	}
	/* lines of base64 that happen to begin like those of a diff stay as they are */
	snprintf(text, sizeof(text), "blob:\n+8sYd1HgJ5aEf%.20s\n+%s\n", GHP, GHP + 20);
	assert_int_equal(scan(text).surely, 0);
}

/* Secrets that are known by value, of which a word is only a part, without the formats. */
static void
known(void **state)
{
	static const struct cutting ways[] = {
		{ "{\"text\":\"", "\"}\n{\"text\":\"", "\"}\n", "" },
		{ "data: {\"text\":\"", "\"}\n\ndata: {\"text\":\"", "\"}\n", "" },
		{ "x = \"", "\" + \"", "\";\n", "" },
		{ "x = ", "\\\n", ";\n", "" },
		{ "> x ", "\n> ", "\n", "" },
	};
	char text[1024];

	(void)state;
	for (size_t i = 0; i < N(ways); i++) {
		write_cut(text, sizeof(text), &ways[i], SECRET, 9, 0);
		if (scan_by(knowing, text, strlen(text), 0, SCAN_BLOCK, SCAN_OVERLAP).known != 1)
			fail_msg("not found: %s", text);
	}
}

/* Every two-way split, and every place in small windows, gives what one block gives. */
static void
streams(void **state)
{
	static const struct cutting *const all[] = { &concatenated[0], &continued[2], &marked[0],
	    &marked[3], &streamed[1], &listed[2], &listed[7], &items[0], &commented[2],
	    &commented[6], &commented[7], &streamed[5], &streamed[6] };
	char text[4096], moved[8192];
	struct seen whole, cut;
	size_t len, at;

	(void)state;
	for (size_t i = 0; i < N(all); i++) {
		write_cut(text, sizeof(text), all[i], GHP, 10, 10);
		len = strlen(text);
		whole = scan(text);
		for (at = 0; at <= len; at++) {
			cut = scan_by(worker, text, len, at, SCAN_BLOCK, SCAN_OVERLAP);
			assert_memory_equal(&cut, &whole, sizeof(cut));
		}
		for (at = 0; at < 2600; at += 37) {
			memset(moved, '\n', at);
			memcpy(moved + at, text, len + 1);
			cut = scan_by(worker, moved, at + len, at, 1024, 1024);
			assert_int_equal(cut.surely, 1);
			assert_int_equal(cut.offset, whole.offset + at);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(literals),
		cmocka_unit_test(lists),
		cmocka_unit_test(continuations),
		cmocka_unit_test(marks),
		cmocka_unit_test(comments),
		cmocka_unit_test(logs),
		cmocka_unit_test(deltas),
		cmocka_unit_test(apart),
		cmocka_unit_test(known),
		cmocka_unit_test(streams),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
