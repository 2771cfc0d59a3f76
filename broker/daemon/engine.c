#include "daemon/engine.h"

#include "log.h"
#include "private_file.h"
#include "secret.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <sodium.h>

#define TOKEN_MAX 4096

/* The caller wipes and frees *token; NULL where none is set. */
static int
read_token(const char *path, char **token, size_t *len, char *err,
    size_t err_len)
{
	const char *why;
	size_t n;

	if (path == NULL)
		return 0;
	*token = (char *)private_file_read(path, PRIVATE_SECRET, TOKEN_MAX,
	    len);
	if (*token == NULL) {
		snprintf(err, err_len, "config.json: policy.token_file: %s %s", path,
		    private_file_why(errno));
		return -1;
	}
	n = *len;
	if ((why = secret_check(*token, &n)) != NULL) {
		snprintf(err, err_len, "%s: the token %s", path, why);
		return -1;
	}
	(*token)[n] = '\0';
	return 0;
}

static void
wipe(char *token, size_t len)
{
	if (token != NULL)
		sodium_memzero(token, len);
	free(token);
}

int
engine_open(const struct conf_policy *conf, struct opa **out, char *err,
    size_t err_len)
{
	char *token = NULL;
	size_t len = 0;

	*out = NULL;
	if (conf->opa == NULL)
		return 0;
	if (read_token(conf->token_file, &token, &len, err,
	    err_len) == 0)
		*out = opa_new(&(struct opa_options){
		    .where = conf->opa, .ca_file = conf->ca_file,
		    .token = token, .deadline_ms = conf->deadline_ms }, err,
		    err_len);
	wipe(token, len);
	return *out != NULL ? 0 : -1;
}

/* Is it another file than the one that was seen?  The first look only notes it. */
static bool
has_changed(const char *path, struct engine_token *seen)
{
	struct engine_token now = { 0, -1, 0 };
	bool first = seen->inode == 0 && seen->size == 0;
	struct stat is;
	bool same;

	if (stat(path, &is) == 0)
		now = (struct engine_token){ (int64_t)is.st_mtim.tv_sec *
		    1000000000 + is.st_mtim.tv_nsec, is.st_size, is.st_ino };
	same = now.mtime_ns == seen->mtime_ns && now.size == seen->size &&
	    now.inode == seen->inode;
	*seen = now;
	return !first && !same;
}

void
engine_look(const struct conf_policy *conf, struct opa *opa,
    struct engine_token *seen)
{
	char *token = NULL, err[512] = "";
	size_t len = 0;

	if (conf->token_file == NULL || !has_changed(conf->token_file, seen) ||
	    opa == NULL)
		return;
	if (read_token(conf->token_file, &token, &len, err, sizeof(err)) == 0 &&
	    opa_set_token(opa, token, err, sizeof(err)) == 0)
		log_event(LOG_INFO, "engine_token", "%s was read anew",
		    conf->token_file);
	else
		log_event(LOG_ERROR, "engine_token", "%s; the token before it is "
		    "still shown", err);
	wipe(token, len);
}
