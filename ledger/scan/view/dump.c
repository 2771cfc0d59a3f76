/* The lines of a dump: of hexdump, xxd, od, gdb, tcpdump or a program's own. */
#include <ctype.h>
#include <string.h>

#include "ledger/scan/view/runs.h"

#define BYTES_MAX 64	/* of one line, at most */
#define TEXT_MAX 160	/* behind its numbers, at most */
#define OFFSET_MIN 4	/* digits of an offset */
#define FIRST_GAP 3	/* blanks between it and the first number, at most */

/* One line: offset, numbers, the same as text. */
struct dump_line {
	uint64_t hex, octal;	/* the offset, read so and so */
	size_t number[BYTES_MAX], digits[BYTES_MAX];	/* where, how many */
	unsigned numbers, bytes;
	size_t end;		/* behind the line end */
};

static uint64_t
value_of(const uint8_t *p, size_t digits, unsigned bits)
{
	uint64_t n = 0;

	while (digits-- > 0)
		n = n << bits | scan_digit[SCAN_HEX][*p++];
	return n;
}

/* Behind blanks and "0x". */
static size_t
number_at(const struct scan_part *part, size_t at, size_t *blanks)
{
	const uint8_t *p = part->text;
	const size_t from = at;

	while (at < part->len && (p[at] == ' ' || p[at] == '\t'))
		at++;
	*blanks = at - from;
	return part->len - at > 2 && p[at] == '0' && (p[at + 1] | 0x20) == 'x' ? at + 2 : at;
}

/* The numbers of a line from `at` on; where they end. */
static size_t
numbers(const struct scan_part *part, size_t at, size_t most, struct dump_line *line)
{
	const uint8_t *p = part->text;
	size_t blanks, from, end, allowed = FIRST_GAP;

	while (line->numbers < BYTES_MAX && line->bytes < BYTES_MAX) {
		from = number_at(part, at, &blanks);
		end = scan_hex_end(part, from, part->len);
		if (blanks == 0 || blanks > allowed || end == from || (end - from) % 2 != 0 ||
		    end - from > 16 || (end < part->len && !isspace(p[end])))
			break;
		line->number[line->numbers] = from;
		line->digits[line->numbers++] = end - from;
		line->bytes += (unsigned)(end - from) / 2;
		allowed = most;
		at = end;
	}
	return at;
}

/* The line at `at`; false where it is none of a dump. */
static bool
dump_line(const struct scan_part *part, size_t at, struct dump_line *line)
{
	const uint8_t *p = part->text, *lf;
	size_t blanks, end, most;

	at = number_at(part, at, &blanks);
	end = scan_hex_end(part, at, part->len);
	*line = (struct dump_line){ .numbers = 0 };
	if (end - at < OFFSET_MIN || end - at > 16 || end == part->len)
		return false;
	line->hex = value_of(p + at, end - at, 4);
	line->octal = value_of(p + at, end - at, 3);
	most = p[end] == ':' ? 1 : 2;	/* blanks between two numbers */
	at = numbers(part, end + (p[end] == ':'), most, line);
	most = part->len - at < TEXT_MAX ? part->len - at : TEXT_MAX;
	lf = memchr(p + at, '\n', most);
	line->end = lf == NULL ? at + most : (size_t)(lf + 1 - p);
	return line->numbers > 0 && (lf != NULL || line->end == part->len);
}

/* How many of the bytes behind `first` this line follows on; SIZE_MAX: it does not.  A
 * text beside the numbers may begin like one, and was read as bytes then. */
static size_t
follows(const struct dump_line *first, const struct dump_line *line, size_t bytes, unsigned before)
{
	const uint64_t hex = line->hex - first->hex, octal = line->octal - first->octal;

	if (hex == bytes || octal == bytes)
		return bytes;
	if (hex < bytes && bytes - hex < before)
		return (size_t)hex;
	return octal < bytes && bytes - octal < before ? (size_t)octal : SIZE_MAX;
}

/* A line's bytes; swapped: each number's last byte first, as a word of memory. */
static int
put(const struct scan_part *part, const struct dump_line *line, bool swapped,
    struct scan_view *view)
{
	size_t end, k;
	unsigned i;

	if (scan_view_room(view, BYTES_MAX + 8) != 0)
		return -1;
	for (i = 0; i < line->numbers; i++) {
		end = line->number[i] + line->digits[i];
		if (!swapped && scan_hex_number(part, line->number[i], end, view) != 0)
			return -1;
		for (k = 0; swapped && k < line->digits[i]; k += 2)
			if (scan_hex_number(part, end - k - 2, end - k, view) != 0)
				return -1;
	}
	return 0;
}

/* Whether its numbers may be words of memory. */
static bool
has_words(const struct dump_line *line)
{
	return line->digits[0] > 2;
}

/*
 * Lines of a dump from `at` on, each at the offset where the one before ended:
 * one segment.  *end is behind them; at where there are none of any use.
 */
static int
take_lines(const struct scan_part *part, size_t at, bool swapped, struct scan_view *view,
    size_t *end)
{
	struct dump_line first, line;
	size_t bytes = 0, follow;
	unsigned before = 0;

	*end = at;
	if (!dump_line(part, at, &first) || (swapped && !has_words(&first)))
		return 0;
	if (scan_view_begin(view) != 0)
		return -1;
	for (line = first; ; ) {
		follow = follows(&first, &line, bytes, before);
		if (follow == SIZE_MAX)
			break;
		view->len -= bytes - follow;
		bytes = follow + line.bytes;
		before = line.bytes;
		*end = line.end;
		if (put(part, &line, swapped, view) != 0)
			return -1;
		if (!dump_line(part, line.end, &line))
			break;
	}
	return scan_hex_settle(view);
}

int
scan_hex_dump(const struct scan_part *part, const struct scan_run *run, struct scan_view *view,
    size_t *end)
{
	const uint8_t *p = part->text, *lf;
	size_t at = run->start, ignored;

	*end = at;
	if (at > 0 && p[at - 1] != '\n') {
		lf = memchr(p + at, '\n', run->end - at);
		if (lf == NULL)
			return 0;
		at = (size_t)(lf + 1 - p);
	}
	if (take_lines(part, at, false, view, end) != 0)
		return -1;
	return *end == at ? 0 : take_lines(part, at, true, view, &ignored);
}
