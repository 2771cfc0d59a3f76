/* Views of hexadecimal, base64 and base32: runs of the alphabet that are long
 * enough, decoded from every phase, since a run may be glued to other text. */
#include <ctype.h>
#include <pthread.h>
#include <string.h>
#include <strings.h>

#include "ledger/scan/block.h"
#include "ledger/scan/view.h"

#define OUT 0xff	/* not of the alphabet */
#define GAP 0xfe	/* may stand between two hexadecimal numbers ... */
#define APART 5		/* ... but not so many of them */

enum { BASE64, HEX, BASE32, BASE32_LOWER, KINDS };

#define LONG 240	/* digits of a run that may hold something packed */

struct run {
	size_t start, end;
};

/* What every byte counts as. */
static struct {
	uint8_t value[KINDS][256];
} alphabets;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const unsigned least[KINDS] = {
	[BASE64] = SCAN_RUN_MIN * 4 / 3,
	[HEX] = 2 * SCAN_RUN_MIN,
	[BASE32] = SCAN_RUN_MIN * 8 / 5,
	[BASE32_LOWER] = SCAN_RUN_MIN * 8 / 5,
};

static void
letters(unsigned kind, const char *order)
{
	size_t i;

	memset(alphabets.value[kind], OUT, 256);
	for (i = 0; order[i] != '\0'; i++)
		alphabets.value[kind][(uint8_t)order[i]] = (uint8_t)i;
}

