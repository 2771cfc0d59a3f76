/*
 * A ring of bytes in shared memory for one writer and one reader, which may be
 * two processes that do not trust each other.
 *
 * Positions count bytes since the beginning and never wrap; each side keeps its
 * own in private memory and only publishes it.  What the other side publishes
 * is believed no further than that: a position that cannot be is an error, and
 * bytes are copied out once before anybody looks at them.
 *
 * A message becomes visible as a whole: written in pieces, then published.
 */
#ifndef LEDGER_RECORDER_RING_H
#define LEDGER_RECORDER_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The shared part, all zero at first.  The two sides write on lines apart. */
struct ring_shared {
	_Alignas(64) _Atomic uint64_t head;	/* the writer's */
	_Alignas(64) _Atomic uint64_t tail;	/* the reader's */
};

/* One side's end: private memory. */
struct ring {
	struct ring_shared *shared;
	uint8_t *data;		/* cap bytes, shared */
	uint64_t cap;		/* a power of two */
	uint64_t at;		/* this side's position, published or not */
	uint64_t other;		/* the other side's as last read */
};

void ring_init(struct ring *ring, struct ring_shared *shared, uint8_t *data,
    uint64_t cap);

/* Writer: true where len more bytes fit now. */
bool ring_has_room(struct ring *ring, uint64_t len);
/* Writer: add bytes (room was asked for), then show all that was added. */
void ring_put(struct ring *ring, const void *bytes, size_t len);
void ring_publish(struct ring *ring);

/* Reader: *len bytes are there; false where the writer's position cannot be. */
bool ring_filled(struct ring *ring, uint64_t *len);
/* Reader: copy len bytes that are there, and pass them; then give back the
 * room of all that was passed. */
void ring_take(struct ring *ring, void *out, size_t len);
void ring_release(struct ring *ring);

#endif
