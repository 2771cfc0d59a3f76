/* Requests for tokens, several at a time, by libcurl.  What passes through its memory is not
 * locked.  One thread uses all that belong to one CURLM. */
#ifndef BROKER_MINT_FETCH_H
#define BROKER_MINT_FETCH_H

#include "conf/conf.h"
#include "mint/answer.h"

#include <curl/curl.h>

#define MINT_FETCH_MS 15000
#define MINT_WITHDRAW_MS 5000
#define MINT_HOST_MAX 256

struct mint_fetch;

/* Words what is asked with source; nothing is sent yet.  NULL with a message. */
struct mint_fetch *mint_fetch_new(const struct conf *conf, const struct mint_source *source,
    char *err, size_t err_len);

/* Who is asked. */
const char *mint_fetch_host(const struct mint_fetch *fetch);

/* Sends it as curl_multi_perform goes on.  0, or -1: out of memory. */
int mint_fetch_begin(struct mint_fetch *fetch, CURLM *multi, void *owner);

/* The owner of one that has come to its end since, in whatever way; NULL: none. */
void *mint_fetch_ended(CURLM *multi);

/* What came of one that has: 0 with an answer, or -1 with a message; out is to be released in
 * either case. */
int mint_fetch_read(const struct mint_fetch *fetch, struct mint_answer *out, char *err,
    size_t err_len);

/* Tells source's revocation_url that this token is not wanted any more (mint_request_withdraw),
 * and waits for what it says.  0, or -1 with a message. */
int mint_fetch_withdraw(const struct conf *conf, const struct mint_source *source,
    const char *token, const char *hint, char *err, size_t err_len);

/* The host and port that stand in an address, without path and query. */
void mint_fetch_name(const char *url, char host[MINT_HOST_MAX]);

/* Wiped, and ended where it is under way; NULL-safe. */
void mint_fetch_free(struct mint_fetch *fetch);

#endif
