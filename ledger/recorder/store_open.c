#include "ledger/clock.h"
#include "ledger/recorder/store.h"
#include "ledger/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <sodium.h>

static int
open_dir(struct store *store, const char *dir, struct problem *problem)
{
	struct stat st;

	store->dirfd = io_open(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0);
	if (store->dirfd < 0 || fstat(store->dirfd, &st) != 0)
		return problem_errno(problem, "cannot open the ledger %s", dir);
	if (st.st_uid != geteuid() || (st.st_mode & 022) != 0)
		return problem_set(problem, "the ledger %s must belong to this "
		    "user and be writable by nobody else", dir);
	return 0;
}

static int
lock(struct store *store, struct problem *problem)
{
	char pid[32] = "";
	int len;

	store->lock_fd = io_open(store->dirfd, "lock", O_RDWR | O_CREAT, 0600);
	if (store->lock_fd < 0)
		return problem_errno(problem, "cannot open the lock file");
	if (flock(store->lock_fd, LOCK_EX | LOCK_NB) != 0) {
		if (errno != EWOULDBLOCK)
			return problem_errno(problem, "cannot lock the ledger");
		io_read(store->lock_fd, pid, sizeof(pid) - 1, 0);
		pid[strspn(pid, "0123456789")] = '\0';
		return problem_set(problem, "the ledger is being written by "
		    "process %s; a ledger has one writer",
		    pid[0] != '\0' ? pid : "(unknown)");
	}
	len = snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
	if (ftruncate(store->lock_fd, 0) != 0 ||
	    pwrite(store->lock_fd, pid, (size_t)len, 0) != len)
		return problem_errno(problem, "cannot write the lock file");
	return 0;
}

static int
truncate_epochs(const struct store *store)
{
	int fd = io_open(store->dirfd, EPOCHS_FILE, O_WRONLY, 0);
	int status = -1;

	if (fd < 0)
		return -1;
	if (io_truncate(fd, store->epochs_size) == 0)
		status = io_sync_all(fd);
	close(fd);
	return status;
}

/* Cut what a crash left behind the last whole entry, and follow the rest. */
static int
follow_epochs(struct store *store, char *text, size_t len,
    struct problem *problem)
{
	const char *why = "";

	store->epochs_size = epochs_whole(text, len);
	if (epochs_follow(&store->epochs, text, store->epochs_size, &why) != 0)
		return problem_set(problem, EPOCHS_FILE ": %s", why);
	if (store->epochs_size == len)
		return 0;
	if (truncate_epochs(store) != 0)
		return problem_errno(problem, "cannot cut " EPOCHS_FILE);
	return 0;
}

static int
read_epochs(struct store *store, struct problem *problem)
{
	int fd = io_open(store->dirfd, EPOCHS_FILE, O_RDONLY, 0);
	off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : -1;
	char *text = NULL;
	ssize_t n = -1;
	int status;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (size >= 0 && size <= EPOCHS_BYTES_MAX &&
	    (text = malloc((size_t)size + 1)) != NULL)
		n = io_read(fd, text, (size_t)size, 0);
	if (fd >= 0)
		close(fd);
	status = n == size && text != NULL ?
	    follow_epochs(store, text, (size_t)n, problem) :
	    problem_errno(problem, "cannot read " EPOCHS_FILE);
	free(text);
	store->key = store->epochs.epoch[store->epochs.count - 1].key;
	return status;
}

static bool
key_fits(const struct store *store)
{
	return memcmp(store->key.pk, store->sk + STORE_SEED_LEN,
	    NOTE_PK_LEN) == 0;
}

/* Between the entry of an epoch and the change of its seed a crash came. */
static int
take_next(struct store *store, const struct ledger_keeper *keeper)
{
	uint8_t pk[NOTE_PK_LEN], *seed;
	int status = -1;

	if (keeper == NULL || (seed = sodium_malloc(STORE_SEED_LEN)) == NULL)
		return -1;
	if (keeper->load_next(keeper->context, seed) == 0) {
		crypto_sign_seed_keypair(pk, store->sk, seed);
		status = key_fits(store) ? keeper->advance(keeper->context) : -1;
	}
	sodium_free(seed);
	return status;
}

/* The key in log.vkey, or the one that follows from it, must be the one that
 * we can sign with. */
static int
read_key(struct store *store, const struct ledger_keeper *keeper,
    struct problem *problem)
{
	char vkey[NOTE_VKEY_MAX + 2];
	struct stat st;
	ssize_t len = io_read_file(store->dirfd, "log.vkey", vkey,
	    sizeof(vkey));

	if (len < 0)
		return problem_errno(problem, "no ledger here: log.vkey");
	if (len > 0 && vkey[len - 1] == '\n')
		len--;
	if (note_key_parse(&store->key, vkey, (size_t)len) != 0 ||
	    store->key.type != NOTE_ED25519)
		return problem_set(problem, "log.vkey is malformed");
	if (fstatat(store->dirfd, "log.vkey", &st, AT_SYMLINK_NOFOLLOW) == 0)
		store->born_s = st.st_mtim.tv_sec;
	if (epochs_pin(&store->epochs, &store->key) != 0)
		return problem_set(problem, "out of memory");
	if (read_epochs(store, problem) != 0)
		return -1;
	if (!key_fits(store) && take_next(store, keeper) != 0)
		return problem_set(problem, "the signing key is not the one "
		    "that %s names: this ledger was restored from a backup, or "
		    "its seed was; start a new one that names it "
		    "(countersign ledger restart-origin)",
		    store->epochs.count > 1 ? EPOCHS_FILE : "log.vkey");
	return 0;
}

