#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "ledger/scan/packed.h"
#include "ledger/scan/scan.h"
#include "ledger/scan/stream.h"
#include "ledger/scan/view.h"

#define BEHIND 512	/* bytes of context kept in front of a window's own */
#define SLOP 64		/* how exactly a decoded byte's origin is known */
#define ACTIVE_MAX 4	/* packed streams open at once in one stream */
#define SEEN_MAX 256	/* findings remembered, so that none is told twice */
#define CHAIN_MAX 96
#define SAMPLE 48	/* bytes by which a segment is told to be text */

enum { UNESCAPED, DELTAS, HEX, BASE64, BASE32, VIEWS };

struct scan_worker {
	struct scan_engine *engine;
	struct scan_hits hits;
	struct scan_needles *needles;
	struct scan_tags_room *tags;
	struct scan_packed_probe *probe;
	struct scan_view view[SCAN_DEPTH_MAX][VIEWS];
	struct scan_classes classes[SCAN_DEPTH_MAX];	/* of the text at each level */
	const struct scan_sink *sink;
	uint64_t read, decoded, unpacked;	/* of the outermost stream */
	bool decoded_all;	/* the budget of decoded bytes is spent */
};

/* Something packed that goes on behind this window. */
struct active {
	struct scan_packed *packed;
	struct scan_stream *child;
	const char *name;
	uint64_t begins, next;	/* offsets: its header; what it gets next */
};

struct seen {
	const void *what;
	uint64_t start, end;
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
	struct active active[ACTIVE_MAX];
	struct seen seen[SEEN_MAX];
	unsigned n_seen;
};

/* A view being looked through, for what is called back. */
struct look {
	struct scan_stream *stream;
	struct scan_part part;
	const char *chain;
};

/* ---- workers ---- */

struct scan_worker *
scan_worker_new(struct scan_needles *needles, const struct scan_tags *tags,
    bool formats, char *err, size_t err_len)
{
	struct scan_worker *worker = calloc(1, sizeof(*worker));

	snprintf(err, err_len, "out of memory");
	if (worker == NULL)
		return NULL;
	worker->needles = needles;
	worker->tags = tags == NULL ? NULL : scan_tags_room_new(tags);
	worker->probe = scan_packed_probe_new();
	if (worker->probe != NULL && (tags == NULL || worker->tags != NULL) &&
	    (!formats || (worker->engine = scan_engine_new(err, err_len)) != NULL))
		return worker;
	scan_worker_free(worker);
	return NULL;
}

void
scan_worker_free(struct scan_worker *worker)
{
	unsigned i, k;

	if (worker == NULL)
		return;
	for (i = 0; i < SCAN_DEPTH_MAX; i++)
		for (k = 0; k < VIEWS; k++)
			scan_view_free(&worker->view[i][k]);
	for (i = 0; i < SCAN_DEPTH_MAX; i++)
		scan_classes_free(&worker->classes[i]);
	scan_tags_room_free(worker->tags);
	scan_packed_probe_free(worker->probe);
	scan_engine_free(worker->engine);
	scan_hits_free(&worker->hits);
	free(worker);
}

/* ---- what is told ---- */

static void
incomplete(struct scan_stream *stream, const char *name, const char *why)
{
	const struct scan_sink *sink = stream->worker->sink;
	char text[128];

	snprintf(text, sizeof(text), "%s%s%s%s%s", stream->chain,
	    stream->chain[0] != '\0' ? ": " : "", name, name[0] != '\0' ? " " : "", why);
	sink->incomplete(sink->context, text);
}

static const char *
chain_of(char buf[CHAIN_MAX], const char *outer, const char *inner)
{
	if (inner[0] == '\0')
		snprintf(buf, CHAIN_MAX, "%s", outer);
	else
		snprintf(buf, CHAIN_MAX, "%.60s%s%s", outer, outer[0] != '\0' ? " > " : "",
		    inner);
	return buf;
}

