#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "ledger/scan/stream_impl.h"

/* ---- workers ---- */

struct scan_worker *
scan_worker_new(struct scan_needles *needles, const struct scan_tags *tags,
    const struct scan_engine_calls *formats, char *err, size_t err_len)
{
	struct scan_worker *worker = calloc(1, sizeof(*worker));

	snprintf(err, err_len, "out of memory");
	if (worker == NULL)
		return NULL;
	worker->needles = needles;
	worker->formats = formats;
	worker->tags = tags == NULL ? NULL : scan_tags_room_new(tags);
	worker->probe = scan_packed_probe_new();
	worker->pool = scan_packed_pool_new();
	if (worker->probe != NULL && worker->pool != NULL && (tags == NULL || worker->tags != NULL) &&
	    (formats == NULL || (worker->engine = formats->open(err, err_len)) != NULL))
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
	scan_packed_pool_free(worker->pool);
	if (worker->engine != NULL)
		worker->formats->close(worker->engine);
	scan_hits_free(&worker->hits);
	free(worker);
}

void
scan_hits_free(struct scan_hits *hits)
{
	free(hits->hit);
	free(hits->place);
	*hits = (struct scan_hits){ NULL, 0, 0, NULL, 0, 0, false };
}

/* ---- windows ---- */

/* Keep the end of the window, with some context, for the next one. */
static void
slide(struct scan_stream *stream)
{
	size_t keep = stream->to > BEHIND ? stream->to - BEHIND : 0;

	stream->lines = scan_line_of(stream, keep) - 1;
	stream->counted = stream->counted_lines = 0;
	memmove(stream->window, stream->window + keep, stream->len - keep);
	stream->base += keep;
	stream->len -= keep;
	stream->from = stream->to - keep;
}

static void
scan_window(struct scan_stream *stream)
{
	struct look look = { stream, scan_look_part(stream, stream->depth, stream->window,
	    stream->len, NULL), stream->chain, false };
	struct scan_hits *hits = &stream->worker->hits;
	size_t *place, places;

	stream->to = stream->last ? stream->len : stream->len - stream->overlap;
	stream->defer = stream->len;
	if (look.part.classes == NULL) {
		scan_incomplete(stream, "", "out of memory");
		slide(stream);
		return;
	}
	/* the places of the window itself are taken when its views are done */
	scan_look_match(&look, stream->depth);
	place = hits->place;
	places = hits->places;
	hits->place = NULL;
	hits->places = hits->places_cap = 0;
	scan_look_deeper(&look, stream->depth, NULL, hits->deltas);
	if (!stream->last && stream->defer < stream->to)
		stream->to = stream->defer;
	scan_unpack_window(stream, place, places);
	free(place);
	slide(stream);
}

static struct scan_stream *
stream_new(struct scan_worker *worker, size_t block, size_t overlap)
{
	struct scan_stream *stream = malloc(sizeof(*stream));

	if (stream == NULL)
		return NULL;
	memset(stream, 0, offsetof(struct scan_stream, seen));
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
	worker->read = worker->decoded = worker->unpacked = worker->charged = 0;
	worker->decoded_all = false;
	return stream_new(worker, block, overlap);
}

struct scan_stream *
scan_stream_child(struct scan_stream *parent, const char *chain, unsigned depth)
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
			scan_incomplete(stream, "", "out of memory");
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
			scan_unpack_settle(stream, &stream->active[i], SCAN_PACKED_MORE);
	if (stream->window != NULL)
		sodium_memzero(stream->window, stream->cap);
	free(stream->window);
	free(stream);
}
