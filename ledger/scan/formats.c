#include <assert.h>
#include <ctype.h>
#include <pthread.h>
#include <string.h>
#include <strings.h>

#include <sodium.h>

#include "ledger/scan/check.h"
#include "ledger/scan/table.h"

#define FORMATS_MAX 160
#define ANCHORS_MAX 256
#define ENTRIES_MAX 1024	/* anchors, once for each pair of first bytes */
#define PIECES_MAX 48

/* A set of bytes, and how often one of them may stand there. */
struct piece {
	uint64_t set[4];
	uint16_t min, max;
};

struct pattern {
	struct piece piece[PIECES_MAX];
	unsigned count;
};

struct anchor {
	const char *text;
	uint8_t len;
	uint8_t format;
};

/*
 * The compiled table.  A pair of bytes that begins no anchor is passed over
 * with one look into a bitmap of 8 KB; of the others, `entry` lists the
 * anchors, sorted by pair.
 */
static struct {
	struct pattern before[FORMATS_MAX], after[FORMATS_MAX];
	struct anchor anchor[ANCHORS_MAX];
	unsigned anchors;
	uint64_t pair[65536 / 64];
	struct { uint16_t pair, anchor; } entry[ENTRIES_MAX];
	unsigned entries;
	uint16_t first[65536];	/* first entry of a pair that has some */
} db;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool
in_set(const uint64_t set[4], uint8_t byte)
{
	return (set[byte >> 6] >> (byte & 63) & 1) != 0;
}

static void
set_add(uint64_t set[4], uint8_t byte)
{
	set[byte >> 6] |= UINT64_C(1) << (byte & 63);
}

static bool
is_word(uint8_t byte)
{
	return isalnum(byte) || byte == '_';
}

/* ---- compiling the table ---- */

static void
add_shorthand(uint64_t set[4], char what)
{
	static const char space[] = " \t\r\n\f\v";
	int c;

	switch (what) {
	case 'w':
		for (c = 0; c < 256; c++)
			if (is_word((uint8_t)c))
				set_add(set, (uint8_t)c);
		break;
	case 's':
		for (c = 0; space[c] != '\0'; c++)
			set_add(set, (uint8_t)space[c]);
		break;
	case 'n':
		set_add(set, '\n');
		break;
	case 'r':
		set_add(set, '\r');
		break;
	default:
		set_add(set, (uint8_t)what);
	}
}

/* "[...]" at p; returns what follows it. */
static const char *
compile_class(const char *p, uint64_t set[4])
{
	bool negated = *++p == '^';
	int c;

	for (p += negated; *p != ']'; p++) {
		assert(*p != '\0');
		if (*p == '\\') {
			add_shorthand(set, *++p);
		} else if (p[1] == '-' && p[2] != ']') {
			for (c = (uint8_t)p[0]; c <= (uint8_t)p[2]; c++)
				set_add(set, (uint8_t)c);
			p += 2;
		} else {
			set_add(set, (uint8_t)*p);
		}
	}
	for (c = 0; negated && c < 4; c++)
		set[c] = ~set[c];
	return p + 1;
}

static const char *
compile_number(const char *p, uint16_t *out)
{
	for (*out = 0; isdigit((uint8_t)*p); p++)
		*out = (uint16_t)(*out * 10 + (*p - '0'));
	return p;
}

/* A repetition, if one is there. */
static const char *
compile_repeat(const char *p, struct piece *piece)
{
	piece->min = piece->max = 1;
	if (*p == '?' || *p == '*') {
		piece->min = 0;
		piece->max = *p == '?' ? 1 : SCAN_REPEAT_MAX;
		return p + 1;
	}
	if (*p != '{')
		return p;
	p = compile_number(p + 1, &piece->min);
	piece->max = piece->min;
	if (*p == ',') {
		p = compile_number(p + 1, &piece->max);
		if (piece->max == 0)
			piece->max = SCAN_REPEAT_MAX;
	}
	assert(*p == '}' && piece->min <= piece->max);
	return p + 1;
}

static void
fold(uint64_t set[4])
{
	int c;

	for (c = 'a'; c <= 'z'; c++) {
		if (in_set(set, (uint8_t)c))
			set_add(set, (uint8_t)toupper(c));
		else if (in_set(set, (uint8_t)toupper(c)))
			set_add(set, (uint8_t)c);
	}
}

static void
compile_pattern(const char *p, bool folded, struct pattern *out)
{
	struct piece *piece;

	while (*p != '\0') {
		assert(out->count < PIECES_MAX);
		piece = &out->piece[out->count++];
		if (*p == '[')
			p = compile_class(p, piece->set);
		else if (*p == '\\')
			add_shorthand(piece->set, *++p), p++;
		else
			set_add(piece->set, (uint8_t)*p++);
		if (folded)
			fold(piece->set);
		p = compile_repeat(p, piece);
	}
}

