/*
 * The tags' hash by the processor's own AES, eight windows side by side, or
 * sixteen, four to an instruction: one waits for its rounds while the others have
 * theirs.  The library's is as quick for one message, but wants the windows
 * copied, twice.
 */
#include "ledger/scan/tags/tags_impl.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

#define TARGET __attribute__((target("aes,sse4.1")))
#define STEP TARGET __attribute__((always_inline)) static inline
#define ROUNDS 10
#define SIDE 8
#define UNROLL _Pragma("GCC unroll 16")

/* ---- keys ---- */

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
scan_tag_keys_make(const uint8_t key[SCAN_TAG_KEY_LEN], struct scan_tag_keys *keys)
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

/* ---- one window to an instruction ---- */

static bool
available_1(void)
{
	return __builtin_cpu_supports("aes") && __builtin_cpu_supports("sse4.1");
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

TARGET static void
hash_1(const struct scan_tag_keys *keys, const uint8_t *text,
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

const struct scan_tag_engine scan_tag_aes = { "aes", available_1, hash_1 };

/* ---- four ---- */

#define TARGET_4 __attribute__((target("vaes,avx512f,avx512bw")))
#define STEP_4 TARGET_4 __attribute__((always_inline)) static inline
#define WIDE 4
#define WIDE_SIDE 4

/* Not every compiler has a word for VAES. */
static bool
available_4(void)
{
	unsigned a, b, c, d;

	return available_1() && __builtin_cpu_supports("avx512f") &&
	    __builtin_cpu_supports("avx512bw") && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 &&
	    (c >> 9 & 1) != 0;
}

STEP_4 void
one_way_4(const __m512i key[ROUNDS + 1], __m512i x[WIDE_SIDE])
{
	__m512i y[WIDE_SIDE];
	int i, r;

	UNROLL for (i = 0; i < WIDE_SIDE; i++)
		y[i] = _mm512_xor_si512(x[i], key[0]);
	UNROLL for (r = 1; r < ROUNDS; r++)
		UNROLL for (i = 0; i < WIDE_SIDE; i++)
			y[i] = _mm512_aesenc_epi128(y[i], key[r]);
	UNROLL for (i = 0; i < WIDE_SIDE; i++)
		x[i] = _mm512_xor_si512(x[i], _mm512_aesenclast_epi128(y[i], key[ROUNDS]));
}

/* Sixteen bytes from each of four places. */
STEP_4 __m512i
load_4(const uint8_t *text, const size_t at[WIDE])
{
	__m512i x = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(text + at[0])));

	x = _mm512_inserti32x4(x, _mm_loadu_si128((const __m128i *)(text + at[1])), 1);
	x = _mm512_inserti32x4(x, _mm_loadu_si128((const __m128i *)(text + at[2])), 2);
	return _mm512_inserti32x4(x, _mm_loadu_si128((const __m128i *)(text + at[3])), 3);
}

TARGET_4 static void
hash_4(const struct scan_tag_keys *keys, const uint8_t *text, const size_t *at, size_t n,
    uint8_t *tags)
{
	const __m512i end = _mm512_broadcast_i32x4(_mm_set_epi64x(
	    (long long)SCAN_TAG_WIDTH << 56 | 0x80, 0));
	__m512i x[WIDE_SIDE], key[ROUNDS + 1];
	unsigned k;

	UNROLL for (k = 0; k <= ROUNDS; k++)
		key[k] = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)keys->round[k]));
	for (; n >= WIDE * WIDE_SIDE; n -= WIDE * WIDE_SIDE, at += WIDE * WIDE_SIDE) {
		UNROLL for (k = 0; k < WIDE_SIDE; k++)
			x[k] = load_4(text, at + WIDE * k);
		one_way_4(key, x);
		/* the window's last eight bytes are the higher half of its last sixteen */
		UNROLL for (k = 0; k < WIDE_SIDE; k++)
			x[k] = _mm512_xor_si512(x[k], _mm512_or_si512(end, _mm512_bsrli_epi128(
			    load_4(text + SCAN_TAG_WIDTH - 16, at + WIDE * k), 8)));
		one_way_4(key, x);
		UNROLL for (k = 0; k < WIDE_SIDE; k++, tags += WIDE * SCAN_TAG_LEN)
			_mm512_storeu_si512(tags, x[k]);
	}
	hash_1(keys, text, at, n, tags);
}

const struct scan_tag_engine scan_tag_vaes = { "vaes", available_4, hash_4 };

#else

static bool
never(void)
{
	return false;
}

const struct scan_tag_engine scan_tag_aes = { "aes", never, NULL };
const struct scan_tag_engine scan_tag_vaes = { "vaes", never, NULL };

void
scan_tag_keys_make(const uint8_t key[SCAN_TAG_KEY_LEN], struct scan_tag_keys *keys)
{
}

#endif

const struct scan_tag_engine *
scan_tag_engine(void)
{
	return scan_tag_vaes.available() ? &scan_tag_vaes :
	    scan_tag_aes.available() ? &scan_tag_aes : NULL;
}
