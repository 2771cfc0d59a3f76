#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ledger/evidence/evidence.h"
#include "ledger/io.h"
#include "ledger/verify/load.h"
#include "ledger/verify/seal_many.h"

#define LOG "checkpoints"
#define TASKS 512		/* checkpoints that are verified at once */
#define BLOCK (4 * NOTE_MAX)	/* bytes of the log in memory */

/* Signed by a key of another epoch than the size belongs to? */
static bool
other_epoch(const struct epochs *epochs, const struct note *note)
{
	for (unsigned i = 0; i < note->count; i++) {
		int at = epochs_find(epochs, note->sig[i].id);

		if (at >= 0 && note_verify(note, &epochs->epoch[at].key, NULL) ==
		    NOTE_GOOD)
			return true;
	}
	return false;
}

void
seal_read(struct seal *seal, const char *text, size_t len,
    const struct epochs *epochs, char *origin)
{
	const struct note_key *key;
	struct checkpoint at;
	struct note note;

	memset(seal, 0, sizeof(*seal));
	seal->state = SEAL_MALFORMED;
	if (note_parse(&note, text, len, &seal->why) != 0)
		return;
	if (checkpoint_parse(&at, note.text, note.text_len) != 0) {
		seal->why = "not three lines of origin, size and root";
		return;
	}
	seal->at.size = at.size;
	memcpy(seal->at.root, at.root, TREE_HASH_LEN);
	if (origin != NULL)
		memcpy(origin, at.origin, sizeof(at.origin));
	seal->others = note.count;
	seal->state = SEAL_UNPINNED;
	seal->why = "no key of its origin is pinned";
	if (epochs == NULL || epochs->count == 0)
		return;
	key = epochs_key(epochs, at.size);
	seal->why = "another ledger's origin";
	if (strcmp(at.origin, key->name) != 0)
		return;
	switch (note_verify(&note, key, NULL)) {
	case NOTE_GOOD:
		seal->state = SEAL_GOOD;
		seal->others = note.count - 1;
		seal->why = "";
		break;
	case NOTE_UNSIGNED:
		seal->why = "not signed by the pinned key";
		if (!other_epoch(epochs, &note))
			break;
		seal->state = SEAL_FORGED;
		seal->why = "signed by a key of another epoch, which may not "
		    "sign this size";
		break;
	case NOTE_FORGED:
		seal->state = SEAL_FORGED;
		seal->why = "the pinned key's signature does not match";
		break;
	}
}

int
seals_add(struct seals *seals, const struct seal *seal)
{
	struct seal *more;

	if (seals->count == SEALS_MAX) {	/* in place of the oldest */
		seals->more = true;
		seals->seal[seals->oldest++ % SEALS_MAX] = *seal;
		return 0;
	}
	if ((seals->count & (seals->count + 1)) == 0) {
		more = realloc(seals->seal, (2 * (size_t)seals->count + 2) * sizeof(*more));
		if (more == NULL)
			return -1;
		seals->seal = more;
	}
	seals->seal[seals->count++] = *seal;
	return 0;
}

static int
by_size(const void *a, const void *b)
{
	const struct seal *x = a, *y = b;

	return (x->at.size > y->at.size) - (x->at.size < y->at.size);
}

void
seals_sort(struct seals *seals)
{
	if (seals->count > 1)
		qsort(seals->seal, seals->count, sizeof(*seals->seal), by_size);
}

/* ---- the log of all ---- */

/* A window over the file, that moves on. */
struct log {
	int fd;
	uint64_t size, at;	/* of the file; where the window's end is in it */
	char *buf;
	size_t have, used;
};

/* Where a note that starts at p ends: behind the last line with a dash.  NULL:
 * not within what is here. */
static const char *
note_end(const char *p, const char *end)
{
	const char *blank = memmem(p, (size_t)(end - p), "\n\n", 2), *lf;

	if (blank == NULL)
		return NULL;
	for (p = blank + 2; end - p > 3 && memcmp(p, "\xe2\x80\x94", 3) == 0; p = lf + 1)
		if ((lf = memchr(p, '\n', (size_t)(end - p))) == NULL)
			return NULL;
	return p == blank + 2 ? NULL : p;
}

