/*
 * The writing end of a ledger: many producers, one recorder.
 *
 * The recorder alone touches the ledger's files and holds the signing key.
 * It is a process of its own (or, for measurement, a thread) that shares one
 * ring with each producer.  A producer hands over type, run, policy and body;
 * the recorder assigns stream, seq, prev and time, writes the line, makes it
 * durable together with whatever else was waiting, and answers.
 *
 *   submit -> [ring] -> recorder: append, fdatasync -> [ring] -> receipt
 *
 * Nothing is acknowledged before it is durable (unless the ledger was opened
 * with LEDGER_SYNC_NONE, which exists for benchmarks).  After a failed write
 * or fsync every submission is answered with LEDGER_FAILED until the daemon
 * is restarted; a failed fsync is never retried.
 *
 * Format and promises: ledger/FORMAT.md.
 */
#ifndef LEDGER_RECORDER_APPEND_H
#define LEDGER_RECORDER_APPEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define LEDGER_LEAF_LEN 32
#define LEDGER_BODY_MAX 49152	/* bytes of one body; a line holds 65,535 */
#define LEDGER_RUN_MAX 64	/* bytes of a run's id */
#define LEDGER_POLICY_LEN 71	/* "sha256:" and 64 hex digits */

struct ledger;		/* one open ledger, its recorder and its ports */
struct ledger_port;	/* one producer's end; used by one thread at a time */

enum ledger_sync { LEDGER_SYNC_DATA, LEDGER_SYNC_NONE };
enum ledger_place { LEDGER_IN_PROCESS, LEDGER_IN_THREAD };

/*
 * Keeps the signing key's seed over restarts, for ledgers whose key changes;
 * called in the recorder.  Each returns 0, or -1 with errno; save_next and
 * advance are durable when they return.
 */
struct ledger_keeper {
	int (*save_next)(void *context, const uint8_t seed[32]);
	int (*load_next)(void *context, uint8_t seed[32]);
	/* The one saved takes the current one's place, which is erased. */
	int (*advance)(void *context);
	/* Erase the one saved; that there is none is no failure. */
	int (*discard)(void *context);
	void *context;			/* readable in the recorder: it forks */
};

struct ledger_options {
	const char *dir;		/* the ledger's directory, made by ledger_create */
	const uint8_t *seed;		/* 32 bytes of the Ed25519 key; the caller wipes its copy after ledger_open */
	const char *stream;		/* the producers' stream, "broker" */
	const char *policy;		/* digest in force when the stream opens */
	enum ledger_sync sync;
	enum ledger_place place;
	unsigned ports;			/* how many producers, 1 to 64 */
	unsigned checkpoint_ms;		/* sign a checkpoint this often while the tree grows */
	uint64_t reserve_bytes;		/* disk space kept for drop, close and checkpoint records */
	const struct ledger_keeper *keeper;	/* NULL: the key never changes */
	unsigned epoch_s;		/* change it this often; 0: not by time */
	uint64_t epoch_records;		/* and after so many records; 0: not */
	bool check_all;			/* read every record at the start, not only the last segment's */
	/*
	 * NULL, or called in the caller's process when it can give up what the
	 * recorder needs (dir) and it does not: after the recorder was forked, or
	 * before it starts as a thread (then dir is still needed), and before any
	 * thread.  Confinement holds for threads that start afterwards only.  0,
	 * or -1 with a message: then ledger_open fails.
	 */
	int (*confine)(void *arg, char *err, size_t err_len);
	void *confine_arg;
};

enum ledger_status {
	LEDGER_DURABLE,		/* on disk, in order */
	LEDGER_FULL,		/* no space: refused; a drop record will count it */
	LEDGER_FAILED,		/* write, fsync or recorder gone: nothing is granted any more */
	LEDGER_REJECTED,	/* the record breaks a rule of the format: a bug of ours */
	LEDGER_SILENT		/* no answer, of ledger_append_soon alone: it may become durable yet */
};

struct ledger_record {
	const char *type;	/* "use", "refusal", ...: one of FORMAT.md's */
	const char *run;	/* NULL where no run is concerned */
	const char *policy;	/* LEDGER_POLICY_LEN bytes and NUL */
	const char *body;	/* one JSON object, on one line, without control bytes */
	size_t body_len;
	bool seal;		/* sign a checkpoint right after this record, and answer after that */
};

