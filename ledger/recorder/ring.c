#include "ledger/recorder/ring.h"

#include <assert.h>
#include <string.h>

void
ring_init(struct ring *ring, struct ring_shared *shared, uint8_t *data,
    uint64_t cap)
{
	assert(cap != 0 && (cap & (cap - 1)) == 0);
	*ring = (struct ring){ .shared = shared, .data = data, .cap = cap };
}

/* The other side's position is read again only when the last one is not
 * enough: it lies on a cache line that the other side writes. */
bool
ring_has_room(struct ring *ring, uint64_t len)
{
	if (len > ring->cap)
		return false;
	if (ring->at - ring->other <= ring->cap - len)
		return true;
	ring->other = atomic_load_explicit(&ring->shared->tail,
	    memory_order_acquire);
	/* A tail that cannot be makes the distance huge: no room. */
	return ring->at - ring->other <= ring->cap - len;
}

void
ring_put(struct ring *ring, const void *bytes, size_t len)
{
	size_t at = (size_t)(ring->at & (ring->cap - 1));
	size_t first = (size_t)ring->cap - at;

	if (len == 0)
		return;
	if (first > len)
		first = len;
	memcpy(ring->data + at, bytes, first);
	if (first < len)
		memcpy(ring->data, (const uint8_t *)bytes + first, len - first);
	ring->at += len;
}

void
ring_publish(struct ring *ring)
{
	atomic_store_explicit(&ring->shared->head, ring->at,
	    memory_order_release);
}

bool
ring_filled(struct ring *ring, uint64_t *len)
{
	if (ring->other == ring->at)
		ring->other = atomic_load_explicit(&ring->shared->head,
		    memory_order_acquire);
	*len = ring->other - ring->at;
	return *len <= ring->cap;
}

void
ring_take(struct ring *ring, void *out, size_t len)
{
	size_t at = (size_t)(ring->at & (ring->cap - 1));
	size_t first = (size_t)ring->cap - at;

	if (len == 0)
		return;
	if (first > len)
		first = len;
	memcpy(out, ring->data + at, first);
	if (first < len)
		memcpy((uint8_t *)out + first, ring->data, len - first);
	ring->at += len;
}

void
ring_release(struct ring *ring)
{
	atomic_store_explicit(&ring->shared->tail, ring->at,
	    memory_order_release);
}
