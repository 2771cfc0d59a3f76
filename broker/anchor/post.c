#include "anchor/post.h"
#include "outbound.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool
set_options(CURL *curl, const struct post *post, struct curl_slist *fields,
    struct outbound_body *body)
{
	return outbound_set(curl, post->url, post->ca_file) &&
	    outbound_keep(curl, body) &&
	    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, post->timeout_ms) ==
	    CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, fields) == CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_POST, 1L) == CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, post->body) ==
	    CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE,
	    (long)post->body_len) == CURLE_OK;
}

int
post(const struct post *post, struct post_reply *reply)
{
	struct outbound_body body = { .max = POST_REPLY_MAX };
	char type[128];
	struct curl_slist *fields;
	CURL *curl = curl_easy_init();
	int status = -1;

	reply->status = 0;
	reply->len = 0;
	snprintf(type, sizeof(type), "Content-Type: %s", post->type);
	fields = curl_slist_append(NULL, type);
	if (curl != NULL && fields != NULL &&
	    set_options(curl, post, fields, &body) &&
	    curl_easy_perform(curl) == CURLE_OK &&
	    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &reply->status) ==
	    CURLE_OK)
		status = 0;
	if (body.len > 0)
		memcpy(reply->body, body.p, body.len);
	reply->len = body.len;
	reply->body[reply->len] = '\0';
	outbound_body_free(&body);
	if (curl != NULL)
		curl_easy_cleanup(curl);
	curl_slist_free_all(fields);
	return status;
}
