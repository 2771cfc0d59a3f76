/*
 * The encrypted file behind struct vault_ops.  The image in memory is what the
 * file held when its inode, size and times were last seen; every operation
 * looks first whether they still are the same.  Writers hold FILE.lock.
 */
#include "vault/vault_file.h"
#include "vault/vault_image.h"
#include "private_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct vault_file {
	char *path;
	struct vault_keys *keys;
	struct vault_image *image;	/* NULL: to be read again */
	struct stat seen;		/* of the file that image came from */
	uint64_t generation;		/* the highest seen: none below is taken */
	uint8_t vault[16];		/* whose */
};

static enum vault_status
in_file(struct vault_error *err, const struct vault_file *file,
    enum vault_status status)
{
	char text[VAULT_ERR_MAX];

	if (status != VAULT_OK && err != NULL) {
		snprintf(text, sizeof(text), "%s", err->text);
		vault_fail(err, status, "%s: %s", file->path, text);
	}
	return status;
}

static void
forget_image(struct vault_file *file)
{
	vault_image_free(file->image);
	file->image = NULL;
}

static bool
same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
	    a->st_size == b->st_size &&
	    a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	    a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	    a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	    a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* A vault that was put in place of the one we know is not taken. */
static enum vault_status
check_succession(const struct vault_file *file, const struct vault_image *image,
    struct vault_error *err)
{
	if (vault_image_generation(image) < file->generation)
		return vault_fail(err, VAULT_DAMAGED, "%s: an older state was "
		    "put back while it was open: restart to accept it",
		    file->path);
	if (file->image != NULL && !vault_image_same_vault(file->image, image))
		return vault_fail(err, VAULT_DAMAGED, "%s: another vault stands "
		    "in its place: restart to accept it", file->path);
	return VAULT_OK;
}

/* Bring the image up to date; the caller holds the lock. */
static enum vault_status
refresh_locked(struct vault_file *file, struct vault_error *err)
{
	struct vault_image *image = NULL;
	enum vault_status status;
	struct stat now;
	uint8_t *bytes;
	size_t len = 0;

	if (stat(file->path, &now) != 0)
		return vault_fail_file(err, file->path, errno);
	if (file->image != NULL && same_file(&now, &file->seen))
		return VAULT_OK;
	bytes = private_file_read(file->path, PRIVATE_SECRET, VAULT_IMAGE_MAX,
	    &len);
	if (bytes == NULL)
		return vault_fail_file(err, file->path, errno);
	status = in_file(err, file, vault_image_decode(file->keys, bytes, len,
	    &image, err));
	free(bytes);
	if (status == VAULT_OK)
		status = check_succession(file, image, err);
	if (status != VAULT_OK) {
		vault_image_free(image);
		return status;
	}
	forget_image(file);
	file->image = image;
	file->seen = now;
	file->generation = vault_image_generation(image);
	memcpy(file->vault, vault_image_identity(image), sizeof(file->vault));
	return VAULT_OK;
}

static int
take_lock(struct vault_file *file, bool exclusive, enum vault_status *status,
    struct vault_error *err)
{
	int lock = private_file_lock(file->path, exclusive);

	if (lock < 0)
		*status = vault_fail(err, errno == ENOENT ? VAULT_MISSING :
		    VAULT_IO, "%s.lock: %s", file->path, strerror(errno));
	return lock;
}

/* For readers: the lock is needed only where there is something to read. */
static enum vault_status
refresh(struct vault_file *file, struct vault_error *err)
{
	enum vault_status status = VAULT_OK;
	struct stat now;
	int lock;

	if (file->image != NULL && stat(file->path, &now) == 0 &&
	    same_file(&now, &file->seen))
		return VAULT_OK;
	if ((lock = take_lock(file, false, &status, err)) < 0)
		return status;
	status = refresh_locked(file, err);
	close(lock);
	return status;
}

/* --- writing ----------------------------------------------------------- */

/* Overwrite what fd held, now that no name leads to it.  Best effort: see
 * FORMAT.md for what it cannot reach. */
static void
overwrite(int fd)
{
	static const uint8_t zeros[4096];
	struct stat st;
	off_t left;
	ssize_t n;

	if (fstat(fd, &st) != 0 || st.st_nlink != 0)
		return;
	for (left = st.st_size; left > 0; left -= n) {
		n = write(fd, zeros, left < (off_t)sizeof(zeros) ?
		    (size_t)left : sizeof(zeros));
		if (n <= 0)
			return;
	}
	fsync(fd);
}

/* Make the changed image the file.  On failure the image is dropped, so that
 * the next operation sees what the disk has. */
