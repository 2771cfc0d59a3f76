/* Coded bodies: pieces of input and of room give what one block gives. */
#include <stdint.h>
#include <stdlib.h>

#include "redact/inflate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define MAX (1u << 20)

static void
require(bool condition)
{
	if (!condition)
		abort();
}

static enum inflate_result
run(struct slice coding, struct slice text, size_t piece, size_t room, char *out,
    size_t *n, bool *complete)
{
	struct inflate *inf = inflate_new(coding);
	enum inflate_result r = INFLATE_OK;
	size_t more;

	if (inf == NULL)
		abort();
	*n = 0;
	while (text.n > 0 && r == INFLATE_OK && *n < MAX - room) {
		struct slice in = { text.p, piece < text.n ? piece : text.n };
		size_t before = in.n;
		do {
			r = inflate_feed(inf, &in, out + *n, room, &more);
			require(more <= room);
			*n += more;
		} while (r == INFLATE_OK && (more > 0 || in.n > 0) && *n < MAX - room);
		text.p += before - in.n;
		text.n -= before - in.n;
	}
	*complete = inflate_complete(inf);
	inflate_free(inf);
	return r;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static char a[MAX], b[MAX];
	struct slice coding, text = { (const char *)data + 1, len - 1 };
	size_t n, m;
	bool c, d;

	if (len == 0)
		return 0;
	coding = data[0] & 1 ? SLICE("gzip") : SLICE("deflate");
	enum inflate_result r = run(coding, text, len, 4096, a, &n, &c);
	enum inflate_result q = run(coding, text, data[0] / 2 + 1, 97, b, &m, &d);
	if (n < MAX / 2) {		/* neither was stopped by its room */
		require(n == m && memcmp(a, b, n) == 0 && c == d);
		require((r == INFLATE_BAD) == (q == INFLATE_BAD));
	}
	return 0;
}
