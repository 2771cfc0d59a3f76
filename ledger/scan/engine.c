#include <assert.h>
#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hs.h>
#include <sodium.h>

#include "ledger/scan/engine.h"
#include "ledger/scan/formats_impl.h"

#define EXPRESSIONS_MAX 768
#define NEEDED 8	/* bytes beside an anchor that the library must see */
#define WIDE 64		/* a wider repetition is left to our own matcher */
#define REST 512	/* bytes behind a match that its check may read */
#define HITS_MAX 100000

/* What compressed data and archives begin with (packed.h looks closer). */
static const char *const magic[] = { "\\x1f\\x8b\\x08", "\\x28\\xb5\\x2f\\xfd",
	"PK\\x03\\x04", "BZh[1-9]1AY&SY", "\\xfd7zXZ\\x00", "7z\\xbc\\xaf\\x27\\x1c",
	"Rar!\\x1a\\x07", "data: ?[\\[{\"]" };
static const unsigned magic_len[] = { 3, 4, 4, 10, 6, 6, 6, 0 };
#define MAGICS (sizeof(magic) / sizeof(magic[0]))

/* One anchor in one direction. */
struct expression {
	const struct scan_anchor *anchor;
	enum scan_mirror mirror;
	unsigned tail_min, tail_max;	/* bytes between anchor's end and the match's */
	size_t reach_before, reach_after;	/* how far the format goes from its anchor */
};

static struct {
	struct expression expression[EXPRESSIONS_MAX];
	unsigned count;
	hs_database_t *database;
	char err[160];
} db;
static pthread_once_t once = PTHREAD_ONCE_INIT;

struct scan_engine {
	hs_scratch_t *scratch;
	uint8_t *mirrored;
	size_t mirrored_cap;
	/* of one run */
	const uint8_t *text;
	size_t len;
	const struct scan_map *map;
	struct scan_hits *hits;
	bool failed;
};

/* ---- writing expressions ---- */

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

static uint8_t
rot13(uint8_t c)
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
			scan_set_add(set, mirror == SCAN_ROT13 ? rot13((uint8_t)c) : (uint8_t)c);
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
			put_byte(w, mirror == SCAN_ROT13 ? rot13((uint8_t)a->text[i]) :
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
    struct expression *e, struct writer *w)
{
	struct part before[SCAN_PIECES_MAX], after[SCAN_PIECES_MAX];
	unsigned befores, afters, i;

	befores = outwards(a->before, true, true, before);
	afters = outwards(a->after, false, false, after);
	*e = (struct expression){ .anchor = a, .mirror = mirror,
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

/* Words around a value tell nothing backwards, and three letters too little:
 * each costs speed, and most of what it names is chance. */
static bool
mirrored(const struct scan_anchor *a)
{
	return a->len > 3 && (a->format->flags & (F_CONTEXT | F_WRAP | F_FOLD)) == 0;
}

/* What is given to the library. */
struct expressions {
	char *text[EXPRESSIONS_MAX];
	unsigned flags[EXPRESSIONS_MAX], ids[EXPRESSIONS_MAX], n;
	struct writer writer;
};

static bool
add_expression(struct expressions *all, const char *text, unsigned flags)
{
	assert(all->n < EXPRESSIONS_MAX);
	if ((all->text[all->n] = strdup(text)) == NULL)
		return false;
	all->flags[all->n] = flags;
	all->ids[all->n] = all->n;
	all->n++;
	return true;
}

/* All anchors in all directions, then the magic numbers. */
static bool
write_expressions(struct expressions *all)
{
	const struct scan_anchor *a;
	unsigned i, m;

	for (i = 0; i < scan_anchors_count(); i++) {
		a = scan_anchor(i);
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
	for (i = 0; i < MAGICS; i++)
		if (!add_expression(all, magic[i], HS_FLAG_DOTALL))
			return false;
	return true;
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
	    all->n, HS_MODE_BLOCK, NULL, &db.database, &error) != HS_SUCCESS &&
	    error != NULL)
		snprintf(db.err, sizeof(db.err), "%s", error->message);
	hs_free_compile_error(error);
	while (all != NULL && all->n > 0)
		free(all->text[--all->n]);
	free(all);
}

struct scan_engine *
scan_engine_new(char *err, size_t err_len)
{
	struct scan_engine *engine;

	pthread_once(&once, compile);
	if (db.database == NULL) {
		snprintf(err, err_len, "%s", db.err);
		return NULL;
	}
	engine = calloc(1, sizeof(*engine));
	if (engine != NULL &&
	    hs_alloc_scratch(db.database, &engine->scratch) == HS_SUCCESS)
		return engine;
	free(engine);
	snprintf(err, err_len, "out of memory");
	return NULL;
}

void
scan_engine_free(struct scan_engine *engine)
{
	if (engine == NULL)
		return;
	hs_free_scratch(engine->scratch);
	if (engine->mirrored != NULL)
		sodium_memzero(engine->mirrored, engine->mirrored_cap);
	free(engine->mirrored);
	free(engine);
}

void
scan_hits_free(struct scan_hits *hits)
{
	free(hits->hit);
	free(hits->place);
	*hits = (struct scan_hits){ NULL, 0, 0, NULL, 0, 0, false };
}

/* ---- matching ---- */

static void
keep(struct scan_engine *engine, const struct scan_match *match,
    enum scan_mirror mirror)
{
	struct scan_hits *hits = engine->hits;
	struct scan_hit *more;
	size_t cap;

