#include "ledger/record_memo.h"

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define HEX_LEN (2 * RECORD_HASH_LEN)
#define HEAD "{\"v\":1,\"prev\":\""
#define HEAD_LEN (sizeof(HEAD) - 1)
#define STREAM "\",\"stream\":\""
#define STREAM_LEN (sizeof(STREAM) - 1)
#define RUN "\",\"run\":\""
#define RUN_LEN (sizeof(RUN) - 1)
#define POLICY "\",\"policy\":\""
#define POLICY_LEN (sizeof(POLICY) - 1)
#define BODY "\",\"body\":"
#define BODY_LEN (sizeof(BODY) - 1)
#define TYPE "\",\"type\":\""
#define TYPE_LEN (sizeof(TYPE) - 1)
#define SECONDS_LEN 10		/* 01.123456Z, behind a minute */
/* What a line that is read from memory has at least behind its prev. */
#define SHORTEST (HEAD_LEN + HEX_LEN + STREAM_LEN + 16)

_Static_assert(HEAD_LEN == RECORD_PREV_AT, "prev stands at byte 15");

#ifdef __SSE2__

/* 16 digits as 8 bytes in the lower halves of words.  *good loses the bits of
 * what is no lowercase digit. */
static __m128i
decode_16(const char *hex, __m128i *good)
{
	const __m128i text = _mm_loadu_si128((const __m128i *)hex);
	const __m128i digit = _mm_sub_epi8(text, _mm_set1_epi8('0'));
	const __m128i letter = _mm_sub_epi8(text, _mm_set1_epi8('a'));
	const __m128i is_digit = _mm_cmpeq_epi8(_mm_min_epu8(digit, _mm_set1_epi8(9)), digit);
	const __m128i is_letter = _mm_cmpeq_epi8(_mm_min_epu8(letter, _mm_set1_epi8(5)), letter);
	const __m128i value = _mm_add_epi8(_mm_and_si128(text, _mm_set1_epi8(15)),
	    _mm_and_si128(is_letter, _mm_set1_epi8(9)));

	*good = _mm_and_si128(*good, _mm_or_si128(is_digit, is_letter));
	return _mm_and_si128(_mm_or_si128(_mm_slli_epi16(value, 4), _mm_srli_epi16(value, 8)),
	    _mm_set1_epi16(0xff));
}

/* False where one is no lowercase digit. */
static bool
decode_prev(const char hex[HEX_LEN], uint8_t out[RECORD_HASH_LEN])
{
	__m128i good = _mm_set1_epi8(-1);
	const __m128i a = decode_16(hex, &good), b = decode_16(hex + 16, &good);
	const __m128i c = decode_16(hex + 32, &good), d = decode_16(hex + 48, &good);

	_mm_storeu_si128((__m128i *)out, _mm_packus_epi16(a, b));
	_mm_storeu_si128((__m128i *)(out + 16), _mm_packus_epi16(c, d));
	return _mm_movemask_epi8(good) == 0xffff;
}

#else

/* False where one is no lowercase digit. */
static bool
decode_prev(const char hex[HEX_LEN], uint8_t out[RECORD_HASH_LEN])
{
	uint8_t value[HEX_LEN], bad = 0;
	size_t i;

	for (i = 0; i < HEX_LEN; i++) {
		uint8_t digit = (uint8_t)(hex[i] - '0');
		uint8_t letter = (uint8_t)(hex[i] - 'a');

		bad |= (digit > 9) & (letter > 5);
		value[i] = digit > 9 ? (uint8_t)(letter + 10) : digit;
	}
	for (i = 0; i < RECORD_HASH_LEN; i++)
		out[i] = (uint8_t)(value[2 * i] << 4 | value[2 * i + 1]);
	return bad == 0;
}

#endif

/* Which way a name of at least 8 readable bytes goes. */
static unsigned
way(const char *name)
{
	uint64_t word;

	memcpy(&word, name, sizeof(word));
	return (unsigned)((word * UINT64_C(0x9e3779b97f4a7c15)) >> 60);
}
_Static_assert(RECORD_MEMO_WAYS == 16, "four bits choose the way");

