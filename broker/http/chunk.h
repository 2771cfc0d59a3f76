/* The chunked coding, RFC 9112 section 7.1: pure, incremental, strict. */
#ifndef BROKER_CHUNK_H
#define BROKER_CHUNK_H

#include "slice.h"

#include <stdint.h>

#define CHUNK_LINE_MAX 1024	/* a size line with extensions; a trailer field */
#define CHUNK_TRAILERS_MAX 8192	/* all trailers */
#define CHUNK_HEAD_MAX 18
#define CHUNK_LAST "0\r\n\r\n"

struct chunk_decoder {
	unsigned state;
	uint64_t left;		/* of the current chunk */
	size_t line, trailers;	/* bytes seen of the current line, of all trailers */
};

enum chunk_result { CHUNK_DATA, CHUNK_MORE, CHUNK_END, CHUNK_BAD };

/*
 * Consume from *in.  CHUNK_DATA: *data is a slice of the input with body bytes;
 * call again.  CHUNK_MORE: all input consumed.  CHUNK_END: the last chunk and
 * the trailers (which are dropped) are over; *in keeps what follows.  END and
 * BAD are final.  Refused: bare CR or LF, a size without digits or above
 * 2^63-1, white space around it, control bytes, trailers that are no fields,
 * anything above the limits.  Extensions are read over and never passed on.
 */
void chunk_init(struct chunk_decoder *decoder);
enum chunk_result chunk_decode(struct chunk_decoder *decoder, struct slice *in,
    struct slice *data);

/* "1f\r\n" for a chunk of len bytes; buf has CHUNK_HEAD_MAX bytes and gets no
 * NUL.  The length written.  The last chunk is CHUNK_LAST. */
size_t chunk_head(size_t len, char *buf);

#endif
