/* What the pattern library looks for: short expressions, one for each anchor of
 * the table, in each direction. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/scan/format/expressions.h"
#include "ledger/scan/view/deltas.h"

#define NEEDED 8	/* bytes beside an anchor that the library must see */
#define WIDE 64		/* a wider repetition is left to our own matcher */
#define REST 512	/* bytes behind a match that its check may read */

/* What compressed data and members of archives begin with (packed.h and edges.h look
 * closer). */
static const struct {
	const char *text;
	unsigned len;
} magic[SCAN_MAGICS - 1] = {
	{ "\\x1f\\x8b\\x08", 3 }, { "\\x28\\xb5\\x2f\\xfd", 4 },
	{ "PK\\x03\\x04", 4 }, { "BZh[1-9]1AY&SY", 10 }, { "\\xfd7zXZ\\x00", 6 },
	{ "7z\\xbc\\xaf\\x27\\x1c", 6 }, { "Rar!\\x1a\\x07", 6 },
	{ "ustar[\\x00 ]", 6 }, { "PK(?:\\x01\\x02|\\x05\\x06|\\x07\\x08)", 4 },
	{ "07070[12]", 6 },
	{ "\\x04\\x22\\x4d\\x18[\\x40-\\x7f][\\x40-\\x70]", 6 },
	{ "\\xff\\x06\\x00\\x00sNaPpY", 10 }, { "LZIP\\x01", 5 },
	{ "MSCF\\x00\\x00\\x00\\x00", 8 },
};

static struct scan_database db;
static pthread_once_t once = PTHREAD_ONCE_INIT;

struct writer {
	char text[4096];
	size_t len;
};

static void
put(struct writer *w, const char *text)
{
	size_t n = strlen(text);

	assert(w->len + n < sizeof(w->text));
	memcpy(w->text + w->len, text, n + 1);
	w->len += n;
}

uint8_t
scan_rot13(uint8_t c)
{
	if (c >= 'a' && c <= 'z')
		return (uint8_t)('a' + (c - 'a' + 13) % 26);
	if (c >= 'A' && c <= 'Z')
		return (uint8_t)('A' + (c - 'A' + 13) % 26);
	return c;
}

static void
put_byte(struct writer *w, uint8_t byte)
{
	char text[8];

	snprintf(text, sizeof(text), "\\x%02x", byte);
	put(w, text);
}

static void
put_class(struct writer *w, const struct scan_piece *piece,
    enum scan_mirror mirror, unsigned min, unsigned max)
{
	uint64_t set[4] = { 0 };
	char times[32];
	int c, end;

	for (c = 0; c < 256; c++)
		if (scan_set_has(piece->set, (uint8_t)c))
			scan_set_add(set, mirror == SCAN_ROT13 ? scan_rot13((uint8_t)c) : (uint8_t)c);
	put(w, "[");
	for (c = 0; c < 256; c = end + 1) {
		for (end = c; end < 256 && scan_set_has(set, (uint8_t)end); end++)
			;
		if (end == c)
			continue;
		put_byte(w, (uint8_t)c);
		put(w, "-");
		put_byte(w, (uint8_t)(end - 1));
	}
	snprintf(times, sizeof(times), "]{%u,%u}", min, max);
	put(w, times);
}

static void
put_anchor(struct writer *w, const struct scan_anchor *a,
    enum scan_mirror mirror)
{
	unsigned i;

	for (i = 0; i < a->len; i++) {
		if (mirror == SCAN_REVERSED)
			put_byte(w, (uint8_t)a->text[a->len - 1 - i]);
		else
			put_byte(w, mirror == SCAN_ROT13 ? scan_rot13((uint8_t)a->text[i]) :
			    (uint8_t)a->text[i]);
	}
}

/* One piece beside the anchor, and how often the library is to see it. */
struct part {
	const struct scan_piece *piece;
	unsigned min, max;
};

/* The pieces from the anchor outwards until NEEDED bytes are told.  Returns
 * how many. */
static unsigned
outwards(const struct scan_pattern *pattern, bool leftwards, bool fixed,
    struct part part[SCAN_PIECES_MAX])
{
	const struct scan_piece *piece;
	unsigned i, n = 0, need = NEEDED;

	for (i = 0; i < pattern->count && need > 0; i++) {
		piece = &pattern->piece[leftwards ? pattern->count - 1 - i : i];
		part[n] = (struct part){ piece, piece->min, piece->max };
		if (piece->min >= need || ((fixed || piece->max > WIDE) &&
		    piece->min != piece->max)) {
			part[n].min = part[n].max = piece->min < need ? piece->min : need;
			return part[n].min > 0 ? n + 1 : n;
		}
		need -= piece->min;
		n++;
	}
	return n;
}

static void
put_parts(struct writer *w, const struct part *part, unsigned n, bool backwards,
    enum scan_mirror mirror)
{
	unsigned i, k;

	for (i = 0; i < n; i++) {
		k = backwards ? n - 1 - i : i;
		put_class(w, part[k].piece, mirror, part[k].min, part[k].max);
	}
}

