#include "daemon/keeper.h"
#include "daemon/keys.h"
#include "vault/master.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <sodium.h>

#define SEED_LEN 32
#define EXCHANGE 2	/* RENAME_EXCHANGE */

struct keeper {
	struct ledger_keeper calls;
	uint8_t key[MASTER_KEY_LEN];
	char dir[PATH_MAX], seed[PATH_MAX], next[PATH_MAX];
};

/* Locks are not inherited: the recorder's copy is locked when it is used. */
static const uint8_t *
key_of(struct keeper *keeper)
{
	(void)mlock(keeper, sizeof(*keeper));
	return keeper->key;
}

static int
save_next(void *context, const uint8_t seed[SEED_LEN])
{
	struct vault_error why = { .status = VAULT_OK, .text = "" };
	struct keeper *keeper = context;

	if (sealed_write(keeper->next, key_of(keeper), KEYS_SEED_LABEL, seed,
	    SEED_LEN, &why) == VAULT_OK)
		return 0;
	errno = EIO;
	return -1;
}

static int
load_next(void *context, uint8_t seed[SEED_LEN])
{
	struct vault_error why = { .status = VAULT_OK, .text = "" };
	struct keeper *keeper = context;
	struct secret *secret = NULL;
	struct slice bytes;
	int status = -1;

	if (sealed_read(keeper->next, key_of(keeper), KEYS_SEED_LABEL, &secret,
	    &why) != VAULT_OK) {
		errno = ENOENT;
		return -1;
	}
	bytes = secret_bytes(secret);
	if (bytes.n == SEED_LEN) {
		memcpy(seed, bytes.p, SEED_LEN);
		status = 0;
	}
	secret_unref(secret);
	return status;
}

static int
sync_dir(const struct keeper *keeper)
{
	int fd = open(keeper->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int status = fd >= 0 ? fsync(fd) : -1;

	if (fd >= 0)
		close(fd);
	return status;
}

/* Overwritten where it lies, then gone. */
static int
erase(const char *path)
{
	uint8_t zeros[4096] = { 0 };
	struct stat st;
	int fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	int status = -1;

	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		status = 0;
		for (off_t at = 0; status == 0 && at < st.st_size;
		    at += (off_t)sizeof(zeros)) {
			size_t n = st.st_size - at < (off_t)sizeof(zeros) ?
			    (size_t)(st.st_size - at) : sizeof(zeros);

			if (pwrite(fd, zeros, n, at) != (ssize_t)n)
				status = -1;
		}
		if (status == 0)
			status = fsync(fd);
	}
	close(fd);
	return status == 0 ? unlink(path) : -1;
}

static int
discard(void *context)
{
	const struct keeper *keeper = context;

	return erase(keeper->next) == 0 ? sync_dir(keeper) : -1;
}

/* There is a good seed under its name at every moment. */
static int
advance(void *context)
{
	struct keeper *keeper = context;

	if (syscall(SYS_renameat2, AT_FDCWD, keeper->next, AT_FDCWD,
	    keeper->seed, EXCHANGE) != 0)
		return -1;
	return sync_dir(keeper) == 0 ? discard(keeper) : -1;
}

struct keeper *
keeper_new(const char *dir, const uint8_t *key)
{
	struct keeper *keeper = sodium_malloc(sizeof(*keeper));

	if (keeper == NULL)
		return NULL;
	memset(keeper, 0, sizeof(*keeper));
	keeper->calls = (struct ledger_keeper){ .save_next = save_next,
	    .load_next = load_next, .advance = advance, .discard = discard,
	    .context = keeper };
	memcpy(keeper->key, key, sizeof(keeper->key));
	if (snprintf(keeper->dir, PATH_MAX, "%s", dir) >= PATH_MAX ||
	    snprintf(keeper->seed, PATH_MAX, "%s/seed", dir) >= PATH_MAX ||
	    snprintf(keeper->next, PATH_MAX, "%s/seed.next", dir) >= PATH_MAX) {
		keeper_free(keeper);
		return NULL;
	}
	return keeper;
}

void
keeper_free(struct keeper *keeper)
{
	sodium_free(keeper);
}

void
keeper_forget(struct keeper *keeper)
{
	sodium_memzero(keeper->key, sizeof(keeper->key));
}

const struct ledger_keeper *
keeper_ledger(const struct keeper *keeper)
{
	return &keeper->calls;
}
