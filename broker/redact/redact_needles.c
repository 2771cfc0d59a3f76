#include "redact/redact_needles.h"
#include "secret.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>

/*
 * One block of locked memory holds it all: the struct, the items, the secrets'
 * bytes.  secret_memory_new puts its end at a page's end, so sizes are
 * kept to multiples of the alignment.
 */
#define ALIGN 16
#define SECRET_BYTES_MAX (1u << 24)
#define TWICE_BYTES_MAX (1u << 14)	/* of a secret that is looked for in base64 in base64 */
#define ITEMS_MAX 8	/* the secret, with its user; in base64, three times in each alphabet */
#define USER_MAX 1024
#define EVERY_FORM ((1u << REDACT_FORMS) - 1)
#define BASE64_FORMS (7u << REDACT_BASE64)
/* What chance does not write, however short the secret. */
#define SHORT_FORMS (1u << REDACT_TEXT | 1u << REDACT_UTF16)

static size_t
aligned(size_t n)
{
	return (n + ALIGN - 1) / ALIGN * ALIGN;
}

static struct redact_needles *
allocate(size_t bytes, uint8_t **secrets)
{
	size_t items = aligned(sizeof(struct redact_needles));
	size_t raw = items + aligned(ITEMS_MAX * sizeof(struct redact_item));
	char *block = secret_memory_new(raw + aligned(bytes));
	struct redact_needles *needles = (struct redact_needles *)(void *)block;

	if (block == NULL)
		return NULL;
	memset(block, 0, raw);
	atomic_init(&needles->refs, 1);
	needles->items = (struct redact_item *)(void *)(block + items);
	*secrets = (uint8_t *)block + raw;
	return needles;
}

/* user: written before the secret, with a colon; or NULL. */
static uint8_t *
add_item(struct redact_needles *needles, const char *user,
    struct slice secret, unsigned forms, uint8_t *to)
{
	struct redact_item *item = &needles->items[needles->n_items++];
	uint8_t *p = to;

	if (user != NULL) {
		memcpy(p, user, strlen(user));
		p += strlen(user);
		*p++ = ':';
	}
	memcpy(p, secret.p, secret.n);
	p += secret.n;
	*item = (struct redact_item){ to, (uint32_t)(p - to), (uint16_t)forms, 0 };
	return p;
}

/* ---- base64 of base64 ---- */

/* Bytes of room for all of it. */
static size_t
twice_bytes(size_t n)
{
	return n < REDACT_WHOLE || n > TWICE_BYTES_MAX ? 0 : 6 * (n * 8 / 6 + 1);
}

/* The digits of base64 that all of their bits tell, behind so many bytes of
 * something else. */
static uint8_t *
encode(struct slice secret, size_t lead, const char *digits, uint8_t *to)
{
	for (size_t bit = (8 * lead + 5) / 6 * 6 - 8 * lead; bit + 6 <= 8 * secret.n; bit += 6) {
		size_t byte = bit / 8;
		unsigned low = byte + 1 < secret.n ? (unsigned char)secret.p[byte + 1] : 0;
		unsigned both = (unsigned)(unsigned char)secret.p[byte] << 8 | low;
		*to++ = (uint8_t)digits[both >> (10 - bit % 8) & 63];
	}
	return to;
}

/* In both alphabets, where they make a difference.  What is found so are the digits
 * that hold the secret's bits alone: of its first and last byte up to four each stay
 * with their neighbours'. */
