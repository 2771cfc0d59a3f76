/*
 * What a ledger's lines say about themselves, stream by stream: that seq has
 * no gap, that prev is the leaf of the record before, that a stream is opened
 * before it is used and closed with the seq it has, that its time goes back only
 * where that is said, that the policy packs it names were said to come into force.
 * It takes the lines in order and notes what does not fit; it judges nothing.
 */
#ifndef LEDGER_CHAIN_H
#define LEDGER_CHAIN_H

#include "ledger/tree/note.h"
#include "ledger/verify/in_force.h"
#include "ledger/verify/walk.h"

#define CHAIN_STREAMS_MAX 4096
#define CHAIN_EVENTS_MAX 256	/* kept; all are counted */
#define CHAIN_KEYS_MAX 16384	/* epochs of a ledger */

enum chain_kind {
	CHAIN_UNREADABLE,	/* the line is no record */
	CHAIN_PREV,		/* prev is not the leaf before */
	CHAIN_MISSING,		/* seq is beyond the one expected */
	CHAIN_BACK,		/* seq is one that was there, or was skipped */
	CHAIN_START,		/* a stream's first record is not seq 0 after zeros */
	CHAIN_UNOPENED,		/* a record of a stream that is not open */
	CHAIN_CUT,		/* an open without a close before it: a crash */
	CHAIN_CLOSE,		/* a close that says another last seq */
	CHAIN_OPEN,		/* an open that says another origin, size or last seq */
	CHAIN_DROP,		/* a declared loss */
	CHAIN_NO_HOLE,		/* a drop that stands behind none, or behind no such one */
	CHAIN_HEADS,		/* a table of heads that does not fit */
	CHAIN_CLOCK,		/* earlier than the record before, and not said to be */
	CHAIN_PACK_OTHER,	/* a change from another pack than its own */
	CHAIN_PACK,		/* the first of a policy pack that nothing brought in */
	CHAIN_PACK_BEFORE,	/* the same, where what brought it in may not be known */
	CHAIN_CROWDED		/* more streams than are kept */
};

struct chain_stream {
	char name[RECORD_NAME_MAX + 1];
	size_t name_len;
	uint8_t last[TREE_HASH_LEN];	/* leaf of the last record */
	uint64_t first_seq, next_seq;
	uint64_t first_index, last_index;
	uint64_t records, dropped;
	int64_t time_us;	/* of the last record; 0: none is known */
	uint64_t session;	/* seq of the last open */
	uint64_t session_index;
	uint64_t closed_index;	/* of its first close; 0: none */
	char pack[RECORD_POLICY_LEN];	/* of the last record, in this session; or zeros */
	bool session_known;
	bool begun;		/* seen from its seq 0, or known from a table of heads */
	bool recalled;		/* known so, and no record of it seen yet */
	bool open;		/* no close behind the last open */
	unsigned faults;	/* events of it that break its chain */
	unsigned cuts;
};

struct chain_event {
	enum chain_kind kind;
	uint64_t index;		/* of the record that showed it */
	uint64_t before;	/* index of the stream's record before; UINT64_MAX: none */
	int stream;		/* or -1 */
	uint64_t seq, expected;	/* UNREADABLE, CROWDED: 0 */
	uint64_t dropped;	/* DROP */
	const char *rule;	/* UNREADABLE */
	uint64_t line;
	unsigned segment;
	char type[RECORD_NAME_MAX + 1];
	uint8_t prev[TREE_HASH_LEN];
};

struct chain {
	bool part;		/* lines from the middle: streams may have begun before */
	const char *origin;	/* that an open names; NULL: not known.  Not owned */
	const char *only;	/* the run of a part; NULL: none.  Not owned */
	uint64_t end;		/* lines from this index on are not looked at */
	struct chain_stream *stream;
	unsigned count, recent;
	bool crowded;		/* some streams were not followed */
	struct in_force packs;
	bool pack_before;	/* one may have been brought in before what was recalled */
	struct checkpoint before;	/* of the ledger that record 0 says this one follows */
	int64_t latest_us;	/* the latest time that a record has */
	uint64_t latest;	/* its index */
	uint16_t *table;	/* hash table of streams, index + 1 */
	struct chain_event event[CHAIN_EVENTS_MAX];
	unsigned events;	/* kept */
	uint64_t event_count;	/* in all */
	uint64_t key[CHAIN_KEYS_MAX];	/* indices of records that bring in a key */
	unsigned keys;
};

#define CHAIN_PART_STREAMS 16

/*
 * What can be told of a batch by itself.  Where every record but the first of
 * each of its streams continues the one before under the same policy, and none is of
 * a type that says something about streams or policies, the first and the last ones
 * are all that the chain needs of them.
 */
struct chain_part {
	bool plain;
	unsigned count;		/* of streams, in the order of their first records */
	struct chain_stretch {
		unsigned first, last, records;
		uint32_t alike;		/* of records with the policy of the first */
	} stretch[CHAIN_PART_STREAMS];
};

/* Any thread. */
void chain_look(const struct walk_batch *batch, struct chain_part *part);

int chain_init(struct chain *chain, bool part);
void chain_free(struct chain *chain);

/*
 * Begin in the middle of a ledger: every stream stands where this record, a
 * table of heads with nothing before it in its file, says.  0, or -1 where it
 * is none that can be read.
 */
int chain_recall(struct chain *chain, const struct record_line *heads);

/* part: what chain_look found; or NULL.  0, or -1 where memory lacks. */
int chain_batch(struct chain *chain, const struct walk_batch *batch,
    const struct chain_part *part);

#endif
