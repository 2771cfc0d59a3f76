/*
 * First byte: how long the secret is; second: the size of the pieces; then the
 * secret, then the stream.  Pieces give what one block gives, within the bound;
 * no part between markers holds the secret raw, backwards, in hex or in base64; and a stream
 * is changed only where a marker stands.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sodium.h>

#include "redact/redact.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define MAX 16384
#define OUT (8 * MAX)

static void
require(bool condition)
{
	if (!condition)
		abort();
}

static size_t
run(struct redact *r, struct slice in, size_t piece, char *out)
{
	size_t n = 0, take, bound, got;

	redact_reset(r);
	do {
		take = piece < in.n ? piece : in.n;
		bound = redact_bound(r, take);
		require(n + bound <= OUT);
		got = redact_feed(r, in.p, take, take == in.n, out + n);
		require(got <= bound);
		n += got;
		in.p += take;
		in.n -= take;
	} while (in.n > 0);
	return n;
}

static void
require_absent(const char *p, size_t n, const char *what, size_t len)
{
	require(len == 0 || memmem(p, n, what, len) == NULL);
}

static void
require_hidden(const char *p, size_t n, struct slice secret)
{
	char hex[2 * 64 + 1], base64[128], turned[64];

	require_absent(p, n, secret.p, secret.n);
	if (secret.n < REDACT_WHOLE)
		return;
	sodium_bin2hex(hex, sizeof(hex), (const unsigned char *)secret.p, secret.n);
	require_absent(p, n, hex, strlen(hex));
	sodium_bin2base64(base64, sizeof(base64), (const unsigned char *)secret.p,
	    secret.n / 3 * 3, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	if (secret.n % 3 == 0)
		require_absent(p, n, base64, strlen(base64));
	for (size_t i = 0; i < secret.n; i++)
		turned[i] = secret.p[secret.n - 1 - i];
	require_absent(p, n, turned, secret.n);
}

/* The first marker in either spelling, or NULL. */
static const char *
next_marker(const char *p, size_t n, size_t *len)
{
	static const char plain[] = REDACT_MARKER;
	static const char wide[] = "[\0r\0e\0d\0a\0c\0t\0e\0d\0]";
	const char *a = memmem(p, n, plain, sizeof(plain) - 1);
	const char *b = memmem(p, n, wide, sizeof(wide) - 1);

	*len = a != NULL && (b == NULL || a < b) ? sizeof(plain) - 1 :
	    sizeof(wide) - 1;
	return a != NULL && (b == NULL || a < b) ? a : b;
}

/* The parts between markers stand in the input, in their order. */
static void
check_parts(struct slice in, struct slice out, struct slice secret)
{
	const char *end, *found;
	size_t marker;

	for (;;) {
		end = next_marker(out.p, out.n, &marker);
		size_t n = end != NULL ? (size_t)(end - out.p) : out.n;
		require_hidden(out.p, n, secret);
		found = n > 0 ? memmem(in.p, in.n, out.p, n) : in.p;
		require(found != NULL);
		in.n -= (size_t)(found + n - in.p);
		in.p = found + n;
		if (end == NULL)
			return;
		out.n -= n + marker;
		out.p = end + marker;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static char whole[OUT], pieces[OUT];
	struct redact_needles *needles;
	struct slice secret, in;
	struct redact *r;
	size_t n, n_marker;

	if (len < 2 || len > MAX || sodium_init() < 0)
		return 0;
	secret = (struct slice){ (const char *)data + 2, data[0] % 60 + REDACT_MIN };
	if (len - 2 < secret.n)
		return 0;
	in = (struct slice){ secret.p + secret.n, len - 2 - secret.n };
	needles = redact_needles_new(secret, "user");
	r = needles != NULL ? redact_new(needles) : NULL;
	redact_needles_unref(needles);
	if (r == NULL)
		return 0;
	n = run(r, in, MAX, whole);
	require(run(r, in, data[1] % 32 + 1, pieces) == n);
	require(memcmp(whole, pieces, n) == 0);
	if (next_marker(in.p, in.n, &n_marker) == NULL)
		check_parts(in, (struct slice){ whole, n }, secret);
	redact_free(r);
	return 0;
}
