#include "daemon/engine.h"

#include "private_file.h"
#include "vault/secret.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

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
		snprintf(err, err_len, "%s: %s", path, private_file_why(errno));
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
	if (token != NULL)
		sodium_memzero(token, len);
	free(token);
	return *out != NULL ? 0 : -1;
}