/* ---- recognising ---- */

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* `","stream":"<name>","seq":` as it was before.  Bytes, or 0. */
static size_t
recall(const struct record_memo_part *part, const char *at, const char *end)
{
	return part->len != 0 && (size_t)(end - at) > part->len &&
	    memcmp(at, part->text, part->len) == 0 ? part->len : 0;
}

/* As record_parse reads it.  Bytes, or 0. */
static size_t
read_seq(const char *at, const char *end, uint64_t *seq)
{
	uint64_t value = 0;
	size_t n = 0;

	for (; at + n < end && is_digit(at[n]) && n < 17; n++)
		value = value * 10 + (uint64_t)(at[n] - '0');
	*seq = value;
	return n > 0 && value <= RECORD_SEQ_MAX && (*at != '0' || n == 1) ? n : 0;
}

/* The number that 8 digits make, the first byte in memory the most significant;
 * -1 where one is none.  Pairs of neighbours are joined three times, all pairs at
 * once. */
static int64_t
eight_digits(uint64_t w)
{
	const uint64_t zeros = UINT64_C(0x3030303030303030);

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	w = __builtin_bswap64(w);
#endif
	w ^= zeros;	/* a digit gives its value, anything else more than 9 */
	if (((w | (w + UINT64_C(0x7676767676767676))) & UINT64_C(0x8080808080808080)) != 0)
		return -1;
	w = (w * 10 + (w >> 8)) & UINT64_C(0x00ff00ff00ff00ff);
	w = (w * 100 + (w >> 16)) & UINT64_C(0x0000ffff0000ffff);
	return (int64_t)((w * 10000 + (w >> 32)) & UINT64_C(0xffffffff));
}

/* `01.123456Z` of a minute that is known.  False where it is not in this form.
 * The digits are put together in a register: what is written to memory in pieces
 * cannot be read as a whole at once. */
static bool
read_seconds(const char *at, int64_t *us)
{
	uint64_t digits;
	uint16_t seconds;

	memcpy(&seconds, at, sizeof(seconds));
	memcpy(&digits, at + 1, sizeof(digits));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	digits = (digits & UINT64_C(0x0000ffffffffffff)) | (uint64_t)seconds << 48;
#else
	digits = (digits & ~UINT64_C(0xffff)) | seconds;
#endif
	*us = eight_digits(digits);
	return *us >= 0 && at[0] < '6' && at[2] == '.' && at[9] == 'Z';
}

/* The letters of a type.  Bytes, or 0. */
static size_t
read_type(const char *at, const char *end)
{
	size_t n = 0;

	while (at + n < end && n <= RECORD_NAME_MAX && ((at[n] >= 'a' && at[n] <= 'z') ||
	    (n > 0 && at[n] == '_')))
		n++;
	return n <= RECORD_NAME_MAX ? n : 0;
}

/* From prev to the time. */
static const char *
recall_place(const struct record_memo *memo, const char *line, const char *end,
    struct record_line *out, uint8_t prev[RECORD_HASH_LEN])
{
	const char *at = line + HEAD_LEN;
	const struct record_memo_part *part = &memo->place[way(at + HEX_LEN + STREAM_LEN)];
	int64_t us;
	size_t n;

	if (memcmp(line, HEAD, HEAD_LEN) != 0 || !decode_prev(at, prev))
		return NULL;
	out->prev = (struct record_slice){ at, HEX_LEN };
	at += HEX_LEN;
	if ((n = recall(part, at, end)) == 0)
		return NULL;
	out->stream = (struct record_slice){ at + part->name_at, part->name_len };
	at += n;
	if ((n = read_seq(at, end, &out->seq)) == 0)
		return NULL;
	at += n;
	if (end - at < RECORD_MEMO_MINUTE_LEN + SECONDS_LEN || !memo->minute_known ||
	    memcmp(at, memo->minute, RECORD_MEMO_MINUTE_LEN) != 0 ||
	    !read_seconds(at + RECORD_MEMO_MINUTE_LEN, &us))
		return NULL;
	at += RECORD_MEMO_MINUTE_LEN + SECONDS_LEN;
	out->t = (struct record_slice){ at - RECORD_TIME_LEN, RECORD_TIME_LEN };
	out->time_us = memo->minute_us + us;
	return at;
}

