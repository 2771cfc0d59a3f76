/* Tokens that the broker gets by itself: what is stored for it, the requests of each flow
 * (RFC 6749, RFC 7523), what is answered.  The scenario `minted` has the whole way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "json_in.h"
#include "mint/answer.h"
#include "mint/jwt.h"
#include "mint/request.h"
#include "mint/source.h"
#include "secret_parts.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <sodium.h>

#define N(cases) (sizeof(cases) / sizeof((cases)[0]))
#define NOW INT64_C(1800000000)
#define URL "https://login.example.com/token"
#define REFRESH "mint:{\"v\":1,\"flow\":\"refresh_token\",\"token_url\":\"" URL "\"," \
    "\"client_id\":\"c\",\"refresh_token\":\"1//a+b\"}"
#define CREDENTIALS(more) "mint:{\"v\":1,\"flow\":\"client_credentials\",\"token_url\":\"" URL "\"," \
    "\"client_id\":\"c:1\",\"client_secret\":\"s/3 %\"" more "}"

static char *ec_pem, *rsa_pem;

static char *
make_key(EVP_PKEY *key)
{
	BIO *bio = BIO_new(BIO_s_mem());
	char *text, *out;
	long len;

	assert_non_null(key);
	assert_int_equal(PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL), 1);
	len = BIO_get_mem_data(bio, &text);
	out = strndup(text, (size_t)len);
	BIO_free(bio);
	EVP_PKEY_free(key);
	return out;
}

static int
make_keys(void **state)
{
	ec_pem = make_key(EVP_EC_gen("P-256"));
	rsa_pem = make_key(EVP_RSA_gen(2048));
	return ec_pem != NULL && rsa_pem != NULL ? 0 : -1;
}

static int
free_keys(void **state)
{
	free(ec_pem);
	free(rsa_pem);
	return 0;
}

/* The value with such a key in it; the caller frees it. */
static char *
with_key(const char *members, const char *pem)
{
	char err[128], *text, *value;
	json_t *json = json_in_parse(members, strlen(members), err, sizeof(err));

	assert_non_null(json);
	json_object_set_new(json, "key", json_string(pem));
	text = json_dumps(json, JSON_COMPACT);
	value = malloc(strlen(text) + 6);
	sprintf(value, "mint:%s", text);
	free(text);
	json_decref(json);
	return value;
}

/* --- what is stored ------------------------------------------------------------- */

#define APP(id, installation, more) "mint:{\"v\":1,\"flow\":\"github_app\",\"key\":\"none\"," \
	"\"app_id\":\"" id "\",\"installation_id\":\"" installation "\"" more "}"

static void
test_bad_sources(void **state)
{
	static const struct { const char *value, *says; } bad[] = {
		{ "aws:a:b", "begin with mint:" },
		{ "mint:", "strict JSON" },
		{ "mint:[]", "an object" },
		{ "mint:{\"v\":2,\"flow\":\"refresh_token\"}", "v" },
		{ "mint:{\"v\":1,\"flow\":\"password\"}", "\"flow\" is none of" },
		{ "mint:{\"v\":1,\"flow\":\"refresh_token\",\"flow\":\"refresh_token\"}", "twice" },
		{ "mint:{\"v\":1,\"flow\":\"refresh_token\",\"token_url\":\"" URL "\",\"client_id\":\"c\"}",
		  "\"refresh_token\" is missing" },
		{ CREDENTIALS(",\"app_id\":\"1\""), "\"app_id\" is nothing that this flow has" },
		{ CREDENTIALS(",\"repositories\":[]"), "nothing that this flow has" },
		{ CREDENTIALS(",\"api\":\"https://a.example.com\""), "\"api\" is nothing" },
		{ CREDENTIALS(",\"client_auth\":\"post\""), "\"basic\" or \"body\"" },
		{ CREDENTIALS(",\"scope\":\"a\\nb\""), "printable ASCII" },
		{ CREDENTIALS(",\"colour\":\"red\""), "colour" },
		{ "mint:{\"v\":1,\"flow\":\"refresh_token\",\"token_url\":\"http://login.example.com/t\","
		  "\"client_id\":\"c\",\"refresh_token\":\"r\"}", "https://host/path" },
		{ "mint:{\"v\":1,\"flow\":\"refresh_token\",\"token_url\":\"https://u@login.example.com/t\","
		  "\"client_id\":\"c\",\"refresh_token\":\"r\"}", "https://host/path" },
		{ "mint:{\"v\":1,\"flow\":\"refresh_token\",\"token_url\":\"" URL "\",\"client_id\":\"c\","
		  "\"refresh_token\":\"r\",\"client_auth\":\"basic\"}", "wants a client_secret" },
		{ "mint:{\"v\":1,\"flow\":\"jwt_bearer\",\"token_url\":\"" URL "\",\"issuer\":\"i\","
		  "\"key\":\"none\"}", "no private key" },
		{ APP("7x", "8", ""), "decimal numbers" },
		{ APP("7", "8/../9", ""), "decimal numbers" },
		{ APP("7", "8", ",\"repositories\":[\"r\",1]"), "\"repositories\" are names" },
		{ APP("7", "8", ",\"permissions\":{\"contents\":true}"), "\"permissions\" are like" },
		{ APP("7", "8", ""), "no private key" },
	};
	struct mint_source source;
	char err[256];

	for (size_t i = 0; i < N(bad); i++) {
		assert_int_equal(mint_source_read(slice_of(bad[i].value), &source, err,
		    sizeof(err)), -1);
		if (strstr(err, bad[i].says) == NULL)
			fail_msg("%s: %s", bad[i].value, err);
		assert_null(source.json);
	}
}

