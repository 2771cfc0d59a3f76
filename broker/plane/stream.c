#include "plane/stream.h"

#include <errno.h>
#include <openssl/err.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_EVENTS (EPOLLIN | EPOLLRDHUP)

int
stream_open(struct stream *stream, int epoll, int fd,
    void (*ready)(struct source *source, uint32_t events))
{
	struct epoll_event event = { .events = READ_EVENTS, .data.ptr = &stream->source };

	*stream = (struct stream){ .source = { .fd = fd, .armed = READ_EVENTS,
	    .ready = ready }, .epoll = epoll, .writable = true };
	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

void
stream_close(struct stream *stream)
{
	if (stream->ssl != NULL) {
		ERR_clear_error();
		if (!stream->broken && SSL_is_init_finished(stream->ssl))
			SSL_shutdown(stream->ssl);
		SSL_free(stream->ssl);
		stream->ssl = NULL;
	}
	if (stream->source.fd >= 0)
		close(stream->source.fd);
	stream->source.fd = -1;
	stream->broken = stream->ended = true;
	stream->readable = stream->writable = true;
}

void
stream_reset(struct stream *stream)
{
	struct linger abort = { .l_onoff = 1, .l_linger = 0 };

	if (stream->source.fd >= 0)
		setsockopt(stream->source.fd, SOL_SOCKET, SO_LINGER, &abort,
		    sizeof(abort));
	stream->broken = true;	/* no close_notify: the end must not look clean */
	stream_close(stream);
}

static void
ask(struct stream *stream, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = &stream->source };

	if (stream->source.fd >= 0 && events != stream->source.armed &&
	    epoll_ctl(stream->epoll, EPOLL_CTL_MOD, stream->source.fd, &event) == 0)
		stream->source.armed = events;
}

void
stream_note(struct stream *stream, uint32_t events)
{
	if (events & EPOLLRDHUP)
		stream->hung_up = true;
	if (events & (EPOLLHUP | EPOLLERR)) {
		/* Reported for ever, asked for or not: leave the set. */
		epoll_ctl(stream->epoll, EPOLL_CTL_DEL, stream->source.fd, NULL);
		stream->source.armed = 0;
		stream->gone = stream->readable = stream->writable = true;
		return;
	}
	if ((events & READ_EVENTS) && stream->readable)
		ask(stream, stream->source.armed & ~READ_EVENTS);	/* nobody reads now */
	if (events & READ_EVENTS)
		stream->readable = true;
	if (events & EPOLLOUT)
		stream->writable = true;
}

void
stream_sync(struct stream *stream)
{
	uint32_t events = stream->source.armed & READ_EVENTS;

	if (stream->gone || stream->source.fd < 0)
		return;
	if (!stream->readable)
		events |= READ_EVENTS;
	if (!stream->writable)
		events |= EPOLLOUT;
	ask(stream, events);
}

/* SSL_get_error reads the thread's queue of errors, so it has to be empty before
 * a call; clearing one that is empty would cost as much as the rest of it. */
static void
no_old_errors(void)
{
	if (ERR_peek_error() != 0)
		ERR_clear_error();
}

/* What SSL_get_error says of a call that returned ret <= 0. */
static ssize_t
tls_result(struct stream *stream, int ret)
{
	switch (SSL_get_error(stream->ssl, ret)) {
	case SSL_ERROR_WANT_READ:
		stream->readable = false;
		return STREAM_BLOCKED;
	case SSL_ERROR_WANT_WRITE:
		stream->writable = false;
		return STREAM_BLOCKED;
	case SSL_ERROR_ZERO_RETURN:
		stream->ended = true;
		return STREAM_END;
	default:
		ERR_clear_error();
		stream->broken = true;
		return STREAM_BROKEN;
	}
}

static ssize_t
socket_result(struct stream *stream, bool *able)
{
	if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) {
		*able = errno == EINTR;
		return STREAM_BLOCKED;
	}
	stream->broken = true;
	return STREAM_BROKEN;
}

ssize_t
stream_read(struct stream *stream, char *buf, size_t cap)
{
	ssize_t n;
	size_t got = 0;

	if (stream->broken)
		return STREAM_BROKEN;
	if (stream->ended)
		return STREAM_END;
	if (stream->ssl != NULL) {
		no_old_errors();
		if (SSL_read_ex(stream->ssl, buf, cap, &got) != 1)
			return tls_result(stream, 0);
		if (!stream->gone && !SSL_has_pending(stream->ssl))
			stream->readable = false;	/* the rest is the kernel's to tell */
		return (ssize_t)got;
	}
	n = recv(stream->source.fd, buf, cap, 0);
	if (n < 0)
		return socket_result(stream, &stream->readable);
	if (n == 0)
		stream->ended = true;
	else if ((size_t)n < cap && !stream->gone)
		stream->readable = false;
	return n;
}

ssize_t
stream_write(struct stream *stream, const char *buf, size_t len)
{
	size_t put = 0;
	ssize_t n;

	if (stream->broken)
		return STREAM_BROKEN;
	if (stream->ssl != NULL) {
		no_old_errors();
		if (SSL_write_ex(stream->ssl, buf, len, &put) != 1) {
			n = tls_result(stream, 0);
			return n == STREAM_END ? STREAM_BROKEN : n;
		}
		return (ssize_t)put;
	}
	n = send(stream->source.fd, buf, len, MSG_NOSIGNAL);
	if (n < 0)
		return socket_result(stream, &stream->writable);
	if ((size_t)n < len)
		stream->writable = false;
	return n;
}

int
stream_flush(struct stream *stream, struct buf *out)
{
	ssize_t n;

	while (out->len > 0) {
		if (!stream->writable && !stream->broken)
			return STREAM_BLOCKED;
		n = stream_write(stream, out->p + out->off, out->len);
		if (n < 0)
			return (int)n;
		buf_take(out, (size_t)n);
	}
	return 0;
}

int
stream_handshake(struct stream *stream)
{
	int ret;

	ERR_clear_error();
	ret = SSL_do_handshake(stream->ssl);
	if (ret == 1) {
		stream->readable = stream->writable = true;	/* see stream.h */
		return 1;
	}
	stream->tls_reason = ERR_GET_REASON(ERR_peek_error());
	return tls_result(stream, ret) == STREAM_BLOCKED ? STREAM_BLOCKED :
	    STREAM_BROKEN;
}

void
stream_finish(struct stream *stream)
{
	if (stream->broken || stream->source.fd < 0)
		return;
	if (stream->ssl != NULL) {
		ERR_clear_error();
		SSL_shutdown(stream->ssl);
	}
	shutdown(stream->source.fd, SHUT_WR);
}

bool
stream_disturbed(struct stream *stream)
{
	char byte;

	/* A TLS read also takes in session tickets, which disturb nobody. */
	return stream_read(stream, &byte, 1) != STREAM_BLOCKED;
}