/* Whether the same was told of the same place. */
static bool
seen(struct scan_stream *stream, const void *what, uint64_t start, uint64_t end)
{
	unsigned i, n = stream->n_seen < SEEN_MAX ? stream->n_seen : SEEN_MAX;

	for (i = 0; i < n; i++)
		if (stream->seen[i].what == what && stream->seen[i].start < end &&
		    start < stream->seen[i].end)
			return true;
	stream->seen[stream->n_seen++ % SEEN_MAX] = (struct seen){ what, start, end };
	return false;
}

/* LFs, sixteen bytes at a time, each lane counting its own. */
static size_t
count_lines(const uint8_t *p, size_t len)
{
	typedef uint8_t lanes __attribute__((vector_size(16)));
	lanes v, sum;
	size_t n = 0, i = 0, k;
	unsigned turn;

	while (len - i >= sizeof(v)) {
		sum = (lanes){ 0 };
		for (turn = 0; turn < 255 && len - i >= sizeof(v); turn++, i += sizeof(v)) {
			memcpy(&v, p + i, sizeof(v));
			sum -= (lanes)(v == '\n');
		}
		for (k = 0; k < sizeof(v); k++)
			n += sum[k];
	}
	for (; i < len; i++)
		n += p[i] == '\n';
	return n;
}

static uint64_t
line_of(struct scan_stream *stream, size_t at)
{
	if (at < stream->counted)
		stream->counted = stream->counted_lines = 0;
	stream->counted_lines += count_lines(stream->window + stream->counted,
	    at - stream->counted);
	stream->counted = at;
	return stream->lines + stream->counted_lines + 1;
}

static bool
own(const struct scan_stream *stream, size_t at, const struct scan_map *map)
{
	size_t slop = map == NULL ? 0 : SLOP;

	return at + slop >= stream->from && at < stream->to + slop;
}

/* A match in a part: where it stood in the window decides whose it is. */
static void
tell(const struct look *look, size_t at, size_t len, const void *what,
    struct scan_found *found, const char *form)
{
	struct scan_stream *stream = look->stream;
	const struct scan_sink *sink = stream->worker->sink;
	const struct scan_map *map = look->part.map;
	size_t start, end;
	char chain[CHAIN_MAX];

	if (map != NULL && !scan_map_new(map, at, at + len))
		return;
	start = map != NULL ? scan_map_origin(map, at) : at;
	end = map != NULL ? scan_map_origin(map, at + len) : at + len;
	if (end <= start)
		end = start + 1;
	if (!own(stream, start, map) ||
	    seen(stream, what, stream->base + start, stream->base + end))
		return;
	chain_of(chain, look->chain, form);
	found->chain = chain[0] != '\0' ? chain : "raw";
	found->offset = stream->base + start;
	found->len = end - start;
	found->line = line_of(stream, start);
	found->text = look->part.text + at;
	found->text_len = len;
	sink->found(sink->context, found);
}

static void
tell_needle(void *context, size_t at, size_t len, const char *name,
    const char *form)
{
	struct scan_found found = { .source = SCAN_BY_SECRET, .what = name,
	    .confidence = SCAN_HIGH };

	tell(context, at, len, name, &found, strcmp(form, "raw") == 0 ? "" : form);
}

static void
tell_tag(void *context, size_t at, const char *id)
{
	struct scan_found found = { .source = SCAN_BY_TAG, .what = id,
	    .confidence = SCAN_HIGH };
	const struct look *look = context;

	tell(look, at, SCAN_TAG_WIDTH, look->stream->worker->tags, &found, "");
}

static void
tell_hits(const struct look *look)
{
	static const char *const forms[SCAN_MIRRORS] = { "", "reversed", "rot13" };
	const struct scan_hits *hits = &look->stream->worker->hits;
	struct scan_found found;
	size_t i;

	for (i = 0; i < hits->n; i++) {
		found = (struct scan_found){ .source = SCAN_BY_FORMAT,
		    .what = scan_format_id(hits->hit[i].match.format),
		    .confidence = hits->hit[i].match.confidence,
		    .identifier = hits->hit[i].match.identifier };
		tell(look, hits->hit[i].match.start, hits->hit[i].match.len,
		    found.what, &found, forms[hits->hit[i].mirror]);
	}
}

