/* Line ends inside a word. */
#include <string.h>

#include "ledger/scan/view/escape.h"
#include "ledger/scan/view/view.h"

#define LETTERS 2	/* of any token: in its anchor alone, or in what is random */
#define PART_MIN 8	/* a part of a word that a line end cuts in two */
#define FRAME_MAX 3	/* blanks in front of a frame, and one "|" */
#define VALUE_MAX 512	/* bytes of a value that are looked at on either side */

#define WORD SCAN_IN_WORD	/* of what tokens are made of */
#define VALUE SCAN_IN_VALUE
#define MARK SCAN_IN_MARK
#define LETTER 4
#define BLANK 8
#define GLUE 16		/* what stands between pieces, beside blanks */

const uint8_t scan_char[256] = {
	['0' ... '9'] = WORD | VALUE | SCAN_IS_DIGIT,
	['A' ... 'Z'] = WORD | VALUE | LETTER | SCAN_IS_UPPER,
	['a' ... 'z'] = WORD | VALUE | LETTER, ['+'] = WORD | VALUE | MARK,
	['/'] = WORD | VALUE | MARK, ['_'] = WORD | VALUE, ['-'] = WORD | VALUE | MARK,
	['.'] = WORD | VALUE, ['~'] = WORD | VALUE, ['='] = WORD,
	[' '] = BLANK, ['\t'] = BLANK, ['\r'] = BLANK, ['\n'] = BLANK,
	['"'] = GLUE, ['\''] = GLUE | MARK, ['\\'] = GLUE, ['>'] = GLUE | MARK, ['&'] = GLUE,
	['|'] = GLUE | MARK, [','] = GLUE, ['#'] = MARK, ['*'] = MARK, [';'] = MARK,
	['%'] = MARK, ['!'] = MARK, [':'] = MARK, [0x80 ... 0xff] = MARK,
};

static bool
is(uint8_t c, unsigned what)
{
	return (scan_char[c] & what) != 0;
}

/* How much of a word ends, or begins, at p: no more than is asked for. */
static size_t
word_before(const uint8_t *p, size_t len, size_t enough)
{
	size_t i = 0;

	while (i < len && i < enough && scan_in_word(p[-1 - (ptrdiff_t)i]))
		i++;
	return i;
}

static size_t
word_after(const uint8_t *p, size_t len, size_t enough)
{
	size_t i = 0;

	while (i < len && i < enough && scan_in_word(p[i]))
		i++;
	return i;
}

/* ---- values ---- */

/* What is put together, as far as it matters: how long it is, up to what is looked
 * for, and whether it holds letters: "status=200" and the next line's "2026-11-29T12"
 * are none. */
struct value {
	size_t len, least;
	unsigned letters;
};

/* Whether that is enough with this byte. */
static bool
grows(struct value *value, uint8_t c)
{
	value->len++;
	value->letters += is(c, LETTER);
	return value->len >= value->least &&
	    (value->letters >= LETTERS || value->least < SCAN_RUN_MIN);
}

static bool
enough_before(const struct scan_joint *j, struct value *value)
{
	size_t i;

	for (i = 0; i < j->out_len && i < VALUE_MAX && is(j->out[-1 - (ptrdiff_t)i], VALUE); i++)
		if (grows(value, j->out[-1 - (ptrdiff_t)i]))
			return true;
	return false;
}

/* Between two pieces there is more than blanks, which end a word, and perhaps a mark
 * behind that; unless what is looked for holds blanks itself. */
static size_t
gap_len(const struct scan_joint *j, size_t at, unsigned pass)
{
	bool joint = j->least < SCAN_RUN_MIN;
	size_t i;

	for (i = at; i < j->len && (is(j->text[i], pass) ||
	    (joint && scan_is_mark(j->text[i]))); i++)
		joint |= j->text[i] != ' ' && j->text[i] != '\t';
	return joint ? i - at : 0;
}

static bool
enough_after(const struct scan_joint *j, size_t at, unsigned pass, struct value *value)
{
	size_t end = j->len - at < VALUE_MAX ? j->len : at + VALUE_MAX, gap = 1;

	for (; at < end && gap > 0; at += gap) {
		for (; at < end && is(j->text[at], VALUE); at++)
			if (grows(value, j->text[at]))
				return true;
		gap = gap_len(j, at, pass);
	}
	return false;
}

