/* Many checkpoints at once, on several threads: a signature takes as long as
 * a hundred records, and a year of them has half a million.  Private to verify. */
#ifndef LEDGER_VERIFY_SEAL_MANY_H
#define LEDGER_VERIFY_SEAL_MANY_H

#include "ledger/verify/seals.h"

#define SEAL_MANY_THREADS 16

struct seal_task {
	char *text;		/* of a note whose form is good; NULL: seal is known */
	size_t len;
	uint64_t end;		/* where the note ends in its file */
	struct seal seal;	/* out, by seal_read */
};

/* Returns once all are read; with fewer threads than asked for it is only
 * slower. */
void seal_many(struct seal_task *task, unsigned count, const struct epochs *epochs,
    unsigned threads);

#endif
