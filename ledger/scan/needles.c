#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <sodium.h>

#include "ledger/scan/needles.h"
#include "ledger/scan/scan.h"
#include "ledger/scan/view/escape.h"
#include "ledger/scan/view/view.h"

#define NEEDLES_MAX (1u << 20)	/* of as many secrets as a vault has, with room */
#define BLOCK 65536
#define QUADS 65536
#define STRIDE 4	/* a secret holds the four bytes at one of so many places in a row */
#define LEAVES_DEPTH 16	/* of a secret that is JSON */

/* One form of one known secret. */
struct needle {
	const char *bytes;	/* in a block */
	size_t len;
	const char *form;
	unsigned of;		/* its place in names */
};

/* Locked memory, for many forms: a page or more for each would be too much. */
struct block {
	struct block *next;
	char *bytes;		/* sodium_malloc */
	size_t used, cap;
};

struct scan_needles {
	struct needle *needle;	/* in order, each once, when sealed */
	size_t count, cap;
	size_t own;		/* where those of the last secret begin */
	struct block *blocks;	/* the one with room first */
	char **names;		/* of each secret */
	unsigned secrets, short_secrets;
	bool sorted, bytes;
	size_t least;		/* see scan_needles_least */
	uint64_t pair[65536 / 64];
	size_t first[65536];
	uint64_t quad[QUADS / 64];	/* hashes of four bytes, see scan_needles_run */
};

struct scan_needles *
scan_needles_new(void)
{
	struct scan_needles *needles = calloc(1, sizeof(*needles));

	if (needles != NULL)
		needles->least = SCAN_RUN_MIN;
	return needles;
}

void
scan_needles_free(struct scan_needles *needles)
{
	struct block *block;

	if (needles == NULL)
		return;
	while ((block = needles->blocks) != NULL) {
		needles->blocks = block->next;
		sodium_free(block->bytes);
		free(block);
	}
	while (needles->secrets > 0)
		free(needles->names[--needles->secrets]);
	free(needles->names);
	free(needles->needle);
	free(needles);
}

/* ---- forms ---- */

/* Of this secret; what two secrets have in common goes when they are sealed. */
static bool
known_already(const struct scan_needles *needles, const char *bytes, size_t len)
{
	size_t i;

	for (i = needles->own; i < needles->count; i++)
		if (needles->needle[i].len == len &&
		    sodium_memcmp(needles->needle[i].bytes, bytes, len) == 0)
			return true;
	return false;
}

/* What it takes to put these together where lines cut them: the length of what is
 * one word with two letters in it; of others even a part must do. */
static size_t
least_of(const char *bytes, size_t len)
{
	size_t i, letters = 0;

	for (i = 0; i < len; i++) {
		if (!scan_in_word((uint8_t)bytes[i]) || bytes[i] == '=')
			return SCAN_SECRET_MIN;
		letters += isalpha((uint8_t)bytes[i]) != 0;
	}
	return letters < 2 ? SCAN_SECRET_MIN : len;
}

static char *
room_for(struct scan_needles *needles, size_t len)
{
	struct block *block = needles->blocks;

	if (block == NULL || block->cap - block->used < len) {
		if ((block = calloc(1, sizeof(*block))) == NULL)
			return NULL;
		block->cap = len > BLOCK ? len : BLOCK;
		if ((block->bytes = sodium_malloc(block->cap)) == NULL) {
			free(block);
			return NULL;
		}
		block->next = needles->blocks;
		needles->blocks = block;
	}
	block->used += len;
	return block->bytes + block->used - len;
}

static struct needle *
one_more(struct scan_needles *needles)
{
	size_t cap = needles->cap == 0 ? 256 : 2 * needles->cap;
	struct needle *grown;

	if (needles->count == needles->cap) {
		if (cap > NEEDLES_MAX || (grown = reallocarray(needles->needle,
		    cap, sizeof(*grown))) == NULL)
			return NULL;
		needles->needle = grown;
		needles->cap = cap;
	}
	return &needles->needle[needles->count];
}

