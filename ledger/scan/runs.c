/*
 * Views of base64 and base32: runs of the alphabet that are long enough, from
 * every phase, since a run may be glued to other text.  Bits of all digits say
 * from which phases a text, or something packed, may be read at all.
 */
#include <pthread.h>
#include <string.h>

#include "ledger/scan/classes.h"
#include "ledger/scan/runs.h"

#define LETTERS_MIN (SCAN_RUN_MIN * 4 / 3)
#define BASE32_MIN ((SCAN_RUN_MIN * 8 + 4) / 5)
#define GROUPS 5	/* of four digits, wholly inside of any text that is looked for */
#define TEXT_MIN (4 * GROUPS)
#define MARGIN 64	/* digits around a text in a long run that are decoded too */
#define BLOCKS 16	/* words of bits at a time */
#define SHORT_BLOCKS ((SCAN_RUN_LONG + SCAN_LANE - 1) / SCAN_LANE)
#define PROBED 2048	/* digits that show whether a zlib stream begins */

/* What a digit shows of the bytes that it is decoded to. */
enum { FIRST, SECOND, THIRD, UPPER32, LOWER32, MAGIC_1, MAGIC_2, MAGIC_3 };

/* Of two zlib bytes in a long run, by where in a group they begin. */
enum { EDGE_0, EDGE_0_NEXT, EDGE_1, EDGE_1_NEXT, EDGE_2, EDGE_2_NEXT };

/* What gzip, zstd and zip begin with, from each byte of a group: how many digits
 * of that group stand before it. */
static const struct magic {
	char digits[5];
	uint8_t back;
} magics[] = {
	{ "H4sI", 0 }, { "+LC", 2 }, { "-LC", 2 }, { "fiw", 3 },
	{ "KLUv", 0 }, { "i1L/", 2 }, { "i1L_", 2 }, { "otS/", 3 }, { "otS_", 3 },
	{ "UEsD", 0 }, { "BLAw", 2 }, { "QSwM", 3 },
};

static struct scan_table shown, edges;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
mark(struct scan_table *table, const char *digits, unsigned plane)
{
	for (; *digits != '\0'; digits++)
		table->of[(uint8_t)*digits] |= (uint8_t)(1u << plane);
}

/* The highest bits of a group's three bytes lie in its first three digits. */
static void
fill_tables(void)
{
	uint8_t value;
	unsigned c;

	for (c = 0; c < 256; c++) {
		value = scan_digit[SCAN_BASE64][c];
		if (value != SCAN_NO_DIGIT)
			shown.of[c] = (uint8_t)((value >> 5 & 1) << FIRST | (value >> 3 & 1) << SECOND |
			    (value >> 1 & 1) << THIRD);
		if (scan_digit[SCAN_BASE32][c] != SCAN_NO_DIGIT)
			shown.of[c] |= 1u << UPPER32;
		if (scan_digit[SCAN_BASE32_LOWER][c] != SCAN_NO_DIGIT)
			shown.of[c] |= 1u << LOWER32;
	}
	for (c = 0; c < sizeof(magics) / sizeof(magics[0]); c++) {
		shown.of[(uint8_t)magics[c].digits[0]] |= 1u << MAGIC_1;
		shown.of[(uint8_t)magics[c].digits[1]] |= 1u << MAGIC_2;
		shown.of[(uint8_t)magics[c].digits[2]] |= 1u << MAGIC_3;
	}
	/* 78 and one of 01, 5e, 9c, da */
	mark(&edges, "e", EDGE_0);
	mark(&edges, "AFJN", EDGE_0_NEXT);
	mark(&edges, "ghij", EDGE_1);
	mark(&edges, "Beca", EDGE_1_NEXT);
	mark(&edges, "4", EDGE_2);
	mark(&edges, "AXn2", EDGE_2_NEXT);
	scan_table_made(&shown);
	scan_table_made(&edges);
}

bool
scan_run_new(const struct scan_part *part, const struct scan_run *run)
{
	return part->map == NULL || scan_map_new(part->map, part->at + run->start,
	    part->at + run->end);
}