struct parts {
	char text[400];
};

static bool
note_part(void *arg, struct slice part)
{
	struct parts *parts = arg;

	strncat(parts->text, part.p, part.n);
	strcat(parts->text, "|");
	return true;
}

static void
test_parts(void **state)
{
	static const struct { const char *value, *parts; } cases[] = {
		{ REFRESH, "1//a+b|" },
		{ CREDENTIALS(""), "s/3 %|" },
		{ "mint:{\"v\":1}", "mint:{\"v\":1}|" },
		{ "plain", "plain|" },
	};

	for (size_t i = 0; i < N(cases); i++) {
		struct parts parts = { "" };

		assert_true(secret_parts(slice_of(cases[i].value), note_part, &parts));
		assert_string_equal(parts.text, cases[i].parts);
	}
}

static void
test_with(void **state)
{
	struct mint_source source, other;
	char err[256], *value;

	assert_int_equal(mint_source_read(SLICE(REFRESH), &source, err, sizeof(err)), 0);
	value = mint_source_with(&source, SLICE("1//next"));
	assert_int_equal(mint_source_read(slice_of(value), &other, err, sizeof(err)), 0);
	assert_string_equal(other.refresh_token, "1//next");
	assert_string_equal(other.client_id, "c");
	assert_string_equal(source.refresh_token, "1//a+b");
	mint_source_free(&other);
	mint_source_free(&source);
	free(value);
}

/* --- what is asked ----------------------------------------------------------------- */

static void
test_forms(void **state)
{
	static const struct { const char *value, *authorization, *body; } cases[] = {
		{ REFRESH, NULL, "grant_type=refresh_token&refresh_token=1%2F%2Fa%2Bb&client_id=c" },
		{ CREDENTIALS(",\"scope\":\"x y\""), NULL, "grant_type=client_credentials&scope=x%20y"
		  "&client_id=c%3A1&client_secret=s%2F3%20%25" },
		/* "c%3A1:s%2F3%20%25" */
		{ CREDENTIALS(",\"client_auth\":\"basic\",\"audience\":\"a\""),
		  "Authorization: Basic YyUzQTE6cyUyRjMlMjAlMjU=",
		  "grant_type=client_credentials&audience=a" },
	};
	struct mint_request request;
	struct mint_source source;
	char err[256];

	for (size_t i = 0; i < N(cases); i++) {
		assert_int_equal(mint_source_read(slice_of(cases[i].value), &source, err,
		    sizeof(err)), 0);
		assert_int_equal(mint_request_make(&source, NOW, &request, err, sizeof(err)), 0);
		assert_string_equal(request.url, URL);
		assert_string_equal(request.body, cases[i].body);
		assert_string_equal(request.type, "Content-Type: application/x-www-form-urlencoded");
		if (cases[i].authorization == NULL)
			assert_null(request.authorization);
		else
			assert_string_equal(request.authorization, cases[i].authorization);
		mint_request_free(&request);
		mint_source_free(&source);
	}
}

