/*
 * A ledger in a temporary directory, for tests: made, opened, filled, read
 * back and held against the format without any of the writer's code.
 */
#ifndef TESTS_SCRATCH_LEDGER_H
#define TESTS_SCRATCH_LEDGER_H

#include "ledger/recorder/append.h"
#include "ledger/tree/note.h"

#define SCRATCH_ORIGIN "log.example.com/test"
#define SCRATCH_POLICY "sha256:" \
	"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

struct scratch {
	char dir[256];		/* holds the ledger; its parent is removed too */
	char parent[256];
	uint8_t seed[32];
	struct ledger_options options;
	char err[512];		/* of the last call */
};

/* A new, empty ledger under parent (NULL: in memory where there is /dev/shm),
 * and the options to open it with, which the test may change.  Ends the test
 * where it cannot. */
void scratch_init(struct scratch *scratch, const char *parent);
void scratch_remove(struct scratch *scratch);

/* NULL with scratch->err. */
struct ledger *scratch_open(struct scratch *scratch);

/* Append {"n":<n>,...} of about body_len bytes and wait. */
enum ledger_status scratch_append(struct ledger_port *port, uint64_t n,
    size_t body_len, struct ledger_receipt *receipt);

/* What a reader finds. */
struct scratch_line {
	char type[16];
	uint64_t seq;
	uint64_t n;		/* the body's, UINT64_MAX where there is none */
	uint8_t leaf[LEDGER_LEAF_LEN];
};

struct scratch_read {
	struct scratch_line *lines;	/* to be freed */
	uint64_t count;			/* whole records, in all segments */
	uint64_t tail;			/* bytes behind them that are not NUL */
	uint64_t nuls;			/* NULs behind them */
	uint64_t segments;
	struct checkpoint checkpoint;	/* the latest, verified */
	uint64_t checkpoints;		/* entries of the log */
};

/*
 * Read everything and check it: segments' names, modes and sizes, every line's
 * form, every stream's chain, the latest checkpoint's signature and root.  0,
 * or -1 with what is wrong in scratch->err.
 */
int scratch_check(struct scratch *scratch, struct scratch_read *out);

/* One past the last record of that type, or 0. */
uint64_t scratch_find(const struct scratch_read *read, const char *type);

#endif
