/* Anchors of two and three bytes: every engine names every place where one
 * stands, and what is called for is the same, at every place of every length. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sodium.h>

#include "ledger/scan/format/brief.h"
#include "scan_sample.h"

#define BLOCKS 40

static struct scan_brief brief;

static int
setup(void **state)
{
	unsigned i;

	for (i = 0; i < scan_anchors_count(); i++)
		if (scan_brief_takes(scan_anchor(i)))
			scan_brief_add(&brief, scan_anchor(i));
	return sodium_init() < 0;
}

/* Always the same bytes; mostly of anchors, or any. */
static void
noise(uint8_t *p, size_t len, uint8_t which)
{
	static const char some[] = "sk-pathf_r8ciooy2MDTjzNODASGEAA.:A-us0Q~eyJ3";
	uint8_t seed[randombytes_SEEDBYTES] = { which };
	size_t i;

	randombytes_buf_deterministic(p, len, seed);
	for (i = 0; which % 2 == 0 && i < len; i++)
		p[i] = (uint8_t)some[p[i] % (sizeof(some) - 1)];
}

static void
engines_agree(void **state)
{
	static const struct scan_brief_engine *const engines[] = { &scan_brief_avx512,
	    &scan_brief_avx2 };
	static uint8_t text[BLOCKS * SCAN_BRIEF_LANE + SCAN_BRIEF_PLACES];
	uint64_t plain[BLOCKS], other[BLOCKS];
	unsigned round, i, k, tried = 0, set = 0, more = 0;

	(void)state;
	for (round = 0; round < 40; round++) {
		noise(text, sizeof(text), (uint8_t)round);
		scan_brief_plain.blocks(&brief, text, BLOCKS, plain);
		for (k = 0; k < BLOCKS; k++)
			set += (unsigned)__builtin_popcountll(plain[k]);
		for (i = 0; i < 2; i++) {
			if (!engines[i]->available())
				continue;
			memset(other, 0x55, sizeof(other));
			engines[i]->blocks(&brief, text, BLOCKS, other);
			for (k = 0; k < BLOCKS; k++) {
				assert_int_equal(plain[k] & ~other[k], 0);
				more += (unsigned)__builtin_popcountll(other[k] & ~plain[k]);
			}
			tried++;
		}
	}
	assert_true(set > 100);
	print_message("# %u comparisons with the plain engine, %u places, %u more\n", tried,
	    set, more);
}

struct seen {
	const struct scan_anchor *anchor;
	size_t at;
	unsigned n;
};

static void
maybe(void *context, const struct scan_anchor *anchor, size_t at)
{
	struct seen *seen = context;

	seen->n += seen->anchor == anchor && seen->at == at;
}

/* Each anchor, once, however it lies, with only what it needs behind it. */
static void
every_place(void **state)
{
	char sample[SCAN_SAMPLE_MAX];
	uint8_t text[400];
	const struct scan_anchor *a;
	struct seen seen;
	unsigned i, tried = 0;
	const char *it;
	size_t at, len;

	(void)state;
	for (i = 0; i < scan_anchors_count(); i++) {
		a = scan_anchor(i);
		if (!scan_brief_takes(a))
			continue;
		tried++;
		scan_sample(a, 1, sample);
		for (it = sample; memcmp(it, a->text, a->len) != 0; it++)
			;
		len = strlen(it) < SCAN_BRIEF_PLACES ? strlen(it) : SCAN_BRIEF_PLACES;
		for (at = 0; at + len <= sizeof(text); at++) {
			memset(text, ' ', sizeof(text));
			memcpy(text + at, it, len);
			seen = (struct seen){ a, at, 0 };
			scan_brief_find(&brief, text, at + len, maybe, &seen);
			assert_int_equal(seen.n, 1);
			scan_brief_find(&brief, text, sizeof(text), maybe, &seen);
			assert_int_equal(seen.n, 2);
		}
	}
	assert_true(tried > 20);
}

/* Words that are told by their neighbours are the library's. */
static void
which(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < scan_anchors_count(); i++)
		if (scan_brief_takes(scan_anchor(i)))
			assert_true(scan_anchor(i)->len <= 3 &&
			    (scan_anchor(i)->format->flags & (F_FOLD | F_CONTEXT)) == 0);
		else
			assert_true(scan_anchor(i)->len > 3 ||
			    (scan_anchor(i)->format->flags & F_WRAP) != 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(engines_agree),
		cmocka_unit_test(every_place),
		cmocka_unit_test(which),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
