/* What one export is about, and its two kinds.  Private to the command. */
#ifndef BROKER_CLI_EXPORT_JOB_H
#define BROKER_CLI_EXPORT_JOB_H

#include "cli/cli.h"
#include "ledger/evidence/reader.h"
#include "ledger/export/export.h"
#include "ledger/export/filter.h"
#include "ledger/tree/note.h"

struct export_job {
	const struct opts *opts;
	struct filter filter;
	struct export_seqs *seqs;	/* how far each stream is */
	char hostname[256], origin[NOTE_NAME_MAX + 1];	/* "": not known */
	char err[CLI_ERR_MAX];	/* of a journal */
};

/* What takes an item: 0, or -1 where it cannot be written. */
typedef int export_add(void *context, const struct export_item *item);

/* Add that line, where the filter lets it through.  leaf (may be NULL) gets its leaf
 * in either case.  What add returns. */
int export_job_take(struct export_job *job, const struct reader_line *line, export_add *add,
    void *context, uint8_t leaf[TREE_HASH_LEN]);

/* Events, as they are written: a line, frame or element for each record, in batches
 * to standard output or to --to, from --position on, and with --follow without an
 * end.  Which of its forms the format is, or -1. */
int export_events_form(const char *format);
/* The exit status; what is wrong was said. */
int export_events(struct export_job *job, int form, struct reader *reader);

/* Journals, which are written as a whole, to standard output.  0, or -1 with job->err. */
int export_vlc1(struct export_job *job, struct reader *reader);
int export_val(struct export_job *job, struct reader *reader);

#endif