/* ---- what is packed ---- */

static struct scan_stream *child_new(struct scan_stream *parent,
    const char *chain, unsigned depth);

static int
unpacked(void *context, const uint8_t *bytes, size_t len)
{
	struct scan_stream *child = context;
	struct scan_worker *worker = child->worker;

	worker->unpacked += len;
	if (worker->unpacked > SCAN_SLACK + SCAN_RATIO_MAX * worker->read) {
		incomplete(child, "", "unpacks to more than is looked at");
		return -1;
	}
	scan_stream_feed(child, bytes, len);
	return 0;
}

static int
measured(void *context, const uint8_t *bytes, size_t len)
{
	struct scan_worker *worker = context;

	(void)bytes;
	worker->unpacked += len;
	return worker->unpacked > SCAN_SLACK + SCAN_RATIO_MAX * worker->read;
}

static void
settle(struct scan_stream *stream, struct active *active,
    enum scan_packed_state state)
{
	uint64_t made = scan_packed_made(active->packed);

	/* Bytes that look like the beginning of something are not yet it. */
	if ((state == SCAN_PACKED_BROKEN || state == SCAN_PACKED_MORE) &&
	    (made > 0 || active->begins == 0))
		incomplete(stream, active->name, state == SCAN_PACKED_BROKEN ?
		    "data, damaged" : "data, cut off");
	scan_packed_free(active->packed);
	scan_stream_end(active->child);
	*active = (struct active){ .packed = NULL };
}

/* Give it the window's own bytes that it has not had.  Returns where it
 * stopped. */
static size_t
advance(struct scan_stream *stream, struct active *active)
{
	size_t at = (size_t)(active->next - stream->base), used;
	enum scan_packed_state state;

	if (active->next >= stream->base + stream->to)
		return stream->to;
	state = scan_packed_feed(active->packed, stream->window + at,
	    stream->to - at, &used);
	active->next += used;
	if (state == SCAN_PACKED_END && active->next > stream->packed_until)
		stream->packed_until = active->next;
	if (state != SCAN_PACKED_MORE)
		settle(stream, active, state);
	return at + used;
}

static struct active *
start_packed(struct scan_stream *stream, const struct scan_packed_kind *kind,
    size_t at)
{
	struct active *active = NULL;
	char chain[CHAIN_MAX];
	unsigned i;

	for (i = 0; i < ACTIVE_MAX && active == NULL; i++)
		if (stream->active[i].packed == NULL)
			active = &stream->active[i];
	if (active == NULL || stream->depth + 1 >= SCAN_DEPTH_MAX) {
		incomplete(stream, kind->name, active == NULL ?
		    "data, too much of it at once" : "data, nested too deep");
		return NULL;
	}
	chain_of(chain, stream->chain, kind->name);
	active->child = child_new(stream, chain, stream->depth + 1);
	active->packed = active->child == NULL ? NULL :
	    scan_packed_new(kind, unpacked, active->child);
	if (active->packed == NULL) {
		if (active->child != NULL)
			scan_stream_end(active->child);
		active->child = NULL;
		incomplete(stream, kind->name, "data: out of memory");
		return NULL;
	}
	active->name = kind->name;
	active->begins = stream->base + at;
	active->next = active->begins + kind->skip;
	return active;
}

/* Whether a packed stream that has shown to be one goes on here. */
static bool
inside(const struct scan_stream *stream)
{
	unsigned i;

	for (i = 0; i < ACTIVE_MAX; i++)
		if (stream->active[i].packed != NULL &&
		    scan_packed_made(stream->active[i].packed) > 0)
			return true;
	return false;
}

