#include "mint/fetch.h"

#include "mint/request.h"
#include "outbound.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define REPLY_MAX (256 * 1024)

struct mint_fetch {
	CURL *curl;
	CURLM *multi;			/* under way there; NULL: not yet */
	void *owner;
	CURLcode code;			/* how it ended */
	enum mint_flow flow;
	struct mint_request request;
	struct curl_slist *fields, *ways;
	struct outbound_body received;
	char host[MINT_HOST_MAX];
};

static bool
make_fields(const struct mint_request *request, struct curl_slist **fields)
{
	/* GitHub answers nobody who does not say what he is. */
	return outbound_list_add(fields, request->type) &&
	    outbound_list_add(fields, "Accept: application/json") &&
	    outbound_list_add(fields, "User-Agent: countersign") &&
	    (request->authorization == NULL ||
	    outbound_list_add(fields, request->authorization));
}

/* The settings' addresses, as libcurl wants them. */
static bool
make_ways(const struct conf *conf, struct curl_slist **ways)
{
	char text[400];

	for (size_t i = 0; i < conf->n_resolve; i++) {
		const struct conf_resolve *entry = &conf->resolve[i];
		bool bracket = strchr(entry->address, ':') != NULL;

		snprintf(text, sizeof(text), "%s:%u:%s%s%s:%u", entry->host,
		    entry->port, bracket ? "[" : "", entry->address,
		    bracket ? "]" : "", entry->to_port);
		if (!outbound_list_add(ways, text))
			return false;
	}
	return true;
}

static bool
set_options(struct mint_fetch *fetch, const struct conf *conf)
{
	CURL *curl = fetch->curl;

	return outbound_set(curl, fetch->request.url, conf->upstream_ca_file) &&
	    outbound_keep(curl, &fetch->received) &&
	    /* Undone where it is compressed all the same: a refresh token may be in it. */
	    curl_easy_setopt(curl, CURLOPT_ACCEPT_ENCODING, "identity") == CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)MINT_FETCH_MS) == CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_FRESH_CONNECT, 1L) == CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_FORBID_REUSE, 1L) == CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, fetch->fields) == CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_CONNECT_TO, fetch->ways) == CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_POST, 1L) == CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, fetch->request.body) == CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_PRIVATE, fetch) == CURLE_OK;
}

void
mint_fetch_name(const char *url, char host[MINT_HOST_MAX])
{
	const char *begin = strstr(url, "://");

	begin = begin == NULL ? url : begin + 3;
	snprintf(host, MINT_HOST_MAX, "%.*s", (int)strcspn(begin, "/?"), begin);
}

/* With its request in it. */
static bool
complete(struct mint_fetch *fetch, const struct conf *conf)
{
	fetch->received.max = REPLY_MAX;
	mint_fetch_name(fetch->request.url, fetch->host);
	return (fetch->curl = curl_easy_init()) != NULL &&
	    make_fields(&fetch->request, &fetch->fields) &&
	    make_ways(conf, &fetch->ways) && set_options(fetch, conf);
}

struct mint_fetch *
mint_fetch_new(const struct conf *conf, const struct mint_source *source, char *err,
    size_t err_len)
{
	struct mint_fetch *fetch = calloc(1, sizeof(*fetch));

	snprintf(err, err_len, "out of memory");
	if (fetch == NULL)
		return NULL;
	fetch->flow = source->flow;
	if (mint_request_make(source, time(NULL), &fetch->request, err, err_len) == 0) {
		snprintf(err, err_len, "out of memory");
		if (complete(fetch, conf))
			return fetch;
	}
	mint_fetch_free(fetch);
	return NULL;
}

int
mint_fetch_withdraw(const struct conf *conf, const struct mint_source *source,
    const char *token, const char *hint, char *err, size_t err_len)
{
	struct mint_fetch *fetch = calloc(1, sizeof(*fetch));
	long status = 0;

	snprintf(err, err_len, "out of memory");
	if (fetch != NULL && mint_request_withdraw(source, token, hint, &fetch->request) == 0 &&
	    complete(fetch, conf) && curl_easy_setopt(fetch->curl, CURLOPT_TIMEOUT_MS,
	    (long)MINT_WITHDRAW_MS) == CURLE_OK) {
		fetch->code = curl_easy_perform(fetch->curl);
		curl_easy_getinfo(fetch->curl, CURLINFO_RESPONSE_CODE, &status);
		if (fetch->code != CURLE_OK)
			snprintf(err, err_len, "%s", curl_easy_strerror(fetch->code));
		else
			snprintf(err, err_len, "it answers %ld", status);
	}
	mint_fetch_free(fetch);
	return status / 100 == 2 ? 0 : -1;
}

const char *
mint_fetch_host(const struct mint_fetch *fetch)
{
	return fetch->host;
}

int
mint_fetch_begin(struct mint_fetch *fetch, CURLM *multi, void *owner)
{
	if (curl_multi_add_handle(multi, fetch->curl) != CURLM_OK)
		return -1;
	fetch->multi = multi;
	fetch->owner = owner;
	return 0;
}

void *
mint_fetch_ended(CURLM *multi)
{
	struct mint_fetch *fetch = NULL;
	const CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(multi, &left)) != NULL)
		if (message->msg == CURLMSG_DONE && curl_easy_getinfo(message->easy_handle,
		    CURLINFO_PRIVATE, (char **)&fetch) == CURLE_OK) {
			fetch->code = message->data.result;
			return fetch->owner;
		}
	return NULL;
}

int
mint_fetch_read(const struct mint_fetch *fetch, struct mint_answer *out, char *err,
    size_t err_len)
{
	curl_off_t retry_s = 0;
	char why[200] = "";
	long status = 0;
	int rv = -1;

	*out = (struct mint_answer){ .token = NULL };
	if (fetch->code != CURLE_OK)
		snprintf(why, sizeof(why), "%s", fetch->received.overflow ?
		    "its answer is too long" : curl_easy_strerror(fetch->code));
	else {
		curl_easy_getinfo(fetch->curl, CURLINFO_RESPONSE_CODE, &status);
		curl_easy_getinfo(fetch->curl, CURLINFO_RETRY_AFTER, &retry_s);
		rv = mint_answer_read(fetch->flow, status, fetch->received.p,
		    fetch->received.len, time(NULL), out, why, sizeof(why));
		out->retry_s = retry_s;
	}
	if (rv != 0)
		snprintf(err, err_len, "%.200s: %s", fetch->host, why);
	return rv;
}

void
mint_fetch_free(struct mint_fetch *fetch)
{
	if (fetch == NULL)
		return;
	if (fetch->multi != NULL)
		curl_multi_remove_handle(fetch->multi, fetch->curl);
	if (fetch->curl != NULL)
		curl_easy_cleanup(fetch->curl);
	outbound_list_free(fetch->fields);
	outbound_list_free(fetch->ways);
	outbound_body_free(&fetch->received);
	mint_request_free(&fetch->request);
	free(fetch);
}
