#include "plane/redact_needles.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>

/*
 * One block of locked memory holds it all: the struct, the items, the starts,
 * the secrets' bytes.  sodium_malloc puts its end at a page's end, so sizes are
 * kept to multiples of the alignment.
 */
#define ALIGN 16
#define SECRETS_MAX 1024
#define SECRET_BYTES_MAX (1u << 24)
#define USER_MAX 1024
#define EVERY_FORM ((1u << REDACT_FORMS) - 1)
#define BASE64_FORMS (7u << REDACT_BASE64)

static size_t
aligned(size_t n)
{
	return (n + ALIGN - 1) / ALIGN * ALIGN;
}

/* So many (form, first byte) pairs an item has at most: 6 raw or escaped, 2 hex
 * digits, and of base64 1, 4 and 16 values in two alphabets or escaped. */
#define STARTS_PER_ITEM 64

static struct redact_needles *
allocate(size_t n_items, size_t bytes, uint8_t **secrets)
{
	size_t items = aligned(sizeof(struct redact_needles));
	size_t starts = items + aligned(n_items * sizeof(struct redact_item));
	size_t raw = starts + aligned(n_items * STARTS_PER_ITEM *
	    sizeof(struct redact_start));
	char *block = sodium_malloc(raw + aligned(bytes));
	struct redact_needles *needles = (struct redact_needles *)(void *)block;

	if (block == NULL)
		return NULL;
	memset(block, 0, raw);
	atomic_init(&needles->refs, 1);
	needles->items = (struct redact_item *)(void *)(block + items);
	needles->starts = (struct redact_start *)(void *)(block + starts);
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
	*item = (struct redact_item){ to, (uint32_t)(p - to), (uint8_t)forms };
	return p;
}

static void
add_secret(struct redact_needles *needles, struct slice secret,
    const char *user, uint8_t **to)
{
	if (secret.n >= REDACT_WHOLE) {
		*to = add_item(needles, NULL, secret, EVERY_FORM, *to);
		return;
	}
	*to = add_item(needles, NULL, secret, 1u << REDACT_TEXT, *to);
	if (user != NULL)
		*to = add_item(needles, user, secret, BASE64_FORMS, *to);
}

/* Every first byte of every form, and every second one, by trying them. */
static void
try_first(struct redact_needles *needles, uint16_t i, uint8_t form, uint8_t c,
    uint32_t *n_starts)
{
	struct redact_at begin = { .item = i, .form = form };
	struct redact_at ways[REDACT_WAYS_MAX];
	const struct redact_item *item = &needles->items[i];
	size_t n = redact_form_step(item, &begin, c, ways);

	if (n == 0)
		return;
	assert(*n_starts < needles->n_items * STARTS_PER_ITEM);
	needles->starts[(*n_starts)++] = (struct redact_start){ i, form };
	for (size_t k = 0; k < n; k++)
		for (unsigned d = 0; d < 256; d++)
			if (redact_form_goes_on(item, &ways[k], (uint8_t)d)) {
				needles->pairs[(c | d << 8) >> 6] |=
				    UINT64_C(1) << (c & 63);
				needles->as_first[c] |= (uint8_t)(1u << form);
				needles->as_second[d] |= (uint8_t)(1u << form);
			}
}

static void
find_starts(struct redact_needles *needles)
{
	uint32_t n = 0;

	for (unsigned c = 0; c < 256; c++) {
		needles->first[c] = n;
		for (uint32_t i = 0; i < needles->n_items; i++)
			for (uint8_t f = 0; f < REDACT_FORMS; f++)
				if (needles->items[i].forms >> f & 1)
					try_first(needles, (uint16_t)i, f,
					    (uint8_t)c, &n);
	}
	needles->first[256] = n;
}

/* The shortest find, and the longest spelling of what is held back whole. */
static void
measure(struct redact_needles *needles)
{
	needles->min = SIZE_MAX;
	needles->readers = 128 + 16 * (size_t)needles->n_items;
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
redact_needles_many(const struct slice *secrets, size_t n, const char *user)
{
	struct redact_needles *needles;
	size_t bytes = 0, user_len = user != NULL ? strlen(user) + 1 : 0;
	uint8_t *to;

	errno = EINVAL;
	if (n == 0 || n > SECRETS_MAX || user_len > USER_MAX)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		if (secrets[i].n < REDACT_MIN || secrets[i].n > SECRET_BYTES_MAX)
			return NULL;
		bytes += 2 * secrets[i].n + user_len;
	}
	redact_form_init();
	needles = allocate(2 * n, bytes, &to);
	if (needles == NULL)
		return NULL;
	for (size_t i = 0; i < n; i++)
		add_secret(needles, secrets[i], user, &to);
	find_starts(needles);
	measure(needles);
	return needles;
}

struct redact_needles *
redact_needles_new(struct slice secret, const char *user)
{
	return redact_needles_many(&secret, 1, user);
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
		sodium_free(needles);	/* which wipes */
}
