/* What the commands that store a secret have in common. */
#ifndef BROKER_CLI_SECRET_STORE_H
#define BROKER_CLI_SECRET_STORE_H

#include "cli/opt.h"
#include "secret.h"

/* One NAME, and a good one?  0, or a status behind a message, as all of these. */
int secret_store_name(const struct opts *opts);

/* That, one place to read from, a home, and a process whose memory nobody looks into. */
int secret_store_begin(const struct opts *opts);

/* To the daemon, which is started where there is none; says which version it became. */
int secret_store_send(const char *name, const struct secret *secret, bool rotate);

#endif
