#include "inject/inject.h"

#include "hex_digit.h"
#include "inject/basic.h"
#include "inject/aws_request.h"

#include <stdio.h>
#include <sodium.h>

/* What is written so far; full once something did not fit. */
struct out {
	char *p;
	size_t n, cap;
	bool full;
};

static void
put(struct out *out, struct slice s)
{
	if (out->full || out->cap - out->n < s.n) {
		out->full = true;
		return;
	}
	if (s.n > 0)
		memcpy(out->p + out->n, s.p, s.n);
	out->n += s.n;
}

static void
put_field(struct out *out, struct slice name, struct slice value)
{
	put(out, name);
	put(out, SLICE(": "));
	put(out, value);
	put(out, SLICE("\r\n"));
}

/* --- query -------------------------------------------------------------- */

/* The decoded byte at p, which is not the end; *n bytes were read for it. */
static char
decoded(const char *p, const char *end, size_t *n)
{
	*n = 1;
	if (*p == '%' && end - p >= 3 && hex_digit(p[1]) >= 0 && hex_digit(p[2]) >= 0) {
		*n = 3;
		return (char)(hex_digit(p[1]) << 4 | hex_digit(p[2]));
	}
	return *p;
}

static bool
key_is(struct slice key, const char *name)
{
	const char *p = key.p, *end = key.p + key.n;
	size_t n;

	while (p < end && *name != '\0') {
		char c = decoded(p, end, &n);
		if (c == '+' && n == 1)
			c = ' ';
		if (c != *name++)
			return false;
		p += n;
	}
	return p == end && *name == '\0';
}

/* The next parameter: itself, its key, and its value (p NULL without '='). */
static bool
next_parameter(struct slice *query, struct slice *all, struct slice *key,
    struct slice *value)
{
	const char *amp, *equals;

	if (query->p == NULL)
		return false;
	amp = query->n > 0 ? memchr(query->p, '&', query->n) : NULL;
	*all = *query;
	if (amp != NULL)
		all->n = (size_t)(amp - query->p);
	equals = all->n > 0 ? memchr(all->p, '=', all->n) : NULL;
	*key = *all;
	*value = (struct slice){ NULL, 0 };
	if (equals != NULL) {
		key->n = (size_t)(equals - all->p);
		*value = (struct slice){ equals + 1, all->n - key->n - 1 };
	}
	*query = amp != NULL ?
	    (struct slice){ amp + 1, query->n - all->n - 1 } :
	    (struct slice){ NULL, 0 };
	return true;
}

static void
put_percent(struct out *out, struct slice s)
{
	static const char digits[] = "0123456789ABCDEF";

	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		char escape[3] = { '%', digits[c >> 4], digits[c & 15] };
		bool plain = (c >= '0' && c <= '9') ||
		    ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
		    memchr("-._~", c, 4) != NULL;
		put(out, plain ? (struct slice){ s.p + i, 1 } :
		    (struct slice){ escape, 3 });
	}
}

/* All parameters but the slot's, then the slot. */
static void
put_query(struct out *out, const struct inject *in)
{
	struct slice query = { in->target->query, in->target->query_len };
	struct slice all, key, value;
	const struct binding *b = in->binding;
	bool placed = b != NULL && b->placement.kind == PLACE_QUERY;
	struct slice separator = SLICE("?");

	if (!placed) {
		if (query.p != NULL) {
			put(out, SLICE("?"));
			put(out, query);
		}
		return;
	}
	while (next_parameter(&query, &all, &key, &value)) {
		if (key_is(key, b->placement.name))
			continue;
		put(out, separator);
		put(out, all);
		separator = SLICE("&");
	}
	put(out, separator);
	put_percent(out, slice_of(b->placement.name));
	put(out, SLICE("="));
	put_percent(out, in->secret);
}

/* --- fields ------------------------------------------------------------- */

/* The field of this request that is the slot; none for a query's. */
static struct slice
slot_field(const struct binding *b, const struct head *head)
{
	switch (b->placement.kind) {
	case PLACE_HEADER:
		if (head_find(head, slice_of(b->placement.name)) != NULL)
			return slice_of(b->placement.name);
		break;
	case PLACE_BASIC:
	case PLACE_SIGV4:
		break;
	case PLACE_QUERY:
		return (struct slice){ NULL, 0 };
	}
	return SLICE("authorization");
}

static bool
is_signed(const struct inject *in)
{
	return in->binding != NULL && in->binding->placement.kind == PLACE_SIGV4;
}

static bool
is_left_out(const struct inject *in, struct slice slot,
    const struct head_field *f)
{
	if (slice_case_eq(f->name, SLICE("host")) ||
	    slice_case_eq(f->name, SLICE("content-length")) ||
	    slice_case_eq(f->name, SLICE("expect")) ||
	    slice_case_begins(f->name, SLICE("proxy-")) ||
	    slice_case_begins(f->name, SLICE("x-countersign-")) ||
	    head_hop_by_hop(in->head, f))
		return true;
	if (!in->keep_accept_encoding &&
	    (slice_case_eq(f->name, SLICE("accept-encoding")) ||
	    slice_case_eq(f->name, SLICE("sec-websocket-extensions"))))
		return true;
	if (is_signed(in) && aws_request_replaces(f->name))
		return true;
	return slot.p != NULL && slice_case_eq(f->name, slot);
}

