#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>
#include <zlib.h>
#include <zstd.h>

#include "ledger/scan/view/packed.h"

#define OUT_LEN (64 * 1024)
#define HEADER_MAX 65536	/* of gzip, with its name and comment */
#define ZSTD_BLOCK_MAX (128 * 1024)
#define WINDOW_LOG_MAX 25	/* 32 MB of memory for one zstd stream */

enum how { GZIP, ZLIB, DEFLATE, ZSTD };

struct scan_packed {
	enum how how;
	z_stream z;
	ZSTD_DStream *zstd;
	int (*sink)(void *context, const uint8_t *bytes, size_t len);
	void *context;
	uint64_t made;
	size_t wet;		/* bytes of out that were ever written */
	uint8_t out[OUT_LEN];	/* not cleared: most of what begins like a stream is none */
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
	kind->body = kind->skip;
	kind->encrypted = (p[6] & 1) != 0;
	if (method == 0 && !kind->encrypted)
		return false;
	kind->known = method == 8 && !kind->encrypted;
	return true;
}

/* Where the string at `at` ends, behind its NUL; 0: not within HEADER_MAX. */
static size_t
string_end(const uint8_t *p, size_t len, size_t at)
{
	const size_t end = len < HEADER_MAX ? len : HEADER_MAX;
	const uint8_t *nul = at < end ? memchr(p + at, 0, end - at) : NULL;

	return nul != NULL ? (size_t)(nul - p) + 1 : 0;
}

/* RFC 1952 section 2.3. */
static void
gzip_member(const uint8_t *p, size_t len, struct scan_packed_kind *kind)
{
	enum { HEADER_CRC = 2, EXTRA = 4, NAME = 8, COMMENT = 16, RESERVED = 0xe0 };
	const unsigned flags = len > 3 ? p[3] : 0;
	size_t at = 10;

	*kind = (struct scan_packed_kind){ .name = "gzip", .how = GZIP };
	if ((flags & EXTRA) != 0)
		at += len > 11 ? 2u + (p[10] | (unsigned)p[11] << 8) : 2;
	if ((flags & NAME) != 0)
		at = string_end(p, len, at);
	if (at > 0 && (flags & COMMENT) != 0)
		at = string_end(p, len, at);
	kind->body = at + ((flags & HEADER_CRC) != 0 ? 2 : 0);
	kind->damaged = (flags & RESERVED) != 0 || (at == 0 && len < HEADER_MAX);
	kind->known = !kind->damaged && at > 0;
}

/* RFC 8878 sections 3.1.1.1 and 3.1.1.2: the frame's header, and its first block's. */
static void
zstd_frame(const uint8_t *p, size_t len, struct scan_packed_kind *kind)
{
	static const unsigned dictionary[] = { 0, 1, 2, 4 }, content[] = { 0, 2, 4, 8 };
	const unsigned flags = len > 4 ? p[4] : 0, single = flags >> 5 & 1;
	const size_t at = 6 - single + dictionary[flags & 3] +
	    (flags >> 6 == 0 ? single : content[flags >> 6]);
	const unsigned block = len > at + 2 ? p[at] | (unsigned)p[at + 1] << 8 |
	    (unsigned)p[at + 2] << 16 : 0;

	*kind = (struct scan_packed_kind){ .name = "zstd", .how = ZSTD };
	kind->known = (flags & 8) == 0 && (block >> 1 & 3) != 3 && block >> 3 <= ZSTD_BLOCK_MAX;
	kind->damaged = !kind->known;
}

/* A zlib header is two bytes, and begins many an innocent text: its first
 * block must be one too. */
bool
scan_packed_zlib(const uint8_t *p, size_t len)
{
	return len > 8 && p[0] == 0x78 && (p[0] << 8 | p[1]) % 31 == 0 &&
	    (p[1] & 0x20) == 0 && (p[2] >> 1 & 3) != 3 &&
	    ((p[2] >> 1 & 3) != 0 || (p[3] ^ p[5]) == 0xff);
}

const char *
scan_packed_old(const uint8_t *p, size_t len)
{
	if (len > 2 && p[0] == 0x1f && p[1] == 0x9d && (p[2] & 0x60) == 0)
		return "compress";
	if (len > 13 && p[0] == 0x5d && p[1] == 0 && p[2] == 0 && (p[12] == 0 || p[12] == 0xff))
		return "lzma";
	return NULL;
}

bool
scan_packed_at(const uint8_t *text, size_t len, size_t at,
    struct scan_packed_kind *kind)
{
	static const struct { const char *magic; size_t len; const char *name; } other[] = {
		{ "BZh", 3, "bzip2" }, { "\xfd" "7zXZ", 5, "xz" },
		{ "7z\xbc\xaf", 4, "7z" }, { "Rar!", 4, "rar" },
		{ "\x04\x22\x4d\x18", 4, "lz4" }, { "\xff\x06\0\0sNaPpY", 10, "snappy" },
		{ "LZIP\1", 5, "lzip" }, { "MSCF\0\0\0\0", 8, "cab" },
	};
	const uint8_t *p = text + at;
	size_t i;

	len -= at;
	*kind = (struct scan_packed_kind){ .known = true };
	if (starts(p, len, "\x1f\x8b\x08", 3)) {
		gzip_member(p, len, kind);
		return true;
	}
	if (starts(p, len, "\x28\xb5\x2f\xfd", 4)) {
		zstd_frame(p, len, kind);
		return true;
	}
	if (starts(p, len, "PK\x03\x04", 4))
		return zip_member(p, len, kind);
	if (scan_packed_zlib(p, len)) {
		kind->name = "zlib";
		kind->how = ZLIB;
		return true;
	}
	kind->known = false;
	kind->name = scan_packed_old(p, len);
	if (at == 0 && kind->name != NULL)
		return true;
	for (i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
		kind->name = other[i].name;
		if (starts(p, len, other[i].magic, other[i].len))
			return true;
	}
	return false;
}

struct scan_packed *
scan_packed_new(const struct scan_packed_kind *kind,
    int (*sink)(void *context, const uint8_t *bytes, size_t len), void *context)
{
	struct scan_packed *packed = malloc(sizeof(*packed));
	int bits;

	if (packed == NULL)
		return NULL;
	memset(packed, 0, offsetof(struct scan_packed, out));
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
	sodium_memzero(packed->out, packed->wet);
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
	packed->wet = len > packed->wet ? len : packed->wet;
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
