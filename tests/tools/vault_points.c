/*
 * The stores that need a server, against one that the caller started, in TAP.
 *
 *   vault_points secretservice DIR          this session bus; locks the keyring at its end
 *   vault_points secretservice DIR nobody   there is no service: refused with words
 *   vault_points secretservice DIR stop PID PID is stopped for a while: the keyring, or the bus
 *   vault_points kv URL TOKEN-FILE CA-OR-EMPTY     everything
 *   vault_points kv URL TOKEN-FILE CA-OR-EMPTY WHAT NAME VERSION STATUS WORDS
 *                                           one get, late (a get that has no time), rotate, revoke
 *                                           or list (or the opening) ends like this
 */
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <libsecret/secret.h>

#include "private_file.h"
#include "vault/vault_kv.h"
#include "vault/vault_secretservice.h"

static int n, failed;

static void
point(bool passed, const char *name)
{
	printf("%sok %d - %s\n", passed ? "" : "not ", ++n, name);
	failed |= !passed;
}

static bool
gives(struct vault *vault, const char *name, uint32_t version,
    enum vault_status want, const char *text)
{
	struct secret *secret = NULL;
	struct vault_error err = { 0 };
	enum vault_status status;
	uint32_t got = 0;
	bool ok;

	status = vault_get(vault, name, version, &secret, &got, &err);
	ok = status == want;
	if (!ok)
		printf("# status %d: %s\n", status, err.text);
	if (status == VAULT_OK)
		ok = ok && secret_equal(secret, text, strlen(text)) &&
		    (version == 0 || got == version);
	secret_unref(secret);
	return ok;
}

static enum vault_status
put(struct vault *vault, const char *name, const char *text, bool rotate,
    uint32_t *version)
{
	struct vault_error err = { 0 };
	enum vault_status status;

	status = vault_put(vault, name, text, strlen(text), rotate, version, &err);
	if (status == VAULT_IO || status == VAULT_DAMAGED)
		printf("# %s\n", err.text);
	return status;
}

static void
note(void *arg, const struct vault_entry *entry)
{
	char *text = arg;

	sprintf(text + strlen(text), "%s/%u%s ", entry->name, entry->version,
	    entry->revoked_s != 0 ? "!" : "");
}

/* An item that claims to be ours, or the mark that it is revoked, written by
 * somebody else or before a call was cut off. */
static void
plant(const char *vault, const char *name, const char *version,
    const char *revoked, const char *text)
{
	static const SecretSchema any = { .name = "org.countersign.Secret",
	    .flags = SECRET_SCHEMA_NONE, .attributes = {
		{ "application", SECRET_SCHEMA_ATTRIBUTE_STRING },
		{ "vault", SECRET_SCHEMA_ATTRIBUTE_STRING },
		{ "name", SECRET_SCHEMA_ATTRIBUTE_STRING },
		{ "version", SECRET_SCHEMA_ATTRIBUTE_STRING },
		{ "revoked", SECRET_SCHEMA_ATTRIBUTE_STRING },
		{ NULL, 0 } } };

	secret_password_store_sync(&any, SECRET_COLLECTION_DEFAULT, "planted",
	    text, NULL, NULL, "application", "countersign", "vault", vault,
	    "name", name, "version", version, revoked != NULL ? "revoked" : NULL,
	    revoked, NULL);
}

static void
versions(struct vault *vault, const char *backend)
{
	uint32_t version = 0;

	point(strcmp(vault_backend(vault), backend) == 0,
	    "says which store it is");
	point(gives(vault, "github", 0, VAULT_MISSING, NULL), "nothing there yet");
	point(put(vault, "github", "x", true, NULL) == VAULT_MISSING,
	    "nothing to rotate");
	point(put(vault, "github", "first-made-up", false, &version) == VAULT_OK &&
	    version == 1, "stores version 1");
	point(gives(vault, "github", 0, VAULT_OK, "first-made-up"), "gives it back");
	point(put(vault, "github", "x", false, NULL) == VAULT_EXISTS,
	    "does not store over it");
	point(put(vault, "github", "second-made-up", true, &version) == VAULT_OK &&
	    version == 2, "rotates to version 2");
	point(gives(vault, "github", 0, VAULT_OK, "second-made-up") &&
	    gives(vault, "github", 1, VAULT_OK, "first-made-up"),
	    "gives the newest, and the old one by its version");
}