static bool
unknown_kind(struct scan_stream *stream, const struct scan_packed_kind *kind)
{
	if (kind->known)
		return false;
	incomplete(stream, kind->name, kind->encrypted ? "data, encrypted" :
	    "data, not unpacked");
	return true;
}

/* One place of the window itself. */
static void
window_place(struct scan_stream *stream, size_t at)
{
	struct scan_packed_kind kind;
	struct active *active;

	if (at < stream->from || at >= stream->to || inside(stream) ||
	    stream->base + at < stream->packed_until || !scan_packed_at(stream->window, stream->len, at, &kind) ||
	    unknown_kind(stream, &kind))
		return;
	active = start_packed(stream, &kind, at);
	if (active != NULL)
		advance(stream, active);
}

/* A packed thing in a decoded view must lie in it whole. */
static void
view_place(struct look *look, unsigned level, size_t at, size_t end)
{
	struct scan_stream *stream = look->stream, *child;
	struct scan_worker *worker = stream->worker;
	struct scan_packed_kind kind;
	struct scan_packed *packed;
	enum scan_packed_state state;
	size_t origin = scan_map_origin(look->part.map, at), used;
	char chain[CHAIN_MAX];
	const uint8_t *p = look->part.text;

	if (!own(stream, origin, look->part.map) || at >= end ||
	    !scan_packed_at(p, end, at, &kind) || at + kind.skip >= end)
		return;
	if (!kind.known) {
		if (kind.encrypted || at == 0)
			unknown_kind(stream, &kind);
		return;
	}
	packed = scan_packed_new(&kind, measured, worker);
	if (packed == NULL) {
		incomplete(stream, kind.name, "data: out of memory");
		return;
	}
	state = scan_packed_feed(packed, p + at + kind.skip, end - at - kind.skip, &used);
	used = scan_packed_made(packed) > 0;
	scan_packed_free(packed);
	if (state == SCAN_PACKED_BROKEN && used == 0)
		return;
	if (state == SCAN_PACKED_MORE && !stream->last && origin > stream->from + SLOP &&
	    scan_map_origin(look->part.map, end) + 2 * SLOP > stream->len) {
		if (origin < stream->defer)
			stream->defer = origin;
		return;
	}
	if (state != SCAN_PACKED_END && used != 0)
		incomplete(stream, kind.name, state == SCAN_PACKED_BROKEN ? "data, damaged" :
		    state == SCAN_PACKED_MORE ? "data, cut off or too long for its encoding" :
		    "unpacks to more than is looked at");
	if (seen(stream, kind.name, stream->base + origin, stream->base + origin + 1))
		return;
	if (level + 1 >= SCAN_DEPTH_MAX) {
		incomplete(stream, kind.name, "data, nested too deep");
		return;
	}
	child = child_new(stream, chain_of(chain, look->chain, kind.name), level + 1);
	packed = child == NULL ? NULL : scan_packed_new(&kind, unpacked, child);
	if (packed == NULL)
		incomplete(stream, kind.name, "data: out of memory");
	else
		scan_packed_feed(packed, p + at + kind.skip, end - at - kind.skip, &used);
	scan_packed_free(packed);
	if (child != NULL)
		scan_stream_end(child);
}

/* ---- views ---- */

static void look_at(struct look *look, unsigned level,
    struct scan_view *view);

static size_t
seven_bits(const uint8_t *p, size_t len)
{
	const uint64_t high = UINT64_C(0x8080808080808080);
	uint64_t eight;
	size_t i, n = 0;

	for (i = 0; i + 8 <= len; i += 8) {
		memcpy(&eight, p + i, 8);
		n += (size_t)(((eight & high) >> 7) * UINT64_C(0x0101010101010101) >> 56);
	}
	for (; i < len; i++)
		n += p[i] >> 7;
	return len - n;
}

/* What is not ASCII at its beginning, middle or end is not decoded any
 * further: wrong phases are noise, of which half the bytes are not. */
