/* The escaped view: words in which something changes when escapes are undone, and
 * lines and literals joined. */
#include <ctype.h>
#include <string.h>

#include "ledger/scan/view/escape.h"
#include "ledger/scan/view/view.h"

#define CONTEXT 48	/* bytes kept in front of a word that was escaped */
#define WORD_MAX 65536	/* of it in front of its first escape */
#define SOFT_HYPHEN 0xad	/* in Latin-1; in UTF-8 the last byte of some characters */
#define NEAR 4		/* bytes from a space to what may be an escape again */

enum { PLAIN, ESCAPE, LINE_END, QUOTE, DROPPED, BREAK, BACKSPACE, COLOUR, UTF8 };

static const uint8_t kind[256] = {
	['%'] = ESCAPE, ['='] = ESCAPE, ['\\'] = ESCAPE, ['&'] = ESCAPE,
	['\r'] = LINE_END, ['\n'] = LINE_END, ['"'] = QUOTE, ['\''] = QUOTE, [0] = DROPPED,
	['<'] = BREAK,
	['\b'] = BACKSPACE, [0x1b] = COLOUR,
	[0xc2] = UTF8, [0xe2] = UTF8, [0xef] = UTF8, [0xf3] = UTF8,
};

/* Whether n bytes in a row around p are no spaces. */
static bool
within_word(const uint8_t *p, size_t before, size_t len, size_t n)
{
	size_t i, k;

	for (i = 0; i < len && i < n && !scan_is_space(p[i]); i++)
		;
	for (k = 0; k < before && i + k < n && !scan_is_space(p[-1 - (ptrdiff_t)k]); k++)
		;
	return i + k >= n;
}

