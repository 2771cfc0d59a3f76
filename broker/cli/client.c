#include "cli/client.h"
#include "cli/cli.h"
#include "outbound.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>
#include <sodium.h>

#define LOOK_MS 5000L

static size_t
collect(char *bytes, size_t size, size_t n, void *arg)
{
	struct client_reply *reply = arg;
	char *grown;

	(void)size;	/* always 1, says libcurl */
	if (n > CLIENT_REPLY_MAX - reply->len)
		return 0;
	if ((grown = realloc(reply->text, reply->len + n + 1)) == NULL)
		return 0;
	reply->text = grown;
	memcpy(reply->text + reply->len, bytes, n);
	reply->len += n;
	reply->text[reply->len] = '\0';
	return n;
}

static bool
make_fields(const struct client_call *call, struct curl_slist **list)
{
	char line[256];
	bool made;

	snprintf(line, sizeof(line), "Content-Type: %s",
	    call->type != NULL ? call->type : "application/json");
	made = outbound_list_add(list, line) && outbound_list_add(list, "Expect:");
	if (made && call->token != NULL) {
		snprintf(line, sizeof(line), "Authorization: Bearer %s",
		    call->token);
		made = outbound_list_add(list, line);
		sodium_memzero(line, sizeof(line));
	}
	return made;
}

/* The host name is for the Host field only: the socket is what is dialled, and
 * no proxy variable of the environment may change that. */
static CURLcode
set_up(CURL *curl, const struct client_call *call, const char *url,
    struct curl_slist *list, struct client_reply *reply)
{
	CURLcode rc = CURLE_OK;

#define SET(option, value) \
	do { \
		if (rc == CURLE_OK) \
			rc = curl_easy_setopt(curl, option, value); \
	} while (0)
	SET(CURLOPT_UNIX_SOCKET_PATH, call->socket);
	SET(CURLOPT_URL, url);
	SET(CURLOPT_PROXY, "");
	SET(CURLOPT_PROTOCOLS_STR, "http");
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_TIMEOUT_MS, call->timeout_ms != 0 ? call->timeout_ms : 60000L);
	SET(CURLOPT_CUSTOMREQUEST, call->method);
	SET(CURLOPT_HTTPHEADER, list);
	SET(CURLOPT_WRITEFUNCTION, collect);
	SET(CURLOPT_WRITEDATA, reply);
	if (call->body != NULL) {
		SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body_len);
		SET(CURLOPT_POSTFIELDS, call->body);
	}
#undef SET
	return rc;
}

/* "detail (rule R). remedy" of an RFC 9457 problem. */
static void
describe(struct client_reply *reply)
{
	const char *title = client_str(reply->json, "title");
	const char *detail = client_str(reply->json, "detail");
	const char *rule = client_str(reply->json, "rule");
	const char *remedy = client_str(reply->json, "remedy");

	snprintf(reply->error, sizeof(reply->error), "%s%s%s%s%s%s",
	    detail[0] != '\0' ? detail : title[0] != '\0' ? title :
	    "the daemon refused", rule[0] != '\0' ? " (rule " : "", rule,
	    rule[0] != '\0' ? ")" : "", remedy[0] != '\0' ? "; " : "", remedy);
	if (detail[0] == '\0' && title[0] == '\0')
		snprintf(reply->error, sizeof(reply->error),
		    "the daemon answered with status %ld", reply->status);
}

static enum client_result
judge(CURLcode rc, CURL *curl, struct client_reply *reply)
{
	if (rc == CURLE_COULDNT_CONNECT)
		return CLIENT_NO_DAEMON;
	if (rc == CURLE_OPERATION_TIMEDOUT) {
		snprintf(reply->error, sizeof(reply->error), "the daemon does not "
		    "answer; see `countersign status`");
		return CLIENT_BROKEN;
	}
	if (rc != CURLE_OK) {
		snprintf(reply->error, sizeof(reply->error),
		    "talking to the daemon failed: %s", curl_easy_strerror(rc));
		return CLIENT_BROKEN;
	}
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &reply->status);
	if (reply->text != NULL)
		reply->json = json_loadb(reply->text, reply->len,
		    JSON_REJECT_DUPLICATES, NULL);
	if (reply->status >= 200 && reply->status < 300)
		return CLIENT_OK;
	describe(reply);
	return CLIENT_REFUSED;
}

enum client_result
client_call(const struct client_call *call, struct client_reply *reply)
{
	enum client_result result = CLIENT_BROKEN;
	struct curl_slist *list = NULL;
	CURL *curl = NULL;
	char url[PATH_MAX];
	CURLcode rc;
	int n;

	memset(reply, 0, sizeof(*reply));
	snprintf(reply->error, sizeof(reply->error), "out of memory");
	n = snprintf(url, sizeof(url), "http://localhost%s", call->path);
	if (n < 0 || (size_t)n >= sizeof(url))
		return CLIENT_BROKEN;
	if ((curl = curl_easy_init()) == NULL || !make_fields(call, &list))
		goto out;
	rc = set_up(curl, call, url, list, reply);
	if (rc == CURLE_OK)
		rc = curl_easy_perform(curl);
	result = judge(rc, curl, reply);
out:
	outbound_list_free(list);
	curl_easy_cleanup(curl);
	return result;
}

void
client_reply_release(struct client_reply *reply)
{
	json_decref(reply->json);
	if (reply->text != NULL)
		sodium_memzero(reply->text, reply->len);	/* it may hold a token */
	free(reply->text);
	memset(reply, 0, sizeof(*reply));
}

enum client_result
client_run(const char *socket, const char *token, const char *method,
    const char *path, json_t *body, struct client_reply *reply)
{
	char *text = NULL;
	struct client_call call = { .socket = socket, .token = token,
	    .method = method, .path = path };
	enum client_result result;

	if (body != NULL && (text = json_dumps(body, JSON_COMPACT)) == NULL) {
		memset(reply, 0, sizeof(*reply));
		snprintf(reply->error, sizeof(reply->error), "out of memory");
		return CLIENT_BROKEN;
	}
	call.body = text;
	call.body_len = text != NULL ? strlen(text) : 0;
	result = client_call(&call, reply);
	free(text);
	return result;
}

enum client_result
client_operator(const char *method, const char *path, json_t *body,
    struct client_reply *reply)
{
	char socket[PATH_MAX];

	cli_home_path("run/operator.sock", socket, sizeof(socket));
	return client_run(socket, NULL, method, path, body, reply);
}

enum client_result
client_look(const char *path, struct client_reply *reply)
{
	char socket[PATH_MAX];
	struct client_call call = { .socket = socket, .method = "GET",
	    .path = path, .timeout_ms = LOOK_MS };

	cli_home_path("run/operator.sock", socket, sizeof(socket));
	return client_call(&call, reply);
}

const char *
client_str(const json_t *json, const char *name)
{
	const char *text = json_string_value(json_object_get(json, name));

	return text != NULL ? text : "";
}

int
client_fail(enum client_result result, const struct client_reply *reply)
{
	if (result == CLIENT_NO_DAEMON) {
		cli_err("no daemon runs for %s; `countersign start` starts "
		    "it", cli_home());
		return CLI_REFUSED;
	}
	cli_err("%s", cli_clean(reply->error));
	return result == CLIENT_REFUSED ? CLI_REFUSED : CLI_USAGE;
}
