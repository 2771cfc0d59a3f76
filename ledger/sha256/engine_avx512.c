/*
 * Sixteen messages side by side: each 512-bit register holds the same word of
 * all of them, so the rounds are those of FIPS 180-4, section 6.2.2, written
 * once.  One instruction takes each three-way exclusive or, choice, majority.
 */
#include "ledger/sha256/engine.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512bw")))
#define STEP TARGET __attribute__((always_inline)) static inline
#define UNROLL _Pragma("GCC unroll 64")

/* Truth tables of _mm512_ternarylogic_epi32. */
enum { XOR3 = 0x96, CHOOSE = 0xca, MAJORITY = 0xe8 };

STEP __m512i
xor3(__m512i a, __m512i b, __m512i c)
{
	return _mm512_ternarylogic_epi32(a, b, c, XOR3);
}

STEP __m512i
add(__m512i a, __m512i b)
{
	return _mm512_add_epi32(a, b);
}

STEP __m512i
big_sigma0(__m512i x)
{
	return xor3(_mm512_ror_epi32(x, 2), _mm512_ror_epi32(x, 13),
	    _mm512_ror_epi32(x, 22));
}

STEP __m512i
big_sigma1(__m512i x)
{
	return xor3(_mm512_ror_epi32(x, 6), _mm512_ror_epi32(x, 11),
	    _mm512_ror_epi32(x, 25));
}

STEP __m512i
small_sigma0(__m512i x)
{
	return xor3(_mm512_ror_epi32(x, 7), _mm512_ror_epi32(x, 18),
	    _mm512_srli_epi32(x, 3));
}

STEP __m512i
small_sigma1(__m512i x)
{
	return xor3(_mm512_ror_epi32(x, 17), _mm512_ror_epi32(x, 19),
	    _mm512_srli_epi32(x, 10));
}