static void
revocation(struct vault *vault, struct vault *again)
{
	struct vault_error err = { 0 };
	uint32_t version = 0;
	char text[256] = "";

	point(vault_revoke(vault, "github", 2, &err) == VAULT_OK &&
	    gives(vault, "github", 2, VAULT_REVOKED, NULL) &&
	    gives(vault, "github", 1, VAULT_OK, "first-made-up") &&
	    gives(vault, "github", 0, VAULT_REVOKED, NULL),
	    "a revoked version is not given, nor the one before it instead");
	point(vault_revoke(vault, "github", 2, &err) == VAULT_REVOKED &&
	    vault_revoke(vault, "github", 7, &err) == VAULT_MISSING &&
	    vault_revoke(vault, "nobody", 0, &err) == VAULT_MISSING,
	    "what is revoked, or never was, is not revoked");
	point(vault_revoke(vault, "github", 0, &err) == VAULT_OK &&
	    gives(vault, "github", 0, VAULT_REVOKED, NULL), "revokes all");
	point(put(vault, "github", "third-made-up", true, &version) == VAULT_OK &&
	    version == 3, "a version number is never used twice");
	point(again != NULL && vault_list(again, note, text, &err) == VAULT_OK &&
	    strcmp(text, "github/1! github/2! github/3 ") == 0 &&
	    gives(again, "github", 0, VAULT_OK, "third-made-up"),
	    "another process finds the same");
	printf("# %s\n", text);
}

/* A revocation marks first and deletes then.  The keyring lists them in no order. */
static void
cut_off(struct vault *vault, const char *path)
{
	struct vault_error err = { 0 };
	char version[2] = "1";
	bool revoked = true;

	for (; version[0] <= '8'; version[0]++) {
		plant(path, "cut", version, NULL, "made-up");
		plant(path, "cut", version, "1700000000", "");
	}
	for (uint32_t i = 1; i <= 8; i++)
		revoked = revoked && gives(vault, "cut", i, VAULT_REVOKED, NULL);
	point(revoked, "an item beside its mark is revoked");
	point(vault_revoke(vault, "cut", 0, &err) == VAULT_OK,
	    "it is revoked once more");
	point(vault_revoke(vault, "cut", 0, &err) == VAULT_REVOKED,
	    "and then is gone");
}

