/* Line ends inside a word. */
#include <string.h>

#include "ledger/scan/view/escape.h"
#include "ledger/scan/view/view.h"

#define LETTERS 2	/* of any token: in its anchor alone, or in what is random */
#define PART_MIN 8	/* a part of a word that a line end cuts in two */
#define INDENT_MAX 64
#define MARK_MAX 32
#define VALUE_MAX 512	/* bytes of a value that are looked at on either side */
#define DIFF_LINES 8	/* that are looked at to tell a diff */

#define WORD SCAN_IN_WORD	/* of what tokens are made of */
#define VALUE 2		/* and no "=", behind which a value begins */
#define LETTER 4
#define BLANK 8
#define GLUE 16		/* what stands between pieces, beside blanks */

const uint8_t scan_char[256] = {
	['0' ... '9'] = WORD | VALUE, ['A' ... 'Z'] = WORD | VALUE | LETTER,
	['a' ... 'z'] = WORD | VALUE | LETTER, ['+'] = WORD | VALUE, ['/'] = WORD | VALUE,
	['_'] = WORD | VALUE, ['-'] = WORD | VALUE, ['.'] = WORD | VALUE,
	['~'] = WORD | VALUE, ['='] = WORD,
	[' '] = BLANK, ['\t'] = BLANK, ['\r'] = BLANK, ['\n'] = BLANK,
	['"'] = GLUE, ['\''] = GLUE, ['\\'] = GLUE, ['>'] = GLUE, ['&'] = GLUE, ['|'] = GLUE,
	[','] = GLUE,
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

/* ---- marks ---- */

/* What a line begins with: so many ">", then "+" or "-" of a diff. */
struct mark {
	unsigned quotes;
	uint8_t sign;
	size_t quotes_len, len;
};

static struct mark
mark_of(const uint8_t *p, size_t len)
{
	struct mark mark = { 0, 0, 0, 0 };
	size_t i = 0;

	while (i < len && i < MARK_MAX && (p[i] == '>' || p[i] == ' ' || p[i] == '\t'))
		mark.quotes += p[i++] == '>';
	mark.len = mark.quotes_len = mark.quotes > 0 ? i : 0;
	if (mark.len < len && (p[mark.len] == '+' || p[mark.len] == '-'))
		mark.sign = p[mark.len++];
	return mark;
}

/* Where the line begins of which text[at] is. */
static size_t
line_start(const uint8_t *text, size_t at)
{
	const uint8_t *end = memrchr(text, '\n', at);

	return end == NULL ? 0 : (size_t)(end - text) + 1;
}

/* Whether the lines in front of the one that begins at `start` are a diff's, and no
 * base64 whose lines happen to begin so. */
static bool
in_diff(const uint8_t *text, size_t start)
{
	size_t end;
	unsigned i;

	for (i = 0; i < DIFF_LINES && start > 0; i++) {
		end = start - 1;
		start = line_start(text, end);
		if (start == end || text[start] == '\r')
			return true;
		if (memchr(" +-\\", text[start], 4) == NULL)
			return memmem(text + start, end - start, "@@ -", 4) != NULL;
	}
	return true;
}

size_t
scan_join_mark(const struct scan_joint *j, size_t at)
{
	struct mark next, mark;
	size_t start;

	next = mark_of(j->text + at, j->len - at);
	start = line_start(j->text, j->at);
	mark = mark_of(j->text + start, j->at - start);
	if (mark.quotes != next.quotes && (start > 0 || mark.quotes > 0))
		return 0;	/* the first line of a view may lack its beginning */
	if (mark.sign != next.sign)
		return next.quotes_len;
	return next.quotes > 0 || in_diff(j->text, start) ? next.len : 0;
}

static size_t
indent_of(const uint8_t *p, size_t len)
{
	size_t i = 0;

	while (i < len && i < INDENT_MAX && (p[i] == ' ' || p[i] == '\t'))
		i++;
	return i;
}

size_t
scan_join_item(const struct scan_joint *j, size_t at)
{
	const uint8_t *next = j->text + at, *line;
	size_t len = indent_of(next, j->len - at) + 2, start, i;

	if (len + at >= j->len || next[len - 2] != '-' || next[len - 1] != ' ')
		return 0;
	start = line_start(j->text, j->at);
	line = j->text + start;
	if (j->at - start <= len || memcmp(line, next, len) != 0)
		return 0;
	for (i = len; i < j->at - start && !scan_is_space(line[i]); i++)
		;
	return i == j->at - start ? len : 0;
}

/* ---- lines ---- */

/* To the next line's word from `at`, a line end.  At most one line is empty. */
static size_t
next_line(const struct scan_joint *j, size_t at, bool *marked)
{
	const uint8_t *p = j->text;
	size_t ends = 0, indent, mark;

	while (at < j->len && (p[at] == '\r' || p[at] == '\n'))
		ends += p[at++] == '\n';
	if (ends > 2)
		return j->len;
	indent = indent_of(p + at, j->len - at);
	if (at + indent == j->len || !scan_is_mark(p[at + indent]))
		return at + indent;	/* most lines have none */
	if ((mark = scan_join_item(j, at)) == 0 && indent == 0)
		mark = scan_join_mark(j, at);
	*marked = mark > 0;
	at += mark;
	return at + indent_of(p + at, j->len - at);
}

size_t
scan_join_word(const struct scan_joint *j)
{
	bool marked = false;
	size_t at;

	if (j->out_len == 0 || !scan_in_word(j->out[-1]))
		return 0;
	at = next_line(j, j->at, &marked);
	if (at == j->len || !scan_in_word(j->text[at]))
		return 0;
	if (word_before(j->out, j->out_len, PART_MIN) < PART_MIN &&
	    word_after(j->text + at, j->len - at, PART_MIN) < PART_MIN)
		return 0;
	return scan_join_enough(j, at, marked) ? at - j->at : 0;
}

size_t
scan_join_continued(const struct scan_joint *j)
{
	bool marked = false;
	size_t at;

	if (j->out_len == 0 || !scan_in_word(j->out[-1]))
		return 0;
	at = next_line(j, j->at + 1, &marked);
	return at < j->len && scan_in_word(j->text[at]) && scan_join_enough(j, at, true) ?
	    at - j->at : 0;
}