static size_t
decode(const char *text, size_t len, unsigned char *out, size_t cap)
{
	size_t got = 0;

	assert_int_equal(sodium_base642bin(out, cap, text, len, NULL, &got, NULL,
	    sodium_base64_VARIANT_URLSAFE_NO_PADDING), 0);
	return got;
}

/* The claims of a token whose signature verifies under the key; the caller frees them. */
static json_t *
verified(const char *token, const char *pem, const char *algorithm)
{
	unsigned char raw[1024], head[512], body[2048], *der = NULL;
	const char *first = strchr(token, '.'), *second = strchr(first + 1, '.');
	size_t n = decode(second + 1, strlen(second + 1), raw, sizeof(raw));
	BIO *bio = BIO_new_mem_buf(pem, -1);
	EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	json_t *json;
	size_t len;

	if (EVP_PKEY_is_a(key, "EC")) {
		ECDSA_SIG *pair = ECDSA_SIG_new();

		assert_int_equal(n, 64);
		ECDSA_SIG_set0(pair, BN_bin2bn(raw, 32, NULL), BN_bin2bn(raw + 32, 32, NULL));
		n = (size_t)i2d_ECDSA_SIG(pair, &der);
		ECDSA_SIG_free(pair);
	}
	assert_int_equal(EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, key), 1);
	assert_int_equal(EVP_DigestVerify(context, der != NULL ? der : raw, n,
	    (const unsigned char *)token, (size_t)(second - token)), 1);
	OPENSSL_free(der);
	EVP_MD_CTX_free(context);
	EVP_PKEY_free(key);
	BIO_free(bio);
	len = decode(token, (size_t)(first - token), head, sizeof(head));
	assert_non_null(memmem(head, len, algorithm, strlen(algorithm)));
	len = decode(first + 1, (size_t)(second - first - 1), body, sizeof(body));
	json = json_loadb((const char *)body, len, 0, NULL);
	assert_non_null(json);
	return json;
}

static long long
number(const json_t *json, const char *name)
{
	return json_integer_value(json_object_get(json, name));
}

static void
test_signed(void **state)
{
	const char *const pems[] = { ec_pem, rsa_pem }, *const names[] = { "\"ES256\"", "\"RS256\"" };
	struct mint_request request;
	struct mint_source source;
	char err[256], *value;
	json_t *claims;

	for (size_t i = 0; i < N(pems); i++) {
		value = with_key("{\"v\":1,\"flow\":\"jwt_bearer\",\"token_url\":\"" URL "\",\"issuer\":\"me\","
		    "\"subject\":\"you\",\"scope\":\"a b\",\"key_id\":\"k\"}", pems[i]);
		assert_int_equal(mint_source_read(slice_of(value), &source, err, sizeof(err)), 0);
		assert_int_equal(mint_request_make(&source, NOW, &request, err, sizeof(err)), 0);
		assert_ptr_equal(strstr(request.body, "grant_type=urn%3Aietf%3Aparams%3Aoauth%3A"
		    "grant-type%3Ajwt-bearer&assertion="), request.body);
		assert_string_equal(strrchr(request.body, '&'), "&scope=a%20b");
		*strrchr(request.body, '&') = '\0';
		claims = verified(strstr(request.body, "assertion=") + 10, pems[i], names[i]);
		assert_string_equal(json_string_value(json_object_get(claims, "iss")), "me");
		assert_string_equal(json_string_value(json_object_get(claims, "sub")), "you");
		assert_string_equal(json_string_value(json_object_get(claims, "aud")), URL);
		assert_int_equal(number(claims, "iat"), NOW);
		assert_int_equal(number(claims, "exp"), NOW + 300);
		json_decref(claims);
		mint_request_free(&request);
		mint_source_free(&source);
		free(value);
	}
}

