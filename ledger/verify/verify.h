/*
 * Verification of an evidence bundle or of a whole ledger directory, also one
 * that is being written.  One pass, constant memory, no network, nothing but
 * the files and a key that the verifier brings along.
 *
 * The whole verdict says: these records are unaltered and all there, from the
 * run's opening to its teardown (bundle) or from the ledger's first record to
 * the close of every stream (directory), under a checkpoint signed by the
 * pinned key.  What it does not say is said in the other statements: that
 * somebody outside holds the same head (anchoring), that all that happened was
 * recorded (coverage), that no secret stands in the files (secrets).
 */
#ifndef LEDGER_VERIFY_H
#define LEDGER_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ledger/anchor/trust.h"
#include "ledger/record/record.h"
#include "ledger/tree/note.h"

#define VERIFY_FINDINGS_MAX 100	/* kept; all are counted */
#define VERIFY_UNVOUCHED_MAX 32	/* the same */

/* In the order of the exit status. */
enum verify_verdict {
	VERIFY_COMPLETE = 0,
	VERIFY_GAP = 1,
	VERIFY_NOT_ESTABLISHED = 2
};

/* "complete", "gap", "not_established" */
const char *verify_verdict_word(enum verify_verdict verdict);
/* A gap outweighs what is not established, and that what is complete. */
enum verify_verdict verify_worse(enum verify_verdict a, enum verify_verdict b);

enum verify_kind { VERIFY_BUNDLE, VERIFY_LEDGER };

struct verify_finding {
	enum verify_verdict verdict;
	const char *code;		/* "altered", "missing", ...: FORMAT.md lists them */
	bool has_index, has_seq;
	uint64_t index;			/* in the tree */
	uint64_t count;			/* records concerned from there, 1 or more */
	uint64_t seq;
	uint64_t line;			/* in its file, from 1; 0: none */
	char file[80];
	char stream[RECORD_NAME_MAX + 1];
	char type[RECORD_NAME_MAX + 1];
	char what[320];
};

struct verify_stream {
	char name[RECORD_NAME_MAX + 1];
	uint64_t first_seq, last_seq, first_index, last_index, records, dropped;
	enum verify_verdict verdict;
	const char *why;		/* constant; "" where complete */
};

/* One of the separate statements. */
struct verify_statement {
	enum verify_verdict verdict;	/* COMPLETE: established; GAP: refuted */
	char text[640];
};

struct verify_options {
	const char *path;
	const struct note_key *key;	/* pinned; NULL: none */
	const struct trust *trust;	/* what else is demanded; NULL: nothing */
	const char *epochs;		/* a bundle: file with how later keys follow, or NULL */
	const char *head;		/* file with a checkpoint saved before, or NULL */
	bool since;			/* a ledger: read what is new since head alone */
	unsigned threads;		/* 0: one for each processor, up to 4 */
	/* told of the bytes of records read so far, of so many in all; or NULL */
	void (*progress)(void *context, uint64_t done, uint64_t total);
	void *context;
	/* how a path from the files may be shown, valid until the next call (it
	 * may be, or hold, a secret); NULL: as it is */
	const char *(*shown)(void *context, const char *path);
	void *shown_context;
};

/* What one of those whom the trust policy names vouches for. */
struct verify_anchor {
	char name[NOTE_NAME_MAX + 1];
	bool witness;			/* else a time stamping authority */
	uint64_t size;			/* of the tree; 0: nothing here */
	int64_t time_s;			/* since 1970, by its own clock */
};

/* Between which times a bundle's run was recorded, by those whom the policy names;
 * of a ledger, how many of its runs have a bound from below. */
#define VERIFY_INTERVAL_MAX 400
struct verify_interval {
	int64_t not_before_s, not_after_s;	/* since 1970; 0: not established.  Of a
				 * ledger the first is of the latest run that has one */
	uint64_t openings, bound;	/* a ledger's: runs, and those that have one */
	char text[VERIFY_INTERVAL_MAX];	/* "": nothing is said, without a policy */
};

struct verify_result {
	enum verify_kind kind;
	enum verify_verdict verdict;	/* of the whole, without secrets */
	char origin[NOTE_NAME_MAX + 1];
	char run[RECORD_NAME_MAX + 1];	/* bundle */
	uint64_t first, size;		/* records [first, size) were read */
	uint64_t since;			/* size of the saved head that was gone on from; 0: none */
	uint64_t sealed;		/* tree size of the checkpoint */
	uint64_t bytes;
	char root[65];			/* hex, as signed */
	struct checkpoint head;		/* to be saved; meant where integrity holds */
	char *note;			/* its note, as it was read; or NULL */
	size_t note_len;
	struct verify_statement integrity, completeness, anchoring, coverage;
	struct verify_stream *stream;
	unsigned streams;
	struct verify_finding finding[VERIFY_FINDINGS_MAX];
	unsigned findings;		/* kept */
	uint64_t finding_count;
	uint64_t counted, counted_records;	/* refusals told by number, in so many records */
	uint64_t torn;		/* ends that a recorder cut off at its start, as it says */
	uint64_t scans_found;	/* signed scan records that say a secret was found */
	uint64_t scan_found;	/* the index of the first of them */
	uint64_t unclosed;		/* sessions without a close: what they had only counted is not here */
	bool uncounted;		/* bundle: its run's teardown counts nothing, and none says it would */
	uint64_t drops;			/* records declared as dropped */
	uint64_t lost;			/* records that adapters declare as lost */
	struct verify_anchor anchor[TRUST_WITNESSES_MAX + TRUST_AUTHORITIES_MAX];
	unsigned anchors;
	/* a bundle's files that neither the signed root, nor a pack's digest, nor an
	 * anchor that the trust policy counts on says anything about */
	char unvouched[VERIFY_UNVOUCHED_MAX][256];
	unsigned unvouched_kept;
	uint64_t unvouched_count;
	uint64_t anchored;		/* size that the policy's demands are met for; 0: none */
	int64_t anchored_s;		/* since then at the latest */
	struct verify_interval interval;
	bool after_vouched;		/* a bundle's: its file of the anchor before the run
				 * is what the run's opening names */
};

/*
 * With `since`, what the head commits to is taken as verified when it was
 * saved: streams go on as they stood there.  Where that cannot be confirmed
 * from the ledger, all of it is read as if `since` were not set; where the head
 * is not signed by the pinned key there is no result.
 *
 * 0 and a result (to be freed), or -1 with a message: not readable, neither a
 * bundle nor a ledger.
 */
int verify_run(const struct verify_options *options,
    struct verify_result *result, char *err, size_t err_len);
void verify_free(struct verify_result *result);

#endif
