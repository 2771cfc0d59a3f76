#include "outbound.h"
#include "ledger/input.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#define FIRST_CAP 4096

/* Not realloc: it would leave what was read so far behind in freed memory. */
static bool
grow(struct outbound_body *body, size_t need)
{
	size_t cap = body->cap < FIRST_CAP ? FIRST_CAP : body->cap;
	char *p;

	while (cap < need)
		cap *= 2;
	if (cap == body->cap)
		return true;
	if ((p = malloc(cap)) == NULL)
		return false;
	if (body->p != NULL) {
		memcpy(p, body->p, body->len);
		sodium_memzero(body->p, body->len);
		free(body->p);
	}
	body->p = p;
	body->cap = cap;
	return true;
}

static size_t
take(char *bytes, size_t size, size_t count, void *arg)
{
	struct outbound_body *body = arg;
	size_t n = size * count;

	if (n > body->max - body->len) {
		body->overflow = true;
		return 0;
	}
	if (n == 0 || !grow(body, body->len + n))
		return 0;
	memcpy(body->p + body->len, bytes, n);
	body->len += n;
	return n;
}

bool
outbound_set(CURL *curl, const char *url, const char *ca_file)
{
	return input_is_file(ca_file) &&
	    curl_easy_setopt(curl, CURLOPT_URL, url) == CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https,http") ==
	    CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_PROXY, "") == CURLE_OK &&
	    (ca_file == NULL || curl_easy_setopt(curl, CURLOPT_CAINFO,
	    ca_file) == CURLE_OK);
}

bool
outbound_keep(CURL *curl, struct outbound_body *body)
{
	return curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take) ==
	    CURLE_OK && curl_easy_setopt(curl, CURLOPT_WRITEDATA, body) ==
	    CURLE_OK;
}

void
outbound_body_free(struct outbound_body *body)
{
	if (body->p != NULL)
		sodium_memzero(body->p, body->len);
	free(body->p);
	body->p = NULL;
	body->len = body->cap = 0;
}

bool
outbound_list_add(struct curl_slist **list, const char *text)
{
	struct curl_slist *more = curl_slist_append(*list, text);

	if (more != NULL)
		*list = more;
	return more != NULL;
}

void
outbound_list_free(struct curl_slist *list)
{
	for (struct curl_slist *at = list; at != NULL; at = at->next)
		sodium_memzero(at->data, strlen(at->data));
	curl_slist_free_all(list);
}
