/*
 * The tags' hash by the processor's own AES, eight windows side by side: one
 * waits for its rounds while the others have theirs.  The library's is as quick
 * for one message, but wants the windows copied, twice.
 */
#include "ledger/scan/tags_impl.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define TARGET __attribute__((target("aes,sse4.1")))
#define STEP TARGET __attribute__((always_inline)) static inline
#define ROUNDS 10
#define SIDE 8
#define UNROLL _Pragma("GCC unroll 16")

bool
scan_tag_aes_available(void)
{
	return __builtin_cpu_supports("aes") && __builtin_cpu_supports("sse4.1");
}

STEP __m128i
next_key(__m128i key, __m128i assist)
{
	assist = _mm_shuffle_epi32(assist, 0xff);
	key = _mm_xor_si128(key, _mm_slli_si128(key, 4));
	key = _mm_xor_si128(key, _mm_slli_si128(key, 8));
	return _mm_xor_si128(key, assist);
}

#define NEXT(i, constant) \
	k[i] = next_key(k[i - 1], _mm_aeskeygenassist_si128(k[i - 1], constant))

TARGET void
scan_tag_aes_keys(const uint8_t key[SCAN_TAG_KEY_LEN], struct scan_tag_keys *keys)
{
	__m128i k[ROUNDS + 1];
	unsigned i;

	k[0] = _mm_loadu_si128((const __m128i *)key);
	NEXT(1, 0x01);
	NEXT(2, 0x02);
	NEXT(3, 0x04);
	NEXT(4, 0x08);
	NEXT(5, 0x10);
	NEXT(6, 0x20);
	NEXT(7, 0x40);
	NEXT(8, 0x80);
	NEXT(9, 0x1b);
	NEXT(10, 0x36);
	for (i = 0; i <= ROUNDS; i++)
		_mm_storeu_si128((__m128i *)keys->round[i], k[i]);
}

/* x becomes E(x) ^ x. */
STEP void
one_way(const struct scan_tag_keys *keys, __m128i x[SIDE])
{
	__m128i y[SIDE], key = _mm_loadu_si128((const __m128i *)keys->round[0]);
	int i, r;

	UNROLL for (i = 0; i < SIDE; i++)
		y[i] = _mm_xor_si128(x[i], key);
	for (r = 1; r < ROUNDS; r++) {
		key = _mm_loadu_si128((const __m128i *)keys->round[r]);
		UNROLL for (i = 0; i < SIDE; i++)
			y[i] = _mm_aesenc_si128(y[i], key);
	}
	key = _mm_loadu_si128((const __m128i *)keys->round[ROUNDS]);
	UNROLL for (i = 0; i < SIDE; i++)
		x[i] = _mm_xor_si128(x[i], _mm_aesenclast_si128(y[i], key));
}

TARGET void
scan_tag_aes_hash(const struct scan_tag_keys *keys, const uint8_t *text,
    const size_t *at, size_t n, uint8_t *tags)
{
	const __m128i end = _mm_set_epi64x((long long)SCAN_TAG_WIDTH << 56 | 0x80, 0);
	const uint8_t *p[SIDE];
	__m128i x[SIDE];
	size_t i, k;

	for (i = 0; i < n; i += SIDE) {
		for (k = 0; k < SIDE; k++) {
			p[k] = text + at[i + k < n ? i + k : i];
			x[k] = _mm_loadu_si128((const __m128i *)p[k]);
		}
		one_way(keys, x);
		for (k = 0; k < SIDE; k++)
			x[k] = _mm_xor_si128(x[k], _mm_or_si128(end,
			    _mm_loadl_epi64((const __m128i *)(p[k] + 16))));
		one_way(keys, x);
		for (k = 0; k < SIDE && i + k < n; k++)
			_mm_storeu_si128((__m128i *)(tags + (i + k) * SCAN_TAG_LEN), x[k]);
	}
}

#else

bool
scan_tag_aes_available(void)
{
	return false;
}

void
scan_tag_aes_keys(const uint8_t key[SCAN_TAG_KEY_LEN], struct scan_tag_keys *keys)
{
}

void
scan_tag_aes_hash(const struct scan_tag_keys *keys, const uint8_t *text,
    const size_t *at, size_t n, uint8_t *tags)
{
}

#endif