static void
test_app(void **state)
{
	struct mint_request request;
	struct mint_source source;
	char err[256], *value;
	json_t *claims;

	value = with_key("{\"v\":1,\"flow\":\"github_app\",\"app_id\":\"7\",\"installation_id\":\"8\","
	    "\"repositories\":[\"r\"],\"permissions\":{\"contents\":\"read\"}}", rsa_pem);
	assert_int_equal(mint_source_read(slice_of(value), &source, err, sizeof(err)), 0);
	assert_int_equal(mint_request_make(&source, NOW, &request, err, sizeof(err)), 0);
	assert_string_equal(request.url, "https://api.github.com/app/installations/8/access_tokens");
	assert_string_equal(request.body, "{\"repositories\":[\"r\"],\"permissions\":{\"contents\":\"read\"}}");
	assert_memory_equal(request.authorization, "Authorization: Bearer ", 22);
	claims = verified(request.authorization + 22, rsa_pem, "\"RS256\"");
	assert_string_equal(json_string_value(json_object_get(claims, "iss")), "7");
	assert_int_equal(number(claims, "iat"), NOW - 60);
	assert_int_equal(number(claims, "exp"), NOW + 300);	/* GitHub takes ten minutes at most */
	json_decref(claims);
	mint_request_free(&request);
	mint_source_free(&source);
	free(value);
}

static void
test_withdraw(void **state)
{
	static const struct {
		const char *value, *body, *authorization;
	} cases[] = {
		{ "mint:{\"v\":1,\"flow\":\"refresh_token\",\"token_url\":\"" URL "\",\"client_id\":\"a b\",\"refresh_token\":\"r\","
		  "\"revocation_url\":\"https://login.example.com/r?x=1\"}",
		  "token=t%2B1&token_type_hint=refresh_token&client_id=a%20b", NULL },
		{ "mint:{\"v\":1,\"flow\":\"client_credentials\",\"token_url\":\"" URL "\",\"client_id\":\"c\",\"client_secret\":\"s\","
		  "\"client_auth\":\"basic\",\"revocation_url\":\"https://login.example.com/r?x=1\"}",
		  "token=t%2B1&token_type_hint=refresh_token", "Authorization: Basic Yzpz" },
	};
	struct mint_request request;
	struct mint_source source;
	char err[256];

	for (size_t i = 0; i < N(cases); i++) {
		assert_int_equal(mint_source_read(slice_of(cases[i].value), &source, err, sizeof(err)), 0);
		assert_int_equal(mint_request_withdraw(&source, "t+1", "refresh_token", &request), 0);
		assert_string_equal(request.url, "https://login.example.com/r?x=1");
		assert_string_equal(request.body, cases[i].body);
		if (cases[i].authorization == NULL)
			assert_null(request.authorization);
		else
			assert_string_equal(request.authorization, cases[i].authorization);
		mint_request_free(&request);
		mint_source_free(&source);
	}
}

/* --- what is answered ----------------------------------------------------------------- */

