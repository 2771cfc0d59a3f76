/*
 * Views of base64 and base32: runs of the alphabet that are long enough, from
 * every phase, since a run may be glued to other text.  Bits of all digits say
 * from which phases a text, or something packed, may be read at all.
 */
#include "ledger/scan/view/signs.h"

#define LETTERS_MIN (SCAN_RUN_MIN * 4 / 3)
#define SHORT_BLOCKS ((SCAN_RUN_LONG + SCAN_LANE - 1) / SCAN_LANE)

bool
scan_run_new(const struct scan_part *part, const struct scan_run *run)
{
	return part->map == NULL || scan_map_new(part->map, part->at + run->start,
	    part->at + run->end);
}

/* ---- decoding ---- */

const uint8_t *
scan_decode_quads(const uint8_t *p, const uint8_t *end, uint8_t **out)
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

int
scan_decode(const struct scan_part *part, const uint8_t value[256], size_t from,
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
		from = (size_t)(scan_decode_quads(part->text + from, part->text + to, &out) -
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

int
scan_decode64(const struct scan_part *part, size_t from, size_t to, struct scan_view *view)
{
	return scan_decode(part, scan_digit[SCAN_BASE64], from, to, 6, view);
}

/* ---- short runs ---- */

/* Which of the four phases the bits of a block are of. */
static unsigned
phases_of(uint64_t bits)
{
	bits |= bits >> 32;
	bits |= bits >> 16;
	bits |= bits >> 8;
	return (unsigned)((bits | bits >> 4) & 15);
}

/* zlib's two bytes say little; in a short run they count at the beginning. */
static bool
zlib_first(const uint8_t *p)
{
	return p[0] == 'e' && (p[1] == 'J' || p[1] == 'N' || p[1] == 'A' || p[1] == 'F');
}

/* From each phase from which it may be of text, or of something packed. */
static unsigned
phases_to_read(const uint8_t *p, const struct scan_signs *sign, size_t at, size_t len)
{
	unsigned phases = phases_of(sign->text);
	uint64_t bits;
	size_t from;

	for (bits = sign->magic; bits != 0; bits &= bits - 1)
		if (scan_magic_at(p, len, at + (size_t)__builtin_ctzll(bits), &from))
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
		if ((phases & 1) != 0 && scan_decode64(part, from, run->end, view) != 0)
			return -1;
	return 0;
}

int
scan_run_others(const struct scan_part *part, const struct scan_run *run,
    const struct scan_signs *any, struct scan_view *base64, struct scan_view *base32)
{
	unsigned phase, phases = phases_of(any->turned);

	if (any->upper32 != 0 && scan_base32_runs(part, SCAN_BASE32, run, base32) != 0)
		return -1;
	if ((any->lower32 == 0 && phases == 0) ||
	    all_hex(part->text + run->start, run->end - run->start))
		return 0;
	if (any->lower32 != 0 && scan_base32_runs(part, SCAN_BASE32_LOWER, run, base32) != 0)
		return -1;
	for (phase = 0; phase < 4; phase++)
		if ((phases >> phase & 1) != 0 &&
		    scan_turned_base64(part, run, phase, base64) != 0)
			return -1;
	return 0;
}

static int
take_short(const struct scan_part *part, const struct scan_run *run,
    struct scan_view *base64, struct scan_view *base32)
{
	const uint8_t *p = part->text + run->start;
	size_t len = run->end - run->start, at;
	struct scan_planes block[SHORT_BLOCKS + 1];
	struct scan_signs any = { .text = 0 }, sign;
	unsigned phases = zlib_first(p);

	scan_signs_planes(p, len, part->len - run->start, SHORT_BLOCKS, block);
	for (at = 0; at < len; at += SCAN_LANE) {
		sign = scan_signs_of(block + at / SCAN_LANE, len - at);
		if ((sign.text | sign.magic) != 0)
			phases |= phases_to_read(p, &sign, at, len);
		scan_signs_add(&any, &sign);
	}
	return scan_run_others(part, run, &any, base64, base32) != 0 ? -1 :
	    take_phases(part, run, phases, base64);
}

/* ---- runs ---- */

static int
scan_letter_runs(const struct scan_part *part, struct scan_view *base64,
    struct scan_view *base32)
{
	const struct scan_planes *block = part->classes->block;
	size_t end = part->at + part->len, floor = part->at, b;
	struct scan_run run;
	uint64_t starts;

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
			    take_short : scan_run_long)(part, &run, base64, base32) != 0)
				return -1;
		}
	}
	return 0;
}

int
scan_view_runs(const struct scan_part *part, struct scan_view *base64,
    struct scan_view *hex, struct scan_view *base32, struct scan_view *decimal)
{
	return scan_letter_runs(part, base64, base32) != 0 ||
	    scan_hex_runs(part, hex, decimal) != 0 ? -1 : 0;
}
