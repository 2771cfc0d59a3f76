#include "mint/source.h"

#include "conf/conf_text.h"
#include "json_in.h"
#include "mint/jwt.h"
#include "secret.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "mint:"
#define TEXT_MAX 2048
#define KEY_MAX 8192
#define URL_MAX 1024
#define GITHUB_API "https://api.github.com"

bool
mint_source_p(struct slice value)
{
	return value.n >= sizeof(PREFIX) - 1 &&
	    memcmp(value.p, PREFIX, sizeof(PREFIX) - 1) == 0;
}

static int
wrong(char *err, size_t err_len, const char *what)
{
	snprintf(err, err_len, "%s", what);
	return -1;
}

static int
read_flow(const char *name, enum mint_flow *out, char *err, size_t err_len)
{
	static const char *const names[] = { "refresh_token",
	    "client_credentials", "jwt_bearer", "github_app" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(name, names[i]) == 0) {
			*out = (enum mint_flow)i;
			return 0;
		}
	return wrong(err, err_len, "\"flow\" is none of refresh_token, "
	    "client_credentials, jwt_bearer, github_app");
}

/* What goes into a field or a form as it is. */
static bool
plain(const char *text)
{
	for (; text != NULL && *text != '\0'; text++)
		if (*text < ' ' || *text > '~')
			return false;
	return true;
}

static bool
digits(const char *text)
{
	return text[strspn(text, "0123456789")] == '\0';
}

static bool
address(const char *url)
{
	return conf_text_address(url) && strcspn(url, "#@") == strlen(url);
}

static int
check_url(const struct mint_source *s, char *err, size_t err_len)
{
	const char *url = s->flow == MINT_GITHUB_APP ? s->api : s->token_url;

	if (address(url) && (s->revocation_url == NULL || address(s->revocation_url)))
		return 0;
	return wrong(err, err_len, "\"token_url\", \"revocation_url\" and \"api\" are "
	    "https://host/path, or http to a loopback address");
}

/* Each flow has what it needs, and nothing that it would not use. */
static int
check_members(const struct mint_source *s, char *err, size_t err_len)
{
	const bool refresh = s->flow == MINT_REFRESH_TOKEN,
	    credentials = s->flow == MINT_CLIENT_CREDENTIALS,
	    bearer = s->flow == MINT_JWT_BEARER, app = s->flow == MINT_GITHUB_APP;
	const struct { const char *name, *value; bool needed, allowed; } members[] = {
		{ "token_url", s->token_url, !app, !app },
		{ "revocation_url", s->revocation_url, false, !app },
		{ "client_id", s->client_id, refresh || credentials, refresh || credentials },
		{ "client_secret", s->client_secret, credentials, refresh || credentials },
		{ "refresh_token", s->refresh_token, refresh, refresh },
		{ "scope", s->scope, false, !app },
		{ "audience", s->audience, false, credentials || bearer },
		{ "key", s->key, bearer || app, bearer || app },
		{ "key_id", s->key_id, false, bearer },
		{ "issuer", s->issuer, bearer, bearer },
		{ "subject", s->subject, false, bearer },
		{ "app_id", s->app_id, app, app },
		{ "installation_id", s->installation_id, app, app },
		{ "api", s->api, app, app },
	};

	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
		const bool there = members[i].value != NULL;

		if (there == members[i].needed || (there && members[i].allowed))
			continue;
		snprintf(err, err_len, there ? "\"%s\" is nothing that this flow has" :
		    "\"%s\" is missing", members[i].name);
		return -1;
	}
	if (!app && (s->repositories != NULL || s->permissions != NULL))
		return wrong(err, err_len, "\"repositories\" and \"permissions\" are "
		    "nothing that this flow has");
	return 0;
}

static int
check_texts(const struct mint_source *s, char *err, size_t err_len)
{
	const char *const texts[] = { s->client_id, s->client_secret,
	    s->refresh_token, s->scope, s->audience, s->key_id, s->issuer, s->subject };
	const json_t *one;
	const char *name;
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (!plain(texts[i]))
			return wrong(err, err_len, "a member holds something else than "
			    "printable ASCII");
	if (s->app_id != NULL && (!digits(s->app_id) || !digits(s->installation_id)))
		return wrong(err, err_len, "\"app_id\" and \"installation_id\" are "
		    "decimal numbers");
	json_array_foreach(s->repositories, i, one)
		if (!json_is_string(one))
			return wrong(err, err_len, "\"repositories\" are names, without "
			    "their owner");
	json_object_foreach((json_t *)(uintptr_t)s->permissions, name, one)
		if (!json_is_string(one))
			return wrong(err, err_len, "\"permissions\" are like "
			    "{\"contents\":\"read\"}");
	return s->key == NULL ? 0 : jwt_key_check(s->key, err, err_len);
}

