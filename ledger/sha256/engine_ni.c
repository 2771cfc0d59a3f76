/*
 * Two messages through the SHA extensions: the rounds of one fill the time in
 * which the other waits for its own.
 */
#include "ledger/sha256/engine.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

#define TARGET __attribute__((target("sha,sse4.1")))
#define STEP TARGET __attribute__((always_inline)) static inline
#define UNROLL _Pragma("GCC unroll 16")

#ifndef bit_SHA
#define bit_SHA (1u << 29)	/* CPUID 7.0, EBX; not every cpuid.h has it */
#endif

/* The two halves of the state as the instructions want them, and the 16 words
 * that the next rounds take. */
struct lane {
	__m128i abef, cdgh, w[4];
};

STEP void
get(struct lane *lane, const struct sha256_state *state, unsigned j)
{
	const uint32_t (*h)[SHA256_LANES_MAX] = state->word;

	lane->abef = _mm_set_epi32((int)h[0][j], (int)h[1][j], (int)h[4][j], (int)h[5][j]);
	lane->cdgh = _mm_set_epi32((int)h[2][j], (int)h[3][j], (int)h[6][j], (int)h[7][j]);
}

STEP void
put(const struct lane *lane, struct sha256_state *state, unsigned j)
{
	static const uint8_t abef[] = { 5, 4, 1, 0 }, cdgh[] = { 7, 6, 3, 2 };
	uint32_t x[4], y[4];
	unsigned i;

	_mm_storeu_si128((__m128i *)x, lane->abef);
	_mm_storeu_si128((__m128i *)y, lane->cdgh);
	for (i = 0; i < 4; i++) {
		state->word[abef[i]][j] = x[i];
		state->word[cdgh[i]][j] = y[i];
	}
}

STEP void
load(struct lane *lane, const uint8_t *block)
{
	const __m128i swap = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7,
	    0, 1, 2, 3);

	UNROLL for (int i = 0; i < 4; i++)
		lane->w[i] = _mm_shuffle_epi8(
		    _mm_loadu_si128((const __m128i *)(block + 16 * i)), swap);
}

/* Rounds 4 i to 4 i + 3. */
STEP void
four_rounds(struct lane *lane, int i)
{
	__m128i k = _mm_add_epi32(lane->w[i & 3],
	    _mm_load_si128((const __m128i *)(sha256_k + 4 * i)));

	lane->cdgh = _mm_sha256rnds2_epu32(lane->cdgh, lane->abef, k);
	lane->abef = _mm_sha256rnds2_epu32(lane->abef, lane->cdgh,
	    _mm_shuffle_epi32(k, 0x0e));
}

/* The words of rounds 4 i + 16 to 4 i + 19. */
STEP void
schedule(struct lane *lane, int i)
{
	const __m128i w3 = lane->w[(i + 3) & 3];
	__m128i t = _mm_sha256msg1_epu32(lane->w[i & 3], lane->w[(i + 1) & 3]);

	t = _mm_add_epi32(t, _mm_alignr_epi8(w3, lane->w[(i + 2) & 3], 4));
	lane->w[i & 3] = _mm_sha256msg2_epu32(t, w3);
}

STEP void
sum(struct lane *lane, const struct lane *before)
{
	lane->abef = _mm_add_epi32(lane->abef, before->abef);
	lane->cdgh = _mm_add_epi32(lane->cdgh, before->cdgh);
}

TARGET static void
blocks(struct sha256_state *state, const uint8_t *const data[SHA256_LANES_MAX],
    size_t count)
{
	struct lane x, y, x0, y0;

	get(&x, state, 0);
	get(&y, state, 1);
	for (size_t n = 0; n < count; n++) {
		x0 = x;
		y0 = y;
		load(&x, data[0] + n * SHA256_BLOCK);
		load(&y, data[1] + n * SHA256_BLOCK);
		UNROLL for (int i = 0; i < 16; i++) {
			four_rounds(&x, i);
			four_rounds(&y, i);
			if (i < 12) {
				schedule(&x, i);
				schedule(&y, i);
			}
		}
		sum(&x, &x0);
		sum(&y, &y0);
	}
	put(&x, state, 0);
	put(&y, state, 1);
}

static bool
available(void)
{
	unsigned a, b, c, d;

	if (!__get_cpuid(1, &a, &b, &c, &d) || (c & bit_SSE4_1) == 0)
		return false;
	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA) != 0;
}

#else

static bool
available(void)
{
	return false;
}

#define blocks NULL

#endif

const struct sha256_engine sha256_ni = { "sha-ni", 2, 2, available, blocks, NULL };
