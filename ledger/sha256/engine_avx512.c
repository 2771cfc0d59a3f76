/*
 * Sixteen messages side by side: each 512-bit register holds the same word of
 * all of them, so the rounds are those of FIPS 180-4, section 6.2.2, written
 * once.  One instruction takes each three-way exclusive or, choice, majority.
 */
#include "ledger/sha256/engine.h"

#define WORTH 7

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512bw,bmi2")))
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

/* Sixteen rows of bytes as 16 words of each lane, most significant byte first. */
STEP void
to_words(__m512i w[16])
{
	const __m512i swap = _mm512_broadcast_i32x4(_mm_set_epi8(12, 13, 14, 15,
	    8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3));

	UNROLL for (int i = 0; i < 16; i++)
		w[i] = _mm512_shuffle_epi8(w[i], swap);
	transpose(w);
}

/* What each lane has: its message, the bytes and blocks of it, and the blocks
 * that are compressed here. */
struct lanes {
	const uint8_t *data[SHA256_LANES_MAX];
	_Alignas(64) uint32_t len[SHA256_LANES_MAX], blocks[SHA256_LANES_MAX],
	    limit[SHA256_LANES_MAX];
};

/* Block b, which is whole in every message. */
STEP void
load_whole(__m512i w[16], const struct lanes *lanes, size_t b)
{
	UNROLL for (int i = 0; i < 16; i++)
		w[i] = _mm512_loadu_si512(lanes->data[i] + b * SHA256_BLOCK);
	to_words(w);
}

/* Block b with what is left of each message, and the padding: the bit behind it
 * from a row of zeros where it stands in the middle, the length in the last word. */
