/* What lines begin with, beside their text: a letter's quotation, a diff, a list's item,
 * a comment, a frame, a log's time and names, numbers. */
#include <ctype.h>
#include <string.h>

#include "ledger/scan/view/escape.h"
#include "ledger/scan/view/runs.h"

#define MARK_MAX 32
#define PREFIX_MAX 160	/* of a log's line */
#define DIFF_LINES 8	/* that are looked at to tell a diff */
#define PART_MIN 8	/* a part of a word that a line end cuts in two */
#define PIECE_MAX 64	/* of it that is looked at */

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

size_t
scan_join_item(const struct scan_joint *j, size_t at)
{
	const uint8_t *next = j->text + at, *line;
	size_t len = scan_join_indent(next, j->len - at) + 2, start, i;

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

/* ---- lines of a log, and comments ---- */

static bool
is(uint8_t c, unsigned what)
{
	return (scan_char[c] & what) != 0;
}

static bool
is_blank(uint8_t c)
{
	return c == ' ' || c == '\t';
}

/* Behind what no value is made of, something else may begin. */
static bool
parts(uint8_t c)
{
	return !is(c, SCAN_IN_VALUE) && c != '=';
}

/* Behind a row of blanks, or of digits. */
static size_t
behind_blanks(const uint8_t *p, size_t at, size_t len)
{
	while (at < len && is_blank(p[at]))
		at++;
	return at;
}

static size_t
behind_digits(const uint8_t *p, size_t at, size_t len)
{
	while (at < len && isdigit(p[at]))
		at++;
	return at;
}

/* How much of two lines is the same but for its numbers, which may stand to the right
 * in their column, up to where something else may begin: *a_at and *b_at. */
static void
same_but_numbers(const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len, size_t *a_at,
    size_t *b_at)
{
	size_t i = 0, k = 0, i_next, k_next;

	*a_at = *b_at = 0;
	while (i < a_len && k < b_len) {
		i_next = behind_blanks(a, i, a_len);
		k_next = behind_blanks(b, k, b_len);
		if (i_next == a_len || k_next == b_len || ((i_next > i) != (k_next > k) &&
		    !(isdigit(a[i_next]) && isdigit(b[k_next]))))
			return;
		if (i_next > i) {
			*a_at = i_next;
			*b_at = k_next;
		}
		i = i_next;
		k = k_next;
		if (isdigit(a[i]) && isdigit(b[k])) {
			i = behind_digits(a, i, a_len);
			k = behind_digits(b, k, b_len);
			continue;
		}
		if (a[i] != b[k])
			return;
		i++;
		k++;
		if (parts(a[i - 1])) {
			*a_at = i;
			*b_at = k;
		}
	}
}

/* The value that ends at text[end], if it is long and no hash: all that a line of packed
 * text says. */
static size_t
alone(const uint8_t *text, size_t end)
{
	size_t n = 0;
	bool hash = true;

	for (; n < end && is(text[end - 1 - n], SCAN_IN_VALUE); n++)
		hash = hash && scan_nibble(text[end - 1 - n]) >= 0;
	return n >= SCAN_ALONE_MIN && !hash ? n : 0;
}

/* Whether a piece of a word may be of what was drawn by a machine: digits, or capitals
 * within.  No word of prose is. */
static bool
drawn(const uint8_t *p, size_t len)
{
	uint8_t last = SCAN_IS_UPPER, any = 0;

	for (; len > 0; len--, p++) {
		any |= scan_char[*p] & (SCAN_IS_DIGIT | (SCAN_IS_UPPER & ~last));
		last = scan_char[*p];
	}
	return any != 0;
}

/* Whether the pieces on both sides of a comment's mark, of which the first is long, are as long
 * as what is looked for, and one of them drawn: those of prose are not. */
static bool
worth_joining(const struct scan_joint *j, size_t at)
{
	const uint8_t *from = j->out, *to = j->text + at;
	size_t before = 0, after = 0;

	if (!is(to[0], SCAN_IN_VALUE))
		return false;
	while (before < j->out_len && before < PIECE_MAX && is(from[-1], SCAN_IN_VALUE)) {
		from--;
		before++;
	}
	while (after < j->len - at && after < PIECE_MAX && is(to[after], SCAN_IN_VALUE))
		after++;
	if (before < PART_MIN || before + after < j->least)
		return false;
	return j->least < SCAN_RUN_MIN || drawn(from, before) || drawn(to, after);
}

/* "12:00:01 app[7]: ", "  9\t": the line in front has one value behind that, no more. */
static size_t
log_prefix(const struct scan_joint *j, size_t end, size_t at)
{
	size_t value = alone(j->text, end), start, a_at, b_at;
	size_t most = j->len - at < PREFIX_MAX ? j->len - at : PREFIX_MAX;

	if (value == 0)
		return 0;
	start = line_start(j->text, end);
	if (end - start - value > PREFIX_MAX || end - start == value)
		return 0;
	same_but_numbers(j->text + start, end - start, j->text + at, most, &a_at, &b_at);
	return a_at == end - start - value ? b_at : 0;
}

/* "# ", "// ", " * ", "| ": the same marks in both lines, and blanks as each likes. */
static size_t
comment_prefix(const struct scan_joint *j, size_t end, size_t at)
{
	const uint8_t *p = j->text + at, *line;
	size_t most = j->len - at < MARK_MAX ? j->len - at : MARK_MAX, n = 0, i, same = 0, marks = 0;

	while (n < most && (is_blank(p[n]) || is(p[n], SCAN_IN_MARK)))
		n++;
	if (n == most || n == 0 || !is_blank(p[n - 1]) || !worth_joining(j, at + n))
		return 0;	/* "#define" is no comment */
	line = j->text + line_start(j->text, end);
	for (i = 0; i < n && line + i < j->text + end && line[i] == p[i]; i++) {
		marks += !is_blank(p[i]);
		if (parts(p[i]))
			same = i + 1;
	}
	if (behind_blanks(p, same, n) < n)
		return 0;
	/* one ">", "+" or "-" is a letter's, a diff's or a list's: see above */
	return marks > 1 || (marks == 1 && !scan_is_mark(p[behind_blanks(p, 0, n)])) ? same : 0;
}

size_t
scan_join_prefix(const struct scan_joint *j, size_t end, size_t at)
{
	uint8_t c = j->text[behind_blanks(j->text, at, j->len - 1)];
	size_t n = 0;

	if (c >= 0x80 || !is(c, SCAN_IN_MARK))
		n = log_prefix(j, end, at);
	return n == 0 && is(c, SCAN_IN_MARK) ? comment_prefix(j, end, at) : n;
}

size_t
scan_rule(const uint8_t *p, size_t len)
{
	return len > 3 && p[0] == 0xe2 && ((p[1] == 0x94 && (p[2] == 0x82 || p[2] == 0x83)) ||
	    (p[1] == 0x95 && p[2] == 0x91)) ? 3 : 0;
}