/* ---- bits ---- */

/* What begins at each of 64 digits. */
struct signs {
	uint64_t text, turned;	/* so many groups of ASCII, as they stand or turned around */
	uint64_t magic;		/* of gzip, zstd or zip, perhaps */
	uint64_t upper32, lower32;
};

/* Bits of the first n digits. */
static uint64_t
first_bits(size_t n)
{
	return n >= SCAN_LANE ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

/* Where GROUPS groups in a row are good, each four digits long. */
static uint64_t
in_a_row(unsigned __int128 good)
{
	good &= good >> 4;
	good &= good >> 8;
	return (uint64_t)(good & good >> 4);
}

static unsigned __int128
two(const struct scan_planes *block, unsigned plane)
{
	return (unsigned __int128)block[1].plane[plane] << 64 | block[0].plane[plane];
}

/* left: digits from the block's first one to the end of the run. */
static struct signs
signs_of(const struct scan_planes *block, size_t left)
{
	unsigned __int128 a = two(block, FIRST), b = two(block, SECOND), c = two(block, THIRD);
	uint64_t whole = left < TEXT_MIN ? 0 : first_bits(left - TEXT_MIN + 1);
	uint64_t own = first_bits(left);

	return (struct signs){
		.text = in_a_row(~(a | b >> 1 | c >> 2)) & whole,
		.turned = in_a_row(~(a >> 3 | b >> 2 | c >> 1)) & whole,
		.magic = block->plane[MAGIC_1] & scan_ahead(block->plane[MAGIC_2],
		    block[1].plane[MAGIC_2], 1) & scan_ahead(block->plane[MAGIC_3],
		    block[1].plane[MAGIC_3], 2) & own,
		.upper32 = scan_row(block->plane[UPPER32], block[1].plane[UPPER32],
		    BASE32_MIN) & own,
		.lower32 = scan_row(block->plane[LOWER32], block[1].plane[LOWER32],
		    BASE32_MIN) & own,
	};
}

/* Bits of up to `most` blocks of p, and of one more behind them: `left` digits of a
 * run, to the end of the last block with what stands behind it (`there` bytes in
 * all), then zeros. */
static void
planes_at(const struct scan_table *table, const uint8_t *p, size_t left, size_t there,
    size_t most, struct scan_planes *block)
{
	size_t blocks = (left + SCAN_LANE - 1) / SCAN_LANE;

	blocks = blocks < most + 1 ? blocks : most + 1;
	scan_planes_of(table, p, there < blocks * SCAN_LANE ? there : blocks * SCAN_LANE, block);
	if (blocks < most + 1)
		memset(block + blocks, 0, sizeof(*block));
}

/* Which of the four phases the bits of a block are of. */
static unsigned
phases_of(uint64_t bits)
{
	bits |= bits >> 32;
	bits |= bits >> 16;
	bits |= bits >> 8;
	return (unsigned)((bits | bits >> 4) & 15);
}

/* ---- decoding ---- */

/* Four digits at a time; returns what is left over. */
static const uint8_t *
decode_quads(const uint8_t *p, const uint8_t *end, uint8_t **out)
{
	const uint8_t *value = scan_digit[SCAN_BASE64];
	uint8_t *o = *out;
	uint32_t quad;

	for (; end - p >= 4; p += 4) {
		quad = (uint32_t)value[p[0]] << 18 | (uint32_t)value[p[1]] << 12 |
		    (uint32_t)value[p[2]] << 6 | value[p[3]];
		*o++ = (uint8_t)(quad >> 16);
		*o++ = (uint8_t)(quad >> 8);
		*o++ = (uint8_t)quad;
	}
	*out = o;
	return p;
}

/* Digits of `bits` bits each from text[from..to) into bytes. */
static int
decode(const struct scan_part *part, const uint8_t value[256], size_t from,
    size_t to, unsigned bits, struct scan_view *view)
{
	uint32_t window = 0;
	unsigned have = 0;
	uint8_t *out;
	size_t i;

	if (scan_view_room(view, (to - from) * bits / 8 + 1) != 0 ||
	    scan_view_begin(view) != 0 || scan_map_add(&view->map, view->len,
	    part->at + from, bits == 6 ? 4 : 8, bits == 6 ? 3 : 5) != 0)
		return -1;
	out = view->text + view->len;
	if (bits == 6)
		from = (size_t)(decode_quads(part->text + from, part->text + to, &out) -
		    part->text);
	for (i = from; i < to; i++) {
		window = window << bits | value[part->text[i]];
		have += bits;
		if (have >= 8) {
			have -= 8;
			*out++ = (uint8_t)(window >> have);
		}
	}
	view->len = (size_t)(out - view->text);
	return scan_view_end(view);
}

static int
decode64(const struct scan_part *part, size_t from, size_t to, struct scan_view *view)
{
	return decode(part, scan_digit[SCAN_BASE64], from, to, 6, view);
}

/* ---- base32 ---- */

/* Whether the five bytes of eight digits are ASCII, by their highest bits. */
static bool
ascii_eight(const uint8_t value[256], const uint8_t *p)
{
	return ((value[p[0]] & 16) | (value[p[1]] & 2) | (value[p[3]] & 8) |
	    (value[p[4]] & 1) | (value[p[6]] & 4)) == 0;
}

/* Any text that is looked for holds two such groups in a row: one of them is
 * the second, fourth, ... of the run. */
static bool
text32(const uint8_t value[256], const uint8_t *p, size_t len)
{
	size_t i;

	for (i = 8; i + 8 <= len; i += 16)
		if (ascii_eight(value, p + i) && (ascii_eight(value, p + i - 8) ||
		    (i + 16 <= len && ascii_eight(value, p + i + 8))))
			return true;
	return false;
}

/* The first ten bits of gzip, zstd, zip, bzip2, xz, 7z, rar; of zlib eight. */
static bool
packed32(const uint8_t value[256], const uint8_t *p)
{
	static const uint16_t first[] = { 3 << 5 | 30, 5 << 5 | 2, 10 << 5 | 1, 8 << 5 | 9,
	    31 << 5 | 20, 6 << 5 | 29, 10 << 5 | 9 };
	unsigned ten = (unsigned)value[p[0]] << 5 | value[p[1]], i;

	for (i = 0; i < sizeof(first) / sizeof(first[0]); i++)
		if (first[i] == ten)
			return true;
	return ten >> 2 == 0x78;
}

static int
take_base32(const struct scan_part *part, const uint8_t value[256],
    const struct scan_run *run, struct scan_view *view)
{
	const uint8_t *p = part->text;
	size_t from;

	for (from = run->start; from < run->start + 8; from++)
		if ((text32(value, p + from, run->end - from) || packed32(value, p + from)) &&
		    decode(part, value, from, run->end, 5, view) != 0)
			return -1;
	return 0;
}

/* Base32 of one case in a run of base64's alphabet. */
static int
inner_base32(const struct scan_part *part, enum scan_alphabet alphabet,
    const struct scan_run *run, struct scan_view *view)
{
	const uint8_t *value = scan_digit[alphabet], *p = part->text;
	struct scan_run inner = { run->start, run->start };

	for (; inner.start < run->end; inner.start = inner.end + 1) {
		inner.end = inner.start;
		while (inner.end < run->end && value[p[inner.end]] != SCAN_NO_DIGIT)
			inner.end++;
		if (inner.end - inner.start >= BASE32_MIN && scan_run_new(part, &inner) &&
		    take_base32(part, value, &inner, view) != 0)
			return -1;
	}
	return 0;
}

/* ---- what is packed ---- */

/* Whether one begins at p[at]; *from is where its group does. */
static bool
magic_at(const uint8_t *p, size_t len, size_t at, size_t *from)
{
	uint8_t bytes[12] = { 0 }, *out = bytes, *first;
	size_t i, n;

	for (i = 0; i < sizeof(magics) / sizeof(magics[0]); i++) {
		n = strlen(magics[i].digits);
		if (magics[i].digits[0] != p[at] || at < magics[i].back || len - at < n ||
		    memcmp(p + at, magics[i].digits, n) != 0)
			continue;
		*from = at - magics[i].back;
		decode_quads(p + *from, p + (len - *from < 16 ? len : *from + 16), &out);
		first = bytes + (magics[i].back == 0 ? 0 : magics[i].back - 1);
		/* gzip's flags: three are reserved */
		return first[0] != 0x1f || (first[3] & 0xe0) == 0;
	}
	return false;
}

/* zlib's two bytes say little; in a short run they count at the beginning. */
static bool
zlib_first(const uint8_t *p)
{
	return p[0] == 'e' && (p[1] == 'J' || p[1] == 'N' || p[1] == 'A' || p[1] == 'F');
}

/* Archives that are not opened are told where a long run begins with one. */
static bool
archive_first(const uint8_t *p)
{
	return memcmp(p, "Qlpo", 4) == 0 || memcmp(p, "/Td6WFo", 7) == 0 ||
	    memcmp(p, "N3q8r", 5) == 0 || memcmp(p, "UmFyI", 5) == 0;
}

/* Whether a zlib stream begins `skip` bytes behind what p is decoded to. */
static bool
zlib_at(struct scan_packed_probe *probe, const uint8_t *p, size_t len, size_t skip)
{
	uint8_t bytes[PROBED / 4 * 3], *out = bytes;
	size_t n = len < PROBED ? len : PROBED;
	struct scan_packed_kind kind;

	if (probe == NULL || n < 16)
		return false;
	decode_quads(p, p + 16, &out);
	if (!scan_packed_at(bytes, 12, skip, &kind))
		return false;
	out = bytes;
	decode_quads(p, p + n, &out);
	return scan_packed_probe(probe, bytes, (size_t)(out - bytes), skip);
}

/* ---- short runs ---- */

/* From each phase from which it may be of text, or of something packed. */
static unsigned
phases_to_read(const uint8_t *p, const struct signs *sign, size_t at, size_t len)
{
	unsigned phases = phases_of(sign->text);
	uint64_t bits;
	size_t from;

	for (bits = sign->magic; bits != 0; bits &= bits - 1)
		if (magic_at(p, len, at + (size_t)__builtin_ctzll(bits), &from))
			phases |= 1u << from % 4;
	return phases;
}

/* A hash: of which neither turned base64 nor lower base32 of a text is made. */
static bool
all_hex(const uint8_t *p, size_t len)
{
	while (len > 0 && scan_digit[SCAN_HEX][p[len - 1]] < 16)
		len--;
	return len == 0;
}

static int
take_phases(const struct scan_part *part, const struct scan_run *run,
    unsigned phases, struct scan_view *view)
{
	size_t from;

	for (from = run->start; phases != 0; from++, phases >>= 1)
		if ((phases & 1) != 0 && decode64(part, from, run->end, view) != 0)
			return -1;
	return 0;
}

/* What is seldom: turned around, or base32. */
static int
take_others(const struct scan_part *part, const struct scan_run *run,
    const struct signs *any, struct scan_view *base64, struct scan_view *base32)
{
	unsigned phase, phases = phases_of(any->turned);

	if (any->upper32 != 0 && inner_base32(part, SCAN_BASE32, run, base32) != 0)
		return -1;
	if ((any->lower32 == 0 && phases == 0) ||
	    all_hex(part->text + run->start, run->end - run->start))
		return 0;
	if (any->lower32 != 0 && inner_base32(part, SCAN_BASE32_LOWER, run, base32) != 0)
		return -1;
	for (phase = 0; phase < 4; phase++)
		if ((phases >> phase & 1) != 0 &&
		    scan_turned_base64(part, run, phase, base64) != 0)
			return -1;
	return 0;
}

static void
add_signs(struct signs *any, const struct signs *sign)
{
	any->turned |= sign->turned;
	any->upper32 |= sign->upper32;
	any->lower32 |= sign->lower32;
}

static int
take_short(const struct scan_part *part, const struct scan_run *run,
    struct scan_view *base64, struct scan_view *base32)
{
	const uint8_t *p = part->text + run->start;
	size_t len = run->end - run->start, at;
	struct scan_planes block[SHORT_BLOCKS + 1];
	struct signs any = { .text = 0 }, sign;
	unsigned phases = zlib_first(p);

	planes_at(&shown, p, len, part->len - run->start, SHORT_BLOCKS, block);
	for (at = 0; at < len; at += SCAN_LANE) {
		sign = signs_of(block + at / SCAN_LANE, len - at);
		if ((sign.text | sign.magic) != 0)
			phases |= phases_to_read(p, &sign, at, len);
		add_signs(&any, &sign);
	}
	return take_others(part, run, &any, base64, base32) != 0 ? -1 :
	    take_phases(part, run, phases, base64);
}

/* ---- long runs ---- */

/* What of a long run is to be decoded from one phase; digits from its start. */
struct extent {
	size_t from, to;	/* to 0: nothing yet */
	bool rest;		/* something packed was decoded, and all behind it */
};

struct long_run {
	const struct scan_part *part;
	struct scan_run run;
	const uint8_t *p;
	size_t len;
	struct scan_view *view;
	struct extent extent[4];
};

static int
settle(struct long_run *it, struct extent *extent)
{
	size_t start = it->run.start, to = extent->to;

	extent->to = 0;
	return to == 0 ? 0 : decode64(it->part, start + extent->from, start + to, it->view);
}

/* A text at a digit: with what is around it, joined to one that is near. */
static int
text_at(struct long_run *it, size_t at)
{
	struct extent *extent = &it->extent[at % 4];
	size_t from = at < MARGIN ? at % 4 : at - MARGIN;

	if (extent->rest)
		return 0;
	if (extent->to < from) {
		if (settle(it, extent) != 0)
			return -1;
		extent->from = from;
	}
	extent->to = it->len - at < TEXT_MIN + MARGIN ? it->len : at + TEXT_MIN + MARGIN;
	return 0;
}

/* Something packed at a digit: to the end of the run. */
static int
packed_at(struct long_run *it, size_t at)
{
	struct extent *extent = &it->extent[at % 4];

	if (extent->rest)
		return 0;
	if (settle(it, extent) != 0)
		return -1;
	extent->rest = true;
	return decode64(it->part, it->run.start + at, it->run.end, it->view);
}

static int
take_signs(struct long_run *it, const struct signs *sign, size_t at)
{
	uint64_t bits;
	size_t from;

	for (bits = sign->text; bits != 0; bits &= bits - 1)
		if (text_at(it, at + (size_t)__builtin_ctzll(bits)) != 0)
			return -1;
	for (bits = sign->magic; bits != 0; bits &= bits - 1)
		if (magic_at(it->p, it->len, at + (size_t)__builtin_ctzll(bits), &from) &&
		    packed_at(it, from) != 0)
			return -1;
	return 0;
}

/* zlib streams that begin `skip` bytes behind the group at each bit. */
static int
take_edges(struct long_run *it, uint64_t bits, size_t at, size_t back, size_t skip)
{
	size_t i;

	for (; bits != 0; bits &= bits - 1) {
		i = at + (size_t)__builtin_ctzll(bits);
		if (i < back || it->extent[(i - back) % 4].rest)
			continue;
		i -= back;
		if (zlib_at(it->part->probe, it->p + i, it->len - i, skip) &&
		    packed_at(it, i) != 0)
			return -1;
	}
	return 0;
}

static uint64_t
pair(const struct scan_planes *block, unsigned first, unsigned second)
{
	return block->plane[first] & scan_ahead(block->plane[second],
	    block[1].plane[second], 1);
}

/* Bytes of the part from a digit on. */
static size_t
there(const struct long_run *it, size_t at)
{
	return it->part->len - it->run.start - at;
}

static int
take_zlib(struct long_run *it, size_t at)
{
	struct scan_planes block[BLOCKS + 1];
	size_t i, end = it->len - at < BLOCKS * SCAN_LANE ? it->len : at + BLOCKS * SCAN_LANE;
	uint64_t own;

	planes_at(&edges, it->p + at, it->len - at, there(it, at), BLOCKS, block);
	for (i = 0; at < end; at += SCAN_LANE, i++) {
		own = first_bits(it->len - at);
		if (take_edges(it, pair(block + i, EDGE_0, EDGE_0_NEXT) & own, at, 0, 0) != 0 ||
		    take_edges(it, pair(block + i, EDGE_1, EDGE_1_NEXT) & own, at, 2, 1) != 0 ||
		    take_edges(it, pair(block + i, EDGE_2, EDGE_2_NEXT) & own, at, 3, 2) != 0)
			return -1;
	}
	return 0;
}

static int
begin_long(struct long_run *it)
{
	size_t at;

	for (at = 0; at < 4; at++)
		if ((archive_first(it->p + at) || it->part->bytes) && packed_at(it, at) != 0)
			return -1;
	return 0;
}

/* A run that is long enough to hold a file: where it is text, and from where
 * something packed begins in it. */
static int
take_long(const struct scan_part *part, const struct scan_run *run,
    struct scan_view *base64, struct scan_view *base32)
{
	struct long_run it = { part, *run, part->text + run->start, run->end - run->start,
	    base64, { { 0 } } };
	struct scan_planes block[BLOCKS + 1];
	struct signs any = { .text = 0 }, sign;
	size_t at, phase;

	if (begin_long(&it) != 0)
		return -1;
	for (at = 0; at < it.len; at += SCAN_LANE) {
		if (at % (BLOCKS * SCAN_LANE) == 0) {
			if (take_zlib(&it, at) != 0)
				return -1;
			planes_at(&shown, it.p + at, it.len - at, there(&it, at), BLOCKS, block);
		}
		sign = signs_of(block + at / SCAN_LANE % BLOCKS, it.len - at);
		if ((sign.text | sign.magic) != 0 && take_signs(&it, &sign, at) != 0)
			return -1;
		add_signs(&any, &sign);
	}
	for (phase = 0; phase < 4; phase++)
		if (settle(&it, &it.extent[phase]) != 0)
			return -1;
	return take_others(part, run, &any, base64, base32);
}

/* ---- runs ---- */

int
scan_letter_runs(const struct scan_part *part, struct scan_view *base64,
    struct scan_view *base32)
{
	const struct scan_planes *block = part->classes->block;
	size_t end = part->at + part->len, floor = part->at, b;
	struct scan_run run;
	uint64_t starts;

	pthread_once(&once, fill_tables);
	for (b = floor / SCAN_LANE; b * SCAN_LANE < end; b++) {
		starts = scan_row(block[b].plane[SCAN_LETTER], block[b + 1].plane[SCAN_LETTER],
		    LETTERS_MIN);
		while ((starts = scan_since(starts, b, floor)) != 0) {
			run.start = b * SCAN_LANE + (size_t)__builtin_ctzll(starts);
			floor = run.end = scan_plane_end(block, SCAN_LETTER, run.start, end);
			if (run.end < run.start + LETTERS_MIN)
				break;	/* of the part behind this one */
			run.start -= part->at;
			run.end -= part->at;
			if (scan_run_new(part, &run) && (run.end - run.start < SCAN_RUN_LONG ?
			    take_short : take_long)(part, &run, base64, base32) != 0)
				return -1;
		}
	}
	return 0;
}

int
scan_view_runs(const struct scan_part *part, struct scan_view *base64,
    struct scan_view *hex, struct scan_view *base32)
{
	return scan_letter_runs(part, base64, base32) != 0 ||
	    scan_hex_runs(part, hex) != 0 ? -1 : 0;
}