static int
log_open(struct log *log, int dirfd)
{
	*log = (struct log){ .fd = -1 };
	if ((log->buf = malloc(BLOCK)) == NULL)
		return -1;
	log->fd = evidence_open(dirfd, LOG, &log->size);
	return log->fd >= 0 ? 0 : -1;
}

static void
log_close(struct log *log)
{
	free(log->buf);
	if (log->fd >= 0)
		close(log->fd);
}

/* Drop what was used, and read on behind the rest.  0, or -1 and errno. */
static int
log_fill(struct log *log)
{
	uint64_t left = log->size - log->at;
	size_t room;
	ptrdiff_t n;

	memmove(log->buf, log->buf + log->used, log->have - log->used);
	log->have -= log->used;
	log->used = 0;
	room = BLOCK - log->have;
	n = io_read(log->fd, log->buf + log->have, left < room ? (size_t)left : room,
	    log->at);
	if (n < 0)
		return -1;
	log->have += (size_t)n;
	log->at += (uint64_t)n;
	return 0;
}

/*
 * The next note, until the call after.  1; 0 at the end, or where the last one
 * is being written or cut (the latest is in a file of its own); -1 and errno,
 * EFBIG where one is too long.
 */
static int
log_next(struct log *log, const char **note, size_t *len)
{
	const char *end;

	for (;;) {
		while (log->used < log->have && log->buf[log->used] == '\n')
			log->used++;
		*note = log->buf + log->used;
		end = note_end(*note, log->buf + log->have);
		/* one more line of it may follow what is here */
		if (end != NULL && (end < log->buf + log->have || log->at == log->size))
			break;
		if (log->at == log->size)
			return 0;
		if (log->used == 0 && log->have == BLOCK) {
			errno = EFBIG;
			return -1;
		}
		if (log_fill(log) != 0)
			return -1;
	}
	*len = (size_t)(end - *note);
	log->used = (size_t)(end - log->buf);
	return 1;
}

/* Go on at the first note that begins behind offset `at`. */
static int
log_seek(struct log *log, uint64_t at)
{
	const char *p, *end;

	log->have = log->used = 0;
	log->at = at;
	if (log_fill(log) != 0)
		return -1;
	if (at == 0)
		return 0;
	for (p = log->buf, end = p + log->have; (p = memmem(p, (size_t)(end - p), "\n\n",
	    2)) != NULL; p++)
		if (end - p > 4 && memcmp(p + 2, "\xe2\x80\x94", 3) != 0)
			break;
	log->used = p == NULL ? log->have : (size_t)(p + 2 - log->buf);
	return 0;
}

/* Begin so far from the end that the first note read is of at most size
 * `from`, or at the beginning: the cost is that of what came since. */
static int
log_seek_size(struct log *log, uint64_t from)
{
	uint64_t back;
	struct seal seal;
	const char *note;
	size_t len;

	for (back = BLOCK / 4; from > 0 && back < log->size; back *= 4) {
		if (log_seek(log, log->size - back) != 0)
			return -1;
		if (log_next(log, &note, &len) == 1) {
			seal_read(&seal, note, len, NULL, NULL);
			if (seal.state != SEAL_MALFORMED && seal.at.size <= from)
				return log_seek(log, log->size - back);
		}
	}
	return log_seek(log, 0);
}

/* What seals_load_log is about. */
struct load_log {
	struct seals *seals;
	const struct seals_log *from;
	struct verify_result *result;
	uint64_t size;			/* of the last one that was good */
	struct seal_task task[TASKS];
	unsigned tasks;
};

/* The next notes of the log, as many as are verified at once.  As log_next. */
static int
gather(struct load_log *l, struct log *log)
{
	const struct seals_log *from = l->from;
	struct seal_task *task;
	const char *note;
	int status = 1;
	size_t len;

	for (l->tasks = 0; l->tasks < TASKS && (status = log_next(log, &note, &len)) == 1;) {
		task = &l->task[l->tasks];
		*task = (struct seal_task){ .text = NULL, .len = len,
		    .end = log->at - (log->have - log->used) };
		seal_read(&task->seal, note, len, NULL, NULL);
		if (task->seal.state != SEAL_MALFORMED && task->seal.at.size < from->size)
			continue;	/* of what was verified before */
		l->tasks++;
		if (from->note != NULL && len == from->note_len &&
		    memcmp(note, from->note, len) == 0)
			task->seal = *from->latest;
		else if (task->seal.state != SEAL_MALFORMED &&
		    (task->text = strndup(note, len)) == NULL)
			return -1;
	}
	return status;
}