STEP void
load_end(__m512i w[16], const struct lanes *lanes, size_t b)
{
	static const uint8_t bit[3 * SHA256_BLOCK] = { [SHA256_BLOCK] = 0x80 };
	const __m512i len = _mm512_load_si512(lanes->len);
	const __m512i rest = _mm512_sub_epi32(len, _mm512_set1_epi32((int)(b * SHA256_BLOCK)));
	const __mmask16 last = _mm512_cmpeq_epi32_mask(_mm512_load_si512(lanes->blocks),
	    _mm512_set1_epi32((int)b + 1));
	_Alignas(64) int32_t left[SHA256_LANES_MAX];	/* -1: the bit was before */

	_mm512_store_si512(left, _mm512_max_epi32(_mm512_set1_epi32(-1),
	    _mm512_min_epi32(_mm512_set1_epi32(SHA256_BLOCK), rest)));
	UNROLL for (int i = 0; i < 16; i++)
		w[i] = _mm512_mask_loadu_epi8(_mm512_loadu_si512(bit + SHA256_BLOCK - left[i]),
		    _bzhi_u64(~UINT64_C(0), left[i] < 0 ? 0 : (unsigned)left[i]),
		    left[i] < 0 ? bit : lanes->data[i] + b * SHA256_BLOCK);
	to_words(w);
	w[15] = _mm512_mask_slli_epi32(w[15], last, len, 3);
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

/* The rounds up to the end, the first of which takes w[from & 15]. */
STEP void
rounds(__m512i v[8], __m512i w[16], int from, int known)
{
	UNROLL for (int t = from; t < 64; t++) {
		if (t >= known)
			w[t & 15] = add(add(w[t & 15], small_sigma0(w[(t + 1) & 15])),
			    add(w[(t + 9) & 15], small_sigma1(w[(t + 14) & 15])));
		round_of(v, w[t & 15], t);
	}
}

/* Into the state of the lanes that have a block b to be compressed here. */
STEP void
compress(__m512i sum[8], __m512i w[16], const struct lanes *lanes, size_t b)
{
	const __mmask16 wanted = _mm512_cmpgt_epu32_mask(_mm512_load_si512(lanes->limit),
	    _mm512_set1_epi32((int)b));
	__m512i v[8];

	UNROLL for (int i = 0; i < 8; i++)
		v[i] = sum[i];
	rounds(v, w, 0, 16);
	UNROLL for (int i = 0; i < 8; i++)
		sum[i] = _mm512_mask_add_epi32(sum[i], wanted, sum[i], v[i]);
}

/* --- the second block of a tree's node ---------------------------------- */

/*
 * Half of what a tree hashes is 65 bytes: a prefix and two hashes.  Its second
 * block is one byte, the bit behind it and the length, so words 1 to 14 are
 * zeros, and words 16 to 31 of the schedule lack most of their terms.
 */
#define NODE_LEN 65

static inline uint32_t
right(uint32_t x, int n)
{
	return x >> n | x << (32 - n);
}

static inline uint32_t
small0(uint32_t x)
{
	return right(x, 7) ^ right(x, 18) ^ x >> 3;
}

static inline uint32_t
small1(uint32_t x)
{
	return right(x, 17) ^ right(x, 19) ^ x >> 10;
}

STEP __m512i
all(uint32_t x)
{
	return _mm512_set1_epi32((int)x);
}

/* Words 16 to 31, given word 0. */
STEP void
node_words(__m512i w[16], __m512i first)
{
	const uint32_t w15 = NODE_LEN * 8, w17 = small1(w15), w19 = small1(w17),
	    w21 = small1(w19);

	w[0] = first;
	w[1] = all(w17);
	w[2] = small_sigma1(w[0]);
	w[3] = all(w19);
	w[4] = small_sigma1(w[2]);
	w[5] = all(w21);
	w[6] = add(all(w15), small_sigma1(w[4]));
	w[7] = add(all(small1(w21)), w[0]);
	w[8] = add(all(w17), small_sigma1(w[6]));
	w[9] = add(w[2], small_sigma1(w[7]));
	w[10] = add(all(w19), small_sigma1(w[8]));
	w[11] = add(w[4], small_sigma1(w[9]));
	w[12] = add(all(w21), small_sigma1(w[10]));
	w[13] = add(w[6], small_sigma1(w[11]));
	w[14] = add(add(all(small0(w15)), w[7]), small_sigma1(w[12]));
	w[15] = add(add(all(w15), small_sigma0(w[0])), add(w[8], small_sigma1(w[13])));
}

STEP void
compress_node_end(__m512i sum[8], const struct lanes *lanes)
{
	_Alignas(64) uint32_t first[SHA256_LANES_MAX];
	__m512i v[8], w[16];

	UNROLL for (int i = 0; i < 16; i++)
		first[i] = (uint32_t)lanes->data[i][NODE_LEN - 1] << 24 | 0x800000;
	UNROLL for (int i = 0; i < 8; i++)
		v[i] = sum[i];
	round_of(v, _mm512_load_si512(first), 0);
	UNROLL for (int t = 1; t < 15; t++)
		round_of(v, _mm512_setzero_si512(), t);
	round_of(v, all(NODE_LEN * 8), 15);
	node_words(w, _mm512_load_si512(first));
	rounds(v, w, 16, 32);
	UNROLL for (int i = 0; i < 8; i++)
		sum[i] = add(sum[i], v[i]);
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
store_half(const __m512i sum[8], uint8_t *const out[SHA256_LANES_MAX], int first)
{
	const __m512i swap = _mm512_broadcast_i32x4(_mm_set_epi8(12, 13, 14, 15,
	    8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3));
	__m512i w[4], t[4];

	UNROLL for (int i = 0; i < 4; i++)
		w[i] = _mm512_shuffle_epi8(sum[first + i], swap);
	UNROLL for (int i = 0; i < 2; i++) {
		t[i] = _mm512_unpacklo_epi32(w[2 * i], w[2 * i + 1]);
		t[i + 2] = _mm512_unpackhi_epi32(w[2 * i], w[2 * i + 1]);
	}
	UNROLL for (int i = 0; i < 2; i++) {
		store(out, 2 * i, 4 * (size_t)first, _mm512_unpacklo_epi64(t[2 * i], t[2 * i + 1]));
		store(out, 2 * i + 1, 4 * (size_t)first, _mm512_unpackhi_epi64(t[2 * i], t[2 * i + 1]));
	}
}

/* The lanes' messages, and how far: where fewer than are worth it would go on
 * together, the longer ones stop, behind a whole block.  The greatest limit. */
static size_t
take(struct lanes *lanes, uint8_t *out[SHA256_LANES_MAX],
    const struct sha256_job *const job[SHA256_LANES_MAX], unsigned n)
{
	const size_t most = sha256_blocks(job[n - WORTH]->len);
	size_t blocks, whole;

	for (unsigned j = 0; j < SHA256_LANES_MAX; j++) {
		blocks = sha256_blocks(job[j]->len);
		whole = job[j]->len / SHA256_BLOCK;
		lanes->data[j] = job[j]->data;
		lanes->len[j] = (uint32_t)job[j]->len;
		lanes->blocks[j] = (uint32_t)blocks;
		lanes->limit[j] = (uint32_t)(blocks <= most ? blocks :
		    whole < most ? whole : most);
		out[j] = job[j]->out;
	}
	return most;
}

/* Those that are not done. */
STEP void
go_on(const __m512i sum[8], const struct lanes *lanes,
    const struct sha256_job *const job[SHA256_LANES_MAX], unsigned n)
{
	uint32_t word[8][SHA256_LANES_MAX], state[8];

	UNROLL for (int i = 0; i < 8; i++)
		_mm512_storeu_si512(word[i], sum[i]);
	for (; n > 0 && lanes->limit[n - 1] < lanes->blocks[n - 1]; n--) {
		for (unsigned i = 0; i < 8; i++)
			state[i] = word[i][n - 1];
		sha256_alone(job[n - 1], state, lanes->limit[n - 1]);
	}
}

TARGET static void
hash(const struct sha256_job *const job[SHA256_LANES_MAX], unsigned n)
{
	uint8_t *out[SHA256_LANES_MAX];
	struct lanes lanes;
	__m512i sum[8], w[16];
	const size_t most = take(&lanes, out, job, n);
	const size_t whole = _mm512_reduce_min_epu32(_mm512_load_si512(lanes.len)) / SHA256_BLOCK;
	const bool nodes = _mm512_cmpneq_epi32_mask(_mm512_load_si512(lanes.len), all(NODE_LEN)) == 0;

	UNROLL for (int i = 0; i < 8; i++)
		sum[i] = _mm512_set1_epi32((int)sha256_initial[i]);
	for (size_t b = 0; b < most; b++) {
		if (nodes && b == 1) {
			compress_node_end(sum, &lanes);
			break;
		}
		if (b < whole)
			load_whole(w, &lanes, b);
		else
			load_end(w, &lanes, b);
		compress(sum, w, &lanes, b);
	}
	store_half(sum, out, 0);
	store_half(sum, out, 4);
	if (lanes.limit[n - 1] < lanes.blocks[n - 1])
		go_on(sum, &lanes, job, n);
}

/* The processor has it, and the system saves its registers (XCR0: SSE, AVX,
 * masks, both halves of the upper state). */
static bool
available(void)
{
	const unsigned wanted = bit_AVX512F | bit_AVX512BW | bit_BMI2, saved = 0xe6;
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

#define hash NULL

#endif

const struct sha256_engine sha256_avx512 = {
	"avx512", 16, WORTH, available, hash
};
