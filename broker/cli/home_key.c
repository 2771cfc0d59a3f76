#include "cli/home_key.h"

#include "ask.h"
#include "cli/cli.h"
#include "conf/conf.h"
#include "vault/master.h"

#include <limits.h>
#include <stdio.h>

static struct secret *
get_passphrase(char *err, size_t err_len)
{
	struct ask_passphrase from = { .fd = -1, .terminal = true };
	struct secret *passphrase = NULL;
	struct conf conf;
	char path[PATH_MAX];

	cli_home_path("config.json", path, sizeof(path));
	if (conf_load(path, &conf, err, err_len) != 0)
		return NULL;
	from.conf_file = conf.passphrase_file;
	secret_allow_unlocked(conf.allow_unlocked_memory);
	passphrase = ask_passphrase(&from, err, err_len);
	conf_free(&conf);
	return passphrase;
}

int
home_key(const char *purpose, uint8_t *key, char *err, size_t err_len)
{
	struct vault_error why = { .status = VAULT_OK, .text = "" };
	struct secret *passphrase = get_passphrase(err, err_len);
	struct master *master = NULL;
	char path[PATH_MAX];
	struct slice bytes;
	int status = -1;

	if (passphrase == NULL)
		return -1;
	bytes = secret_bytes(passphrase);
	cli_home_path("master.json", path, sizeof(path));
	if (master_open(path, bytes.p, bytes.n, &master, &why) == VAULT_OK) {
		master_key(master, purpose, key);
		status = 0;
	} else {
		snprintf(err, err_len, "%s%s", why.text,
		    vault_remedy(why.status));
	}
	master_free(master);
	secret_unref(passphrase);
	return status;
}
