/* Whether what begins like something packed goes on like it: a kilobyte of it is
 * unpacked with what is there already, before anything is set up for it. */
#include <stdlib.h>

#include <sodium.h>
#include <zlib.h>

#include "ledger/scan/view/packed.h"

#define PROBE_IN 4096
#define PROBE_OUT 1024	/* more than what is no zlib stream ever unpacks to */

struct scan_packed_probe {
	z_stream z;
	uint8_t out[PROBE_OUT];
};

struct scan_packed_probe *
scan_packed_probe_new(void)
{
	struct scan_packed_probe *probe = calloc(1, sizeof(*probe));

	if (probe != NULL && inflateInit(&probe->z) == Z_OK)
		return probe;
	free(probe);
	return NULL;
}

void
scan_packed_probe_free(struct scan_packed_probe *probe)
{
	if (probe == NULL)
		return;
	inflateEnd(&probe->z);
	sodium_memzero(probe->out, sizeof(probe->out));
	free(probe);
}

/* zlib's answer to the first bytes; bits as in inflateInit2. */
static int
unpack(struct scan_packed_probe *probe, const uint8_t *bytes, size_t len, int bits)
{
	z_stream *z = &probe->z;

	if (inflateReset2(z, bits) != Z_OK)
		return Z_STREAM_ERROR;
	z->next_in = (z_const Bytef *)bytes;
	z->avail_in = (uInt)len;
	z->next_out = probe->out;
	z->avail_out = PROBE_OUT;
	return inflate(z, Z_NO_FLUSH);
}

bool
scan_packed_probe(struct scan_packed_probe *probe, const uint8_t *text,
    size_t len, size_t at)
{
	int result;

	if (at >= len || !scan_packed_zlib(text + at, len - at))
		return false;
	result = unpack(probe, text + at, len - at, MAX_WBITS);
	return result == Z_STREAM_END || (result == Z_OK && probe->z.avail_out == 0);
}

bool
scan_packed_worth(struct scan_packed_probe *probe, const struct scan_packed_kind *kind,
    const uint8_t *text, size_t len, size_t at)
{
	size_t n;
	int result;

	if (!kind->known)
		return !kind->damaged || kind->sure;
	if (kind->body == 0 || kind->body >= len - at)
		return true;
	n = len - at - kind->body;
	result = unpack(probe, text + at + kind->body, n < PROBE_IN ? n : PROBE_IN, -MAX_WBITS);
	return (result != Z_DATA_ERROR && result != Z_STREAM_ERROR) ||
	    probe->z.avail_out < PROBE_OUT;
}
