#include "redact/inflate.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <sodium.h>
#include <zlib.h>

#define WINDOW_BITS 15
#define GZIP_BITS (16 + WINDOW_BITS)

struct inflate {
	z_stream z;
	bool gzip;
	bool begun;	/* a byte of input was seen */
	bool inside;	/* of a member, from its first byte to its last */
	bool bad;
};

static bool
is_gzip(struct slice coding)
{
	return slice_case_eq(coding, SLICE("gzip")) ||
	    slice_case_eq(coding, SLICE("x-gzip"));
}

bool
inflate_knows(struct slice coding)
{
	return is_gzip(coding) || slice_case_eq(coding, SLICE("deflate"));
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
inflate_new(struct slice coding)
{
	struct inflate *inf;

	if (!inflate_knows(coding))
		return NULL;
	inf = calloc(1, sizeof(*inf));
	if (inf == NULL)
		return NULL;
	inf->gzip = is_gzip(coding);
	inf->z.zalloc = take_memory;
	inf->z.zfree = give_memory;
	if (inflateInit2(&inf->z, inf->gzip ? GZIP_BITS : WINDOW_BITS) != Z_OK) {
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
inflate_complete(const struct inflate *inf)
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
	int bits = inf->gzip ? GZIP_BITS :
	    (first & 15) == 8 ? WINDOW_BITS : -WINDOW_BITS;

	inf->begun = inf->inside = true;
	return inflateReset2(&inf->z, bits) == Z_OK;
}

/* Between members: what to do before zlib sees a byte.  OK: go on. */
static enum inflate_result
outside(struct inflate *inf, const struct slice *in)
{
	if (inf->begun && !inf->gzip)
		return in->n == 0 ? INFLATE_END : INFLATE_BAD;
	if (in->n > 0 && !begin_member(inf, (uint8_t)in->p[0]))
		return INFLATE_BAD;
	return INFLATE_OK;
}

/* One call of zlib; *more: there may be more to do with what is here. */
static enum inflate_result
step(struct inflate *inf, struct slice *in, bool *more)
{
	int r;

	inf->z.next_in = (Bytef *)(uintptr_t)in->p;
	inf->z.avail_in = in->n < UINT_MAX ? (uInt)in->n : UINT_MAX;
	r = inflate(&inf->z, Z_NO_FLUSH);
	in->n -= (size_t)((const char *)inf->z.next_in - in->p);
	in->p = (const char *)inf->z.next_in;
	*more = in->n > 0 && inf->z.avail_out > 0;
	if (r == Z_STREAM_END) {
		inf->inside = false;
		*more &= inf->gzip;
		return inf->gzip ? INFLATE_OK : INFLATE_END;
	}
	return r == Z_OK || r == Z_BUF_ERROR ? INFLATE_OK : INFLATE_BAD;
}

enum inflate_result
inflate_feed(struct inflate *inf, struct slice *in, char *out, size_t cap,
    size_t *written)
{
	enum inflate_result r = inf->bad ? INFLATE_BAD : INFLATE_OK;
	bool more = true;

	inf->z.next_out = (Bytef *)out;
	inf->z.avail_out = cap < UINT_MAX ? (uInt)cap : UINT_MAX;
	while (r == INFLATE_OK && more) {
		if (!inf->inside)
			r = outside(inf, in);
		if (r != INFLATE_OK || !inf->inside)
			break;
		r = step(inf, in, &more);
	}
	inf->bad = r == INFLATE_BAD;
	*written = (size_t)((char *)inf->z.next_out - out);
	return r;
}