/* Of the secret that was named last. */
static int
add(struct scan_needles *needles, const char *form, const char *bytes, size_t len)
{
	struct needle *needle;
	size_t i, least;
	char *room;

	if (len < SCAN_SECRET_MIN || known_already(needles, bytes, len))
		return 0;
	if ((needle = one_more(needles)) == NULL ||
	    (room = room_for(needles, len)) == NULL)
		return -1;
	memcpy(room, bytes, len);
	*needle = (struct needle){ room, len, form, needles->secrets - 1 };
	for (i = 0; i < len; i++)
		needles->bytes |= (uint8_t)bytes[i] >= 0x80;
	least = least_of(bytes, len);
	needles->least = least < needles->least ? least : needles->least;
	needles->count++;
	return 0;
}

/*
 * Base64 of the secret behind k other bytes: only the characters that depend
 * on the secret alone, which are those that any surrounding text would show.
 */
static int
add_base64(struct scan_needles *needles, const uint8_t *value, size_t len,
    char *plain, char *text, size_t cap, bool url)
{
	static const size_t front[3] = { 0, 2, 3 };
	size_t k, end;

	for (k = 0; k < 3; k++) {
		memset(plain, 0, k);
		memcpy(plain + k, value, len);
		sodium_bin2base64(text, cap, (const uint8_t *)plain, k + len, url ?
		    sodium_base64_VARIANT_URLSAFE : sodium_base64_VARIANT_ORIGINAL);
		end = 8 * (k + len) / 6;
		if (end > front[k] && add(needles, url ? "base64url" : "base64",
		    text + front[k], end - front[k]) != 0)
			return -1;
	}
	return 0;
}

static size_t
percent(const uint8_t *value, size_t len, char *out, bool upper)
{
	const char *digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
	size_t i, n = 0;

	for (i = 0; i < len; i++) {
		if (isalnum(value[i]) || (value[i] != '\0' &&
		    strchr("-._~", value[i]) != NULL)) {
			out[n++] = (char)value[i];
			continue;
		}
		out[n++] = '%';
		out[n++] = digits[value[i] >> 4];
		out[n++] = digits[value[i] & 15];
	}
	return n;
}

static size_t
json_escape(const uint8_t *value, size_t len, char *out, bool slash)
{
	static const char from[] = "\"\\\n\r\t\b\f", to[] = "\"\\nrtbf";
	const char *at;
	size_t i, n = 0;

	for (i = 0; i < len; i++) {
		at = value[i] != '\0' ? strchr(from, value[i]) : NULL;
		if (at != NULL || (slash && value[i] == '/')) {
			out[n++] = '\\';
			out[n++] = at != NULL ? to[at - from] : '/';
		} else if (value[i] < 0x20) {
			n += (size_t)sprintf(out + n, "\\u%04x", value[i]);
		} else {
			out[n++] = (char)value[i];
		}
	}
	return n;
}

/* Turned around, and with its letters thirteen further: what a text says that
 * wants to be read by whoever knows how.  Decoded views of those are found, too. */
static int
add_disguised(struct scan_needles *needles, const uint8_t *value, size_t len,
    char *text)
{
	size_t i;

	for (i = 0; i < len; i++)
		text[i] = (char)value[len - 1 - i];
	if (add(needles, "reversed", text, len) != 0)
		return -1;
	for (i = 0; i < len; i++) {
		char c = (char)value[i], a = c >= 'a' && c <= 'z' ? 'a' : 'A';

		text[i] = c >= a && c <= a + 25 ? (char)(a + (c - a + 13) % 26) : c;
	}
	return add(needles, "rot13", text, len);
}

static int
add_forms(struct scan_needles *needles, const uint8_t *value, size_t len,
    char *plain, char *text, size_t cap)
{
	size_t i;

	if (add(needles, "raw", (const char *)value, len) != 0 ||
	    add_base64(needles, value, len, plain, text, cap, false) != 0 ||
	    add_base64(needles, value, len, plain, text, cap, true) != 0)
		return -1;
	sodium_bin2hex(text, cap, value, len);
	if (add(needles, "hex", text, 2 * len) != 0)
		return -1;
	for (i = 0; i < 2 * len; i++)
		text[i] = (char)toupper((unsigned char)text[i]);
	if (add(needles, "hex", text, 2 * len) != 0 ||
	    add(needles, "percent", text, percent(value, len, text, true)) != 0 ||
	    add(needles, "percent", text, percent(value, len, text, false)) != 0 ||
	    add(needles, "json", text, json_escape(value, len, text, false)) != 0)
		return -1;
	if (add(needles, "json", text, json_escape(value, len, text, true)) != 0)
		return -1;
	return add_disguised(needles, value, len, text);
}

