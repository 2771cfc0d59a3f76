#include <stdlib.h>
#include <string.h>

#include <sodium.h>
#include <zlib.h>
#include <zstd.h>

#include "ledger/scan/view/packed.h"

#define OUT_LEN (64 * 1024)
#define PROBE_LEN 1024	/* more than what is no zlib stream ever unpacks to */
#define WINDOW_LOG_MAX 25	/* 32 MB of memory for one zstd stream */

enum how { GZIP, ZLIB, DEFLATE, ZSTD };

struct scan_packed {
	enum how how;
	z_stream z;
	ZSTD_DStream *zstd;
	int (*sink)(void *context, const uint8_t *bytes, size_t len);
	void *context;
	uint64_t made;
	uint8_t out[OUT_LEN];
};

static bool
starts(const uint8_t *p, size_t len, const char *magic, size_t magic_len)
{
	return len >= magic_len && memcmp(p, magic, magic_len) == 0;
}

/* The header in front of a member of a zip archive. */
static bool
zip_member(const uint8_t *p, size_t len, struct scan_packed_kind *kind)
{
	unsigned method;

	if (len < 30)
		return false;
	method = p[8] | (unsigned)p[9] << 8;
	*kind = (struct scan_packed_kind){ .name = "zip", .how = DEFLATE,
	    .skip = 30u + (p[26] | (unsigned)p[27] << 8) + (p[28] | (unsigned)p[29] << 8) };
	kind->encrypted = (p[6] & 1) != 0;
	if (method == 0 && !kind->encrypted)
		return false;
	kind->known = method == 8 && !kind->encrypted;
	return true;
}

/* A zlib header is two bytes, and begins many an innocent text: its first
 * block must be one too. */
static bool
zlib_header(const uint8_t *p, size_t len)
{
	return len > 8 && p[0] == 0x78 && (p[0] << 8 | p[1]) % 31 == 0 &&
	    (p[1] & 0x20) == 0 && (p[2] >> 1 & 3) != 3 &&
	    ((p[2] >> 1 & 3) != 0 || (p[3] ^ p[5]) == 0xff);
}

bool
scan_packed_at(const uint8_t *text, size_t len, size_t at,
    struct scan_packed_kind *kind)
{
	static const struct { const char *magic; size_t len; const char *name; } other[] = {
		{ "BZh", 3, "bzip2" }, { "\xfd" "7zXZ", 5, "xz" },
		{ "7z\xbc\xaf", 4, "7z" }, { "Rar!", 4, "rar" },
	};
	const uint8_t *p = text + at;
	size_t i;

	len -= at;
	*kind = (struct scan_packed_kind){ .known = true };
	if (starts(p, len, "\x1f\x8b\x08", 3)) {
		kind->name = "gzip";
		kind->how = GZIP;
		return true;
	}
	if (starts(p, len, "\x28\xb5\x2f\xfd", 4)) {
		kind->name = "zstd";
		kind->how = ZSTD;
		return true;
	}
	if (starts(p, len, "PK\x03\x04", 4))
		return zip_member(p, len, kind);
	if (zlib_header(p, len)) {
		kind->name = "zlib";
		kind->how = ZLIB;
		return true;
	}
	kind->known = false;
	for (i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
		kind->name = other[i].name;
		if (starts(p, len, other[i].magic, other[i].len))
			return true;
	}
	return false;
}

struct scan_packed_probe {
	z_stream z;
	uint8_t out[PROBE_LEN];
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

bool
scan_packed_probe(struct scan_packed_probe *probe, const uint8_t *text,
    size_t len, size_t at)
{
	z_stream *z = &probe->z;
	int result;

	if (at >= len || !zlib_header(text + at, len - at) || inflateReset(z) != Z_OK)
		return false;
	z->next_in = (z_const Bytef *)(text + at);
	z->avail_in = (uInt)(len - at);
	z->next_out = probe->out;
	z->avail_out = PROBE_LEN;
	result = inflate(z, Z_NO_FLUSH);
	return result == Z_STREAM_END || (result == Z_OK && z->avail_out == 0);
}

struct scan_packed *
scan_packed_new(const struct scan_packed_kind *kind,
    int (*sink)(void *context, const uint8_t *bytes, size_t len), void *context)
{
	struct scan_packed *packed = calloc(1, sizeof(*packed));
	int bits;

	if (packed == NULL)
		return NULL;
	packed->how = (enum how)kind->how;
	packed->sink = sink;
	packed->context = context;
	if (packed->how == ZSTD) {
		packed->zstd = ZSTD_createDStream();
		if (packed->zstd != NULL && !ZSTD_isError(ZSTD_DCtx_setParameter(
		    packed->zstd, ZSTD_d_windowLogMax, WINDOW_LOG_MAX)))
			return packed;
	} else {
		bits = packed->how == GZIP ? 15 + 16 : packed->how == ZLIB ? 15 : -15;
		if (inflateInit2(&packed->z, bits) == Z_OK)
			return packed;
	}
	scan_packed_free(packed);
	return NULL;
}

void
scan_packed_free(struct scan_packed *packed)
{
	if (packed == NULL)
		return;
	if (packed->how == ZSTD)
		ZSTD_freeDStream(packed->zstd);
	else
		inflateEnd(&packed->z);
	sodium_memzero(packed->out, sizeof(packed->out));
	free(packed);
}

uint64_t
scan_packed_made(const struct scan_packed *packed)
{
	return packed->made;
}

static int
give(struct scan_packed *packed, size_t len)
{
	packed->made += len;
	return len == 0 ? 0 : packed->sink(packed->context, packed->out, len);
}

static enum scan_packed_state
feed_zstd(struct scan_packed *packed, const uint8_t *bytes, size_t len,
    size_t *used)
{
	ZSTD_inBuffer in = { bytes, len, 0 };
	ZSTD_outBuffer out;
	size_t left;

	do {
		out = (ZSTD_outBuffer){ packed->out, OUT_LEN, 0 };
		left = ZSTD_decompressStream(packed->zstd, &out, &in);
		*used = in.pos;
		if (ZSTD_isError(left))
			return SCAN_PACKED_BROKEN;
		if (give(packed, out.pos) != 0)
			return SCAN_PACKED_STOPPED;
		if (left == 0)
			return SCAN_PACKED_END;
	} while (in.pos < in.size || out.pos == out.size);
	return SCAN_PACKED_MORE;
}

static enum scan_packed_state
feed_zlib(struct scan_packed *packed, const uint8_t *bytes, size_t len,
    size_t *used)
{
	z_stream *z = &packed->z;
	int result;

	z->next_in = (z_const Bytef *)bytes;
	z->avail_in = (uInt)len;
	do {
		z->next_out = packed->out;
		z->avail_out = OUT_LEN;
		result = inflate(z, Z_NO_FLUSH);
		*used = len - z->avail_in;
		if (give(packed, OUT_LEN - z->avail_out) != 0)
			return SCAN_PACKED_STOPPED;
		if (result == Z_STREAM_END)
			return SCAN_PACKED_END;
		if (result != Z_OK && result != Z_BUF_ERROR)
			return SCAN_PACKED_BROKEN;
	} while (z->avail_in > 0 || z->avail_out == 0);
	return SCAN_PACKED_MORE;
}

enum scan_packed_state
scan_packed_feed(struct scan_packed *packed, const uint8_t *bytes, size_t len,
    size_t *used)
{
	*used = 0;
	if (len == 0)
		return SCAN_PACKED_MORE;
	return packed->how == ZSTD ? feed_zstd(packed, bytes, len, used) :
	    feed_zlib(packed, bytes, len, used);
}
