/*
 * One end of a connection, in the clear or in TLS, and its place in an epoll
 * set.
 *
 * readable and writable say what is known, not what epoll last said: readable
 * stays true until a read would have blocked, since bytes may already lie
 * inside the TLS object where epoll does not see them; it is true after every
 * handshake.  So a caller reads while readable, and stream_sync asks epoll only
 * for what has become false.  Level-triggered: nothing is lost either way.
 */
#ifndef BROKER_STREAM_H
#define BROKER_STREAM_H

#include "plane/buf.h"

#include <openssl/ssl.h>
#include <stdint.h>
#include <sys/types.h>

/* Anything in an epoll set: data.ptr points to it. */
struct source {
	int fd;
	uint32_t armed;			/* events asked for */
	void (*ready)(struct source *source, uint32_t events);
};

struct stream {
	struct source source;		/* first: ready() casts */
	int epoll;
	SSL *ssl;			/* owned; NULL: in the clear */
	bool readable, writable;
	bool ended;			/* the peer sends nothing more */
	bool broken;			/* nothing goes any more */
	int tls_reason;			/* OpenSSL's, of a handshake that failed; else 0 */
	bool hung_up;			/* epoll saw the peer's end, perhaps behind unread bytes */
	bool gone;			/* epoll saw the whole connection end */
};

#define STREAM_END 0		/* a clean end (close_notify within TLS) */
#define STREAM_BLOCKED -1
#define STREAM_BROKEN -2	/* a reset, or an end without close_notify */

/* Puts fd (non-blocking, owned from here on) into the epoll set. 0 or -1. */
int stream_open(struct stream *stream, int epoll, int fd,
    void (*ready)(struct source *source, uint32_t events));
void stream_close(struct stream *stream);	/* NULL-safe fields; close_notify where it goes at once */
void stream_reset(struct stream *stream);	/* RST: the peer must not take what it has for whole */

/* Note what epoll reported; call first in ready(). */
void stream_note(struct stream *stream, uint32_t events);

ssize_t stream_read(struct stream *stream, char *buf, size_t cap);
ssize_t stream_write(struct stream *stream, const char *buf, size_t len);

/* Send what the buffer has: 0 when empty, STREAM_BLOCKED or STREAM_BROKEN. */
int stream_flush(struct stream *stream, struct buf *out);

/* 1 when done, STREAM_BLOCKED or STREAM_BROKEN. */
int stream_handshake(struct stream *stream);

/* No more will be sent (half-close). */
void stream_finish(struct stream *stream);

/* Has the peer ended, or sent anything, while nothing was expected?  If so the
 * stream is of no more use. */
bool stream_disturbed(struct stream *stream);

/* Ask epoll for what is needed now. */
void stream_sync(struct stream *stream);

#endif