static void
add_twice(struct redact_needles *needles, struct slice secret, uint8_t **to)
{
	static const char *const alphabets[] = {
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_" };

	if (twice_bytes(secret.n) == 0)
		return;
	for (size_t lead = 0; lead < 3; lead++) {
		const uint8_t *first = *to;
		size_t first_len = 0;
		for (size_t k = 0; k < 2; k++) {
			uint8_t *end = encode(secret, lead, alphabets[k], *to);
			size_t len = (size_t)(end - *to);
			if (k > 0 && memcmp(first, *to, first_len) == 0)
				continue;
			first_len = len;
			needles->items[needles->n_items++] = (struct redact_item){ *to,
			    (uint32_t)len, BASE64_FORMS, (uint8_t)(lead + 1) };
			*to = end;
		}
	}
}

static void
add_secret(struct redact_needles *needles, struct slice secret,
    const char *user, uint8_t **to)
{
	unsigned forms = secret.n >= REDACT_WHOLE ? EVERY_FORM : SHORT_FORMS;

	for (size_t i = 0; i < secret.n; i++)
		if ((unsigned char)secret.p[i] > 127)
			forms &= ~(1u << REDACT_UTF16);	/* other units than bytes and NULs */
	*to = add_item(needles, NULL, secret, forms, *to);
	if (secret.n < REDACT_WHOLE && user != NULL)
		*to = add_item(needles, user, secret, BASE64_FORMS, *to);
	needles->n_once = needles->n_items;
	add_twice(needles, secret, to);
}

/* --- the first bytes of every form, by trying them -------------------------- */

#define PLACES_MAX 512

struct places {
	struct redact_at at[PLACES_MAX];
	size_t n;
	bool full;	/* there were more: any byte may follow */
};

static bool
same_place(const struct redact_at *a, const struct redact_at *b)
{
	return a->element == b->element && a->escape == b->escape &&
	    a->zeros == b->zeros && a->fillers == b->fillers;
}

static void
add_place(struct places *places, const struct redact_at *at)
{
	for (size_t i = 0; i < places->n; i++)
		if (same_place(&places->at[i], at))
			return;
	if (places->n < PLACES_MAX)
		places->at[places->n++] = *at;
	else
		places->full = true;
}

/* The way to begin of a reader that has read c, its first byte. */
static unsigned
begin_of(const struct redact_item *item, const struct redact_at *at, unsigned c)
{
	if (item->twice != 0)
		return REDACT_TWICE + 3 * (item->twice - 1u) + at->form - REDACT_BASE64;
	if (at->form != REDACT_TEXT || at->escape == NULL)
		return at->form;
	return c == '%' ? REDACT_BY_PERCENT : REDACT_BY_ESCAPE;
}

/* Byte k of what begins in one way: from one place that k bytes may have led to. */
static void
try_place(struct redact_needles *needles, unsigned begin, size_t k,
    const struct redact_at *at, struct places *to)
{
	REDACT_WAYS_UNSET struct redact_at ways[REDACT_WAYS_MAX];
	uint8_t bytes[256];
	size_t n_bytes = redact_form_candidates(at, bytes), n;

	for (size_t i = 0; i < n_bytes; i++) {
		n = redact_form_step(&needles->items[at->item], at, bytes[i], ways);
		for (size_t w = 0; w < n; w++)
			if (k > 0 || begin_of(&needles->items[at->item], &ways[w], bytes[i]) == begin) {
				needles->may[k][bytes[i]] |= 1u << begin;
				add_place(to, &ways[w]);
			}
	}
}

static void
try_byte(struct redact_needles *needles, unsigned begin, size_t k,
    const struct places *from, struct places *to)
{
	to->n = 0;
	to->full = from->full;
	for (size_t i = 0; i < from->n; i++)
		try_place(needles, begin, k, &from->at[i], to);
	for (unsigned c = 0; from->full && c < 256; c++)
		needles->may[k][c] |= 1u << begin;
}

static int
find_starts(struct redact_needles *needles)
{
	struct places *places = calloc(2, sizeof(*places));

	if (places == NULL)
		return -1;
	for (uint16_t i = 0; i < needles->n_items; i++)
		for (unsigned begin = 0; begin < REDACT_BEGINS; begin++) {
			unsigned form = redact_form_of(&needles->items[i], begin);
			if (!(needles->items[i].forms >> form & 1))
				continue;
			places[0].at[0] = (struct redact_at){ .item = i, .form = (uint8_t)form };
			places[0].n = 1;
			places[0].full = false;
			for (size_t k = 0; k < REDACT_LOOK; k++)
				try_byte(needles, begin, k, &places[k % 2],
				    &places[(k + 1) % 2]);
		}
	sodium_memzero(places, 2 * sizeof(*places));
	free(places);
	return 0;
}

/* The shortest find, and the longest spelling of what is held back whole. */
static void
measure(struct redact_needles *needles)
{
	needles->min = SIZE_MAX;
	needles->readers = 160 + 16 * (size_t)needles->n_items;
	for (uint32_t i = 0; i < needles->n_items; i++) {
		const struct redact_item *item = &needles->items[i];
		size_t whole = item->n < REDACT_COMMIT + 3 ? item->n :
		    REDACT_COMMIT + 3;
		size_t hold = (whole * 8 / 6 + 2) * (2 * REDACT_ESCAPE_MAX);
		if (item->n < needles->min)
			needles->min = item->n;
		if (hold > needles->hold)
			needles->hold = hold;
	}
}

struct redact_needles *
redact_needles_new(struct slice secret, const char *user)
{
	struct redact_needles *needles;
	size_t user_len = user != NULL ? strlen(user) + 1 : 0;
	uint8_t *to;

	errno = EINVAL;
	if (user_len > USER_MAX || secret.n < REDACT_MIN || secret.n > SECRET_BYTES_MAX)
		return NULL;
	redact_form_init();
	needles = allocate(2 * secret.n + user_len + twice_bytes(secret.n), &to);
	if (needles == NULL)
		return NULL;
	add_secret(needles, secret, user, &to);
	if (find_starts(needles) == -1) {
		secret_memory_free(needles);
		return NULL;
	}
	measure(needles);
	return needles;
}

struct redact_needles *
redact_needles_ref(struct redact_needles *needles)
{
	atomic_fetch_add_explicit(&needles->refs, 1, memory_order_relaxed);
	return needles;
}

void
redact_needles_unref(struct redact_needles *needles)
{
	if (needles != NULL && atomic_fetch_sub_explicit(&needles->refs, 1,
	    memory_order_acq_rel) == 1)
		secret_memory_free(needles);	/* which wipes */
}
