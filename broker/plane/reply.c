/* The response's head on its way to the client: hop-by-hop fields out, framing
 * anew, the secret replaced. */
#include "plane/conn.h"

static enum reply
put(struct exchange *exchange, struct slice bytes)
{
	return buf_add(&exchange->conn->out, bytes, PUMP_OUT_MAX) == 0 ?
	    REPLY_OK : REPLY_MEMORY;
}

/* *hits counts what had to be replaced. */
static enum reply
put_redacted(struct exchange *exchange, struct slice bytes, uint32_t *hits)
{
	struct redact *redact = exchange->redact;
	struct buf *out = &exchange->conn->out;
	uint32_t before;
	char *room;

	*hits = 0;
	if (redact == NULL || bytes.n == 0)
		return put(exchange, bytes);
	room = buf_reserve(out, redact_bound(redact, bytes.n), PUMP_OUT_MAX);
	if (room == NULL)
		return REPLY_MEMORY;
	before = redact_count(redact);
	buf_commit(out, redact_feed(redact, bytes.p, bytes.n, true, room));
	*hits = redact_count(redact) - before;
	redact_reset(redact);
	exchange->redactions += *hits;
	return REPLY_OK;
}

static void
take_back(struct buf *out, size_t len)
{
	out->len = len;
}

static enum reply
put_field(struct exchange *exchange, const struct head_field *field)
{
	struct buf *out = &exchange->conn->out;
	size_t before = out->len;
	uint32_t hits;

	if (put_redacted(exchange, field->name, &hits) != REPLY_OK)
		return REPLY_MEMORY;
	if (hits > 0) {		/* a marker is no field name */
		take_back(out, before);
		return REPLY_OK;
	}
	if (put(exchange, SLICE(": ")) != REPLY_OK ||
	    put_redacted(exchange, field->value, &hits) != REPLY_OK)
		return REPLY_MEMORY;
	return put(exchange, SLICE("\r\n"));
}

#define STATUS_LINE "HTTP/1.1 000 "

static void
set_status(char *line, unsigned status)
{
	line[9] = (char)('0' + status / 100 % 10);
	line[10] = (char)('0' + status / 10 % 10);
	line[11] = (char)('0' + status % 10);
}

static enum reply
put_status(struct exchange *exchange, const struct head *head)
{
	char line[] = STATUS_LINE;
	uint32_t hits;

	set_status(line, head->status);
	if (put(exchange, slice_of(line)) != REPLY_OK ||
	    put_redacted(exchange, head->reason, &hits) != REPLY_OK)
		return REPLY_MEMORY;
	return put(exchange, SLICE("\r\n"));
}

/* --- content coding --------------------------------------------------- */

enum coding { CODING_NONE, CODING_KNOWN, CODING_OTHER };

/* What one Content-Encoding field, or several, come to. */
static enum coding
coding_of(const struct head *head, struct slice *name)
{
	enum coding result = CODING_NONE;

	for (size_t i = 0; i < head->n_fields; i++) {
		const struct head_field *field = &head->fields[i];

		if (!slice_case_eq(field->name, SLICE("Content-Encoding")) ||
		    field->value.n == 0 ||
		    slice_case_eq(field->value, SLICE("identity")))
			continue;
		if (result != CODING_NONE || !inflate_knows(field->value))
			return CODING_OTHER;
		*name = field->value;
		result = CODING_KNOWN;
	}
	return result;
}

/* --- framing ---------------------------------------------------------- */

static enum frame
frame_from(const struct head *head)
{
	return head->framing == HEAD_LENGTH ? FRAME_LENGTH :
	    head->framing == HEAD_CHUNKED ? FRAME_CHUNKED :
	    head->framing == HEAD_UNTIL_CLOSE ? FRAME_CLOSE : FRAME_NONE;
}

/* Where the length is not known beforehand. */
static enum frame
frame_open(const struct exchange *exchange)
{
	return exchange->head.minor == 0 ? FRAME_CLOSE : FRAME_CHUNKED;
}

static enum reply
put_length(struct exchange *exchange, uint64_t length)
{
	char digits[24];
	size_t at = sizeof(digits);

	digits[--at] = '\n';
	digits[--at] = '\r';
	do {
		digits[--at] = (char)('0' + length % 10);
		length /= 10;
	} while (length > 0);
	if (put(exchange, SLICE("Content-Length: ")) != REPLY_OK)
		return REPLY_MEMORY;
	return put(exchange, (struct slice){ digits + at, sizeof(digits) - at });
}

