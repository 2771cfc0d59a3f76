/* Answers: JSON, text, and problems (RFC 9457). */
#include "api/impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sodium.h>

/* Answers may hold a token; they are wiped when they have been sent. */
struct text {
	size_t len;
	char *bytes;
};

static void
text_free(void *arg)
{
	struct text *text = arg;

	sodium_memzero(text->bytes, text->len);
	free(text->bytes);
	free(text);
}

static struct MHD_Response *
response_of(char *bytes, size_t len)
{
	struct text *text = malloc(sizeof(*text));
	struct MHD_Response *response = NULL;

	if (text != NULL) {
		*text = (struct text){ len, bytes };
		response = MHD_create_response_from_buffer_with_free_callback_cls(
		    len, bytes, text_free, text);
	}
	if (response == NULL) {
		free(text);
		sodium_memzero(bytes, len);
		free(bytes);
	}
	return response;
}

static void
headers_set(struct api_call *call, struct MHD_Response *response,
    unsigned status, const char *type)
{
	MHD_add_response_header(response, "Content-Type", type);
	/* Only tiles are bytes, and a tile never changes. */
	MHD_add_response_header(response, "Cache-Control", strcmp(type,
	    "application/octet-stream") == 0 ?
	    "public, max-age=31536000, immutable" : "no-store");
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	if (status == 401)
		MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
	if (status == 405 && call->route != NULL)
		MHD_add_response_header(response, "Allow", call->route->method);
}

void
api_answer_text(struct api_call *call, unsigned status, const char *type,
    char *text, size_t len)
{
	struct MHD_Response *response;

	call->answered = true;
	call->result = MHD_NO;	/* cuts the connection where memory is out */
	atomic_fetch_add(&call->api->answers[status / 100 % 6], 1);
	if (text == NULL || (response = response_of(text, len)) == NULL)
		return;
	headers_set(call, response, status, type);
	if (call->body_coming) {
		call->held = response;
		call->held_status = status;
		call->result = MHD_YES;
		return;
	}
	call->result = MHD_queue_response(call->connection, status, response);
	MHD_destroy_response(response);
}

static void
answer_json(struct api_call *call, unsigned status, const char *type,
    json_t *json)
{
	char *text = json != NULL ? json_dumps(json, JSON_COMPACT) : NULL;
	char *line = NULL;
	size_t len = 0;

	if (text != NULL) {
		len = strlen(text);
		line = malloc(len + 1);
		if (line != NULL) {
			memcpy(line, text, len);
			line[len] = '\n';
		}
		sodium_memzero(text, len);
		free(text);
	}
	json_decref(json);
	api_answer_text(call, status, type, line, len + 1);
}

void
api_answer(struct api_call *call, unsigned status, json_t *json)
{
	if (json == NULL) {
		api_refuse(call, 503, "api/memory", "out of memory",
		    "try again");
		return;
	}
	answer_json(call, status, "application/json", json);
}

/* --- problems --------------------------------------------------------- */

static const char *
title_of(unsigned status)
{
	switch (status) {
	case 400: return "Bad request";
	case 401: return "Not identified";
	case 403: return "Refused";
	case 404: return "Not found";
	case 405: return "Method not allowed";
	case 408: return "Too slow";
	case 409: return "Conflict";
	case 413: return "Too large";
	case 415: return "Wrong media type";
	case 421: return "Misdirected";
	case 422: return "Not acceptable content";
	case 429: return "Limit reached";
	case 503: return "Not available";
	default: return "Refused";
	}
}

/* RFC 8141: a rule's name may hold anything, a URN may not. */
static void
type_of(const char *rule, char *buf, size_t cap)
{
	size_t n = (size_t)snprintf(buf, cap, "urn:countersign:refusal:");

	for (; *rule != '\0' && n + 1 < cap; rule++)
		buf[n++] = strchr("abcdefghijklmnopqrstuvwxyz"
		    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-", *rule) != NULL ?
		    *rule : '-';
	buf[n] = '\0';
}

void
api_refuse(struct api_call *call, unsigned status, const char *rule,
    const char *detail, const char *remedy)
{
	char type[192];

	type_of(rule, type, sizeof(type));
	answer_json(call, status, "application/problem+json",
	    json_pack("{s:s, s:s, s:i, s:s, s:s, s:s}", "type", type, "title",
	    title_of(status), "status", (int)status, "detail", detail, "rule",
	    rule, "remedy", remedy));
}

void
api_refuse_problem(struct api_call *call, const struct gate_problem *why)
{
	api_refuse(call, why->status, why->rule, why->detail, why->remedy);
}

/* --- parts ------------------------------------------------------------ */

json_t *
api_receipt(const struct ledger_receipt *receipt)
{
	char leaf[LEDGER_LEAF_LEN * 2 + 1], proof[64];

	sodium_bin2hex(leaf, sizeof(leaf), receipt->leaf, LEDGER_LEAF_LEN);
	snprintf(proof, sizeof(proof), "/v1/ledger/proof/%" PRIu64,
	    receipt->index);
	return json_pack("{s:I, s:I, s:s, s:s}", "index",
	    (json_int_t)receipt->index, "seq", (json_int_t)receipt->seq,
	    "leaf", leaf, "proof", proof);
}

json_t *
api_time(int64_t unix_s)
{
	time_t at = (time_t)unix_s;
	struct tm utc;
	char text[32];

	if (gmtime_r(&at, &utc) == NULL ||
	    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc) == 0)
		return json_null();
	return json_string(text);
}
