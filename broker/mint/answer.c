#include "mint/answer.h"

#include "json_in.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define TOKEN_LEAST 8	/* as of every secret: it must be found again */

static int
wrong(char *err, size_t err_len, const char *what)
{
	snprintf(err, err_len, "%s", what);
	return -1;
}

/* Those of RFC 6749, section 5.2, after which nothing changes until somebody does
 * something about it. */
static const char *
known_error(const json_t *body)
{
	static const char *const words[] = { "invalid_grant", "invalid_client",
	    "unauthorized_client", "unsupported_grant_type", "invalid_scope",
	    "invalid_request" };
	const char *said = json_string_value(json_object_get(body, "error"));

	for (size_t i = 0; said != NULL && i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(said, words[i]) == 0)
			return words[i];
	return NULL;
}

static int
refused(long status, const json_t *body, struct mint_answer *out, char *err,
    size_t err_len)
{
	const char *word = known_error(body);

	out->final = word != NULL || status == 401 || status == 403 ||
	    status == 404 || status == 422;
	snprintf(err, err_len, "it answers %ld%s%s%s", status,
	    word != NULL ? ", " : "", word != NULL ? word : "",
	    word != NULL && strcmp(word, "invalid_grant") == 0 ?
	    ": what was stored is used up, expired or revoked; log in again and "
	    "store what that gives" : "");
	return -1;
}

/* A string fit for a head. */
static struct secret *
take_secret(const json_t *value)
{
	const char *text = json_string_value(value);
	size_t len = json_string_length(value), kept = len;

	if (text == NULL || secret_check(text, &kept) != NULL || kept != len ||
	    len < TOKEN_LEAST)
		return NULL;
	return secret_new(text, len);
}

/* Seconds as a number, or as digits in a string, which some send. */
static int64_t
seconds(const json_t *value)
{
	const char *text = json_string_value(value);
	double number = json_is_number(value) ? json_number_value(value) :
	    text != NULL ? strtod(text, NULL) : MINT_LIFE_DEFAULT_S;

	if (!(number >= 1))
		return 0;
	return number > MINT_LIFE_MAX_S ? MINT_LIFE_MAX_S : (int64_t)number;
}

/* "2026-01-31T12:00:00Z"; 0 for anything else. */
static int64_t
life_until(const json_t *value, int64_t now_s)
{
	const char *text = json_string_value(value), *end;
	struct tm tm = { 0 };
	int64_t life;

	if (text == NULL || (end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &tm)) == NULL ||
	    *end != '\0')
		return 0;
	life = (int64_t)timegm(&tm) - now_s;
	return life > MINT_LIFE_MAX_S ? MINT_LIFE_MAX_S : life > 0 ? life : 0;
}

static int
read_token(enum mint_flow flow, const json_t *body, int64_t now_s,
    struct mint_answer *out, char *err, size_t err_len)
{
	const bool app = flow == MINT_GITHUB_APP;
	const json_t *type = json_object_get(body, "token_type"),
	    *renewed = json_object_get(body, "refresh_token");

	if (!app && type != NULL && (!json_is_string(type) ||
	    strcasecmp(json_string_value(type), "bearer") != 0))
		return wrong(err, err_len, "what it gives is no bearer token");
	out->life_s = app ? life_until(json_object_get(body, "expires_at"), now_s) :
	    seconds(json_object_get(body, "expires_in"));
	if (out->life_s == 0)
		return wrong(err, err_len, "what it gives is over already, or its end "
		    "cannot be read");
	out->token = take_secret(json_object_get(body, app ? "token" : "access_token"));
	if (out->token == NULL)
		return wrong(err, err_len, "it gives no token, or none that fits into "
		    "a request, or locked memory is out");
	if (flow != MINT_REFRESH_TOKEN || json_string_length(renewed) == 0)
		return 0;
	out->refresh_token = take_secret(renewed);
	return out->refresh_token != NULL ? 0 :
	    wrong(err, err_len, "its new refresh token cannot be stored");
}

int
mint_answer_read(enum mint_flow flow, long status, const char *body, size_t len,
    int64_t now_s, struct mint_answer *out, char *err, size_t err_len)
{
	char unshown[128];
	json_t *json = len > 0 ? json_in_parse(body, len, unshown, sizeof(unshown)) :
	    NULL;
	int rv = -1;

	*out = (struct mint_answer){ .token = NULL };
	if (status < 200 || status > 299)
		rv = refused(status, json, out, err, err_len);
	else if (!json_is_object(json))
		wrong(err, err_len, "what it answers is no JSON object");
	else
		rv = read_token(flow, json, now_s, out, err, err_len);
	json_in_wipe(json);
	if (rv != 0) {
		secret_unref(out->token);
		secret_unref(out->refresh_token);
		out->token = out->refresh_token = NULL;
	}
	return rv;
}

void
mint_answer_release(struct mint_answer *answer)
{
	secret_unref(answer->token);
	secret_unref(answer->refresh_token);
	*answer = (struct mint_answer){ .token = NULL };
}
