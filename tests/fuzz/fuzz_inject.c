/*
 * Any request that our parser takes (the first byte chooses the binding) gives a
 * head that it takes again: same method, path and framing, the credential once and
 * nowhere else, no placeholder left in the slot, nothing of the hop.
 */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inject/basic.h"
#include "inject/inject.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define SECRET "s3cr3t+/Zt0ken"

static const struct binding bindings[] = {
	{ .placement = { PLACE_HEADER, (char *)"Authorization", (char *)"Bearer ",
	    (char *)"", NULL } },
	{ .placement = { PLACE_HEADER, (char *)"X-Api-Key", (char *)"",
	    (char *)"", NULL } },
	{ .placement = { PLACE_BASIC, NULL, NULL, NULL, (char *)"user" } },
	{ .placement = { PLACE_QUERY, (char *)"key", NULL, NULL, NULL } },
};

static void
require(bool condition)
{
	if (!condition)
		abort();
}

static unsigned
count(struct slice text)
{
	const char *p = text.p, *end = text.p + text.n;
	unsigned n = 0;

	for (; p < end && (p = memmem(p, (size_t)(end - p), SECRET,
	    strlen(SECRET))) != NULL; p += strlen(SECRET))
		n++;
	return n;
}

static int
hex_digit(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : isxdigit((unsigned char)c) ?
	    tolower((unsigned char)c) - 'a' + 10 : -1;
}

/* Escapes of a query undone. */
static unsigned
count_decoded(struct slice text)
{
	static char buf[HEAD_BYTES_MAX];
	size_t n = 0;

	for (size_t i = 0; i < text.n; i++)
		if (text.n - i >= 3 && text.p[i] == '%' &&
		    hex_digit(text.p[i + 1]) >= 0 && hex_digit(text.p[i + 2]) >= 0) {
			buf[n++] = (char)(hex_digit(text.p[i + 1]) << 4 |
			    hex_digit(text.p[i + 2]));
			i += 2;
		} else
			buf[n++] = text.p[i];
	return count((struct slice){ buf, n });
}

static unsigned
count_basic(struct slice value)
{
	static char buf[HEAD_BYTES_MAX];
	struct slice user, password;

	if (value.n < 6 || !slice_case_eq((struct slice){ value.p, 6 },
	    SLICE("basic ")))
		return 0;
	value.p += 6;
	value.n -= 6;
	return basic_decode(value, buf, sizeof(buf), &user, &password) ?
	    count(user) + count(password) : 0;
}

/* How often the secret stands in a head, plain or in a form that is decoded. */
static unsigned
occurrences(const struct head *head)
{
	unsigned plain = count(head->target), n = count_decoded(head->target);

	n = plain > n ? plain : n;
	for (size_t i = 0; i < head->n_fields; i++)
		n += count(head->fields[i].value) +
		    count_basic(head->fields[i].value);
	return n;
}

static void
require_injected(const struct head *head, const struct binding *binding,
    bool had)
{
	static char buf[TARGET_BUF_MAX], text[HEAD_BYTES_MAX];
	struct target t;
	struct slice slot;
	unsigned copies;

	require(target_from_authority(head->host, 443, &t) == NULL);
	require(target_set_path(&t, head->target, buf, sizeof(buf)) == NULL);
	slot = inject_slot(head, &t, binding, text, sizeof(text), &copies);
	require(copies == 1 && slice_eq(slot, SLICE(SECRET)));
	require(had || occurrences(head) == 1);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct head head, again;
	static char buf[TARGET_BUF_MAX], out[2 * HEAD_BYTES_MAX];
	struct head_error err;
	struct target target;
	struct inject in = { .head = &head, .target = &target,
	    .secret = SLICE(SECRET) };
	size_t used;
	int n;

	if (len == 0 || head_parse_request((const char *)data + 1, len - 1, &head,
	    &used, &err) != HEAD_DONE || head.target_form != HEAD_ORIGIN)
		return 0;
	if (target_from_authority(head.host, 443, &target) != NULL ||
	    target_set_path(&target, head.target, buf, sizeof(buf)) != NULL)
		return 0;
	in.binding = &bindings[data[0] & 3];
	in.keep_accept_encoding = data[0] & 4;
	in.websocket = head.upgrade;
	n = inject_request_head(&in, out, sizeof(out));
	if (n < 0)
		return 0;
	if (head_parse_request(out, (size_t)n, &again, &used, &err) != HEAD_DONE) {
		/* what we add may go over a limit that the client's head kept */
		require(err.status == 431 || err.status == 414);
		return 0;
	}
	require(used == (size_t)n && slice_eq(head.method, again.method));
	require(head.framing == again.framing && head.body_len == again.body_len);
	require(again.upgrade == head.upgrade && again.keep_alive);
	require(!again.expect_continue && again.minor == 1);
	for (size_t i = 0; i < again.n_fields && !again.upgrade; i++)
		require(head.framing == HEAD_CHUNKED ||
		    !head_hop_by_hop(&again, &again.fields[i]));
	require_injected(&again, in.binding,
	    occurrences(&head) > 0);
	return 0;
}
