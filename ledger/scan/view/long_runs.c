/* Runs of base64 that are long enough to hold a file. */
#include <pthread.h>
#include <string.h>

#include "ledger/scan/view/signs.h"

#define MARGIN 64	/* digits around a text that are decoded too */
#define BLOCKS 16	/* words of bits at a time */
#define PROBED 2048	/* digits that show whether a zlib stream begins */

/* Of two zlib bytes in a long run, by where in a group they begin. */
enum { EDGE_0, EDGE_0_NEXT, EDGE_1, EDGE_1_NEXT, EDGE_2, EDGE_2_NEXT };

static struct scan_table edges;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
mark(struct scan_table *table, const char *digits, unsigned plane)
{
	for (; *digits != '\0'; digits++)
		table->of[(uint8_t)*digits] |= (uint8_t)(1u << plane);
}

static void
fill_table(void)
{
	/* 78 and one of 01, 5e, 9c, da */
	mark(&edges, "e", EDGE_0);
	mark(&edges, "AFJN", EDGE_0_NEXT);
	mark(&edges, "ghij", EDGE_1);
	mark(&edges, "Beca", EDGE_1_NEXT);
	mark(&edges, "4", EDGE_2);
	mark(&edges, "AXn2", EDGE_2_NEXT);
	scan_table_made(&edges);
}

/* ---- what is packed ---- */

/* Archives that are not opened are told where a long run begins with one. */
static bool
archive_first(const uint8_t *p)
{
	return memcmp(p, "N3q8r", 5) == 0 || memcmp(p, "UmFyI", 5) == 0;
}

/* Whether a zlib stream begins `skip` bytes behind what p is decoded to. */
static bool
zlib_at(struct scan_packed_probe *probe, const uint8_t *p, size_t len, size_t skip)
{
	uint8_t bytes[PROBED / 4 * 3], *out = bytes;
	size_t n = len < PROBED ? len : PROBED;
	struct scan_packed_kind kind;

	if (probe == NULL || n < 16)
		return false;
	scan_decode_quads(p, p + 16, &out);
	if (!scan_packed_at(bytes, 12, skip, &kind))
		return false;
	out = bytes;
	scan_decode_quads(p, p + n, &out);
	return scan_packed_probe(probe, bytes, (size_t)(out - bytes), skip);
}

/* ---- extents ---- */

/* What of a long run is to be decoded from one phase; digits from its start. */
struct extent {
	size_t from, to;	/* to 0: nothing yet */
	bool rest;		/* something packed was decoded, and all behind it */
};

struct long_run {
	const struct scan_part *part;
	struct scan_run run;
	const uint8_t *p;
	size_t len;
	struct scan_view *view;
	struct extent extent[4];
};

static int
settle(struct long_run *it, struct extent *extent)
{
	size_t start = it->run.start, to = extent->to;

	extent->to = 0;
	return to == 0 ? 0 : scan_decode64(it->part, start + extent->from, start + to, it->view);
}

/* A text at a digit: with what is around it, joined to one that is near. */
static int
text_at(struct long_run *it, size_t at)
{
	struct extent *extent = &it->extent[at % 4];
	size_t from = at < MARGIN ? at % 4 : at - MARGIN;

	if (extent->rest)
		return 0;
	if (extent->to < from) {
		if (settle(it, extent) != 0)
			return -1;
		extent->from = from;
	}
	extent->to = it->len - at < SCAN_TEXT_MIN + MARGIN ? it->len : at + SCAN_TEXT_MIN + MARGIN;
	return 0;
}

/* Something packed at a digit: to the end of the run.  A text in front of it ends
 * with that group, or it would hold a stream that is cut off. */
static int
packed_at(struct long_run *it, size_t at)
{
	struct extent *extent = &it->extent[at % 4];

	if (extent->rest)
		return 0;
	if (extent->to > at + 4)
		extent->to = at + 4;
	if (settle(it, extent) != 0)
		return -1;
	extent->rest = true;
	return scan_decode64(it->part, it->run.start + at, it->run.end, it->view);
}