static void
test_answers(void **state)
{
	static const struct {
		enum mint_flow flow;
		long status;
		const char *body;
		int64_t life_s;		/* 0: refused */
		const char *renewed;	/* or, of a refusal, what it says */
		bool final;
	} cases[] = {
		{ MINT_REFRESH_TOKEN, 200, "{\"access_token\":\"abcdefgh\",\"expires_in\":3600}", 3600, NULL, false },
		{ MINT_REFRESH_TOKEN, 200, "{\"access_token\":\"abcdefgh\",\"expires_in\":\"7\",\"refresh_token\":\"12345678\"}",
		  7, "12345678", false },
		{ MINT_REFRESH_TOKEN, 200, "{\"access_token\":\"abcdefgh\",\"token_type\":\"bEaReR\"}", MINT_LIFE_DEFAULT_S, NULL, false },
		{ MINT_CLIENT_CREDENTIALS, 200, "{\"access_token\":\"abcdefgh\",\"refresh_token\":\"12345678\"}",
		  MINT_LIFE_DEFAULT_S, NULL, false },
		{ MINT_JWT_BEARER, 201, "{\"access_token\":\"abcdefgh\",\"expires_in\":1e300}", MINT_LIFE_MAX_S, NULL, false },
		{ MINT_GITHUB_APP, 201, "{\"token\":\"ghs_abcd\",\"expires_at\":\"2027-01-15T09:00:00Z\"}", 3600, NULL, false },
		{ MINT_GITHUB_APP, 201, "{\"token\":\"ghs_abcd\",\"expires_at\":\"2027-01-15T08:00:00Z\"}", 0, "over already", false },
		{ MINT_GITHUB_APP, 201, "{\"token\":\"ghs_abcd\"}", 0, "cannot be read", false },
		{ MINT_GITHUB_APP, 200, "{\"access_token\":\"abcdefgh\",\"expires_at\":\"2027-01-15T09:00:00Z\"}", 0, "no token", false },
		{ MINT_REFRESH_TOKEN, 200, "{\"access_token\":\"abcdefgh\",\"expires_in\":0.5}", 0, "over already", false },
		{ MINT_REFRESH_TOKEN, 200, "{\"access_token\":\"abcdefgh\",\"expires_in\":\"soon\"}", 0, "over already", false },
		{ MINT_REFRESH_TOKEN, 200, "{\"access_token\":\"abcdefgh\",\"expires_in\":-5}", 0, "over already", false },
		{ MINT_REFRESH_TOKEN, 200, "{\"access_token\":\"abcdefg\"}", 0, "no token", false },
		{ MINT_REFRESH_TOKEN, 200, "{\"access_token\":\"abcd\\u0001efgh\"}", 0, "no token", false },
		{ MINT_REFRESH_TOKEN, 200, "{\"access_token\":\"abcdefgh\\n\"}", 0, "no token", false },
		{ MINT_REFRESH_TOKEN, 200, "{\"access_token\":7}", 0, "no token", false },
		{ MINT_REFRESH_TOKEN, 200, "{\"access_token\":\"abcdefgh\",\"token_type\":\"mac\"}", 0, "no bearer token", false },
		{ MINT_REFRESH_TOKEN, 200, "{\"access_token\":\"abcdefgh\",\"refresh_token\":\"a\\nbcdefgh\"}", 0, "new refresh token", false },
		{ MINT_REFRESH_TOKEN, 200, "{\"access_token\":\"abcdefgh\",\"token_type\":\"DPoP\"}", 0, "no bearer token", false },
		{ MINT_REFRESH_TOKEN, 200, "{\"access_token\":\"abcdefgh\",\"token_type\":[]}", 0, "no bearer token", false },
		{ MINT_REFRESH_TOKEN, 200, "{\"access_token\":\"abcdefgh\",\"token_type\":\"N_A\"}", MINT_LIFE_DEFAULT_S, NULL, false },
		{ MINT_REFRESH_TOKEN, 200, "{\"ok\":true,\"access_token\":\"xoxe.xoxb-1\",\"token_type\":\"bot\",\"expires_in\":43200}", 43200, NULL, false },
		{ MINT_REFRESH_TOKEN, 200, "{\"access_token\":\"abcdefgh\",\"expires_in\":null}", MINT_LIFE_DEFAULT_S, NULL, false },
		{ MINT_REFRESH_TOKEN, 200, "{\"access_token\":\"abcdefgh\",\"expires_in\":\"99999999999999999999\"}", MINT_LIFE_MAX_S, NULL, false },
		{ MINT_REFRESH_TOKEN, 200, "{\"access_token\":\"abcdefgh\",\"expires_in\":\"inf\"}", 0, "cannot be read", false },
		{ MINT_REFRESH_TOKEN, 200, "{\"access_token\":\"abcdefgh\",\"expires_in\":\"\"}", 0, "cannot be read", false },
		{ MINT_REFRESH_TOKEN, 200, "{\"access_token\":\"abcdefgh\",\"expires_in\":\"-1\"}", 0, "cannot be read", false },
		{ MINT_REFRESH_TOKEN, 200, "{\"access_token\":\"abcdefgh\",\"expires_in\":[60]}", 0, "cannot be read", false },
		{ MINT_REFRESH_TOKEN, 200, "{\"access_token\":\"\"}", 0, "no token", false },
		{ MINT_REFRESH_TOKEN, 200, "{\"error\":\"bad_refresh_token\"}", 0, "it answers 200, bad_refresh_token: what was stored", true },
		{ MINT_REFRESH_TOKEN, 200, "{\"ok\":false,\"error\":\"its own words\"}", 0, "it answers 200, with an error", false },
		{ MINT_REFRESH_TOKEN, 308, "", 0, "no redirect is followed", false },
		{ MINT_REFRESH_TOKEN, 429, "slow down", 0, "it answers 429", false },
		{ MINT_REFRESH_TOKEN, 200, "{\"access_token\":\"abcdefgh\",\"access_token\":\"12345678\"}", 0, "no JSON object", false },
		{ MINT_REFRESH_TOKEN, 200, "", 0, "no JSON object", false },
		{ MINT_REFRESH_TOKEN, 400, "{\"error\":\"invalid_grant\"}", 0, "it answers 400, invalid_grant: what was stored", true },
		{ MINT_REFRESH_TOKEN, 400, "{\"error\":\"its own words\"}", 0, "it answers 400", false },
		{ MINT_GITHUB_APP, 404, "{\"message\":\"Not Found\"}", 0, "it answers 404", true },
		{ MINT_REFRESH_TOKEN, 302, "{\"access_token\":\"abcdefgh\"}", 0, "it answers 302", false },
		{ MINT_REFRESH_TOKEN, 503, "<html>", 0, "it answers 503", false },
	};
	struct mint_answer answer;
	char err[256];

	for (size_t i = 0; i < N(cases); i++) {
		int rv = mint_answer_read(cases[i].flow, cases[i].status, cases[i].body,
		    strlen(cases[i].body), NOW, &answer, err, sizeof(err));

		if ((rv == 0) != (cases[i].life_s > 0))
			fail_msg("%zu: %s", i, err);
		if (rv != 0) {
			if (strstr(err, cases[i].renewed) == NULL)
				fail_msg("%zu: %s", i, err);
			assert_null(answer.token);
			assert_int_equal(answer.final, cases[i].final);
			continue;
		}
		assert_int_equal(answer.life_s, cases[i].life_s);
		if (cases[i].renewed == NULL)
			assert_null(answer.refresh_token);
		else
			assert_true(secret_equal(answer.refresh_token, cases[i].renewed,
			    strlen(cases[i].renewed)));
		mint_answer_release(&answer);
	}
}

