/*
 * Makes ledgers for tests: lines composed, chained, and sealed by hand, so
 * that nothing here depends on the recorder, and everything can be made wrong.
 * The key's seed is the bytes 0 to 31.  Failures abort the test.
 */
#ifndef TESTS_LEDGER_MAKER_H
#define TESTS_LEDGER_MAKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ledger/record/record.h"
#include "ledger/tree/note.h"

#define MAKER_ORIGIN "ledger.example/test"
/* of the pack of one file, main.rego, that is "package x" and LF */
#define MAKER_PACK "72db5dd2a85d2d7c9d8e2c82840d75e51f39ca5d3f18bdc06e2ace90abc871b8"
#define MAKER_POLICY "sha256:" MAKER_PACK
#define MAKER_STREAMS 24
#define MAKER_STEP_US 1234567	/* from each record to the next */

struct maker_line {
	char *text;	/* without LF */
	size_t len;
	uint8_t leaf[TREE_HASH_LEN];
};

struct maker {
	struct note_key key;
	uint8_t sk[NOTE_SK_LEN];
	struct maker_line *line;
	size_t count, room;	/* lines there are; that the memory holds, or 0 */
	struct { char name[RECORD_NAME_MAX + 1]; uint64_t seq; uint8_t last[32]; } stream[MAKER_STREAMS];
	char *checkpoints, checkpoint[CHECKPOINT_NOTE_MAX + 1];
	size_t checkpoints_len;
	int64_t time_us;
	const char *policy;	/* of the records to come; NULL: MAKER_POLICY */
};

void maker_init(struct maker *maker);
void maker_free(struct maker *maker);

/* Append a record of a stream; run may be NULL.  Its index. */
uint64_t maker_add(struct maker *maker, const char *stream, const char *type,
    const char *run, const char *body);
/* The stream's next record gets this seq. */
void maker_skip(struct maker *maker, const char *stream, uint64_t seq);
/* Append a line as it is; it is no record of any stream. */
void maker_raw(struct maker *maker, const char *text, size_t len);
/* Work a line's leaf out again after it was changed in place. */
void maker_rehash(struct maker *maker, size_t index);
/* Sign all lines so far. */
void maker_seal(struct maker *maker);

/* Write records-*.jsonl (per_segment lines each; 0: one file), checkpoint,
 * checkpoints and log.vkey into dir, which is made.  They are written a MiB at a
 * time: the recorder takes zeros so, and it decides how large the pages of the
 * page cache are, which a reader pays for: 32 ns for 300 bytes, 48 where a file
 * was written 4 KiB at a time.  Not for two threads at once. */
void maker_save(const struct maker *maker, const char *dir, size_t per_segment);

/* About n records: streams `broker` and `hook`, runs run_a and run_b, all
 * opened, torn down and closed, sealed after each teardown and at the end. */
void maker_usual(struct maker *maker, size_t n);

/* A new empty directory for a test; remove_tree removes it. */
void make_temp_dir(char path[64]);
void remove_tree(const char *path);
void write_file(const char *dir, const char *name, const void *bytes, size_t len);
char *read_file(const char *dir, const char *name, size_t *len);

#endif
