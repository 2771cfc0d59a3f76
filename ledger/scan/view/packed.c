/* Where something packed begins, as its header tells. */
#include <string.h>

#include <lzma.h>

#include "ledger/scan/view/packed_impl.h"

#define HEADER_MAX 65536	/* of gzip, with its name and comment */
#define ZSTD_BLOCK_MAX (128 * 1024)
#define BZIP2_WORK 25000u	/* for each of its levels: a block of 100,000 bytes, none
				 * of which comes out if it breaks, costs as much */

static bool
starts(const uint8_t *p, size_t len, const char *magic, size_t magic_len)
{
	return len >= magic_len && memcmp(p, magic, magic_len) == 0;
}

/* The header in front of a member of a zip archive. */
static bool
zip_member(const uint8_t *p, size_t len, struct scan_packed_kind *kind)
{
	enum { STORED = 0, DEFLATED = 8, BZIPPED = 12, ZSTANDARD = 93, XZIPPED = 95 };
	unsigned method;

	if (len < 30)
		return false;
	method = p[8] | (unsigned)p[9] << 8;
	*kind = (struct scan_packed_kind){ .name = "zip",
	    .how = method == BZIPPED ? SCAN_BZIP2 : method == ZSTANDARD ? SCAN_ZSTD :
	    method == XZIPPED ? SCAN_XZ : SCAN_DEFLATE,
	    .skip = 30u + (p[26] | (unsigned)p[27] << 8) + (p[28] | (unsigned)p[29] << 8) };
	kind->work = method == BZIPPED ? 9 * BZIP2_WORK : 0;
	kind->body = method == DEFLATED ? kind->skip : 0;
	kind->encrypted = (p[6] & 1) != 0;
	if (method == STORED && !kind->encrypted)
		return false;
	kind->known = (method == DEFLATED || kind->how != SCAN_DEFLATE) && !kind->encrypted;
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

	*kind = (struct scan_packed_kind){ .name = "gzip", .how = SCAN_GZIP };
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

	*kind = (struct scan_packed_kind){ .name = "zstd", .how = SCAN_ZSTD };
	kind->known = (flags & 8) == 0 && (block >> 1 & 3) != 3 && block >> 3 <= ZSTD_BLOCK_MAX;
	kind->damaged = !kind->known;
}

/* Whether a block may go on so: it is not randomised, and its first row is in it. */
static bool
bzip2_block(const uint8_t *p, unsigned level)
{
	unsigned row = (p[14] & 0x7fu) << 17 | (unsigned)p[15] << 9 | (unsigned)p[16] << 1 | p[17] >> 7;

	return (p[14] & 0x80) == 0 && row <= 100000 * level;
}

/* Its own four bytes, and the first block's six or the end's: pi or its root. */
static bool
bzip2_stream(const uint8_t *p, size_t len, struct scan_packed_kind *kind)
{
	const unsigned level = len > 3 ? p[3] - (unsigned)'0' : 0;

	if (len < 10 || memcmp(p, "BZh", 3) != 0 || level < 1 || level > 9 ||
	    (memcmp(p + 4, "1AY&SY", 6) != 0 && memcmp(p + 4, "\x17\x72\x45\x38\x50\x90", 6) != 0))
		return false;
	*kind = (struct scan_packed_kind){ .name = "bzip2", .how = SCAN_BZIP2, .sure = true,
	    .work = BZIP2_WORK * level };
	kind->known = len < 18 || p[4] != '1' || bzip2_block(p, level);
	kind->damaged = !kind->known;
	return true;
}

/* Its header has a checksum. */
static void
xz_stream(const uint8_t *p, size_t len, struct scan_packed_kind *kind)
{
	lzma_stream_flags flags;

	*kind = (struct scan_packed_kind){ .name = "xz", .how = SCAN_XZ, .sure = true };
	kind->known = len < LZMA_STREAM_HEADER_SIZE || lzma_stream_header_decode(&flags, p) == LZMA_OK;
	kind->damaged = !kind->known;
}

/* The version, and what is reserved (LZ4 Frame Format 1.6.3). */
static void
lz4_frame(const uint8_t *p, size_t len, struct scan_packed_kind *kind)
{
	*kind = (struct scan_packed_kind){ .name = "lz4", .how = SCAN_LZ4, .sure = true };
	kind->known = len < 6 || ((p[4] & 0xc2) == 0x40 && (p[5] & 0x8f) == 0 && p[5] >> 4 >= 4);
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
		{ "7z\xbc\xaf", 4, "7z" }, { "Rar!", 4, "rar" },
		{ "\xff\x06\0\0sNaPpY", 10, "snappy" },
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
	if (starts(p, len, "\xfd" "7zXZ\0", 6)) {
		xz_stream(p, len, kind);
		return true;
	}
	if (starts(p, len, "\x04\x22\x4d\x18", 4)) {
		lz4_frame(p, len, kind);
		return true;
	}
	if (bzip2_stream(p, len, kind))
		return true;
	if (scan_packed_zlib(p, len)) {
		kind->name = "zlib";
		kind->how = SCAN_ZLIB;
		return true;
	}
	kind->name = scan_packed_old(p, len);
	kind->how = SCAN_LZMA;
	kind->known = kind->name != NULL && kind->name[0] == 'l';
	if (at == 0 && kind->name != NULL)
		return true;
	kind->known = false;
	for (i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
		kind->name = other[i].name;
		if (starts(p, len, other[i].magic, other[i].len))
			return true;
	}
	return false;
}
