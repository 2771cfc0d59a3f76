#include "redact/pieces.h"

#include <stdlib.h>
#include <string.h>
#include <sodium.h>

#include "ledger/scan/view/deltas.h"
#include "redact/redact_needles.h"

#define NAME_MAX_LEN 24		/* no member's name is as long */

/* Where in JSON the stream stands, as far as strings and their names go. */
enum at { OUTSIDE, STRING, NAMED, VALUE_DUE, VALUE };

struct pieces {
	struct redact_needles *needles;
	const uint8_t *secret;
	uint16_t want;			/* so many bytes in a row are enough */
	uint16_t next[PIECES_MOST];	/* after so many that fit: of how many they end with
					 * the beginning, too */
	uint16_t fits[SCAN_DELTA_KEYS];	/* of each member: how much of it is the secret */
	enum at at;
	bool escaped;			/* behind a backslash */
	uint8_t digits;			/* of \u, to come */
	uint32_t code;
	unsigned member;
	char name[NAME_MAX_LEN];
	size_t name_len;
	bool found;
};

bool
pieces_expected(struct slice type)
{
	static const char *const types[] = { "text/event-stream", "application/x-ndjson",
	    "application/ndjson", "application/jsonl", "application/x-jsonlines",
	    "application/json-seq", "application/stream+json" };
	size_t i, n;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		n = strlen(types[i]);
		if (type.n >= n && slice_case_eq((struct slice){ type.p, n }, slice_of(types[i])))
			return true;
	}
	return false;
}

/* Knuth, Morris and Pratt's. */
static void
prepare(struct pieces *p)
{
	uint16_t k = 0;

	for (uint16_t i = 1; i < p->want; i++) {
		while (k > 0 && p->secret[i] != p->secret[k])
			k = p->next[k - 1];
		k += p->secret[i] == p->secret[k];
		p->next[i] = k;
	}
}

struct pieces *
pieces_new(struct redact_needles *needles)
{
	struct pieces *p = calloc(1, sizeof(*p));
	uint32_t n = needles->items[0].n, half = n / 2 > PIECES_LEAST ? n / 2 : PIECES_LEAST;

	if (p == NULL)
		return NULL;
	p->needles = redact_needles_ref(needles);
	p->secret = needles->items[0].p;
	p->want = (uint16_t)(half > n ? n : half > PIECES_MOST ? PIECES_MOST : half);
	prepare(p);
	return p;
}

void
pieces_free(struct pieces *p)
{
	if (p == NULL)
		return;
	redact_needles_unref(p->needles);
	sodium_memzero(p, sizeof(*p));
	free(p);
}

static void
compare(struct pieces *p, uint32_t c)
{
	uint16_t *fits = &p->fits[p->member];

	while (*fits > 0 && c != p->secret[*fits])
		*fits = p->next[*fits - 1];
	*fits = (uint16_t)(*fits + (c == p->secret[*fits]));
	if (*fits == p->want) {
		p->found = true;
		*fits = 0;
	}
}

/* --- strings ---------------------------------------------------------- */

static uint32_t
short_escape(uint8_t c)
{
	static const char from[] = "nrtbf", to[] = "\n\r\t\b\f";
	const char *at = c != '\0' ? strchr(from, c) : NULL;

	return at != NULL ? (uint8_t)to[at - from] : c;
}

static unsigned
digit(uint8_t c)
{
	return c <= '9' ? c - (unsigned)'0' : (c | 0x20u) - 'a' + 10u;
}

/* One byte of a value. */
static void
value_byte(struct pieces *p, uint8_t c)
{
	if (p->digits > 0) {
		p->code = p->code << 4 | (digit(c) & 15);
		if (--p->digits == 0)
			compare(p, p->code);
	} else if (p->escaped && c == 'u') {
		p->digits = 4;
		p->code = 0;
		p->escaped = false;
	} else if (p->escaped) {
		compare(p, short_escape(c));
		p->escaped = false;
	} else if (c == '\\') {
		p->escaped = true;
	} else {
		compare(p, c);
	}
}

/* One byte of a string that may be a name. */
static void
name_byte(struct pieces *p, uint8_t c)
{
	p->escaped = !p->escaped && c == '\\';
	if (p->name_len < sizeof(p->name))
		p->name[p->name_len++] = (char)c;
}

static void
begin_string(struct pieces *p, enum at at)
{
	p->at = at;
	p->escaped = false;
	p->digits = 0;
	p->name_len = 0;
}

static bool
is_member(struct pieces *p)
{
	struct slice name = { p->name, p->name_len };

	for (p->member = 0; p->member < SCAN_DELTA_KEYS; p->member++)
		if (slice_eq(name, slice_of(scan_delta_keys[p->member])))
			return true;
	return false;
}

/* Between strings. */
static void
between(struct pieces *p, uint8_t c)
{
	if (c == '"')
		begin_string(p, p->at == VALUE_DUE ? VALUE : STRING);
	else if (p->at == NAMED && c == ':')
		p->at = is_member(p) ? VALUE_DUE : OUTSIDE;
	else if (c != ' ' && c != '\t')
		p->at = OUTSIDE;
}

static void
take(struct pieces *p, uint8_t c)
{
	bool inside = p->at == STRING || p->at == VALUE;

	if (inside && c == '\n')
		p->at = OUTSIDE;	/* no JSON: the next line may be */
	else if (inside && c == '"' && !p->escaped)
		p->at = p->at == STRING ? NAMED : OUTSIDE;
	else if (p->at == VALUE)
		value_byte(p, c);
	else if (p->at == STRING)
		name_byte(p, c);
	else
		between(p, c);
}

bool
pieces_feed(struct pieces *p, struct slice bytes)
{
	for (size_t i = 0; i < bytes.n && !p->found; i++)
		take(p, (uint8_t)bytes.p[i]);
	return p->found;
}
