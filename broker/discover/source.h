/*
 * Where newer bundles are looked for: a file, or a URL that is asked with
 * If-None-Match (RFC 9110, 13.1.2).  One thread's.
 */
#ifndef BROKER_DISCOVER_SOURCE_H
#define BROKER_DISCOVER_SOURCE_H

#include "conf/conf.h"

#include <stdatomic.h>

struct source;

enum source_result {
	SOURCE_SAME,		/* as when it was taken last */
	SOURCE_CHANGED,		/* *bytes is the caller's (free) */
	SOURCE_TOO_LARGE,	/* there is something, but more than max_bytes */
	SOURCE_FAILED		/* nothing could be learned */
};

/* stop, where it becomes true, ends a transfer.  NULL: no memory. */
struct source *source_new(const struct conf_bundle *conf,
    const atomic_bool *stop);
void source_free(struct source *source);

/* err says why of the last two. */
enum source_result source_look(struct source *source, void **bytes,
    size_t *len, char *err, size_t err_len);

/* What came last needs no second look: it was taken, or refused for good. */
void source_settle(struct source *source);

#endif