static bool
is_text(const uint8_t *p, size_t len)
{
	size_t n = len < SAMPLE ? len : SAMPLE;

	return 4 * seven_bits(p, n) >= 3 * n ||
	    4 * seven_bits(p + (len - n) / 2, n) >= 3 * n ||
	    4 * seven_bits(p + len - n, n) >= 3 * n;
}

/* Keep only the segments that are text. */
static void
keep_text(struct scan_view *view)
{
	size_t i, n = 0;

	for (i = 0; i < view->segments; i++) {
		if (!is_text(view->text + view->segment[i], view->segment_len[i]))
			continue;
		view->segment[n] = view->segment[i];
		view->segment_len[n++] = view->segment_len[i];
	}
	view->segments = n;
}

static int
derive_part(const struct scan_part *part, bool escaped, bool deltas,
    struct scan_view *view)
{
	if ((escaped && scan_view_unescape(part, &view[UNESCAPED]) != 0) ||
	    (deltas && scan_view_deltas(part, &view[DELTAS]) != 0))
		return -1;
	return scan_view_runs(part, &view[BASE64], &view[HEX], &view[BASE32]);
}

/* Every kind of decoding, of the window or of each of a view's segments. */
static int
derive(const struct look *look, const struct scan_view *from, bool deltas,
    struct scan_view *view)
{
	static const char *const names[VIEWS] = { "escaped", "deltas", "hex", "base64",
	    "base32" };
	struct scan_part part = look->part;
	unsigned kind;
	size_t i;

	for (kind = 0; kind < VIEWS; kind++)
		scan_view_clear(&view[kind], names[kind], look->part.map,
		    kind == UNESCAPED || kind == DELTAS);
	if (from == NULL)
		return derive_part(&part, true, deltas, view);
	for (i = 0; i < from->segments; i++) {
		part.at = from->segment[i];
		part.text = from->text + part.at;
		part.len = from->segment_len[i];
		if (derive_part(&part, from->again, deltas, view) != 0)
			return -1;
	}
	return 0;
}

static bool
spend(struct scan_stream *stream, size_t len)
{
	struct scan_worker *worker = stream->worker;

	worker->decoded += len;
	if (worker->decoded <= SCAN_SLACK +
	    SCAN_DECODED_MAX * (worker->read + worker->unpacked))
		return true;
	if (!worker->decoded_all)
		incomplete(stream, "", "decodes to more than is looked at");
	worker->decoded_all = true;
	return false;
}

/* A text with its classes; NULL for these where memory lacks. */
static struct scan_part
part_of(const struct scan_stream *stream, unsigned level, const uint8_t *text,
    size_t len, const struct scan_map *map)
{
	struct scan_worker *worker = stream->worker;
	struct scan_classes *classes = &worker->classes[level];

	return (struct scan_part){ text, len, map, 0,
	    scan_classes_of(classes, text, len) == 0 ? classes : NULL, worker->probe,
	    worker->needles != NULL && scan_needles_bytes(worker->needles),
	    worker->needles != NULL ? SCAN_SECRET_MIN : SCAN_RUN_MIN };
}

static void
look_deeper(struct look *look, unsigned level, const struct scan_view *from,
    bool deltas)
{
	struct scan_stream *stream = look->stream;
	struct scan_view *view = stream->worker->view[level];
	struct look inner;
	char chain[CHAIN_MAX];
	unsigned kind;

	if (derive(look, from, deltas, view) != 0)
		incomplete(stream, "", "out of memory");
	for (kind = 0; kind < VIEWS; kind++, view++) {
		if (view->len == 0 || !spend(stream, view->len))
			continue;
		if (level + 1 >= SCAN_DEPTH_MAX) {
			incomplete(stream, view->name, "text, nested too deep");
			continue;
		}
		inner = (struct look){ stream, part_of(stream, level + 1, view->text, view->len,
		    &view->map), chain_of(chain, look->chain, view->name) };
		if (inner.part.classes == NULL)
			incomplete(stream, "", "out of memory");
		else
			look_at(&inner, level + 1, view);
	}
}

