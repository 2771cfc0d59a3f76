/*
 * Two messages through the SHA extensions: the rounds of one fill the time in
 * which the other waits for its own.
 */
#include <string.h>

#include "ledger/sha256/engine.h"

#define ROOM (2 * SHA256_BLOCK)	/* what the padding is laid out in */

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
begin(struct lane *lane)
{
	const uint32_t *h = sha256_initial;

	lane->abef = _mm_set_epi32((int)h[0], (int)h[1], (int)h[4], (int)h[5]);
	lane->cdgh = _mm_set_epi32((int)h[2], (int)h[3], (int)h[6], (int)h[7]);
}

STEP void
get_state(const struct lane *lane, uint32_t state[8])
{
	const __m128i abef = _mm_shuffle_epi32(lane->abef, 0x1b);
	const __m128i cdgh = _mm_shuffle_epi32(lane->cdgh, 0x1b);

	_mm_storeu_si128((__m128i *)state, _mm_unpacklo_epi64(abef, cdgh));
	_mm_storeu_si128((__m128i *)(state + 4), _mm_unpackhi_epi64(abef, cdgh));
}

STEP void
put_digest(const struct lane *lane, uint8_t *out)
{
	uint32_t state[8];

	get_state(lane, state);
	for (int i = 0; i < 8; i++)
		state[i] = __builtin_bswap32(state[i]);
	memcpy(out, state, sizeof(state));
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

/* Count blocks of each, which lie one after the other. */
TARGET static void
compress(struct lane lane[2], const uint8_t *a, const uint8_t *b, size_t count)
{
	struct lane x = lane[0], y = lane[1], x0, y0;

	for (; count > 0; count--, a += SHA256_BLOCK, b += SHA256_BLOCK) {
		x0 = x;
		y0 = y;
		load(&x, a);
		load(&y, b);
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
	lane[0] = x;
	lane[1] = y;
}

/* What is left behind so many blocks, and the padding: blocks in the room. */
static void
lay_out_end(const struct sha256_job *job, size_t done, size_t blocks, uint8_t room[ROOM])
{
	const size_t left = job->len - done * SHA256_BLOCK;
	const uint64_t bits = __builtin_bswap64(8 * (uint64_t)job->len);

	memset(room, 0, ROOM);
	if (left > 0)
		memcpy(room, (const uint8_t *)job->data + job->len - left, left);
	room[left] = 0x80;
	memcpy(room + blocks * SHA256_BLOCK - sizeof(bits), &bits, sizeof(bits));
}

/* Whole blocks where they lie, the last two with the padding from a copy.  Where
 * there are more in one than in the other, each goes on alone. */
TARGET static void
hash(const struct sha256_job *const job[SHA256_LANES_MAX], unsigned n)
{
	const size_t blocks = sha256_blocks(job[0]->len);
	const size_t done = blocks > 2 ? blocks - 2 : 0;
	const bool alike = sha256_blocks(job[1]->len) == blocks;
	uint8_t room[2][ROOM];
	uint32_t state[8];
	struct lane lane[2];

	for (unsigned j = 0; j < n; j++) {
		begin(&lane[j]);
		if (alike)
			lay_out_end(job[j], done, blocks - done, room[j]);
	}
	compress(lane, job[0]->data, job[1]->data, done);
	if (alike)
		compress(lane, room[0], room[1], blocks - done);
	for (unsigned j = 0; j < n; j++) {
		if (alike) {
			put_digest(&lane[j], job[j]->out);
		} else {
			get_state(&lane[j], state);
			sha256_alone(job[j], state, done);
		}
	}
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

#define hash NULL

#endif

const struct sha256_engine sha256_ni = { "sha-ni", 2, 2, available, hash };
