/*
 * countersign init: a home from nothing.  Everything is made in a directory
 * beside it and moved into place as the last step, so that a failure leaves
 * nothing and a home is never half there.  An empty directory that cannot be
 * replaced, since it is mounted or the one above is somebody else's (a
 * service's, below /var/lib), is filled instead: the parts are made inside it.
 */
#include "ask.h"
#include "trouble.h"
#include "cli/cmd.h"
#include "cli/home_key.h"
#include "daemon/harden.h"
#include "daemon/keys.h"
#include "home.h"
#include "ledger/recorder/append.h"
#include "policy/policy.h"
#include "private_file.h"
#include "tls/ca.h"
#include "vault/master.h"
#include "vault/vault_file.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>
#include <sodium.h>

#define ORIGIN_MAX 128

const struct opt cmd_init_opts[] = {
	{ "passphrase-file", 0, "FILE", false, "read the passphrase from FILE (mode 0600) and note the path in config.json" },
	{ "origin", 0, "NAME", false, "name of the ledger's signing key; default: HOST/countersign/RANDOM" },
	{ NULL, 0, NULL, false, NULL }
};

struct init {
	const struct opts *opts;
	char home[PATH_MAX], dir[PATH_MAX];	/* where it will be, where it is made */
	bool inside;				/* dir is in home, which stays */
	char origin[ORIGIN_MAX + 1];
	char err[CLI_ERR_MAX];
	enum cli_exit failed;		/* what it ends with where it cannot be made */
};

static int
part(struct init *init, const char *name, char *buf)
{
	int n = snprintf(buf, PATH_MAX, "%s/%s", init->dir, name);

	if (n > 0 && n < PATH_MAX)
		return 0;
	snprintf(init->err, sizeof(init->err), "the home's path is too long");
	return -1;
}

static int
fail_errno(struct init *init, const char *what)
{
	init->failed = CLI_USAGE;
	return trouble(init->err, sizeof(init->err), what, errno);
}

/* --- before anything is made ----------------------------------------- */

static bool
is_empty(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *entry = NULL;

	while (dir != NULL && (entry = readdir(dir)) != NULL &&
	    (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0))
		;
	if (dir != NULL)
		closedir(dir);
	return dir != NULL && entry == NULL;
}

/* The home may be an empty directory or not be there. */
static int
check_free(struct init *init)
{
	struct stat st;
	int error;

	if (lstat(init->home, &st) == 0 && !S_ISDIR(st.st_mode)) {
		snprintf(init->err, sizeof(init->err), "%.900s is %s: move it away, "
		    "or name another place with COUNTERSIGN_HOME%s", init->home,
		    S_ISLNK(st.st_mode) ? "a symbolic link" : "not a directory",
		    S_ISLNK(st.st_mode) ? ", the link's target for example" : "");
		return -1;
	}
	if (rmdir(init->home) == 0 || errno == ENOENT)
		return 0;
	error = errno;
	if (error == EBUSY && getenv("COUNTERSIGN_RUN") != NULL) {
		snprintf(init->err, sizeof(init->err), "%.800s is hidden here: this is inside run %.64s",
		    init->home, cli_clean(getenv("COUNTERSIGN_RUN")));
		return -1;
	}
	if (is_empty(init->home)) {
		init->inside = true;
		return 0;
	}
	if (access(init->home, R_OK | X_OK) == 0) {
		snprintf(init->err, sizeof(init->err), "%.800s is there already and "
		    "not empty; nothing was changed. Name another place with "
		    "COUNTERSIGN_HOME, or move it away to begin anew",
		    init->home);
		return -1;
	}
	init->failed = CLI_USAGE;
	return trouble(init->err, sizeof(init->err), init->home, error);
}

/* Key names of signed notes: no space, no '+', printable (C2SP). */
static int
check_origin(struct init *init, const char *origin)
{
	const char *c;

	for (c = origin; *c > 0x20 && *c < 0x7f && *c != '+'; c++)
		;
	if (*c == '\0' && c != origin && c - origin <= ORIGIN_MAX) {
		snprintf(init->origin, sizeof(init->origin), "%s", origin);
		return 0;
	}
	snprintf(init->err, sizeof(init->err), "--origin wants 1 to %d printable "
	    "ASCII characters without space and '+'", ORIGIN_MAX);
	return -1;
}

/* A new ledger is a new origin, also on the same machine. */
static void
default_origin(struct init *init)
{
	char host[65] = "localhost", *c;

	if (gethostname(host, sizeof(host) - 1) != 0 || host[0] == '\0')
		snprintf(host, sizeof(host), "localhost");
	host[sizeof(host) - 1] = '\0';
	for (c = host; *c != '\0'; c++)
		if (*c <= 0x20 || *c >= 0x7f || *c == '+')
			*c = '-';
	snprintf(init->origin, sizeof(init->origin), "%s/countersign/%08x", host,
	    randombytes_random());
}

