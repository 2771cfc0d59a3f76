#include <assert.h>
#include <pthread.h>
#include <string.h>
#include <strings.h>

#include <sodium.h>

#include "ledger/scan/format/check.h"
#include "ledger/scan/format/formats_impl.h"

#define FORMATS_MAX 160
#define ANCHORS_MAX 256

static struct {
	struct scan_pattern before[FORMATS_MAX], after[FORMATS_MAX];
	struct scan_anchor anchor[ANCHORS_MAX];
	unsigned anchors;
} db;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* ---- compiling the table ---- */

/* Anchors are separated by one space; a last one may end in a space. */
static void
compile_anchors(unsigned format)
{
	const char *p = scan_table[format].anchors, *end;
	struct scan_anchor *a;

	while (*p != '\0') {
		end = strchr(p, ' ');
		if (end == NULL || end[1] == '\0')
			end = p + strlen(p);
		assert(db.anchors < ANCHORS_MAX && end > p);
		a = &db.anchor[db.anchors++];
		a->text = p;
		a->len = (unsigned)(end - p);
		a->format = &scan_table[format];
		a->before = &db.before[format];
		a->after = &db.after[format];
		p = *end == ' ' ? end + 1 : end;
	}
}

static void
compile(void)
{
	unsigned i;

	assert(scan_table_count <= FORMATS_MAX);
	for (i = 0; i < scan_table_count; i++) {
		scan_pattern_compile(scan_table[i].before,
		    (scan_table[i].flags & F_FOLD) != 0, &db.before[i]);
		scan_pattern_compile(scan_table[i].after, false, &db.after[i]);
		compile_anchors(i);
	}
}

unsigned
scan_anchors_count(void)
{
	pthread_once(&once, compile);
	return db.anchors;
}

const struct scan_anchor *
scan_anchor(unsigned index)
{
	pthread_once(&once, compile);
	assert(index < db.anchors);
	return &db.anchor[index];
}

/* ---- matching ---- */

/* Whether the anchor's own bytes stand at `at`. */
static bool
scan_anchor_at(const struct scan_anchor *a, const uint8_t *p, size_t len,
    size_t at)
{
	if (at > len || a->len > len - at)
		return false;
	if ((a->format->flags & F_FOLD) != 0)
		return strncasecmp((const char *)p + at, a->text, a->len) == 0;
	return memcmp(p + at, a->text, a->len) == 0;
}

/* What the checks make of a match; false where it is none. */
static bool
weigh(const struct scan_format *f, const uint8_t *text, size_t len,
    struct scan_match *m)
{
	const uint8_t *token = text + m->start;

	m->confidence = SCAN_MEDIUM;
	switch (scan_check(f->check, token, m->len, m->prefix_len,
	    len - m->start - m->len)) {
	case SCAN_MENTION:
		return false;
	case SCAN_RIGHT:
		m->confidence = SCAN_HIGH;
		break;
	case SCAN_WRONG:
		m->confidence = SCAN_LOW;
		break;
	case SCAN_ABSENT:
		if (f->entropy != 0 && scan_entropy(token + m->prefix_len,
		    m->len - m->prefix_len) < f->entropy)
			m->confidence = SCAN_LOW;
		break;
	}
	if ((f->flags & F_CONTEXT) != 0)
		m->confidence = SCAN_LOW;
	return true;
}

/* The whole of it, with `flags` of the format at its ends. */
static bool
match(const struct scan_anchor *a, unsigned flags, const uint8_t *p, size_t len,
    const struct scan_map *map, size_t at, struct scan_match *out)
{
	const struct scan_format *f = a->format;
	struct scan_text text = { p, len, flags, map, NULL };
	ptrdiff_t start, end;

	start = scan_pattern_backward(a->before, &text, at);
	if (start < 0)
		return false;
	end = scan_pattern_forward(a->after, &text, at + a->len);
	if (end < 0)
		return false;
	out->format = f;
	out->start = (size_t)start;
	out->len = (size_t)(end - start);
	/* what stands before an anchor is body where it is not context */
	out->prefix_len = *f->before == '\0' || (f->flags & F_FOLD) != 0 ?
	    at + a->len - (size_t)start : 0;
	out->identifier = (f->flags & F_IDENTIFIER) != 0;
	return weigh(f, p, len, out);
}

/* A right checksum of 24 bits or more is no chance, whatever the token is glued to: the
 * column before it in a database, the string before it in a program. */
static bool
glued(const struct scan_format *f, const struct scan_match *m)
{
	size_t at, len;

	return m->confidence == SCAN_HIGH &&
	    scan_check_place(f->check, m->len, m->prefix_len, &at, &len);
}

bool
scan_anchor_match(const struct scan_anchor *a, const uint8_t *p, size_t len,
    const struct scan_map *map, size_t at, struct scan_match *out)
{
	const struct scan_format *f = a->format;

	if (!scan_anchor_at(a, p, len, at))
		return false;
	return match(a, f->flags, p, len, map, at, out) || (f->check != SCAN_NONE &&
	    match(a, 0, p, len, map, at, out) && glued(f, out));
}

/* ---- whole values ---- */

