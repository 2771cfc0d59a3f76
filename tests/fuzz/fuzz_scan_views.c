/*
 * Any bytes through the scanner, in windows of a size that they choose, plain
 * and without formats: no bound is broken, every finding lies in the stream,
 * and a token that stands in front is found whatever follows.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "ledger/scan/stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define TOKEN " ghp" "_Q7xk2LmZp9RtVb4NcW8sYd1HgJ5aEf2j6fV9\n\n "

struct seen {
	uint64_t len;
	unsigned first;
};

static void
on_found(void *context, const struct scan_found *found)
{
	struct seen *seen = context;

	if (found->text_len == 0 || found->len == 0 || found->line == 0)
		abort();
	if (strcmp(found->chain, "raw") == 0 && found->offset + found->len > seen->len)
		abort();
	seen->first += found->offset == 1 && found->source == SCAN_BY_FORMAT;
}

static void
on_incomplete(void *context, const char *chain, const char *why)
{
	if (*why == '\0')
		abort();
}

static void
scan(struct scan_worker *worker, const uint8_t *data, size_t len, size_t block,
    size_t overlap, unsigned *first)
{
	struct seen seen = { len + sizeof(TOKEN) - 1, 0 };
	struct scan_sink sink = { on_found, on_incomplete, &seen };
	struct scan_stream *stream = scan_stream_new(worker, &sink, block, overlap);

	if (stream == NULL)
		return;
	scan_stream_feed(stream, (const uint8_t *)TOKEN, sizeof(TOKEN) - 1);
	scan_stream_feed(stream, data, len / 2);
	scan_stream_feed(stream, data + len / 2, len - len / 2);
	scan_stream_end(stream);
	*first = seen.first;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct scan_worker *formats, *plain;
	static struct scan_needles *needles;
	unsigned first = 1;
	char err[200];

	if (formats == NULL) {
		needles = scan_needles_new();
		if (sodium_init() < 0 || needles == NULL || scan_needles_add(needles, "known",
		    (const uint8_t *)"a known secret", 14) != 0)
			abort();
		formats = scan_worker_new(needles, NULL, &scan_engine_formats, err, sizeof(err));
		plain = scan_worker_new(needles, NULL, NULL, err, sizeof(err));
	}
	if (formats == NULL || plain == NULL || len > 65536)
		return 0;
	scan(formats, data, len, SCAN_BLOCK, SCAN_OVERLAP, &first);
	if (first == 0)
		abort();
	scan(formats, data, len, len > 0 ? 1 + data[0] : 1, 512, &first);
	scan(plain, data, len, SCAN_BLOCK, SCAN_OVERLAP, &first);
	return 0;
}