/* Refused when stored, and once more here, where it would split the head. */
static bool
may_stand_in_a_field(struct slice s)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

static void
put_basic(struct out *out, const char *user, struct slice secret)
{
	size_t n;

	put(out, SLICE("Authorization: Basic "));
	if (out->full)
		return;
	n = basic_encode(slice_of(user), secret, out->p + out->n,
	    out->cap - out->n);
	if (n == 0)
		out->full = true;
	out->n += n;
	put(out, SLICE("\r\n"));
}

/* Over the head as it is written: those of its fields that go upstream. */
static bool
sign(const struct inject *in, struct slice host, const struct aws_keys *keys,
    struct aws_signed *made)
{
	struct sigv4 request = { .method = in->head->method,
	    .path = { in->target->path, in->target->path_len },
	    .query = { in->target->query, in->target->query_len },
	    .fields = { { SLICE("Host"), host } }, .n_fields = 1 };

	for (size_t i = 0; i < in->head->n_fields; i++) {
		const struct head_field *f = &in->head->fields[i];

		if (aws_request_covers(f->name) &&
		    !is_left_out(in, SLICE("authorization"), f))
			request.fields[request.n_fields++] = *f;
	}
	return aws_request_sign(in->head, &request, keys, in->body_hash, in->now, made);
}

static void
put_signed(struct out *out, const struct inject *in, struct slice host)
{
	struct aws_signed made;
	struct aws_keys keys;

	if (!aws_keys_read(in->secret, &keys) || !sign(in, host, &keys, &made)) {
		out->full = true;
		return;
	}
	put_field(out, SLICE("X-Amz-Date"), slice_of(made.time));
	if (keys.token.n > 0)
		put_field(out, SLICE("X-Amz-Security-Token"), keys.token);
	put_field(out, SLICE("Authorization"), (struct slice){ made.authorization,
	    made.authorization_len });
}

static void
put_credential(struct out *out, const struct inject *in, struct slice host)
{
	const struct placement *place = &in->binding->placement;

	switch (place->kind) {
	case PLACE_HEADER:
		if (!may_stand_in_a_field(in->secret))
			out->full = true;
		put(out, slice_of(place->name));
		put(out, SLICE(": "));
		put(out, slice_of(place->before));
		put(out, in->secret);
		put(out, slice_of(place->after));
		put(out, SLICE("\r\n"));
		break;
	case PLACE_BASIC:
		put_basic(out, place->user, in->secret);
		break;
	case PLACE_QUERY:
		break;		/* in the request line already */
	case PLACE_SIGV4:
		put_signed(out, in, host);
		break;
	}
}

static void
put_framing(struct out *out, const struct head *head)
{
	char number[24];

	if (head->framing == HEAD_CHUNKED) {
		put(out, SLICE("Transfer-Encoding: chunked\r\n"));
	} else if (head->framing == HEAD_LENGTH) {
		snprintf(number, sizeof(number), "%llu",
		    (unsigned long long)head->body_len);
		put_field(out, SLICE("Content-Length"), slice_of(number));
	}
}

static void
put_fields(struct out *out, const struct inject *in)
{
	char host[TARGET_HOST_MAX + 16];
	struct slice slot = { NULL, 0 };

	if (in->binding != NULL)
		slot = slot_field(in->binding, in->head);
	if (target_host_field(in->target, host, sizeof(host)) == 0)
		out->full = true;
	else
		put_field(out, SLICE("Host"), slice_of(host));
	for (size_t i = 0; i < in->head->n_fields; i++)
		if (!is_left_out(in, slot, &in->head->fields[i]))
			put_field(out, in->head->fields[i].name,
			    in->head->fields[i].value);
	if (!in->keep_accept_encoding)
		put(out, SLICE("Accept-Encoding: identity\r\n"));
	if (in->binding != NULL)
		put_credential(out, in, slice_of(host));
	put_framing(out, in->head);
	if (in->websocket)
		put(out, SLICE("Connection: Upgrade\r\nUpgrade: websocket\r\n"));
}

int
inject_request_head(const struct inject *in, char *out_p, size_t cap)
{
	struct out out = { out_p, 0, cap < INT32_MAX ? cap : INT32_MAX, false };

	put(&out, in->head->method);
	put(&out, SLICE(" "));
	put(&out, (struct slice){ in->target->path, in->target->path_len });
	put_query(&out, in);
	put(&out, SLICE(" HTTP/1.1\r\n"));
	put_fields(&out, in);
	put(&out, SLICE("\r\n"));
	if (!out.full)
		return (int)out.n;
	sodium_memzero(out.p, out.n);
	return -1;
}

const char *
inject_refusal(const struct head *head)
{
	if (slice_eq(head->method, SLICE("TRACE")) ||
	    slice_eq(head->method, SLICE("TRACK")))
		return "a method that sends the credential back";
	if (head_override(head) != NULL)
		return "a field that overrides method or path";
	return NULL;
}

