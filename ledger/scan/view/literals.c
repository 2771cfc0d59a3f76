/* Literals that are one value: "abc" + "def", or two of a list: "abc", "def". */
#include <string.h>

#include "ledger/scan/view/escape.h"

#define GLUE_MAX 64	/* bytes between two literals */
#define GLUE_BEFORE_MAX 8	/* of them in front of a line end */
#define OPERATOR_MAX 2
#define KEY_MAX 256	/* bytes of a literal that may be a member's name */

/* What stands between two literals: blanks, line ends and one operator at most. */
struct glue {
	size_t len;
	uint8_t operator;	/* "+", ".", "&", "|", or any of them twice; or "," */
	unsigned times;
	bool open;		/* the operator may go on */
	bool none;		/* there are two */
};

static bool
is_operator(uint8_t c)
{
	return c == '+' || c == '.' || c == '&' || c == '|' || c == ',';
}

/* Whether c is of the glue. */
static bool
take(struct glue *glue, uint8_t c)
{
	if (is_operator(c)) {
		glue->none |= glue->times > 0 && (!glue->open || c != glue->operator ||
		    c == ',' || glue->times == OPERATOR_MAX);
		glue->operator = c;
		glue->times++;
		glue->open = true;
	} else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
		glue->open = false;
	} else {
		return false;
	}
	glue->len++;
	return true;
}

/* In front of the line end: a backslash there says that the line goes on. */
static void
glue_before(const struct scan_joint *j, struct glue *glue)
{
	uint8_t c;

	while (glue->len < j->out_len && glue->len < GLUE_BEFORE_MAX) {
		c = j->out[-1 - (ptrdiff_t)glue->len];
		if (!take(glue, c == '\\' ? ' ' : c))
			return;
	}
}

/* From `at` on; where the glue ends.  What a diff or a letter puts in front of each
 * line is no operator. */
static size_t
glue_after(const struct scan_joint *j, size_t at, struct glue *glue)
{
	size_t most = j->len - at < GLUE_MAX ? j->len : at + GLUE_MAX, mark;

	glue->open = false;
	while (at < most && take(glue, j->text[at])) {
		if (j->text[at++] != '\n' || at == most)
			continue;
		if ((mark = scan_join_item(j, at)) == 0 && scan_is_mark(j->text[at]))
			mark = scan_join_mark(j, at);
		at += mark < most - at ? mark : most - at;
	}
	return at;
}

/* Whether the literal at `at` names what stands behind it: "abc": or "abc" =>. */
static bool
names(const struct scan_joint *j, size_t at)
{
	size_t most = j->len - at < KEY_MAX ? j->len - at : KEY_MAX;
	const uint8_t *p = j->text + at, *end = p + most;

	p = memchr(p + 1, *p, most - 1);
	for (p = p == NULL ? end : p + 1; p < end && (*p == ' ' || *p == '\t'); p++)
		;
	return p < end && (*p == ':' || *p == '=');
}

/* The quotes on both sides may be of two kinds, as a shell's are. */
struct scan_step
scan_join_literals(const struct scan_joint *j)
{
	struct scan_step none = SCAN_NO_STEP;
	struct glue glue = { 0, 0, 0, false, false };
	size_t at = j->at, back = 0;

	if (scan_is_quote(j->text[at])) {
		at++;
	} else {
		glue_before(j, &glue);
		back = glue.len + 1;
		if (back >= j->out_len || !scan_is_quote(j->out[-(ptrdiff_t)back]))
			return none;
	}
	if (back >= j->out_len || !scan_in_word(j->out[-1 - (ptrdiff_t)back]))
		return none;
	at = glue_after(j, at, &glue);
	if (glue.none || at + 1 >= j->len || !scan_is_quote(j->text[at]) ||
	    !scan_in_word(j->text[at + 1]) || (glue.operator == ',' && names(j, at)))
		return none;
	if (!scan_join_enough(&(struct scan_joint){ j->text, j->at, j->len, j->out - back,
	    j->out_len - back, j->least }, at + 1, true))
		return none;
	return (struct scan_step){ at + 1 - j->at, 0, { 0 }, back };
}
