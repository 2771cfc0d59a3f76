#include "vault/kv_http.h"
#include "json_in.h"
#include "outbound.h"
#include "private_file.h"
#include "ledger/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <sodium.h>

#define TOKEN_MAX 4096
#define URL_MAX 1024
#define CONNECT_MS 5000L
#define CALL_MS 10000L

/* The field "Name: value". */
static bool
add_field(struct curl_slist **list, const char *name, const char *value)
{
	char text[TOKEN_MAX + 64];
	const int n = snprintf(text, sizeof(text), "%s: %s", name, value);
	const bool added = n > 0 && (size_t)n < sizeof(text) &&
	    outbound_list_add(list, text);

	sodium_memzero(text, sizeof(text));
	return added;
}

/* The token's file; the caller wipes and frees *token. */
static enum vault_status
read_token(const char *path, char **token, size_t *len, struct vault_error *err)
{
	const char *why;
	size_t n;

	*token = (char *)private_file_read(path, PRIVATE_SECRET, TOKEN_MAX, len);
	if (*token == NULL)
		return vault_fail(err, errno == EPERM ? VAULT_INVALID : VAULT_IO,
		    "config.json: vault.kv.token_file: %s %s", path,
		    private_file_why(errno));
	n = *len;
	if ((why = secret_check(*token, &n)) == NULL) {
		(*token)[n] = '\0';
		return VAULT_OK;
	}
	return vault_fail(err, VAULT_INVALID, "%s: the token %s", path, why);
}

static enum vault_status
make_fields(const struct conf_kv *conf, struct curl_slist **fields,
    struct vault_error *err)
{
	enum vault_status status;
	char *token = NULL;
	size_t len = 0;

	status = read_token(conf->token_file, &token, &len, err);
	if (status == VAULT_OK && (!add_field(fields, "X-Vault-Token", token) ||
	    !add_field(fields, "X-Vault-Request", "true") ||
	    !add_field(fields, "Content-Type", "application/json") ||
	    (conf->namespace != NULL &&
	    !add_field(fields, "X-Vault-Namespace", conf->namespace))))
		status = vault_fail(err, VAULT_IO, "out of memory");
	if (token != NULL)
		sodium_memzero(token, len);
	free(token);
	return status;
}

/* Of the operation's time; at most that of one call. */
static long
time_left(const struct kv_link *link)
{
	int64_t left = link->until_ms - clock_ms();

	return left < 0 ? 0 : left < CALL_MS ? (long)left : CALL_MS;
}

/* left_ms is not 0: that would be no limit. */
static bool
set_options(CURL *curl, const struct conf_kv *conf, const char *method,
    const char *url, const char *body, long left_ms)
{
	bool ok;

	curl_easy_reset(curl);
	ok = outbound_set(curl, url, conf->ca_file) &&
	    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method) == CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS) ==
	    CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, left_ms) == CURLE_OK;
	if (ok && body != NULL)
		ok = curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body) == CURLE_OK;
	return ok;
}

static enum vault_status
out_of_time(const struct kv_link *link, struct vault_error *err)
{
	return vault_fail(err, VAULT_IO, "%s: not done within %u ms, which is all "
	    "the time that there is (vault.kv.timeout_ms)", link->conf->url,
	    link->conf->timeout_ms);
}

static enum vault_status
perform(const struct kv_link *link, struct outbound_body *received,
    struct curl_slist *fields, long *status, struct vault_error *err)
{
	CURL *curl = link->curl;
	CURLcode code;

	if (curl_easy_setopt(curl, CURLOPT_HTTPHEADER, fields) != CURLE_OK ||
	    !outbound_keep(curl, received))
		return vault_fail(err, VAULT_IO, "libcurl takes no options");
	code = curl_easy_perform(curl);
	if (code == CURLE_OPERATION_TIMEDOUT && time_left(link) == 0)
		return out_of_time(link, err);
	if (code != CURLE_OK)
		return vault_fail(err, VAULT_IO, "%s: %s", link->conf->url,
		    curl_easy_strerror(code));
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, status);
	return VAULT_OK;
}

/* What no caller can go on with. */
static enum vault_status
judge(const struct conf_kv *conf, long status, struct vault_error *err)
{
	if (status == 403)
		return vault_fail(err, VAULT_IO, "%s: the token of %s is not "
		    "allowed to do this (403)", conf->url, conf->token_file);
	if (status == 503)
		return vault_fail(err, VAULT_IO, "%s: sealed, or in standby "
		    "(503)", conf->url);
	if (status >= 500 || status < 200 || (status >= 300 && status < 400))
		return vault_fail(err, VAULT_IO, "%s: answers %ld", conf->url,
		    status);
	return VAULT_OK;
}

static pthread_once_t curl_once = PTHREAD_ONCE_INIT;

static void
start_curl(void)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
}

bool
kv_link_open(struct kv_link *link, const struct conf_kv *conf)
{
	pthread_once(&curl_once, start_curl);
	link->conf = conf;
	link->curl = curl_easy_init();
	return link->curl != NULL;
}

void
kv_link_close(struct kv_link *link)
{
	if (link->curl != NULL)
		curl_easy_cleanup(link->curl);
	link->curl = NULL;
}

void
kv_link_begin(struct kv_link *link)
{
	link->until_ms = clock_ms() + link->conf->timeout_ms;
}

enum vault_status
kv_http(const struct kv_link *link, const char *method, const char *path,
    const char *body, struct kv_reply *out, struct vault_error *err)
{
	struct outbound_body received = { .max = KV_HTTP_REPLY_MAX };
	struct curl_slist *fields = NULL;
	long left_ms = time_left(link);
	enum vault_status status;
	char url[URL_MAX];
	int n;

	*out = (struct kv_reply){ 0, NULL };
	if (left_ms == 0)
		return out_of_time(link, err);
	n = snprintf(url, sizeof(url), "%s/v1/%s", link->conf->url, path);
	if (n < 0 || (size_t)n >= sizeof(url) || !set_options(link->curl,
	    link->conf, method, url, body, left_ms)) {
		status = vault_fail(err, VAULT_IO, "out of memory, or libcurl "
		    "takes no options");
		goto out;
	}
	if ((status = make_fields(link->conf, &fields, err)) != VAULT_OK ||
	    (status = perform(link, &received, fields, &out->status,
	    err)) != VAULT_OK ||
	    (status = judge(link->conf, out->status, err)) != VAULT_OK)
		goto out;
	if (received.len > 0)
		out->body = json_loadb(received.p, received.len,
		    JSON_REJECT_DUPLICATES, NULL);
out:
	curl_easy_reset(link->curl);	/* what it pointed to goes now */
	outbound_list_free(fields);
	outbound_body_free(&received);
	return status;
}

void
kv_reply_release(struct kv_reply *reply)
{
	json_in_wipe(reply->body);
	reply->body = NULL;
}
