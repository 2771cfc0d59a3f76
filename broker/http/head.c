#include "http/head_lex.h"

#include <stdint.h>

/*
 * The upper layer: request line, status line, and the few fields that decide
 * how a message is framed.  Each step answers DONE, MORE or BAD.
 */

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* --- what fields mean ------------------------------------------------- */

struct meaning {
	bool response;
	unsigned hosts, lengths, codings, expects, upgrades;
	bool close, keep_alive, upgrade, h2c;
};

static enum head_result
mean_connection(struct head *out, struct meaning *m, struct slice list,
    struct head_error *err)
{
	struct slice option;

	while (head_lex_element(&list, &option)) {
		if (!head_lex_is_token(option))
			return head_lex_bad(err, 400, "Connection is not a list of tokens");
		if (slice_case_eq(option, SLICE("close")))
			m->close = true;
		else if (slice_case_eq(option, SLICE("keep-alive")))
			m->keep_alive = true;
		else if (slice_case_eq(option, SLICE("upgrade")))
			m->upgrade = true;
		else
			out->connection_names = true;
	}
	return HEAD_DONE;
}

static enum head_result
mean_length(struct head *out, struct meaning *m, struct slice value,
    struct head_error *err)
{
	uint64_t n = 0;

	if (m->lengths++ > 0)
		return head_lex_bad(err, 400, "several Content-Length fields");
	if (value.n == 0 || value.n > 18)
		return head_lex_bad(err, 400, "Content-Length is not a number of at most 18 digits");
	for (size_t i = 0; i < value.n; i++) {
		if (!is_digit(value.p[i]))
			return head_lex_bad(err, 400, "Content-Length is not a number of at most 18 digits");
		n = n * 10 + (uint64_t)(value.p[i] - '0');
	}
	out->body_len = n;
	out->has_length = true;
	return HEAD_DONE;
}

static enum head_result
mean_coding(struct meaning *m, struct slice value, struct head_error *err)
{
	if (m->codings++ > 0)
		return head_lex_bad(err, 400, "several Transfer-Encoding fields");
	if (!slice_case_eq(value, SLICE("chunked")))
		return head_lex_bad(err, 501, "transfer coding other than chunked");
	return HEAD_DONE;
}

static enum head_result
mean_host(struct head *out, struct meaning *m, struct slice value,
    struct head_error *err)
{
	if (m->response)
		return HEAD_DONE;
	if (m->hosts++ > 0)
		return head_lex_bad(err, 400, "several Host fields");
	if (value.n == 0)
		return head_lex_bad(err, 400, "empty Host field");
	for (size_t i = 0; i < value.n; i++) {
		unsigned char c = (unsigned char)value.p[i];
		if (head_lex_token[c] != 1 && c != ':' && c != '[' && c != ']')
			return head_lex_bad(err, 400, "Host is not a host");
	}
	out->host = value;
	return HEAD_DONE;
}

static enum head_result
mean_expect(struct head *out, struct meaning *m, struct slice value,
    struct head_error *err)
{
	if (m->response)
		return HEAD_DONE;
	if (m->expects++ > 0 || !slice_case_eq(value, SLICE("100-continue")))
		return head_lex_bad(err, 417, "expectation other than 100-continue");
	out->expect_continue = out->minor == 1;
	return HEAD_DONE;
}

/* HTTP/2 in the clear is not switched to, and Upgrade never passed on: a client
 * that offers it, as Java's does with every request, goes on without. */
static void
mean_upgrade(struct meaning *m, struct slice list)
{
	struct slice product;

	while (head_lex_element(&list, &product)) {
		if (product.n >= 3 && strncasecmp(product.p, "h2c", 3) == 0)
			m->h2c = true;
		else
			m->upgrades++;
	}
}