/* What was asked with may be used up, whatever else such an answer says. */
static void
test_renewed_all_the_same(void **state)
{
	static const struct {
		enum mint_flow flow;
		long status;
		const char *body;
		bool renewed;
	} cases[] = {
		{ MINT_REFRESH_TOKEN, 200, "{\"refresh_token\":\"12345678\"}", true },
		{ MINT_REFRESH_TOKEN, 200, "{\"refresh_token\":\"12345678\",\"access_token\":\"\"}", true },
		{ MINT_REFRESH_TOKEN, 200, "{\"refresh_token\":\"12345678\",\"access_token\":\"abcdefgh\",\"expires_in\":0}", true },
		{ MINT_REFRESH_TOKEN, 200, "{\"refresh_token\":\"12345678\",\"access_token\":\"abcdefgh\",\"token_type\":\"mac\"}", true },
		{ MINT_REFRESH_TOKEN, 400, "{\"refresh_token\":\"12345678\",\"error\":\"invalid_grant\"}", false },
		{ MINT_REFRESH_TOKEN, 200, "{\"refresh_token\":\"12345678\",\"error\":\"x\"}", false },
		{ MINT_CLIENT_CREDENTIALS, 200, "{\"refresh_token\":\"12345678\"}", false },
	};
	struct mint_answer answer;
	char err[256];

	for (size_t i = 0; i < N(cases); i++) {
		assert_int_equal(mint_answer_read(cases[i].flow, cases[i].status, cases[i].body,
		    strlen(cases[i].body), NOW, &answer, err, sizeof(err)), -1);
		assert_null(answer.token);
		if ((answer.refresh_token != NULL) != cases[i].renewed)
			fail_msg("%zu: %s", i, err);
		mint_answer_release(&answer);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad_sources),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_with),
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_signed),
		cmocka_unit_test(test_app),
		cmocka_unit_test(test_withdraw),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_renewed_all_the_same),
	};

	return cmocka_run_group_tests_name("mint", tests, make_keys, free_keys);
}
