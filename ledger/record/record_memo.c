#include "ledger/record/record_memo.h"

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
#define TYPE_MOST 16		/* letters; those of all known types are fewer */
#define SECONDS_LEN 10		/* 01.123456Z, behind a minute */
/* What a line that is read from memory has at least behind its prev. */
#define SHORTEST (HEAD_LEN + HEX_LEN + STREAM_LEN + 16)

_Static_assert(HEAD_LEN == RECORD_PREV_AT, "prev stands at byte 15");

#ifdef __SSE2__

/* What every record goes through, so that it costs no calls. */
#define HOT __attribute__((always_inline)) static inline

HOT __m128i
load_16(const char *at)
{
	return _mm_loadu_si128((const __m128i *)at);
}

/* 16 digits as their values; what is no lowercase digit is more than 15.  The
 * digits are moved to the end of the range, so that what lies beyond wraps, and
 * what lies before is less than the values after the second step. */
HOT __m128i
values_16(const char *hex)
{
	const __m128i text = load_16(hex);
	const __m128i digit = _mm_sub_epi8(_mm_subs_epu8(_mm_add_epi8(text,
	    _mm_set1_epi8((char)(0xff - '9'))), _mm_set1_epi8(6)), _mm_set1_epi8((char)0xf0));
	const __m128i letter = _mm_adds_epu8(_mm_sub_epi8(text, _mm_set1_epi8('a')),
	    _mm_set1_epi8(10));

	return _mm_min_epu8(digit, letter);
}

/* 16 values as 8 bytes in the lower halves of words. */
HOT __m128i
join_16(__m128i v)
{
	return _mm_and_si128(_mm_or_si128(_mm_slli_epi16(v, 4), _mm_srli_epi16(v, 8)),
	    _mm_set1_epi16(0xff));
}

/* False where one is no lowercase digit. */
HOT bool
decode_prev(const char hex[HEX_LEN], uint8_t out[RECORD_HASH_LEN])
{
	const __m128i a = values_16(hex), b = values_16(hex + 16);
	const __m128i c = values_16(hex + 32), d = values_16(hex + 48);
	const __m128i most = _mm_max_epu8(_mm_max_epu8(a, b), _mm_max_epu8(c, d));

	_mm_storeu_si128((__m128i *)out, _mm_packus_epi16(join_16(a), join_16(b)));
	_mm_storeu_si128((__m128i *)(out + 16), _mm_packus_epi16(join_16(c), join_16(d)));
	return _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(most, _mm_set1_epi8(15)),
	    _mm_set1_epi8(15))) == 0xffff;
}

HOT bool
same_16(const char *a, const char *b)
{
	return _mm_movemask_epi8(_mm_cmpeq_epi8(load_16(a), load_16(b))) == 0xffff;
}

/* Of 16 bytes or more: the last ones are compared with those before them. */
HOT bool
same(const char *a, const char *b, size_t len)
{
	size_t i;

	for (i = 0; i + 16 < len; i += 16)
		if (!same_16(a + i, b + i))
			return false;
	return same_16(a + len - 16, b + len - 16);
}

