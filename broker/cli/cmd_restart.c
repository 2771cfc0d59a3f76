/*
 * countersign ledger restart-origin: a ledger that was restored from a backup,
 * or that no longer opens, is kept as it is, and another begins: a new origin, a
 * new key, and a first record that names the old ledger's last checkpoint.
 * Going on with the old one would sign a second history of it.
 */
#include "cli/aside.h"
#include "cli/cmd.h"
#include "cli/home_key.h"
#include "daemon/harden.h"
#include "daemon/keys.h"
#include "ledger/evidence/evidence.h"
#include "ledger/input.h"
#include "ledger/recorder/append.h"
#include "ledger/tree/note.h"
#include "vault/master.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <sodium.h>

const struct opt cmd_restart_opts[] = {
	{ "origin", 0, "NAME", false, "name of the new signing key; default: the old one's with another random end" },
	{ NULL, 0, NULL, false, NULL }
};

const char cmd_restart_details[] =
"For a ledger that was restored from a backup, or whose key is lost.  The old one\n"
"is moved to HOME/ledger-<time> untouched: keep it, it is the evidence of its\n"
"time.  The new one's first record names its last checkpoint.  Stop the daemon\n"
"first; then tell auditors and witnesses the vkey that this prints.";

struct restart {
	struct aside paths;
	char origin[NOTE_NAME_MAX + 1];
	char *note;		/* the old ledger's last checkpoint */
	size_t note_len;
	char err[CLI_ERR_MAX];
};

static int
fail_errno(struct restart *restart, const char *what)
{
	snprintf(restart->err, sizeof(restart->err), "%.900s: %s", what,
	    strerror(errno));
	return -1;
}

/* Nobody may write it meanwhile; the lock's descriptor, or -1. */
static int
lock_old(struct restart *restart)
{
	char path[PATH_MAX + 8];
	int fd;

	snprintf(path, sizeof(path), "%s/lock", restart->paths.old);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	if (errno == EWOULDBLOCK)
		snprintf(restart->err, sizeof(restart->err), "the ledger is "
		    "being written: `countersign stop` first");
	else
		fail_errno(restart, path);
	if (fd >= 0)
		close(fd);
	return -1;
}

/* The old one's last word.  Whether it is good is for the verifier to say. */
static int
read_old(struct restart *restart)
{
	struct checkpoint checkpoint;
	struct note note;
	const char *why = "";
	int dirfd = evidence_dir(restart->paths.old);

	if (dirfd >= 0) {
		restart->note = evidence_read(dirfd, "checkpoint",
		    CHECKPOINT_NOTE_MAX, &restart->note_len);
		close(dirfd);
	}
	if (restart->note == NULL || note_parse(&note, restart->note,
	    restart->note_len, &why) != 0 || checkpoint_parse(&checkpoint,
	    note.text, note.text_len) != 0) {
		snprintf(restart->err, sizeof(restart->err), "%.900s has "
		    "no checkpoint that can be read", restart->paths.old);
		return -1;
	}
	memcpy(restart->origin, checkpoint.origin, sizeof(restart->origin));
	return 0;
}

/* The old name up to its last part, and another random one. */
static int
choose_origin(struct restart *restart, const char *given)
{
	char *slash = strrchr(restart->origin, '/'), hex[9];
	uint8_t random[4];
	size_t base = slash != NULL ? (size_t)(slash - restart->origin) :
	    strlen(restart->origin);

	if (given != NULL && strcmp(given, restart->origin) == 0) {
		snprintf(restart->err, sizeof(restart->err), "a new origin "
		    "needs another name than the old one");
		return -1;
	}
	if (base > sizeof(restart->origin) - sizeof(hex) - 2)
		base = sizeof(restart->origin) - sizeof(hex) - 2;
	randombytes_buf(random, sizeof(random));
	sodium_bin2hex(hex, sizeof(hex), random, sizeof(random));
	if (given != NULL)
		snprintf(restart->origin, sizeof(restart->origin), "%s", given);
	else
		snprintf(restart->origin + base, sizeof(restart->origin) - base,
		    "/%s", hex);
	return 0;
}

/* --- the new one ------------------------------------------------------- */