/* The framing field, the connection's fate, and the head's end. */
static enum reply
end_head(struct exchange *exchange, enum frame to, uint64_t length)
{
	struct conn *conn = exchange->conn;
	enum reply result = REPLY_OK;

	if (to == FRAME_CLOSE)
		conn->close = true;
	if (to == FRAME_LENGTH)
		result = put_length(exchange, length);
	else if (to == FRAME_CHUNKED)
		result = put(exchange, SLICE("Transfer-Encoding: chunked\r\n"));
	if (result == REPLY_OK && conn->close)
		result = put(exchange, SLICE("Connection: close\r\n"));
	else if (result == REPLY_OK && exchange->head.minor == 0)
		result = put(exchange, SLICE("Connection: keep-alive\r\n"));
	return result == REPLY_OK ? put(exchange, SLICE("\r\n")) : result;
}

/* A response without a body may still tell the length that a body would have. */
static bool
tells_length(const struct exchange *exchange, const struct head *head)
{
	return strcmp(exchange->method, "HEAD") == 0 || head->status == 304;
}

/* Alt-Svc invites the client to the same service by another way, HTTP/3 mostly,
 * which does not lead through here. */
static bool
passes(const struct exchange *exchange, const struct head *head,
    const struct head_field *field, bool decoded)
{
	if (head_hop_by_hop(head, field))
		return false;
	if (slice_case_eq(field->name, SLICE("Content-Length")) ||
	    slice_case_eq(field->name, SLICE("Alt-Svc")))
		return false;
	return !decoded || !slice_case_eq(field->name, SLICE("Content-Encoding"));
}

/* --- a head in which there is nothing to be replaced ------------------- */

/* All that of the upstream's head is passed on lies in these bytes. */
static struct slice
span_of(const struct head *head)
{
	const struct head_field *last;
	const char *begin;

	if (head->n_fields == 0)
		return head->reason;
	begin = head->reason.p != NULL ? head->reason.p :
	    head->fields[0].name.p;
	last = &head->fields[head->n_fields - 1];
	return (struct slice){ begin,
	    (size_t)(last->value.p + last->value.n - begin) };
}

/* What is found in one of its texts is found in the whole as well, since a find
 * may begin anywhere: so nearly every head is searched once instead of field
 * by field.  The room is only looked at: what is put there is not kept. */
static bool
is_clean(struct exchange *exchange, struct slice span)
{
	struct redact *redact = exchange->redact;
	uint32_t before, after;
	char *room;

	if (redact == NULL || span.n == 0)
		return true;
	room = buf_reserve(&exchange->conn->out, redact_bound(redact, span.n),
	    PUMP_OUT_MAX);
	if (room == NULL)
		return false;
	before = redact_count(redact);
	redact_feed(redact, span.p, span.n, true, room);
	after = redact_count(redact);
	redact_reset(redact);
	return after == before;
}

static char *
add(char *at, struct slice bytes)
{
	if (bytes.n > 0)
		memcpy(at, bytes.p, bytes.n);
	return at + bytes.n;
}

static enum reply
put_clean_head(struct exchange *exchange, const struct head *head, bool decoded,
    struct slice span)
{
	struct buf *out = &exchange->conn->out;
	/* Of each field the span has its ':' and line end; ours has a space. */
	size_t most = sizeof(STATUS_LINE) + 2 + span.n + head->n_fields + 2;
	char *room = buf_reserve(out, most, PUMP_OUT_MAX), *at = room;

	if (room == NULL)
		return REPLY_MEMORY;
	at = add(at, SLICE(STATUS_LINE));
	set_status(room, head->status);
	at = add(add(at, head->reason), SLICE("\r\n"));
	for (size_t i = 0; i < head->n_fields; i++) {
		const struct head_field *field = &head->fields[i];

		if (!passes(exchange, head, field, decoded))
			continue;
		at = add(add(at, field->name), SLICE(": "));
		at = add(add(at, field->value), SLICE("\r\n"));
	}
	buf_commit(out, (size_t)(at - room));
	return REPLY_OK;
}

static enum reply
put_head(struct exchange *exchange, const struct head *head, bool decoded)
{
	struct slice span = span_of(head);
	enum reply result;

	if (is_clean(exchange, span))
		return put_clean_head(exchange, head, decoded, span);
	result = put_status(exchange, head);

	for (size_t i = 0; i < head->n_fields && result == REPLY_OK; i++) {
		if (passes(exchange, head, &head->fields[i], decoded))
			result = put_field(exchange, &head->fields[i]);
	}
	return result;
}

/* --- redaction -------------------------------------------------------- */

static enum reply
want_redact(struct exchange *exchange)
{
	struct redact_needles *needles = exchange->verdict.needles;

	if (needles == NULL || exchange->redact != NULL)
		return REPLY_OK;
	exchange->redact = redact_new(needles);
	return exchange->redact != NULL ? REPLY_OK : REPLY_MEMORY;
}

