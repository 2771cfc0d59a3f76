#include "mint/fetch.h"

#include "mint/request.h"
#include "outbound.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define REPLY_MAX (256 * 1024)

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
set_options(CURL *curl, const struct conf *conf, const struct mint_request *request,
    struct curl_slist *fields, struct curl_slist *ways, struct outbound_body *received)
{
	return outbound_set(curl, request->url, conf->upstream_ca_file) &&
	    outbound_keep(curl, received) &&
	    /* Undone where it is compressed all the same: a refresh token may be in it. */
	    curl_easy_setopt(curl, CURLOPT_ACCEPT_ENCODING, "identity") == CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)MINT_FETCH_MS) == CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, fields) == CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_CONNECT_TO, ways) == CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_POST, 1L) == CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body) == CURLE_OK;
}

static int
is_over(void *arg, curl_off_t total_in, curl_off_t in, curl_off_t total_out,
    curl_off_t out)
{
	return atomic_load((const atomic_bool *)arg) ? 1 : 0;
}

static bool
watch(CURL *curl, const atomic_bool *stop)
{
	return curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L) == CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, is_over) == CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, stop) == CURLE_OK;
}

/* Without user, path and query. */
static void
name_host(const char *url, char host[MINT_HOST_MAX])
{
	const char *begin = strstr(url, "://");

	begin = begin == NULL ? url : begin + 3;
	snprintf(host, MINT_HOST_MAX, "%.*s", (int)strcspn(begin, "/?"), begin);
}

static int
perform(CURL *curl, const struct conf *conf, const struct mint_request *request,
    const atomic_bool *stop, struct outbound_body *received, long *status,
    curl_off_t *retry_s, char *err, size_t err_len)
{
	struct curl_slist *fields = NULL, *ways = NULL;
	CURLcode code = CURLE_OUT_OF_MEMORY;

	if (curl != NULL && make_fields(request, &fields) && make_ways(conf, &ways) &&
	    set_options(curl, conf, request, fields, ways, received) &&
	    watch(curl, stop))
		code = curl_easy_perform(curl);
	if (code == CURLE_OK) {
		curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, status);
		curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, retry_s);
	} else
		snprintf(err, err_len, "%s", received->overflow ?
		    "its answer is too long" : curl_easy_strerror(code));
	if (curl != NULL)
		curl_easy_cleanup(curl);
	outbound_list_free(fields);
	outbound_list_free(ways);
	return code == CURLE_OK ? 0 : -1;
}

int
mint_fetch(const struct conf *conf, const struct mint_source *source,
    const atomic_bool *stop, struct mint_answer *out, char host[MINT_HOST_MAX], char *err, size_t err_len)
{
	struct outbound_body received = { .max = REPLY_MAX };
	struct mint_request request;
	char why[200] = "";
	curl_off_t retry_s = 0;
	long status = 0;
	int rv;

	*out = (struct mint_answer){ .token = NULL };
	host[0] = '\0';
	if (mint_request_make(source, time(NULL), &request, err, err_len) != 0)
		return -1;
	name_host(request.url, host);
	rv = perform(curl_easy_init(), conf, &request, stop, &received, &status,
	    &retry_s, why, sizeof(why));
	if (rv == 0)
		rv = mint_answer_read(source->flow, status, received.p, received.len,
		    time(NULL), out, why, sizeof(why));
	out->retry_s = retry_s;
	if (rv != 0)
		snprintf(err, err_len, "%.200s: %s", host, why);
	outbound_body_free(&received);
	mint_request_free(&request);
	return rv;
}
