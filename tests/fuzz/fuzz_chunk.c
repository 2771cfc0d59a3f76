/*
 * Chunked bodies.  The first byte is the size of the pieces: they give what one
 * block gives.  A body that was taken, chunked again by us, is the same.
 */
#include <stdint.h>
#include <stdlib.h>

#include "http/chunk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define MAX 65536

struct body {
	char p[MAX];
	size_t n, left;
	enum chunk_result end;
};

static void
require(bool condition)
{
	if (!condition)
		abort();
}

static void
decode(struct slice text, size_t piece, struct body *out)
{
	struct chunk_decoder d;
	struct slice in, data;

	out->n = 0;
	out->end = CHUNK_MORE;
	out->left = text.n;
	chunk_init(&d);
	while (text.n > 0 && out->end == CHUNK_MORE) {
		in = (struct slice){ text.p, piece < text.n ? piece : text.n };
		text.p += in.n;
		text.n -= in.n;
		while ((out->end = chunk_decode(&d, &in, &data)) == CHUNK_DATA) {
			require(data.n > 0 && out->n + data.n <= MAX);
			memcpy(out->p + out->n, data.p, data.n);
			out->n += data.n;
		}
		require(out->end != CHUNK_MORE || in.n == 0);
		out->left = in.n + text.n;
	}
}

static size_t
encode(const struct body *body, size_t piece, char *out)
{
	size_t n = 0;

	for (size_t i = 0; i < body->n; i += piece) {
		size_t len = body->n - i < piece ? body->n - i : piece;
		n += chunk_head(len, out + n);
		memcpy(out + n, body->p + i, len);
		n += len;
		memcpy(out + n, "\r\n", 2);
		n += 2;
	}
	memcpy(out + n, CHUNK_LAST, sizeof(CHUNK_LAST) - 1);
	return n + sizeof(CHUNK_LAST) - 1;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct body whole, pieces;
	static char again[MAX * 8];
	struct slice text = { (const char *)data + 1, len - 1 };
	size_t piece;

	if (len == 0 || len > MAX)
		return 0;
	piece = data[0] % 64 + 1;
	decode(text, text.n, &whole);
	decode(text, piece, &pieces);
	require(whole.end == pieces.end && whole.n == pieces.n);
	require(memcmp(whole.p, pieces.p, whole.n) == 0);
	if (whole.end != CHUNK_END)
		return 0;
	require(whole.left == pieces.left);
	text = (struct slice){ again, encode(&whole, piece, again) };
	decode(text, 7, &pieces);
	require(pieces.end == CHUNK_END && pieces.left == 0);
	require(whole.n == pieces.n && memcmp(whole.p, pieces.p, whole.n) == 0);
	return 0;
}
