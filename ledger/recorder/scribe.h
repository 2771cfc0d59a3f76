/*
 * Writes one stream: gives each record its seq, prev and time, checks what came
 * from producers, and accounts for what could not be written.
 *
 * Records go into the store's memory; the caller commits.  A record that is
 * refused keeps the seq it was given on arrival, and a `drop` record, written
 * as soon as there is space, says which seqs are missing and why.  One thread.
 */
#ifndef LEDGER_RECORDER_SCRIBE_H
#define LEDGER_RECORDER_SCRIBE_H

#include <stdbool.h>
#include <stdint.h>

#include "ledger/record/json_memo.h"
#include "ledger/record/record.h"
#include "ledger/recorder/append.h"
#include "ledger/recorder/store.h"

struct scribe_drop {
	uint64_t from, count;	/* the range ends before the scribe's seq */
	const char *reason;	/* "full" or "rejected" */
	int64_t since_ms, until_ms; /* when the first and the last were refused */
};

struct scribe {
	struct store *store;
	char stream[RECORD_NAME_MAX + 1];
	size_t stream_len;
	char policy[RECORD_POLICY_LEN];	/* of the recorder's own records */
	uint64_t seq;			/* of the next record */
	uint64_t first_seq;		/* of this session's open */
	uint8_t prev[RECORD_HASH_LEN];
	int64_t time_us;		/* of the last record */
	int64_t turn_us;		/* of this turn's, see scribe_turn */
	int64_t text_us;		/* of the time in text; -1: none */
	char text[RECORD_TIME_LEN];
	char run[RECORD_NAME_MAX];	/* the last one that was valid */
	size_t run_len;
	struct scribe_drop drop;	/* count 0: nothing to declare */
	struct replay_stream *streams;	/* of the ledger, for `heads` */
	unsigned n_streams;
	char heads[LEDGER_BODY_MAX];
	struct json_memo memo;
};

/* Go on where the stream stands in what was replayed, of which the table of
 * streams is copied; a new stream starts at 0.  0, or -1 out of memory, or
 * where stream or policy have not the form that records allow. */
int scribe_init(struct scribe *scribe, struct store *store, const char *stream,
    const char *policy, const struct replay *replay);
void scribe_free(struct scribe *scribe);

/* Look at the clock: the producers' records that follow are of this moment. */
void scribe_turn(struct scribe *scribe);

/* What a producer handed over; run.ptr NULL where there is none. */
struct scribe_matter {
	struct record_slice type, run, policy, body;
};

/*
 * A producer's record.  *receipt gets status, index, seq and leaf: DURABLE
 * means that it will be with the next commit.  Types that are the recorder's
 * own are refused like any other breach of the format.
 */
void scribe_write(struct scribe *scribe, const struct scribe_matter *matter,
    struct ledger_receipt *receipt);

/* A record of the recorder's own, which may use the reserve. */
enum store_status scribe_note(struct scribe *scribe, const char *type,
    const char *body, size_t body_len);

/* A session's first record.  Where the clock was set back since the last one, a
 * `clock` record follows it: outside of a session there are none. */
enum store_status scribe_open(struct scribe *scribe, const char *body,
    size_t body_len);

/* Declare what is to be declared: when the batch ends if there is space for
 * ordinary records, in any case when closing. */
enum store_status scribe_settle(struct scribe *scribe, bool closing);

#endif
