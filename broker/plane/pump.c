#include "plane/pump.h"

#define CHUNK_HEAD_MAX 18

void
pump_init(struct pump *pump, enum frame from, uint64_t length, enum frame to,
    struct inflate *inflate, struct redact *redact)
{
	*pump = (struct pump){ .from = from, .left = length, .to = to,
	    .inflate = inflate, .redact = redact };
	chunk_init(&pump->chunk);
}

void
pump_free(struct pump *pump)
{
	inflate_free(pump->inflate);
	redact_free(pump->redact);
	peek_free(pump->peek);
	pieces_free(pump->pieces);
	buf_free(&pump->unseen);
	buf_free(&pump->pending);
	*pump = (struct pump){ 0 };
}

/* n bytes lie at room + CHUNK_HEAD_MAX: put the chunk's frame around them. */
static size_t
frame_chunk(char *room, size_t n)
{
	char head[CHUNK_HEAD_MAX];
	size_t head_len;

	if (n == 0)
		return 0;	/* an empty chunk would end the body */
	head_len = chunk_head(n, head);
	memcpy(room, head, head_len);
	memmove(room + head_len, room + CHUNK_HEAD_MAX, n);
	memcpy(room + head_len + n, "\r\n", 2);
	return head_len + n + 2;
}

/* --- what the redactor holds ------------------------------------------ */

/* Leave out of the n bytes at room what was let through before. */
static size_t
without_shown(struct early *early, char *room, size_t n)
{
	size_t same = 0;

	while (same < n && same < early->shown && room[same] == early->bytes[same])
		same++;
	memmove(room, room + same, n - same);
	if (same == n)
		early->shown -= same;
	else
		early->shown = 0;	/* a find began among them */
	memmove(early->bytes, early->bytes + same, early->shown);
	return n - same;
}

static void
keep_tail(struct early *early, struct slice in)
{
	size_t n = in.n < PUMP_EARLY ? in.n : PUMP_EARLY;

	memmove(early->tail, early->tail + n, PUMP_EARLY - n);
	if (n > 0)
		memcpy(early->tail + PUMP_EARLY - n, in.p + in.n - n, n);
}

/* Let through what is held, if it is little; behind the n bytes at room. */
static size_t
show_held(struct early *early, char *room, size_t n)
{
	size_t more = early->held - early->shown;

	if (early->held > PUMP_EARLY || early->held <= early->shown)
		return n;
	memcpy(room + n, early->tail + PUMP_EARLY - more, more);
	memcpy(early->bytes + early->shown, early->tail + PUMP_EARLY - more, more);
	early->shown = early->held;
	return n + more;
}

/* One step of the redactor; room has PUMP_EARLY bytes beyond its bound. */
static size_t
redact(struct pump *pump, struct slice in, bool last, char *room)
{
	struct early *early = &pump->early;
	uint32_t finds = redact_count(pump->redact);
	size_t n = redact_feed(pump->redact, in.p, in.n, last, room);

	if (!early->on)
		return n;
	if (redact_count(pump->redact) != finds)
		early->on = false;
	early->held += in.n;
	early->held -= n < early->held ? n : early->held;
	n = without_shown(early, room, n);
	keep_tail(early, in);
	return early->on && !last ? show_held(early, room, n) : n;
}

static enum pump_result
put(struct pump *pump, struct slice data, bool last, struct buf *out)
{
	size_t n = data.n, bound, lead;
	char *room;

	bound = pump->redact == NULL ? n :
	    redact_bound(pump->redact, n) + PUMP_EARLY;
	lead = pump->to == FRAME_CHUNKED ? CHUNK_HEAD_MAX : 0;
	if (bound == 0)
		return PUMP_MORE;
	if (bound > PUMP_OUT_MAX ||
	    (room = buf_reserve(out, lead + bound + 2, PUMP_OUT_MAX)) == NULL)
		return PUMP_MEMORY;
	if (pump->redact != NULL)
		n = redact(pump, data, last, room + lead);
	else
		memcpy(room + lead, data.p, n);
	if (pump->stop_on_hit && pump->redact != NULL &&
	    redact_count(pump->redact) > 0)
		return PUMP_HIT;
	/* what was replaced is in no piece any more */
	if (pump->pieces != NULL && pieces_feed(pump->pieces, (struct slice){ room + lead, n }))
		return PUMP_HIT;
	if (lead > 0)
		n = frame_chunk(room, n);
	buf_commit(out, n);
	return PUMP_MORE;
}

/* --- what a gzip file holds --------------------------------------------- */

static enum pump_result
put_unseen(struct pump *pump, bool last, struct buf *out)
{
	enum pump_result result = put(pump, buf_slice(&pump->unseen), last, out);

	buf_free(&pump->unseen);
	return result;
}

/* A piece of the file was looked at: it goes on with those held back before it, or
 * stays with them. */
static enum pump_result
looked(struct pump *pump, enum peek_result result, struct slice piece, struct buf *out)
{
	if (result == PEEK_FOUND)
		return PUMP_HIT;
	if (result == PEEK_MEMORY || buf_add(&pump->unseen, piece, PUMP_MARK) != 0)
		return PUMP_MEMORY;
	if (result == PEEK_HOLD)
		return PUMP_MORE;
	if (result == PEEK_OVER) {
		peek_free(pump->peek);
		pump->peek = NULL;
	}
	return put_unseen(pump, false, out);
}

