/*
 * The shared memory between producers and recorder, and the bells that wake
 * either side: for each port a ring of submissions and one of receipts.
 *
 *   producer                            recorder
 *   channel_submit   --submissions-->   channel_take
 *   channel_flush
 *   channel_receipt  <---receipts----   channel_answer, channel_ring_port
 *
 * Wake-ups.  Whoever is about to sleep says so in shared memory and then looks
 * once more; whoever adds something looks afterwards whether the other side
 * said so, and only then pays for a system call.  Both orders are sequentially
 * consistent, so one of the two always sees the other: none is lost.
 *
 * Trust.  The producers' process may be compromised.  The recorder's side takes
 * every submission in one copy, checks that copy, believes no length or
 * position it has not checked, never waits for a producer, and drops a receipt
 * for which a producer left no room.
 */
#ifndef LEDGER_RECORDER_CHANNEL_H
#define LEDGER_RECORDER_CHANNEL_H

#include "ledger/recorder/append.h"

#define CHANNEL_PORTS_MAX 64
#define CHANNEL_RING (128 * 1024)	/* bytes of submissions waiting at a port */
#define CHANNEL_RECEIPTS 1024		/* receipts waiting, or owed, at a port */
#define CHANNEL_TYPE_MAX 64

struct channel;		/* one mapping, and its bells */

/* NULL with errno set. */
struct channel *channel_new(unsigned ports);
/* Unmap and close; NULL is ignored.  After a fork each side frees its own. */
void channel_free(struct channel *channel);

/* Every descriptor that the channel needs open, for whoever closes the rest;
 * the number put in fds, which has room for CHANNEL_PORTS_MAX + 1. */
size_t channel_fds(const struct channel *channel, int *fds);

/* Whether a record's parts are within the lengths that a port carries. */
bool channel_record_fits(const struct ledger_record *record);

/* A producer's end of one port: by one thread at a time. */
int channel_submit(struct channel *channel, unsigned port,
    const struct ledger_record *record, uint64_t ticket);
/* Wake the recorder if it sleeps: after the last of several submissions. */
void channel_flush(struct channel *channel);
bool channel_receipt(struct channel *channel, unsigned port,
    struct ledger_receipt *out);
int channel_port_fd(const struct channel *channel, unsigned port);

/* A write failed: the recorder still answers, but nothing is durable any more. */
void channel_mark_failed(struct channel *channel);
bool channel_failed(const struct channel *channel);

/* The recorder is gone: every port's descriptor stays readable and submissions
 * are refused.  Any thread, either side. */
void channel_mark_gone(struct channel *channel);
bool channel_gone(const struct channel *channel);

/* Tell the recorder to finish, or whether it was told. */
void channel_stop(struct channel *channel);
bool channel_stopping(const struct channel *channel);

/* Ask the recorder for another signing key, or whether that was asked for. */
void channel_want_rotation(struct channel *channel);
bool channel_take_rotation(struct channel *channel);

/* Ask the recorder for a sign of life; whether it has given the last one that
 * was asked for; and its side: true where one is asked for, which it gives. */
void channel_ask_life(struct channel *channel);
bool channel_lives(const struct channel *channel);
bool channel_give_life(struct channel *channel);

/* One submission, copied into the recorder's memory.  Lengths are within their
 * limits; nothing else has been checked. */
struct channel_submission {
	uint64_t ticket;
	size_t type_len, run_len, body_len;
	bool seal, has_run;
	char policy[LEDGER_POLICY_LEN];
	const char *type, *run, *body;	/* in text */
	char text[CHANNEL_TYPE_MAX + LEDGER_RUN_MAX + LEDGER_BODY_MAX];
};

enum channel_taken { CHANNEL_TAKEN, CHANNEL_EMPTY, CHANNEL_BROKEN };

/* The recorder's end, by its one thread.  BROKEN: positions or lengths that no
 * producer of ours writes; from then on the port counts as empty. */
enum channel_taken channel_take(struct channel *channel, unsigned port,
    struct channel_submission *out);
/* False where the producer left no room for it.  The producer sees it with the
 * next channel_ring_port. */
bool channel_answer(struct channel *channel, unsigned port,
    const struct ledger_receipt *receipt);
/* Show the answers given since the last call, and wake the port's owner if it
 * waits for them. */
void channel_ring_port(struct channel *channel, unsigned port);

/* Sleep until a submission may be there, extra_fd (-1: none) is readable or
 * hung up, or timeout_ms (-1: none) has passed.  True where extra_fd woke it. */
bool channel_sleep(struct channel *channel, int extra_fd, int timeout_ms);

/* Counters that the recorder writes and anybody reads. */
void channel_count(struct channel *channel, const struct ledger_counts *counts);
void channel_counts(const struct channel *channel, struct ledger_counts *out);

#endif
