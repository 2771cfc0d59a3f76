/* Sixty-four bytes at a time: by tables of ASCII (what is not, counts as what it
 * is without its highest bit), or by tables of half bytes. */
#include "ledger/scan/format/brief.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define PLACES SCAN_BRIEF_PLACES
#define UNROLL _Pragma("GCC unroll 4")

/* ---- AVX-512 ---- */

#define TARGET_512 __attribute__((target("avx512f,avx512bw,avx512vbmi")))

TARGET_512 static void
blocks_512(const struct scan_brief *brief, const uint8_t *text, size_t blocks,
    uint64_t *out)
{
	__m512i low[PLACES], high[PLACES], shared;
	unsigned k;

	UNROLL for (k = 0; k < PLACES; k++) {
		low[k] = _mm512_loadu_si512(brief->of[k]);
		high[k] = _mm512_loadu_si512(brief->of[k] + 64);
	}
	for (; blocks > 0; blocks--, text += SCAN_BRIEF_LANE, out++) {
		shared = _mm512_set1_epi8(-1);
		UNROLL for (k = 0; k < PLACES; k++)
			shared = _mm512_and_si512(shared, _mm512_permutex2var_epi8(low[k],
			    _mm512_loadu_si512(text + k), high[k]));
		*out = _mm512_test_epi8_mask(shared, shared);
	}
}

static bool
available_512(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	    __builtin_cpu_supports("avx512vbmi");
}

const struct scan_brief_engine scan_brief_avx512 = {
	"avx512", available_512, blocks_512
};

/* ---- AVX2 ---- */

#define TARGET_2 __attribute__((target("avx2")))

TARGET_2 static inline __m256i
both_halves(const uint8_t half[16])
{
	return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)half));
}

/* The buckets of 32 bytes at one of the places. */
TARGET_2 static inline __m256i
buckets_of(__m256i low, __m256i high, const uint8_t *text)
{
	const __m256i nibble = _mm256_set1_epi8(15);
	__m256i c = _mm256_loadu_si256((const __m256i *)text);

	low = _mm256_shuffle_epi8(low, _mm256_and_si256(c, nibble));
	c = _mm256_and_si256(_mm256_srli_epi16(c, 4), nibble);
	return _mm256_and_si256(low, _mm256_shuffle_epi8(high, c));
}

TARGET_2 static void
blocks_2(const struct scan_brief *brief, const uint8_t *text, size_t blocks,
    uint64_t *out)
{
	__m256i low[PLACES], high[PLACES], shared;
	uint32_t none[2];
	unsigned k, i;

	UNROLL for (k = 0; k < PLACES; k++) {
		low[k] = both_halves(brief->low[k]);
		high[k] = both_halves(brief->high[k]);
	}
	for (; blocks > 0; blocks--, text += SCAN_BRIEF_LANE, out++) {
		UNROLL for (i = 0; i < 2; i++) {
			shared = _mm256_set1_epi8(-1);
			UNROLL for (k = 0; k < PLACES; k++)
				shared = _mm256_and_si256(shared,
				    buckets_of(low[k], high[k], text + 32 * i + k));
			none[i] = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(shared,
			    _mm256_setzero_si256()));
		}
		*out = ~((uint64_t)none[1] << 32 | none[0]);
	}
}

static bool
available_2(void)
{
	return __builtin_cpu_supports("avx2");
}

const struct scan_brief_engine scan_brief_avx2 = { "avx2", available_2, blocks_2 };

#else

static bool
never(void)
{
	return false;
}

const struct scan_brief_engine scan_brief_avx512 = { "avx512", never, NULL };
const struct scan_brief_engine scan_brief_avx2 = { "avx2", never, NULL };

#endif
