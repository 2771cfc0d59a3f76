#include "plane/redact_form.h"

#include "plane/base64_digit.h"

#include <assert.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

/* --- escapes ------------------------------------------------------------- */

/*
 * All ways to write a byte other than as itself, in lower case; what is read is
 * lowered before it is compared.  The same table for every secret.
 */
#define ESCAPES_MAX 14
#define WRAP 256	/* a line's end inside base64, not a byte of its own */
#define PADDING '\1'	/* in an escape: up to REDACT_PADDING_MAX zeros, or none */

static char escapes[257][ESCAPES_MAX][REDACT_ESCAPE_MAX];
static uint8_t opens[256];	/* does an escape begin with this byte? */

static void __attribute__((format(printf, 2, 3)))
add(unsigned c, const char *format, ...)
{
	va_list args;
	size_t i = 0;

	while (escapes[c][i][0] != '\0')
		i++;
	assert(i < ESCAPES_MAX - 1);	/* the last one stays empty: an end */
	va_start(args, format);
	vsnprintf(escapes[c][i], REDACT_ESCAPE_MAX, format, args);
	va_end(args);
	opens[(uint8_t)escapes[c][i][0]] = 1;
}

static void
add_numeric(unsigned c)
{
	add(c, "%%%02x", c);
	add(c, "\\u00%02x", c);
	add(c, "\\x%02x", c);
	if (c == 0) {	/* nothing but padding */
		add(c, "&#%c;", PADDING);
		add(c, "&#x%c;", PADDING);
		return;
	}
	add(c, "&#%c%u;", PADDING, c);
	add(c, "&#x%c%x;", PADDING, c);
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
	};
	static const char *const wraps[] = { "\n", "\r\n", "\\n", "\\r\\n" };

	for (unsigned c = 0; c < 256; c++)
		add_numeric(c);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		add(others[i].c, "%s", others[i].text);
	for (size_t i = 0; i < sizeof(wraps) / sizeof(wraps[0]); i++)
		add(WRAP, "%s", wraps[i]);
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

uint32_t
redact_form_elements(const struct redact_item *item, unsigned form)
{
	switch (form) {
	case REDACT_TEXT:
		return item->n;
	case REDACT_HEX:
		return item->n * 2;
	default:
		return (item->n * 8 + 2 * (form - REDACT_BASE64) + 5) / 6;
	}
}

uint32_t
redact_form_bytes(unsigned form, uint32_t elements)
{
	switch (form) {
	case REDACT_TEXT:
		return elements;
	case REDACT_HEX:
		return elements / 2;
	default:
		return elements * 6 / 8;
	}
}

static int
hex_value(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = lower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool
hex_takes(const struct redact_item *item, uint32_t element, uint8_t c)
{
	uint8_t byte = item->p[element / 2];

	return hex_value(c) == (element % 2 == 0 ? byte >> 4 : byte & 15);
}

/*
 * Base64 digit `element` covers six bits of the stream, of which the first and
 * last one may belong to the neighbours: those bits are left open.
 */
static bool
base64_takes(const struct redact_item *item, unsigned lead, uint32_t element,
    int digit)
{
	/* counted from the byte before the secret, so that nothing is negative */
	uint32_t bit = element * 6 + 8 - 2 * lead, end = item->n * 8 + 8;
	uint32_t byte = bit / 8;
	unsigned high = byte > 0 ? item->p[byte - 1] : 0;
	unsigned low = byte < item->n ? item->p[byte] : 0;
	unsigned want = (high << 8 | low) >> (10 - bit % 8) & 63, mask = 63;

	if (digit < 0)
		return false;
	if (bit < 8)
		mask >>= 8 - bit;
	if (bit + 6 > end)
		mask &= 63u << (bit + 6 - end);
	return ((unsigned)digit & mask) == (want & mask);
}

static bool
takes(const struct redact_item *item, const struct redact_at *at, uint8_t c)
{
	switch (at->form) {
	case REDACT_TEXT:
		return item->p[at->element] == c;
	case REDACT_HEX:
		return hex_takes(item, at->element, c);
	default:
		return base64_takes(item, at->form - REDACT_BASE64, at->element,
		    base64_digit(c));
	}
}

/* --- steps ---------------------------------------------------------------- */

/* The reader behind the next element, or behind a wrap. */
static struct redact_at
behind(const struct redact_item *item, struct redact_at at, bool wrap,
    bool escaped)
{
	at.escape = NULL;
	at.zeros = 0;
	at.wrap = false;
	at.wrapped = wrap;
	at.escaped = escaped;
	if (!wrap)
		at.element++;
	at.done = at.element == redact_form_elements(item, at.form);
	return at;
}

static struct redact_at
inside(const struct redact_item *item, struct redact_at at, const char *rest,
    bool wrap)
{
	if (*rest == '\0')
		return behind(item, at, wrap, true);
	at.escape = rest;
	at.wrap = wrap;
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
	*way = inside(item, *at, rest + 1, at->wrap);
	return true;
}

/* Begin every escape of byte (or WRAP) that opens with c. */
static size_t
begin_escapes(const struct redact_item *item, const struct redact_at *at,
    unsigned byte, uint8_t c, struct redact_at *ways)
{
	size_t n = 0;

	for (size_t i = 0; escapes[byte][i][0] != '\0'; i++)
		if ((uint8_t)escapes[byte][i][0] == c)
			ways[n++] = inside(item, *at, escapes[byte][i] + 1,
			    byte == WRAP);
	return n;
}

static size_t
open_escapes(const struct redact_item *item, const struct redact_at *at,
    uint8_t c, struct redact_at *ways)
{
	size_t n = 0;

	if (at->form == REDACT_TEXT)
		return begin_escapes(item, at, item->p[at->element], c, ways);
	if (at->form == REDACT_HEX)
		return 0;
	if (takes(item, at, '+'))
		n += begin_escapes(item, at, '+', c, ways + n);
	if (takes(item, at, '/'))
		n += begin_escapes(item, at, '/', c, ways + n);
	if (at->element > 0 && !at->wrapped)
		n += begin_escapes(item, at, WRAP, c, ways + n);
	return n;
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

bool
redact_form_goes_on(const struct redact_item *item,
    const struct redact_at *at, uint8_t c)
{
	struct redact_at ways[REDACT_WAYS_MAX];

	if (at->escape != NULL)
		return goes_on_inside(item, at, c, ways);
	return takes(item, at, c) ||
	    (opens[c] && open_escapes(item, at, c, ways) > 0);
}
