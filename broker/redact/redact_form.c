#include "redact/redact_form.h"

#include "base64_digit.h"
#include "hex_digit.h"

#include <assert.h>
#include <ctype.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

/* --- escapes ------------------------------------------------------------- */

/*
 * All ways to write a byte other than as itself, in lower case; what is read is
 * lowered before it is compared.  The same table for every secret.
 */
#define ESCAPES_MAX 16
#define PADDING '\1'	/* in an escape: up to REDACT_PADDING_MAX zeros, or none */

static char escapes[256][ESCAPES_MAX][REDACT_ESCAPE_MAX];
static char numbers[256][4];
static uint8_t opens[256];	/* does an escape or a filler begin with this byte? */

/* What may stand between two elements and is none. */
static const char *const soft_breaks[] = { "=\n", "=\r\n", NULL };
static const char *const line_ends[] = { "\n", "\r\n", "\\n", "\\r\\n", NULL };
static const char *const separators[] = { " ", ":", "-", ",", ";", "\t", "\r", "\n",
    "\\n", "0x", NULL };

static void __attribute__((format(printf, 2, 3)))
add(unsigned c, const char *format, ...)
{
	va_list args;
	size_t i = 0;
	int n;

	while (escapes[c][i][0] != '\0')
		i++;
	assert(i < ESCAPES_MAX - 1);	/* the last one stays empty: an end */
	va_start(args, format);
	n = vsnprintf(escapes[c][i], REDACT_ESCAPE_MAX, format, args);
	va_end(args);
	assert(n > 0 && n < REDACT_ESCAPE_MAX);
	opens[(uint8_t)escapes[c][i][0]] = 1;
}

static void
add_numeric(unsigned c)
{
	add(c, "%%%02x", c);
	add(c, "=%02x", c);
	add(c, "\\u00%02x", c);
	add(c, "\\u{%c%x}", PADDING, c);
	add(c, "\\x%02x", c);
	add(c, "\\%03o", c);
	if (c == 0) {	/* nothing but padding */
		add(c, "&#%c;", PADDING);
		add(c, "&#x%c;", PADDING);
		return;
	}
	add(c, "&#%c%u;", PADDING, c);
	add(c, "&#x%c%x;", PADDING, c);
}

/* Escaped twice, as an address in an address is, or JSON in JSON: only what an
 * encoder escapes, since all others come through as they are. */
static void
add_twice(unsigned c)
{
	if (strchr("-._~", (int)c) == NULL && !isalnum((int)c))
		add(c, "%%25%02x", c);
	if (c < ' ' || strchr("\"&'/<>\\", (int)c) != NULL)
		add(c, "\\\\u00%02x", c);
}

static void
open_with(const char *const *fillers)
{
	for (size_t i = 0; fillers[i] != NULL; i++)
		opens[(uint8_t)fillers[i][0]] = 1;
}

static void
fill_escapes(void)
{
	static const struct { uint8_t c; const char *text; } others[] = {
		{ '"', "\\\"" }, { '\'', "\\'" }, { '\\', "\\\\" }, { '/', "\\/" },
		{ '\b', "\\b" }, { '\f', "\\f" }, { '\n', "\\n" }, { '\r', "\\r" },
		{ '\t', "\\t" }, { '"', "&quot;" }, { '\'', "&apos;" },
		{ '&', "&amp;" }, { '<', "&lt;" }, { '>', "&gt;" }, { ' ', "+" },
		{ '\n', "\r\n" }, { '\n', "\\r\\n" }, { '\n', "%0d%0a" },
		{ '"', "\\\\\\\"" }, { '+', "&plus;" }, { '/', "&sol;" },
		{ '=', "&equals;" },
	};

	for (unsigned c = 0; c < 256; c++) {
		add_numeric(c);
		add_twice(c);
		snprintf(numbers[c], sizeof(numbers[c]), "%u", c);
	}
	for (unsigned c = '0'; c <= '9'; c++)
		opens[c] = 1;	/* a number */
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		add(others[i].c, "%s", others[i].text);
	open_with(soft_breaks);
	open_with(line_ends);
	open_with(separators);
}

void
redact_form_init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, fill_escapes);
}

static uint8_t
lower(uint8_t c)
{
	return c >= 'A' && c <= 'Z' ? c | 0x20 : c;
}

