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

/* What is told of a stream that did not end; NULL: it did, or the sink has told. */
static const char *
why_not(enum scan_packed_state state)
{
	return state == SCAN_PACKED_BROKEN ? "data, damaged" : state == SCAN_PACKED_MORE ?
	    "data, cut off" : state == SCAN_PACKED_HUGE ?
	    "data: needs more memory than one stream gets" : NULL;
}

void
scan_unpack_settle(struct scan_stream *stream, struct active *active,
    enum scan_packed_state state)
{
	uint64_t made = scan_packed_made(active->packed);
	const char *why = why_not(state);

	if (why != NULL)
		stream->worker->charged += COST_BROKEN * made + active->kind.work;
	/* Bytes that look like the beginning of something are not yet it. */
	if (why != NULL && (made > 0 || active->begins == 0 || active->kind.sure ||
	    state == SCAN_PACKED_HUGE))
		scan_incomplete(stream, active->kind.name, why);
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
	    scan_packed_new(stream->worker->pool, kind, unpacked, active->child);
	if (active->packed == NULL) {
		if (active->child != NULL)
			scan_stream_end(active->child);
		active->child = NULL;
		scan_incomplete(stream, kind->name, "data: out of memory");
		return NULL;
	}
	active->kind = *kind;
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

/* Something packed in a decoded view, and what came of undoing it. */
struct packed_place {
	struct scan_packed_kind kind;
	const uint8_t *bytes;
	size_t len, origin, end;	/* these in the window */
	enum scan_packed_state state;
	uint64_t made;
};

static bool
measure(struct scan_worker *worker, struct packed_place *it)
{
	struct scan_packed *packed = scan_packed_new(worker->pool, &it->kind, measured, worker);
	size_t used;

	worker->charged += COST_STREAM;
	if (packed == NULL)
		return false;
	it->state = scan_packed_feed(packed, it->bytes, it->len, &used);
	it->made = scan_packed_made(packed);
	scan_packed_free(packed);
	if (it->state != SCAN_PACKED_END)
		worker->charged += COST_BROKEN * it->made + it->kind.work;
	return true;
}

/* One that breaks before anything comes out is told of if that is not the view's
 * doing: one that only leaves things out spells a header like the text below it. */
static bool
worth_telling(const struct packed_place *it, const struct scan_map *map)
{
	return it->made > 0 || it->state == SCAN_PACKED_HUGE ||
	    (it->state == SCAN_PACKED_BROKEN && it->kind.sure && !map->shortened);
}

/* It may end in the next window. */
static bool
deferred(struct scan_stream *stream, const struct packed_place *it)
{
	if (it->state != SCAN_PACKED_MORE || stream->last || it->origin <= stream->from + SLOP ||
	    it->end + 2 * SLOP <= stream->len)
		return false;
	if (it->origin < stream->defer)
		stream->defer = it->origin;
	return true;
}

/* Undone once more, for what it holds. */
static void
look_into(struct look *look, unsigned level, const struct packed_place *it)
{
	struct scan_stream *stream = look->stream, *child;
	struct scan_packed *packed;
	char chain[CHAIN_MAX];
	size_t used;

	if (level + 1 >= SCAN_DEPTH_MAX) {
		scan_incomplete(stream, it->kind.name, "data, nested too deep");
		return;
	}
	child = scan_stream_child(stream, scan_chain_of(chain, look->chain, it->kind.name), level + 1);
	packed = child == NULL ? NULL : scan_packed_new(stream->worker->pool, &it->kind, unpacked,
	    child);
	if (packed == NULL)
		scan_incomplete(stream, it->kind.name, "data: out of memory");
	else
		scan_packed_feed(packed, it->bytes, it->len, &used);
	scan_packed_free(packed);
	if (child != NULL)
		scan_stream_end(child);
}

/* A packed thing in a decoded view must lie in it whole.  Of lines of base64 each is a
 * view too, behind that of all of them: where it was told there it is not cut off. */
static void
view_place(struct look *look, unsigned level, const struct scan_view *view, size_t at)
{
	const struct scan_map *map = look->part.map;
	struct scan_stream *stream = look->stream;
	const size_t end = segment_end(view, at);
	struct packed_place it = { .origin = scan_map_origin(map, at),
	    .end = scan_map_origin(map, end) };

	if (!scan_own(stream, it.origin, map) || at >= end ||
	    !scan_packed_at(look->part.text, end, at, &it.kind) || at + it.kind.skip >= end ||
	    !scan_packed_worth(stream->worker->probe, &it.kind, look->part.text, end, at))
		return;
	if (!it.kind.known) {
		if (it.kind.encrypted || (at == 0 && !(it.kind.damaged && map->shortened)))
			unknown_kind(stream, &it.kind);
		return;
	}
	it.bytes = look->part.text + at + it.kind.skip;
	it.len = end - at - it.kind.skip;
	if (all_spent(stream->worker)) {
		scan_incomplete(stream, it.kind.name, "data: unpacks to more than is looked at");
		return;
	}
	if (!measure(stream->worker, &it)) {
		scan_incomplete(stream, it.kind.name, "data: out of memory");
		return;
	}
	if (deferred(stream, &it) || !worth_telling(&it, map) || scan_seen(stream, it.kind.name,
	    stream->base + it.origin, stream->base + it.origin + 1, SCAN_HIGH))
		return;
	if (it.state != SCAN_PACKED_END)
		scan_incomplete(stream, it.kind.name, it.state == SCAN_PACKED_MORE ?
		    "data, cut off or too long for its encoding" : why_not(it.state) != NULL ?
		    why_not(it.state) : "data: unpacks to more than is looked at");
	look_into(look, level, &it);
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
		view_place(look, level, view, place[i]);
	free(place);
	for (i = 0; worker->engine == NULL && i < view->segments; i++)
		view_place(look, level, view, view->segment[i]);
	for (i = 0; (i = scan_classes_zlib(look->part.classes, text, look->part.len, i)) <
	    look->part.len; i++) {
		if (!picture(text, i) &&
		    scan_packed_probe(worker->probe, text, segment_end(view, i), i))
			view_place(look, level, view, i);
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
