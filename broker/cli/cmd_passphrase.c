/*
 * countersign passphrase: another passphrase for the same keys.  Only
 * master.json is written; a daemon that runs has its keys already and goes on.
 */
#include "ask.h"
#include "cli/cmd.h"
#include "cli/home_key.h"
#include "conf/conf.h"
#include "daemon/harden.h"

#include <limits.h>
#include <stdio.h>

#include <sodium.h>

const struct opt cmd_passphrase_opts[] = {
	{ "passphrase-file", 0, "FILE", false, "read the present passphrase from FILE" },
	{ "new-passphrase-file", 0, "FILE", false, "read the new one from FILE (mode 0600)" },
	{ NULL, 0, NULL, false, NULL }
};
const char cmd_passphrase_details[] =
"Vault, ledger key and local authority stay as they are; the daemon may run.  A\n"
"copy of the old master.json, in a backup say, still opens with the old one.";

static struct secret *
get_new(const char *file, char *err, size_t err_len)
{
	struct secret *passphrase = NULL;

	if (file != NULL)
		passphrase = ask_file(file, true, err, err_len);
	else if (ask_has_terminal())
		passphrase = ask_terminal("New passphrase", true, err, err_len);
	else
		snprintf(err, err_len, "there is no terminal to ask for the new "
		    "passphrase: give --new-passphrase-file");
	return home_passphrase_long(passphrase, err, err_len);
}

static bool
same(const struct secret *a, const struct secret *b)
{
	struct slice left = secret_bytes(a), right = secret_bytes(b);

	return left.n == right.n && sodium_memcmp(left.p, right.p, left.n) == 0;
}

static int
change(const char *old_file, const char *new_file, char *err, size_t err_len)
{
	struct vault_error why = { .status = VAULT_OK, .text = "" };
	struct secret *old = NULL, *new = NULL;
	struct master *master = NULL;
	char path[PATH_MAX];
	struct slice bytes;
	int status = -1;

	if (home_master(old_file, &master, &old, err, err_len) != 0 ||
	    (new = get_new(new_file, err, err_len)) == NULL)
		goto out;
	if (same(old, new)) {
		snprintf(err, err_len, "the new passphrase is the present one");
		goto out;
	}
	bytes = secret_bytes(new);
	cli_home_path("master.json", path, sizeof(path));
	if (master_change(master, path, bytes.p, bytes.n, &why) == VAULT_OK)
		status = 0;
	else
		snprintf(err, err_len, "%s%s", why.text, vault_remedy(why.status));
out:
	master_free(master);
	secret_unref(old);
	secret_unref(new);
	return status;
}

/* The next start reads a stored passphrase, which is the old one. */
static void
say_where_the_old_is(void)
{
	char path[PATH_MAX], err[CLI_ERR_MAX];
	struct conf conf;

	cli_home_path("config.json", path, sizeof(path));
	if (conf_load(path, &conf, err, sizeof(err)) != 0)
		return;
	if (conf.passphrase_file != NULL)
		printf("config.json takes the passphrase from %s: put the new one "
		    "there before the daemon is started again.\n",
		    conf.passphrase_file);
	conf_free(&conf);
}

int
cmd_passphrase(const struct opts *opts)
{
	char err[CLI_ERR_MAX];
	bool locked = false;
	int rc;

	if ((rc = cli_need_home()) != 0)
		return rc;
	snprintf(err, sizeof(err), "libsodium does not start");
	if (sodium_init() < 0 || harden_process(err, sizeof(err)) != 0 ||
	    harden_memory(true, &locked, err, sizeof(err)) != 0 ||
	    change(opt_value(opts, "passphrase-file"),
	    opt_value(opts, "new-passphrase-file"), err, sizeof(err)) != 0) {
		cli_err("%s", err);
		return CLI_REFUSED;
	}
	puts("The passphrase is changed.");
	say_where_the_old_is();
	return CLI_OK;
}