/* The segment that a place lies in ends here. */
static size_t
segment_end(const struct scan_view *view, size_t at)
{
	size_t low = 0, high = view->segments, middle;

	while (high - low > 1) {
		middle = low + (high - low) / 2;
		if (view->segment[middle] <= at)
			low = middle;
		else
			high = middle;
	}
	return view->segment[low] + view->segment_len[low];
}

/* The pixels of a PNG picture are no text; what is written in its other chunks
 * is looked at like anything else. */
static bool
picture(const uint8_t *window, size_t at)
{
	return at >= 4 && memcmp(window + at - 4, "IDAT", 4) == 0;
}

static void
view_places(struct look *look, unsigned level, const struct scan_view *view)
{
	struct scan_worker *worker = look->stream->worker;
	const struct scan_hits *hits = &worker->hits;
	const uint8_t *text = look->part.text;
	size_t *place = NULL, n = hits->places, i;

	if (n > 0) {
		if ((place = reallocarray(NULL, n, sizeof(*place))) == NULL) {
			incomplete(look->stream, "", "out of memory");
			return;
		}
		memcpy(place, hits->place, n * sizeof(*place));
	}
	for (i = 0; i < n; i++)
		view_place(look, level, place[i], segment_end(view, place[i]));
	free(place);
	for (i = 0; worker->engine == NULL && i < view->segments; i++)
		view_place(look, level, view->segment[i], segment_end(view, view->segment[i]));
	for (i = 0; (i = scan_classes_zlib(look->part.classes, text, look->part.len, i)) <
	    look->part.len; i++) {
		if (!picture(text, i) &&
		    scan_packed_probe(worker->probe, text, segment_end(view, i), i))
			view_place(look, level, i, segment_end(view, i));
	}
}

/* Everything that is looked for, in one text. */
static void
match(struct look *look)
{
	struct scan_worker *worker = look->stream->worker;
	const struct scan_part *part = &look->part;

	if (worker->engine != NULL && scan_engine_run(worker->engine, part->text,
	    part->len, part->map, &worker->hits) != 0)
		incomplete(look->stream, "", "more matches than can be told");
	if (worker->engine != NULL)
		tell_hits(look);
	if (worker->needles != NULL)
		scan_needles_run(worker->needles, part->text, part->len, tell_needle, look);
	if (worker->tags != NULL && scan_tags_run(worker->tags, part->text, part->len,
	    tell_tag, look) != 0)
		incomplete(look->stream, "", "the hash of the tags failed");
}

static void
look_at(struct look *look, unsigned level, struct scan_view *view)
{
	bool deltas;

	match(look);
	deltas = look->stream->worker->hits.deltas;
	view_places(look, level, view);
	keep_text(view);
	look_deeper(look, level, view, deltas);
}

/* ---- windows ---- */

