#include "gate/sieve.h"

#include <endian.h>
#include <stdint.h>
#include <stdlib.h>

#include <sodium.h>

/*
 * Only every STRIDE-th place of a text is looked at.  So that no needle is missed,
 * each has STRIDE entries: windows that end at its end, and one, two and three bytes
 * before it, of which exactly one ends at such a place.  SIEVE_MIN bytes have room
 * for them all.
 */
#define STRIDE 4
#define WINDOW 5
_Static_assert(WINDOW + STRIDE - 1 <= SIEVE_MIN, "windows lie in the needle");
_Static_assert(SIEVE_MIN == sizeof(uint64_t), "one load has a window");

#define FILTER_BITS 15	/* 4 KiB: one in eight passes it for 1,000 needles */

struct entry {
	uint64_t hash;
	size_t index;
	size_t behind;		/* bytes of the needle behind the window */
	struct slice needle;
};

struct sieve {
	uint64_t add, multiply;	/* the key */
	size_t n;
	struct entry *entries;	/* sorted by hash; in the same allocation */
	uint64_t filter[1 << (FILTER_BITS - 6)];
};

/* Of the window that ends with these eight bytes. */
static uint64_t
hash_of(const struct sieve *sieve, const char *eight)
{
	uint64_t x;

	memcpy(&x, eight, sizeof(x));
	x = le64toh(x) >> 8 * (sizeof(x) - WINDOW);
	return (x ^ sieve->add) * sieve->multiply;
}

/* The same, of a window that has nothing before it. */
static uint64_t
hash_of_window(const struct sieve *sieve, const char *window)
{
	char eight[sizeof(uint64_t)] = { 0 };
	uint64_t hash;

	memcpy(eight + sizeof(eight) - WINDOW, window, WINDOW);
	hash = hash_of(sieve, eight);
	sodium_memzero(eight, sizeof(eight));
	return hash;
}

/* The upper bits of a product are its best ones. */
static size_t
bit_of(uint64_t hash)
{
	return (size_t)(hash >> (64 - FILTER_BITS));
}

static bool
may_hold(const uint64_t *filter, uint64_t hash)
{
	return filter[bit_of(hash) / 64] >> (bit_of(hash) % 64) & 1;
}

static int
order(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static void
enter(struct sieve *sieve, size_t index, struct slice needle)
{
	for (size_t behind = 0; behind < STRIDE; behind++) {
		uint64_t hash = hash_of_window(sieve,
		    needle.p + needle.n - behind - WINDOW);

		sieve->entries[sieve->n++] = (struct entry){ hash, index,
		    behind, needle };
		sieve->filter[bit_of(hash) / 64] |=
		    UINT64_C(1) << (bit_of(hash) % 64);
	}
}

struct sieve *
sieve_new(const struct slice *needles, size_t n)
{
	struct sieve *sieve;
	size_t size;

	/* A multiple of 16 keeps sodium_malloc's pointer aligned. */
	size = (sizeof(*sieve) + n * STRIDE * sizeof(struct entry) + 15) &
	    ~(size_t)15;
	sieve = sodium_malloc(size);
	if (sieve == NULL)
		return NULL;
	sodium_memzero(sieve, size);
	sieve->entries = (struct entry *)(sieve + 1);
	randombytes_buf(&sieve->add, sizeof(sieve->add));
	randombytes_buf(&sieve->multiply, sizeof(sieve->multiply));
	sieve->multiply |= 1;
	for (size_t i = 0; i < n; i++)
		if (needles[i].n >= SIEVE_MIN)
			enter(sieve, i, needles[i]);
	qsort(sieve->entries, sieve->n, sizeof(struct entry), order);
	return sieve;
}

void
sieve_free(struct sieve *sieve)
{
	sodium_free(sieve);	/* wipes */
}

static size_t
first_of(const struct sieve *sieve, uint64_t hash)
{
	size_t low = 0, high = sieve->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (sieve->entries[mid].hash < hash)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The window that ends at `at` passed the filter: which needles is it of? */
static void
confirm(const struct sieve *sieve, struct slice text, size_t at,
    uint64_t hash, void (*found)(void *, size_t), void *arg)
{
	for (size_t i = first_of(sieve, hash);
	    i < sieve->n && sieve->entries[i].hash == hash; i++) {
		const struct entry *entry = &sieve->entries[i];
		size_t end = at + entry->behind;

		if (end <= text.n && entry->needle.n <= end &&
		    sodium_memcmp(text.p + end - entry->needle.n,
		    entry->needle.p, entry->needle.n) == 0)
			found(arg, entry->index);
	}
}

void
sieve_scan(const struct sieve *sieve, struct slice text,
    void (*found)(void *arg, size_t needle), void *arg)
{
	if (sieve == NULL || sieve->n == 0)
		return;
	for (size_t at = SIEVE_MIN; at <= text.n; at += STRIDE) {
		uint64_t hash = hash_of(sieve, text.p + at - SIEVE_MIN);

		if (may_hold(sieve->filter, hash))
			confirm(sieve, text, at, hash, found, arg);
	}
}

static void
note(void *arg, size_t needle)
{
	*(bool *)arg = true;
}

bool
sieve_finds(const struct sieve *sieve, struct slice text)
{
	bool found = false;

	sieve_scan(sieve, text, note, &found);
	return found;
}