static struct secret *
get_passphrase(struct init *init)
{
	struct ask_passphrase from = { .fd = -1, .terminal = true, .twice = true,
	    .file = opt_value(init->opts, "passphrase-file") };

	return home_passphrase_long(ask_passphrase(&from, init->err,
	    sizeof(init->err)), init->err, sizeof(init->err));
}

/* --- the parts ------------------------------------------------------- */

static int
make_vault(struct init *init, const uint8_t *key)
{
	struct vault_error why = { .status = VAULT_OK, .text = "" };
	char dir[PATH_MAX], path[PATH_MAX];

	if (part(init, "vault", dir) != 0 || part(init, "vault/store", path) != 0)
		return -1;
	if (mkdir(dir, 0700) != 0)
		return fail_errno(init, dir);
	if (vault_file_create(path, key, &why) == VAULT_OK)
		return 0;
	snprintf(init->err, sizeof(init->err), "vault: %s", why.text);
	return -1;
}

static int
make_ca(struct init *init, const uint8_t *key)
{
	struct vault_error why = { .status = VAULT_OK, .text = "" };
	char dir[PATH_MAX], pem[PATH_MAX], bundle[PATH_MAX];

	if (part(init, "ca", dir) != 0 || part(init, "ca/ca.pem", pem) != 0 ||
	    part(init, "ca/bundle.pem", bundle) != 0)
		return -1;
	if (mkdir(dir, 0700) != 0 && errno != EEXIST)
		return fail_errno(init, dir);
	if (ca_create(dir, key, CMD_CA_NAME, &why) != VAULT_OK) {
		snprintf(init->err, sizeof(init->err), "local CA: %s", why.text);
		return -1;
	}
	return ca_write_bundle(pem, bundle) == 0 ? 0 : fail_errno(init, bundle);
}

static int
make_ledger(struct init *init, const uint8_t *key)
{
	struct vault_error why = { .status = VAULT_OK, .text = "" };
	char dir[PATH_MAX], sealed[PATH_MAX];
	uint8_t *seed = sodium_malloc(crypto_sign_SEEDBYTES);
	int rc = -1;

	if (seed == NULL) {
		snprintf(init->err, sizeof(init->err), "out of memory");
		return -1;
	}
	randombytes_buf(seed, crypto_sign_SEEDBYTES);
	if (part(init, "ledger", dir) == 0 &&
	    part(init, "ledger/seed", sealed) == 0 &&
	    ledger_create(dir, init->origin, seed, init->err,
	    sizeof(init->err)) == 0) {
		rc = 0;
		if (sealed_write(sealed, key, KEYS_SEED_LABEL, seed,
		    crypto_sign_SEEDBYTES, &why) != VAULT_OK) {
			snprintf(init->err, sizeof(init->err), "ledger key: %s",
			    why.text);
			rc = -1;
		}
	}
	sodium_free(seed);
	return rc;
}

static int
make_config(struct init *init)
{
	const char *file = opt_value(init->opts, "passphrase-file");
	char path[PATH_MAX], full[PATH_MAX];
	json_t *conf = json_pack("{s:i}", "v", 1);
	char *text = NULL;
	int rc = -1;

	if (conf == NULL || part(init, "config.json", path) != 0)
		goto out;
	if (file != NULL && (realpath(file, full) == NULL || json_object_set_new(
	    conf, "passphrase_file", json_string(full)) != 0)) {
		fail_errno(init, file);
		goto out;
	}
	text = json_dumps(conf, JSON_INDENT(2));
	if (text == NULL || private_file_create(path, text, strlen(text)) != 0)
		fail_errno(init, path);
	else
		rc = 0;
out:
	free(text);
	json_decref(conf);
	return rc;
}

static int
make_keyed(struct init *init, const struct master *master)
{
	uint8_t *key = sodium_malloc(MASTER_KEY_LEN);
	int rc = -1;

	if (key == NULL) {
		snprintf(init->err, sizeof(init->err), "out of memory");
		return -1;
	}
	master_key(master, "vault", key);
	if (make_vault(init, key) != 0)
		goto out;
	master_key(master, "ca", key);
	if (make_ca(init, key) != 0)
		goto out;
	master_key(master, "ledger", key);
	rc = make_ledger(init, key);
out:
	sodium_free(key);
	return rc;
}

