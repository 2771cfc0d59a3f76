#include "ledger/scan/format/brief.h"

#include <assert.h>
#include <ctype.h>
#include <stdatomic.h>
#include <string.h>

#include <sodium.h>

#define PLACES SCAN_BRIEF_PLACES
#define BUCKETS SCAN_BRIEF_BUCKETS
#define LANE SCAN_BRIEF_LANE
#define BLOCKS 64	/* words of bits at a time */

bool
scan_brief_takes(const struct scan_anchor *anchor)
{
	return anchor->len < PLACES && (anchor->format->flags & (F_FOLD | F_WRAP)) == 0;
}

/* ---- buckets ---- */

/* What stands k bytes behind an anchor; NULL where that may be anything. */
static const struct scan_piece *
behind(const struct scan_pattern *after, unsigned k)
{
	unsigned i;

	for (i = 0; i < after->count; k -= after->piece[i++].min) {
		if (k < after->piece[i].min)
			return &after->piece[i];
		if (after->piece[i].min != after->piece[i].max)
			break;
	}
	return NULL;
}

/* Which bytes may stand at each of an anchor's places. */
static void
sets_of(const struct scan_anchor *anchor, bool set[PLACES][256])
{
	const struct scan_piece *piece;
	unsigned k, c;

	for (k = 0; k < PLACES; k++) {
		piece = k < anchor->len ? NULL : behind(anchor->after, k - anchor->len);
		for (c = 0; c < 256; c++)
			set[k][c] = k < anchor->len ? (uint8_t)anchor->text[k] == c :
			    piece == NULL || scan_set_has(piece->set, (uint8_t)c);
	}
}

/* How many texts of so many bytes a bucket takes, with these sets too or without;
 * letters and digits count for more, since there are more of them. */
static double
taken(const struct scan_brief *brief, unsigned bucket, bool set[PLACES][256])
{
	double product = 1, n;
	unsigned k, c;

	for (k = 0; k < PLACES; k++, product *= n)
		for (n = c = 0; c < 256; c++)
			if ((brief->of[k][c] >> bucket & 1) != 0 || (set != NULL && set[k][c]))
				n += islower((int)c) ? 4 : 1;
	return product;
}

/* The bucket that takes the least more. */
static unsigned
bucket_for(const struct scan_brief *brief, bool set[PLACES][256])
{
	double more, least = 0;
	unsigned i, best = BUCKETS;

	for (i = 0; i < BUCKETS; i++) {
		more = taken(brief, i, set) - taken(brief, i, NULL);
		if (best < BUCKETS && more >= least)
			continue;
		least = more;
		best = i;
	}
	return best;
}

void
scan_brief_add(struct scan_brief *brief, const struct scan_anchor *anchor)
{
	bool set[PLACES][256];
	unsigned bucket, k, c;
	uint8_t bit;

	sets_of(anchor, set);
	bucket = bucket_for(brief, set);
	bit = (uint8_t)(1u << bucket);
	assert(brief->anchors[bucket] < SCAN_BRIEF_MAX);
	brief->anchor[bucket][brief->anchors[bucket]++] = anchor;
	for (k = 0; k < PLACES; k++)
		for (c = 0; c < 256; c++) {
			if (!set[k][c])
				continue;
			brief->of[k][c] |= bit;
			brief->low[k][c & 15] |= bit;
			brief->high[k][c >> 4] |= bit;
		}
}

/* ---- engines ---- */

static uint8_t
buckets_at(const struct scan_brief *brief, const uint8_t *p)
{
	return brief->of[0][p[0]] & brief->of[1][p[1]] & brief->of[2][p[2]] &
	    brief->of[3][p[3]];
}

static bool
always(void)
{
	return true;
}

static void
plain_blocks(const struct scan_brief *brief, const uint8_t *text, size_t blocks,
    uint64_t *out)
{
	unsigned i;

	for (; blocks > 0; blocks--, text += LANE, out++)
		for (*out = i = 0; i < LANE; i++)
			*out |= (uint64_t)(buckets_at(brief, text + i) != 0) << i;
}

const struct scan_brief_engine scan_brief_plain = { "plain", always, plain_blocks };

static const struct scan_brief_engine *
best(void)
{
	static _Atomic(const struct scan_brief_engine *) chosen;
	const struct scan_brief_engine *it = atomic_load_explicit(&chosen,
	    memory_order_relaxed);

	if (it == NULL) {
		it = scan_brief_avx512.available() ? &scan_brief_avx512 :
		    scan_brief_avx2.available() ? &scan_brief_avx2 : &scan_brief_plain;
		atomic_store_explicit(&chosen, it, memory_order_relaxed);
	}
	return it;
}

/* ---- finding ---- */

/* What may call for a place, and where texts[0] is in the text. */
struct search {
	const struct scan_brief *brief;
	void (*maybe)(void *context, const struct scan_anchor *anchor, size_t at);
	void *context;
};

static void
try_bits(const struct search *s, const uint8_t *p, uint64_t bits, size_t at)
{
	unsigned buckets, bucket, i, k;

	for (; bits != 0; bits &= bits - 1) {
		i = (unsigned)__builtin_ctzll(bits);
		for (buckets = buckets_at(s->brief, p + i); buckets != 0; buckets &= buckets - 1) {
			bucket = (unsigned)__builtin_ctz(buckets);
			for (k = 0; k < s->brief->anchors[bucket]; k++)
				s->maybe(s->context, s->brief->anchor[bucket][k], at + i);
		}
	}
}

/* The last block, or all of a short text: with zeros behind it. */
static void
find_rest(const struct search *s, const uint8_t *text, size_t len, size_t at)
{
	uint8_t rest[2 * LANE + PLACES] = { 0 };
	uint64_t bits[2];
	unsigned i;

	memcpy(rest, text + at, len - at);
	best()->blocks(s->brief, rest, 2, bits);
	for (i = 0; i < 2; i++)
		try_bits(s, rest + i * LANE, bits[i], at + i * LANE);
	sodium_memzero(rest, sizeof(rest));
}

void
scan_brief_find(const struct scan_brief *brief, const uint8_t *text, size_t len,
    void (*maybe)(void *context, const struct scan_anchor *anchor, size_t at),
    void *context)
{
	const struct search s = { brief, maybe, context };
	const struct scan_brief_engine *engine = best();
	size_t whole = len < PLACES ? 0 : (len - (PLACES - 1)) / LANE, at = 0, n, i;
	uint64_t bits[BLOCKS];

	for (; whole > 0; whole -= n) {
		n = whole < BLOCKS ? whole : BLOCKS;
		engine->blocks(brief, text + at, n, bits);
		for (i = 0; i < n; i++, at += LANE)
			if (bits[i] != 0)
				try_bits(&s, text + at, bits[i], at);
	}
	find_rest(&s, text, len, at);
}