/* The anchor that makes all of value one token. */
static const struct scan_anchor *
whole(const uint8_t *value, size_t len, struct scan_match *out, size_t *anchor_at)
{
	const struct scan_anchor *a, *best = NULL;
	struct scan_match m;
	size_t at;
	unsigned i;

	for (i = 0; i < scan_anchors_count(); i++) {
		a = &db.anchor[i];
		if ((a->format->flags & F_FOLD) != 0)
			continue;
		for (at = 0; at + a->len <= len && at <= 64; at++) {
			if (at > 0 && a->before->count == 0)
				break;
			if (!scan_anchor_match(a, value, len, NULL, at, &m) ||
			    m.start != 0 || m.len != len ||
			    (best != NULL && m.confidence <= out->confidence))
				continue;
			best = a;
			*out = m;
			*anchor_at = at;
		}
	}
	return best;
}

bool
scan_formats_match(const char *value, size_t len, struct scan_match *out)
{
	size_t at;

	return whole((const uint8_t *)value, len, out, &at) != NULL;
}

/* A random member of the set; the byte itself where there is no other. */
static char
draw(const uint64_t set[4], char byte)
{
	uint8_t member[256];
	unsigned n = 0;
	int c;

	for (c = 0x21; c < 0x7f; c++)
		if (scan_set_has(set, (uint8_t)c))
			member[n++] = (uint8_t)c;
	return n > 1 ? (char)member[randombytes_uniform(n)] : byte;
}

static size_t
draw_pieces(const struct scan_pattern *pattern, const uint16_t *taken,
    const char *value, char *out, size_t at)
{
	unsigned i, k;

	for (i = 0; i < pattern->count; i++)
		for (k = 0; k < taken[i]; k++, at++)
			out[at] = draw(pattern->piece[i].set, value[at]);
	return at;
}

int
scan_formats_dummy(const char *value, size_t len, char *out)
{
	uint16_t before[SCAN_PIECES_MAX] = { 0 }, after[SCAN_PIECES_MAX] = { 0 };
	const struct scan_anchor *a;
	struct scan_text text = { (const uint8_t *)value, len, 0, NULL, NULL };
	struct scan_match m;
	size_t at;

	if ((a = whole((const uint8_t *)value, len, &m, &at)) == NULL)
		return -1;
	text.flags = m.format->flags;
	text.taken = before;
	if (scan_pattern_backward(a->before, &text, at) != 0)
		return -1;
	text.taken = after;
	if (scan_pattern_forward(a->after, &text, at + a->len) != (ptrdiff_t)len)
		return -1;
	memcpy(out, value, len);
	at = draw_pieces(a->before, before, value, out, 0);
	at = draw_pieces(a->after, after, value, out, at + a->len);
	scan_check_fix(m.format->check, (uint8_t *)out, len, m.prefix_len);
	return at == len ? 0 : -1;
}

/* log2 of a set's size in tenths, rounded down. */
static uint8_t
tenths_of(const uint64_t set[4])
{
	static const uint8_t least[] = { 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 26, 32,
	    36, 52, 62, 64 };
	static const uint8_t bits[] = { 10, 15, 20, 23, 25, 28, 30, 31, 33, 35, 38, 40,
	    47, 50, 51, 57, 59, 60 };
	unsigned n, i;
	uint8_t result = 0;

	n = (unsigned)(__builtin_popcountll(set[0]) + __builtin_popcountll(set[1]) +
	    __builtin_popcountll(set[2]) + __builtin_popcountll(set[3]));
	for (i = 0; i < sizeof(least); i++)
		if (n >= least[i])
			result = bits[i];
	return result;
}

static size_t
hidden_pieces(const struct scan_pattern *pattern, const uint16_t *taken,
    uint8_t *tenths, size_t at)
{
	unsigned i, k;

	for (i = 0; i < pattern->count; i++)
		for (k = 0; k < taken[i]; k++)
			tenths[at++] = tenths_of(pattern->piece[i].set);
	return at;
}

/* What a token encodes (claims, a location) can be guessed; its signature not. */
static size_t
guessable(const char *value, size_t len)
{
	while (len > 0 && value[len - 1] != '.' && value[len - 1] != '_')
		len--;
	return len;
}

bool
scan_formats_hidden(const char *value, size_t len, uint8_t *tenths)
{
	uint16_t before[SCAN_PIECES_MAX] = { 0 }, after[SCAN_PIECES_MAX] = { 0 };
	struct scan_text text = { (const uint8_t *)value, len, 0, NULL, NULL };
	const struct scan_anchor *a;
	struct scan_match m;
	size_t at, sum_at, sum_len;

	if ((a = whole((const uint8_t *)value, len, &m, &at)) == NULL)
		return false;
	text.flags = m.format->flags;
	text.taken = before;
	if (scan_pattern_backward(a->before, &text, at) != 0)
		return false;
	text.taken = after;
	if (scan_pattern_forward(a->after, &text, at + a->len) != (ptrdiff_t)len)
		return false;
	memset(tenths, 0, len);
	hidden_pieces(a->before, before, tenths, 0);
	hidden_pieces(a->after, after, tenths, at + a->len);
	if (scan_check_place(m.format->check, len, m.prefix_len, &sum_at, &sum_len))
		memset(tenths + sum_at, 0, sum_len);
	if ((m.format->flags & F_STRUCTURED) != 0) {
		at = guessable(value, len);
		memset(tenths, 0, at == 0 ? len : at);
	}
	return true;
}

unsigned
scan_formats_count(void)
{
	unsigned i, n = 0;

	for (i = 0; i < scan_table_count; i++)	/* a format may have several rows */
		n += i == 0 || strcmp(scan_table[i - 1].id, scan_table[i].id) != 0;
	return n;
}

const char *
scan_format_id(const struct scan_format *format)
{
	return format->id;
}

enum scan_check
scan_format_check(const struct scan_format *format)
{
	return format->check;
}