/* 16 rows of 16 words become columns: pairs, fours, then quarters of registers. */
STEP void
transpose(__m512i w[16])
{
	__m512i t[16];

	UNROLL for (int i = 0; i < 8; i++) {
		t[2 * i] = _mm512_unpacklo_epi32(w[2 * i], w[2 * i + 1]);
		t[2 * i + 1] = _mm512_unpackhi_epi32(w[2 * i], w[2 * i + 1]);
	}
	UNROLL for (int i = 0; i < 16; i += 4) {
		w[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
		w[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
		w[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
		w[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
	}
	UNROLL for (int i = 0; i < 4; i++) {
		t[i] = _mm512_shuffle_i32x4(w[i], w[i + 4], 0x88);
		t[i + 4] = _mm512_shuffle_i32x4(w[i], w[i + 4], 0xdd);
		t[i + 8] = _mm512_shuffle_i32x4(w[i + 8], w[i + 12], 0x88);
		t[i + 12] = _mm512_shuffle_i32x4(w[i + 8], w[i + 12], 0xdd);
	}
	UNROLL for (int i = 0; i < 4; i++) {
		w[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
		w[i + 4] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0x88);
		w[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
		w[i + 12] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0xdd);
	}
}

/* One block of each lane as 16 words, most significant byte first. */
STEP void
load(__m512i w[16], const uint8_t *const data[SHA256_LANES_MAX], size_t at)
{
	const __m512i swap = _mm512_broadcast_i32x4(_mm_set_epi8(12, 13, 14, 15,
	    8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3));

	UNROLL for (int i = 0; i < 16; i++)
		w[i] = _mm512_shuffle_epi8(_mm512_loadu_si512(data[i] + at), swap);
	transpose(w);
}

/* Round t, with the names a to h turned by t instead of the words moved. */
STEP void
round_of(__m512i v[8], __m512i w, int t)
{
	__m512i *a = &v[-t & 7], *b = &v[(1 - t) & 7], *c = &v[(2 - t) & 7];
	__m512i *d = &v[(3 - t) & 7], *e = &v[(4 - t) & 7], *f = &v[(5 - t) & 7];
	__m512i *g = &v[(6 - t) & 7], *h = &v[(7 - t) & 7], t1;

	t1 = add(add(*h, add(w, _mm512_set1_epi32((int)sha256_k[t]))),
	    add(big_sigma1(*e), _mm512_ternarylogic_epi32(*e, *f, *g, CHOOSE)));
	*d = add(*d, t1);
	*h = add(t1, add(big_sigma0(*a),
	    _mm512_ternarylogic_epi32(*a, *b, *c, MAJORITY)));
}

TARGET static void
blocks(struct sha256_state *state, const uint8_t *const data[SHA256_LANES_MAX],
    size_t count)
{
	__m512i sum[8], v[8], w[16];

	UNROLL for (int i = 0; i < 8; i++)
		sum[i] = _mm512_loadu_si512(state->word[i]);
	for (size_t n = 0; n < count; n++) {
		load(w, data, n * SHA256_BLOCK);
		UNROLL for (int i = 0; i < 8; i++)
			v[i] = sum[i];
		UNROLL for (int t = 0; t < 64; t++) {
			if (t >= 16)
				w[t & 15] = add(add(w[t & 15], small_sigma0(w[(t + 1) & 15])),
				    add(w[(t + 9) & 15], small_sigma1(w[(t + 14) & 15])));
			round_of(v, w[t & 15], t);
		}
		UNROLL for (int i = 0; i < 8; i++)
			sum[i] = add(sum[i], v[i]);
	}
	UNROLL for (int i = 0; i < 8; i++)
		_mm512_storeu_si512(state->word[i], sum[i]);
}

/* The same quarter of a register's four for the lanes k, k + 4, k + 8, k + 12. */
STEP void
store(uint8_t *const out[SHA256_LANES_MAX], int k, size_t at, __m512i four)
{
	_mm_storeu_si128((__m128i *)(out[k] + at), _mm512_extracti32x4_epi32(four, 0));
	_mm_storeu_si128((__m128i *)(out[k + 4] + at), _mm512_extracti32x4_epi32(four, 1));
	_mm_storeu_si128((__m128i *)(out[k + 8] + at), _mm512_extracti32x4_epi32(four, 2));
	_mm_storeu_si128((__m128i *)(out[k + 12] + at), _mm512_extracti32x4_epi32(four, 3));
}

/* Four words of each lane: columns become rows within quarters of registers. */
STEP void
store_half(const struct sha256_state *state, uint8_t *const out[SHA256_LANES_MAX],
    int first)
{
	const __m512i swap = _mm512_broadcast_i32x4(_mm_set_epi8(12, 13, 14, 15,
	    8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3));
	__m512i w[4], t[4];

	UNROLL for (int i = 0; i < 4; i++)
		w[i] = _mm512_shuffle_epi8(_mm512_loadu_si512(state->word[first + i]), swap);
	UNROLL for (int i = 0; i < 2; i++) {
		t[i] = _mm512_unpacklo_epi32(w[2 * i], w[2 * i + 1]);
		t[i + 2] = _mm512_unpackhi_epi32(w[2 * i], w[2 * i + 1]);
	}
	UNROLL for (int i = 0; i < 2; i++) {
		store(out, 2 * i, 4 * (size_t)first, _mm512_unpacklo_epi64(t[2 * i], t[2 * i + 1]));
		store(out, 2 * i + 1, 4 * (size_t)first, _mm512_unpackhi_epi64(t[2 * i], t[2 * i + 1]));
	}
}

TARGET static void
digests(const struct sha256_state *state, uint8_t *const out[SHA256_LANES_MAX])
{
	store_half(state, out, 0);
	store_half(state, out, 4);
}

/* The processor has it, and the system saves its registers (XCR0: SSE, AVX,
 * masks, both halves of the upper state). */
static bool
available(void)
{
	const unsigned wanted = bit_AVX512F | bit_AVX512BW, saved = 0xe6;
	unsigned a, b, c, d, low, high;

	if (!__get_cpuid(1, &a, &b, &c, &d) || (c & bit_OSXSAVE) == 0)
		return false;
	__asm__ ("xgetbv" : "=a" (low), "=d" (high) : "c" (0));
	if ((low & saved) != saved || !__get_cpuid_count(7, 0, &a, &b, &c, &d))
		return false;
	return (b & wanted) == wanted;
}

#else

static bool
available(void)
{
	return false;
}

#define blocks NULL
#define digests NULL

#endif

const struct sha256_engine sha256_avx512 = {
	"avx512", 16, 7, available, blocks, digests
};