struct ledger_receipt {
	uint64_t ticket;	/* the caller's, as submitted */
	enum ledger_status status;
	uint64_t index;		/* leaf index in the tree */
	uint64_t seq;		/* place in the stream */
	uint8_t leaf[LEDGER_LEAF_LEN];
};

/*
 * Make an empty ledger in dir (created 0700; must not hold one already) whose
 * origin and key name is origin, with the public half of seed in log.vkey.
 * 0, or -1 with a message in err.
 */
int ledger_create(const char *dir, const char *origin, const uint8_t *seed,
    char *err, size_t err_len);

/*
 * Lock, check and open the ledger, recover a torn tail, start the recorder and
 * append the stream's `open` record.  Call it before any thread is started:
 * it forks, and starts a thread of its own.  NULL with a message in err: locked by another writer, a root that
 * does not match its signed checkpoint, a short file, no space, a wrong key.
 */
struct ledger *ledger_open(const struct ledger_options *options, char *err,
    size_t err_len);

/*
 * Append the stream's `close` record, sign the last checkpoint, stop the
 * recorder and free everything.  No port may be in use.  0, or -1 where the
 * close could not be made durable.
 */
int ledger_close(struct ledger *ledger);

/* Port i of the ledger; it lives until ledger_close. */
struct ledger_port *ledger_port(struct ledger *ledger, unsigned i);

/*
 * Queue one record; the body is copied.  0, or -1 where the ring is full (try
 * again after taking receipts), the recorder is gone, or the record too long.
 * A ticket of LEDGER_NO_RECEIPT asks for no answer: the record is written in
 * order with the next batch, and a failure to write it stops all later ones.
 */
#define LEDGER_NO_RECEIPT UINT64_MAX
int ledger_submit(struct ledger_port *port, const struct ledger_record *record,
    uint64_t ticket);

/*
 * The same without waking the recorder, for a loop that submits several records
 * in a turn: it must call ledger_flush before it sleeps, or they lie there.
 */
int ledger_queue(struct ledger_port *port, const struct ledger_record *record,
    uint64_t ticket);
void ledger_flush(struct ledger_port *port);

/*
 * Becomes readable (epoll, level) when receipts wait or the recorder is gone.
 * Once it is gone, the descriptor stays readable, what was submitted and not
 * answered never will be, and must count as refused: after ledger_receipt has
 * returned false, ask ledger_healthy, and stop watching.
 */
int ledger_port_fd(const struct ledger_port *port);

/* Take one receipt: true and *out filled, or false where none waits.  When it
 * has returned false the descriptor is armed again. */
bool ledger_receipt(struct ledger_port *port, struct ledger_receipt *out);

/* Submit and block until the answer, for threads that serve one caller.  Other
 * receipts of the same port are dropped: use a port one way or the other. */
enum ledger_status ledger_append_wait(struct ledger_port *port,
    const struct ledger_record *record, struct ledger_receipt *out);

/* The same, but where the recorder is silent it is not waited for: the record
 * stands in its turn all the same where the ring has room.  Count it as refused. */
enum ledger_status ledger_append_soon(struct ledger_port *port,
    const struct ledger_record *record, struct ledger_receipt *out);

/* False once a write failed or the recorder died.  Any thread. */
bool ledger_healthy(const struct ledger *ledger);

/*
 * A recorder that is stopped, or whose disk hangs, is asked once a second for a
 * sign of life.  0 while it gives one, else for about how many seconds it has
 * not, from LEDGER_SILENT_S on; 0 again once it has.  Time in which this process
 * did not run either is not counted.  Any thread, never waits.
 */
#define LEDGER_SILENT_S 5
unsigned ledger_silent_s(const struct ledger *ledger);

/* Begin a new epoch: another signing key.  Waits until it is in force: 0, or -1
 * where that did not come within the time, or the ledger has no keeper. */
int ledger_rotate(struct ledger *ledger, unsigned timeout_ms);

/* The recorder's process, or 0 where it is a thread. */
pid_t ledger_recorder_pid(const struct ledger *ledger);

/* Records appended, batches synced, checkpoints signed, records refused for
 * want of space; for /metrics.  Any thread. */
struct ledger_counts {
	uint64_t records, batches, checkpoints, refused, bytes;
	uint64_t epoch;		/* of the signing key in force */
	uint64_t full;		/* 1 where the last record found no space */
	uint64_t signed_size;	/* that the latest checkpoint signs */
	int64_t space;		/* bytes that may still be written where it is,
				 * as of a second ago; -1: not known */
};
void ledger_counts(const struct ledger *ledger, struct ledger_counts *out);

#endif
