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

#define LOG_IN ": what was stored is used up, expired or revoked; log in again and store what that gives"

/* Those of RFC 6749, section 5.2, and what GitHub and Slack say in their place (with status 200),
 * after which nothing changes until somebody does something about it. */
static const struct known_error { const char *word, *remedy; } known_errors[] = {
	{ "invalid_grant", LOG_IN }, { "invalid_client", "" }, { "unauthorized_client", "" },
	{ "unsupported_grant_type", "" }, { "invalid_scope", "" }, { "invalid_request", "" },
	{ "bad_refresh_token", LOG_IN }, { "incorrect_client_credentials", "" },
	{ "invalid_refresh_token", LOG_IN }, { "token_revoked", LOG_IN },
	{ "token_expired", LOG_IN }, { "invalid_client_id", "" }, { "bad_client_secret", "" },
};

static const struct known_error *
known_error(const json_t *body)
{
	const char *said = json_string_value(json_object_get(body, "error"));

	for (size_t i = 0; said != NULL && i < sizeof(known_errors) / sizeof(*known_errors); i++)
		if (strcmp(said, known_errors[i].word) == 0)
			return &known_errors[i];
	return NULL;
}

static int
refused(long status, const json_t *body, struct mint_answer *out, char *err,
    size_t err_len)
{
	const struct known_error *known = known_error(body);

	out->final = known != NULL || status == 401 || status == 403 ||
	    status == 404 || status == 422;
	snprintf(err, err_len, "it answers %ld%s%s%s", status,
	    known != NULL ? ", " : status / 100 == 2 ? ", with an error" : "",
	    known != NULL ? known->word : "", known != NULL ? known->remedy :
	    status / 100 == 3 ? ": no redirect is followed; store the address that takes the request itself" : "");
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

/* Seconds as a number, or as digits in a string, which some send; 0 for anything else. */
static int64_t
seconds(const json_t *value)
{
	const char *text = json_string_value(value);
	double number = 0;

	if (value == NULL || json_is_null(value))
		return MINT_LIFE_DEFAULT_S;
	if (json_is_number(value))
		number = json_number_value(value);
	else if (text != NULL && text[strspn(text, "0123456789")] == '\0')
		number = strtod(text, NULL);
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

/* Is it sent as it is, without a proof that goes with it?  "bot" and "user" are Slack's;
 * "N_A" says that the kinds of RFC 6749 do not fit (RFC 8693). */
static bool
bearer(const json_t *type)
{
	static const char *const words[] = { "bearer", "N_A", "bot", "user" };

	for (size_t i = 0; json_is_string(type) && i < sizeof(words) / sizeof(*words); i++)
		if (strcasecmp(json_string_value(type), words[i]) == 0)
			return true;
	return type == NULL;
}

static int
read_token(enum mint_flow flow, const json_t *body, int64_t now_s,
    struct mint_answer *out, char *err, size_t err_len)
{
	const bool app = flow == MINT_GITHUB_APP;

	if (!app && !bearer(json_object_get(body, "token_type")))
		return wrong(err, err_len, "what it gives is no bearer token");
	out->life_s = app ? life_until(json_object_get(body, "expires_at"), now_s) :
	    seconds(json_object_get(body, "expires_in"));
	if (out->life_s == 0)
		return wrong(err, err_len, "what it gives is over already, or its end "
		    "cannot be read");
	out->token = take_secret(json_object_get(body, app ? "token" : "access_token"));
	return out->token != NULL ? 0 :
	    wrong(err, err_len, "it gives no token, or none that fits into "
	    "a request, or locked memory is out");
}

/* Of an answer that is no refusal: even where its token is of no use, what was asked with may be
 * used up, and this is all that is left of the login. */
static int
read_renewed(enum mint_flow flow, const json_t *body, struct mint_answer *out, char *err,
    size_t err_len)
{
	const json_t *renewed = json_object_get(body, "refresh_token");

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
	if (status < 200 || status > 299 || json_is_string(json_object_get(json, "error")))
		rv = refused(status, json, out, err, err_len);
	else if (!json_is_object(json))
		wrong(err, err_len, "what it answers is no JSON object");
	else if ((rv = read_renewed(flow, json, out, err, err_len)) == 0)
		rv = read_token(flow, json, now_s, out, err, err_len);
	json_in_wipe(json);
	if (rv != 0) {
		secret_unref(out->token);
		out->token = NULL;
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