static int
take_signs(struct long_run *it, const struct scan_signs *sign, size_t at)
{
	uint64_t bits;
	size_t from;

	for (bits = sign->text; bits != 0; bits &= bits - 1)
		if (text_at(it, at + (size_t)__builtin_ctzll(bits)) != 0)
			return -1;
	for (bits = sign->magic; bits != 0; bits &= bits - 1)
		if (scan_magic_at(it->p, it->len, at + (size_t)__builtin_ctzll(bits), &from) &&
		    packed_at(it, from) != 0)
			return -1;
	return 0;
}

/* zlib streams that begin `skip` bytes behind the group at each bit. */
static int
take_edges(struct long_run *it, uint64_t bits, size_t at, size_t back, size_t skip)
{
	size_t i;

	for (; bits != 0; bits &= bits - 1) {
		i = at + (size_t)__builtin_ctzll(bits);
		if (i < back || it->extent[(i - back) % 4].rest)
			continue;
		i -= back;
		if (zlib_at(it->part->probe, it->p + i, it->len - i, skip) &&
		    packed_at(it, i) != 0)
			return -1;
	}
	return 0;
}

static uint64_t
pair(const struct scan_planes *block, unsigned first, unsigned second)
{
	return block->plane[first] & scan_ahead(block->plane[second],
	    block[1].plane[second], 1);
}

/* Bytes of the part from a digit on. */
static size_t
there(const struct long_run *it, size_t at)
{
	return it->part->len - it->run.start - at;
}

static int
take_zlib(struct long_run *it, size_t at)
{
	struct scan_planes block[BLOCKS + 1];
	size_t i, end = it->len - at < BLOCKS * SCAN_LANE ? it->len : at + BLOCKS * SCAN_LANE;
	uint64_t own;

	scan_planes_at(&edges, it->p + at, it->len - at, there(it, at), BLOCKS, block);
	for (i = 0; at < end; at += SCAN_LANE, i++) {
		own = scan_first_bits(it->len - at);
		if (take_edges(it, pair(block + i, EDGE_0, EDGE_0_NEXT) & own, at, 0, 0) != 0 ||
		    take_edges(it, pair(block + i, EDGE_1, EDGE_1_NEXT) & own, at, 2, 1) != 0 ||
		    take_edges(it, pair(block + i, EDGE_2, EDGE_2_NEXT) & own, at, 3, 2) != 0)
			return -1;
	}
	return 0;
}

static int
begin_long(struct long_run *it)
{
	size_t at;

	for (at = 0; at < 4; at++)
		if ((archive_first(it->p + at) || it->part->bytes) && packed_at(it, at) != 0)
			return -1;
	return 0;
}

int
scan_run_long(const struct scan_part *part, const struct scan_run *run,
    struct scan_view *base64, struct scan_view *base32)
{
	struct long_run it = { part, *run, part->text + run->start, run->end - run->start,
	    base64, { { 0 } } };
	struct scan_planes block[BLOCKS + 1];
	struct scan_signs any = { .text = 0 }, sign;
	size_t at, phase;

	pthread_once(&once, fill_table);
	if (begin_long(&it) != 0)
		return -1;
	for (at = 0; at < it.len; at += SCAN_LANE) {
		if (at % (BLOCKS * SCAN_LANE) == 0) {
			if (take_zlib(&it, at) != 0)
				return -1;
			scan_signs_planes(it.p + at, it.len - at, there(&it, at), BLOCKS, block);
		}
		sign = scan_signs_of(block + at / SCAN_LANE % BLOCKS, it.len - at);
		if ((sign.text | sign.magic) != 0 && take_signs(&it, &sign, at) != 0)
			return -1;
		scan_signs_add(&any, &sign);
	}
	for (phase = 0; phase < 4; phase++)
		if (settle(&it, &it.extent[phase]) != 0)
			return -1;
	return scan_run_others(part, run, &any, base64, base32);
}
