/* countersign verify and scan: the auditor's programs with this home's
 * defaults: the last run's evidence, the pinned key, and the vault's secrets to
 * scan for. */
#include "cli/cmd.h"
#include "cli/home_key.h"
#include "cli/run_bundle.h"
#include "daemon/harden.h"
#include "ledger/command/proof_main.h"
#include "ledger/command/scan_main.h"
#include "ledger/command/verify_main.h"
#include "secret_parts.h"
#include "trouble.h"
#include "vault/vault_file.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#define VERSIONS_MAX 4096	/* of all secrets, looked for in the files */

struct versions {
	struct { char name[VAULT_NAME_MAX + 1]; uint32_t version; } one[VERSIONS_MAX];
	size_t n;
	bool more;
};

/* Every version that is still there: an old one is a secret too.  They are
 * fetched afterwards: the vault is locked while it lists. */
static void
note_one(void *arg, const struct vault_entry *entry)
{
	struct versions *versions = arg;

	if (entry->revoked_s != 0)
		return;
	if (versions->n == VERSIONS_MAX) {
		versions->more = true;
		return;
	}
	snprintf(versions->one[versions->n].name, VAULT_NAME_MAX + 1, "%s",
	    entry->name);
	versions->one[versions->n++].version = entry->version;
}

struct giving {
	struct scanner *scanner;
	const char *name;
};

static bool
give_part(void *arg, struct slice part)
{
	const struct giving *giving = arg;

	return scanner_add_secret(giving->scanner, giving->name,
	    (const uint8_t *)part.p, part.n) == 0;
}

static int
give_one(struct vault *vault, struct scanner *scanner, const char *name,
    uint32_t version, char *err, size_t err_len)
{
	struct vault_error why = { .status = VAULT_OK, .text = "" };
	struct giving giving = { scanner, name };
	struct secret *secret = NULL;
	uint32_t got;
	int rc = 0;

	if (vault_get(vault, name, version, &secret, &got, &why) != VAULT_OK) {
		snprintf(err, err_len, "%s: %s", name, why.text);
		return -1;
	}
	if (!secret_parts(secret_bytes(secret), give_part, &giving)) {
		snprintf(err, err_len, "out of memory");
		rc = -1;
	}
	secret_unref(secret);
	return rc;
}

static int
give_all(struct vault *vault, struct scanner *scanner, char *err,
    size_t err_len)
{
	struct vault_error why = { .status = VAULT_OK, .text = "" };
	struct versions *versions = calloc(1, sizeof(*versions));
	size_t i;
	int rc = 0;

	if (versions == NULL) {
		snprintf(err, err_len, "out of memory");
		return -1;
	}
	if (vault_list(vault, note_one, versions, &why) != VAULT_OK ||
	    versions->more) {
		snprintf(err, err_len, "%s", versions->more ?
		    "the vault holds too many versions" : why.text);
		rc = -1;
	}
	for (i = 0; rc == 0 && i < versions->n; i++)
		rc = give_one(vault, scanner, versions->one[i].name,
		    versions->one[i].version, err, err_len);
	free(versions);
	return rc;
}

static struct vault *
open_vault(char *err, size_t err_len)
{
	struct vault_error why = { .status = VAULT_OK, .text = "" };
	struct secret *passphrase = home_passphrase(NULL, HOME_STORED, err, err_len);
	struct master *master = NULL;
	struct vault *vault = NULL;
	uint8_t *key = sodium_malloc(MASTER_KEY_LEN);
	char path[PATH_MAX];
	struct slice bytes;

	if (passphrase == NULL || key == NULL)
		goto out;
	bytes = secret_bytes(passphrase);
	cli_home_path("master.json", path, sizeof(path));
	if (master_open(path, bytes.p, bytes.n, &master, &why) == VAULT_OK) {
		master_key(master, "vault", key);
		cli_home_path("vault/store", path, sizeof(path));
		if (vault_file_open(path, key, &vault, &why) != VAULT_OK)
			vault = NULL;
	}
	if (vault == NULL)
		snprintf(err, err_len, "%s", why.text);
out:
	master_free(master);
	secret_unref(passphrase);
	sodium_free(key);
	return vault;
}

int
cmd_vault_secrets(void *context, struct scanner *scanner, char *err, size_t err_len)
{
	struct vault *vault;
	bool locked;
	int rc;

	(void)context;
	if (harden_process(err, err_len) != 0 ||
	    harden_memory(true, &locked, err, err_len) != 0 ||
	    (vault = open_vault(err, err_len)) == NULL)
		return -1;
	rc = give_all(vault, scanner, err, err_len);
	vault_close(vault);
	return rc;
}