static size_t
reach(const struct scan_pattern *pattern)
{
	size_t sum = 0;
	unsigned i;

	for (i = 0; i < pattern->count; i++)
		sum += pattern->piece[i].max;
	return sum;
}

/*
 * What the library looks for.  Read to the right, its match ends `tail` bytes
 * behind the anchor; the other side of the anchor is of fixed length.
 */
static void
express(const struct scan_anchor *a, enum scan_mirror mirror,
    struct scan_expression *e, struct writer *w)
{
	struct part before[SCAN_PIECES_MAX], after[SCAN_PIECES_MAX];
	unsigned befores, afters, i;

	befores = outwards(a->before, true, true, before);
	afters = outwards(a->after, false, false, after);
	*e = (struct scan_expression){ .anchor = a, .mirror = mirror,
	    .reach_before = reach(a->before) + 16,
	    .reach_after = a->len + reach(a->after) + REST };
	if (mirror == SCAN_REVERSED) {
		put_parts(w, after, afters, true, mirror);
		put_anchor(w, a, mirror);
		put_parts(w, before, befores, false, mirror);
		for (i = 0; i < befores; i++)
			e->tail_min = e->tail_max += before[i].min;
		return;
	}
	put_parts(w, before, befores, true, mirror);
	put_anchor(w, a, mirror);
	put_parts(w, after, afters, false, mirror);
	for (i = 0; i < afters; i++) {
		e->tail_min += after[i].min;
		e->tail_max += after[i].max;
	}
}

/* Words around a value tell nothing backwards, and three letters, which are not
 * here, too little: most of what they name is chance. */
static bool
mirrored(const struct scan_anchor *a)
{
	return (a->format->flags & (F_CONTEXT | F_WRAP | F_FOLD)) == 0;
}

/* What is given to the library. */
struct expressions {
	char *text[SCAN_EXPRESSIONS_MAX];
	unsigned flags[SCAN_EXPRESSIONS_MAX], ids[SCAN_EXPRESSIONS_MAX], n;
	struct writer writer;
};

static bool
add_expression(struct expressions *all, const char *text, unsigned flags)
{
	assert(all->n < SCAN_EXPRESSIONS_MAX);
	if ((all->text[all->n] = strdup(text)) == NULL)
		return false;
	all->flags[all->n] = flags;
	all->ids[all->n] = all->n;
	all->n++;
	return true;
}

/* A member that streamed answers have, with a string: once is enough to know. */
static bool
add_deltas(struct expressions *all)
{
	unsigned i;

	all->writer.len = 0;
	for (i = 0; i < SCAN_DELTA_KEYS; i++) {
		put(&all->writer, i == 0 ? "\"(?:(?:" : "|");
		put(&all->writer, scan_delta_keys[i]);
	}
	put(&all->writer, ")\" ?:|o\",) ?\"");	/* or what a terminal wrote */
	return add_expression(all, all->writer.text, HS_FLAG_SINGLEMATCH);
}

/* All anchors but the brief ones in all directions, then the magic numbers. */
static bool
write_expressions(struct expressions *all)
{
	const struct scan_anchor *a;
	unsigned i, m;

	for (i = 0; i < scan_anchors_count(); i++) {
		a = scan_anchor(i);
		if (scan_brief_takes(a)) {
			scan_brief_add(&db.brief, a);
			continue;
		}
		for (m = 0; m < SCAN_MIRRORS; m++) {
			if (m != SCAN_PLAIN && !mirrored(a))
				continue;
			all->writer.len = 0;
			express(a, (enum scan_mirror)m, &db.expression[db.count], &all->writer);
			if (!add_expression(all, all->writer.text,
			    (a->format->flags & F_FOLD) != 0 ? HS_FLAG_CASELESS : 0))
				return false;
			db.count++;
		}
	}
	for (i = 0; i < SCAN_MAGICS - 1; i++) {
		db.magic_len[i] = magic[i].len;
		if (!add_expression(all, magic[i].text, HS_FLAG_DOTALL))
			return false;
	}
	return add_deltas(all);
}

static void
compile(void)
{
	struct expressions *all = calloc(1, sizeof(*all));
	hs_compile_error_t *error = NULL;

	snprintf(db.err, sizeof(db.err), "out of memory");
	if (hs_valid_platform() != HS_SUCCESS)
		snprintf(db.err, sizeof(db.err), "this processor lacks the instructions "
		    "(SSSE3) that the pattern library needs");
	else if (all != NULL && write_expressions(all) &&
	    hs_compile_multi((const char *const *)all->text, all->flags, all->ids,
	    all->n, HS_MODE_BLOCK, NULL, &db.library, &error) != HS_SUCCESS &&
	    error != NULL)
		snprintf(db.err, sizeof(db.err), "%s", error->message);
	hs_free_compile_error(error);
	while (all != NULL && all->n > 0)
		free(all->text[--all->n]);
	free(all);
}

const struct scan_database *
scan_database(void)
{
	pthread_once(&once, compile);
	return &db;
}
