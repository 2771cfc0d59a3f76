#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "ledger/scan/view.h"

#define CONTEXT 48	/* bytes kept in front of a word that was escaped */
#define WORD_MAX 65536	/* of it in front of its first escape */
#define NEAR 4		/* bytes from a space to what may be an escape again */
#define PART_MIN 8	/* a part of a word that a line end cuts in two */

void
scan_view_free(struct scan_view *view)
{
	if (view->text != NULL)
		sodium_memzero(view->text, view->cap);
	free(view->text);
	free(view->map.stretch);
	free(view->segment);
	free(view->segment_len);
	*view = (struct scan_view){ .name = NULL };
}

void
scan_view_clear(struct scan_view *view, const char *name,
    const struct scan_map *below, bool shortened)
{
	view->name = name;
	view->len = view->segments = view->map.n = 0;
	view->again = !shortened;
	view->map.below = below;
	view->map.shortened = shortened;
}

int
scan_view_room(struct scan_view *view, size_t more)
{
	uint8_t *text;
	size_t cap = view->cap;

	if (more > UINT32_MAX - view->len)
		return -1;
	if (view->len + more <= view->cap)
		return 0;
	while (cap < view->len + more)
		cap = cap < 4096 ? 4096 : cap + cap / 2;
	if ((text = malloc(cap)) == NULL)
		return -1;
	if (view->text != NULL) {
		memcpy(text, view->text, view->len);
		sodium_memzero(view->text, view->cap);
		free(view->text);
	}
	view->text = text;
	view->cap = cap;
	return 0;
}

int
scan_view_begin(struct scan_view *view)
{
	size_t cap, *starts, *lens;

	if (view->segments == view->segments_cap) {
		cap = view->segments_cap == 0 ? 64 : 2 * view->segments_cap;
		starts = reallocarray(view->segment, cap, sizeof(*starts));
		if (starts == NULL)
			return -1;
		view->segment = starts;
		lens = reallocarray(view->segment_len, cap, sizeof(*lens));
		if (lens == NULL)
			return -1;
		view->segment_len = lens;
		view->segments_cap = cap;
	}
	view->segment[view->segments] = view->len;
	view->segment_len[view->segments++] = 0;
	return 0;
}

int
scan_view_end(struct scan_view *view)
{
	size_t *len = &view->segment_len[view->segments - 1];

	*len = view->len - view->segment[view->segments - 1];
	if (scan_view_room(view, 3) != 0)
		return -1;
	memcpy(view->text + view->len, "\n\0\n", 3);
	view->len += 3;
	return 0;
}

void
scan_view_drop(struct scan_view *view)
{
	view->len = view->segment[--view->segments];
	while (view->map.n > 0 && view->map.stretch[view->map.n - 1].out >= view->len)
		view->map.n--;
}

/* ---- escapes ---- */

enum { PLAIN, ESCAPE, LINE_END, DROPPED, COLOUR, UTF8 };

static const uint8_t kind[256] = {
	['%'] = ESCAPE, ['='] = ESCAPE, ['\\'] = ESCAPE, ['&'] = ESCAPE,
	['\r'] = LINE_END, ['\n'] = LINE_END, [0] = DROPPED, [0x1b] = COLOUR,
	[0xc2] = UTF8, [0xe2] = UTF8, [0xef] = UTF8,
};

/* Characters that tokens are made of. */
static const uint8_t word[256] = {
	['0' ... '9'] = 1, ['A' ... 'Z'] = 1, ['a' ... 'z'] = 1,
	['+'] = 1, ['/'] = 1, ['_'] = 1, ['-'] = 1, ['.'] = 1, ['='] = 1, ['~'] = 1,
};

/* How a part is written shorter: `used` bytes of it stand for `n` in out. */
struct step {
	size_t used, n;
	uint8_t out[4];
	size_t back;	/* bytes written before it that go too: a closing quote */
};

