/* What is packed in a window, or in a view: a stream inside the stream. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/scan/stream_impl.h"

static bool
all_spent(const struct scan_worker *worker)
{
	return worker->unpacked + worker->charged > SCAN_SLACK + SCAN_RATIO_MAX * worker->read;
}

static int
unpacked(void *context, const uint8_t *bytes, size_t len)
{
	struct scan_stream *child = context;

	child->worker->unpacked += len;
	if (all_spent(child->worker)) {
		scan_incomplete(child, "", "unpacks to more than is looked at");
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
	return all_spent(worker);
}

void
scan_unpack_settle(struct scan_stream *stream, struct active *active,
    enum scan_packed_state state)
{
	uint64_t made = scan_packed_made(active->packed);

	if (state == SCAN_PACKED_BROKEN || state == SCAN_PACKED_MORE)
		stream->worker->charged += COST_BROKEN * made;
	/* Bytes that look like the beginning of something are not yet it. */
	if ((state == SCAN_PACKED_BROKEN || state == SCAN_PACKED_MORE) &&
	    (made > 0 || active->begins == 0))
		scan_incomplete(stream, active->name, state == SCAN_PACKED_BROKEN ?
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
		scan_unpack_settle(stream, active, state);
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
	stream->worker->charged += COST_STREAM;
	if (active == NULL || stream->depth + 1 >= SCAN_DEPTH_MAX || all_spent(stream->worker)) {
		scan_incomplete(stream, kind->name, active == NULL ?
		    "data, too much of it at once" : all_spent(stream->worker) ?
		    "data: unpacks to more than is looked at" : "data, nested too deep");
		return NULL;
	}
	scan_chain_of(chain, stream->chain, kind->name);
	active->child = scan_stream_child(stream, chain, stream->depth + 1);
	active->packed = active->child == NULL ? NULL :
	    scan_packed_new(kind, unpacked, active->child);
	if (active->packed == NULL) {
		if (active->child != NULL)
			scan_stream_end(active->child);
		active->child = NULL;
		scan_incomplete(stream, kind->name, "data: out of memory");
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
	scan_incomplete(stream, kind->name, kind->encrypted ? "data, encrypted" :
	    kind->damaged ? "data, damaged" : "data, not unpacked");
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
	    (stream->base + at > 0 && !scan_packed_worth(stream->worker->probe, &kind,
	    stream->window, stream->len, at)) || unknown_kind(stream, &kind))
		return;
	active = start_packed(stream, &kind, at);
	if (active != NULL)
		advance(stream, active);
}

/* Unpack it for nobody, to learn how it ends and how much it made; false where
 * memory lacks. */
static bool
measure(struct scan_worker *worker, const struct scan_packed_kind *kind, const uint8_t *body,
    size_t len, enum scan_packed_state *state, size_t *made)
{
	struct scan_packed *packed = scan_packed_new(kind, measured, worker);

	worker->charged += COST_STREAM;
	if (packed == NULL)
		return false;
	*state = scan_packed_feed(packed, body, len, &(size_t){ 0 });
	*made = scan_packed_made(packed);
	scan_packed_free(packed);
	if (*state != SCAN_PACKED_END)
		worker->charged += COST_BROKEN * *made;
	return true;
}

/* What it unpacks to, as a stream of its own. */
static void
view_inside(struct look *look, unsigned level, const struct scan_packed_kind *kind,
    const uint8_t *body, size_t len)
{
	char chain[CHAIN_MAX];
	struct scan_stream *child = scan_stream_child(look->stream,
	    scan_chain_of(chain, look->chain, kind->name), level);
	struct scan_packed *packed = child == NULL ? NULL : scan_packed_new(kind, unpacked, child);

	if (packed == NULL)
		scan_incomplete(look->stream, kind->name, "data: out of memory");
	else
		scan_packed_feed(packed, body, len, &(size_t){ 0 });
	scan_packed_free(packed);
	if (child != NULL)
		scan_stream_end(child);
}

/* A packed thing in a decoded view must lie in it whole. */
static void
view_place(struct look *look, unsigned level, size_t at, size_t end)
{
	struct scan_stream *stream = look->stream;
	struct scan_worker *worker = stream->worker;
	const uint8_t *p = look->part.text;
	const size_t origin = scan_map_origin(look->part.map, at);
	struct scan_packed_kind kind;
	enum scan_packed_state state;
	size_t len, made;

	if (!scan_own(stream, origin, look->part.map) || at >= end ||
	    !scan_packed_at(p, end, at, &kind) || at + kind.skip >= end)
		return;
	if (!scan_packed_worth(worker->probe, &kind, p, end, at))
		return;
	if (!kind.known) {
		if (kind.encrypted || at == 0)
			unknown_kind(stream, &kind);
		return;
	}
	len = end - at - kind.skip;
	if (!measure(worker, &kind, p + at + kind.skip, len, &state, &made)) {
		scan_incomplete(stream, kind.name, "data: out of memory");
		return;
	}
	if (state == SCAN_PACKED_BROKEN && made == 0)
		return;
	/* The next window may hold the rest of it. */
	if (state == SCAN_PACKED_MORE && !stream->last && origin > stream->from + SLOP &&
	    scan_map_origin(look->part.map, end) + 2 * SLOP > stream->len) {
		if (origin < stream->defer)
			stream->defer = origin;
		return;
	}
	if (state != SCAN_PACKED_END && made != 0)
		scan_incomplete(stream, kind.name, state == SCAN_PACKED_BROKEN ? "data, damaged" :
		    state == SCAN_PACKED_MORE ? "data, cut off or too long for its encoding" :
		    "unpacks to more than is looked at");
	if (scan_seen(stream, kind.name, stream->base + origin, stream->base + origin + 1,
	    SCAN_HIGH))
		return;
	if (level + 1 >= SCAN_DEPTH_MAX)
		scan_incomplete(stream, kind.name, "data, nested too deep");
	else
		view_inside(look, level + 1, &kind, p + at + kind.skip, len);
}

/* ---- places ---- */

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

void
scan_unpack_view(struct look *look, unsigned level, const struct scan_view *view)
{
	struct scan_worker *worker = look->stream->worker;
	const struct scan_hits *hits = &worker->hits;
	const uint8_t *text = look->part.text;
	size_t *place = NULL, n = hits->places, i;

	if (n > 0) {
		if ((place = reallocarray(NULL, n, sizeof(*place))) == NULL) {
			scan_incomplete(look->stream, "", "out of memory");
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

static int
by_place(const void *a, const void *b)
{
	const size_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Packed data that begins in this window, and what goes on from earlier ones. */
void
scan_unpack_window(struct scan_stream *stream, size_t *place, size_t places)
{
	const struct scan_classes *classes = &stream->worker->classes[stream->depth];
	size_t i;

	for (i = 0; i < ACTIVE_MAX; i++)
		if (stream->active[i].packed != NULL)
			advance(stream, &stream->active[i]);
	if (stream->base == 0 && scan_packed_old(stream->window, stream->len) != NULL)
		window_place(stream, 0);	/* the engine does not look for it */
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