uint32_t
reply_redactions(const struct exchange *exchange)
{
	const struct redact *redact = exchange->response.redact;

	return exchange->redactions + (redact == NULL ? 0 :
	    redact_count(redact) - exchange->redact_base);
}

static void
start_pump(struct exchange *exchange, enum frame from, uint64_t length,
    enum frame to, struct inflate *inflate)
{
	if (exchange->redact != NULL)
		exchange->redact_base = redact_count(exchange->redact);
	pump_init(&exchange->response, from, length, to, inflate,
	    exchange->redact);
	exchange->redact = NULL;	/* the pump's now */
	exchange->response.early.on = exchange->verdict.secret != NULL &&
	    secret_bytes(exchange->verdict.secret).n >= PUMP_EARLY_SECRET;
}

/* Of an answer that is streamed in pieces of text they are watched, too. */
static enum reply
want_pieces(struct exchange *exchange, const struct head *head)
{
	const struct head_field *type = head_find(head, SLICE("Content-Type"));
	struct redact_needles *needles = exchange->verdict.needles;

	if (needles == NULL || type == NULL || !pieces_expected(type->value))
		return REPLY_OK;
	exchange->response.pieces = pieces_new(needles);
	return exchange->response.pieces != NULL ? REPLY_OK : REPLY_MEMORY;
}

/* --- the three kinds -------------------------------------------------- */

enum reply
reply_interim(struct exchange *exchange, const struct head *head)
{
	if (exchange->head.minor == 0)
		return REPLY_OK;	/* HTTP/1.0 knows none */
	if (want_redact(exchange) != REPLY_OK ||
	    put_head(exchange, head, false) != REPLY_OK)
		return REPLY_MEMORY;
	return put(exchange, SLICE("\r\n"));
}

enum reply
reply_upgrade(struct exchange *exchange, const struct head *head)
{
	if (want_redact(exchange) != REPLY_OK ||
	    put_head(exchange, head, false) != REPLY_OK)
		return REPLY_MEMORY;
	start_pump(exchange, FRAME_CLOSE, 0, FRAME_CLOSE, NULL);
	exchange->response.stop_on_hit = true;
	return put(exchange,
	    SLICE("Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n"));
}

enum reply
reply_begin(struct exchange *exchange, const struct head *head)
{
	enum frame from = frame_from(head), to = from;
	enum coding coding = CODING_NONE;
	struct inflate *inflate = NULL;
	struct slice name;

	if (want_redact(exchange) != REPLY_OK)
		return REPLY_MEMORY;
	if (exchange->redact != NULL && from != FRAME_NONE)
		coding = coding_of(head, &name);
	if (coding == CODING_OTHER)
		return REPLY_CODING;
	if (coding == CODING_KNOWN && (inflate = inflate_new(name)) == NULL)
		return REPLY_MEMORY;
	if (from == FRAME_CHUNKED || from == FRAME_CLOSE ||
	    (from == FRAME_LENGTH && exchange->redact != NULL))
		to = frame_open(exchange);
	exchange->holding = exchange->redact != NULL && from == FRAME_LENGTH &&
	    inflate == NULL && head->body_len <= HOLD_MAX;
	if (put_head(exchange, head, inflate != NULL) != REPLY_OK) {
		inflate_free(inflate);
		return REPLY_MEMORY;
	}
	start_pump(exchange, from, head->body_len,
	    exchange->holding ? FRAME_CLOSE : to, inflate);
	if (want_pieces(exchange, head) != REPLY_OK)
		return REPLY_MEMORY;
	if (exchange->holding)
		return REPLY_OK;
	if (from == FRAME_NONE && head->status != 204 && (head->has_length ||
	    !tells_length(exchange, head)))
		to = FRAME_LENGTH;
	return end_head(exchange, to, head->body_len);
}

enum reply
reply_release(struct exchange *exchange)
{
	struct pump *pump = &exchange->response;
	enum frame to = pump->done ? FRAME_LENGTH : frame_open(exchange);
	size_t n = exchange->hold.len;
	char line[20];

	exchange->holding = false;
	pump->to = to;
	if (end_head(exchange, to, n) != REPLY_OK)
		return REPLY_MEMORY;
	if (to == FRAME_CHUNKED && n > 0 && put(exchange,
	    (struct slice){ line, chunk_head(n, line) }) != REPLY_OK)
		return REPLY_MEMORY;
	if (put(exchange, buf_slice(&exchange->hold)) != REPLY_OK)
		return REPLY_MEMORY;
	buf_free(&exchange->hold);
	return to == FRAME_CHUNKED && n > 0 ? put(exchange, SLICE("\r\n")) :
	    REPLY_OK;
}

struct buf *
reply_sink(struct exchange *exchange)
{
	return exchange->holding ? &exchange->hold : &exchange->conn->out;
}