static enum vault_status
save(struct vault_file *file, bool erase, struct vault_error *err)
{
	enum vault_status status;
	uint8_t *bytes = NULL;
	size_t len = 0;
	int old = -1;

	status = in_file(err, file, vault_image_encode(file->keys, file->image,
	    &bytes, &len, err));
	if (status != VAULT_OK)
		goto out;
	if (erase)
		old = open(file->path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	if (private_file_replace(file->path, bytes, len) != 0 ||
	    stat(file->path, &file->seen) != 0) {
		status = vault_fail(err, VAULT_IO, "%s: %s", file->path,
		    strerror(errno));
		goto out;
	}
	file->generation = vault_image_generation(file->image);
	if (old >= 0)
		overwrite(old);
out:
	if (status != VAULT_OK)
		forget_image(file);
	if (old >= 0)
		close(old);
	free(bytes);
	return status;
}

static enum vault_status
file_put(void *ctx, const char *name, const void *bytes, size_t len,
    bool rotate, uint32_t *version, struct vault_error *err)
{
	struct vault_file *file = ctx;
	enum vault_status status = VAULT_OK;
	int lock;

	if ((lock = take_lock(file, true, &status, err)) < 0)
		return status;
	if ((status = refresh_locked(file, err)) == VAULT_OK)
		status = vault_image_put(file->keys, file->image, name, bytes,
		    len, rotate, (int64_t)time(NULL), version, err);
	if (status == VAULT_OK)
		status = save(file, false, err);
	close(lock);
	return status;
}

static enum vault_status
file_revoke(void *ctx, const char *name, uint32_t version,
    struct vault_error *err)
{
	struct vault_file *file = ctx;
	enum vault_status status = VAULT_OK;
	int lock;

	if ((lock = take_lock(file, true, &status, err)) < 0)
		return status;
	if ((status = refresh_locked(file, err)) == VAULT_OK)
		status = vault_image_revoke(file->image, name, version,
		    (int64_t)time(NULL), err);
	if (status == VAULT_OK)
		status = save(file, true, err);
	close(lock);
	return status;
}

/* --- reading ----------------------------------------------------------- */

static enum vault_status
file_get(void *ctx, const char *name, uint32_t version, struct secret **out,
    uint32_t *got, struct vault_error *err)
{
	struct vault_file *file = ctx;
	enum vault_status status;

	if ((status = refresh(file, err)) != VAULT_OK)
		return status;
	return vault_image_get(file->keys, file->image, name, version, out, got,
	    err);
}

static enum vault_status
file_list(void *ctx, void (*each)(void *arg, const char *name,
    uint32_t version, int64_t created_s, int64_t revoked_s), void *arg,
    struct vault_error *err)
{
	struct vault_file *file = ctx;
	enum vault_status status;

	if ((status = refresh(file, err)) == VAULT_OK)
		vault_image_list(file->image, each, arg);
	return status;
}

/* A file that is gone or unreadable counts as changed: the next get says so. */
static bool
file_changed(void *ctx)
{
	struct vault_file *file = ctx;
	struct stat now;

	return file->image == NULL || stat(file->path, &now) != 0 ||
	    !same_file(&now, &file->seen);
}

/* As it was last read or written: the image may be gone, the number is not. */
static void
file_edition(void *ctx, struct vault_edition *out)
{
	struct vault_file *file = ctx;

	out->generation = file->generation;
	memcpy(out->vault, file->vault, sizeof(out->vault));
}

static enum vault_status
file_raise(void *ctx, uint64_t above, struct vault_error *err)
{
	struct vault_file *file = ctx;
	enum vault_status status = VAULT_OK;
	int lock;

	if ((lock = take_lock(file, true, &status, err)) < 0)
		return status;
	if ((status = refresh_locked(file, err)) == VAULT_OK) {
		vault_image_raise(file->image, above);
		status = save(file, false, err);
	}
	close(lock);
	return status;
}

static void
file_close(void *ctx)
{
	struct vault_file *file = ctx;

	if (file == NULL)
		return;
	forget_image(file);
	vault_keys_free(file->keys);
	free(file->path);
	free(file);
}

static const struct vault_ops file_ops = {
	.backend = "file",
	.put = file_put,
	.get = file_get,
	.revoke = file_revoke,
	.list = file_list,
	.changed = file_changed,
	.close = file_close,
	.edition = file_edition,
	.raise = file_raise
};

/* --- create, open ------------------------------------------------------ */

enum vault_status
vault_file_create(const char *path, const uint8_t *key, struct vault_error *err)
{
	struct vault_keys *keys = vault_keys_new(key);
	struct vault_image *image = vault_image_new();
	enum vault_status status;
	uint8_t *bytes = NULL;
	size_t len = 0;

	if (keys == NULL || image == NULL)
		status = vault_fail(err, VAULT_IO, "%s: out of (locked) memory",
		    path);
	else
		status = vault_image_encode(keys, image, &bytes, &len, err);
	if (status == VAULT_OK && private_file_create(path, bytes, len) != 0)
		status = vault_fail_file(err, path, errno);
	free(bytes);
	vault_image_free(image);
	vault_keys_free(keys);
	return status;
}

enum vault_status
vault_file_open(const char *path, const uint8_t *key, struct vault **out,
    struct vault_error *err)
{
	struct vault_file *file = calloc(1, sizeof(*file));
	enum vault_status status = VAULT_OK;

	*out = NULL;
	if (file == NULL || (file->path = strdup(path)) == NULL ||
	    (file->keys = vault_keys_new(key)) == NULL)
		status = vault_fail(err, VAULT_IO, "%s: out of (locked) memory",
		    path);
	else if (access(path, F_OK) != 0)
		status = vault_fail_file(err, path, errno);
	else
		status = refresh(file, err);
	if (status == VAULT_OK && (*out = vault_new(&file_ops, file)) == NULL)
		status = vault_fail(err, VAULT_IO, "%s: out of memory", path);
	if (status != VAULT_OK)
		file_close(file);
	return status;
}
