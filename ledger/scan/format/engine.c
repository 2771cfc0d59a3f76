#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "ledger/scan/format/engine.h"
#include "ledger/scan/format/expressions.h"

#define HITS_MAX 100000
#define PLACES_MAX (1u << 19)	/* more than three bytes apart in a window */

struct scan_engine {
	const struct scan_database *db;
	hs_scratch_t *scratch;
	uint8_t *mirrored;
	size_t mirrored_cap;
	/* of one run */
	const uint8_t *text;
	size_t len;
	const struct scan_map *map;
	struct scan_hits *hits;
	bool failed;
	bool crowded;	/* more places than are kept; the formats go on */
};

struct scan_engine *
scan_engine_new(char *err, size_t err_len)
{
	const struct scan_database *db = scan_database();
	struct scan_engine *engine;

	if (db->library == NULL) {
		snprintf(err, err_len, "%s", db->err);
		return NULL;
	}
	engine = calloc(1, sizeof(*engine));
	if (engine != NULL &&
	    hs_alloc_scratch(db->library, &engine->scratch) == HS_SUCCESS) {
		engine->db = db;
		return engine;
	}
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
try_plain(void *context, const struct scan_anchor *anchor, size_t at)
{
	struct scan_engine *engine = context;
	struct scan_match match;

	if (scan_anchor_match(anchor, engine->text, engine->len, engine->map,
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
try_mirrored(struct scan_engine *engine, const struct scan_expression *e, size_t at)
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
		    scan_rot13(engine->text[from + i]);
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
		more = cap > PLACES_MAX ? NULL : reallocarray(hits->place, cap, sizeof(*more));
		if (more == NULL) {
			engine->crowded = true;
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
	const struct scan_database *db = engine->db;
	const struct scan_expression *e = &db->expression[id];
	size_t end = (size_t)to, tail;

	(void)from;
	(void)flags;
	if (id >= db->count && db->magic_len[id - db->count] == 0) {
		engine->hits->deltas = true;
		return engine->failed;
	}
	if (id >= db->count) {
		keep_place(engine, end - db->magic_len[id - db->count]);
		return engine->failed;
	}
	for (tail = e->tail_min; tail <= e->tail_max; tail++) {
		if (end < tail + e->anchor->len)
			break;
		if (e->mirror != SCAN_PLAIN)
			try_mirrored(engine, e, end - tail - e->anchor->len);
		else
			try_plain(engine, e->anchor, end - tail - e->anchor->len);
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
	engine->failed = engine->crowded = false;
	hits->n = hits->places = 0;
	hits->deltas = false;
	if (len > UINT32_MAX || (len > 0 && hs_scan(engine->db->library, (const char *)text,
	    (unsigned)len, 0, engine->scratch, on_match, engine) != HS_SUCCESS))
		return -1;
	scan_brief_find(&engine->db->brief, text, len, try_plain, engine);
	resolve(hits);
	return engine->failed || engine->crowded ? -1 : 0;
}

const struct scan_engine_calls scan_engine_formats = {
	scan_engine_new, scan_engine_run, scan_engine_free,
};