static enum head_result
mean_field(struct head *out, struct meaning *m, const struct head_field *f,
    struct head_error *err)
{
	switch (f->name.n) {
	case 4:
		if (slice_case_eq(f->name, SLICE("host")))
			return mean_host(out, m, f->value, err);
		break;
	case 6:
		if (slice_case_eq(f->name, SLICE("expect")))
			return mean_expect(out, m, f->value, err);
		break;
	case 7:
		if (slice_case_eq(f->name, SLICE("upgrade")))
			mean_upgrade(m, f->value);
		break;
	case 10:
		if (slice_case_eq(f->name, SLICE("connection")))
			return mean_connection(out, m, f->value, err);
		break;
	case 14:
		if (slice_case_eq(f->name, SLICE("content-length")))
			return mean_length(out, m, f->value, err);
		if (head_lex_looks_like(f->name, SLICE("content-length")))
			return head_lex_bad(err, 400, "look-alike of Content-Length");
		break;
	case 17:
		if (slice_case_eq(f->name, SLICE("transfer-encoding")))
			return mean_coding(m, f->value, err);
		if (head_lex_looks_like(f->name, SLICE("transfer-encoding")))
			return head_lex_bad(err, 400, "look-alike of Transfer-Encoding");
		break;
	}
	return HEAD_DONE;
}

/* All fields up to the empty line. */
static enum head_result
take_fields(struct head_cursor *c, struct head *out, struct meaning *m)
{
	enum head_result r;
	struct head_field *field;

	for (;;) {
		if (c->p == c->end)
			return HEAD_MORE;
		if (*c->p == '\r')
			return head_lex_crlf(c);
		if (out->n_fields == HEAD_FIELDS_MAX)
			return head_lex_bad(c->err, 431, "too many fields");
		field = &out->fields[out->n_fields];
		if ((r = head_lex_field(c, field)) != HEAD_DONE)
			return r;
		out->n_fields++;
		if ((r = mean_field(out, m, field, c->err)) != HEAD_DONE)
			return r;
	}
}

/* What holds for both directions once all fields are read. */
static enum head_result
check_coding(const struct head *out, const struct meaning *m,
    struct head_error *err)
{
	if (m->codings > 0 && m->lengths > 0)
		return head_lex_bad(err, 400, "Transfer-Encoding together with Content-Length");
	if (m->codings > 0 && out->minor == 0)
		return head_lex_bad(err, 400, "Transfer-Encoding in HTTP/1.0");
	return HEAD_DONE;
}

static bool
keep_alive(const struct head *out, const struct meaning *m)
{
	return !m->close && (out->minor == 1 || m->keep_alive);
}

/* --- requests --------------------------------------------------------- */

/* "HTTP/1.0" or "HTTP/1.1", and nothing longer. */
static enum head_result
take_version(struct head_cursor *c, unsigned *minor)
{
	static const char want[] = "HTTP/1.";
	size_t n = (size_t)(c->end - c->p);

	for (size_t i = 0; i < 5 && i < n; i++)
		if (c->p[i] != want[i])
			return head_lex_bad(c->err, 400, "no HTTP version");
	if (n < 8)
		return HEAD_MORE;
	if (!is_digit(c->p[5]) || c->p[6] != '.' || !is_digit(c->p[7]))
		return head_lex_bad(c->err, 400, "no HTTP version");
	if (c->p[5] != '1' || c->p[7] > '1')
		return head_lex_bad(c->err, 505, "HTTP version other than 1.0 and 1.1");
	*minor = (unsigned)(c->p[7] - '0');
	c->p += 8;
	return HEAD_DONE;
}

static enum head_result
take_method(struct head_cursor *c, struct head *out)
{
	const char *begin = c->p;

	while (c->p < c->end && ((*c->p >= 'A' && *c->p <= 'Z') ||
	    *c->p == '-' || *c->p == '_' || is_digit(*c->p)))
		c->p++;
	out->method = (struct slice){ begin, (size_t)(c->p - begin) };
	if (out->method.n > HEAD_METHOD_MAX)
		return head_lex_bad(c->err, 501, "method too long");
	if (c->p == c->end)
		return HEAD_MORE;
	if (*c->p != ' ' || out->method.n == 0)
		return head_lex_bad(c->err, 400, out->method.n == 0 && *c->p == '\r' ?
		    "empty line before the request" : "method");
	c->p++;
	return HEAD_DONE;
}

static enum head_result
take_target(struct head_cursor *c, struct head *out)
{
	const char *begin = c->p;

	while (c->p < c->end && *c->p > 0x20 && *c->p < 0x7f && *c->p != '#')
		c->p++;
	out->target = (struct slice){ begin, (size_t)(c->p - begin) };
	if (out->target.n > HEAD_TARGET_MAX)
		return head_lex_bad(c->err, 414, "target too long");
	if (c->p == c->end)
		return HEAD_MORE;
	if (*c->p == '#')
		return head_lex_bad(c->err, 400, "fragment in the target");
	if (*c->p != ' ' || out->target.n == 0)
		return head_lex_bad(c->err, 400, "target");
	c->p++;
	return HEAD_DONE;
}