bool
scan_join_enough(const struct scan_joint *j, size_t at, bool glued)
{
	struct value value = { 0, j->least, 0 };

	return enough_before(j, &value) ||
	    enough_after(j, at, glued ? BLANK | GLUE : BLANK, &value);
}

/* ---- lines ---- */

/* Whether the last n of these bytes that end at p are a value's, as far as a few of them say. */
static bool
ends_value(const uint8_t *p, size_t len, size_t n)
{
	unsigned all = VALUE;

	if (len < n)
		return false;
	for (; n > 4; n -= n > 8 ? 4 : 2)
		all &= scan_char[p[-(ptrdiff_t)n]];
	return all != 0;
}

/* By what the next line begins with, behind its blanks, and by how long a word ends in front
 * of it: most lines have no mark, and most words are short. */
static bool
may_be_marked(const struct scan_joint *j, size_t end, uint8_t first)
{
	if (scan_is_mark(first))
		return true;
	return is(first, MARK) ? ends_value(j->out, j->out_len, PART_MIN) :
	    ends_value(j->text + end, end, SCAN_ALONE_MIN);
}

/* To the next line's word from `at`, a line end; the word in front of that ended at
 * `end`.  At most one line is empty. */
static size_t
next_line(const struct scan_joint *j, size_t end, size_t at, bool *marked)
{
	const uint8_t *p = j->text;
	size_t ends = 0, indent, mark;

	while (at < j->len && (p[at] == '\r' || p[at] == '\n'))
		ends += p[at++] == '\n';
	if (ends > 2)
		return j->len;
	indent = scan_join_indent(p + at, j->len - at);
	if (at + indent == j->len)
		return j->len;
	if (!may_be_marked(j, end, p[at + indent]))
		return at + indent;
	mark = scan_join_prefix(j, end, at);
	if (mark == 0 && scan_is_mark(p[at + indent]) &&
	    (mark = scan_join_item(j, at)) == 0 && indent == 0)
		mark = scan_join_mark(j, at);
	*marked = mark > 0;
	at += mark;
	return at + scan_join_indent(p + at, j->len - at);
}

/* Whether the pieces on both sides may be one word's. */
static bool
are_one(const struct scan_joint *j, size_t at, bool marked)
{
	return at < j->len && scan_in_word(j->text[at]) &&
	    (word_before(j->out, j->out_len, PART_MIN) == PART_MIN ||
	    word_after(j->text + at, j->len - at, PART_MIN) == PART_MIN) &&
	    scan_join_enough(j, at, marked);
}

size_t
scan_join_word(const struct scan_joint *j)
{
	bool marked = false;
	size_t at;

	if (j->out_len == 0 || !scan_in_word(j->out[-1]))
		return 0;
	at = next_line(j, j->at, j->at, &marked);
	return are_one(j, at, marked) ? at - j->at : 0;
}

struct scan_step
scan_join_framed(const struct scan_joint *j)
{
	const size_t rule = scan_rule(j->text + j->at, j->len - j->at), end = j->at + rule;
	struct scan_joint inner = *j;
	bool marked = false;
	size_t back = 0, at;

	if (rule == 0)
		back = j->out_len > 0 && j->out[-1] == '|';
	if ((rule == 0 && back == 0) || end == j->len || !scan_is_end(j->text[end]))
		return SCAN_NO_STEP;
	while (back < j->out_len && back < FRAME_MAX && j->out[-1 - (ptrdiff_t)back] == ' ')
		back++;
	if (back >= j->out_len || back > j->at || !scan_in_word(j->out[-1 - (ptrdiff_t)back]))
		return SCAN_NO_STEP;
	inner.out -= back;
	inner.out_len -= back;
	at = next_line(&inner, j->at - back, end, &marked);
	if (!marked || !are_one(&inner, at, true))
		return SCAN_NO_STEP;
	return (struct scan_step){ at - j->at, 0, { 0 }, back };
}

size_t
scan_join_continued(const struct scan_joint *j)
{
	bool marked = false;
	size_t at;

	if (j->out_len == 0 || !scan_in_word(j->out[-1]))
		return 0;
	at = next_line(j, j->at, j->at + 1, &marked);
	return at < j->len && scan_in_word(j->text[at]) && scan_join_enough(j, at, true) ?
	    at - j->at : 0;
}
