/*
 * countersign ca renew: another local authority, where the old one has expired,
 * is lost, or may be known to others.  Nothing but the trust of clients hangs on
 * it: runs are given the new one by themselves.
 */
#include "cli/aside.h"
#include "cli/cmd.h"
#include "cli/home_key.h"
#include "daemon/harden.h"
#include "daemon/notify.h"
#include "home.h"
#include "tls/ca.h"
#include "trouble.h"
#include "vault/master.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

struct renew {
	struct aside paths;
	bool had_one;
	char err[CLI_ERR_MAX];
};

static const char details[] =
"The old one is moved to HOME/ca-<time>.  Stop the daemon first.  Runs are given\n"
"the new one by themselves; where ca/ca.pem was copied to, copy it again.";

/* Held for as long as this process lives: a daemon would go on with the old. */
static int
keep_daemon_out(struct renew *renew)
{
	char lock[PATH_MAX], json[PATH_MAX];

	cli_home_path("run/daemon.lock", lock, sizeof(lock));
	cli_home_path("run/daemon.json", json, sizeof(json));
	return home_make_rooms(renew->err, sizeof(renew->err)) != 0 ? -1 :
	    notify_lock(lock, json, renew->err, sizeof(renew->err));
}

/* What a failure left, now or the last time. */
static void
clean_next(const struct renew *renew)
{
	static const char *const names[] = { "ca.pem", "ca.key", "bundle.pem" };
	char path[PATH_MAX + 16];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/%s", renew->paths.next, names[i]);
		(void)unlink(path);
	}
	(void)rmdir(renew->paths.next);
}

static int
make_next(struct renew *renew)
{
	struct vault_error why = { .status = VAULT_OK, .text = "" };
	uint8_t *key = sodium_malloc(MASTER_KEY_LEN);
	char pem[PATH_MAX + 16], bundle[PATH_MAX + 16];
	int status = -1;

	snprintf(pem, sizeof(pem), "%s/ca.pem", renew->paths.next);
	snprintf(bundle, sizeof(bundle), "%s/bundle.pem", renew->paths.next);
	clean_next(renew);
	if (key == NULL)
		snprintf(renew->err, sizeof(renew->err), "out of memory");
	else if (home_key("ca", key, renew->err, sizeof(renew->err)) != 0)
		;
	else if (ca_create(renew->paths.next, key, CMD_CA_NAME, &why) != VAULT_OK)
		snprintf(renew->err, sizeof(renew->err), "local CA: %s", why.text);
	else if (ca_write_bundle(pem, bundle) != 0)
		(void)trouble(renew->err, sizeof(renew->err), bundle, errno);
	else
		status = 0;
	sodium_free(key);
	if (status != 0)
		clean_next(renew);
	return status;
}

/* Two names change; where the second fails the first is put back. */
static int
put_in_place(struct renew *renew)
{
	renew->had_one = rename(renew->paths.old, renew->paths.aside) == 0;
	if (!renew->had_one && errno != ENOENT)
		return trouble(renew->err, sizeof(renew->err), renew->paths.aside,
		    errno);
	if (rename(renew->paths.next, renew->paths.old) == 0)
		return 0;
	(void)trouble(renew->err, sizeof(renew->err), renew->paths.old, errno);
	if (renew->had_one && rename(renew->paths.aside, renew->paths.old) != 0)
		cli_err("the old authority is in %s", renew->paths.aside);
	return -1;
}

static int
renew_ca(const struct opts *opts)
{
	static struct renew renew;
	bool locked = false;
	int rc, fd = -1;

	if ((rc = cli_need_home()) != 0)
		return rc;
	rc = CLI_REFUSED;
	if (sodium_init() >= 0 &&
	    aside_name("ca", &renew.paths, renew.err, sizeof(renew.err)) == 0 &&
	    harden_process(renew.err, sizeof(renew.err)) == 0 &&
	    harden_memory(true, &locked, renew.err, sizeof(renew.err)) == 0 &&
	    (fd = keep_daemon_out(&renew)) >= 0 && make_next(&renew) == 0 &&
	    put_in_place(&renew) == 0)
		rc = CLI_OK;
	else
		cli_err("%s", renew.err);
	if (rc == CLI_OK)
		printf("A new local authority: %s/ca.pem\n", renew.paths.old);
	if (rc == CLI_OK && renew.had_one)
		printf("The old one is in %s\n", renew.paths.aside);
	if (fd >= 0)
		close(fd);
	return rc;
}

const struct cli_command cmd_ca_table[] = {
	{ .name = "renew", .operands = "", .run = renew_ca, .details = details,
	  .summary = "Make another local authority" },
	{ .name = NULL }
};
