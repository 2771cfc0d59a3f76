/* What verification reads before the records: which files there are, where
 * they begin, and the checkpoints that they are held against. */
#ifndef LEDGER_VERIFY_LOAD_H
#define LEDGER_VERIFY_LOAD_H

#include "ledger/anchor/gather.h"
#include "ledger/evidence/manifest.h"
#include "ledger/tree/epochs.h"
#include "ledger/verify/leaves.h"
#include "ledger/verify/seals.h"
#include "ledger/verify/verify.h"
#include "ledger/verify/walk.h"

#define LOAD_SEGMENTS_MAX 65536

struct load {
	int dirfd;
	enum verify_kind kind;
	struct epochs epochs;		/* the log's keys; none where none is pinned */
	struct manifest manifest;	/* bundle */
	bool manifest_good;
	struct walk_segment *segment;
	unsigned segments;
	struct tree_frontier frontier;	/* over what precedes the records */
	bool frontier_good;
	struct seals seals;		/* of the log, the latest one, the saved one, others' */
	struct gather others;		/* what others signed and stamped */
	struct seal latest, head;	/* head: the saved one, where there is one */
	char origin[NOTE_NAME_MAX + 1];	/* of the latest one */
	char *note;			/* its file, or NULL */
	size_t note_len;
	struct leaves leaves;		/* bundle: level 0 as it was */
	bool leaves_good;		/* they give the checkpoint's root */
	uint64_t bytes;			/* in all files that were listed */
};

/* Findings go into the result.  0, or -1 with a message. */
int load_open(struct load *load, const struct verify_options *options,
    struct verify_result *result, char *err, size_t err_len);
void load_close(struct load *load);

/* As many as the options say, or as suits the machine. */
unsigned load_threads(const struct verify_options *options);

/* Size of the latest checkpoint, 0 where there is none that can be read. */
uint64_t load_sealed(const struct load *load);

/* The tree of the records before that segment, from the roots that stand beside
 * the full segments; whoever uses it lets a signed root confirm it.  -1: there
 * are none that fit the files, or a segment before is not full. */
int load_tree_before(const struct load *load, unsigned segment,
    struct tree_frontier *tree);

/* The text of the note of that checkpoint, to be freed, the latest one or from
 * a ledger's log of all; NULL where it is neither. */
char *load_note_text(const struct load *load, const struct seal *seal, size_t *len);

/* What errno says of a file that could not be read, for a finding. */
const char *load_reason(void);

/* One more finding, to be filled in; never NULL. */
struct verify_finding *verify_find(struct verify_result *result,
    enum verify_verdict verdict, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* It is of a whole file, as its path may be shown; one that is too long is of all. */
void verify_of_file(struct verify_finding *finding, const char *path);

#endif