int
cmd_scan(int argc, char **argv)
{
	struct scan_defaults defaults = { .program = "countersign scan" };
	char key[PATH_MAX];

	cli_home_path("ledger/log.vkey", key, sizeof(key));
	if (access(key, R_OK) == 0)
		defaults.secrets = cmd_vault_secrets;
	return scan_main(argc, argv, &defaults);
}

/* A run's id stands for its evidence, unless something else has that name. */
static void
name_run(int argc, char **argv, char *path, size_t cap)
{
	for (int i = 1; i < argc; i++) {
		if (access(argv[i], F_OK) == 0 ||
		    run_bundle_named(argv[i], path, cap) != 0)
			continue;
		argv[i] = path;
		return;
	}
}

int
cmd_verify(int argc, char **argv)
{
	char key[PATH_MAX], last[PATH_MAX], named[PATH_MAX], why[2 * PATH_MAX];
	char fault[CLI_ERR_MAX];
	int error;
	struct verify_defaults defaults = { .program = "countersign verify" };

	if (argc > 1 && strcmp(argv[1], "proof") == 0)
		return proof_main(argc - 1, argv + 1, defaults.program);
	/* Without a home it is the auditor's program, and wants to be told what to read. */
	cli_home_path("ledger/log.vkey", key, sizeof(key));
	if (access(key, R_OK) == 0) {
		defaults.key = key;
		defaults.secrets = cmd_vault_secrets;
		defaults.no_path_status = run_bundle_last(last, sizeof(last),
		    why, sizeof(why));
		if (defaults.no_path_status == CLI_OK)
			defaults.path = last;
		else
			defaults.no_path = why;
		name_run(argc, argv, named, sizeof(named));
	} else {
		error = errno;
		if (cli_home_fault(fault, sizeof(fault)) == 0)
			(void)trouble(fault, sizeof(fault), key, error);
		snprintf(why, sizeof(why), "which bundle or ledger? name one: %s", fault);
		defaults.no_path = why;
		defaults.no_path_status = CLI_USAGE;
	}
	return verify_main(argc, argv, &defaults);
}

/* verify_main and scan_main read them; these are for the shells' completion. */
const struct opt cmd_verify_opts[] = {
	{ "key", 'k', "KEY", false, "the log's public key" },
	{ "trust", 0, "FILE", false, "a trust policy instead of a key" },
	{ "epochs", 0, "FILE", false, "a bundle: how later keys follow" },
	{ "head", 0, "FILE", false, "a checkpoint that was saved before" },
	{ "save-head", 0, "FILE", false, "save this checkpoint for the next time" },
	{ "since", 0, "FILE", false, "verify what is new since that checkpoint" },
	{ "truth", 0, "FILE", true, "what an independent observer saw" },
	{ "truth-window", 0, "MS", false, "how far his clock may be from ours" },
	{ "no-scan", 0, NULL, false, "do not look for secrets in the files" },
	{ "tags", 0, "FILE", false, "look for the secrets of this file of tags" },
	{ "json", 'j', NULL, false, "one JSON object instead of text" },
	{ "html", 0, "FILE", false, "also write a page to be read in a browser" },
	{ "sarif", 0, "FILE", false, "also write the findings as SARIF" },
	{ "no-progress", 0, NULL, false, "no bar on standard error" },
	{ "threads", 0, "N", false, "threads to hash with" },
	{ "color", 0, "WHEN", false, "always, never, auto" },
	{ "version", 'V', NULL, false, "print the version" },
	{ NULL, 0, NULL, false, NULL }
};

const struct opt cmd_scan_opts[] = {
	{ "tags", 't', "FILE", false, "look for the secrets of this file of tags" },
	{ "tags-commitment", 0, "TEXT", false, "what the ledger's record says of them" },
	{ "no-vault", 0, NULL, false, "do not look for the vault's secrets" },
	{ "baseline", 'b', "FILE", false, "do not count what this baseline holds" },
	{ "write-baseline", 0, "FILE", false, "accept all that is found now" },
	{ "advisory", 'a', NULL, false, "show low confidence, too" },
	{ "json", 'j', NULL, false, "one JSON object instead of text" },
	{ "sarif", 0, NULL, false, "SARIF instead of text" },
	{ "quiet", 'q', NULL, false, "no progress bar" },
	{ "color", 0, "WHEN", false, "always, never, auto" },
	{ "version", 'V', NULL, false, "print the version" },
	{ NULL, 0, NULL, false, NULL }
};
