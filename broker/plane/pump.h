/*
 * Carries one body, or one direction of a tunnel, from a source to a sink:
 * takes the source's framing off, decodes and redacts where asked, puts the
 * sink's framing on.  Constant memory: it stops while the sink's buffer is
 * above its mark.  Knows nothing of sockets.
 */
#ifndef BROKER_PUMP_H
#define BROKER_PUMP_H

#include "http/chunk.h"
#include "plane/buf.h"
#include "plane/peek.h"
#include "redact/inflate.h"
#include "redact/pieces.h"
#include "redact/redact.h"

#define PUMP_MARK 65536		/* bytes in the sink's buffer: no more is taken */
#define PUMP_PIECE 16384	/* bytes of body handled at once */
#define PUMP_EARLY 3
#define PUMP_EARLY_SECRET 16
#define PUMP_OUT_MAX (1024 * 1024)	/* cap of the sink's buffer */

enum frame { FRAME_NONE, FRAME_LENGTH, FRAME_CHUNKED, FRAME_CLOSE };

/*
 * The redactor holds back what may still become a find, and in a conversation
 * the next bytes may never come before these have been seen.  So up to PUMP_EARLY
 * bytes are let through ahead of its verdict, and left out when it lets them
 * through itself.  Should they turn out to begin a find, that many bytes of its
 * beginning were seen, and no more: usually those that placeholder and secret
 * share (of a secret that comes backwards, the last ones).  Not for secrets below PUMP_EARLY_SECRET bytes.
 */
struct early {
	bool on;		/* until the first find: then it is not known what is held */
	size_t held;		/* bytes in the redactor */
	size_t shown;		/* of them, let through already */
	char bytes[PUMP_EARLY];	/* the first `shown` are those */
	char tail[PUMP_EARLY];	/* the last bytes of the input */
};

struct pump {
	enum frame from, to;
	uint64_t left;			/* from FRAME_LENGTH: bytes to come */
	struct chunk_decoder chunk;
	struct inflate *inflate;	/* owned; NULL: as it is */
	struct redact *redact;		/* owned; NULL: as it is */
	bool stop_on_hit;		/* a replacement would break what is inside: end instead */
	struct early early;
	struct pieces *pieces;		/* owned; NULL: no streamed answer */
	bool begun;			/* a byte of the body has come */
	struct peek *peek;		/* owned; NULL: no gzip file, or searched to its end */
	struct buf unseen;		/* of the file, not to be passed on yet */
	struct buf pending;		/* taken, not yet decoded */
	uint64_t taken;			/* bytes of body taken from the source */
	bool done;			/* the whole body is in the sink's buffer */
};

enum pump_result {
	PUMP_MORE,	/* all input used, more is to come */
	PUMP_FULL,	/* the sink has to be emptied first */
	PUMP_DONE,	/* *in keeps what follows the body */
	PUMP_BAD,	/* broken framing or coding */
	PUMP_CUT,	/* the source ended before the body did */
	PUMP_HIT,	/* stop_on_hit, or in a gzip file: nothing of the find was put out,
			 * or PEEK_EARLY bytes of it; or in pieces: less than half */
	PUMP_MEMORY
};

/* redact and inflate are the pump's from here on. */
void pump_init(struct pump *pump, enum frame from, uint64_t length,
    enum frame to, struct inflate *inflate, struct redact *redact);
void pump_free(struct pump *pump);

enum pump_result pump_feed(struct pump *pump, struct slice *in, struct buf *out);

/* The source has ended; call once all input was fed. */
enum pump_result pump_end(struct pump *pump, struct buf *out);

#endif