static bool
may_be_file(struct pump *pump, struct slice data)
{
	bool first = !pump->begun && data.n > 0;

	pump->begun |= first;
	return first && pump->redact != NULL && !pump->stop_on_hit && peek_worth(*data.p);
}

static enum pump_result
emit(struct pump *pump, struct slice data, bool last, struct buf *out)
{
	enum pump_result result = PUMP_MORE;
	struct slice piece;

	if (may_be_file(pump, data) && (pump->peek = peek_new(pump->redact)) == NULL)
		return PUMP_MEMORY;
	while (pump->peek != NULL && data.n > 0 && result == PUMP_MORE) {
		piece = (struct slice){ data.p, data.n < PEEK_PIECE ? data.n : PEEK_PIECE };
		data.p += piece.n;
		data.n -= piece.n;
		result = looked(pump, peek_look(pump->peek, piece), piece, out);
	}
	if (pump->peek != NULL && last && result == PUMP_MORE)
		result = looked(pump, peek_end(pump->peek), SLICE(""), out);
	return result != PUMP_MORE || pump->peek != NULL ? result :
	    put(pump, data, last, out);
}

/* Decode what is pending, as far as the sink has room. */
static enum pump_result
drain_pending(struct pump *pump, struct buf *out)
{
	enum pump_result result = PUMP_MORE;
	char piece[PUMP_PIECE];

	while (result == PUMP_MORE) {
		struct slice in = buf_slice(&pump->pending);
		size_t before = in.n, n = 0;

		if (out->len >= PUMP_MARK)
			return PUMP_FULL;
		if (inflate_feed(pump->inflate, &in, piece, sizeof(piece), &n) ==
		    INFLATE_BAD)
			return PUMP_BAD;
		buf_take(&pump->pending, before - in.n);
		if (n == 0 && in.n == before)
			break;
		result = emit(pump, (struct slice){ piece, n }, false, out);
	}
	return result;
}

static enum pump_result
body(struct pump *pump, struct slice data, struct buf *out)
{
	pump->taken += data.n;
	if (pump->inflate == NULL)
		return emit(pump, data, false, out);
	if (buf_add(&pump->pending, data, 2 * PUMP_PIECE) != 0)
		return PUMP_MEMORY;
	return drain_pending(pump, out);
}

static enum pump_result
finish(struct pump *pump, struct buf *out)
{
	enum pump_result result = PUMP_MORE;

	if (pump->inflate != NULL && !inflate_complete(pump->inflate))
		return PUMP_BAD;
	if (pump->redact != NULL)
		result = emit(pump, (struct slice){ "", 0 }, true, out);
	if (result != PUMP_MORE)
		return result;
	if (pump->to == FRAME_CHUNKED &&
	    buf_add(out, SLICE("0\r\n\r\n"), PUMP_OUT_MAX) != 0)
		return PUMP_MEMORY;
	pump->done = true;
	return PUMP_DONE;
}

/* Take at most one piece of body off *in. */
static enum pump_result
unframe(struct pump *pump, struct slice *in, struct slice *data)
{
	struct slice window = { in->p, in->n < PUMP_PIECE ? in->n : PUMP_PIECE };
	size_t before = window.n;
	enum chunk_result result;

	*data = (struct slice){ in->p, 0 };
	if (pump->from == FRAME_CHUNKED) {
		result = chunk_decode(&pump->chunk, &window, data);
		in->p += before - window.n;
		in->n -= before - window.n;
		return result == CHUNK_BAD ? PUMP_BAD :
		    result == CHUNK_END ? PUMP_DONE : PUMP_MORE;
	}
	if (pump->from == FRAME_LENGTH && window.n > pump->left)
		window.n = pump->left;
	*data = window;
	in->p += window.n;
	in->n -= window.n;
	if (pump->from == FRAME_LENGTH)
		pump->left -= window.n;
	return PUMP_MORE;
}

static bool
over(const struct pump *pump)
{
	return pump->from == FRAME_NONE ||
	    (pump->from == FRAME_LENGTH && pump->left == 0);
}

enum pump_result
pump_feed(struct pump *pump, struct slice *in, struct buf *out)
{
	enum pump_result result;
	struct slice data;

	if (pump->done)
		return PUMP_DONE;
	if (pump->inflate != NULL &&
	    (result = drain_pending(pump, out)) != PUMP_MORE)
		return result;
	while (!over(pump) && in->n > 0) {
		if (out->len >= PUMP_MARK)
			return PUMP_FULL;
		result = unframe(pump, in, &data);
		if (result == PUMP_DONE)
			pump->from = FRAME_NONE;
		else if (result == PUMP_MORE)
			result = body(pump, data, out);
		if (result != PUMP_MORE && result != PUMP_DONE)
			return result;
	}
	return over(pump) ? finish(pump, out) : PUMP_MORE;
}

enum pump_result
pump_end(struct pump *pump, struct buf *out)
{
	enum pump_result result;

	if (pump->done)
		return PUMP_DONE;
	if (pump->inflate != NULL &&
	    (result = drain_pending(pump, out)) != PUMP_MORE)
		return result;
	if (pump->from != FRAME_CLOSE && !over(pump))
		return PUMP_CUT;
	pump->from = FRAME_NONE;
	return finish(pump, out);
}