/* In the order of the file.  0, or -1 where memory lacks. */
static int
take(struct load_log *l)
{
	const struct seal_task *task;
	unsigned i;

	for (i = 0; i < l->tasks; i++) {
		task = &l->task[i];
		if (task->seal.state == SEAL_FORGED || task->seal.state == SEAL_MALFORMED)
			verify_find(l->result, VERIFY_GAP, "checkpoint", "the checkpoint that "
			    "ends at byte %" PRIu64 " of the file of all: %s", task->end,
			    task->seal.why);
		else if (task->seal.at.size < l->size)
			verify_find(l->result, VERIFY_GAP, "rollback", "the file of all "
			    "checkpoints has size %" PRIu64 " after size %" PRIu64,
			    task->seal.at.size, l->size);
		else
			l->size = task->seal.at.size;
		if (task->seal.state != SEAL_MALFORMED && seals_add(l->seals, &task->seal) != 0)
			return -1;
	}
	return 0;
}

/* 0, or -1 and errno. */
static int
load_all(struct load_log *l, struct log *log)
{
	int status, error, taken;
	unsigned i;

	do {
		status = gather(l, log);
		error = errno;
		seal_many(l->task, l->tasks, l->from->epochs, l->from->threads);
		taken = take(l);
		for (i = 0; i < l->tasks; i++)
			free(l->task[i].text);
		errno = taken != 0 ? ENOMEM : error;
	} while (status == 1 && taken == 0);
	return status < 0 || taken != 0 ? -1 : 0;
}

/* The writer puts each into the log first, so the latest one is there. */
static void
check_latest(const struct load_log *l)
{
	const struct seal *latest = l->from->latest;

	if (latest->state == SEAL_MALFORMED || latest->state == SEAL_FORGED ||
	    latest->at.size < l->from->size || l->size >= latest->at.size)
		return;
	verify_find(l->result, VERIFY_NOT_ESTABLISHED, LOG, "the file of all checkpoints "
	    "ends with size %" PRIu64 ", the latest checkpoint has %" PRIu64
	    ": some are gone from it", l->size, latest->at.size);
}

int
seals_load_log(struct seals *seals, const struct seals_log *from,
    struct verify_result *result)
{
	struct load_log *l = calloc(1, sizeof(*l));
	struct log log = { .fd = -1 };
	int status = 0;

	if (l == NULL)
		return -1;
	l->seals = seals;
	l->from = from;
	l->result = result;
	if (log_open(&log, from->dirfd) != 0 || log_seek_size(&log, from->size) != 0) {
		verify_find(result, VERIFY_NOT_ESTABLISHED, LOG,
		    "the file of all checkpoints cannot be read: %s", load_reason());
	} else if ((status = load_all(l, &log)) != 0 && errno != ENOMEM) {
		verify_find(result, VERIFY_GAP, "checkpoint",
		    "the file of all checkpoints: %s", load_reason());
		status = 0;
	} else if (status == 0) {
		check_latest(l);
	}
	if (seals->more)
		verify_find(result, VERIFY_NOT_ESTABLISHED, LOG, "more than %u checkpoints: "
		    "the oldest were not compared with the records", SEALS_MAX);
	log_close(&log);
	free(l);
	return status;
}

char *
seals_find_text(int dirfd, const struct seal *wanted, size_t *len)
{
	char *copy = NULL;
	struct seal seal;
	const char *note;
	struct log log;

	if (log_open(&log, dirfd) == 0 && log_seek_size(&log, wanted->at.size == 0 ? 0 : wanted->at.size - 1) == 0)
		while (copy == NULL && log_next(&log, &note, len) == 1) {
			seal_read(&seal, note, *len, NULL, NULL);
			if (seal.state != SEAL_MALFORMED && seal.at.size == wanted->at.size &&
			    memcmp(seal.at.root, wanted->at.root, TREE_HASH_LEN) == 0)
				copy = strndup(note, *len);
		}
	log_close(&log);
	return copy;
}