/* --- elements ------------------------------------------------------------- */

/* A form whose elements are digits of so many bits; 0: of another kind. */
static unsigned
digit_bits(unsigned form)
{
	if (form >= REDACT_BASE64 && form <= REDACT_BASE64_END)
		return 6;
	return form >= REDACT_BASE32 && form <= REDACT_BASE32_END ? 5 : 0;
}

/* Bits of the neighbour in its first digit. */
static unsigned
lead_bits(unsigned form)
{
	return digit_bits(form) == 6 ? 2 * (form - REDACT_BASE64) :
	    form - REDACT_BASE32;
}

static uint32_t
redact_form_elements(const struct redact_item *item, unsigned form)
{
	unsigned bits = digit_bits(form);

	if (bits > 0)
		return (item->n * 8 + lead_bits(form) + bits - 1) / bits;
	if (form == REDACT_HEX)
		return item->n * 2;
	return form == REDACT_UTF16 ? item->n * 2 - 1 : item->n;
}

uint32_t
redact_form_bytes(unsigned form, uint32_t elements)
{
	unsigned bits = digit_bits(form);

	if (bits > 0)
		return elements * bits / 8;
	return form == REDACT_HEX || form == REDACT_UTF16 ? elements / 2 : elements;
}

static bool
hex_takes(const struct redact_item *item, uint32_t element, uint8_t c)
{
	uint8_t byte = item->p[element / 2];

	return hex_digit(c) == (element % 2 == 0 ? byte >> 4 : byte & 15);
}

static int
base32_digit(uint8_t c)
{
	if (c >= '2' && c <= '7')
		return c - '2' + 26;
	c = lower(c);
	return c >= 'a' && c <= 'z' ? c - 'a' : -1;
}

/*
 * A digit of base64 or base32 covers six or five bits of the stream, of which the
 * first and last one may belong to the neighbours: those bits are left open.
 */
static bool
digit_takes(const struct redact_item *item, unsigned form, uint32_t element,
    int digit)
{
	unsigned bits = digit_bits(form), all = (1u << bits) - 1, mask = all;
	/* counted from the byte before the secret, so that nothing is negative */
	uint32_t bit = element * bits + 8 - lead_bits(form), end = item->n * 8 + 8;
	uint32_t byte = bit / 8;
	unsigned high = byte > 0 ? item->p[byte - 1] : 0;
	unsigned low = byte < item->n ? item->p[byte] : 0;
	unsigned want = (high << 8 | low) >> (16 - bits - bit % 8) & all;

	if (digit < 0)
		return false;
	if (bit < 8)
		mask >>= 8 - bit;
	if (bit + bits > end)
		mask &= all << (bit + bits - end);
	return ((unsigned)digit & mask) == (want & mask);
}

static uint8_t
rot13(uint8_t c)
{
	uint8_t small = lower(c);

	if (small < 'a' || small > 'z')
		return c;
	return small < 'n' ? c + 13 : c - 13;
}

static bool
takes(const struct redact_item *item, const struct redact_at *at, uint8_t c)
{
	uint32_t element = at->element;

	switch (at->form) {
	case REDACT_TEXT:
		return item->p[element] == c;
	case REDACT_HEX:
		return hex_takes(item, element, c);
	case REDACT_UTF16:
		return c == (element % 2 == 0 ? item->p[element / 2] : 0);
	case REDACT_NUMBERS:
		return false;
	case REDACT_REVERSED:
		return item->p[item->n - 1 - element] == c;
	case REDACT_ROT13:
		return item->p[element] == rot13(c);
	default:
		return digit_takes(item, at->form, element,
		    at->form <= REDACT_BASE64_END ? base64_digit(c) : base32_digit(c));
	}
}

/* --- steps ---------------------------------------------------------------- */

/* The reader behind the next element, or behind a filler. */
static struct redact_at
behind(const struct redact_item *item, struct redact_at at, bool filler,
    bool escaped)
{
	at.escape = NULL;
	at.zeros = 0;
	at.filler = false;
	at.fillers = filler ? at.fillers + 1 : 0;
	at.escaped = escaped;
	if (!filler)
		at.element++;
	at.done = at.element == redact_form_elements(item, at.form);
	return at;
}

