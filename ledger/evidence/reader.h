/*
 * Reads the records of a ledger's directory, or of a bundle's, one after the
 * other, in constant memory; also while they are written.  For showing,
 * exporting and reporting: nothing is proved here, so no root is worked out.
 */
#ifndef LEDGER_EVIDENCE_READER_H
#define LEDGER_EVIDENCE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ledger/record/record.h"

struct reader_line {
	const char *text;	/* without LF; valid until the next call; of an
				 * overlong one its first RECORD_LINE_MAX bytes */
	size_t len;
	uint64_t index;		/* in the tree, by place */
	uint64_t line;		/* in its file, from 1 */
	uint64_t offset;	/* bytes of its file before it */
	const char *file;	/* below the directory */
	const char *rule;	/* NULL, or the rule that it breaks as a record */
	struct record_line record;	/* meant where rule is NULL */
};

struct reader;

/* NULL with a message: not readable, neither ledger nor bundle. */
struct reader *reader_open(const char *dir, char *err, size_t err_len);
void reader_close(struct reader *reader);

/* Index of the first record that there is. */
uint64_t reader_first(const struct reader *reader);
bool reader_is_bundle(const struct reader *reader);

/* Whether the directory that was opened is no more the one of that name: a
 * ledger that was put aside grows no more, though it can still be read. */
bool reader_put_aside(const struct reader *reader);

/* Go on at record index, which may be one past the last; reads at most one
 * file on the way.  0, or -1 where there is no such place, with a message. */
int reader_seek(struct reader *reader, uint64_t index, char *err, size_t err_len);

/* Go on at about the last n records: at the beginning of a file, with at least
 * n behind it where there are so many. */
int reader_seek_tail(struct reader *reader, uint64_t n, char *err, size_t err_len);

/* Go on at the beginning of the file that has records before index end
 * (UINT64_MAX: of the last one), whose first is put into *first.  1; 0 where
 * there is none before end; -1 with a message. */
int reader_seek_before(struct reader *reader, uint64_t end, uint64_t *first, char *err,
    size_t err_len);

/*
 * The next record.  1; 0 where there is none yet: what is written later is
 * seen by a later call; -1 with a message.
 */
int reader_next(struct reader *reader, struct reader_line *out, char *err,
    size_t err_len);

#endif
