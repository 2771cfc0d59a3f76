#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "ledger/record/json_out.h"
#include "ledger/scan/format/formats.h"
#include "ledger/scan/tags/tags_impl.h"

#define WINDOWS_MAX 8	/* of one secret */
#define PAD_MIN 64	/* tags of any file, real ones or not */
#define SECRET_MAX 65536
/* Of base62 drawn at random, 92 windows in 100 have at most this many neighbours
 * of one kind, and 89 no longer run of small letters; words have both. */
#define SAME_MAX 12
#define WORD_MAX 5

struct scan_tags_writer {
	uint8_t key[SCAN_TAG_KEY_LEN];
	size_t n, cap;
	uint8_t (*tag)[SCAN_TAG_LEN];
};

struct scan_tags_writer *
scan_tags_writer_new(void)
{
	struct scan_tags_writer *writer = calloc(1, sizeof(*writer));

	if (writer != NULL)
		randombytes_buf(writer->key, sizeof(writer->key));
	return writer;
}

void
scan_tags_writer_free(struct scan_tags_writer *writer)
{
	if (writer == NULL)
		return;
	free(writer->tag);
	free(writer);
}

/* ---- how much a window hides ---- */

/* Letters and digits as a machine draws them: people's pass phrases change
 * between kinds of characters far less often. */
static unsigned
tenths_unknown(const uint8_t *p)
{
	unsigned lower = 0, upper = 0, number = 0, hex = 0, same = 0, i;
	unsigned letters = 0, longest = 0, seen[4] = { 0 };

	for (i = 0; i < SCAN_TAG_WIDTH; i++) {
		lower += islower(p[i]) != 0;
		upper += isupper(p[i]) != 0;
		number += isdigit(p[i]) != 0;
		hex += isxdigit(p[i]) != 0;
		letters = islower(p[i]) ? letters + 1 : 0;
		longest = letters > longest ? letters : longest;
		seen[p[i] >> 6] |= 1u << (p[i] >> 1 & 31);
		same += i > 0 && (islower(p[i]) != 0) == (islower(p[i - 1]) != 0) &&
		    (isupper(p[i]) != 0) == (isupper(p[i - 1]) != 0);
	}
	if (__builtin_popcount(seen[0]) + __builtin_popcount(seen[1]) < 6)
		return 0;
	if (hex == SCAN_TAG_WIDTH && (lower == 0 || upper == 0))
		return number >= 8 && number <= 20 ? 40 : 0;
	return lower >= 4 && upper >= 4 && number >= 2 && same <= SAME_MAX &&
	    longest <= WORD_MAX ? 57 : 0;
}

/* Tenths of bits that the window at `at` hides. */
static unsigned
hidden(const uint8_t *secret, const uint8_t *tenths, size_t at)
{
	unsigned sum = 0, digits = 0;
	size_t i;

	for (i = at; i < at + SCAN_TAG_WIDTH; i++) {
		if (!scan_tag_char(secret[i]))
			return 0;
		digits += isdigit(secret[i]) != 0;
	}
	if (digits == 0)
		return 0;	/* a scan passes over words */
	if (tenths == NULL)
		return tenths_unknown(secret + at) * SCAN_TAG_WIDTH;
	for (i = at; i < at + SCAN_TAG_WIDTH; i++)
		sum += tenths[i];
	return sum;
}

/* Where windows begin that hide enough; they do not overlap, but for one that
 * ends with the secret. */
static size_t
windows(const uint8_t *secret, size_t len, size_t start[WINDOWS_MAX])
{
	uint8_t *tenths = malloc(len);
	bool known;
	size_t at = 0, n = 0;

	if (tenths == NULL)
		return SIZE_MAX;
	known = scan_formats_hidden((const char *)secret, len, tenths);
	while (at + SCAN_TAG_WIDTH <= len && n < WINDOWS_MAX) {
		if (hidden(secret, known ? tenths : NULL, at) < 10 * SCAN_TAG_BITS_MIN) {
			at++;
			continue;
		}
		start[n++] = at;
		at += SCAN_TAG_WIDTH;
		if (at < len && at + SCAN_TAG_WIDTH > len)
			at = len - SCAN_TAG_WIDTH;
	}
	free(tenths);
	return n;
}

enum scan_strength
scan_tags_strength(const uint8_t *secret, size_t len)
{
	size_t start[WINDOWS_MAX], n;

	if (len < SCAN_TAG_WIDTH || len > SECRET_MAX)
		return SCAN_WEAK;
	n = windows(secret, len, start);
	return n == SIZE_MAX ? SCAN_NO_MEMORY : n == 0 ? SCAN_WEAK : SCAN_TAGGED;
}

/* ---- the file ---- */