/* What could be a host and a port, or lacks it: target_from_authority looks at it
 * once it is known whose request it is. */
static bool
is_authority(struct slice t)
{
	for (size_t i = 0; i < t.n; i++)
		if (strchr("/?\\,", t.p[i]) != NULL)
			return false;
	return t.n > 0;
}

static bool
has_userinfo(struct slice authority)
{
	for (size_t i = 0; i < authority.n; i++) {
		if (strchr("/?\\", authority.p[i]) != NULL)
			return false;
		if (authority.p[i] == '@')
			return true;
	}
	return false;
}

static enum head_result
classify_target(struct head *out, struct head_error *err)
{
	struct slice t = out->target, rest;
	const char *colon = memchr(t.p, ':', t.n);
	bool connect = slice_eq(out->method, SLICE("CONNECT"));

	if (connect) {
		if (has_userinfo(t))
			return head_lex_bad(err, 400, "userinfo in the target");
		if (!is_authority(t))
			return head_lex_bad(err, 400, "CONNECT without host:port");
		out->target_form = HEAD_AUTHORITY;
	} else if (t.p[0] == '/') {
		out->target_form = HEAD_ORIGIN;
	} else if (slice_eq(t, SLICE("*"))) {
		if (!slice_eq(out->method, SLICE("OPTIONS")))
			return head_lex_bad(err, 400, "target * of a method other than OPTIONS");
		out->target_form = HEAD_ASTERISK;
	} else if (colon != NULL && t.n - (size_t)(colon - t.p) > 3 &&
	    colon != t.p && memcmp(colon, "://", 3) == 0) {
		rest.p = colon + 3;
		rest.n = t.n - (size_t)(rest.p - t.p);
		if (has_userinfo(rest))
			return head_lex_bad(err, 400, "userinfo in the target");
		out->target_form = HEAD_ABSOLUTE;
	} else {
		return head_lex_bad(err, 400, "target");
	}
	return HEAD_DONE;
}

static enum head_result
take_request_line(struct head_cursor *c, struct head *out)
{
	enum head_result r;

	if ((r = take_method(c, out)) != HEAD_DONE ||
	    (r = take_target(c, out)) != HEAD_DONE ||
	    (r = classify_target(out, c->err)) != HEAD_DONE ||
	    (r = take_version(c, &out->minor)) != HEAD_DONE)
		return r;
	if (c->p < c->end && *c->p != '\r' && *c->p != '\n')
		return head_lex_bad(c->err, 400, "no HTTP version");
	return head_lex_crlf(c);
}

static enum head_result
conclude_request(struct head *out, const struct meaning *m,
    struct head_error *err)
{
	bool names_host = out->target_form == HEAD_ABSOLUTE ||
	    out->target_form == HEAD_AUTHORITY;
	bool body;

	if (m->hosts == 0 && !(out->minor == 0 && names_host))
		return head_lex_bad(err, 400, "no Host field");
	if (check_coding(out, m, err) != HEAD_DONE)
		return HEAD_BAD;
	out->framing = m->codings > 0 ? HEAD_CHUNKED :
	    m->lengths > 0 ? HEAD_LENGTH : HEAD_NO_BODY;
	body = m->codings > 0 || out->body_len > 0;
	out->upgrade = m->upgrade && m->upgrades > 0 && out->minor == 1;
	if (body && out->target_form == HEAD_AUTHORITY)
		return head_lex_bad(err, 400, "CONNECT with a body");
	if (body && out->upgrade)
		return head_lex_bad(err, 400, "upgrade with a body");
	out->keep_alive = keep_alive(out, m);
	return HEAD_DONE;
}

/* --- responses -------------------------------------------------------- */

/* HTTP/1.x SP 3DIGIT [SP reason] CRLF: some servers leave out both, and nobody
 * reads the line in two ways. */
