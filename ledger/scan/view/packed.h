/*
 * Compressed data, wherever in a text it begins: gzip, zlib, zstd, bzip2,
 * xz, lzma, lz4, and the members of a zip archive.  Private to the scanner.
 *
 * Tar archives and stored members of zip archives need nothing: their contents
 * stand in them as they are.
 */
#ifndef LEDGER_SCAN_VIEW_PACKED_H
#define LEDGER_SCAN_VIEW_PACKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scan_packed;

enum scan_packed_state {
	SCAN_PACKED_MORE,	/* all was used, and it goes on */
	SCAN_PACKED_END,	/* the stream ended, with its checksum right */
	SCAN_PACKED_BROKEN,
	SCAN_PACKED_HUGE,	/* it wants more memory than one stream gets */
	SCAN_PACKED_STOPPED	/* the sink wanted no more */
};

struct scan_packed_kind {
	const char *name;
	bool known;		/* and can be unpacked here */
	bool encrypted;
	bool damaged;		/* begins like one, but its header can be none: not known */
	bool sure;		/* so long a beginning that it is one, whatever follows */
	size_t work;		/* what it may cost before any comes out, in bytes of gzip's */
	size_t skip;		/* headers in front of what is fed */
	size_t body;		/* where the deflated data begins; 0: there is none, or unknown */
	int how;		/* private */
};

/* Whether something packed begins at text[at], as far as its first bytes tell. */
bool scan_packed_at(const uint8_t *text, size_t len, size_t at,
    struct scan_packed_kind *kind);

/* What has too little a beginning to be told from others but in front of a file; NULL: none. */
const char *scan_packed_old(const uint8_t *p, size_t len);

/* Whether zlib's two bytes and the beginning of a block are at p. */
bool scan_packed_zlib(const uint8_t *p, size_t len);

/*
 * What begins like something packed often is none.  zlib's two bytes begin many an
 * innocent text: `probe` is whether what follows unpacks for a while, or to its end.
 * `worth`, of all others, is whether nothing is wrong with the first of it, or
 * something came out before that was.
 */
struct scan_packed_probe;
struct scan_packed_probe *scan_packed_probe_new(void);
void scan_packed_probe_free(struct scan_packed_probe *probe);
bool scan_packed_probe(struct scan_packed_probe *probe, const uint8_t *text,
    size_t len, size_t at);
bool scan_packed_worth(struct scan_packed_probe *probe, const struct scan_packed_kind *kind,
    const uint8_t *text, size_t len, size_t at);

/* What was freed is kept here for the next of its kind, one of each: to set up costs
 * more than a short stream does. */
struct scan_packed_pool;
struct scan_packed_pool *scan_packed_pool_new(void);
void scan_packed_pool_free(struct scan_packed_pool *pool);

/* pool may be NULL, and must outlive it.  sink returns non-zero to stop.  NULL where
 * memory lacks. */
struct scan_packed *scan_packed_new(struct scan_packed_pool *pool,
    const struct scan_packed_kind *kind,
    int (*sink)(void *context, const uint8_t *bytes, size_t len), void *context);
void scan_packed_free(struct scan_packed *packed);

/* *used: bytes of the stream; the rest is behind its end. */
enum scan_packed_state scan_packed_feed(struct scan_packed *packed,
    const uint8_t *bytes, size_t len, size_t *used);

uint64_t scan_packed_made(const struct scan_packed *packed);

#endif