static int
nibble(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Digits of the base at p: how many of at most max, and their value. */
static size_t
number(const uint8_t *p, size_t len, unsigned base, size_t max, uint32_t *value)
{
	size_t i;
	int digit;

	*value = 0;
	for (i = 0; i < len && i < max; i++) {
		digit = nibble(p[i]);
		if (digit < 0 || (unsigned)digit >= base)
			break;
		*value = *value * base + (uint32_t)digit;
	}
	return i;
}

/* A code point: formats are ASCII, so others need not be right, only there. */
static struct step
coded(size_t used, uint32_t value)
{
	struct step step = { used, 1, { (uint8_t)value }, 0 };

	if (value > 0xff)
		step.out[0] = 0xff;
	else if (value == 0)
		step.n = 0;
	return step;
}

static struct step
backslash(const uint8_t *p, size_t len)
{
	static const char from[] = "nrtbf\"\\/'", to[] = "\n\r\t\b\f\"\\/'";
	struct step none = { 0, 0, { 0 }, 0 };
	const char *at;
	uint32_t value;
	size_t n;

	if (len < 2)
		return none;
	switch (p[1]) {
	case 'x':
		n = number(p + 2, len - 2, 16, 2, &value);
		return n == 2 ? coded(4, value) : none;
	case 'u':
		if (len > 3 && p[2] == '{') {
			n = number(p + 3, len - 3, 16, 6, &value);
			return n > 0 && len > 3 + n && p[3 + n] == '}' ?
			    coded(4 + n, value) : none;
		}
		n = number(p + 2, len - 2, 16, 4, &value);
		return n == 4 ? coded(6, value) : none;
	case 'U':
		n = number(p + 2, len - 2, 16, 8, &value);
		return n == 8 ? coded(10, value) : none;
	default:
		break;
	}
	if (p[1] >= '0' && p[1] <= '3' && number(p + 1, len - 1, 8, 3, &value) == 3)
		return coded(4, value);
	at = strchr(from, p[1]);
	return p[1] != '\0' && at != NULL ? coded(2, (uint8_t)to[at - from]) : none;
}

static struct step
entity(const uint8_t *p, size_t len)
{
	static const struct { char name[10], c; } named[] = {
		{ "&amp;", '&' }, { "&quot;", '"' }, { "&apos;", '\'' },
		{ "&lt;", '<' }, { "&gt;", '>' }, { "&lowbar;", '_' },
		{ "&equals;", '=' }, { "&plus;", '+' }, { "&sol;", '/' },
		{ "&period;", '.' }, { "&hyphen;", '-' }, { "&dash;", '-' },
		{ "&colon;", ':' },
	};
	struct step none = { 0, 0, { 0 }, 0 };
	size_t i, n, name_len, digits;
	uint32_t value;
	bool hex;

	if (len > 3 && p[1] == '#') {
		hex = (p[2] | 0x20) == 'x';
		digits = 2 + (size_t)hex;
		n = number(p + digits, len - digits, hex ? 16 : 10, 7, &value);
		if (n == 0)
			return none;
		n += digits;
		return coded(n + (n < len && p[n] == ';'), value);
	}
	for (i = 0; len > 2 && i < sizeof(named) / sizeof(named[0]); i++) {
		if (named[i].name[1] != p[1] || named[i].name[2] != p[2])
			continue;
		name_len = strlen(named[i].name);
		if (len >= name_len && memcmp(p, named[i].name, name_len) == 0)
			return coded(name_len, (uint8_t)named[i].c);
	}
	return none;
}

static bool
is_space(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Whether n bytes in a row around p are no spaces. */
static bool
within_word(const uint8_t *p, size_t before, size_t len, size_t n)
{
	size_t i, k;

	for (i = 0; i < len && i < n && !is_space(p[i]); i++)
		;
	for (k = 0; k < before && i + k < n && !is_space(p[-1 - (ptrdiff_t)k]); k++)
		;
	return i + k >= n;
}

/* "=" of quoted-printable: digits in capitals, or the end of a line. */
static struct step
printable(const uint8_t *p, size_t len)
{
	struct step none = { 0, 0, { 0 }, 0 };
	uint32_t value;

	if (len > 1 && p[1] == '\n')
		return (struct step){ 2, 0, { 0 }, 0 };
	if (len > 2 && p[1] == '\r' && p[2] == '\n')
		return (struct step){ 3, 0, { 0 }, 0 };
	if (len < 3 || islower(p[1]) || islower(p[2]) ||
	    number(p + 1, 2, 16, 2, &value) != 2)
		return none;
	return coded(3, value);
}

static struct step
escape(const uint8_t *p, size_t len)
{
	struct step none = { 0, 0, { 0 }, 0 };
	uint32_t value;

	switch (*p) {
	case '\\':
		return backslash(p, len);
	case '&':
		return entity(p, len);
	case '=':
		return printable(p, len);
	default:
		return len > 2 && number(p + 1, 2, 16, 2, &value) == 2 ?
		    coded(3, value) : none;
	}
}

/* A terminal's control sequence. */
static size_t
colour(const uint8_t *p, size_t len)
{
	size_t i = 2;

	if (len < 2)
		return len;
	if (p[1] == '[') {
		while (i < len && i < 64 && (p[i] < 0x40 || p[i] > 0x7e))
			i++;
		return i < len ? i + 1 : len;
	}
	if (p[1] != ']')
		return 2;
	while (i < len && i < 512 && p[i] != 0x07 && p[i] != 0x1b)
		i++;
	if (i < len && p[i] == 0x1b)
		i++;
	return i < len ? i + 1 : len;
}

/* Characters that are not seen. */
static size_t
invisible(const uint8_t *p, size_t len)
{
	static const char *const marks[] = { "\xc2\xad", "\xe2\x80\x8b", "\xe2\x80\x8c",
	    "\xe2\x80\x8d", "\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x81\xa0",
	    "\xef\xbb\xbf" };
	size_t i, n;

	for (i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		n = strlen(marks[i]);
		if (len >= n && memcmp(p, marks[i], n) == 0)
			return n;
	}
	return 0;
}

static bool
in_word(uint8_t c)
{
	return word[c] != 0;
}

/* How much of a word ends, or begins, at p: no more than is asked for. */
static size_t
word_before(const uint8_t *p, size_t len, size_t enough)
{
	size_t i = 0;

	while (i < len && i < enough && in_word(p[-1 - (ptrdiff_t)i]))
		i++;
	return i;
}

static size_t
word_after(const uint8_t *p, size_t len, size_t enough)
{
	size_t i = 0;

	while (i < len && i < enough && in_word(p[i]))
		i++;
	return i;
}

/* How much of a value ends right in front of p, and goes on behind it in this
 * line and the next ones. */
static size_t
value_before(const uint8_t *p, size_t len, size_t enough)
{
	size_t i = 0;

	while (i < len && i < enough && in_word(p[-1 - (ptrdiff_t)i]) &&
	    p[-1 - (ptrdiff_t)i] != '=')
		i++;
	return i;
}

static size_t
value_after(const uint8_t *p, size_t len, size_t enough)
{
	size_t i, n = 0;

	for (i = 0; i < len && n < enough; i++) {
		if (in_word(p[i]) && p[i] != '=')
			n++;
		else if (!is_space(p[i]))
			break;
	}
	return n;
}

/*
 * Line ends inside a word, with the next line's indentation.  Where a word was
 * cut in two, one part is not short: so the lines of ordinary prose stay apart.
 * Those of a log do because their ends and beginnings are no value together.
 */
static size_t
joined(const uint8_t *p, size_t len, const uint8_t *out, size_t out_len, size_t least)
{
	size_t i = 0, ends = 0, n;

	if (out_len == 0 || !in_word(out[-1]))
		return 0;
	while (i < len && (p[i] == '\r' || p[i] == '\n'))
		ends += p[i++] == '\n';
	while (i < len && i < 64 && (p[i] == ' ' || p[i] == '\t'))
		i++;
	if (i == len || ends > 2 || !in_word(p[i]))
		return 0;
	if (word_after(p + i, len - i, PART_MIN) < PART_MIN &&
	    word_before(out, out_len, PART_MIN) < PART_MIN)
		return 0;
	n = value_before(out, out_len, least);
	return n + value_after(p + i, len - i, least - n) >= least ? i : 0;
}

static bool
is_quote(uint8_t c)
{
	return c == '"' || c == '\'';
}

/* Spaces and at most one operator that puts literals together. */
static size_t
glue_after(const uint8_t *p, size_t len, unsigned *glues)
{
	size_t i = 0;

	for (; i < len && i < 64; i++) {
		if (p[i] == '+' || p[i] == '.')
			++*glues;
		else if (p[i] != ' ' && p[i] != '\t' && p[i] != '\r' && p[i] != '\n')
			break;
	}
	return i;
}

static size_t
glue_before(const uint8_t *out, size_t len, unsigned *glues)
{
	size_t i = 0;
	uint8_t c;

	for (; i < len && i < 8; i++) {
		c = out[-1 - (ptrdiff_t)i];
		if (c == '+' || c == '.' || c == '\\')
			++*glues;
		else if (c != ' ' && c != '\t')
			break;
	}
	return i;
}

/* A line end between two literals that are one: "abc" + \n "def", with the
 * operator on either line or none at all. */
static struct step
literals(const uint8_t *p, size_t len, const uint8_t *out, size_t out_len)
{
	struct step none = { 0, 0, { 0 }, 0 };
	unsigned glues = 0;
	size_t back = glue_before(out, out_len, &glues), ahead;

	if (back + 1 >= out_len || !is_quote(out[-1 - (ptrdiff_t)back]) ||
	    !in_word(out[-2 - (ptrdiff_t)back]))
		return none;
	ahead = glue_after(p, len, &glues);
	if (glues > 1 || ahead >= len || out[-1 - (ptrdiff_t)back] != p[ahead])
		return none;
	return (struct step){ ahead + 1, 0, { 0 }, back + 1 };
}

/* One part being unescaped.  Outside of a segment nothing is copied. */
struct work {
	const struct scan_part *part;
	struct scan_view *view;
	size_t at;	/* in the part: what was dealt with */
	size_t floor;	/* where the last segment ended there */
	bool open;
};

/* What stands before the place that is dealt with, as it was decoded: *len
 * bytes that end at what is returned. */
static const uint8_t *
before(const struct work *w, size_t *len)
{
	if (!w->open) {
		*len = w->at - w->floor;
		return w->part->text + w->at;
	}
	*len = w->view->len - w->view->segment[w->view->segments - 1];
	return *len == 0 ? NULL : w->view->text + w->view->len;
}

static struct step
step_at(const struct work *w)
{
	const uint8_t *p = w->part->text + w->at, *out;
	size_t len = w->part->len - w->at, out_len;
	struct step step = { 0, 0, { 0 }, 0 };

	switch (kind[*p]) {
	case ESCAPE:
		/* "size=42" is no quoted-printable */
		if (*p == '=' && !w->open && !within_word(p, w->at - w->floor, len,
		    w->part->least))
			return step;
		return escape(p, len);
	case LINE_END:
		out = before(w, &out_len);
		step.used = joined(p, len, out, out_len, w->part->least);
		return step.used > 0 ? step : literals(p, len, out, out_len);
	case DROPPED:
		step.used = 1;
		return step;
	case COLOUR:
		step.used = colour(p, len);
		return step;
	default:
		step.used = invisible(p, len);
		return step;
	}
}

/* Whether a special byte can be dealt with: most in ordinary text cannot, and
 * are told by their neighbours. */
static bool
promising(const uint8_t *p, size_t len, size_t at)
{
	uint8_t next = at + 1 < len ? p[at + 1] : 0;

	switch (p[at]) {
	case '%':
		return nibble(next) >= 0;
	case '=':
		return nibble(next) >= 0 || next == '\r' || next == '\n';
	case '&':
		return next == '#' || islower(next);
	case '\r':
	case '\n':
		return at == 0 || in_word(p[at - 1]) || p[at - 1] < 0x20 || p[at - 1] >= 0x80 ||
		    is_quote(p[at - 1]) || p[at - 1] == ' ' || p[at - 1] == '\\';
	default:
		return kind[p[at]] != PLAIN;
	}
}

/* How many bytes from `at` on are dealt with as they are. */
static size_t
plain_run(const struct scan_part *part, size_t at)
{
	const struct scan_planes *block = part->classes->block;
	size_t end = part->at + part->len, b, found;
	uint64_t bits;

	at += part->at;
	for (b = at / SCAN_LANE; b * SCAN_LANE < end; b++) {
		bits = scan_since(block[b].plane[SCAN_CODE] | block[b].plane[SCAN_LEAD] |
		    block[b].plane[SCAN_EOL], b, at);
		for (; bits != 0; bits &= bits - 1) {
			found = b * SCAN_LANE + (size_t)__builtin_ctzll(bits);
			if (found >= end)
				return end - at;
			if (promising(part->text, part->len, found - part->at))
				return found - at;
		}
	}
	return end - at;
}

/*
 * Where a step may begin while no segment is open: what stands before it is then
 * as it was in the text.  Two digits follow a code; a line end stands behind a
 * word, or behind what ends a literal.
 */
static uint64_t
step_bits(const struct scan_planes *block, bool first)
{
	const uint64_t *now = block->plane, *next = block[1].plane;
	uint64_t before, coded;

	before = (now[SCAN_WORD] | now[SCAN_JOIN]) << 1;
	if (!first)
		before |= (block[-1].plane[SCAN_WORD] | block[-1].plane[SCAN_JOIN]) >> 63;
	coded = scan_ahead(now[SCAN_DIGIT], next[SCAN_DIGIT], 1) &
	    scan_ahead(now[SCAN_DIGIT], next[SCAN_DIGIT], 2);
	coded |= scan_ahead(now[SCAN_EOL], next[SCAN_EOL], 1);
	return now[SCAN_LEAD] | (now[SCAN_EOL] & before) | (now[SCAN_CODE] & coded);
}

/* How many bytes from `at` on are passed while no segment is open. */
static size_t
closed_run(const struct scan_part *part, size_t at)
{
	const struct scan_planes *block = part->classes->block;
	size_t end = part->at + part->len, b;
	uint64_t bits;

	at += part->at;
	for (b = at / SCAN_LANE; b * SCAN_LANE < end; b++) {
		bits = scan_since(step_bits(block + b, b == 0), b, at);
		if (bits != 0) {
			b = b * SCAN_LANE + (size_t)__builtin_ctzll(bits);
			return (b < end ? b : end) - at;
		}
	}
	return end - at;
}

static int
copy(struct work *w, size_t n)
{
	if (n == 0)
		return 0;
	if (scan_view_room(w->view, n) != 0)
		return -1;
	memcpy(w->view->text + w->view->len, w->part->text + w->at, n);
	w->view->len += n;
	w->at += n;
	return 0;
}

/* Begin a segment with the word that a step stands in, and its context. */
static int
open_segment(struct work *w)
{
	const uint8_t *text = w->part->text;
	size_t start = w->at, n;

	while (start > w->floor && w->at - start < WORD_MAX && !is_space(text[start - 1]))
		start--;
	start -= start - w->floor < CONTEXT ? start - w->floor : CONTEXT;
	n = w->at - start;
	w->at = start;
	w->open = true;
	return scan_view_begin(w->view) != 0 || scan_map_add(&w->view->map,
	    w->view->len, w->part->at + start, 1, 1) != 0 ? -1 : copy(w, n);
}

static int
close_segment(struct work *w)
{
	w->open = false;
	w->floor = w->at;
	return scan_view_end(w->view);
}

/* Plain bytes: the rest of the word that a segment ends with is its end. */
static int
pass(struct work *w, size_t n)
{
	const uint8_t *p = w->part->text + w->at;
	size_t i = 0;

	if (w->open) {
		while (i < n && !is_space(p[i]))
			i++;
		if (n - i <= NEAR)
			i = n;	/* every letter may be escaped, and so a space */
		if (copy(w, i < n ? i + 1 : i) != 0 || (i < n && close_segment(w) != 0))
			return -1;
		n -= i < n ? i + 1 : i;
	}
	w->at += n;
	return 0;
}

/* What a step writes is not looked at again, except for a line end, which may
 * stand inside a word like any other. */
static int
take(struct work *w, const struct step *step)
{
	struct scan_view *view = w->view;
	const uint8_t *out, *p = w->part->text + w->at + step->used;
	size_t left = w->part->len - w->at - step->used, out_len;
	bool line_end = step->n > 0 && (step->out[0] == '\n' || step->out[0] == '\r');

	if (!w->open && open_segment(w) != 0)
		return -1;
	out = before(w, &out_len);
	if (step->back > 0) {
		if (step->back > out_len)
			return pass(w, 1);
		view->len -= step->back;
		while (view->map.n > 0 && view->map.stretch[view->map.n - 1].out > view->len)
			view->map.n--;
	}
	if (step->n > 0 && !(line_end && out_len > 0 && in_word(out[-1]) && left > 0 &&
	    in_word(*p))) {
		if (scan_view_room(view, 1) != 0 || scan_map_add(&view->map, view->len,
		    w->part->at + w->at, 1, 1) != 0)
			return -1;
		view->text[view->len++] = step->out[0];
		view->again |= kind[step->out[0]] == ESCAPE;
	}
	w->at += step->used;
	return scan_map_add(&view->map, view->len, w->part->at + w->at, 1, 1);
}

int
scan_view_unescape(const struct scan_part *part, struct scan_view *view)
{
	struct work w = { part, view, 0, 0, false };
	struct step step;

	while (w.at < part->len) {
		if (pass(&w, w.open ? plain_run(part, w.at) : closed_run(part, w.at)) != 0)
			return -1;
		if (w.at == part->len)
			break;
		step = step_at(&w);
		if ((step.used == 0 ? pass(&w, 1) : take(&w, &step)) != 0)
			return -1;
	}
	return w.open ? close_segment(&w) : 0;
}

/* ---- streamed answers ---- */

/* One string value that streams are put together from: behind its key. */
static const uint8_t *
delta_value(const uint8_t *p, const uint8_t *end)
{
	static const char *const keys[] = { "\"text\"", "\"content\"", "\"delta\"",
	    "\"partial_json\"", "\"arguments\"", "\"thinking\"" };
	size_t i, n;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		n = strlen(keys[i]);
		if ((size_t)(end - p) <= n || memcmp(p, keys[i], n) != 0)
			continue;
		for (p += n; p < end && (*p == ' ' || *p == ':'); p++)
			;
		return p < end && *p == '"' ? p + 1 : NULL;
	}
	return NULL;
}

static int
append_value(const struct scan_part *part, const uint8_t *p, const uint8_t *end,
    struct scan_view *view)
{
	const uint8_t *stop = p;

	while (stop < end && *stop != '"')
		stop += *stop == '\\' && stop + 1 < end ? 2 : 1;
	if (stop == p)
		return 0;
	if (scan_view_room(view, (size_t)(stop - p)) != 0 || scan_map_add(&view->map,
	    view->len, part->at + (size_t)(p - part->text), 1, 1) != 0)
		return -1;
	memcpy(view->text + view->len, p, (size_t)(stop - p));
	view->len += (size_t)(stop - p);
	return 0;
}

static int
delta_line(const struct scan_part *part, const uint8_t *p, const uint8_t *end,
    struct scan_view *view)
{
	const uint8_t *value;

	while ((p = memchr(p, '"', (size_t)(end - p))) != NULL) {
		value = delta_value(p, end);
		if (value != NULL && append_value(part, value, end, view) != 0)
			return -1;
		p++;
	}
	return 0;
}

int
scan_view_deltas(const struct scan_part *part, struct scan_view *view)
{
	const uint8_t *p = part->text, *end = p + part->len, *line_end;
	size_t start = view->len;

	if (scan_view_begin(view) != 0)
		return -1;
	while ((p = memmem(p, (size_t)(end - p), "data:", 5)) != NULL) {
		line_end = memchr(p, '\n', (size_t)(end - p));
		if (line_end == NULL)
			line_end = end;
		if (delta_line(part, p, line_end, view) != 0)
			return -1;
		p = line_end;
	}
	if (view->len > start)
		return scan_view_end(view);
	view->segments--;
	return 0;
}