static void
add_entry(unsigned pair, unsigned anchor)
{
	unsigned i;

	assert(db.entries < ENTRIES_MAX);
	for (i = db.entries++; i > 0 && db.entry[i - 1].pair > pair; i--)
		db.entry[i] = db.entry[i - 1];
	db.entry[i].pair = (uint16_t)pair;
	db.entry[i].anchor = (uint16_t)anchor;
	db.pair[pair / 64] |= UINT64_C(1) << pair % 64;
}

/* Every pair of bytes that the anchor may begin with. */
static void
add_pairs(unsigned index)
{
	const struct anchor *a = &db.anchor[index];
	const struct pattern *after = &db.after[a->format];
	bool folded = (scan_table[a->format].flags & F_FOLD) != 0;
	int c, d;

	for (c = 0; c < 256; c++) {
		if (c != a->text[0] && !(folded && tolower(c) == a->text[0]))
			continue;
		for (d = 0; d < 256; d++) {
			if (a->len == 1 ? in_set(after->piece[0].set, (uint8_t)d) :
			    d == a->text[1] || (folded && tolower(d) == a->text[1]))
				add_entry((unsigned)c << 8 | (unsigned)d, index);
		}
	}
}

/* Anchors are separated by one space; a last one may end in a space. */
static void
compile_anchors(unsigned format)
{
	const char *p = scan_table[format].anchors, *end;
	struct anchor *a;

	while (*p != '\0') {
		end = strchr(p, ' ');
		if (end == NULL || end[1] == '\0')
			end = p + strlen(p);
		assert(db.anchors < ANCHORS_MAX && end > p);
		a = &db.anchor[db.anchors];
		a->text = p;
		a->len = (uint8_t)(end - p);
		a->format = (uint8_t)format;
		add_pairs(db.anchors++);
		p = *end == ' ' ? end + 1 : end;
	}
}

static void
compile(void)
{
	unsigned i;

	assert(scan_table_count <= FORMATS_MAX);
	for (i = 0; i < scan_table_count; i++) {
		compile_pattern(scan_table[i].before,
		    (scan_table[i].flags & F_FOLD) != 0, &db.before[i]);
		compile_pattern(scan_table[i].after, false, &db.after[i]);
		compile_anchors(i);
	}
	for (i = db.entries; i-- > 0;)
		db.first[db.entry[i].pair] = (uint16_t)i;
}

/* ---- matching ---- */

struct text {
	const uint8_t *p;
	size_t len;
	unsigned flags;		/* what must hold at the end of the match */
	uint16_t *taken;	/* where not NULL: bytes that each piece took */
};

/* A letter that ends an escape is part of the escape, not of a word. */
static bool
word_start(const uint8_t *p, size_t at)
{
	if (at == 0 || !is_word(p[at - 1]))
		return true;
	if (at >= 2 && p[at - 2] == '\\' && strchr("nrtbf", p[at - 1]) != NULL)
		return true;
	if (at >= 3 && p[at - 3] == '%' && isxdigit(p[at - 2]) && isxdigit(p[at - 1]))
		return true;
	return at >= 6 && p[at - 6] == '\\' && p[at - 5] == 'u' &&
	    isxdigit(p[at - 4]) && isxdigit(p[at - 3]) && isxdigit(p[at - 2]) &&
	    isxdigit(p[at - 1]);
}

static bool
ends_well(const struct text *text, size_t at)
{
	uint8_t next;

	if (at >= text->len)
		return true;
	next = text->p[at];
	if ((text->flags & F_WORD_END) != 0 && is_word(next) &&
	    is_word(text->p[at - 1]))
		return false;
	return (text->flags & F_TOKEN_END) == 0 ||
	    !(isalnum(next) || next == '+' || next == '/' || next == '=');
}

/* Greedy, stepping back where the rest does not fit.  Patterns are short and
 * their repetitions bounded, and so is the depth.  The end, or -1. */
static ptrdiff_t
forward(const struct pattern *pattern, unsigned i, const struct text *text,
    size_t at)
{
	const struct piece *piece = &pattern->piece[i];
	ptrdiff_t end;
	size_t run = 0;

	if (i == pattern->count)
		return ends_well(text, at) ? (ptrdiff_t)at : -1;
	while (run < piece->max && at + run < text->len &&
	    in_set(piece->set, text->p[at + run]))
		run++;
	for (; run >= piece->min; run--) {
		end = forward(pattern, i + 1, text, at + run);
		if (end >= 0) {
			if (text->taken != NULL)
				text->taken[i] = (uint16_t)run;
			return end;
		}
		if (run == 0)
			break;
	}
	return -1;
}

/* The same to the left, from the last piece to the first.  The start, or -1. */
static ptrdiff_t
backward(const struct pattern *pattern, unsigned i, const struct text *text,
    size_t at)
{
	const struct piece *piece;
	ptrdiff_t start;
	size_t run = 0;

	if (i == 0)
		return (text->flags & F_WORD_START) == 0 || word_start(text->p, at) ?
		    (ptrdiff_t)at : -1;
	piece = &pattern->piece[i - 1];
	while (run < piece->max && run < at && in_set(piece->set, text->p[at - run - 1]))
		run++;
	for (; run >= piece->min; run--) {
		start = backward(pattern, i - 1, text, at - run);
		if (start >= 0) {
			if (text->taken != NULL)
				text->taken[i - 1] = (uint16_t)run;
			return start;
		}
		if (run == 0)
			break;
	}
	return -1;
}