static int
read_members(struct mint_source *out, char *err, size_t err_len)
{
	const char *flow = NULL, *auth = NULL;
	json_t *repositories = NULL, *permissions = NULL;
	int64_t version = 0;
#define TEXT(member, max) { #member, JSON_IN_STR, false, 1, max, &out->member }
	const struct json_in_field fields[] = {
		{ "v", JSON_IN_INT, true, 1, 1, &version },
		{ "flow", JSON_IN_STR, true, 1, 64, &flow },
		TEXT(token_url, URL_MAX - 1), TEXT(revocation_url, URL_MAX - 1),
		TEXT(client_id, TEXT_MAX),
		TEXT(client_secret, TEXT_MAX), TEXT(refresh_token, KEY_MAX),
		TEXT(scope, TEXT_MAX), TEXT(audience, TEXT_MAX), TEXT(key, KEY_MAX),
		TEXT(key_id, 256), TEXT(issuer, TEXT_MAX), TEXT(subject, TEXT_MAX),
		TEXT(app_id, 20), TEXT(installation_id, 20), TEXT(api, 256),
		{ "client_auth", JSON_IN_STR, false, 1, 16, &auth },
		{ "repositories", JSON_IN_ARRAY, false, 0, 500, &repositories },
		{ "permissions", JSON_IN_OBJECT, false, 0, 0, &permissions },
	};
#undef TEXT

	if (json_in_read(out->json, fields, sizeof(fields) / sizeof(*fields), "", err,
	    err_len) != 0 || read_flow(flow, &out->flow, err, err_len) != 0)
		return -1;
	out->repositories = repositories;
	out->permissions = permissions;
	out->basic = auth != NULL && strcmp(auth, "basic") == 0;
	if (auth != NULL && !out->basic && strcmp(auth, "body") != 0)
		return wrong(err, err_len, "\"client_auth\" is \"basic\" or \"body\"");
	if (auth != NULL && out->client_id == NULL)
		return wrong(err, err_len, "\"client_auth\" is nothing that this flow has");
	if (out->basic && out->client_secret == NULL)
		return wrong(err, err_len, "\"client_auth\":\"basic\" wants a client_secret");
	if (out->api == NULL && out->flow == MINT_GITHUB_APP)
		out->api = GITHUB_API;
	if (check_members(out, err, err_len) != 0 ||
	    check_texts(out, err, err_len) != 0)
		return -1;
	return check_url(out, err, err_len);
}

int
mint_source_read(struct slice value, struct mint_source *out, char *err,
    size_t err_len)
{
	*out = (struct mint_source){ .json = NULL };
	if (!mint_source_p(value))
		return wrong(err, err_len, "it does not begin with " PREFIX);
	out->json = json_in_parse(value.p + sizeof(PREFIX) - 1,
	    value.n - (sizeof(PREFIX) - 1), err, err_len);
	if (out->json == NULL)
		return -1;
	if (json_is_object(out->json) && read_members(out, err, err_len) == 0)
		return 0;
	if (!json_is_object(out->json))
		(void)wrong(err, err_len, "behind " PREFIX " an object is wanted");
	mint_source_free(out);
	return -1;
}

void
mint_source_free(struct mint_source *source)
{
	json_in_wipe(source->json);
	*source = (struct mint_source){ .json = NULL };
}

char *
mint_source_with(const struct mint_source *source, struct slice refresh_token)
{
	json_t *copy = json_copy(source->json);
	char *text = NULL, *value = NULL;
	size_t len;

	if (copy != NULL && json_object_set_new(copy, "refresh_token",
	    json_stringn(refresh_token.p, refresh_token.n)) == 0)
		text = json_dumps(copy, JSON_COMPACT);
	if (text != NULL) {
		len = strlen(text) + sizeof(PREFIX);
		if ((value = malloc(len)) != NULL)
			snprintf(value, len, PREFIX "%s", text);
		secret_text_free(text);
	}
	/* Its other members are the source's own: only the new one is wiped. */
	if (copy != NULL)
		json_in_wipe(json_incref(json_object_get(copy, "refresh_token")));
	json_decref(copy);
	return value;
}

size_t
mint_source_secrets(const struct mint_source *source,
    struct slice out[MINT_SOURCE_SECRETS])
{
	const char *const texts[] = { source->client_secret, source->refresh_token,
	    source->key };
	size_t n = 0;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (texts[i] != NULL)
			out[n++] = slice_of(texts[i]);
	return n;
}
