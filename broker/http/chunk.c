#include "http/chunk.h"

#include "hex_digit.h"

/*
 * One state a byte, except inside a chunk's data, which is handed on whole.
 * A line is either a size line or a trailer; both count their bytes in `line`.
 */
enum {
	SIZE,		/* hex digits */
	EXTENSION,	/* from ';' to CR */
	SIZE_LF,
	DATA,
	DATA_CR,
	DATA_LF,
	TRAILER,	/* first byte of a trailer, or CR of the empty line */
	TRAILER_NAME,
	TRAILER_VALUE,
	TRAILER_LF,
	LAST_LF,
	END,
	BAD
};

void
chunk_init(struct chunk_decoder *decoder)
{
	*decoder = (struct chunk_decoder){ .state = SIZE };
}

static bool
is_text(unsigned char c)
{
	return (c >= 0x20 && c != 0x7f) || c == '\t';
}

static bool
is_name(unsigned char c)
{
	return c > 0x20 && c < 0x7f && strchr("\"(),/:;<=>?@[\\]{}", c) == NULL;
}

/* The state after a byte of a size line's beginning. */
static unsigned
step_size(struct chunk_decoder *d, unsigned char c)
{
	int v = hex_digit(c);

	if (v >= 0) {
		if (d->left >> 59 != 0)	/* one digit more would reach 2^63 */
			return BAD;
		d->left = d->left << 4 | (unsigned)v;
		return SIZE;
	}
	if (d->line == 1)		/* no digit at all */
		return BAD;
	return c == ';' ? EXTENSION : c == '\r' ? SIZE_LF : BAD;
}

static unsigned
step_trailer(struct chunk_decoder *d, unsigned char c)
{
	switch (d->state) {
	case TRAILER:
		return c == '\r' ? LAST_LF : is_name(c) ? TRAILER_NAME : BAD;
	case TRAILER_NAME:
		return c == ':' ? TRAILER_VALUE : is_name(c) ? TRAILER_NAME : BAD;
	case TRAILER_VALUE:
		return c == '\r' ? TRAILER_LF : is_text(c) ? TRAILER_VALUE : BAD;
	case TRAILER_LF:
		d->line = 0;
		return c == '\n' ? TRAILER : BAD;
	default:
		return c == '\n' ? END : BAD;
	}
}

static unsigned
step(struct chunk_decoder *d, unsigned char c)
{
	switch (d->state) {
	case SIZE:
		return step_size(d, c);
	case EXTENSION:
		return c == '\r' ? SIZE_LF : is_text(c) ? EXTENSION : BAD;
	case SIZE_LF:
		d->line = 0;
		return c != '\n' ? BAD : d->left > 0 ? DATA : TRAILER;
	case DATA_CR:
		d->line = 0;
		return c == '\r' ? DATA_LF : BAD;
	case DATA_LF:
		d->line = 0;
		return c == '\n' ? SIZE : BAD;
	default:
		if (++d->trailers > CHUNK_TRAILERS_MAX)
			return BAD;
		return step_trailer(d, c);
	}
}

static struct slice
take_data(struct chunk_decoder *d, struct slice *in)
{
	struct slice data = { in->p, in->n < d->left ? in->n : (size_t)d->left };

	in->p += data.n;
	in->n -= data.n;
	d->left -= data.n;
	if (d->left == 0)
		d->state = DATA_CR;
	return data;
}

enum chunk_result
chunk_decode(struct chunk_decoder *decoder, struct slice *in,
    struct slice *data)
{
	*data = (struct slice){ NULL, 0 };
	while (decoder->state != END && decoder->state != BAD) {
		if (in->n == 0)
			return CHUNK_MORE;
		if (decoder->state == DATA) {
			*data = take_data(decoder, in);
			return CHUNK_DATA;
		}
		if (++decoder->line > CHUNK_LINE_MAX)
			decoder->state = BAD;
		else
			decoder->state = step(decoder, (unsigned char)*in->p);
		in->p++;
		in->n--;
	}
	return decoder->state == END ? CHUNK_END : CHUNK_BAD;
}

size_t
chunk_head(size_t len, char *buf)
{
	static const char digits[] = "0123456789abcdef";
	size_t n = 1;

	for (size_t rest = len >> 4; rest > 0; rest >>= 4)
		n++;
	for (size_t i = n; i > 0; i--, len >>= 4)
		buf[i - 1] = digits[len & 15];
	buf[n] = '\r';
	buf[n + 1] = '\n';
	return n + 2;
}