static int
add_window(struct scan_tags_writer *writer, const uint8_t *window)
{
	uint8_t (*more)[SCAN_TAG_LEN];
	size_t cap;

	if (writer->n == writer->cap) {
		cap = writer->cap == 0 ? PAD_MIN : 2 * writer->cap;
		if (cap > SCAN_TAGS_MAX ||
		    (more = reallocarray(writer->tag, cap, SCAN_TAG_LEN)) == NULL)
			return -1;
		writer->tag = more;
		writer->cap = cap;
	}
	if (scan_tag_make(writer->key, window, writer->tag[writer->n]) != 0)
		return -1;
	writer->n++;
	return 0;
}

/* The window as a reader of reversed or rotated text would see it. */
static int
add_mirrored(struct scan_tags_writer *writer, const uint8_t *window)
{
	uint8_t reversed[SCAN_TAG_WIDTH], rotated[SCAN_TAG_WIDTH];
	int i, result;

	for (i = 0; i < SCAN_TAG_WIDTH; i++) {
		reversed[i] = window[SCAN_TAG_WIDTH - 1 - i];
		rotated[i] = window[i];
		if (isalpha(window[i]))
			rotated[i] = (uint8_t)((window[i] & 0x20) + 'A' +
			    ((window[i] & 0x1f) - 1 + 13) % 26);
	}
	result = add_window(writer, reversed) != 0 ? -1 : add_window(writer, rotated);
	sodium_memzero(reversed, sizeof(reversed));
	sodium_memzero(rotated, sizeof(rotated));
	return result;
}

enum scan_strength
scan_tags_add(struct scan_tags_writer *writer, const uint8_t *secret,
    size_t len)
{
	size_t start[WINDOWS_MAX], n, i;

	if (len < SCAN_TAG_WIDTH || len > SECRET_MAX)
		return SCAN_WEAK;
	n = windows(secret, len, start);
	if (n == 0)
		return SCAN_WEAK;
	if (n == SIZE_MAX || add_mirrored(writer, secret + start[0]) != 0)
		return SCAN_NO_MEMORY;
	for (i = 0; i < n; i++)
		if (add_window(writer, secret + start[i]) != 0)
			return SCAN_NO_MEMORY;
	return SCAN_TAGGED;
}

static int
by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, SCAN_TAG_LEN);
}

/* The canary, then random tags up to a power of two: how many secrets there
 * are is nobody's business. */
static int
pad(struct scan_tags_writer *writer)
{
	size_t full = PAD_MIN, from = 1, i;
	uint8_t (*all)[SCAN_TAG_LEN];

	if (add_window(writer, (const uint8_t *)SCAN_TAG_FIXTURE) != 0)
		return -1;
	while (full < writer->n)
		full *= 2;
	if ((all = reallocarray(writer->tag, full, SCAN_TAG_LEN)) == NULL)
		return -1;
	writer->tag = all;
	writer->cap = full;
	qsort(all, writer->n, SCAN_TAG_LEN, by_bytes);
	for (i = 1; i < writer->n; i++)	/* a secret given twice */
		if (by_bytes(all[from - 1], all[i]) != 0)
			memmove(all[from++], all[i], SCAN_TAG_LEN);
	writer->n = full;
	randombytes_buf(all[from], (full - from) * SCAN_TAG_LEN);
	qsort(all, full, SCAN_TAG_LEN, by_bytes);
	return 0;
}

char *
scan_tags_write(struct scan_tags_writer *writer, size_t *len,
    char commitment[SCAN_TAGS_COMMITMENT_MAX])
{
	struct json_out out;
	char *text;
	size_t i, cap;
	int n;

	if (pad(writer) != 0)
		return NULL;
	cap = 256 + writer->n * (2 * SCAN_TAG_LEN + 4);
	if ((text = malloc(cap)) == NULL)
		return NULL;
	json_out_begin(&out, text, cap - 1);
	json_out_object(&out, NULL);
	json_out_uint(&out, "v", 1);
	json_out_str(&out, "type", SCAN_TAGS_TYPE);
	json_out_str(&out, "table", SCAN_TABLE_VERSION);
	json_out_uint(&out, "width", SCAN_TAG_WIDTH);
	json_out_bool(&out, "digit", true);
	json_out_hex(&out, "key", writer->key, sizeof(writer->key));
	json_out_array(&out, "tags");
	for (i = 0; i < writer->n; i++)
		json_out_hex(&out, NULL, writer->tag[i], SCAN_TAG_LEN);
	json_out_array_end(&out);
	json_out_object_end(&out);
	n = json_out_end(&out);
	if (n < 0) {
		free(text);
		return NULL;
	}
	text[n] = '\n';
	*len = (size_t)n + 1;
	scan_tags_commitment(text, *len, commitment);
	return text;
}
