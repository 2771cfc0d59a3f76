/* The bits of all digits of a run. */
#include "ledger/scan/view/signs.h"

#include <pthread.h>
#include <string.h>

#include "ledger/scan/view/packed.h"

/* What a digit shows of the bytes that it is decoded to. */
enum { FIRST, SECOND, THIRD, UPPER32, LOWER32, MAGIC_1, MAGIC_2, MAGIC_3 };

/* What gzip, zstd, zip, bzip2, xz and lz4 begin with, from each byte of a group: how many digits
 * of that group stand before it. */
static const struct magic {
	char digits[5];
	uint8_t back;
} magics[] = {
	{ "H4sI", 0 }, { "+LC", 2 }, { "-LC", 2 }, { "fiw", 3 },
	{ "KLUv", 0 }, { "i1L/", 2 }, { "i1L_", 2 }, { "otS/", 3 }, { "otS_", 3 },
	{ "UEsD", 0 }, { "BLAw", 2 }, { "QSwM", 3 },
	{ "Qlpo", 0 }, { "JaaD", 2 }, { "CWmg", 3 },
	{ "/Td6", 0 }, { "_Td6", 0 }, { "03el", 2 }, { "9N3p", 3 },
	{ "BCJN", 0 }, { "QiTR", 2 }, { "EIk0", 3 },
};

static struct scan_table shown;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The highest bits of a group's three bytes lie in its first three digits. */
static void
fill_table(void)
{
	uint8_t value;
	unsigned c;

	for (c = 0; c < 256; c++) {
		value = scan_digit[SCAN_BASE64][c];
		if (value != SCAN_NO_DIGIT)
			shown.of[c] = (uint8_t)((value >> 5 & 1) << FIRST | (value >> 3 & 1) << SECOND |
			    (value >> 1 & 1) << THIRD);
		if (scan_digit[SCAN_BASE32][c] != SCAN_NO_DIGIT)
			shown.of[c] |= 1u << UPPER32;
		if (scan_digit[SCAN_BASE32_LOWER][c] != SCAN_NO_DIGIT)
			shown.of[c] |= 1u << LOWER32;
	}
	for (c = 0; c < sizeof(magics) / sizeof(magics[0]); c++) {
		shown.of[(uint8_t)magics[c].digits[0]] |= 1u << MAGIC_1;
		shown.of[(uint8_t)magics[c].digits[1]] |= 1u << MAGIC_2;
		shown.of[(uint8_t)magics[c].digits[2]] |= 1u << MAGIC_3;
	}
	scan_table_made(&shown);
}

/* Where five groups in a row are good, each four digits long. */
static uint64_t
in_a_row(unsigned __int128 good)
{
	good &= good >> 4;
	good &= good >> 8;
	return (uint64_t)(good & good >> 4);
}

static unsigned __int128
two(const struct scan_planes *block, unsigned plane)
{
	return (unsigned __int128)block[1].plane[plane] << 64 | block[0].plane[plane];
}

struct scan_signs
scan_signs_of(const struct scan_planes *block, size_t left)
{
	unsigned __int128 a = two(block, FIRST), b = two(block, SECOND), c = two(block, THIRD);
	uint64_t whole = left < SCAN_TEXT_MIN ? 0 : scan_first_bits(left - SCAN_TEXT_MIN + 1);
	uint64_t own = scan_first_bits(left);

	return (struct scan_signs){
		.text = in_a_row(~(a | b >> 1 | c >> 2)) & whole,
		.turned = in_a_row(~(a >> 3 | b >> 2 | c >> 1)) & whole,
		.magic = block->plane[MAGIC_1] & scan_ahead(block->plane[MAGIC_2],
		    block[1].plane[MAGIC_2], 1) & scan_ahead(block->plane[MAGIC_3],
		    block[1].plane[MAGIC_3], 2) & own,
		.upper32 = scan_row(block->plane[UPPER32], block[1].plane[UPPER32],
		    SCAN_BASE32_MIN) & own,
		.lower32 = scan_row(block->plane[LOWER32], block[1].plane[LOWER32],
		    SCAN_BASE32_MIN) & own,
	};
}

void
scan_planes_at(const struct scan_table *table, const uint8_t *p, size_t left, size_t there,
    size_t most, struct scan_planes *block)
{
	size_t blocks = (left + SCAN_LANE - 1) / SCAN_LANE;

	blocks = blocks < most + 1 ? blocks : most + 1;
	scan_planes_of(table, p, there < blocks * SCAN_LANE ? there : blocks * SCAN_LANE, block);
	if (blocks < most + 1)
		memset(block + blocks, 0, sizeof(*block));
}

void
scan_signs_planes(const uint8_t *p, size_t left, size_t there, size_t most,
    struct scan_planes *block)
{
	pthread_once(&once, fill_table);
	scan_planes_at(&shown, p, left, there, most, block);
}

void
scan_signs_add(struct scan_signs *any, const struct scan_signs *sign)
{
	any->turned |= sign->turned;
	any->upper32 |= sign->upper32;
	any->lower32 |= sign->lower32;
}

bool
scan_magic_at(const uint8_t *p, size_t len, size_t at, size_t *from)
{
	uint8_t bytes[12] = { 0 }, *out = bytes;
	struct scan_packed_kind kind;
	size_t i, n, skip;

	for (i = 0; i < sizeof(magics) / sizeof(magics[0]); i++) {
		n = strlen(magics[i].digits);
		if (magics[i].digits[0] != p[at] || at < magics[i].back || len - at < n ||
		    memcmp(p + at, magics[i].digits, n) != 0)
			continue;
		*from = at - magics[i].back;
		scan_decode_quads(p + *from, p + (len - *from < 16 ? len : *from + 16), &out);
		skip = magics[i].back == 0 ? 0 : magics[i].back - 1u;
		/* too few bytes for the header of a zip member */
		return memcmp(bytes + skip, "PK\3\4", 4) == 0 ||
		    (scan_packed_at(bytes, sizeof(bytes), skip, &kind) && !kind.damaged);
	}
	return false;
}
