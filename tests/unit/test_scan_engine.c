/*
 * The pattern library against a plain matcher that tries every anchor at every
 * byte; every format in every kind of view; and windows that end at every byte
 * of a token, which is where streaming scanners miss (vectorscan#402).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sodium.h>

#include "ledger/scan/format/engine.h"
#include "ledger/scan/stream.h"
#include "scan_sample.h"

#if defined(__SANITIZE_ADDRESS__)
#define STEP 11		/* sanitizers are slow; the plain run looks at all */
#else
#define STEP 1
#endif

#define OVERLAP 8192
#define TEXT_MAX (SCAN_SAMPLE_MAX * 8 + 3 * OVERLAP)

static struct scan_engine *engine;
static struct scan_worker *worker;
static struct scan_hits hits;

static int
setup(void **state)
{
	char err[200];

	return sodium_init() < 0 ||
	    (engine = scan_engine_new(err, sizeof(err))) == NULL ||
	    (worker = scan_worker_new(NULL, NULL, &scan_engine_formats, err, sizeof(err))) == NULL;
}

static int
teardown(void **state)
{
	scan_hits_free(&hits);
	scan_engine_free(engine);
	scan_worker_free(worker);
	return 0;
}

/* ---- against a plain matcher ---- */

static bool
covered(size_t start, size_t end)
{
	size_t i;

	for (i = 0; i < hits.n; i++)
		if (hits.hit[i].match.start < end &&
		    start < hits.hit[i].match.start + hits.hit[i].match.len)
			return true;
	return false;
}

/* Whatever the plain matcher finds, the engine tells of that place. */
static void
compare(const uint8_t *text, size_t len)
{
	struct scan_match m;
	unsigned i;
	size_t at;

	assert_int_equal(scan_engine_run(engine, text, len, NULL, &hits), 0);
	for (i = 0; i < scan_anchors_count(); i++)
		for (at = 0; at < len; at++)
			if (scan_anchor_match(scan_anchor(i), text, len, NULL, at, &m) &&
			    !covered(m.start, m.start + m.len))
				fail_msg("%s at %zu was missed", m.format->id, m.start);
}

static void
oracle(void **state)
{
	static uint8_t text[65536];
	char sample[SCAN_SAMPLE_MAX];
	unsigned seed, i;
	size_t len, at;

	for (seed = 0; seed < 3; seed++) {
		memset(text, 0, sizeof(text));
		for (i = 0, at = 0; i < scan_anchors_count(); i++) {
			len = scan_sample(scan_anchor(i), seed, sample);
			if (at + len + 8 > sizeof(text))
				break;
			at += (size_t)sprintf((char *)text + at, "%s%s", sample,
			    seed == 0 ? "\n" : seed == 1 ? "\",\"" : " x=");
		}
		assert_true(i == scan_anchors_count() || at > 30000);
		compare(text, at);
	}
}

/* ---- every format, found by its own name ---- */

static void
all_formats(void **state)
{
	char sample[SCAN_SAMPLE_MAX], text[SCAN_SAMPLE_MAX + 8];
	unsigned i, missed = 0;
	size_t len;

	for (i = 0; i < scan_anchors_count(); i++) {
		len = scan_sample(scan_anchor(i), 5, sample);
		len = (size_t)snprintf(text, sizeof(text), " %s\n", sample);
		assert_int_equal(scan_engine_run(engine, (const uint8_t *)text, len, NULL,
		    &hits), 0);
		if (hits.n == 1 && strcmp(hits.hit[0].match.format->id,
		    scan_anchor(i)->format->id) == 0)
			continue;
		print_message("# %s (%.*s): %zu hits, %s\n", scan_anchor(i)->format->id,
		    (int)scan_anchor(i)->len, scan_anchor(i)->text, hits.n,
		    hits.n > 0 ? hits.hit[0].match.format->id : "none");
		missed++;
	}
	assert_int_equal(missed, 0);
}

/* ---- windows ---- */

struct seen {
	unsigned n;
	uint64_t offset[64], line[64];
	const char *what[64];
};