static int
by_place(const void *a, const void *b)
{
	const size_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Packed data that begins in this window, and what goes on from earlier ones. */
static void
unpack_window(struct scan_stream *stream, size_t *place, size_t places)
{
	const struct scan_classes *classes = &stream->worker->classes[stream->depth];
	size_t i;

	for (i = 0; i < ACTIVE_MAX; i++)
		if (stream->active[i].packed != NULL)
			advance(stream, &stream->active[i]);
	if (places > 1)
		qsort(place, places, sizeof(*place), by_place);
	for (i = 0; i < places; i++)
		window_place(stream, place[i]);
	for (i = stream->from; !inside(stream) && (i = scan_classes_zlib(classes,
	    stream->window, stream->to, i)) < stream->to; i++) {
		if (!picture(stream->window, i) && scan_packed_probe(stream->worker->probe,
		    stream->window, stream->len, i))
			window_place(stream, i);
	}
}

/* Keep the end of the window, with some context, for the next one. */
static void
slide(struct scan_stream *stream)
{
	size_t keep = stream->to > BEHIND ? stream->to - BEHIND : 0;

	stream->lines = line_of(stream, keep) - 1;
	stream->counted = stream->counted_lines = 0;
	memmove(stream->window, stream->window + keep, stream->len - keep);
	stream->base += keep;
	stream->len -= keep;
	stream->from = stream->to - keep;
}

static void
scan_window(struct scan_stream *stream)
{
	struct look look = { stream, part_of(stream, stream->depth, stream->window,
	    stream->len, NULL), stream->chain };
	struct scan_hits *hits = &stream->worker->hits;
	size_t *place, places;

	stream->to = stream->last ? stream->len : stream->len - stream->overlap;
	stream->defer = stream->len;
	if (look.part.classes == NULL) {
		incomplete(stream, "", "out of memory");
		slide(stream);
		return;
	}
	/* the places of the window itself are taken when its views are done */
	match(&look);
	place = hits->place;
	places = hits->places;
	hits->place = NULL;
	hits->places = hits->places_cap = 0;
	look_deeper(&look, stream->depth, NULL, hits->deltas);
	if (!stream->last && stream->defer < stream->to)
		stream->to = stream->defer;
	unpack_window(stream, place, places);
	free(place);
	slide(stream);
}

static struct scan_stream *
stream_new(struct scan_worker *worker, size_t block, size_t overlap)
{
	struct scan_stream *stream = calloc(1, sizeof(*stream));

	if (stream == NULL)
		return NULL;
	stream->worker = worker;
	stream->block = block;
	stream->overlap = overlap;
	return stream;
}

struct scan_stream *
scan_stream_new(struct scan_worker *worker, const struct scan_sink *sink,
    size_t block, size_t overlap)
{
	worker->sink = sink;
	worker->read = worker->decoded = worker->unpacked = 0;
	worker->decoded_all = false;
	return stream_new(worker, block, overlap);
}

static struct scan_stream *
child_new(struct scan_stream *parent, const char *chain, unsigned depth)
{
	struct scan_stream *child = stream_new(parent->worker, parent->block,
	    parent->overlap);

	if (child == NULL)
		return NULL;
	child->parent = parent;
	child->depth = depth;
	snprintf(child->chain, sizeof(child->chain), "%s", chain);
	return child;
}

/* Most streams are short, and packed ones are many: the window grows. */
static bool
window_room(struct scan_stream *stream, size_t more)
{
	size_t most = stream->block + stream->overlap + BEHIND, cap = stream->cap;
	uint8_t *window;

	if (stream->len + more <= cap)
		return true;
	while (cap < stream->len + more)
		cap = cap == 0 ? 16384 : 2 * cap;
	if (cap > most)
		cap = most;
	if ((window = malloc(cap)) == NULL)
		return false;
	if (stream->window != NULL) {
		memcpy(window, stream->window, stream->len);
		sodium_memzero(stream->window, stream->cap);
		free(stream->window);
	}
	stream->window = window;
	stream->cap = cap;
	return true;
}

void
scan_stream_feed(struct scan_stream *stream, const uint8_t *bytes, size_t len)
{
	size_t most = stream->block + stream->overlap + BEHIND, n;

	if (stream->parent == NULL)
		stream->worker->read += len;
	while (len > 0) {
		n = len < most - stream->len ? len : most - stream->len;
		if (!window_room(stream, n)) {
			incomplete(stream, "", "out of memory");
			return;
		}
		memcpy(stream->window + stream->len, bytes, n);
		stream->len += n;
		bytes += n;
		len -= n;
		if (stream->len == most)
			scan_window(stream);
	}
}

void
scan_stream_end(struct scan_stream *stream)
{
	unsigned i;

	if (stream == NULL)
		return;
	stream->last = true;
	if (stream->len > stream->from)
		scan_window(stream);
	for (i = 0; i < ACTIVE_MAX; i++)
		if (stream->active[i].packed != NULL)
			settle(stream, &stream->active[i], SCAN_PACKED_MORE);
	if (stream->window != NULL)
		sodium_memzero(stream->window, stream->cap);
	free(stream->window);
	free(stream);
}
