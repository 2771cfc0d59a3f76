/* The engine that decides, as the settings have it. */
#ifndef BROKER_DAEMON_ENGINE_H
#define BROKER_DAEMON_ENGINE_H

#include "conf/conf.h"
#include "policy/opa/opa.h"

/* *out is NULL where it is the evaluator.  0, or -1 with a message. */
int engine_open(const struct conf_policy *conf, struct opa **out, char *err,
    size_t err_len);

/* The token's file, as it was last read. */
struct engine_token {
	int64_t mtime_ns, size;
	uint64_t inode;
};

/* Look at the file again; show what is new in it from now on.  What cannot be used
 * is logged once, and the token before it stays.  Call it before engine_open, too,
 * opa being NULL: the first look only notes what is there.  One thread. */
void engine_look(const struct conf_policy *conf, struct opa *opa,
    struct engine_token *seen);

#endif
