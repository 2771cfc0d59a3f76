#include "mint/request.h"

#include "mint/jwt.h"
#include "secret.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>
#include <sodium.h>

#define FORM_MAX 32768
#define SIGNED_S 300		/* how long what we sign is good for */
#define SKEW_S 60		/* by which our clock may be ahead of theirs */
#define JWT_BEARER "urn:ietf:params:oauth:grant-type:jwt-bearer"

/* A form as it grows, in memory that is wiped when it is freed. */
struct form {
	char *text;		/* NULL: out of memory, or too long */
	size_t len;
};

static void
escaped_free(char *text)
{
	if (text != NULL)
		sodium_memzero(text, strlen(text));
	curl_free(text);
}

static struct form
form_begin(const char *name, const char *value)
{
	struct form form = { .text = calloc(1, FORM_MAX) };
	char *escaped = curl_easy_escape(NULL, value, 0);
	int n = -1;

	if (form.text != NULL && escaped != NULL)
		n = snprintf(form.text, FORM_MAX, "%s=%s", name, escaped);
	form.len = n < 0 || n >= FORM_MAX ? 0 : (size_t)n;
	escaped_free(escaped);
	return form;
}

static void
form_add(struct form *form, const char *name, const char *value)
{
	char *escaped;
	int n = -1;

	if (value == NULL || form->len == 0)
		return;
	if ((escaped = curl_easy_escape(NULL, value, 0)) != NULL)
		n = snprintf(form->text + form->len, FORM_MAX - form->len, "&%s=%s",
		    name, escaped);
	escaped_free(escaped);
	form->len = n < 0 || (size_t)n >= FORM_MAX - form->len ? 0 :
	    form->len + (size_t)n;
}

static int
form_end(struct form *form, struct mint_request *out)
{
	out->type = "Content-Type: application/x-www-form-urlencoded";
	if (form->len > 0) {
		out->body = form->text;
		return 0;
	}
	if (form->text != NULL)
		sodium_memzero(form->text, FORM_MAX);
	free(form->text);
	return -1;
}

/* "Authorization: WORD TEXT"; takes text over. */
static int
authorize(struct mint_request *out, const char *word, char *text)
{
	size_t cap = text == NULL ? 0 : strlen(word) + strlen(text) + 20;

	out->authorization = text == NULL ? NULL : malloc(cap);
	if (out->authorization != NULL)
		snprintf(out->authorization, cap, "Authorization: %s %s", word, text);
	secret_text_free(text);
	return out->authorization != NULL ? 0 : -1;
}

/* RFC 6749, section 2.3.1: both are a form's values before they are joined. */
static int
client_basic(const struct mint_source *source, struct mint_request *out)
{
	char *id = curl_easy_escape(NULL, source->client_id, 0);
	char *secret = curl_easy_escape(NULL, source->client_secret, 0);
	char *joined = NULL, *text = NULL;
	size_t cap, len;

	if (id != NULL && secret != NULL) {
		len = strlen(id) + strlen(secret) + 1;
		cap = sodium_base64_encoded_len(len, sodium_base64_VARIANT_ORIGINAL);
		joined = malloc(len + 1);
		text = malloc(cap);
		if (joined != NULL && text != NULL) {
			snprintf(joined, len + 1, "%s:%s", id, secret);
			sodium_bin2base64(text, cap, (const uint8_t *)joined, len,
			    sodium_base64_VARIANT_ORIGINAL);
		}
	}
	curl_free(id);
	escaped_free(secret);
	if (joined == NULL) {
		free(text);
		text = NULL;
	}
	secret_text_free(joined);
	return authorize(out, "Basic", text);
}

static int
add_client(const struct mint_source *source, struct form *form,
    struct mint_request *out)
{
	if (source->basic)
		return client_basic(source, out);
	form_add(form, "client_id", source->client_id);
	form_add(form, "client_secret", source->client_secret);
	return 0;
}

static int
ask_refresh(const struct mint_source *source, struct mint_request *out)
{
	struct form form = form_begin("grant_type", "refresh_token");
	int rv;

	form_add(&form, "refresh_token", source->refresh_token);
	form_add(&form, "scope", source->scope);
	rv = add_client(source, &form, out);
	return form_end(&form, out) | rv;
}

