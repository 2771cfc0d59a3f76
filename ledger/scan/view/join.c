/* Line ends inside a word. */
#include <string.h>

#include "ledger/scan/view/escape.h"
#include "ledger/scan/view/view.h"

#define LETTERS 2	/* of any token: in its anchor alone, or in what is random */
#define PART_MIN 8	/* a part of a word that a line end cuts in two */
#define INDENT_MAX 64
#define MARK_MAX 32
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

/* How much of a value ends right in front of p, and goes on behind it, passing over
 * bytes of a kind. */
static size_t
value_before(const uint8_t *p, size_t len, size_t enough)
{
	size_t i = 0;

	while (i < len && i < enough && is(p[-1 - (ptrdiff_t)i], VALUE))
		i++;
	return i;
}

static size_t
value_after(const uint8_t *p, size_t len, size_t enough, unsigned pass)
{
	size_t i, n = 0;

	for (i = 0; i < len && n < enough && is(p[i], VALUE | pass); i++)
		n += is(p[i], VALUE);
	return n;
}

/* Whether the value that ends in front of out and goes on at p holds two letters:
 * "status=200" and the next line's "2026-11-29T12" are none together. */
static bool
has_letters(const uint8_t *p, size_t len, unsigned pass, const uint8_t *out,
    size_t out_len)
{
	unsigned letters = 0;
	size_t i;

	for (i = 0; i < out_len && is(out[-1 - (ptrdiff_t)i], VALUE); i++)
		if (is(out[-1 - (ptrdiff_t)i], LETTER) && ++letters == LETTERS)
			return true;
	for (i = 0; i < len && is(p[i], VALUE | pass); i++)
		if (is(p[i], LETTER) && ++letters == LETTERS)
			return true;
	return false;
}

bool
scan_join_enough(const struct scan_joint *j, size_t at, bool glued)
{
	unsigned pass = glued ? BLANK | GLUE : BLANK;
	const uint8_t *p = j->text + at;
	size_t n = value_before(j->out, j->out_len, j->least);

	return n + value_after(p, j->len - at, j->least - n, pass) >= j->least &&
	    (j->least < SCAN_RUN_MIN || has_letters(p, j->len - at, pass, j->out, j->out_len));
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

/* ---- lines ---- */

/* To the next line's word from `at`, a line end.  At most one line is empty. */
static size_t
next_line(const struct scan_joint *j, size_t at, bool *marked)
{
	const uint8_t *p = j->text;
	size_t ends = 0, i;

	while (at < j->len && (p[at] == '\r' || p[at] == '\n'))
		ends += p[at++] == '\n';
	if (ends > 2)
		return j->len;
	*marked = at < j->len && scan_is_mark(p[at]) && (i = scan_join_mark(j, at)) > 0;
	at += *marked ? i : 0;
	for (i = 0; i < INDENT_MAX && at < j->len && (p[at] == ' ' || p[at] == '\t'); i++)
		at++;
	return at;
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
	if (word_after(j->text + at, j->len - at, PART_MIN) < PART_MIN &&
	    word_before(j->out, j->out_len, PART_MIN) < PART_MIN)
		return 0;
	return scan_join_enough(j, at, marked) ? at - j->at : 0;
}

size_t
scan_join_continued(const struct scan_joint *j)
{
	bool marked;
	size_t at;

	if (j->out_len == 0 || !scan_in_word(j->out[-1]))
		return 0;
	at = next_line(j, j->at + 1, &marked);
	return at < j->len && scan_in_word(j->text[at]) && scan_join_enough(j, at, true) ?
	    at - j->at : 0;
}