static bool
anchor_at(const struct anchor *a, const uint8_t *p, size_t len)
{
	if (a->len > len)
		return false;
	if ((scan_table[a->format].flags & F_FOLD) != 0)
		return strncasecmp((const char *)p, a->text, a->len) == 0;
	return memcmp(p, a->text, a->len) == 0;
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

static bool
match_anchor(const struct anchor *a, const uint8_t *p, size_t len, size_t at,
    struct scan_match *out)
{
	const struct scan_format *f = &scan_table[a->format];
	struct text text = { p, len, f->flags, NULL };
	ptrdiff_t start, end;

	if (!anchor_at(a, p + at, len - at))
		return false;
	start = backward(&db.before[a->format], db.before[a->format].count, &text, at);
	if (start < 0)
		return false;
	end = forward(&db.after[a->format], 0, &text, at + a->len);
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

/* The best match among the anchors that begin with this pair: the longest,
 * and of equals the one whose checks say more. */
static bool
match_pair(unsigned pair, const uint8_t *text, size_t len, size_t at,
    size_t floor, struct scan_match *out)
{
	struct scan_match m;
	bool found = false;
	unsigned i;

	for (i = db.first[pair]; i < db.entries && db.entry[i].pair == pair; i++) {
		if (!match_anchor(&db.anchor[db.entry[i].anchor], text, len, at, &m) ||
		    m.start < floor)
			continue;
		if (!found || m.len > out->len ||
		    (m.len == out->len && m.confidence > out->confidence))
			*out = m;
		found = true;
	}
	return found;
}

bool
scan_formats_next(const uint8_t *text, size_t len, size_t *at,
    struct scan_match *out)
{
	size_t i, floor = *at, end = len;
	struct scan_match m;
	bool found = false;
	unsigned pair;

	pthread_once(&once, compile);
	for (i = *at; i + 1 < end; i++) {
		pair = (unsigned)text[i] << 8 | text[i + 1];
		if ((db.pair[pair / 64] >> pair % 64 & 1) == 0 ||
		    !match_pair(pair, text, len, i, floor, &m))
			continue;
		/* "token = ghp_..." is that token, not an assignment */
		if (found && (m.format->flags & F_WRAP) != 0)
			continue;
		found = true;
		*out = m;
		end = m.start + m.len;
		if ((m.format->flags & F_WRAP) == 0)
			break;
	}
	*at = end;
	return found;
}

/* ---- whole values ---- */

/* The anchor that makes all of value one token. */
static const struct anchor *
whole(const uint8_t *value, size_t len, struct scan_match *out, size_t *anchor_at)
{
	const struct anchor *a, *best = NULL;
	struct scan_match m;
	size_t at;
	unsigned i;

	for (i = 0; i < db.anchors; i++) {
		a = &db.anchor[i];
		if ((scan_table[a->format].flags & F_FOLD) != 0)
			continue;
		for (at = 0; at + a->len <= len && at <= 64; at++) {
			if (at > 0 && db.before[a->format].count == 0)
				break;
			if (!match_anchor(a, value, len, at, &m) || m.start != 0 ||
			    m.len != len || (best != NULL && m.confidence <= out->confidence))
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

	pthread_once(&once, compile);
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
		if (in_set(set, (uint8_t)c))
			member[n++] = (uint8_t)c;
	return n > 1 ? (char)member[randombytes_uniform(n)] : byte;
}

static size_t
draw_pieces(const struct pattern *pattern, const uint16_t *taken,
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
	uint16_t before[PIECES_MAX] = { 0 }, after[PIECES_MAX] = { 0 };
	const struct anchor *a;
	struct text text = { (const uint8_t *)value, len, 0, NULL };
	struct scan_match m;
	size_t at;

	pthread_once(&once, compile);
	if ((a = whole((const uint8_t *)value, len, &m, &at)) == NULL)
		return -1;
	text.flags = m.format->flags;
	text.taken = before;
	if (backward(&db.before[a->format], db.before[a->format].count, &text, at) != 0)
		return -1;
	text.taken = after;
	if (forward(&db.after[a->format], 0, &text, at + a->len) != (ptrdiff_t)len)
		return -1;
	memcpy(out, value, len);
	at = draw_pieces(&db.before[a->format], before, value, out, 0);
	at = draw_pieces(&db.after[a->format], after, value, out, at + a->len);
	scan_check_fix(m.format->check, (uint8_t *)out, len, m.prefix_len);
	return at == len ? 0 : -1;
}

unsigned
scan_formats_count(void)
{
	return scan_table_count;
}

const char *
scan_format_id(const struct scan_format *format)
{
	return format->id;
}

const char *
scan_format_provider(const struct scan_format *format)
{
	return format->provider;
}

const char *
scan_format_kind(const struct scan_format *format)
{
	return format->kind;
}

enum scan_check
scan_format_check(const struct scan_format *format)
{
	return format->check;
}
