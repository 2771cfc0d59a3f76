#include "ledger/recorder/store.h"
#include "ledger/io.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static int
make_key(struct note_key *key, const char *origin,
    const uint8_t sk[NOTE_SK_LEN], struct problem *problem)
{
	/* The public half stands behind the seed in libsodium's secret key. */
	if (note_key_make(key, origin, NOTE_ED25519, sk + STORE_SEED_LEN) != 0)
		return problem_set(problem, "the origin must be a name without "
		    "spaces and '+', like log.example.com/agent");
	return 0;
}

/* The directory's own entry too. */
static int
sync_dir(int dirfd)
{
	int parent = io_open(dirfd, "..", O_RDONLY | O_DIRECTORY, 0);
	int status = parent >= 0 && io_sync_all(dirfd) == 0 &&
	    io_sync_all(parent) == 0 ? 0 : -1;

	if (parent >= 0)
		close(parent);
	return status;
}

/* log.vkey comes last: it makes the directory a ledger. */
static int
write_empty(int dirfd, const struct note_key *key,
    const uint8_t sk[NOTE_SK_LEN])
{
	char note[CHECKPOINT_NOTE_MAX + 2], vkey[NOTE_VKEY_MAX + 2];
	struct tree_frontier tree;
	int note_len, vkey_len;

	tree_frontier_init(&tree);
	note_len = checkpoint_sign_tree(&tree, key, sk, note, CHECKPOINT_NOTE_MAX + 1);
	vkey_len = note_key_format(key, vkey, NOTE_VKEY_MAX + 1);
	assert(note_len > 0 && vkey_len > 0);
	vkey[vkey_len] = '\n';
	note[note_len] = '\n';
	if (io_write_new(dirfd, "checkpoint", 0600, note, (size_t)note_len) != 0 ||
	    io_write_new(dirfd, "checkpoints", 0600, note,
	    (size_t)note_len + 1) != 0 ||
	    io_write_new(dirfd, "log.vkey", 0600, vkey,
	    (size_t)vkey_len + 1) != 0)
		return -1;
	return sync_dir(dirfd);
}

static bool
is_there(int dirfd, const char *name)
{
	return faccessat(dirfd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int
store_create(const char *dir, const char *origin,
    const uint8_t sk[NOTE_SK_LEN], struct problem *problem)
{
	char first[SEGMENT_NAME_MAX];
	struct note_key key;
	int dirfd, status = -1;

	segment_name(first, 0);
	if (make_key(&key, origin, sk, problem) != 0)
		return -1;
	if (mkdir(dir, 0700) != 0 && errno != EEXIST)
		return problem_errno(problem, "cannot make %s", dir);
	dirfd = io_open(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0);
	if (dirfd < 0)
		return problem_errno(problem, "cannot open %s", dir);
	if (is_there(dirfd, "log.vkey") || is_there(dirfd, first))
		problem_set(problem, "%s holds a ledger already", dir);
	else if (write_empty(dirfd, &key, sk) != 0)
		problem_errno(problem, "cannot make the ledger in %s", dir);
	else
		status = 0;
	close(dirfd);
	return status;
}
