#include "plane/peek.h"

#include <stdlib.h>
#include <sodium.h>

#include "plane/buf.h"
#include "redact/inflate.h"

#define ROOM_MAX (1024 * 1024)
/* How far a file may unpack: 64 KiB could become 64 MiB, and the worker has other
 * connections to see to. */
#define UNPACK_FREE (1024 * 1024)
#define UNPACK_TIMES 100

struct peek {
	struct inflate *inflate;
	struct redact *redact;
	struct buf room;	/* what the redactor writes, and nobody reads */
	char unpacked[PEEK_PIECE];
	uint64_t packed_len;	/* bytes that were looked at */
	uint64_t unpacked_len, let_go;	/* bytes, until the first find */
};

struct peek *
peek_new(const struct redact *redact)
{
	struct peek *peek = calloc(1, sizeof(*peek));

	if (peek == NULL)
		return NULL;
	peek->inflate = inflate_new(SLICE("gzip"));
	peek->redact = redact_like(redact);
	if (peek->inflate != NULL && peek->redact != NULL)
		return peek;
	peek_free(peek);
	return NULL;
}

void
peek_free(struct peek *peek)
{
	if (peek == NULL)
		return;
	inflate_free(peek->inflate);
	redact_free(peek->redact);
	buf_free(&peek->room);
	sodium_memzero(peek->unpacked, sizeof(peek->unpacked));
	free(peek);
}

static enum peek_result
search(struct peek *peek, size_t n, bool last)
{
	char *room = buf_reserve(&peek->room, redact_bound(peek->redact, n), ROOM_MAX);

	if (room == NULL)
		return PEEK_MEMORY;
	peek->unpacked_len += n;
	peek->let_go += redact_feed(peek->redact, peek->unpacked, n, last, room);
	return redact_count(peek->redact) > 0 ? PEEK_FOUND : last ? PEEK_OVER : PEEK_PASS;
}

static bool
too_far(const struct peek *peek)
{
	return peek->unpacked_len > UNPACK_FREE + UNPACK_TIMES * peek->packed_len;
}

enum peek_result
peek_look(struct peek *peek, struct slice piece)
{
	enum peek_result result = PEEK_PASS;
	size_t n = sizeof(peek->unpacked);
	bool bad = false;

	peek->packed_len += piece.n;
	/* what is still inside comes when there is nothing left to take */
	while (result == PEEK_PASS && (piece.n > 0 || n == sizeof(peek->unpacked))) {
		bad = inflate_feed(peek->inflate, &piece, peek->unpacked,
		    sizeof(peek->unpacked), &n) == INFLATE_BAD || too_far(peek);
		result = search(peek, n, bad);
	}
	if (result == PEEK_PASS && peek->unpacked_len - peek->let_go > PEEK_EARLY)
		return PEEK_HOLD;
	return result;
}

enum peek_result
peek_end(struct peek *peek)
{
	return search(peek, 0, true);
}
