/* One text in all its views, and theirs. */
#include <stdio.h>
#include <string.h>

#include "ledger/scan/stream_impl.h"
#include "ledger/scan/view/edges.h"

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

/* Bytes that are ASCII or of a character in UTF-8. */
static size_t
utf8_bytes(const uint8_t *p, size_t len)
{
	size_t i, k, n, found = 0;

	for (i = 0; i < len; i += k) {
		n = p[i] < 0x80 ? 1 : p[i] < 0xc2 || p[i] > 0xf4 ? 0 :
		    p[i] < 0xe0 ? 2 : p[i] < 0xf0 ? 3 : 4;
		for (k = 1; k < n && i + k < len && (p[i + k] & 0xc0) == 0x80; k++)
			;
		found += k == n ? n : 0;
	}
	return found;
}

static bool
mostly(size_t n, size_t len)
{
	return 4 * n >= 3 * len;
}

/* What is no text at its beginning, middle or end is not decoded any
 * further: wrong phases are noise, of which half the bytes are not. */
static bool
is_text(const uint8_t *p, size_t len)
{
	const size_t n = len < SAMPLE ? len : SAMPLE;
	const size_t at[] = { 0, (len - n) / 2, len - n };
	size_t i;

	for (i = 0; i < 3; i++)
		if (mostly(seven_bits(p + at[i], n), n) || mostly(utf8_bytes(p + at[i], n), n))
			return true;
	return false;
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
	return scan_view_runs(part, &view[BASE64], &view[HEX], &view[BASE32], &view[DECIMAL]);
}

/* Every kind of decoding, of the window or of each of a view's segments. */
static int
derive(const struct look *look, const struct scan_view *from, bool deltas,
    struct scan_view *view)
{
	static const char *const names[EDGES] = { "escaped", "deltas", "hex", "base64",
	    "base32", "decimal" };
	struct scan_part part = look->part;
	unsigned kind;
	size_t i;

	for (kind = 0; kind < EDGES; kind++)
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
		scan_incomplete(stream, "", "decodes to more than is looked at");
	worker->decoded_all = true;
	return false;
}

/* A text with its classes; NULL for these where memory lacks. */
struct scan_part
scan_look_part(const struct scan_stream *stream, unsigned level, const uint8_t *text,
    size_t len, const struct scan_map *map)
{
	struct scan_worker *worker = stream->worker;
	struct scan_classes *classes = &worker->classes[level];

	return (struct scan_part){ text, len, map, 0,
	    scan_classes_of(classes, text, len) == 0 ? classes : NULL, worker->probe,
	    worker->needles != NULL && scan_needles_bytes(worker->needles),
	    worker->needles != NULL ? scan_needles_least(worker->needles) : SCAN_RUN_MIN };
}

void
scan_look_deeper(struct look *look, unsigned level, const struct scan_view *from,
    bool deltas)
{
	struct scan_stream *stream = look->stream;
	struct scan_view *view = stream->worker->view[level];
	struct look inner;
	char chain[CHAIN_MAX];
	unsigned kind;

	if (derive(look, from, deltas, view) != 0)
		scan_incomplete(stream, "", "out of memory");
	for (kind = 0; kind < VIEWS; kind++, view++) {
		if (view->len == 0 || !spend(stream, view->len))
			continue;
		if (level + 1 >= SCAN_DEPTH_MAX) {
			scan_incomplete(stream, view->name, "text, nested too deep");
			continue;
		}
		inner = (struct look){ stream, scan_look_part(stream, level + 1, view->text, view->len,
		    &view->map), scan_chain_of(chain, look->chain, view->name), kind == EDGES };
		if (inner.part.classes == NULL)
			scan_incomplete(stream, "", "out of memory");
		else
			look_at(&inner, level + 1, view);
	}
}

/* The archive that a window lies in; in a view only one that it begins with. */
static struct scan_archive
archive_of(const struct look *look)
{
	const struct scan_stream *stream = look->stream;
	struct scan_archive archive = { SCAN_NO_ARCHIVE, 0 };

	if (look->part.map != NULL || stream->base == 0)
		return scan_archive_at_start(look->part.text, look->part.len);
	if (stream->archive != SCAN_NO_ARCHIVE && stream->archive_next >= stream->base) {
		archive.kind = stream->archive;
		archive.next = (size_t)(stream->archive_next - stream->base);
	}
	return archive;
}

/* Secrets and tags are found whatever stands beside them: edges are the formats'. */
static int
edges(const struct look *look, unsigned level)
{
	struct scan_stream *stream = look->stream;
	struct scan_worker *worker = stream->worker;
	struct scan_view *view = &worker->view[level][EDGES];
	struct scan_archive archive;
	size_t keep = stream->to > BEHIND ? stream->to - BEHIND : 0;
	int result;

	scan_view_clear(view, "archive", look->part.map, false);
	if (worker->engine == NULL || look->edges)
		return 0;
	archive = archive_of(look);
	result = scan_view_edges(&look->part, worker->hits.place, worker->hits.places, &archive,
	    keep, view);
	if (look->part.map == NULL) {
		stream->archive = archive.kind;
		stream->archive_next = stream->base + archive.next;
	}
	return result;
}

/* Of a window, where the last tag begins that is its own, and to that one's end: what
 * begins behind it is the next window's.  A view's places are known once it is found. */
static size_t
tags_end(const struct look *look)
{
	const size_t end = look->stream->to + SCAN_TAG_WIDTH - 1;

	return look->part.map == NULL && end < look->part.len ? end : look->part.len;
}

void
scan_look_match(struct look *look, unsigned level)
{
	struct scan_worker *worker = look->stream->worker;
	const struct scan_part *part = &look->part;

	if (worker->engine != NULL && worker->formats->run(worker->engine, part->text,
	    part->len, part->map, &worker->hits) != 0)
		scan_incomplete(look->stream, "", "more matches than can be told");
	if (worker->engine != NULL)
		scan_tell_hits(look);
	else
		worker->hits.deltas = true;	/* who knows? */
	if (worker->needles != NULL)
		scan_needles_run(worker->needles, part->text, part->len, scan_tell_needle, look);
	if (worker->tags != NULL && scan_tags_run(worker->tags, part->text, tags_end(look),
	    scan_tell_tag, look) != 0)
		scan_incomplete(look->stream, "", "the hash of the tags failed");
	if (edges(look, level) != 0)
		scan_incomplete(look->stream, "", "out of memory");
}

static void
look_at(struct look *look, unsigned level, struct scan_view *view)
{
	bool deltas;

	scan_look_match(look, level);
	deltas = look->stream->worker->hits.deltas;
	if (!look->edges)	/* what is packed there was seen where it stands */
		scan_unpack_view(look, level, view);
	keep_text(view);
	scan_look_deeper(look, level, view, deltas);
}
