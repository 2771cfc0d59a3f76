/*
 * Small files that only their owner may touch, replaced as a whole: what is
 * read is the old bytes or the new ones, whatever happens in between.
 */
#ifndef BROKER_PRIVATE_FILE_H
#define BROKER_PRIVATE_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Which permission bits of others make private_file_read refuse. */
#define PRIVATE_SECRET 077	/* nobody else may read or write */
#define PRIVATE_SETTINGS 022	/* nobody else may write */

/*
 * The whole file in memory of the caller (free), with a NUL behind it that
 * *len does not count.  NULL with errno: EPERM where it belongs to neither us
 * nor root, or has a bit of forbidden; EFBIG above max bytes; ELOOP for a
 * symbolic link (PRIVATE_SECRET only); EINVAL for what is no regular file.
 */
uint8_t *private_file_read(const char *path, mode_t forbidden, size_t max,
    size_t *len);

/* What to tell the user about errno of private_file_read. */
const char *private_file_why(int error);

/*
 * Write path.new, fsync, rename over path, fsync the directory; mode 0600 (or
 * the given one).  Two processes must not do this at once: see
 * private_file_lock.  0, or -1 with errno and path as it was (unless the very
 * last step failed: then it is not known which of the two survives a power
 * loss, and path holds the new bytes until then).
 */
int private_file_replace(const char *path, const void *bytes, size_t len);
int private_file_replace_mode(const char *path, const void *bytes, size_t len,
    mode_t mode);

/* The same, but -1 with EEXIST where path is there already. */
int private_file_create(const char *path, const void *bytes, size_t len);

/* Take path.lock (flock), exclusive or shared, waiting for whoever holds it.
 * A descriptor to be closed, or -1 with errno. */
int private_file_lock(const char *path, int exclusive);

#endif