static int
ask_credentials(const struct mint_source *source, struct mint_request *out)
{
	struct form form = form_begin("grant_type", "client_credentials");
	int rv;

	form_add(&form, "scope", source->scope);
	form_add(&form, "audience", source->audience);
	rv = add_client(source, &form, out);
	return form_end(&form, out) | rv;
}

/* RFC 7523, section 3; scope among the claims is Google's, and the form's is what the
 * others read. */
static int
ask_bearer(const struct mint_source *source, int64_t now_s,
    struct mint_request *out, char *err, size_t err_len)
{
	struct form form = form_begin("grant_type", JWT_BEARER);
	uint8_t random[16];
	char id[33], *assertion = NULL;
	json_t *claims;

	randombytes_buf(random, sizeof(random));
	sodium_bin2hex(id, sizeof(id), random, sizeof(random));
	claims = json_pack("{s:s, s:s*, s:s, s:s*, s:I, s:I, s:s}", "iss",
	    source->issuer, "sub", source->subject, "aud",
	    source->audience != NULL ? source->audience : source->token_url,
	    "scope", source->scope, "iat", (json_int_t)now_s, "exp",
	    (json_int_t)(now_s + SIGNED_S), "jti", id);
	if (claims != NULL)
		assertion = jwt_sign(source->key, source->key_id, claims, err, err_len);
	json_decref(claims);
	if (assertion == NULL)
		form.len = 0;
	form_add(&form, "assertion", assertion);
	form_add(&form, "scope", source->scope);
	secret_text_free(assertion);
	return form_end(&form, out);
}

static int
ask_app(const struct mint_source *source, int64_t now_s, struct mint_request *out,
    char *err, size_t err_len)
{
	json_t *claims = json_pack("{s:s, s:I, s:I}", "iss", source->app_id, "iat",
	    (json_int_t)(now_s - SKEW_S), "exp", (json_int_t)(now_s + SIGNED_S));
	json_t *body = json_pack("{s:O*, s:O*}", "repositories", source->repositories,
	    "permissions", source->permissions);
	char *token = claims == NULL ? NULL :
	    jwt_sign(source->key, NULL, claims, err, err_len);

	snprintf(out->url, sizeof(out->url), "%s/app/installations/%s/access_tokens",
	    source->api, source->installation_id);
	out->type = "Content-Type: application/json";
	out->body = body == NULL ? NULL : json_dumps(body, JSON_COMPACT);
	json_decref(claims);
	json_decref(body);
	return authorize(out, "Bearer", token) | (out->body == NULL ? -1 : 0);
}

int
mint_request_make(const struct mint_source *source, int64_t now_s,
    struct mint_request *out, char *err, size_t err_len)
{
	int rv = -1;

	*out = (struct mint_request){ .url = "" };
	if (source->token_url != NULL)
		snprintf(out->url, sizeof(out->url), "%s", source->token_url);
	snprintf(err, err_len, "out of memory");
	switch (source->flow) {
	case MINT_REFRESH_TOKEN:
		rv = ask_refresh(source, out);
		break;
	case MINT_CLIENT_CREDENTIALS:
		rv = ask_credentials(source, out);
		break;
	case MINT_JWT_BEARER:
		rv = ask_bearer(source, now_s, out, err, err_len);
		break;
	case MINT_GITHUB_APP:
		rv = ask_app(source, now_s, out, err, err_len);
		break;
	}
	if (rv != 0)
		mint_request_free(out);
	return rv;
}

int
mint_request_withdraw(const struct mint_source *source, const char *token, const char *hint,
    struct mint_request *out)
{
	struct form form = form_begin("token", token);
	int rv;

	*out = (struct mint_request){ .url = "" };
	snprintf(out->url, sizeof(out->url), "%s", source->revocation_url);
	form_add(&form, "token_type_hint", hint);
	rv = add_client(source, &form, out);
	rv |= form_end(&form, out);
	if (rv != 0)
		mint_request_free(out);
	return rv;
}

void
mint_request_free(struct mint_request *request)
{
	secret_text_free(request->authorization);
	secret_text_free(request->body);
	*request = (struct mint_request){ .url = "" };
}