/* From the type to the end. */
static bool
recall_matter(const struct record_memo *memo, const char *at, const char *end,
    struct record_line *out)
{
	const struct record_memo_part *part;
	size_t n;

	if ((size_t)(end - at) < TYPE_LEN || memcmp(at, TYPE, TYPE_LEN) != 0)
		return false;
	at += TYPE_LEN;
	if ((n = read_type(at, end)) == 0)
		return false;
	out->type = (struct record_slice){ at, n };
	at += n;
	if (end - at < (ptrdiff_t)(RUN_LEN + 8))
		return false;
	part = &memo->matter[way(at + RUN_LEN)];
	if ((n = recall(part, at, end)) == 0)
		return false;
	out->run = (struct record_slice){ NULL, 0 };
	if (part->name_len > 0)
		out->run = (struct record_slice){ at + part->name_at, part->name_len };
	at += n;
	out->policy = (struct record_slice){ at - BODY_LEN - RECORD_POLICY_LEN,
	    RECORD_POLICY_LEN };
	if (end - at < 3 || at[0] != '{' || end[-1] != '}' || end[-2] != '}')
		return false;
	out->body = (struct record_slice){ at, (size_t)(end - at) - 1 };
	return true;
}

/* ---- remembering ---- */

static void
keep(struct record_memo_part *part, const char *from, const char *to,
    struct record_slice name)
{
	memcpy(part->text, from, (size_t)(to - from));
	part->len = (uint8_t)(to - from);
	part->name_at = name.ptr == NULL ? 0 : (uint8_t)(name.ptr - from);
	part->name_len = (uint8_t)name.len;
}

static void
remember(struct record_memo *memo, const struct record_line *r)
{
	const char *place = r->stream.ptr - STREAM_LEN, *minute;
	const char *matter = r->type.ptr + r->type.len;

	minute = r->t.ptr - (RECORD_MEMO_MINUTE_LEN + SECONDS_LEN - RECORD_TIME_LEN);
	memcpy(memo->minute, minute, RECORD_MEMO_MINUTE_LEN);
	memo->minute_us = r->time_us - r->time_us % 60000000;
	memo->minute_known = true;
	keep(&memo->place[way(r->stream.ptr)], place,
	    r->stream.ptr + r->stream.len + sizeof("\",\"seq\":") - 1, r->stream);
	keep(&memo->matter[way(matter + RUN_LEN)], matter, r->body.ptr, r->run);
}

_Static_assert(STREAM_LEN + RECORD_NAME_MAX + sizeof("\",\"seq\":") <=
    RECORD_MEMO_PART_MAX, "the longest stream's name has room");
_Static_assert(RUN_LEN + RECORD_NAME_MAX + POLICY_LEN + RECORD_POLICY_LEN + BODY_LEN <=
    RECORD_MEMO_PART_MAX, "the longest run's name has room");

static const char *
check_body(struct record_memo *memo, struct record_line *out)
{
	return json_memo_member(&memo->bodies, out->body.ptr, out->body.len,
	    "parent", &out->parent.ptr, &out->parent.len);
}

const char *
record_memo_check(struct record_memo *memo, const char *line, size_t len,
    struct record_line *out, uint8_t prev[RECORD_HASH_LEN])
{
	const char *end = line + len, *at, *rule;

	if (len >= SHORTEST && len <= RECORD_LINE_MAX &&
	    (at = recall_place(memo, line, end, out, prev)) != NULL &&
	    recall_matter(memo, at, end, out))
		return check_body(memo, out);
	rule = record_parse(line, len, out);
	if (rule == NULL)
		rule = check_body(memo, out);
	if (rule == NULL) {
		remember(memo, out);
		(void)decode_prev(out->prev.ptr, prev);
	}
	return rule;
}