/* As PHP has it, which is the widest: white space in front is passed over, a NUL is
 * the end, and what no variable's name may hold is '_'. */
static bool
means_method(struct slice key)
{
	static const char name[] = "_method";
	const char *p = key.p, *end = key.p + key.n;
	size_t n, at = 0;

	for (; p < end; p += n) {
		char c = decoded(p, end, &n);

		if ((c == ' ' || (c == '+' && n == 1)) && at == 0)
			continue;
		if (c == '\0')
			break;
		if (c == ' ' || c == '+' || c == '.' || c == '[')
			c = '_';
		if (at == sizeof(name) - 1 || c != name[at++])
			return false;
	}
	return at == sizeof(name) - 1;
}

static size_t
length_to(const char *stops, const char *p, const char *end)
{
	size_t n = 0;

	while (p + n < end && strchr(stops, p[n]) == NULL)
		n++;
	return n;
}

const char *
inject_query_refusal(const struct head *head, const struct target *target)
{
	const char *at = target->query, *end;

	if (!slice_eq(head->method, SLICE("POST")) || at == NULL)
		return NULL;
	end = at + target->query_len;
	for (; at < end; at += length_to("&;", at, end) + 1)
		if (means_method((struct slice){ at, length_to("=&;", at, end) }))
			return "a query parameter that overrides the method";
	return NULL;
}

/* --- what the client sent ------------------------------------------------ */

static void
trim_front(struct slice *s)
{
	while (s->n > 0 && (*s->p == ' ' || *s->p == '\t')) {
		s->p++;
		s->n--;
	}
}

/* A scheme word and white space; false where it is another. */
static bool
strip_word(struct slice *s, struct slice word)
{
	size_t n = word.n;

	/* Where it ends tells most of them apart. */
	if (s->n <= n || (s->p[n] != ' ' && s->p[n] != '\t') ||
	    !slice_case_eq((struct slice){ s->p, n }, word))
		return false;
	s->p += n;
	s->n -= n;
	trim_front(s);
	return true;
}

/* The token of "Basic …": see the header for which half it is. */
static struct slice
from_basic(struct slice encoded, char *buf, size_t cap)
{
	struct slice user, password;

	if (!basic_decode(encoded, buf, cap, &user, &password))
		return (struct slice){ buf, 0 };
	return password.n == 0 || slice_eq(password, SLICE("x-oauth-basic")) ?
	    user : password;
}

static bool
strip_template(struct slice *s, const struct placement *place)
{
	size_t before = strlen(place->before), after = strlen(place->after);

	if (before + after == 0 || s->n < before + after ||
	    strncasecmp(s->p, place->before, before) != 0 ||
	    memcmp(s->p + s->n - after, place->after, after) != 0)
		return false;
	s->p += before;
	s->n -= before + after;
	trim_front(s);
	return true;
}

/* "Bearer Bearer x" comes from a variable that has the word in it already: two
 * words are taken off, not more. */
static struct slice
from_field(struct slice value, const struct placement *place, char *buf,
    size_t cap)
{
	struct aws_scope scope;

	if (place->kind == PLACE_SIGV4)
		return aws_request_scope(value, &scope) ? scope.id :
		    (struct slice){ value.p, 0 };
	if (place->kind == PLACE_HEADER)
		strip_template(&value, place);
	if (strip_word(&value, SLICE("basic")))
		return from_basic(value, buf, cap);
	if (strip_word(&value, SLICE("bearer")) || strip_word(&value, SLICE("token")))
		(void)(strip_word(&value, SLICE("bearer")) || strip_word(&value, SLICE("token")));
	return value;
}

static struct slice
from_parameter(struct slice value, char *buf, size_t cap)
{
	const char *p = value.p, *end = value.p + value.n;
	size_t n = 0, taken;

	for (; p < end; p += taken) {
		char c = decoded(p, end, &taken);
		if (n == cap)
			return (struct slice){ buf, 0 };
		buf[n++] = c;
	}
	return (struct slice){ buf, n };
}

static struct slice
slot_in_query(const struct target *target, const struct binding *b, char *buf,
    size_t cap, unsigned *copies)
{
	struct slice query = { target->query, target->query_len };
	struct slice all, key, value, found = { NULL, 0 };

	while (next_parameter(&query, &all, &key, &value)) {
		if (!key_is(key, b->placement.name))
			continue;
		if ((*copies)++ == 0)
			found = from_parameter(value, buf, cap);
	}
	return found;
}

struct slice
inject_slot(const struct head *head, const struct target *target,
    const struct binding *binding, char *buf, size_t cap, unsigned *copies)
{
	struct slice found = { NULL, 0 }, slot = slot_field(binding, head);

	*copies = 0;
	if (slot.p == NULL)
		return slot_in_query(target, binding, buf, cap, copies);
	for (size_t i = 0; i < head->n_fields; i++) {
		if (!slice_case_eq(head->fields[i].name, slot))
			continue;
		if ((*copies)++ == 0)
			found = from_field(head->fields[i].value,
			    &binding->placement, buf, cap);
	}
	return found;
}
