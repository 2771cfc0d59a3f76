/*
 * What the rooms of a stream share.  Private to the scanner.
 *
 *   stream   windows of the stream, one after the other
 *   look     one text in all its views, and what is looked for in each
 *   unpack   what is packed in a window or in a view
 *   tell     whose a match is, and where it stood
 */
#ifndef LEDGER_SCAN_STREAM_IMPL_H
#define LEDGER_SCAN_STREAM_IMPL_H

#include "ledger/scan/stream.h"
#include "ledger/scan/view/packed.h"
#include "ledger/scan/view/view.h"

#define BEHIND 512	/* bytes of context kept in front of a window's own */
#define SLOP 64		/* how exactly a decoded byte's origin is known */
#define ACTIVE_MAX 4	/* packed streams open at once in one stream */
#define SEEN_MAX 256	/* findings remembered, so that none is told twice */
#define CHAIN_MAX 96
#define COST_STREAM 4096	/* charged for each packed stream, however short ... */
#define COST_BROKEN 8	/* ... and for each byte of one that does not end: it may begin
			 * again at its second byte */
#define SAMPLE 48	/* bytes by which a segment is told to be text */

/* EDGES is made by the match, all others where a text is looked into deeper. */
enum { UNESCAPED, DELTAS, HEX, BASE64, BASE32, DECIMAL, EDGES, VIEWS };

struct scan_worker {
	const struct scan_engine_calls *formats;	/* NULL: none are looked for */
	struct scan_engine *engine;
	struct scan_hits hits;
	struct scan_needles *needles;
	struct scan_tags_room *tags;
	struct scan_packed_probe *probe;
	struct scan_packed_pool *pool;
	struct scan_view view[SCAN_DEPTH_MAX][VIEWS];
	struct scan_classes classes[SCAN_DEPTH_MAX];	/* of the text at each level */
	const struct scan_sink *sink;
	uint64_t read, decoded, unpacked;	/* of the outermost stream */
	uint64_t charged;	/* against unpacked bytes, for what costs more than its bytes */
	bool decoded_all;	/* the budget of decoded bytes is spent */
};

/* Something packed that goes on behind this window. */
struct active {
	struct scan_packed *packed;
	struct scan_stream *child;
	struct scan_packed_kind kind;
	uint64_t begins, next;	/* offsets: its header; what it gets next */
};

struct seen {
	const void *what;
	uint64_t start, end;
	enum scan_confidence confidence;
};

struct scan_stream {
	struct scan_worker *worker;
	const struct scan_stream *parent;
	char chain[CHAIN_MAX];
	unsigned depth;
	uint8_t *window;
	size_t block, overlap, cap, len;
	size_t from, to;	/* of the window: what is this window's own */
	uint64_t base;		/* offset of the window in the stream */
	uint64_t lines;		/* LFs in front of the window */
	size_t counted, counted_lines;
	bool last;		/* the stream ends with this window */
	size_t defer;		/* leave what begins here to the next window */
	uint64_t packed_until;	/* what was unpacked to its end ends here */
	unsigned archive;	/* its kind, of scan_archive ... */
	uint64_t archive_next;	/* ... and where it goes on */
	struct active active[ACTIVE_MAX];
	unsigned n_seen;
	struct seen seen[SEEN_MAX];	/* not cleared */
};

/* A view being looked through, for what is called back. */
struct look {
	struct scan_stream *stream;
	struct scan_part part;
	const char *chain;
	bool edges;	/* it is that of an archive's edges */
};

/* ---- tell ---- */

/* That a part was not looked at; name may be "". */
void scan_incomplete(struct scan_stream *stream, const char *name, const char *why);

/* buf. */
const char *scan_chain_of(char buf[CHAIN_MAX], const char *outer, const char *inner);

/* Whether the same was told of the same place, and as surely; it counts as told then. */
bool scan_seen(struct scan_stream *stream, const void *what, uint64_t start,
    uint64_t end, enum scan_confidence confidence);

/* The line of a place in the window, from 1. */
uint64_t scan_line_of(struct scan_stream *stream, size_t at);

/* Whether a place is this window's to tell of. */
bool scan_own(const struct scan_stream *stream, size_t at, const struct scan_map *map);

void scan_tell_needle(void *look, size_t at, size_t len, const char *name,
    const char *form);
void scan_tell_tag(void *look, size_t at, const char *id);
void scan_tell_hits(const struct look *look);

/* ---- unpack ---- */

/* Packed data that begins in this window, and what goes on from earlier ones. */
void scan_unpack_window(struct scan_stream *stream, size_t *place, size_t places);
/* What is packed in a view, whose hits are the worker's. */
void scan_unpack_view(struct look *look, unsigned level, const struct scan_view *view);
void scan_unpack_settle(struct scan_stream *stream, struct active *active,
    enum scan_packed_state state);

/* ---- look ---- */

/* A text with its classes; NULL for these where memory lacks. */
struct scan_part scan_look_part(const struct scan_stream *stream, unsigned level,
    const uint8_t *text, size_t len, const struct scan_map *map);
/* Everything that is looked for, in one text; and the view of its archives' edges. */
void scan_look_match(struct look *look, unsigned level);
/* In its views, and in theirs; from: the view that the text is, or NULL. */
void scan_look_deeper(struct look *look, unsigned level, const struct scan_view *from,
    bool deltas);

/* ---- stream ---- */

/* A stream in this one; NULL where memory lacks. */
struct scan_stream *scan_stream_child(struct scan_stream *parent, const char *chain,
    unsigned depth);

#endif