static void
on_found(void *context, const struct scan_found *found)
{
	struct seen *seen = context;

	if (seen->n == 64)
		return;
	seen->offset[seen->n] = found->offset;
	seen->line[seen->n] = found->line;
	seen->what[seen->n++] = found->what;
}

static void
on_incomplete(void *context, const char *chain, const char *why)
{
	fail_msg("incomplete: %s", why);
}

static struct seen
scan(const uint8_t *text, size_t len, size_t cut, size_t block, size_t overlap)
{
	struct seen seen = { 0 };
	struct scan_sink sink = { on_found, on_incomplete, &seen };
	struct scan_stream *stream = scan_stream_new(worker, &sink, block, overlap);

	assert_non_null(stream);
	scan_stream_feed(stream, text, cut);
	scan_stream_feed(stream, text + cut, len - cut);
	scan_stream_end(stream);
	return seen;
}

/* The same findings, in any order. */
static bool
same(const struct seen *a, const struct seen *b)
{
	unsigned i, k;

	if (a->n != b->n)
		return false;
	for (i = 0; i < a->n; i++) {
		for (k = 0; k < b->n && (a->what[i] != b->what[k] ||
		    a->offset[i] != b->offset[k] || a->line[i] != b->line[k]); k++)
			;
		if (k == b->n)
			return false;
	}
	return true;
}

enum { RAW, PERCENT, BASE64, HEX, UTF16, VIEWS };

static size_t
encode(unsigned view, const char *sample, size_t len, uint8_t *out)
{
	char text[8 * SCAN_SAMPLE_MAX];
	size_t i, n = 0;

	switch (view) {
	case RAW:
		memcpy(out, sample, len);
		return len;
	case PERCENT:
		for (i = 0; i < len; i++)
			n += (size_t)sprintf(text + n, "%%%02X", (uint8_t)sample[i]);
		break;
	case BASE64:
		sodium_bin2base64(text, sizeof(text), (const uint8_t *)sample, len,
		    sodium_base64_VARIANT_ORIGINAL);
		n = strlen(text);
		break;
	case HEX:
		sodium_bin2hex(text, sizeof(text), (const uint8_t *)sample, len);
		n = 2 * len;
		break;
	default:
		for (i = 0; i < len; i++) {
			text[n++] = sample[i];
			text[n++] = '\0';
		}
	}
	memcpy(out, text, n);
	return n;
}

/* The end of a window's own part, and of a piece that is fed, at `cut`. */
static void
cut_at(const uint8_t *text, size_t len, size_t cut, const struct seen *whole,
    const char *id, unsigned view)
{
	struct seen seen = scan(text, len, cut, cut + 1, OVERLAP);

	if (!same(&seen, whole))
		fail_msg("%s, view %u, cut at %zu: %u findings, whole %u", id, view, cut,
		    seen.n, whole->n);
}

static void
every_window(void **state)
{
	static uint8_t text[TEXT_MAX];
	char sample[SCAN_SAMPLE_MAX];
	struct seen whole;
	unsigned i, view;
	size_t len, n, cut;

	for (i = 0; i < scan_anchors_count(); i += STEP) {
		len = scan_sample(scan_anchor(i), 9, sample);
		for (view = 0; view < VIEWS; view++) {
			memset(text, ' ', sizeof(text));
			memcpy(text, "a\nb\n ", 5);
			n = 5 + encode(view, sample, len, text + 5);
			text[n] = '\n';
			whole = scan(text, n + 1 + OVERLAP + 2000, 0, SCAN_BLOCK, SCAN_OVERLAP);
			if (whole.n == 0)
				fail_msg("%s is not found in view %u", scan_anchor(i)->format->id, view);
			for (cut = 1; cut < n + 2; cut += view == RAW ? 1 : 37)
				cut_at(text, n + 1 + OVERLAP + 2000, cut, &whole,
				    scan_anchor(i)->format->id, view);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(oracle),
		cmocka_unit_test(all_formats),
		cmocka_unit_test(every_window),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