/* By the key of its size's epoch. */
static int
open_checkpoint(const struct store *store, struct checkpoint *checkpoint,
    const char *text, size_t len, const char **why)
{
	struct note note;

	if (note_parse(&note, text, len, why) != 0)
		return -1;
	if (checkpoint_parse(checkpoint, note.text, note.text_len) != 0) {
		*why = "not three lines of origin, size and root";
		return -1;
	}
	return checkpoint_open(checkpoint, text, len,
	    epochs_key(&store->epochs, checkpoint->size), why);
}

static int
read_checkpoint(struct store *store, struct checkpoint *checkpoint,
    struct problem *problem)
{
	char note[NOTE_MAX];
	const char *why = "";
	ssize_t len = io_read_file(store->dirfd, "checkpoint", note,
	    sizeof(note));

	if (len < 0)
		return problem_errno(problem, "cannot read checkpoint");
	if (open_checkpoint(store, checkpoint, note, (size_t)len, &why) != 0)
		return problem_set(problem, "checkpoint: %s", why);
	return 0;
}

/*
 * The last entry of the log of checkpoints, where it is newer than the file
 * `checkpoint`: a crash came between the two.  Whatever follows it was torn,
 * and is cut.
 */
static int
read_log(struct store *store, struct checkpoint *checkpoint,
    struct problem *problem)
{
	/* The last entry, what was torn behind it, and the one before. */
	char tail[3 * (CHECKPOINT_NOTE_MAX + 2)];
	struct checkpoint last;
	const char *why = "";
	size_t start, end;
	off_t size;
	ssize_t len;

	store->log_fd = io_open(store->dirfd, "checkpoints", O_RDWR, 0);
	size = store->log_fd >= 0 ? lseek(store->log_fd, 0, SEEK_END) : -1;
	if (size < 0)
		return problem_errno(problem, "cannot open checkpoints");
	start = (size_t)size > sizeof(tail) ? (size_t)size - sizeof(tail) : 0;
	len = io_read(store->log_fd, tail, sizeof(tail), start);
	if (len < 0)
		return problem_errno(problem, "cannot read checkpoints");
	end = note_last_end(tail, (size_t)len);
	store->log_size = start + end;
	if (end == 0 || io_truncate(store->log_fd, store->log_size) != 0)
		return problem_set(problem, "checkpoints has no whole entry");
	start = note_last_end(tail, end - 1);
	if (open_checkpoint(store, &last, tail + start, end - 1 - start,
	    &why) != 0)
		return problem_set(problem, "the last entry of checkpoints: %s",
		    why);
	if (last.size > checkpoint->size)
		*checkpoint = last;
	return 0;
}

static int
open_last_segment(struct store *store, const struct replay *replay,
    uint64_t reserve, struct problem *problem)
{
	uint64_t first = replay->segment_first, count = replay->segment_count;
	uint64_t size = replay->segment_size;

	unlinkat(store->dirfd, SEGMENT_NEXT, 0);
	if (count == SEGMENT_RECORDS) {
		first += SEGMENT_RECORDS;
		count = size = 0;
	}
	if (grow_start(&store->grow, &replay->tree) != 0)
		return problem_set(problem, "out of memory");
	hashes_start(&store->grow.hashes, store->dirfd, first,
	    (const uint8_t (*)[TREE_HASH_LEN])replay->leaves, count);
	return segment_open(&store->segment, store->dirfd, first, count, size,
	    reserve, store->sync, problem);
}

static int
open_files(struct store *store, const char *dir,
    const struct ledger_keeper *keeper, bool check_all, struct replay *replay, struct checkpoint *checkpoint,
    struct problem *problem)
{
	if (open_dir(store, dir, problem) != 0 || lock(store, problem) != 0 ||
	    read_key(store, keeper, problem) != 0 ||
	    read_checkpoint(store, checkpoint, problem) != 0 ||
	    read_log(store, checkpoint, problem) != 0)
		return -1;
	return replay_run(replay, store->dirfd, checkpoint, check_all,
	    problem);
}

int
store_open(struct store *store, const char *dir, uint8_t sk[NOTE_SK_LEN],
    const struct ledger_keeper *keeper, bool sync, bool check_all,
    uint64_t reserve, struct replay *replay, struct replay_torn *torn,
    struct problem *problem)
{
	struct checkpoint checkpoint = { .size = 0 };

	*store = (struct store){ .dirfd = -1, .lock_fd = -1, .log_fd = -1,
	    .sk = sk, .sync = sync };
	store->segment.fd = store->segment.next_fd = -1;
	grow_init(&store->grow);
	*replay = (struct replay){ .streams = NULL };
	store->buffer = malloc(STORE_BUFFER);
	if (store->buffer == NULL) {
		problem_set(problem, "out of memory");
		goto fail;
	}
	if (open_files(store, dir, keeper, check_all, replay, &checkpoint,
	    problem) != 0 ||
	    replay_set_aside(replay, store->dirfd, clock_wall_us(), torn,
	    problem) != 0 ||
	    open_last_segment(store, replay, reserve, problem) != 0)
		goto fail;
	store->committed = store->grow.size;
	store->signed_size = checkpoint.size;
	return 0;
fail:
	replay_free(replay);
	store_abandon(store);
	return -1;
}
