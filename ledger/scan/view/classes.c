#include "ledger/scan/view/classes.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#define BIT(class) (1u << SCAN_##class)
#define LETTERS (BIT(LETTER) | BIT(WORD))
#define HEX (LETTERS | BIT(DIGIT) | BIT(NUMBERS))

static struct scan_table text_table = { .of = {
	['0' ... '9'] = HEX, ['A' ... 'F'] = HEX, ['a' ... 'f'] = HEX,
	['G' ... 'W'] = LETTERS, ['Y' ... 'Z'] = LETTERS,
	['g' ... 'w'] = LETTERS, ['y' ... 'z'] = LETTERS,
	['x'] = LETTERS | BIT(NUMBERS), ['X'] = LETTERS | BIT(NUMBERS),
	['-'] = LETTERS | BIT(NUMBERS), ['+'] = LETTERS | BIT(JOIN),
	['/'] = LETTERS, ['_'] = LETTERS, ['~'] = BIT(WORD),
	['.'] = BIT(WORD) | BIT(JOIN), ['='] = BIT(WORD) | BIT(CODE),
	['%'] = BIT(CODE), ['<'] = BIT(CODE), ['&'] = BIT(LEAD) | BIT(JOIN), ['|'] = BIT(JOIN),
	['\\'] = BIT(LEAD) | BIT(NUMBERS) | BIT(JOIN),
	[' '] = BIT(NUMBERS) | BIT(JOIN), ['\t'] = BIT(NUMBERS) | BIT(JOIN),
	['\r'] = BIT(NUMBERS) | BIT(EOL), ['\n'] = BIT(NUMBERS) | BIT(EOL),
	[':'] = BIT(NUMBERS), [','] = BIT(NUMBERS) | BIT(JOIN),
	['"'] = BIT(JOIN), ['\''] = BIT(JOIN),
	[0] = BIT(LEAD), ['\b'] = BIT(LEAD), [0x1b] = BIT(LEAD),
	[0xc2] = BIT(LEAD), [0xe2] = BIT(LEAD), [0xef] = BIT(LEAD), [0xf3] = BIT(LEAD),
} };
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* ---- engines ---- */

static bool
always(void)
{
	return true;
}

/* Eight bytes at a time: the k-th bit of each, side by side. */
static void
plain_blocks(const struct scan_table *table, const uint8_t *text, size_t blocks,
    struct scan_planes *out)
{
	uint64_t eight;
	unsigned i, j, k;

	for (; blocks > 0; blocks--, text += SCAN_LANE, out++) {
		*out = (struct scan_planes){ { 0 } };
		for (i = 0; i < SCAN_LANE; i += 8) {
			for (eight = j = 0; j < 8; j++)
				eight |= (uint64_t)table->of[text[i + j]] << 8 * j;
			for (k = 0; eight != 0 && k < SCAN_PLANES; k++)
				out->plane[k] |= ((eight >> k & UINT64_C(0x0101010101010101)) *
				    UINT64_C(0x0102040810204080) >> 56) << i;
		}
	}
}

const struct scan_classifier scan_classifier_plain = { "plain", always, plain_blocks };

static const struct scan_classifier *
best(void)
{
	static _Atomic(const struct scan_classifier *) chosen;
	const struct scan_classifier *it = atomic_load_explicit(&chosen,
	    memory_order_relaxed);

	if (it == NULL) {
		it = scan_classifier_avx512.available() ? &scan_classifier_avx512 :
		    scan_classifier_avx2.available() ? &scan_classifier_avx2 :
		    &scan_classifier_plain;
		atomic_store_explicit(&chosen, it, memory_order_relaxed);
	}
	return it;
}

void
scan_planes_of(const struct scan_table *table, const uint8_t *text, size_t len,
    struct scan_planes *out)
{
	const struct scan_classifier *engine = best();
	size_t whole = len / SCAN_LANE, rest = len % SCAN_LANE;
	uint8_t end[SCAN_LANE] = { 0 };
	unsigned k;

	engine->blocks(table, text, whole, out);
	if (rest == 0)
		return;
	memcpy(end, text + whole * SCAN_LANE, rest);
	engine->blocks(table, end, 1, out + whole);
	for (k = 0; k < SCAN_PLANES; k++)
		out[whole].plane[k] &= (UINT64_C(1) << rest) - 1;
	sodium_memzero(end, sizeof(end));
}

void
scan_table_made(struct scan_table *table)
{
	unsigned i, k;

	table->rows = 0;
	for (i = 0; i < 256; i += 16)
		for (k = 0; k < 16; k++)
			if (table->of[i + k] != 0) {
				table->row[table->rows++] = (uint8_t)i;
				break;
			}
}

/* ---- texts ---- */

static void
make_text_table(void)
{
	scan_table_made(&text_table);
}

int
scan_classes_of(struct scan_classes *classes, const uint8_t *text, size_t len)
{
	size_t blocks = (len + SCAN_LANE - 1) / SCAN_LANE;
	struct scan_planes *more;

	if (blocks + 2 > classes->cap) {
		if ((more = reallocarray(NULL, blocks + blocks / 4 + 64, sizeof(*more))) == NULL)
			return -1;
		free(classes->block);
		classes->block = more;
		classes->cap = blocks + blocks / 4 + 64;
	}
	pthread_once(&once, make_text_table);
	scan_planes_of(&text_table, text, len, classes->block);
	memset(classes->block + blocks, 0, 2 * sizeof(*classes->block));
	return 0;
}

void
scan_classes_free(struct scan_classes *classes)
{
	free(classes->block);
	*classes = (struct scan_classes){ NULL, 0 };
}

/* "x" and its like, with a byte behind it that no word goes on with. */
static uint64_t
zlib_bits(const struct scan_planes *block)
{
	return block->plane[SCAN_LETTER] & block->plane[SCAN_NUMBERS] &
	    ~block->plane[SCAN_DIGIT] & ~scan_ahead(block->plane[SCAN_LETTER],
	    block[1].plane[SCAN_LETTER], 1);
}

size_t
scan_classes_zlib(const struct scan_classes *classes, const uint8_t *text,
    size_t len, size_t at)
{
	uint64_t bits;
	size_t b;

	for (b = at / SCAN_LANE; b * SCAN_LANE < len; b++) {
		bits = scan_since(zlib_bits(&classes->block[b]), b, at);
		for (; bits != 0; bits &= bits - 1) {
			at = b * SCAN_LANE + (size_t)__builtin_ctzll(bits);
			if (at + 1 < len && text[at] == 0x78 && (text[at + 1] == 0x01 ||
			    text[at + 1] == 0x5e || text[at + 1] == 0x9c || text[at + 1] == 0xda))
				return at;
		}
	}
	return len;
}