	if (hits->n == hits->cap) {
		cap = hits->cap == 0 ? 64 : 2 * hits->cap;
		more = cap > HITS_MAX ? NULL : realloc(hits->hit, cap * sizeof(*more));
		if (more == NULL) {
			engine->failed = true;
			return;
		}
		hits->hit = more;
		hits->cap = cap;
	}
	hits->hit[hits->n++] = (struct scan_hit){ *match, mirror };
}

static void
try_plain(struct scan_engine *engine, const struct expression *e, size_t at)
{
	struct scan_match match;

	if (scan_anchor_match(e->anchor, engine->text, engine->len, engine->map,
	    at, &match))
		keep(engine, &match, SCAN_PLAIN);
}

static bool
mirror_room(struct scan_engine *engine, size_t len)
{
	uint8_t *more;

	if (len <= engine->mirrored_cap)
		return true;
	if ((more = realloc(engine->mirrored, len)) == NULL) {
		engine->failed = true;
		return false;
	}
	engine->mirrored = more;
	engine->mirrored_cap = len;
	return true;
}

/* The anchor's mirror image fills [at, at + anchor's length). */
static void
try_mirrored(struct scan_engine *engine, const struct expression *e, size_t at)
{
	bool reversed = e->mirror == SCAN_REVERSED;
	size_t left = reversed ? e->reach_after : e->reach_before;
	size_t right = reversed ? e->reach_before + e->anchor->len : e->reach_after;
	size_t end = at + e->anchor->len, from, to, i, len;
	struct scan_match match;

	from = (reversed ? end : at) > left ? (reversed ? end : at) - left : 0;
	to = engine->len - at > right ? at + right : engine->len;
	len = to - from;
	if (!mirror_room(engine, len))
		return;
	for (i = 0; i < len; i++)
		engine->mirrored[i] = reversed ? engine->text[to - 1 - i] :
		    rot13(engine->text[from + i]);
	at = reversed ? to - end : at - from;
	if (!scan_anchor_match(e->anchor, engine->mirrored, len, NULL, at, &match))
		return;
	match.start = reversed ? to - match.start - match.len : from + match.start;
	keep(engine, &match, e->mirror);
}

static void
keep_place(struct scan_engine *engine, size_t at)
{
	struct scan_hits *hits = engine->hits;
	size_t *more, cap;

	if (hits->places == hits->places_cap) {
		cap = hits->places_cap == 0 ? 64 : 2 * hits->places_cap;
		more = cap > HITS_MAX ? NULL : reallocarray(hits->place, cap, sizeof(*more));
		if (more == NULL) {
			engine->failed = true;
			return;
		}
		hits->place = more;
		hits->places_cap = cap;
	}
	hits->place[hits->places++] = at;
}

static int
on_match(unsigned id, unsigned long long from, unsigned long long to,
    unsigned flags, void *context)
{
	struct scan_engine *engine = context;
	const struct expression *e = &db.expression[id];
	size_t end = (size_t)to, tail;

	(void)from;
	(void)flags;
	if (id >= db.count && magic_len[id - db.count] == 0) {
		engine->hits->deltas = true;
		return engine->failed;
	}
	if (id >= db.count) {
		keep_place(engine, end - magic_len[id - db.count]);
		return engine->failed;
	}
	for (tail = e->tail_min; tail <= e->tail_max; tail++) {
		if (end < tail + e->anchor->len)
			break;
		if (e->mirror != SCAN_PLAIN)
			try_mirrored(engine, e, end - tail - e->anchor->len);
		else
			try_plain(engine, e, end - tail - e->anchor->len);
	}
	return engine->failed;
}

/* By start; of equals the longer, then the surer, then the plain one first. */
static int
order(const void *a, const void *b)
{
	const struct scan_hit *x = a, *y = b;

	if (x->match.start != y->match.start)
		return x->match.start < y->match.start ? -1 : 1;
	if (x->match.len != y->match.len)
		return x->match.len > y->match.len ? -1 : 1;
	if (x->match.confidence != y->match.confidence)
		return x->match.confidence > y->match.confidence ? -1 : 1;
	return (int)x->mirror - (int)y->mirror;
}

static bool
wraps(const struct scan_hit *hit)
{
	return (hit->match.format->flags & F_WRAP) != 0;
}

static size_t
end_of(const struct scan_hit *hit)
{
	return hit->match.start + hit->match.len;
}

/* Of what overlaps, the first stays, unless the other is surer: "token =
 * ghp_..." is that token, not an assignment. */
static void
resolve(struct scan_hits *hits)
{
	struct scan_hit *last, *next;
	size_t i, n = 0;

	if (hits->n > 1)
		qsort(hits->hit, hits->n, sizeof(*hits->hit), order);
	for (i = 0; i < hits->n; i++) {
		next = &hits->hit[i];
		last = n > 0 ? &hits->hit[n - 1] : NULL;
		if (last == NULL || next->match.start >= end_of(last))
			hits->hit[n++] = *next;
		else if (wraps(last) ? !wraps(next) : !wraps(next) &&
		    next->match.confidence > last->match.confidence)
			*last = *next;
	}
	hits->n = n;
}

int
scan_engine_run(struct scan_engine *engine, const uint8_t *text, size_t len,
    const struct scan_map *map, struct scan_hits *hits)
{
	engine->text = text;
	engine->len = len;
	engine->map = map;
	engine->hits = hits;
	engine->failed = false;
	hits->n = hits->places = 0;
	hits->deltas = false;
	if (len > UINT32_MAX || (len > 0 && hs_scan(db.database, (const char *)text,
	    (unsigned)len, 0, engine->scratch, on_match, engine) != HS_SUCCESS))
		return -1;
	resolve(hits);
	return engine->failed ? -1 : 0;
}
