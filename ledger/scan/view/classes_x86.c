/* The table in registers: with AVX-512 all of it, with AVX2 the rows of it
 * that are not empty. */
#include "ledger/scan/view/classes.h"

#if defined(__x86_64__)

#include <immintrin.h>

/* ---- AVX-512 ---- */

#define TARGET_512 __attribute__((target("avx512f,avx512bw,avx512vbmi")))

TARGET_512 static inline void
planes_512(__m512i class, struct scan_planes *out)
{
	_Pragma("GCC unroll 8") for (int k = 0; k < SCAN_PLANES; k++)
		out->plane[k] = _mm512_test_epi8_mask(class, _mm512_set1_epi8((char)(1 << k)));
}

TARGET_512 static void
blocks_512(const struct scan_table *table, const uint8_t *text, size_t blocks,
    struct scan_planes *out)
{
	const __m512i t0 = _mm512_loadu_si512(table->of);
	const __m512i t1 = _mm512_loadu_si512(table->of + 64);
	const __m512i t2 = _mm512_loadu_si512(table->of + 128);
	const __m512i t3 = _mm512_loadu_si512(table->of + 192);
	__m512i c, low, high;

	for (; blocks > 0; blocks--, text += SCAN_LANE, out++) {
		c = _mm512_loadu_si512(text);
		low = _mm512_permutex2var_epi8(t0, c, t1);
		high = _mm512_permutex2var_epi8(t2, c, t3);
		planes_512(_mm512_mask_blend_epi8(_mm512_movepi8_mask(c), low, high), out);
	}
}

static bool
available_512(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	    __builtin_cpu_supports("avx512vbmi");
}

const struct scan_classifier scan_classifier_avx512 = {
	"avx512", available_512, blocks_512
};

/* ---- AVX2 ---- */

#define TARGET_2 __attribute__((target("avx2")))

/* Bytes outside of a row come to 0x80 and more, which the shuffle makes 0. */
TARGET_2 static inline __m256i
look_up(__m256i row, uint8_t first, __m256i c)
{
	c = _mm256_sub_epi8(c, _mm256_set1_epi8((char)first));
	return _mm256_shuffle_epi8(row, _mm256_adds_epu8(c, _mm256_set1_epi8(0x70)));
}

TARGET_2 static void
blocks_2(const struct scan_table *table, const uint8_t *text, size_t blocks,
    struct scan_planes *out)
{
	__m256i a, b, c, d, row;
	unsigned i, k;

	for (; blocks > 0; blocks--, text += SCAN_LANE, out++) {
		c = _mm256_loadu_si256((const __m256i *)text);
		d = _mm256_loadu_si256((const __m256i *)(text + 32));
		a = b = _mm256_setzero_si256();
		for (i = 0; i < table->rows; i++) {
			row = _mm256_broadcastsi128_si256(_mm_loadu_si128(
			    (const __m128i *)(table->of + table->row[i])));
			a = _mm256_or_si256(a, look_up(row, table->row[i], c));
			b = _mm256_or_si256(b, look_up(row, table->row[i], d));
		}
		for (k = SCAN_PLANES; k-- > 0;) {
			out->plane[k] = (uint32_t)_mm256_movemask_epi8(a) |
			    (uint64_t)(uint32_t)_mm256_movemask_epi8(b) << 32;
			a = _mm256_add_epi8(a, a);
			b = _mm256_add_epi8(b, b);
		}
	}
}

static bool
available_2(void)
{
	return __builtin_cpu_supports("avx2");
}

const struct scan_classifier scan_classifier_avx2 = { "avx2", available_2, blocks_2 };

#else

static bool
never(void)
{
	return false;
}

const struct scan_classifier scan_classifier_avx512 = { "avx512", never, NULL };
const struct scan_classifier scan_classifier_avx2 = { "avx2", never, NULL };

#endif