static enum head_result
take_status_line(struct head_cursor *c, struct head *out)
{
	enum head_result r;

	if ((r = take_version(c, &out->minor)) != HEAD_DONE)
		return r;
	if (c->end - c->p < 5)
		return HEAD_MORE;
	if (c->p[0] != ' ' || !is_digit(c->p[1]) || !is_digit(c->p[2]) ||
	    !is_digit(c->p[3]) || c->p[1] == '0' ||
	    (c->p[4] != ' ' && c->p[4] != '\r'))
		return head_lex_bad(c->err, 400, "status code");
	out->status = (unsigned)(c->p[1] - '0') * 100 +
	    (unsigned)(c->p[2] - '0') * 10 + (unsigned)(c->p[3] - '0');
	c->p += 4;
	out->reason = head_lex_text(c);
	return head_lex_crlf(c);
}

/* RFC 9112 section 6.3, in its order. */
static enum head_result
conclude_response(struct head *out, const struct meaning *m,
    struct slice method, struct head_error *err)
{
	bool interim = out->status < 200, success = out->status / 100 == 2;

	if (check_coding(out, m, err) != HEAD_DONE)
		return HEAD_BAD;
	out->keep_alive = keep_alive(out, m);
	if (out->status == 101) {
		if (m->h2c)
			return head_lex_bad(err, 501, "upgrade to h2c");
		out->upgrade = m->upgrade && m->upgrades > 0;
		if (!out->upgrade)
			return head_lex_bad(err, 400, "101 without an upgrade");
	}
	if ((interim || out->status == 204) &&
	    (m->codings > 0 || out->body_len > 0))
		return head_lex_bad(err, 400, "a body where the status allows none");
	if (interim || out->status == 204 || out->status == 304 ||
	    slice_eq(method, SLICE("HEAD")) ||
	    (success && slice_eq(method, SLICE("CONNECT"))))
		out->framing = HEAD_NO_BODY;
	else if (m->codings > 0)
		out->framing = HEAD_CHUNKED;
	else if (m->lengths > 0)
		out->framing = HEAD_LENGTH;
	else
		out->framing = HEAD_UNTIL_CLOSE;
	if (out->framing == HEAD_UNTIL_CLOSE)
		out->keep_alive = false;
	return HEAD_DONE;
}

/* --- the two doors ----------------------------------------------------- */

/* Everything but the fields, which n_fields covers: clearing 4 KiB for each
 * request would cost as much as parsing it. */
static void
clear(struct head *out)
{
	memset(out, 0, offsetof(struct head, fields));
	memset((char *)out + offsetof(struct head, n_fields), 0,
	    sizeof(*out) - offsetof(struct head, n_fields));
}

static enum head_result
parse(const char *buf, size_t len, const struct slice *request_method,
    struct head *out, size_t *used, struct head_error *err)
{
	struct head_cursor c = { buf,
	    buf + (len < HEAD_BYTES_MAX ? len : HEAD_BYTES_MAX), err };
	struct meaning m = { .response = request_method != NULL };
	enum head_result r;

	clear(out);
	*err = (struct head_error){ 0, NULL };
	r = m.response ? take_status_line(&c, out) : take_request_line(&c, out);
	if (r == HEAD_DONE)
		r = take_fields(&c, out, &m);
	if (r == HEAD_DONE)
		r = request_method != NULL ?
		    conclude_response(out, &m, *request_method, err) :
		    conclude_request(out, &m, err);
	if (r == HEAD_MORE && len >= HEAD_BYTES_MAX)
		r = head_lex_bad(err, 431, "head too long");
	if (r == HEAD_BAD && m.response)
		err->status = 502;
	if (r == HEAD_DONE)
		*used = (size_t)(c.p - buf);
	return r;
}

enum head_result
head_parse_request(const char *buf, size_t len, struct head *out, size_t *used,
    struct head_error *err)
{
	return parse(buf, len, NULL, out, used, err);
}

enum head_result
head_parse_response(const char *buf, size_t len, struct slice request_method,
    struct head *out, size_t *used, struct head_error *err)
{
	return parse(buf, len, &request_method, out, used, err);
}

bool
head_worth_parsing(const char *buf, size_t seen, size_t len)
{
	return len >= HEAD_BYTES_MAX || len / 2 >= seen ||
	    memchr(buf + seen, '\n', len - seen) != NULL;
}
