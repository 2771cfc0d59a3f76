#include "plane/inflate.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <sodium.h>
#include <zlib.h>

#define WINDOW_BITS 15
#define GZIP_BITS (16 + WINDOW_BITS)

struct inflate {
	z_stream z;
	enum inflate_coding coding;
	bool begun;	/* a byte of input was seen */
	bool inside;	/* of a member, from its first byte to its last */
	bool bad;
};

enum inflate_coding
inflate_coding(struct slice value)
{
	if (value.n == 0 || slice_case_eq(value, SLICE("identity")))
		return INFLATE_IDENTITY;
	if (slice_case_eq(value, SLICE("gzip")) ||
	    slice_case_eq(value, SLICE("x-gzip")))
		return INFLATE_GZIP;
	if (slice_case_eq(value, SLICE("deflate")))
		return INFLATE_DEFLATE;
	return INFLATE_UNKNOWN;
}

/* zlib's window holds plain text of the stream, so it is wiped when given back:
 * a block remembers its size in front. */
union block {
	size_t size;
	max_align_t align;
};

static voidpf
take_memory(voidpf opaque, uInt items, uInt size)
{
	size_t n;
	union block *block;

	if (__builtin_mul_overflow((size_t)items, (size_t)size, &n) ||
	    n > SIZE_MAX - sizeof(*block))
		return Z_NULL;
	block = calloc(1, sizeof(*block) + n);
	if (block == NULL)
		return Z_NULL;
	block->size = n;
	return block + 1;
}

static void
give_memory(voidpf opaque, voidpf address)
{
	union block *block = (union block *)address - 1;

	sodium_memzero(address, block->size);
	free(block);
}

struct inflate *
inflate_new(enum inflate_coding coding)
{
	struct inflate *inf;

	if (coding != INFLATE_GZIP && coding != INFLATE_DEFLATE)
		return NULL;
	inf = calloc(1, sizeof(*inf));
	if (inf == NULL)
		return NULL;
	inf->coding = coding;
	inf->z.zalloc = take_memory;
	inf->z.zfree = give_memory;
	if (inflateInit2(&inf->z, coding == INFLATE_GZIP ? GZIP_BITS :
	    WINDOW_BITS) != Z_OK) {
		free(inf);
		return NULL;
	}
	return inf;
}

void
inflate_free(struct inflate *inf)
{
	if (inf == NULL)
		return;
	inflateEnd(&inf->z);
	free(inf);
}

bool
inflate_whole(const struct inflate *inf)
{
	return !inf->inside && !inf->bad;
}

/*
 * At the first byte of a member.  "deflate" means zlib's format, whose first
 * byte ends in 8; some servers send the bare one, where that byte would begin a
 * stored block with padding that is not zero.
 */
static bool
begin_member(struct inflate *inf, uint8_t first)
{
	int bits = inf->coding == INFLATE_GZIP ? GZIP_BITS :
	    (first & 15) == 8 ? WINDOW_BITS : -WINDOW_BITS;

	inf->begun = inf->inside = true;
	return inflateReset2(&inf->z, bits) == Z_OK;
}

static enum inflate_result
step(struct inflate *inf, struct slice *in)
{
	int r;

	if (!inf->inside) {
		if (inf->begun && inf->coding == INFLATE_DEFLATE)
			return INFLATE_END;
		if (in->n == 0)
			return INFLATE_MORE;
		if (!begin_member(inf, (uint8_t)in->p[0]))
			return INFLATE_BAD;
	}
	inf->z.next_in = (Bytef *)(uintptr_t)in->p;
	inf->z.avail_in = in->n < UINT_MAX ? (uInt)in->n : UINT_MAX;
	r = inflate(&inf->z, Z_NO_FLUSH);
	in->n -= (size_t)((const char *)inf->z.next_in - in->p);
	in->p = (const char *)inf->z.next_in;
	if (r == Z_STREAM_END)
		inf->inside = false;
	else if (r != Z_OK && r != Z_BUF_ERROR)
		return INFLATE_BAD;
	else if (inf->z.avail_out > 0 && in->n == 0)
		return INFLATE_MORE;
	return INFLATE_FULL;	/* or go on, where there is room */
}

enum inflate_result
inflate_feed(struct inflate *inf, struct slice *in, char *out, size_t cap,
    size_t *n)
{
	enum inflate_result r = inf->bad ? INFLATE_BAD : INFLATE_FULL;

	inf->z.next_out = (Bytef *)out;
	inf->z.avail_out = cap < UINT_MAX ? (uInt)cap : UINT_MAX;
	while (r == INFLATE_FULL && inf->z.avail_out > 0)
		r = step(inf, in);
	inf->bad = r == INFLATE_BAD;
	*n = (size_t)((char *)inf->z.next_out - out);
	return r;
}
