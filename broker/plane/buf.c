#include "plane/buf.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>

#define BUF_LEAST 1024	/* the largest size that malloc keeps a list for */

static void
move_to_front(struct buf *buf)
{
	if (buf->off == 0)
		return;
	memmove(buf->p, buf->p + buf->off, buf->len);
	sodium_memzero(buf->p + buf->len, buf->off);
	buf->off = 0;
}

/* Not realloc: it would leave a copy behind. */
static int
grow(struct buf *buf, size_t need)
{
	size_t cap = buf->cap < BUF_LEAST ? BUF_LEAST : buf->cap;
	char *p;

	while (cap < need)
		cap *= 2;
	p = malloc(cap);
	if (p == NULL)
		return -1;
	if (buf->p != NULL) {
		memcpy(p, buf->p + buf->off, buf->len);
		sodium_memzero(buf->p, buf->off + buf->len);
		free(buf->p);
	}
	buf->p = p;
	buf->off = 0;
	buf->cap = cap;
	return 0;
}

char *
buf_reserve(struct buf *buf, size_t n, size_t max)
{
	if (buf->len > max || n > max - buf->len)
		return NULL;
	if (buf->cap - buf->off - buf->len >= n && buf->p != NULL)
		return buf->p + buf->off + buf->len;
	if (buf->len + n <= buf->cap && buf->p != NULL)
		move_to_front(buf);
	else if (grow(buf, buf->len + n) != 0)
		return NULL;
	return buf->p + buf->off + buf->len;
}

void
buf_commit(struct buf *buf, size_t n)
{
	assert(n <= buf->cap - buf->off - buf->len);
	buf->len += n;
}

int
buf_add(struct buf *buf, struct slice bytes, size_t max)
{
	char *room;

	if (bytes.n == 0)
		return 0;
	room = buf_reserve(buf, bytes.n, max);
	if (room == NULL)
		return -1;
	memcpy(room, bytes.p, bytes.n);
	buf_commit(buf, bytes.n);
	return 0;
}

void
buf_take(struct buf *buf, size_t n)
{
	assert(n <= buf->len);
	if (n == 0)
		return;
	sodium_memzero(buf->p + buf->off, n);
	buf->len -= n;
	buf->off = buf->len == 0 ? 0 : buf->off + n;
}

void
buf_free(struct buf *buf)
{
	if (buf->p != NULL) {
		sodium_memzero(buf->p, buf->off + buf->len);
		free(buf->p);
	}
	*buf = (struct buf){ 0 };
}
