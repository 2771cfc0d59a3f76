/*
 * Any request that our parser takes, signed anew: the secret key is not in it, the
 * token once, the signature is ours and the only one; and signed once more it stays
 * the same to the byte.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "inject/aws_request.h"
#include "inject/inject.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define KEY "s3cr3t+/K3y"
#define TOKEN "t0ken+/0nce"
#define HASH "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static void
require(bool condition)
{
	if (!condition)
		abort();
}

static unsigned
count(const char *p, size_t n, const char *what)
{
	const char *end = p + n;
	unsigned found = 0;

	for (; (p = memmem(p, (size_t)(end - p), what, strlen(what))) != NULL; p++)
		found++;
	return found;
}

/* Signed; the length, or -1. */
static int
sign(const char *text, size_t len, char *out, size_t cap)
{
	static const struct binding binding = { .placement = { .kind = PLACE_SIGV4 } };
	static struct head head;
	static char buf[TARGET_BUF_MAX];
	struct head_error err;
	struct target target;
	struct inject in = { .head = &head, .target = &target, .binding = &binding,
	    .secret = SLICE("aws:AKIAREAL:" KEY ":" TOKEN), .now = 1440938160,
	    .keep_accept_encoding = true };
	size_t used;

	if (head_parse_request(text, len, &head, &used, &err) != HEAD_DONE ||
	    head.target_form != HEAD_ORIGIN || aws_request_refusal(&head) != NULL ||
	    target_from_authority(head.host, 443, &target) != NULL ||
	    target_set_path(&target, head.target, buf, sizeof(buf)) != NULL)
		return -1;
	in.body_hash = aws_request_needs_body(&head) ? HASH : NULL;
	return inject_request_head(&in, out, cap);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static char out[2 * HEAD_BYTES_MAX], again[2 * HEAD_BYTES_MAX];
	static struct head head;
	struct head_error err;
	struct aws_scope scope;
	const struct head_field *field;
	const char *text = (const char *)data;
	size_t used;
	int n = sign(text, len, out, sizeof(out));

	if (n < 0)
		return 0;
	if (count(text, len, KEY) == 0)
		require(count(out, (size_t)n, KEY) == 0);
	if (count(text, len, TOKEN) == 0)
		require(count(out, (size_t)n, TOKEN) == 1);
	if (head_parse_request(out, (size_t)n, &head, &used, &err) != HEAD_DONE) {
		require(err.status == 431);	/* what is added goes over a limit */
		return 0;
	}
	field = head_find(&head, SLICE("Authorization"));
	require(field != NULL && aws_request_scope(field->value, &scope) &&
	    slice_eq(scope.id, SLICE("AKIAREAL")));
	require(aws_request_refusal(&head) == NULL);
	require(sign(out, (size_t)n, again, sizeof(again)) == n &&
	    memcmp(out, again, (size_t)n) == 0);
	return 0;
}
