/* How a walk's batches are read, hashed and folded.  Private to walk. */
#ifndef LEDGER_VERIFY_WALK_SLOT_H
#define LEDGER_VERIFY_WALK_SLOT_H

#include "ledger/verify/walk.h"

#define WALK_BUFFER (1024 * 1024)	/* bytes of a batch */

enum walk_state { WALK_EMPTY, WALK_READ, WALK_DONE };

/* One batch on its way. */
struct walk_slot {
	struct walk_batch batch;
	struct walk_line *lines;
	struct subtree *subtree;
	void *facts;
	char *buf;		/* WALK_BUFFER bytes, and one in front of them */
	size_t have;		/* bytes in buf */
	uint64_t torn;		/* bytes of an unterminated end behind the lines */
	uint64_t torn_line;
	bool failed;		/* nothing more can be read */
	enum walk_state state;
};

/* facts_size bytes for what is made of a batch.  0, or -1; free in any case. */
int walk_slot_make(struct walk_slot *slot, size_t facts_size);
void walk_slot_free(struct walk_slot *slot);

/* The leaves of the lines, and all subtrees that they make up. */
void walk_slot_hash(struct walk_slot *slot);

/* ---- reading ---- */

/* One thread at a time. */
struct walk_reader {
	const struct walk *walk;
	int fd;
	unsigned segment;
	uint64_t at;		/* bytes of the segment read so far */
	uint64_t line, index;	/* of the next line */
	size_t guess;		/* bytes that the next batch is likely to take */
	bool skip;		/* within an overlong line */
	bool end;		/* of the segment */
	const char *rest;	/* bytes read but not used by the batch before */
	size_t rest_len;
	uint64_t bytes;
};

void walk_reader_begin(struct walk_reader *reader, const struct walk *walk);
void walk_reader_end(struct walk_reader *reader);

/* Have all segments been read? */
bool walk_reader_done(const struct walk_reader *reader);

/*
 * Lines of one segment into the slot, up to the next multiple of WALK_LINES.
 * What was read beyond them stays in the slot's buffer until the next one has
 * been filled.  0, or -1 with a message.
 */
int walk_reader_fill(struct walk_reader *reader, struct walk_slot *slot, char *err,
    size_t err_len);

#endif