static int
make_all(struct init *init, const struct secret *passphrase)
{
	struct vault_error why = { .status = VAULT_OK, .text = "" };
	struct slice bytes = secret_bytes(passphrase);
	char path[PATH_MAX], pack[PATH_MAX], runs[PATH_MAX], run[PATH_MAX];
	struct master *master = NULL;
	int rc = -1;

	if (part(init, "master.json", path) != 0 || part(init, "pack", pack) != 0 ||
	    part(init, "runs", runs) != 0 || part(init, "run", run) != 0)
		return -1;
	if (mkdir(runs, 0700) != 0 || mkdir(run, 0700) != 0)
		return fail_errno(init, runs);
	if (master_create(path, bytes.p, bytes.n, NULL, &master,
	    &why) != VAULT_OK)
		snprintf(init->err, sizeof(init->err), "%s", why.text);
	else if (make_keyed(init, master) == 0 && policy_default_pack_write(pack,
	    init->err, sizeof(init->err)) == 0 && make_config(init) == 0)
		rc = 0;
	master_free(master);
	return rc;
}

/* --- all or nothing -------------------------------------------------- */

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void
remove_tree(const char *dir)
{
	(void)nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Into a directory that stays.  The first rename settles who of two fills it,
 * since it fails on a vault that is there; the last makes it a home. */
static int
move_parts(struct init *init)
{
	static const char *const parts[] = { "vault", "ca", "ledger", "pack",
	    "runs", "run", "config.json", "master.json" };
	const size_t n_parts = sizeof(parts) / sizeof(parts[0]);
	char from[PATH_MAX], to[PATH_MAX];
	size_t n;

	for (n = 0; n < n_parts; n++)
		if (part(init, parts[n], from) != 0 ||
		    home_path(parts[n], to, sizeof(to)) != 0 ||
		    rename(from, to) != 0)
			break;
	if (n == n_parts)
		return rmdir(init->dir) == 0 ? 0 : fail_errno(init, init->dir);
	fail_errno(init, init->home);
	while (n-- > 0)
		if (home_path(parts[n], to, sizeof(to)) == 0)
			remove_tree(to);
	return -1;
}

static int
move_home(struct init *init)
{
	if (init->inside)
		return move_parts(init);
	return rename(init->dir, init->home) == 0 ? 0 :
	    fail_errno(init, init->home);
}

/* The directory to work in: HOME.XXXXXX or HOME/new.XXXXXX, parents made. */
static int
make_dir(struct init *init)
{
	char parent[PATH_MAX], *slash;
	int n;

	snprintf(parent, sizeof(parent), "%s", init->home);
	for (slash = parent; (slash = strchr(slash + 1, '/')) != NULL; *slash = '/') {
		*slash = '\0';
		if (mkdir(parent, 0700) != 0 && errno != EEXIST)
			return fail_errno(init, parent);
	}
	n = snprintf(init->dir, sizeof(init->dir), "%s%s.XXXXXX", init->home,
	    init->inside ? "/new" : "");
	if (n < 0 || (size_t)n >= sizeof(init->dir)) {
		snprintf(init->err, sizeof(init->err), "the home's path is too long");
		return -1;
	}
	return mkdtemp(init->dir) != NULL ? 0 : fail_errno(init, init->dir);
}

static void
say(const struct init *init)
{
	printf("Made %s:\n"
	    "  vault, local CA (ca/ca.pem), default policy pack (pack/data.json)\n"
	    "  ledger key %s; its public half: ledger/log.vkey\n"
	    "Keep a copy of ledger/log.vkey where no agent can reach: whoever verifies pins it.\n"
	    "Next: countersign secret put NAME --from-stdin\n",
	    init->home, init->origin);
}

int
cmd_init(const struct opts *opts)
{
	static struct init init;
	struct secret *passphrase = NULL;
	const char *origin = opt_value(opts, "origin");
	bool locked;
	int rc = -1;

	init.opts = opts;
	init.failed = CLI_REFUSED;
	snprintf(init.home, sizeof(init.home), "%s", cli_home());
	if (harden_process(init.err, sizeof(init.err)) != 0 ||
	    harden_memory(true, &locked, init.err, sizeof(init.err)) != 0)
		goto out;
	default_origin(&init);
	if (origin != NULL && check_origin(&init, origin) != 0) {
		init.failed = CLI_USAGE;
		goto out;
	}
	if (home_name_check(init.home, init.err, sizeof(init.err)) != 0 ||
	    check_free(&init) != 0 || (passphrase = get_passphrase(&init)) == NULL)
		goto out;
	init.failed = CLI_USAGE;	/* from here on it is files that cannot be made */
	if (make_dir(&init) != 0)
		goto out;
	if (make_all(&init, passphrase) == 0 && move_home(&init) == 0)
		rc = CLI_OK;
	else
		remove_tree(init.dir);
out:
	secret_unref(passphrase);
	if (rc == CLI_OK)
		say(&init);
	else
		cli_err("%s", init.err);
	return rc == CLI_OK ? rc : (int)init.failed;
}