/* One part being unescaped.  Outside of a segment nothing is copied. */
struct work {
	const struct scan_part *part;
	struct scan_view *view;
	size_t at;	/* in the part: what was dealt with */
	size_t floor;	/* where the last segment ended there */
	bool open;
	size_t block;	/* whose bits these are */
	uint64_t bits;
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

/* The place that is dealt with, or one of its line a little further on. */
static struct scan_joint
joint_at(const struct work *w, size_t further)
{
	struct scan_joint joint = { w->part->text, w->at + further, w->part->len, NULL, 0,
	    w->part->least };

	joint.out = before(w, &joint.out_len);
	return joint;
}

static bool
ends_line(const uint8_t *p, size_t len)
{
	return len > 1 && (p[1] == '\r' || p[1] == '\n');
}

/*
 * A backslash, or "=" of quoted-printable, at the end of a line: the word goes on in
 * the next one, as behind a line end of its own.
 */
static struct scan_step
soft_end(const struct work *w)
{
	struct scan_step step = SCAN_NO_STEP;
	struct scan_joint joint = joint_at(w, w->part->text[w->at] == '=');

	if (joint.at == w->at)
		step.used = scan_join_continued(&joint);
	else if (!w->open && (step.used = scan_join_word(&joint)) > 0)
		step.used++;
	return step;
}

/* Whether what was decoded last may be a character's in UTF-8, which goes on. */
static bool
in_utf8(const struct work *w)
{
	size_t len;
	const uint8_t *out = before(w, &len);

	return len > 0 && out[-1] >= 0x80;
}

static struct scan_step
escape_at(const struct work *w, const uint8_t *p, size_t len)
{
	struct scan_step step;

	if ((*p == '=' || *p == '\\') && ends_line(p, len) && (step = soft_end(w)).used > 0)
		return step;
	step = scan_escape(p, len);
	if (step.used > 0 && step.n == 0 && step.out[0] == SOFT_HYPHEN && in_utf8(w))
		step.n = 1;
	/* "size=42" is no quoted-printable */
	return step.used > 0 && *p == '=' && !w->open && !within_word(p,
	    w->at - w->floor, len, w->part->least) ? SCAN_NO_STEP : step;
}

/* NULs from p on, of which programs have many in a row; three, as UTF-32 has beside each
 * character, are taken one by one. */
static size_t
nulls(const uint8_t *p, size_t len)
{
	size_t n = 1;

	while (n + 3 < len && (p[n] | p[n + 1] | p[n + 2]) == 0)
		n++;
	return n;
}

/* Whether a NUL may have something behind it that is not seen: it stands beside a
 * character of a word then. */
static bool
wide_at(const struct work *w, const uint8_t *p, size_t len)
{
	size_t out_len;
	const uint8_t *out;

	if (len < 6 || (!scan_utf16_may(p[2], p[1]) &&
	    !(scan_in_word(p[1]) && scan_utf16_may(p[2], p[3]))))
		return false;
	out = before(w, &out_len);
	return (out_len > 0 && scan_in_word(out[-1])) || scan_in_word(p[1]);
}

static struct scan_step
line_end(const struct work *w)
{
	struct scan_step step = SCAN_NO_STEP;
	struct scan_joint joint = joint_at(w, 0);

	step.used = scan_join_word(&joint);
	if (step.used == 0)
		step = scan_join_literals(&joint);
	return step.used == 0 && joint.out_len > 0 && joint.out[-1] == '|' ?
	    scan_join_framed(&joint) : step;
}

static struct scan_step
step_at(const struct work *w)
{
	const uint8_t *p = w->part->text + w->at;
	size_t len = w->part->len - w->at;
	struct scan_step step = SCAN_NO_STEP;
	struct scan_joint joint;

	switch (kind[*p]) {
	case ESCAPE:
		return escape_at(w, p, len);
	case LINE_END:
		return line_end(w);
	case QUOTE:
		joint = joint_at(w, 0);
		return scan_join_literals(&joint);
	case DROPPED:
		step.used = nulls(p, len);
		return step.used == 1 && wide_at(w, p, len) ? scan_escape_utf16(p, len) : step;
	case BREAK:
		step.used = scan_escape_break(p, len);
		return step;
	case BACKSPACE:
		return (struct scan_step){ 1, 0, { 0 }, 1 };
	case COLOUR:
		step.used = scan_escape_colour(p, len);
		return step;
	default:
		step = scan_escape_utf8(p, len);
		if (step.used > 0 || scan_rule(p, len) == 0)
			return step;
		joint = joint_at(w, 0);
		return scan_join_framed(&joint);
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
		return scan_nibble(next) >= 0;
	case '=':
		return scan_nibble(next) >= 0 || next == '\r' || next == '\n';
	case '&':
		return next == '#' || isalpha(next);
	case '<':
		return (next | 0x20) == 'w';
	case '\r':
	case '\n':
		return at == 0 || scan_in_word(p[at - 1]) || p[at - 1] < 0x20 || p[at - 1] >= 0x80 ||
		    scan_glues(p[at - 1]);
	default:
		return kind[p[at]] != PLAIN;
	}
}

/* Quotes, and a bar, which is none. */
static uint64_t
quote_bits(const struct scan_planes *block)
{
	const uint64_t *now = block->plane;

	return now[SCAN_JOIN] & ~(now[SCAN_NUMBERS] | now[SCAN_WORD] | now[SCAN_LEAD]);
}

/* Those with another behind them, or two bytes that may stand between literals. */
static uint64_t
literal_bits(const struct scan_planes *block)
{
	const uint64_t *now = block->plane, *next = block[1].plane;
	uint64_t bits = quote_bits(block) & scan_ahead(now[SCAN_JOIN], next[SCAN_JOIN], 1);

	return bits == 0 ? 0 : bits & (scan_ahead(now[SCAN_JOIN], next[SCAN_JOIN], 2) |
	    scan_ahead(quote_bits(block), quote_bits(block + 1), 1));
}

/* Codes with two digits behind them, a line end, or what may be the "wbr" of <wbr>. */
static uint64_t
code_bits(const struct scan_planes *block)
{
	const uint64_t *now = block->plane, *next = block[1].plane;
	const uint64_t other = now[SCAN_LETTER] & ~now[SCAN_DIGIT];
	const uint64_t next_other = next[SCAN_LETTER] & ~next[SCAN_DIGIT];
	uint64_t behind;

	if (now[SCAN_CODE] == 0)
		return 0;
	behind = scan_ahead(now[SCAN_DIGIT], next[SCAN_DIGIT], 1) |
	    (scan_ahead(other, next_other, 1) & scan_ahead(other, next_other, 3));
	behind &= scan_ahead(now[SCAN_DIGIT], next[SCAN_DIGIT], 2);
	return now[SCAN_CODE] & (behind | scan_ahead(now[SCAN_EOL], next[SCAN_EOL], 1));
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
		bits = scan_since(code_bits(&block[b]) | block[b].plane[SCAN_LEAD] |
		    block[b].plane[SCAN_EOL] | literal_bits(&block[b]), b, at);
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

/* The same, moved on by k bytes, behind those of the block before. */
static uint64_t
behind_by(uint64_t before, uint64_t now, unsigned k)
{
	return now << k | before >> (64 - k);
}

/* Behind a literal's quote, or that and one byte of glue or more. */
static uint64_t
behind_literal(const struct scan_planes *before, const struct scan_planes *now)
{
	const uint64_t *was = before->plane, *is = now->plane;

	return behind_by(quote_bits(before), quote_bits(now), 1) |
	    (behind_by(was[SCAN_JOIN], is[SCAN_JOIN], 1) &
	    behind_by(was[SCAN_JOIN], is[SCAN_JOIN], 2));
}

/*
 * Where a step may begin while no segment is open: what stands before it is then
 * as it was in the text.  A line end stands behind a word, or behind what ends a
 * literal, whose quote stands behind a word.
 */
static uint64_t
step_bits(const struct scan_planes *block, bool first)
{
	static const struct scan_planes none;
	const struct scan_planes *before = first ? &none : block - 1;
	const uint64_t *now = block->plane;
	uint64_t word = behind_by(before->plane[SCAN_WORD], now[SCAN_WORD], 1), ends = 0;

	if (now[SCAN_EOL] != 0)
		ends = now[SCAN_EOL] & (word | behind_literal(before, block));
	return now[SCAN_LEAD] | ends | code_bits(block) |
	    (literal_bits(block) & word);
}

/* Pass what is passed while no segment is open. */
static void
closed_run(struct work *w)
{
	const struct scan_planes *block = w->part->classes->block;
	size_t from = w->part->at, at = from + w->at, end = from + w->part->len, b;
	uint64_t bits;

	for (b = at / SCAN_LANE; b * SCAN_LANE < end; b++) {
		if (b != w->block)
			w->bits = step_bits(block + b, b == 0);
		w->block = b;
		if ((bits = scan_since(w->bits, b, at)) == 0)
			continue;
		at = b * SCAN_LANE + (size_t)__builtin_ctzll(bits);
		w->at = (at < end ? at : end) - from;
		return;
	}
	w->at = w->part->len;
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

	while (start > w->floor && w->at - start < WORD_MAX && !scan_is_space(text[start - 1]))
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

/* Of n plain bytes, those in front of a quoted line's word, where a line begins. */
static size_t
line_mark(const struct work *w, const uint8_t *p, size_t n)
{
	const struct scan_view *view = w->view;
	size_t i = 0;

	if (n == 0 || *p != '>' || view->len == 0 || view->text[view->len - 1] != '\n')
		return 0;
	while (i < n && (p[i] == '>' || p[i] == ' '))
		i++;
	return i;
}

/* Plain bytes in a segment: the rest of the word that it ends with is its end. */
static int
pass(struct work *w, size_t n)
{
	const uint8_t *p = w->part->text + w->at;
	size_t i = line_mark(w, p, n);

	while (i < n && !scan_is_space(p[i]))
		i++;
	if (n - i <= NEAR)
		i = n;	/* every letter may be escaped, and so a space */
	if (copy(w, i < n ? i + 1 : i) != 0 || (i < n && close_segment(w) != 0))
		return -1;
	w->at += i < n ? n - i - 1 : 0;
	return 0;
}

/* Whether what a step wrote may be one in its turn, by what stands on both sides: for
 * a view of the view. */
static bool
is_step_again(uint8_t c, bool line_end, uint8_t before, uint8_t behind)
{
	if (line_end)
		return scan_glues(before) || scan_is_mark(behind);
	if (kind[c] >= BACKSPACE || kind[c] == ESCAPE)
		return true;
	if (kind[c] == BREAK)
		return (behind | 0x20) == 'w';
	return scan_is_quote(c) && scan_in_word(before) && scan_glues(behind);
}

/* What a step writes is not looked at again, except for a line end, which may
 * stand inside a word like any other. */
static int
take(struct work *w, const struct scan_step *step)
{
	struct scan_view *view = w->view;
	const uint8_t *out;
	size_t next = w->at + step->used, out_len;
	uint8_t before_it, behind = next < w->part->len ? w->part->text[next] : 0;
	bool line_end = step->n > 0 && (step->out[0] == '\n' || step->out[0] == '\r');

	if (!w->open && open_segment(w) != 0)
		return -1;
	out = before(w, &out_len);
	before_it = out_len > 0 ? out[-1] : 0;
	if (step->back > 0) {
		if (step->back > out_len)
			return pass(w, 1);
		view->len -= step->back;
		while (view->map.n > 0 && view->map.stretch[view->map.n - 1].out > view->len)
			view->map.n--;
	}
	if (step->n > 0 && !(line_end && scan_in_word(before_it) && scan_in_word(behind) &&
	    !scan_is_mark(behind))) {
		if (scan_view_room(view, 1) != 0 || scan_map_add(&view->map, view->len,
		    w->part->at + w->at, 1, 1) != 0)
			return -1;
		view->text[view->len++] = step->out[0];
		view->again |= is_step_again(step->out[0], line_end, before_it, behind);
	}
	w->at = next;
	return scan_map_add(&view->map, view->len, w->part->at + w->at, 1, 1);
}

/* To where a step may be. */
static int
advance(struct work *w)
{
	if (w->open)
		return pass(w, plain_run(w->part, w->at));
	closed_run(w);
	return 0;
}

/* What is no step after all. */
static int
stay(struct work *w)
{
	if (w->open)
		return pass(w, 1);
	w->at++;
	return 0;
}

int
scan_view_unescape(const struct scan_part *part, struct scan_view *view)
{
	struct work w = { part, view, 0, 0, false, SIZE_MAX, 0 };
	struct scan_step step;

	while (w.at < part->len) {
		if (advance(&w) != 0)
			return -1;
		if (w.at == part->len)
			break;
		step = step_at(&w);
		if ((step.used == 0 ? stay(&w) : take(&w, &step)) != 0)
			return -1;
	}
	return w.open ? close_segment(&w) : 0;
}