/* A copy that lives as long as the needles: findings point to it. */
static int
keep_name(struct scan_needles *needles, const char *name)
{
	char **names = reallocarray(needles->names, needles->secrets + 1,
	    sizeof(*names));

	if (names == NULL)
		return -1;
	needles->names = names;
	if ((names[needles->secrets] = strdup(name)) == NULL)
		return -1;
	needles->secrets++;
	needles->own = needles->count;
	return 0;
}

/* A secret of several lines may be printed with other line ends, or on one. */
static int
add_lines(struct scan_needles *needles, const uint8_t *value, size_t len,
    char *out)
{
	static const char *const ends[] = { "\r\n", " ", "" };
	size_t i, k, n;

	if (memchr(value, '\n', len) == NULL)
		return 0;
	for (k = 0; k < sizeof(ends) / sizeof(ends[0]); k++) {
		for (i = n = 0; i < len; i++) {
			if (value[i] == '\r')
				continue;
			if (value[i] != '\n') {
				out[n++] = (char)value[i];
				continue;
			}
			memcpy(out + n, ends[k], strlen(ends[k]));
			n += strlen(ends[k]);
		}
		while (n > 0 && isspace((unsigned char)out[n - 1]))
			n--;
		if (add(needles, "raw", out, n) != 0)
			return -1;
	}
	return 0;
}

static int
add_value(struct scan_needles *needles, const uint8_t *value, size_t len)
{
	size_t cap = 6 * len + 16;
	char *work;
	int result;

	if (len < SCAN_SECRET_MIN)
		return 0;
	if ((work = sodium_malloc(2 * cap)) == NULL)
		return -1;
	result = add_forms(needles, value, len, work, work + cap, cap);
	if (result == 0)
		result = add_lines(needles, value, len, work);
	sodium_free(work);
	return result;
}

/* Of a secret that is JSON, each text in it is one. */
static int
add_leaves(struct scan_needles *needles, const json_t *value, unsigned depth)
{
	const char *key;
	json_t *item;
	size_t i;
	int rc = 0;

	if (depth > LEAVES_DEPTH)
		return 0;
	if (json_is_string(value))
		return add_value(needles, (const uint8_t *)json_string_value(value),
		    json_string_length(value));
	if (json_is_array(value))
		json_array_foreach(value, i, item)
			rc |= add_leaves(needles, item, depth + 1);
	if (json_is_object(value))
		json_object_foreach((json_t *)value, key, item)
			rc |= add_leaves(needles, item, depth + 1);
	return rc;
}

int
scan_needles_add(struct scan_needles *needles, const char *name,
    const uint8_t *value, size_t len)
{
	json_t *json;
	int result;

	if (len < SCAN_SECRET_MIN) {
		needles->short_secrets++;
		return 0;
	}
	if (len > 65536 || keep_name(needles, name) != 0)
		return -1;
	needles->sorted = false;
	result = add_value(needles, value, len);
	if (result != 0 || *value != '{')
		return result;
	json = json_loadb((const char *)value, len, 0, NULL);
	result = json == NULL ? 0 : add_leaves(needles, json, 0);
	json_decref(json);
	return result;
}

static unsigned
pair_of(const char *bytes)
{
	return (unsigned)(uint8_t)bytes[0] << 8 | (uint8_t)bytes[1];
}

/* By the first two bytes, which are looked up; the rest so that equal ones stand
 * together, the one of the earliest secret first. */
static int
in_order(const void *a, const void *b)
{
	const struct needle *x = a, *y = b;
	int c = (int)pair_of(x->bytes) - (int)pair_of(y->bytes);

	if (c == 0 && x->len != y->len)
		c = x->len < y->len ? -1 : 1;
	if (c == 0)
		c = sodium_compare((const uint8_t *)x->bytes,
		    (const uint8_t *)y->bytes, x->len);
	return c != 0 ? c : (x->of > y->of) - (x->of < y->of);
}

