/*
 * One stream as a VLC-1 journal (mechanism sha256-chain-canonical), for checkers
 * that know nothing of this format; vlc1-adapter.json declares it.
 *
 *   EPOCH_START   the policy's digest in force roots the chain; first_seq
 *   COVERAGE      what the adapters published, before the first event, and where it
 *                 changes before the record that says so
 *   <type>        each record: seq, time, run, policy_digest, leaf hash, index
 *   DROP          of a `drop` record: lost, from_seq, to_seq
 *   POLICY        of a `policy` record: before, after
 *   END           records and lost_total by the stream's own sequence numbers,
 *                 and the head
 *
 * Bodies are not repeated: the leaf hash binds each line to its record.  What
 * is produced is told by the stream's sequence numbers, which the recorder gave
 * before any queue, and not by counting what is there: a hole that no record
 * declares makes the sum wrong, as it should.
 */
#ifndef LEDGER_EXPORT_VLC1_H
#define LEDGER_EXPORT_VLC1_H

#include <stdbool.h>
#include <stdio.h>

#include "ledger/export/export.h"
#include "ledger/export/vlc1_sights.h"

struct vlc1 {
	FILE *out;
	char stream[RECORD_NAME_MAX + 1];
	uint8_t head[TREE_HASH_LEN];
	uint64_t first_seq, next_seq;
	uint64_t lost, others;	/* declared lost; records that are no events */
	struct vlc1_sights sights;
	bool begun, failed;
};

/* stream: whose records are taken; others are passed over. */
void vlc1_begin(struct vlc1 *journal, const char *stream, FILE *out);
/* What an adapter published first in the ledger, for the first COVERAGE: before the
 * first vlc1_add, of each `coverage` record in their order. */
void vlc1_published(struct vlc1 *journal, const struct facts *facts, uint64_t index);
/* 0, or -1 where it cannot be written. */
int vlc1_add(struct vlc1 *journal, const struct export_item *item);
int vlc1_end(struct vlc1 *journal);

/* vlc1-adapter.json, with a NUL behind it. */
const char *vlc1_adapter(size_t *len);

#endif
