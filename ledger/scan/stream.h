/*
 * Looks through one stream of bytes, however it is cut into pieces: in windows
 * that overlap, each in all its views, and what is packed in it as a stream of
 * its own.  Private to the scanner; one thread.
 *
 *   raw -> escapes undone -> runs of base64, hex, base32 -> the same again ...
 *   gzip, zlib, zstd, bzip2, xz, lz4, zip -> a stream inside the stream
 *
 * Depth, decoded bytes and unpacked bytes are limited; what is beyond a limit,
 * damaged, encrypted or of an unknown kind is reported as not looked at.
 */
#ifndef LEDGER_SCAN_STREAM_H
#define LEDGER_SCAN_STREAM_H

#include "ledger/scan/format/engine.h"
#include "ledger/scan/needles.h"
#include "ledger/scan/tags/tags.h"

#define SCAN_BLOCK (1024 * 1024)
#define SCAN_OVERLAP (64 * 1024)	/* longer than any format, well encoded */
#define SCAN_DEPTH_MAX 8		/* texts inside one another, the outermost too */
#define SCAN_RATIO_MAX 250		/* unpacked bytes for one that was read ... */
#define SCAN_DECODED_MAX 64		/* decoded ones ... */
#define SCAN_SLACK (64 * 1024 * 1024)	/* ... beyond these */

enum scan_source { SCAN_BY_FORMAT, SCAN_BY_SECRET, SCAN_BY_TAG };

struct scan_found {
	enum scan_source source;
	const char *what;	/* format's id, or secret's name, or tag's id */
	const char *chain;	/* how it was encoded, outermost first; "raw" */
	uint64_t offset, line;	/* in the innermost packed stream, or the file */
	uint64_t len;		/* there, as encoded */
	enum scan_confidence confidence;
	bool identifier;
	const uint8_t *text;	/* decoded; valid during the call; a secret */
	size_t text_len;
};

struct scan_sink {
	void (*found)(void *context, const struct scan_found *found);
	void (*incomplete)(void *context, const char *chain, const char *why);
	void *context;
};

struct scan_worker;	/* what one thread needs for stream after stream */
struct scan_stream;

/* needles and tags may be NULL; they must outlive the worker.  formats is
 * scan_engine_formats, or NULL: then nothing is unpacked but what begins a
 * decoded text.  NULL with a message. */
struct scan_worker *scan_worker_new(struct scan_needles *needles,
    const struct scan_tags *tags, const struct scan_engine_calls *formats, char *err, size_t err_len);
void scan_worker_free(struct scan_worker *worker);	/* wipes */

/* One stream at a time.  block and overlap are SCAN_BLOCK and SCAN_OVERLAP but
 * in tests.  NULL where memory lacks. */
struct scan_stream *scan_stream_new(struct scan_worker *worker,
    const struct scan_sink *sink, size_t block, size_t overlap);
void scan_stream_feed(struct scan_stream *stream, const uint8_t *bytes,
    size_t len);
/* The end of the stream; frees it. */
void scan_stream_end(struct scan_stream *stream);

#endif
