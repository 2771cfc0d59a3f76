/*
 * Heads of requests (first byte even) and responses.  What is taken stays taken
 * without the bytes behind it and needs its last byte; written out again from the
 * struct and parsed, it is the same; and no value holds what could split a head.
 */
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>

#include "http/head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void
require(bool condition)
{
	if (!condition)
		abort();
}

static enum head_result
parse(bool response, const char *text, size_t len, struct head *head,
    size_t *used)
{
	struct head_error err;
	enum head_result r = response ?
	    head_parse_response(text, len, SLICE("GET"), head, used, &err) :
	    head_parse_request(text, len, head, used, &err);

	require(r != HEAD_BAD || (err.rule != NULL && err.status >= 400));
	return r;
}

static void
require_clean(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		require(s.p[i] != '\r' && s.p[i] != '\n' && s.p[i] != '\0');
}

static size_t
write_head(bool response, const struct head *head, char *out, size_t cap)
{
	size_t n = (size_t)(response ?
	    snprintf(out, cap, "HTTP/1.%u %u %.*s\r\n", head->minor, head->status,
	    (int)head->reason.n, head->reason.p) :
	    snprintf(out, cap, "%.*s %.*s HTTP/1.%u\r\n", (int)head->method.n,
	    head->method.p, (int)head->target.n, head->target.p, head->minor));

	for (size_t i = 0; i < head->n_fields; i++)
		n += (size_t)snprintf(out + n, cap - n, "%.*s: %.*s\r\n",
		    (int)head->fields[i].name.n, head->fields[i].name.p,
		    (int)head->fields[i].value.n, head->fields[i].value.p);
	return n + (size_t)snprintf(out + n, cap - n, "\r\n");
}

static void
require_same(const struct head *a, const struct head *b)
{
	require(slice_eq(a->method, b->method) && slice_eq(a->target, b->target));
	require(a->target_form == b->target_form && a->minor == b->minor);
	require(a->status == b->status && slice_eq(a->reason, b->reason));
	require(a->framing == b->framing && a->body_len == b->body_len);
	require(a->keep_alive == b->keep_alive && a->upgrade == b->upgrade);
	require(a->expect_continue == b->expect_continue);
	require(slice_eq(a->host, b->host) && a->n_fields == b->n_fields);
	for (size_t i = 0; i < a->n_fields; i++) {
		require(slice_eq(a->fields[i].name, b->fields[i].name));
		require(slice_eq(a->fields[i].value, b->fields[i].value));
		require_clean(a->fields[i].name);
		require_clean(a->fields[i].value);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct head head, again;
	static char out[2 * HEAD_BYTES_MAX];
	const char *text = (const char *)data + 1;
	size_t used = 0, used_again = 0, n;
	bool response;

	if (len == 0)
		return 0;
	response = data[0] & 1;
	if (parse(response, text, len - 1, &head, &used) != HEAD_DONE)
		return 0;
	require(used <= len - 1 && used <= HEAD_BYTES_MAX);
	require(parse(response, text, used - 1, &again, &used_again) == HEAD_MORE);
	require(parse(response, text, used, &again, &used_again) == HEAD_DONE);
	require_same(&head, &again);
	n = write_head(response, &head, out, sizeof(out));
	if (n > HEAD_BYTES_MAX)		/* white space was added */
		return 0;
	require(parse(response, out, n, &again, &used_again) == HEAD_DONE);
	require(used_again == n);
	require_same(&head, &again);
	return 0;
}
