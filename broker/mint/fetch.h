/* One request for a token, by libcurl. What passes through its memory is not locked. */
#ifndef BROKER_MINT_FETCH_H
#define BROKER_MINT_FETCH_H

#include "conf/conf.h"
#include "mint/answer.h"

#include <stdatomic.h>

#define MINT_FETCH_MS 15000
#define MINT_HOST_MAX 256

/* 0 with an answer, or -1 with a message; out is to be released in either case.  host: where
 * it was asked.  stop set by another thread ends it within about a second. */
int mint_fetch(const struct conf *conf, const struct mint_source *source,
    const atomic_bool *stop, struct mint_answer *out, char host[MINT_HOST_MAX], char *err, size_t err_len);

#endif