static void
drop_repeated(struct scan_needles *needles)
{
	const struct needle *last;
	size_t i, n = 1;

	for (i = 1; i < needles->count; i++) {
		last = &needles->needle[n - 1];
		if (last->len != needles->needle[i].len || sodium_memcmp(
		    last->bytes, needles->needle[i].bytes, last->len) != 0)
			needles->needle[n++] = needles->needle[i];
	}
	needles->count = n;
}

static uint32_t
quad_of(const void *bytes)
{
	uint32_t quad;

	memcpy(&quad, bytes, sizeof(quad));
	return quad * UINT32_C(0x9e3779b1) >> 16;
}

static void
add_quads(struct scan_needles *needles, const struct needle *needle)
{
	uint32_t hash;
	unsigned i;

	for (i = 0; i < STRIDE; i++) {
		hash = quad_of(needle->bytes + i);
		needles->quad[hash / 64] |= UINT64_C(1) << hash % 64;
	}
}

static void
seal(struct scan_needles *needles)
{
	unsigned pair;
	size_t i;

	if (needles->sorted)
		return;
	if (needles->count > 1) {
		qsort(needles->needle, needles->count, sizeof(*needles->needle), in_order);
		drop_repeated(needles);
	}
	memset(needles->pair, 0, sizeof(needles->pair));
	memset(needles->quad, 0, sizeof(needles->quad));
	for (i = needles->count; i-- > 0;) {
		add_quads(needles, &needles->needle[i]);
		pair = pair_of(needles->needle[i].bytes);
		needles->pair[pair / 64] |= UINT64_C(1) << pair % 64;
		needles->first[pair] = i;
	}
	needles->sorted = true;
}

/* ---- looking ---- */

unsigned
scan_needles_count(const struct scan_needles *needles)
{
	return needles->secrets;
}

unsigned
scan_needles_short(const struct scan_needles *needles)
{
	return needles->short_secrets;
}

/* The longest of those that stand at p, which begin with this pair. */
static const struct needle *
standing(const struct scan_needles *needles, unsigned pair, const uint8_t *p,
    size_t len)
{
	const struct needle *needle, *best = NULL;
	size_t i;

	for (i = needles->first[pair]; i < needles->count &&
	    pair_of(needles->needle[i].bytes) == pair; i++) {
		needle = &needles->needle[i];
		if (needle->len <= len && (best == NULL || needle->len > best->len) &&
		    memcmp(p, needle->bytes, needle->len) == 0)
			best = needle;
	}
	return best;
}

bool
scan_needles_bytes(const struct scan_needles *needles)
{
	return needles->bytes;
}

size_t
scan_needles_least(const struct scan_needles *needles)
{
	return needles->least;
}

/*
 * Every needle holds, within its first seven bytes, the four at a place that is
 * divisible by STRIDE, however it lies: only these are looked up, and where one
 * is known, the STRIDE starts that it may belong to.
 */
void
scan_needles_run(struct scan_needles *needles, const uint8_t *text,
    size_t len, void (*found)(void *context, size_t at, size_t len,
    const char *name, const char *form), void *context)
{
	const struct needle *needle;
	size_t at, start, floor = 0;
	unsigned pair;
	uint32_t hash;

	_Static_assert(SCAN_SECRET_MIN >= 2 * STRIDE - 1, "four bytes at any place");
	seal(needles);
	for (at = 0; needles->count > 0 && at + STRIDE <= len; at += STRIDE) {
		hash = quad_of(text + at);
		if ((needles->quad[hash / 64] >> hash % 64 & 1) == 0)
			continue;
		for (start = at < STRIDE ? 0 : at - STRIDE + 1; start <= at; start++) {
			pair = (unsigned)text[start] << 8 | text[start + 1];
			if (start < floor || (needles->pair[pair / 64] >> pair % 64 & 1) == 0)
				continue;
			needle = standing(needles, pair, text + start, len - start);
			if (needle == NULL)
				continue;
			found(context, start, needle->len, needles->names[needle->of],
			    needle->form);
			floor = start + needle->len;
		}
	}
}
