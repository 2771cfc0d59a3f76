#include "cli/home_key.h"

#include "ask.h"
#include "cli/cli.h"
#include "conf/conf.h"

#include <limits.h>
#include <stdio.h>

struct secret *
home_passphrase(const char *file, enum home_asks asks, char *err, size_t err_len)
{
	struct ask_passphrase from = { .fd = -1, .file = file,
	    .terminal = asks == HOME_ASK };
	struct secret *passphrase = NULL;
	struct conf conf;
	char path[PATH_MAX];

	cli_home_path("config.json", path, sizeof(path));
	if (conf_load(path, &conf, err, err_len) != 0)
		return NULL;
	from.conf_file = conf.passphrase_file;
	secret_allow_unlocked(conf.allow_unlocked_memory);
	if (from.terminal || ask_passphrase_stored(file, conf.passphrase_file))
		passphrase = ask_passphrase(&from, err, err_len);
	else
		snprintf(err, err_len, "no passphrase was given "
		    "($COUNTERSIGN_PASSPHRASE_FILE)");
	conf_free(&conf);
	return passphrase;
}

int
home_master(const char *file, struct master **master,
    struct secret **passphrase, char *err, size_t err_len)
{
	struct vault_error why = { .status = VAULT_OK, .text = "" };
	struct secret *given = home_passphrase(file, HOME_ASK, err, err_len);
	char path[PATH_MAX];
	struct slice bytes;

	*master = NULL;
	if (given == NULL)
		return -1;
	bytes = secret_bytes(given);
	cli_home_path("master.json", path, sizeof(path));
	if (master_open(path, bytes.p, bytes.n, master, &why) != VAULT_OK) {
		snprintf(err, err_len, "%s%s", why.text,
		    vault_remedy(why.status));
		secret_unref(given);
		return -1;
	}
	if (passphrase != NULL)
		*passphrase = given;
	else
		secret_unref(given);
	return 0;
}

int
home_key(const char *purpose, uint8_t *key, char *err, size_t err_len)
{
	struct master *master = NULL;

	if (home_master(NULL, &master, NULL, err, err_len) != 0)
		return -1;
	master_key(master, purpose, key);
	master_free(master);
	return 0;
}

struct secret *
home_passphrase_long(struct secret *passphrase, char *err, size_t err_len)
{
	if (passphrase == NULL || secret_bytes(passphrase).n >= HOME_PASSPHRASE_MIN)
		return passphrase;
	snprintf(err, err_len, "the passphrase is shorter than %d bytes: choose a "
	    "longer one", HOME_PASSPHRASE_MIN);
	secret_unref(passphrase);
	return NULL;
}