/* What the first record is to name. */
static int
write_continues(struct restart *restart)
{
	char path[PATH_MAX + 16];
	int fd, status = -1;

	snprintf(path, sizeof(path), "%s/continues", restart->paths.next);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return fail_errno(restart, path);
	if (write(fd, restart->note, restart->note_len) ==
	    (ssize_t)restart->note_len && fsync(fd) == 0)
		status = 0;
	else
		fail_errno(restart, path);
	close(fd);
	return status;
}

static int
make_next(struct restart *restart, const uint8_t *key, uint8_t *seed)
{
	struct vault_error why = { .status = VAULT_OK, .text = "" };
	char path[PATH_MAX + 8];

	randombytes_buf(seed, crypto_sign_SEEDBYTES);
	if (ledger_create(restart->paths.next, restart->origin, seed, restart->err,
	    sizeof(restart->err)) != 0 || write_continues(restart) != 0)
		return -1;
	snprintf(path, sizeof(path), "%s/seed", restart->paths.next);
	if (sealed_write(path, key, KEYS_SEED_LABEL, seed,
	    crypto_sign_SEEDBYTES, &why) == VAULT_OK)
		return 0;
	snprintf(restart->err, sizeof(restart->err), "ledger key: %s",
	    why.text);
	return -1;
}

/* What a failure left, now or the last time. */
static void
clean_next(const struct restart *restart)
{
	static const char *const names[] = { "seed", "continues", "log.vkey",
	    "checkpoint", "checkpoints" };
	char path[PATH_MAX + 16];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/%s", restart->paths.next, names[i]);
		(void)unlink(path);
	}
	(void)rmdir(restart->paths.next);
}

static int
make(struct restart *restart)
{
	uint8_t *key = sodium_malloc(MASTER_KEY_LEN);
	uint8_t *seed = sodium_malloc(crypto_sign_SEEDBYTES);
	int status = -1;

	clean_next(restart);
	if (key == NULL || seed == NULL)
		snprintf(restart->err, sizeof(restart->err), "out of memory");
	else if (home_key("ledger", key, restart->err,
	    sizeof(restart->err)) == 0)
		status = make_next(restart, key, seed);
	if (status != 0)
		clean_next(restart);
	sodium_free(seed);
	sodium_free(key);
	return status;
}

/* Two names change; where the second fails the first is put back. */
static int
put_in_place(struct restart *restart)
{
	if (rename(restart->paths.old, restart->paths.aside) != 0)
		return fail_errno(restart, restart->paths.aside);
	if (rename(restart->paths.next, restart->paths.old) == 0)
		return 0;
	fail_errno(restart, restart->paths.old);
	if (rename(restart->paths.aside, restart->paths.old) != 0)
		cli_err("the old ledger is in %s", restart->paths.aside);
	return -1;
}

static int
tell(const struct restart *restart)
{
	char path[PATH_MAX + 16], vkey[NOTE_VKEY_MAX + 2] = "";
	FILE *in;

	snprintf(path, sizeof(path), "%s/log.vkey", restart->paths.old);
	if ((in = input_open(path)) == NULL ||
	    fgets(vkey, sizeof(vkey), in) == NULL)
		vkey[0] = '\0';
	if (in != NULL)
		fclose(in);
	fprintf(stderr, "The old ledger is in %s: keep it.\n", restart->paths.aside);
	fputs(vkey, stdout);
	return CLI_OK;
}

int
cmd_restart(const struct opts *opts)
{
	struct restart *restart = calloc(1, sizeof(*restart));
	bool locked = false;
	int rc, fd = -1;

	if ((rc = cli_need_home()) != 0 || restart == NULL) {
		free(restart);
		return rc != 0 ? rc : CLI_USAGE;
	}
	rc = CLI_USAGE;
	if (sodium_init() >= 0 &&
	    aside_name("ledger", &restart->paths, restart->err, sizeof(restart->err)) == 0 &&
	    harden_process(restart->err, sizeof(restart->err)) == 0 &&
	    harden_memory(true, &locked, restart->err,
	    sizeof(restart->err)) == 0 &&
	    (fd = lock_old(restart)) >= 0 && read_old(restart) == 0 &&
	    choose_origin(restart, opt_value(opts, "origin")) == 0 &&
	    make(restart) == 0 && put_in_place(restart) == 0)
		rc = tell(restart);
	else
		cli_err("%s", restart->err);
	if (fd >= 0)
		close(fd);
	free(restart->note);
	free(restart);
	return rc;
}