static void
fill_alphabets(void)
{
	static const char gaps[] = " \t:,-xX\\\r\n";
	size_t i;

	letters(BASE64, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	    "0123456789+/");
	alphabets.value[BASE64]['-'] = 62;
	alphabets.value[BASE64]['_'] = 63;
	letters(BASE32, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567");
	letters(BASE32_LOWER, "abcdefghijklmnopqrstuvwxyz234567");
	letters(HEX, "0123456789abcdef");
	for (i = 0; i < 6; i++)
		alphabets.value[HEX]['A' + i] = (uint8_t)(10 + i);
	for (i = 0; gaps[i] != '\0'; i++)
		alphabets.value[HEX][(uint8_t)gaps[i]] = GAP;
}

/* Whether the three bytes of a group are ASCII, by their highest bits. */
static bool
ascii_group(const uint8_t *p)
{
	const uint8_t *value = alphabets.value[BASE64];

	return ((value[p[0]] & 0x20) | (value[p[1]] & 8) | (value[p[2]] & 2)) == 0;
}

/*
 * What is looked for is ASCII.  A short run is decoded from a phase only if,
 * so read, somewhere in it SCAN_RUN_MIN bytes in a row would be; a long one may
 * hold something packed, and is always decoded.
 */
static bool
base64_of_text(const uint8_t *p, size_t len)
{
	const size_t need = (SCAN_RUN_MIN - 2) / 3;
	size_t groups = len / 4, last, i;

	/* whichever group is not, none of those that need it can be */
	for (last = need - 1; last < groups; last = i + need) {
		for (i = last; ascii_group(p + 4 * i); i--)
			if (i + need == last + 1)
				return true;
	}
	return false;
}

static bool
hex_of_text(const uint8_t *p, size_t len)
{
	const uint8_t *value = alphabets.value[HEX];
	const size_t need = SCAN_RUN_MIN;
	size_t pairs = len / 2, last, i;

	for (last = need - 1; last < pairs; last = i + need) {
		for (i = last; value[p[2 * i]] < 8; i--)
			if (i + need == last + 1)
				return true;
	}
	return false;
}

/* Where one of sixteen characters may begin a magic number in base64. */
static unsigned
initials(const uint8_t *p)
{
	scan_vector c = scan_vector_load(p);

	return scan_vector_mask((scan_vector)(c == 'H') | (scan_vector)(c == 'K') |
	    (scan_vector)(c == 'U'));
}

/* From which phases something packed may begin: gzip, zstd and zip anywhere, and
 * zlib, whose two bytes say little, at the beginning. */
static unsigned
base64_of_packed(const uint8_t *p, size_t len)
{
	unsigned phases = 0, mask;
	size_t i, at;

	if (p[0] == 'e' && (p[1] == 'J' || p[1] == 'N' || p[1] == 'A' || p[1] == 'F'))
		phases = 1;
	for (i = 0; i + 4 <= len; i += SCAN_VECTOR) {
		mask = i + SCAN_VECTOR <= len ? initials(p + i) : UINT32_MAX;
		for (; mask != 0; mask &= mask - 1) {
			at = i + (size_t)__builtin_ctz(mask);
			if (at + 4 > len)
				break;
			if (memcmp(p + at, "H4sI", 4) == 0 || memcmp(p + at, "KLUv", 4) == 0 ||
			    memcmp(p + at, "UEsD", 4) == 0)
				phases |= 1u << at % 4;
		}
	}
	return phases;
}

static bool
hex_of_packed(const uint8_t *p)
{
	if (*p != '1' && *p != '2' && *p != '5' && *p != '7')
		return false;
	return strncasecmp((const char *)p, "1f8b08", 6) == 0 ||
	    strncasecmp((const char *)p, "28b52ffd", 8) == 0 ||
	    strncasecmp((const char *)p, "504b0304", 8) == 0 || memcmp(p, "78", 2) == 0;
}

/* Four digits at a time; returns what is left over. */
static const uint8_t *
decode_quads(const uint8_t *p, const uint8_t *end, uint8_t **out)
{
	const uint8_t *value = alphabets.value[BASE64];
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

/* ---- hexadecimal ---- */

/* Forget a segment that is too short for anything. */
static int
settle(struct scan_view *view)
{
	size_t start = view->segment[view->segments - 1];

	if (view->len - start >= SCAN_RUN_MIN)
		return scan_view_end(view);
	view->len = start;
	view->segments--;
	while (view->map.n > 0 && view->map.stretch[view->map.n - 1].out >= start)
		view->map.n--;
	return 0;
}

/* The number's digits [from, to), skipping a first one where phase is 1. */
static int
hex_number(const struct scan_part *part, const uint8_t value[256], size_t from,
    size_t to, struct scan_view *view)
{
	const uint8_t *p = part->text;

	if (scan_map_add(&view->map, view->len, part->at + from, 2, 1) != 0)
		return -1;
	for (; to - from >= 2; from += 2)
		view->text[view->len++] =
		    (uint8_t)(value[p[from]] << 4 | value[p[from + 1]]);
	return 0;
}

static size_t
digits_end(const struct scan_part *part, const uint8_t value[256], size_t at,
    size_t end)
{
	while (at < end && value[part->text[at]] < 16)
		at++;
	return at;
}

/*
 * Numbers of one or more bytes each, with at most three characters between
 * two, "0x" and "\x" among them.  With phase 1, only of long ones that may be
 * glued to something, the first digit skipped.
 */
static int
hex_run(const struct scan_part *part, const uint8_t value[256],
    const struct run *run, unsigned phase, struct scan_view *view)
{
	size_t at = run->start, end, gap = 0;

	if (scan_view_room(view, (run->end - run->start) / 2 + 1) != 0 ||
	    scan_view_begin(view) != 0)
		return -1;
	while (at < run->end) {
		if (value[part->text[at]] == GAP) {
			gap++;
			at++;
			continue;
		}
		end = digits_end(part, value, at, run->end);
		if (end < run->end && (part->text[end] | 0x20) == 'x' && end - at == 1) {
			at = end + 1;	/* "0x" */
			continue;
		}
		if (end - at >= 2 * SCAN_RUN_MIN && end - at < LONG &&
		    !hex_of_packed(part->text + at + phase) &&
		    !hex_of_text(part->text + at + phase, end - at - phase)) {
			at = end;
			gap = APART;
			continue;
		}
		if (gap >= APART || end - at < 2 || (phase == 1 && end - at < 2 * SCAN_RUN_MIN)) {
			if (settle(view) != 0 || scan_view_room(view,
			    (run->end - at) / 2 + 1) != 0 || scan_view_begin(view) != 0)
				return -1;
		}
		if (end - at >= 2 + phase &&
		    hex_number(part, value, at + phase, end, view) != 0)
			return -1;
		at = end;
		gap = 0;
	}
	return settle(view);
}

/* ---- dumps ---- */

#define DUMP_BYTES 32	/* of one line, at most */
#define DUMP_TEXT 128	/* behind its numbers, at most */
#define DUMP_OFFSET 7	/* digits of the least offset that is told from a number */

/* One line of `hexdump -C` or xxd: offset, numbers, the same as text. */
struct dump_line {
	uint64_t offset;
	size_t number[DUMP_BYTES], digits[DUMP_BYTES];	/* where, how many */
	unsigned numbers, bytes;
	size_t end;		/* behind the line end */
};

static uint64_t
hex_value(const uint8_t *p, size_t digits)
{
	uint64_t n = 0;

	while (digits-- > 0)
		n = n << 4 | alphabets.value[HEX][*p++];
	return n;
}

/* The line at `at`; false where it is none of a dump. */
static bool
dump_line(const struct scan_part *part, size_t at, struct dump_line *line)
{
	const uint8_t *value = alphabets.value[HEX], *p = part->text, *lf;
	size_t end = digits_end(part, value, at, part->len), spaces, most;

	*line = (struct dump_line){ .numbers = 0 };
	if (end - at < DUMP_OFFSET || end - at > 16 || end == part->len)
		return false;
	line->offset = hex_value(p + at, end - at);
	most = p[end] == ':' ? 1 : 2;	/* spaces between two numbers */
	at = end + (p[end] == ':');
	while (line->numbers < DUMP_BYTES && line->bytes < DUMP_BYTES) {
		for (spaces = 0; at < part->len && p[at] == ' '; at++)
			spaces++;
		end = digits_end(part, value, at, part->len);
		if (spaces == 0 || spaces > most || end == at || (end - at) % 2 != 0 ||
		    end - at > 16 || (end < part->len && !isspace(p[end])))
			break;
		line->number[line->numbers] = at;
		line->digits[line->numbers++] = end - at;
		line->bytes += (unsigned)(end - at) / 2;
		at = end;
	}
	most = part->len - at < DUMP_TEXT ? part->len - at : DUMP_TEXT;
	lf = memchr(p + at, '\n', most);
	line->end = lf == NULL ? at + most : (size_t)(lf + 1 - p);
	return line->numbers > 0 && (lf != NULL || line->end == part->len);
}

/*
 * Lines of a dump from `at` on, each at the offset where the one before ended:
 * one segment.  *end is behind them; at where there are none of any use.
 */
static int
take_dump(const struct scan_part *part, size_t at, struct scan_view *view, size_t *end)
{
	struct dump_line line;
	uint64_t offset = 0;
	unsigned i, lines = 0;

	*end = at;
	if (!dump_line(part, at, &line))
		return 0;
	if (scan_view_begin(view) != 0)
		return -1;
	do {
		if (lines++ > 0 && line.offset != offset)
			break;
		if (scan_view_room(view, DUMP_BYTES + 8) != 0)
			return -1;
		for (i = 0; i < line.numbers; i++)
			if (hex_number(part, alphabets.value[HEX], line.number[i],
			    line.number[i] + line.digits[i], view) != 0)
				return -1;
		offset = line.offset + line.bytes;
		*end = line.end;
	} while (dump_line(part, line.end, &line));
	return settle(view);
}

/* Where in the beginning of a run a dump begins: at a line's start. */
static int
find_dump(const struct scan_part *part, const struct run *run, struct scan_view *view,
    size_t *end)
{
	const uint8_t *p = part->text, *lf;
	size_t at = run->start;

	*end = at;
	if (at > 0 && p[at - 1] != '\n') {
		lf = memchr(p + at, '\n', run->end - at);
		if (lf == NULL)
			return 0;
		at = (size_t)(lf + 1 - p);
	}
	return take_dump(part, at, view, end);
}

/* ---- runs ---- */

/* Base64 from each phase from which it may be of text. */
static int
take_base64(const struct scan_part *part, const struct run *run,
    struct scan_view *view)
{
	unsigned packed = base64_of_packed(part->text + run->start,
	    run->end - run->start);
	size_t from;

	for (from = run->start; from < run->start + 4; from++) {
		if (run->end - from < LONG && (packed >> (from - run->start) & 1) == 0 &&
		    !base64_of_text(part->text + from, run->end - from))
			continue;
		if (decode(part, alphabets.value[BASE64], from, run->end, 6, view) != 0)
			return -1;
	}
	return 0;
}

/* The three bytes of a group that was turned around, as ascii_group. */
static bool
turned_group(const uint8_t *p)
{
	const uint8_t *value = alphabets.value[BASE64];

	return ((value[p[3]] & 0x20) | (value[p[2]] & 8) | (value[p[1]] & 2)) == 0;
}

/* What the encoding ended with, two or three digits, stands at the beginning. */
static uint8_t *
decode_lead(const uint8_t *p, unsigned lead, uint8_t *out)
{
	const uint8_t *value = alphabets.value[BASE64];

	if (lead == 3)
		*out++ = (uint8_t)(value[p[1]] << 4 | value[p[0]] >> 2);
	*out++ = lead == 3 ? (uint8_t)(value[p[2]] << 2 | value[p[1]] >> 4) :
	    (uint8_t)(value[p[1]] << 2 | value[p[0]] >> 4);
	return out;
}

/* Groups [from, to) that were turned around, and `lead` digits before, each into its bytes turned around:
 * so the view holds the text backwards, and runs the way its source does. */
static int
decode_turned(const struct scan_part *part, unsigned lead, size_t from, size_t to,
    struct scan_view *view)
{
	const uint8_t *value = alphabets.value[BASE64], *p = part->text + from;
	uint32_t quad;
	uint8_t *out;

	if (scan_view_room(view, to - from + 2) != 0 || scan_view_begin(view) != 0 ||
	    scan_map_add(&view->map, view->len, part->at + from - lead, 4, 3) != 0)
		return -1;
	out = view->text + view->len;
	if (lead > 1)
		out = decode_lead(p - lead, lead, out);
	for (; p < part->text + to; p += 4) {
		quad = (uint32_t)value[p[3]] << 18 | (uint32_t)value[p[2]] << 12 |
		    (uint32_t)value[p[1]] << 6 | value[p[0]];
		*out++ = (uint8_t)quad;
		*out++ = (uint8_t)(quad >> 8);
		*out++ = (uint8_t)(quad >> 16);
	}
	view->len = (size_t)(out - view->text);
	return scan_view_end(view);
}

/* Base64 that was turned around, from one phase: only where enough groups in a
 * row are ASCII, with one more at each end. */
static int
take_turned(const struct scan_part *part, const struct run *run, unsigned phase,
    struct scan_view *view)
{
	const size_t need = (SCAN_RUN_MIN - 2) / 3, from = run->start + phase;
	const uint8_t *p = part->text + from;
	size_t groups = (run->end - from) / 4, last, first, end;

	for (last = need - 1; last < groups; last = first + need) {
		for (first = last; turned_group(p + 4 * first) && first + need > last + 1;
		    first--)
			;
		if (!turned_group(p + 4 * first))
			continue;
		for (end = last + 1; end < groups && turned_group(p + 4 * end); end++)
			;
		while (first > 0 && turned_group(p + 4 * (first - 1)))
			first--;
		first -= first > 0;
		end += end < groups;
		if (decode_turned(part, first == 0 ? phase : 0, from + 4 * first, from + 4 * end, view) != 0)
			return -1;
		first = end - 1;
	}
	return 0;
}

static int
take_base32(const struct scan_part *part, unsigned kind, const struct run *run,
    struct scan_view *view)
{
	size_t from;

	for (from = run->start; from < run->start + 8; from++)
		if (decode(part, alphabets.value[kind], from, run->end, 5, view) != 0)
			return -1;
	return 0;
}

/* Which of two half blocks are of base64's alphabet throughout. */
static inline unsigned
full_halves(const uint8_t *p)
{
	scan_vector c = scan_vector_load(p);
	uint64_t half[2];

	scan_vector_halves(scan_vector_within(c | 0x20, 'a', 'z') |
	    scan_vector_within(c, '/', '9') | (scan_vector)(c == '+') |
	    (scan_vector)(c == '-') | (scan_vector)(c == '_'), half);
	return (half[0] == UINT64_MAX) | (unsigned)(half[1] == UINT64_MAX) << 1;
}

/* Around text[at]; as far as the alphabet goes. */
static struct run
widen(const struct scan_part *part, unsigned kind, size_t floor, size_t at)
{
	const uint8_t *value = alphabets.value[kind];
	struct run run = { at, at + 1 };

	while (run.start > floor && value[part->text[run.start - 1]] != OUT)
		run.start--;
	while (kind == BASE64 && run.end + SCAN_VECTOR <= part->len &&
	    full_halves(part->text + run.end) == 3)
		run.end += SCAN_VECTOR;
	while (run.end < part->len && value[part->text[run.end]] != OUT)
		run.end++;
	return run;
}

/* What was there in the text below was decoded from there. */
static bool
is_new(const struct scan_part *part, const struct run *run)
{
	return part->map == NULL || scan_map_new(part->map, part->at + run->start,
	    part->at + run->end);
}

/* Base32 of one case in a run of base64's alphabet. */
static int
inner_base32(const struct scan_part *part, unsigned kind, const struct run *run,
    struct scan_view *view)
{
	const uint8_t *value = alphabets.value[kind];
	struct run inner;
	size_t at;

	for (at = run->start + least[kind] - 1; at < run->end; at += least[kind]) {
		if (value[part->text[at]] == OUT)
			continue;
		inner = widen(part, kind, run->start, at);
		at = inner.end;
		if (inner.end - inner.start >= least[kind] && is_new(part, &inner) &&
		    take_base32(part, kind, &inner, view) != 0)
			return -1;
	}
	return 0;
}

/* A hash: of which neither turned base64 nor lower base32 of a text is made. */
static bool
all_hex(const uint8_t *p, size_t len)
{
	scan_vector c;
	size_t i;

	for (i = 0; i < len; i += SCAN_VECTOR) {
		c = scan_vector_load(p + (len - i < SCAN_VECTOR ? len - SCAN_VECTOR : i));
		if (scan_vector_mask(scan_vector_within(c, '0', '9') |
		    scan_vector_within(c | 0x20, 'a', 'f')) != 0xffff)
			return false;
	}
	return true;
}

/* A run of base64's alphabet; base32 may lie in it. */
static int
take_letters(const struct scan_part *part, const struct run *run,
    struct scan_view *base64, struct scan_view *base32)
{
	unsigned phase;

	if (!is_new(part, run))
		return 0;
	if (inner_base32(part, BASE32, run, base32) != 0)
		return -1;
	if (all_hex(part->text + run->start, run->end - run->start))
		return take_base64(part, run, base64);
	if (inner_base32(part, BASE32_LOWER, run, base32) != 0)
		return -1;
	for (phase = 0; phase < 4; phase++)
		if (take_turned(part, run, phase, base64) != 0)
			return -1;
	return take_base64(part, run, base64);
}

/* A run of base64 that is long enough fills two half blocks in a row. */
static int
letter_runs(const struct scan_part *part, struct scan_view *base64,
    struct scan_view *base32)
{
	size_t at = 0, floor = 0;
	unsigned before = 0, now;
	struct run run;

	for (; at + SCAN_VECTOR <= part->len; at += SCAN_VECTOR, before = now) {
		now = full_halves(part->text + at);
		if (now != 3 && !((now & 1) != 0 && (before & 2) != 0))
			continue;
		if (at < floor)
			continue;
		run = widen(part, BASE64, floor, at);
		floor = run.end;
		if (run.end - run.start >= least[BASE64] &&
		    take_letters(part, &run, base64, base32) != 0)
			return -1;
	}
	/* what the last whole block does not show */
	for (at = part->len; at > floor && part->len - at <= 2 * SCAN_VECTOR &&
	    alphabets.value[BASE64][part->text[at - 1]] == OUT; at--)
		;
	if (at == floor)
		return 0;
	run = widen(part, BASE64, floor, at - 1);
	return run.end - run.start < least[BASE64] ? 0 :
	    take_letters(part, &run, base64, base32);
}

/* Whether p may lie in a run of numbers: a digit is not far. */
static bool
hex_near(const uint8_t *p)
{
	const uint8_t *value = alphabets.value[HEX];

	return value[p[0]] != OUT && (value[p[0]] < 16 || value[p[1]] < 16 ||
	    value[p[2]] < 16 || value[p[3]] < 16);
}

/* A run of hexadecimal numbers covers two neighbours of every 16th byte. */
static int
hex_runs(const struct scan_part *part, struct scan_view *hex)
{
	const uint8_t *value = alphabets.value[HEX], *p = part->text;
	size_t at = 0, floor = 0, dumped = 0, end;
	struct run run;

	for (; at + 20 <= part->len; at += 16) {
		/* all three at once: alone, each is as likely as not */
		if (((value[p[at]] == OUT) | (value[p[at + 8]] == OUT) |
		    (value[p[at + 16]] == OUT)) != 0 || at < floor ||
		    !hex_near(p + at) || !hex_near(p + at + 16))
			continue;
		run = widen(part, HEX, floor, at);
		floor = run.end;
		if (run.end - run.start < least[HEX] || !is_new(part, &run))
			continue;
		if (hex_run(part, value, &run, 0, hex) != 0 ||
		    hex_run(part, value, &run, 1, hex) != 0)
			return -1;
		if (run.end <= dumped)
			continue;
		if (find_dump(part, &run, hex, &end) != 0)
			return -1;
		dumped = end > run.start ? end : dumped;
	}
	return 0;
}

int
scan_view_runs(const struct scan_part *part, struct scan_view *base64,
    struct scan_view *hex, struct scan_view *base32)
{
	pthread_once(&once, fill_alphabets);
	return letter_runs(part, base64, base32) != 0 ||
	    hex_runs(part, hex) != 0 ? -1 : 0;
}
