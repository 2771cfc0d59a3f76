/*
 * A queue of bytes with a declared cap: filled at the end, taken from the
 * front, no memory while empty, wiped whenever bytes are given up.
 */
#ifndef BROKER_BUF_H
#define BROKER_BUF_H

#include "slice.h"

struct buf {
	char *p;
	size_t off, len;	/* the bytes are p[off .. off + len) */
	size_t cap;
};

/* Room for n more bytes while the whole stays within max.  Moves the bytes.
 * NULL where that cannot be had. */
char *buf_reserve(struct buf *buf, size_t n, size_t max);
void buf_commit(struct buf *buf, size_t n);	/* n of the room was written */

/* 0, or -1 as buf_reserve. */
int buf_add(struct buf *buf, struct slice bytes, size_t max);

static inline struct slice
buf_slice(const struct buf *buf)
{
	return (struct slice){ buf->p + buf->off, buf->len };
}

void buf_take(struct buf *buf, size_t n);	/* n bytes from the front are done */
void buf_free(struct buf *buf);			/* empty again, wiped */

#endif
