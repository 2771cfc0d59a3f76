#include "ledger/recorder/store.h"
#include "ledger/io.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NEXT_CHECKPOINT ".next-checkpoint"
#define LOG_SET_ASIDE (64 * 1024)
#define EPOCH_SET_ASIDE (16 * 1024)	/* of an entry: a short line and a proof */

static int
flush(struct store *store)
{
	if (store->buffered == 0)
		return 0;
	if (segment_write(&store->segment, store->buffer, store->buffered,
	    store->buffered_count) != 0)
		return -1;
	store->buffered = 0;
	store->buffered_count = 0;
	return 0;
}

static int
roll(struct store *store)
{
	struct segment *segment = &store->segment;
	uint64_t bytes;

	if (flush(store) != 0)
		return -1;
	bytes = segment->size;
	if (segment_roll(segment) != 0)
		return -1;
	grow_up(&store->grow);
	hashes_finish(&store->grow.hashes, bytes);
	hashes_start(&store->grow.hashes, store->dirfd, segment->first, NULL, 0);
	return 0;
}

enum store_status
store_room(struct store *store, bool control, char **line)
{
	const size_t most = RECORD_LINE_MAX + 1;
	enum segment_room room;

	if (STORE_BUFFER - store->buffered < most && flush(store) != 0)
		return STORE_FAILED;
	do {
		room = segment_room(&store->segment, store->buffered,
		    store->buffered_count, most, control);
		if (room == SEGMENT_ERROR ||
		    (room == SEGMENT_ROLL && roll(store) != 0))
			return STORE_FAILED;
	} while (room == SEGMENT_ROLL);
	*line = store->buffer + store->buffered;
	return room == SEGMENT_ROOM ? STORE_OK : STORE_FULL;
}

int
store_add(struct store *store, size_t len, uint8_t leaf[TREE_HASH_LEN])
{
	char *line = store->buffer + store->buffered;

	assert(len <= RECORD_LINE_MAX);
	if (store->keep_before)
		grow_tree(&store->grow, &store->before);
	tree_leaf(line, len, leaf);
	if (grow_add(&store->grow, leaf) != 0)
		return -1;
	store->last_len = len;
	line[len] = '\n';
	store->buffered += len + 1;
	store->buffered_count++;
	return 0;
}

int
store_commit(struct store *store)
{
	if (store->committed == store->grow.size)
		return 0;
	if (flush(store) != 0 ||
	    (store->sync && io_sync(store->segment.fd) != 0))
		return -1;
	store->committed = store->grow.size;
	return 0;
}

void
store_tidy(struct store *store)
{
	grow_tidy(&store->grow);
}

/* Behind the others; its blocks were set aside before, for a full disk. */
static int
log_checkpoint(struct store *store, const char *entry, size_t len)
{
	if (io_write(store->log_fd, entry, len, store->log_size) != 0 ||
	    io_sync(store->log_fd) != 0)
		return -1;
	store->log_size += len;
	if (store->log_size + LOG_SET_ASIDE / 2 > store->log_set_aside) {
		/* Where there is no space, the other half is left. */
		io_set_aside(store->log_fd, store->log_size, LOG_SET_ASIDE);
		store->log_set_aside = store->log_size + LOG_SET_ASIDE;
	}
	return 0;
}

/* The file that is replaced takes the other's place and is written over the
 * next time, so that a full disk has room for it. */
static int
replace_checkpoint(struct store *store, const char *note, size_t len)
{
	int fd = io_open(store->dirfd, NEXT_CHECKPOINT, O_WRONLY | O_CREAT,
	    0600);
	int status = -1;

	if (fd < 0)
		return -1;
	if (io_write(fd, note, len, 0) == 0 && io_truncate(fd, len) == 0 &&
	    io_sync_all(fd) == 0 &&
	    io_exchange(store->dirfd, NEXT_CHECKPOINT, "checkpoint") == 0 &&
	    io_sync_all(store->dirfd) == 0)
		status = 0;
	close(fd);
	return status;
}

int
store_checkpoint(struct store *store)
{
	char note[CHECKPOINT_NOTE_MAX + 2];
	int len;

	assert(store->committed == store->grow.size);
	if (store->signed_size == store->committed)
		return 0;
	len = store_sign(store, note, CHECKPOINT_NOTE_MAX + 1);
	if (len < 0)
		return -1;
	note[len] = '\n';
	hashes_flush(&store->grow.hashes);	/* so that it can be proved from */
	if (log_checkpoint(store, note, (size_t)len + 1) != 0 ||
	    replace_checkpoint(store, note, (size_t)len) != 0)
		return -1;
	store->signed_size = store->committed;
	return 0;
}

size_t
store_last_line(const struct store *store, char *out)
{
	assert(store->buffered > store->last_len);
	memcpy(out, store->buffer + store->buffered - 1 - store->last_len,
	    store->last_len);
	return store->last_len;
}

int
store_sign(struct store *store, char *out, size_t cap)
{
	struct tree_frontier tree;

	assert(store->committed == store->grow.size);
	grow_tree(&store->grow, &tree);
	return checkpoint_sign_tree(&tree, &store->key, store->sk, out, cap);
}

int
store_prepare_epoch(struct store *store)
{
	int fd = io_open(store->dirfd, EPOCHS_FILE, O_WRONLY | O_CREAT, 0600);
	int status = -1;

	if (fd < 0)
		return -1;
	if (io_set_aside(fd, store->epochs_size, EPOCH_SET_ASIDE) == 0 &&
	    io_sync_all(store->dirfd) == 0)
		status = 0;
	close(fd);
	return status;
}

int
store_add_epoch(struct store *store, const char *entry, size_t len)
{
	int fd = io_open(store->dirfd, EPOCHS_FILE, O_WRONLY | O_CREAT, 0600);
	const char *why = "";
	int status = -1;

	if (fd < 0)
		return -1;
	if (io_write(fd, entry, len, store->epochs_size) == 0 &&
	    io_sync_all(fd) == 0 && io_sync_all(store->dirfd) == 0 &&
	    epochs_follow(&store->epochs, entry, len, &why) == 0)
		status = 0;
	close(fd);
	store->epochs_size += len;
	store->key = store->epochs.epoch[store->epochs.count - 1].key;
	return status;
}

bool
store_wants_space(const struct store *store)
{
	return segment_wants_space(&store->segment);
}

int
store_prepare(struct store *store)
{
	return segment_prepare(&store->segment);
}

int
store_close(struct store *store)
{
	uint64_t bytes = store->segment.size;
	int status = segment_close(&store->segment);

	grow_up(&store->grow);
	hashes_finish(&store->grow.hashes, bytes);	/* nothing where not full */
	store_abandon(store);
	return status;
}

void
store_abandon(struct store *store)
{
	segment_abandon(&store->segment);
	grow_stop(&store->grow);
	if (store->log_fd >= 0)
		close(store->log_fd);
	if (store->dirfd >= 0)
		close(store->dirfd);
	if (store->lock_fd >= 0)
		close(store->lock_fd);	/* last: it lets the next writer in */
	free(store->buffer);
	epochs_free(&store->epochs);
	*store = (struct store){ .dirfd = -1, .lock_fd = -1, .log_fd = -1 };
	store->segment.fd = store->segment.next_fd = -1;
	grow_init(&store->grow);
}
