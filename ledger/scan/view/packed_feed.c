/* Unpacking, piece by piece. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "ledger/scan/view/packed_impl.h"

#define OUT_LEN (64 * 1024)

struct scan_packed_pool {
	struct scan_packed *kept[SCAN_CODECS];
};

struct scan_packed {
	const struct scan_codec *codec;
	void *state;
	struct scan_packed_pool *pool;
	int (*sink)(void *context, const uint8_t *bytes, size_t len);
	void *context;
	uint64_t made;
	size_t wet;		/* bytes of out that were ever written */
	uint8_t out[OUT_LEN];	/* not cleared: most of what begins like a stream is none */
};

struct scan_packed_pool *
scan_packed_pool_new(void)
{
	return calloc(1, sizeof(struct scan_packed_pool));
}

static void
release(struct scan_packed *packed)
{
	packed->codec->close(packed->state);
	free(packed);
}

void
scan_packed_pool_free(struct scan_packed_pool *pool)
{
	unsigned i;

	for (i = 0; pool != NULL && i < SCAN_CODECS; i++)
		if (pool->kept[i] != NULL)
			release(pool->kept[i]);
	free(pool);
}

static struct scan_packed *
open_new(const struct scan_codec *codec)
{
	struct scan_packed *packed = malloc(sizeof(*packed));

	if (packed == NULL)
		return NULL;
	packed->codec = codec;
	packed->state = codec->open();
	if (packed->state != NULL)
		return packed;
	free(packed);
	return NULL;
}

struct scan_packed *
scan_packed_new(struct scan_packed_pool *pool, const struct scan_packed_kind *kind,
    int (*sink)(void *context, const uint8_t *bytes, size_t len), void *context)
{
	const unsigned which = scan_codec_of((enum scan_packing)kind->how);
	struct scan_packed *packed;

	if (pool != NULL && pool->kept[which] != NULL) {
		packed = pool->kept[which];
		pool->kept[which] = NULL;
	} else if ((packed = open_new(&scan_codecs[which])) == NULL)
		return NULL;
	packed->pool = pool;
	packed->sink = sink;
	packed->context = context;
	packed->made = packed->wet = 0;
	if (packed->codec->begin(packed->state, (enum scan_packing)kind->how))
		return packed;
	release(packed);
	return NULL;
}

void
scan_packed_free(struct scan_packed *packed)
{
	struct scan_packed **kept;

	if (packed == NULL)
		return;
	sodium_memzero(packed->out, packed->wet);
	kept = packed->pool == NULL ? NULL : &packed->pool->kept[packed->codec - scan_codecs];
	if (kept != NULL && *kept == NULL)
		*kept = packed;
	else
		release(packed);
}

uint64_t
scan_packed_made(const struct scan_packed *packed)
{
	return packed->made;
}

static int
give(struct scan_packed *packed, size_t len)
{
	packed->made += len;
	packed->wet = len > packed->wet ? len : packed->wet;
	return len == 0 ? 0 : packed->sink(packed->context, packed->out, len);
}

enum scan_packed_state
scan_packed_feed(struct scan_packed *packed, const uint8_t *bytes, size_t len,
    size_t *used)
{
	enum scan_packed_state state;
	struct scan_step step;

	*used = 0;
	if (len == 0)
		return SCAN_PACKED_MORE;
	do {
		step = (struct scan_step){ bytes + *used, len - *used, 0, packed->out, OUT_LEN, 0 };
		state = packed->codec->step(packed->state, &step);
		*used += step.used;
		if (state == SCAN_PACKED_MORE && *used < len && step.used == 0 && step.made == 0)
			return SCAN_PACKED_BROKEN;
		if (give(packed, step.made) != 0)
			return SCAN_PACKED_STOPPED;
	} while (state == SCAN_PACKED_MORE && (*used < len || step.made == OUT_LEN));
	return state;
}
