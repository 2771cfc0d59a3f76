/* OTLP/HTTP: opentelemetry.io/docs/specs/otlp, "OTLP/HTTP Response". */
#include "export/sender.h"
#include "outbound.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#define ANSWER_MAX 65536
#define TIMEOUT_S 30L

struct otlp_sender {
	struct sender_options options;
	CURL *curl;
	struct curl_slist *headers;
	char url[2048];
	char answer[ANSWER_MAX + 1];
	size_t answer_len;
};

/* What is longer than an answer can be is not kept. */
static size_t
take(char *bytes, size_t size, size_t n, void *context)
{
	struct otlp_sender *s = context;
	size_t len = size * n;

	if (len > ANSWER_MAX - s->answer_len)
		len = ANSWER_MAX - s->answer_len;
	memcpy(s->answer + s->answer_len, bytes, len);
	s->answer_len += len;
	return size * n;
}

static int
set_up(struct otlp_sender *s)
{
	const struct sender_options *o = &s->options;

	return !outbound_list_add(&s->headers, "Content-Type: application/json") ||
	    (o->header != NULL && !outbound_list_add(&s->headers, o->header)) ||
	    !outbound_set(s->curl, s->url, o->ca) ||
	    /* a person's command: their proxy may stand before the receiver */
	    curl_easy_setopt(s->curl, CURLOPT_PROXY, NULL) != CURLE_OK ||
	    curl_easy_setopt(s->curl, CURLOPT_HTTPHEADER, s->headers) != CURLE_OK ||
	    curl_easy_setopt(s->curl, CURLOPT_WRITEFUNCTION, take) != CURLE_OK ||
	    curl_easy_setopt(s->curl, CURLOPT_WRITEDATA, s) != CURLE_OK ||
	    curl_easy_setopt(s->curl, CURLOPT_TIMEOUT, TIMEOUT_S) != CURLE_OK ? -1 : 0;
}

struct otlp_sender *
otlp_sender_new(const struct sender_options *options, char *err, size_t err_len)
{
	struct otlp_sender *s = calloc(1, sizeof(*s));
	const char *path = strstr(options->url, "://");
	int n;

	if (s == NULL || path == NULL) {
		snprintf(err, err_len, s == NULL ? "out of memory" : "no URL");
		free(s);
		return NULL;
	}
	s->options = *options;
	path = strchr(path + 3, '/');
	/* the signal's path, where only an endpoint is named */
	n = snprintf(s->url, sizeof(s->url), "%.*s%s", path != NULL && path[1] == '\0' ?
	    (int)(path - options->url) : (int)strlen(options->url), options->url,
	    path == NULL || path[1] == '\0' ? "/v1/logs" : "");
	s->curl = curl_easy_init();
	if (s->curl == NULL || n < 0 || (size_t)n >= sizeof(s->url) || set_up(s) != 0) {
		snprintf(err, err_len, "the URL, the header or the CA file cannot be used");
		otlp_sender_free(s);
		return NULL;
	}
	return s;
}

void
otlp_sender_free(struct otlp_sender *s)
{
	if (s == NULL)
		return;
	outbound_list_free(s->headers);
	curl_easy_cleanup(s->curl);
	free(s);
}

/* 200 may still say that some records were rejected. */
static void
tell_rejected(struct otlp_sender *s)
{
	json_t *root, *partial, *count;
	long long n;

	s->answer[s->answer_len] = '\0';
	root = json_loads(s->answer, JSON_REJECT_DUPLICATES, NULL);
	partial = json_object_get(root, "partialSuccess");
	count = json_object_get(partial, "rejectedLogRecords");
	n = json_is_string(count) ? strtoll(json_string_value(count), NULL, 10) :
	    json_integer_value(count);
	if (n > 0)
		fprintf(stderr, "countersign: the receiver rejected %lld records of a batch\n", n);
	json_decref(root);
}

/* 1: taken; 0: try again; -1: never. */
static int
try_once(struct otlp_sender *s, const char *body, size_t len, long *wait_s, char *err,
    size_t err_len)
{
	curl_off_t after = 0;
	long code = 0;
	CURLcode rc;

	s->answer_len = 0;
	*wait_s = 0;
	curl_easy_setopt(s->curl, CURLOPT_POSTFIELDS, body);
	curl_easy_setopt(s->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)len);
	rc = curl_easy_perform(s->curl);
	if (rc != CURLE_OK) {
		snprintf(err, err_len, "%s", curl_easy_strerror(rc));
		return rc == CURLE_PEER_FAILED_VERIFICATION || rc == CURLE_SSL_CACERT_BADFILE ||
		    rc == CURLE_URL_MALFORMAT || rc == CURLE_UNSUPPORTED_PROTOCOL ? -1 : 0;
	}
	curl_easy_getinfo(s->curl, CURLINFO_RESPONSE_CODE, &code);
	snprintf(err, err_len, "the receiver answered %ld", code);
	if (code >= 200 && code < 300) {
		tell_rejected(s);
		return 1;
	}
	if (code != 429 && code != 502 && code != 503 && code != 504)
		return -1;
	if (curl_easy_getinfo(s->curl, CURLINFO_RETRY_AFTER, &after) == CURLE_OK && after > 0)
		*wait_s = (long)after;
	return 0;
}

enum sender_status
otlp_sender_send(struct otlp_sender *s, const char *body, size_t len, char *err,
    size_t err_len)
{
	long wait_s = 0;
	unsigned n;
	int rc;

	for (n = 1; s->options.tries == 0 || n <= s->options.tries; n += n < 1000) {
		sender_wait(&s->options, n, wait_s, err);
		rc = try_once(s, body, len, &wait_s, err, err_len);
		if (rc != 0)
			return rc == 1 ? SENDER_TAKEN : SENDER_REFUSED;
	}
	return SENDER_GONE;
}