/* Which of 16 bytes are letters. */
HOT unsigned
letters(const char *at)
{
	const __m128i letter = _mm_sub_epi8(load_16(at), _mm_set1_epi8('a'));
	const __m128i is_one = _mm_cmpeq_epi8(_mm_min_epu8(letter, _mm_set1_epi8(25)), letter);

	return (unsigned)_mm_movemask_epi8(is_one);
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

static bool
same(const char *a, const char *b, size_t len)
{
	return memcmp(a, b, len) == 0;
}

static unsigned
letters(const char *at)
{
	unsigned found = 0, i;

	for (i = 0; i < 16; i++)
		found |= (unsigned)(at[i] >= 'a' && at[i] <= 'z') << i;
	return found;
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

/*
 * Each thing is taken to be as long as it was in the line before, and then
 * compared.  So where the next one stands is known without waiting for the bytes
 * of this one, and a line is read at the pace of its instructions.
 */

static bool
is_here(const struct record_memo_part *part, const char *at, const char *end)
{
	return part->len != 0 && (size_t)(end - at) > part->len &&
	    same(at, part->text, part->len);
}

/* The part that stands here: the last one, or the one that is kept for this name.
 * NULL: neither. */
static const struct record_memo_part *
recall(struct record_memo_ways *ways, const char *at, const char *end, const char *name)
{
	const struct record_memo_part *part = &ways->part[ways->last];

	if (is_here(part, at, end))
		return part;
	ways->last = (uint8_t)way(name);
	part = &ways->part[ways->last];
	return is_here(part, at, end) ? part : NULL;
}

#define ZEROS UINT64_C(0x3030303030303030)
#define HIGH_BITS UINT64_C(0x8080808080808080)

/* 8 bytes, the first one in memory the lowest, as the values of digits; and a mark
 * in those that are none.  What is carried on marks bytes behind one that is no
 * digit, never before it. */
static uint64_t
eight_values(const char *at, uint64_t *marks)
{
	uint64_t w;

	memcpy(&w, at, sizeof(w));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	w = __builtin_bswap64(w);
#endif
	w ^= ZEROS;
	*marks = (w | (w + UINT64_C(0x7676767676767676))) & HIGH_BITS;
	return w;
}

/* The number that 8 values make, the lowest byte the most significant one.  Pairs
 * of neighbours are joined three times, all pairs at once. */
static uint64_t
number_of(uint64_t w)
{
	w = (w * 10 + (w >> 8)) & UINT64_C(0x00ff00ff00ff00ff);
	w = (w * 100 + (w >> 16)) & UINT64_C(0x0000ffff0000ffff);
	return (w * 10000 + (w >> 32)) & UINT64_C(0xffffffff);
}

/* As record_parse reads it, where there are less than 8 digits, and 8 bytes.
 * Bytes, or 0. */
static size_t
read_seq(struct record_memo *memo, const char *at, uint64_t *seq)
{
	uint64_t marks, w = eight_values(at, &marks), end = UINT64_C(0x80) << 8 * memo->digits;

	if ((marks & (end | (end - 1))) != end)
		memo->digits = marks == 0 ? 0 : (uint8_t)(__builtin_ctzll(marks) / 8);
	if (memo->digits == 0 || (*at == '0' && memo->digits > 1))
		return 0;
	*seq = number_of(w << (64 - 8 * memo->digits));
	return memo->digits;
}

/* The letters of a type, less than 16, of which there are bytes.  Bytes, or 0. */
static size_t
read_type(struct record_memo *memo, const char *at)
{
	const unsigned others = ~letters(at), end = 1u << memo->letters;

	if ((others & (end | (end - 1))) != end)
		memo->letters = (uint8_t)__builtin_ctz(others);
	return memo->letters < TYPE_MOST ? memo->letters : 0;
}

/* `01.123456Z` of a minute that is known.  False where it is not in this form.
 * The seconds are put in the place of the point in a register: what is written to
 * memory in pieces cannot be read as a whole at once. */
static bool
read_seconds(const char *at, int64_t *us)
{
	uint64_t marks, point, w = eight_values(at + 1, &marks);

	point = eight_values(at, &marks);
	w = (w & ~UINT64_C(0xffff)) | (point & UINT64_C(0xffff));
	*us = (int64_t)number_of(w);
	return ((w | (w + UINT64_C(0x7676767676767676))) & HIGH_BITS) == 0 &&
	    at[0] < '6' && at[2] == '.' && at[9] == 'Z';
}

/* From prev to the time. */
static const char *
recall_place(struct record_memo *memo, const char *line, const char *end,
    struct record_line *out, uint8_t prev[RECORD_HASH_LEN])
{
	const char *at = line + HEAD_LEN;
	const struct record_memo_part *part;
	int64_t us;
	size_t n;

	if (memcmp(line, HEAD, HEAD_LEN) != 0 || !decode_prev(at, prev))
		return NULL;
	out->prev = (struct record_slice){ at, HEX_LEN };
	at += HEX_LEN;
	if ((part = recall(&memo->place, at, end, at + STREAM_LEN)) == NULL)
		return NULL;
	out->stream = (struct record_slice){ at + part->name_at, part->name_len };
	at += part->len;
	if (end - at < 8 + RECORD_MEMO_MINUTE_LEN + SECONDS_LEN ||
	    (n = read_seq(memo, at, &out->seq)) == 0)
		return NULL;
	at += n;
	if (!memo->minute_known || !same(at, memo->minute, RECORD_MEMO_MINUTE_LEN) ||
	    !read_seconds(at + RECORD_MEMO_MINUTE_LEN, &us))
		return NULL;
	at += RECORD_MEMO_MINUTE_LEN + SECONDS_LEN;
	out->t = (struct record_slice){ at - RECORD_TIME_LEN, RECORD_TIME_LEN };
	out->time_us = memo->minute_us + us;
	return at;
}

/* From the type to the end. */
static bool
recall_matter(struct record_memo *memo, const char *at, const char *end,
    struct record_line *out)
{
	const struct record_memo_part *part;
	size_t n;

	if ((size_t)(end - at) < TYPE_LEN + TYPE_MOST + RUN_LEN + 8 ||
	    memcmp(at, TYPE, TYPE_LEN) != 0)
		return false;
	at += TYPE_LEN;
	if ((n = read_type(memo, at)) == 0)
		return false;
	out->type = (struct record_slice){ at, n };
	at += n;
	if ((part = recall(&memo->matter, at, end, at + RUN_LEN)) == NULL)
		return false;
	out->run = (struct record_slice){ NULL, 0 };
	if (part->name_len > 0)
		out->run = (struct record_slice){ at + part->name_at, part->name_len };
	at += part->len;
	out->alike = part->number;
	out->policy = (struct record_slice){ at - BODY_LEN - RECORD_POLICY_LEN,
	    RECORD_POLICY_LEN };
	if (end - at < 3 || at[0] != '{' || end[-1] != '}' || end[-2] != '}')
		return false;
	out->body = (struct record_slice){ at, (size_t)(end - at) - 1 };
	return true;
}

/* ---- remembering ---- */

static void
keep(struct record_memo *memo, struct record_memo_part *part, const char *from,
    const char *to, struct record_slice name)
{
	memo->kept = memo->kept % RECORD_MEMO_ALIKE_MAX + 1;
	part->number = memo->kept;
	memcpy(part->text, from, (size_t)(to - from));
	part->len = (uint8_t)(to - from);
	part->name_at = name.ptr == NULL ? 0 : (uint8_t)(name.ptr - from);
	part->name_len = (uint8_t)name.len;
}

static void
remember(struct record_memo *memo, struct record_line *r)
{
	const char *place = r->stream.ptr - STREAM_LEN, *minute;
	const char *matter = r->type.ptr + r->type.len;

	minute = r->t.ptr - (RECORD_MEMO_MINUTE_LEN + SECONDS_LEN - RECORD_TIME_LEN);
	memcpy(memo->minute, minute, RECORD_MEMO_MINUTE_LEN);
	memo->minute_us = r->time_us - r->time_us % 60000000;
	memo->minute_known = true;
	keep(memo, &memo->place.part[way(r->stream.ptr)], place,
	    r->stream.ptr + r->stream.len + sizeof("\",\"seq\":") - 1, r->stream);
	keep(memo, &memo->matter.part[way(matter + RUN_LEN)], matter, r->body.ptr, r->run);
	r->alike = memo->kept;
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

bool
record_hash_decode(const char hex[2 * RECORD_HASH_LEN], uint8_t hash[RECORD_HASH_LEN])
{
	return decode_prev(hex, hash);
}
