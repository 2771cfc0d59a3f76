#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>
#include <zlib.h>

#include "ledger/scan/canary.h"
#include "ledger/scan/tags/tags_impl.h"

/* Put together here, so that it stands in no file. */
#define BODY "CanaryCanaryCanaryCanaryCanary2nNYoJ"

struct hits {
	unsigned tokens, tags, secrets;
};

static void
found(void *context, const struct scan_found *f)
{
	struct hits *hits = context;

	if (f->source == SCAN_BY_TAG)
		hits->tags += strcmp(f->what, SCAN_TAG_CANARY) == 0;
	else if (f->source == SCAN_BY_SECRET)
		hits->secrets++;
	else
		hits->tokens += strcmp(f->what, "github-ghp") == 0 &&
		    f->confidence == SCAN_HIGH;
}

static void
ignore(void *context, const char *chain, const char *why)
{
	(void)context;
	(void)why;
}

static struct hits
look(struct scan_worker *worker, const void *text, size_t len)
{
	struct hits hits = { 0, 0, 0 };
	struct scan_sink sink = { found, ignore, &hits };
	struct scan_stream *stream = scan_stream_new(worker, &sink, SCAN_BLOCK,
	    SCAN_OVERLAP);

	if (stream != NULL) {
		scan_stream_feed(stream, text, len);
		scan_stream_end(stream);
	}
	return hits;
}

static size_t
gzip(const char *text, size_t len, uint8_t *out, size_t cap)
{
	z_stream z = { 0 };
	size_t n = 0;

	if (deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return 0;
	z.next_in = (z_const Bytef *)text;
	z.avail_in = (uInt)len;
	z.next_out = out;
	z.avail_out = (uInt)cap;
	if (deflate(&z, Z_FINISH) == Z_STREAM_END)
		n = cap - z.avail_out;
	deflateEnd(&z);
	return n;
}

bool
scan_canary_found(struct scan_worker *worker, bool tags)
{
	static const char fixture[] = "see " SCAN_TAG_FIXTURE ".";
	char token[64], text[256];
	uint8_t packed[256];
	size_t i, n = 0;
	int len;

	len = snprintf(token, sizeof(token), "a=%s%s.", "gh" "p_", BODY);
	if (look(worker, token, (size_t)len).tokens != 1)
		return false;
	sodium_bin2base64(text, sizeof(text), (const uint8_t *)token, (size_t)len,
	    sodium_base64_VARIANT_ORIGINAL);
	if (look(worker, text, strlen(text)).tokens != 1)
		return false;
	for (i = 2; i < (size_t)len; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, i % 2 ? "%%%02X" : "%c",
		    token[i]);
	if (look(worker, text, n).tokens != 1)
		return false;
	n = gzip(token, (size_t)len, packed, sizeof(packed));
	if (look(worker, packed, n).tokens != 1)
		return false;
	return !tags || look(worker, fixture, sizeof(fixture) - 1).tags == 1;
}

bool
scan_canary_secret_found(void)
{
	static const uint8_t value[] = "a canary, and not a secret";
	const size_t len = sizeof(value) - 1;
	struct scan_needles *needles = scan_needles_new();
	struct scan_worker *worker = NULL;
	char text[128], err[64];
	bool found = false;

	if (needles != NULL && scan_needles_add(needles, "canary", value, len) == 0 &&
	    (worker = scan_worker_new(needles, NULL, NULL, err, sizeof(err))) != NULL) {
		found = look(worker, value, len).secrets == 1;
		sodium_bin2base64(text, sizeof(text), value, len,
		    sodium_base64_VARIANT_ORIGINAL);
		found = found && look(worker, text, strlen(text)).secrets == 1;
		sodium_bin2hex(text, sizeof(text), value, len);
		found = found && look(worker, text, strlen(text)).secrets == 1;
	}
	scan_worker_free(worker);
	scan_needles_free(needles);
	return found;
}