/* Another process only reads: it is waited for. */
static void
in_turn(struct vault *vault, const char *path)
{
	atomic_bool *let_go = mmap(NULL, sizeof(*let_go), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int ready[2];
	pid_t pid;
	bool ok;

	if (let_go == MAP_FAILED || pipe(ready) != 0 || (pid = fork()) == -1) {
		point(false, "another process");
		return;
	}
	if (pid == 0) {
		(void)!write(ready[1], "", private_file_lock(path, false) >= 0);
		usleep(300000);
		atomic_store(let_go, true);
		_exit(0);
	}
	close(ready[1]);
	ok = read(ready[0], &(char){ 0 }, 1) == 1;
	ok = put(vault, "turn", "made-up", false, NULL) == VAULT_OK && ok &&
	    atomic_load(let_go);
	point(ok, "what another process reads is not written meanwhile");
	close(ready[0]);
	waitpid(pid, NULL, 0);
	munmap(let_go, sizeof(*let_go));
}

static void
strangers(struct vault *vault, const char *path)
{
	struct vault_error err = { 0 };
	struct vault *other = NULL;
	char elsewhere[256];

	snprintf(elsewhere, sizeof(elsewhere), "%s-other", path);
	point(vault_secretservice_open(elsewhere, &other, &err) == VAULT_OK &&
	    gives(other, "github", 0, VAULT_MISSING, NULL),
	    "another home has secrets of its own");
	vault_close(other);
	plant(path, "odd", "01x", NULL, "text");
	point(vault_list(vault, note, (char[512]){ "" }, &err) == VAULT_DAMAGED,
	    "an item that we did not write is named, not used");
	plant(path, "zero", "1", "0", "text");
	point(gives(vault, "zero", 0, VAULT_DAMAGED, NULL),
	    "nor is a mark of no time a mark");
	plant(path, "bytes", "1", NULL, "two\nlines");
	point(gives(vault, "bytes", 0, VAULT_DAMAGED, NULL),
	    "an item that is no credential is not used");
}

static void
lock_keyring(void)
{
	SecretService *service = secret_service_get_sync(
	    SECRET_SERVICE_LOAD_COLLECTIONS, NULL, NULL);
	GList *all = secret_service_get_collections(service);

	secret_service_lock_sync(service, all, NULL, NULL, NULL);
	g_list_free_full(all, g_object_unref);
	g_object_unref(service);
	secret_service_disconnect();
}

static void
locked(struct vault *vault, const char *path)
{
	struct vault_error err = { 0 };
	struct vault *again = NULL;

	lock_keyring();
	point(vault_secretservice_open(path, &again, &err) == VAULT_IO &&
	    strstr(err.text, "locked") != NULL, "a locked keyring is named");
	printf("# %s\n", err.text);
	point(put(vault, "new", "x", false, NULL) == VAULT_IO &&
	    gives(vault, "fresh", 0, VAULT_IO, NULL),
	    "nothing is stored or read, and nobody is asked");
}

static void
secretservice(const char *dir, bool nobody)
{
	struct vault *vault = NULL, *again = NULL;
	struct vault_error err = { 0 };
	enum vault_status status;
	char path[200];

	snprintf(path, sizeof(path), "%s/store", dir);
	status = vault_secretservice_open(path, &vault, &err);
	if (nobody) {
		point(status == VAULT_IO && vault == NULL &&
		    strstr(err.text, "Secret Service") != NULL,
		    "no service: refused, and no other store taken");
		printf("# %s\n", err.text);
	} else if (status != VAULT_OK) {
		point(false, "opens");
		printf("# %s\n", err.text);
	} else {
		vault_secretservice_open(path, &again, &err);
		versions(vault, "secretservice");
		revocation(vault, again);
		cut_off(vault, path);
		in_turn(vault, path);
		strangers(vault, path);
		locked(vault, path);
	}
	vault_close(again);
	vault_close(vault);
}

/* Whoever answers stands still: each call ends, and tells. */
static void
stopped(const char *dir, pid_t pid)
{
	struct vault *vault = NULL, *late = NULL;
	struct vault_error err = { 0 };
	char path[200], text[64] = "";
	bool opened;

	snprintf(path, sizeof(path), "%s/stopped", dir);
	opened = vault_secretservice_open(path, &vault, &err) == VAULT_OK &&
	    put(vault, "github", "made-up", false, NULL) == VAULT_OK;
	point(opened, "opens and stores");
	if (!opened)
		return;
	kill(pid, SIGSTOP);
	point(vault_list(vault, note, text, &err) == VAULT_IO &&
	    strstr(err.text, "no answer within") != NULL,
	    "one that does not answer is named, with the time that it had");
	printf("# %s\n", err.text);
	point(vault_secretservice_open(path, &late, &err) == VAULT_IO &&
	    strstr(err.text, "no answer within") != NULL, "when it is opened, too");
	printf("# %s\n", err.text);
	kill(pid, SIGCONT);
	sleep(1);	/* what was asked in vain is not asked again for a second */
	point(gives(vault, "github", 0, VAULT_OK, "made-up"),
	    "it is asked anew once it goes on");
	vault_close(vault);
}

static void
kv_everything(const struct conf_kv *conf)
{
	struct vault *vault = NULL, *again = NULL;
	struct vault_error err = { 0 };

	if (vault_kv_open(conf, &vault, &err) != VAULT_OK ||
	    vault_kv_open(conf, &again, &err) != VAULT_OK) {
		point(false, "opens");
		printf("# %s\n", err.text);
	} else {
		versions(vault, "kv");
		revocation(vault, again);
		point(put(vault, "binary", "\xff\xfe", false, NULL) ==
		    VAULT_INVALID, "what is no text is refused");
		point(put(vault, "quotes", "a\"b\\c", false, NULL) == VAULT_OK &&
		    gives(again, "quotes", 0, VAULT_OK, "a\"b\\c"),
		    "quotes and backslashes survive");
	}
	vault_close(vault);
	vault_close(again);
}

static enum vault_status
kv_do(struct vault *vault, const char *what, const char *name, uint32_t version,
    struct secret **secret, struct vault_error *err)
{
	uint32_t made = 0;

	if (strcmp(what, "rotate") == 0)
		return vault_put(vault, name, "made-up", 7, true, &made, err);
	if (strcmp(what, "revoke") == 0)
		return vault_revoke(vault, name, version, err);
	if (strcmp(what, "list") == 0)
		return vault_list(vault, note, (char[512]){ "" }, err);
	return vault_get(vault, name, version, secret, NULL, err);
}

/* argv: WHAT NAME VERSION STATUS WORDS */
static void
kv_one(struct conf_kv *conf, char **argv)
{
	struct vault *vault = NULL;
	struct secret *secret = NULL;
	struct vault_error err = { 0 };
	enum vault_status status;
	bool ok;

	if (strcmp(argv[0], "late") == 0)
		conf->timeout_ms = 0;
	status = vault_kv_open(conf, &vault, &err);
	if (status == VAULT_OK)
		status = kv_do(vault, argv[0], argv[1], (uint32_t)atoi(argv[2]),
		    &secret, &err);
	ok = status == (enum vault_status)atoi(argv[3]) &&
	    (status != VAULT_OK ? strstr(err.text, argv[4]) != NULL :
	    secret == NULL ? argv[4][0] == '\0' :
	    secret_equal(secret, argv[4], strlen(argv[4])));
	point(ok, "ends as said");
	printf("# status %d: %s\n", status, err.text);
	secret_unref(secret);
	vault_close(vault);
}

int
main(int argc, char **argv)
{
	static char mount[] = "secret", prefix[] = "countersign",
	    field[] = "value", namespace[] = "team";
	struct conf_kv conf = { .mount = mount, .prefix = prefix, .timeout_ms = 30000,
	    .field = field, .namespace = namespace };

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 4 && strcmp(argv[1], "secretservice") == 0)
		stopped(argv[2], (pid_t)atoi(argv[4]));
	else if (argc > 2 && strcmp(argv[1], "secretservice") == 0)
		secretservice(argv[2], argc > 3);
	else if (argc > 4 && strcmp(argv[1], "kv") == 0) {
		conf.url = argv[2];
		conf.token_file = argv[3];
		conf.ca_file = argv[4][0] != '\0' ? argv[4] : NULL;
		if (argc == 10)
			kv_one(&conf, argv + 5);
		else
			kv_everything(&conf);
	} else
		return 3;
	printf("1..%d\n", n);
	return failed;
}
