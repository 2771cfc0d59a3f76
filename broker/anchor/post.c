#include "anchor/post.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <curl/curl.h>

static size_t
receive(char *bytes, size_t size, size_t count, void *arg)
{
	struct post_reply *reply = arg;
	size_t n = size * count;

	if (n > POST_REPLY_MAX - reply->len)
		return 0;
	memcpy(reply->body + reply->len, bytes, n);
	reply->len += n;
	return n;
}

static bool
set_options(CURL *curl, const struct post *post, struct curl_slist *fields,
    struct post_reply *reply)
{
	return curl_easy_setopt(curl, CURLOPT_URL, post->url) == CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https,http") ==
	    CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_PROXY, "") == CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, post->timeout_ms) ==
	    CURLE_OK &&
	    (post->ca_file == NULL || curl_easy_setopt(curl, CURLOPT_CAINFO,
	    post->ca_file) == CURLE_OK) &&
	    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, fields) == CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_POST, 1L) == CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, post->body) ==
	    CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE,
	    (long)post->body_len) == CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, receive) ==
	    CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_WRITEDATA, reply) == CURLE_OK;
}

int
post(const struct post *post, struct post_reply *reply)
{
	char type[128];
	struct curl_slist *fields;
	CURL *curl = curl_easy_init();
	int status = -1;

	reply->status = 0;
	reply->len = 0;
	snprintf(type, sizeof(type), "Content-Type: %s", post->type);
	fields = curl_slist_append(NULL, type);
	if (curl != NULL && fields != NULL &&
	    set_options(curl, post, fields, reply) &&
	    curl_easy_perform(curl) == CURLE_OK &&
	    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &reply->status) ==
	    CURLE_OK)
		status = 0;
	reply->body[reply->len] = '\0';
	if (curl != NULL)
		curl_easy_cleanup(curl);
	curl_slist_free_all(fields);
	return status;
}