static struct redact_at
inside(const struct redact_item *item, struct redact_at at, const char *rest,
    bool filler)
{
	if (*rest == '\0')
		return behind(item, at, filler, true);
	at.escape = rest;
	at.filler = filler;
	return at;
}

/* Standing inside an escape there is one way at most. */
static bool
goes_on_inside(const struct redact_item *item, const struct redact_at *at,
    uint8_t c, struct redact_at *way)
{
	const char *rest = at->escape;

	if (*rest == PADDING && c == '0' && at->zeros < REDACT_PADDING_MAX) {
		*way = *at;
		way->zeros++;
		return true;
	}
	rest += *rest == PADDING;
	if ((uint8_t)*rest != lower(c))
		return false;
	*way = inside(item, *at, rest + 1, at->filler);
	return true;
}

/* Begin every escape of byte that opens with c. */
static size_t
begin_escapes(const struct redact_item *item, const struct redact_at *at,
    uint8_t byte, uint8_t c, struct redact_at *ways)
{
	size_t n = 0;

	for (size_t i = 0; escapes[byte][i][0] != '\0'; i++)
		if ((uint8_t)escapes[byte][i][0] == c)
			ways[n++] = inside(item, *at, escapes[byte][i] + 1, false);
	return n;
}

/* Fillers stand between elements; most of them in a row between numbers. */
static size_t
begin_fillers(const struct redact_item *item, const struct redact_at *at,
    const char *const *fillers, unsigned most, uint8_t c, struct redact_at *ways)
{
	size_t n = 0;

	if (at->element == 0 || at->fillers >= most)
		return 0;
	for (size_t i = 0; fillers[i] != NULL; i++)
		if ((uint8_t)fillers[i][0] == c)
			ways[n++] = inside(item, *at, fillers[i] + 1, true);
	return n;
}

static size_t
open_digits(const struct redact_item *item, const struct redact_at *at,
    uint8_t c, struct redact_at *ways)
{
	size_t n = 0;

	if (at->form <= REDACT_BASE64_END && takes(item, at, '+'))
		n += begin_escapes(item, at, '+', c, ways + n);
	if (at->form <= REDACT_BASE64_END && takes(item, at, '/'))
		n += begin_escapes(item, at, '/', c, ways + n);
	return n + begin_fillers(item, at, line_ends, 1, c, ways + n);
}

static size_t
open_escapes(const struct redact_item *item, const struct redact_at *at,
    uint8_t c, struct redact_at *ways)
{
	size_t n = 0;

	switch (at->form) {
	case REDACT_TEXT:
		n = begin_escapes(item, at, item->p[at->element], c, ways);
		return n + begin_fillers(item, at, soft_breaks, 1, c, ways + n);
	case REDACT_NUMBERS:
		if ((uint8_t)numbers[item->p[at->element]][0] == c)
			ways[n++] = inside(item, *at,
			    numbers[item->p[at->element]] + 1, false);
		return n + begin_fillers(item, at, separators, REDACT_FILLERS_MAX,
		    c, ways + n);
	case REDACT_HEX:
		return at->element % 2 != 0 ? 0 : begin_fillers(item, at,
		    separators, REDACT_FILLERS_MAX, c, ways);
	case REDACT_UTF16:
	case REDACT_REVERSED:
	case REDACT_ROT13:
		return 0;
	default:
		return open_digits(item, at, c, ways);
	}
}

size_t
redact_form_step(const struct redact_item *item, const struct redact_at *at,
    uint8_t c, struct redact_at ways[REDACT_WAYS_MAX])
{
	size_t n = 0;

	if (at->escape != NULL)
		return goes_on_inside(item, at, c, ways) ? 1 : 0;
	if (takes(item, at, c))
		ways[n++] = behind(item, *at, false, false);
	if (opens[c])
		n += open_escapes(item, at, c, ways + n);
	return n;
}

size_t
redact_form_candidates(const struct redact_at *at, uint8_t bytes[256])
{
	const char *rest = at->escape;
	size_t n = 0;

	if (rest == NULL) {
		for (; n < 256; n++)
			bytes[n] = (uint8_t)n;
		return n;
	}
	if (*rest == PADDING) {
		bytes[n++] = '0';
		rest++;
	}
	bytes[n++] = (uint8_t)*rest;
	bytes[n++] = (uint8_t)toupper((unsigned char)*rest);
	return n;
}
