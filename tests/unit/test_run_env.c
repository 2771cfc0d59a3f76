/* The environment of a run: what is removed, what is set. */
#include "cli/run/run_env.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <sodium.h>

static const char secret[] = "made-up/secret+value=1";

static const struct opt table[] = {
	{ "keep-env", 0, "NAME", true, "" }, { NULL, 0, NULL, false, NULL }
};

/* What POST /v1/runs answers, with the tag of one secret. */
static json_t *
reply(void)
{
	uint8_t key[32], tag[32];
	char key_hex[65], tag_hex[65];

	memset(key, 7, sizeof(key));
	crypto_generichash(tag, sizeof(tag), (const uint8_t *)secret,
	    strlen(secret), key, sizeof(key));
	sodium_bin2hex(key_hex, sizeof(key_hex), key, sizeof(key));
	sodium_bin2hex(tag_hex, sizeof(tag_hex), tag, sizeof(tag));
	return json_pack("{s:s, s:s, s:{s:s, s:i}, s:{s:s, s:s}, s:{s:s, s:s},"
	    " s:[{s:s, s:[s,s], s:s, s:s, s:[s], s:i, s:{s:s, s:s}}], s:{s:s, s:[s], s:[i]}}",
	    "id", "run_x", "token", "csr1_token", "proxy", "host", "127.0.0.1",
	    "port", 4321, "api", "url", "http://127.0.0.1:99", "socket", "/h/a.sock",
	    "ca", "cert", "/h/ca.pem", "bundle", "/h/bundle.pem", "placeholders",
	    "binding", "api", "env", "API_TOKEN", "OTHER", "value", "dummy", "scheme",
	    "https", "hosts", "api.example.com", "port", 443, "placement", "kind",
	    "header", "name", "Authorization", "scrub", "key", key_hex, "tags", tag_hex,
	    "lengths", (int)strlen(secret));
}

static int
scrub(struct run_env *env, char *const *vars, int argc, char **argv)
{
	struct opts opts;
	char err[128];
	json_t *run = reply();
	int rc;

	assert_int_equal(opt_parse(table, false, argc, argv, &opts, err,
	    sizeof(err)), 0);
	run_env_init(env, vars);
	rc = run_env_scrub(env, json_object_get(run, "scrub"), &opts);
	json_decref(run);
	return rc;
}

static void
removes(void **state)
{
	static char whole[128], url[128], header[128], json[128], name[] = "AWS_SECRET_ACCESS_KEY=x",
	    plain[] = "PLAIN=some words", path[] = "PATH=/usr/bin:/bin";
	char *vars[] = { whole, url, header, json, name, plain, path, NULL };
	struct run_env env;

	(void)state;
	snprintf(whole, sizeof(whole), "A=%s", secret);
	snprintf(url, sizeof(url), "B=https://user:%s@host/x", secret);
	snprintf(header, sizeof(header), "C=Authorization: Bearer %s", secret);
	snprintf(json, sizeof(json), "D={\"t\":\"%s\"}", secret);
	assert_int_equal(scrub(&env, vars, 0, NULL), 0);
	assert_null(run_env_get(&env, "A"));
	assert_null(run_env_get(&env, "B"));
	assert_null(run_env_get(&env, "C"));
	assert_null(run_env_get(&env, "D"));
	assert_null(run_env_get(&env, "AWS_SECRET_ACCESS_KEY"));
	assert_string_equal(run_env_get(&env, "PLAIN"), "some words");
	assert_string_equal(run_env_get(&env, "PATH"), "/usr/bin:/bin");
	assert_int_equal(env.n_removed, 5);
	run_env_free(&env);
}

/* A secret need not stand between delimiters, however long the value is. */
static void
windows(void **state)
{
	static char inside[128], joined[128], less[128], longer[140000],
	    longest[140000];
	char *vars[] = { inside, joined, less, longer, longest, NULL };
	struct run_env env;

	(void)state;
	snprintf(inside, sizeof(inside), "A=x%sy", secret);
	snprintf(joined, sizeof(joined), "B=Bearer_%s", secret);
	snprintf(less, sizeof(less), "C=x%.*sy", (int)strlen(secret) - 1, secret);
	memset(longer, 'a', 131071);
	memcpy(longer, "D=", 2);
	memset(longest, 'a', 131071);
	memcpy(longest, "E=", 2);
	memcpy(longest + 131071 - strlen(secret), secret, strlen(secret));
	assert_int_equal(scrub(&env, vars, 0, NULL), 0);
	assert_null(run_env_get(&env, "A"));
	assert_null(run_env_get(&env, "B"));
	assert_non_null(run_env_get(&env, "C"));
	assert_non_null(run_env_get(&env, "D"));
	assert_null(run_env_get(&env, "E"));
	assert_int_equal(env.n_removed, 3);
	run_env_free(&env);
}

/* A name is looked through as well, and not shown where it holds one. */
static void
names(void **state)
{
	static char name[128], both[128], own[128];
	/* not ours, and of the form of one */
	static char formed[] = "glp" "at-Zq3rT7vXw2Lk9PmN4bYc=1";
	char *vars[] = { name, both, formed, own, NULL };
	struct run_env env;
	size_t i;

	(void)state;
	snprintf(name, sizeof(name), "x%s=1", secret);
	snprintf(both, sizeof(both), "%s-and-more", secret);
	snprintf(own, sizeof(own), "COUNTERSIGN_%s=1", secret);
	assert_int_equal(scrub(&env, vars, 0, NULL), 0);
	assert_int_equal(env.n, 0);
	assert_int_equal(env.n_removed, 4);
	for (i = 0; i < 4; i++)
		assert_string_equal(env.removed[i],
		    "one whose name holds a secret");
	run_env_free(&env);
}

/* --keep-env keeps what looks like a secret, never what is one. */
static void
keeps(void **state)
{
	static char keep[] = "--keep-env", a[] = "A", aws[] = "AWS_SESSION_TOKEN",
	    whole[128], session[] = "AWS_SESSION_TOKEN=abc";
	char *argv[] = { keep, a, keep, aws }, *vars[] = { whole, session, NULL };
	struct run_env env;

	(void)state;
	snprintf(whole, sizeof(whole), "A=%s", secret);
	assert_int_equal(scrub(&env, vars, 4, argv), 0);
	assert_null(run_env_get(&env, "A"));
	assert_string_equal(run_env_get(&env, "AWS_SESSION_TOKEN"), "abc");
	run_env_free(&env);
}

/* What would take too long to be searched is removed. */
static void
too_long(void **state)
{
	static char value[131072];
	char *vars[] = { value, NULL };
	struct opts opts = { .table = table };
	struct run_env env;
	json_t *run = reply(), *scrub = json_object_get(run, "scrub");

	(void)state;
	memset(value, 'a', sizeof(value) - 1);
	memcpy(value, "LONG=", 5);
	json_object_set_new(scrub, "lengths", json_pack("[i]", 65536));
	run_env_init(&env, vars);
	assert_int_equal(run_env_scrub(&env, scrub, &opts), 0);
	assert_int_equal(env.n_removed, 1);
	assert_string_equal(env.removed[0], "LONG (too long to be searched)");
	run_env_free(&env);
	json_decref(run);
}

#define KEY "\"key\":\"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\""
#define TAG "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define MARK "0011223344556677"

static int
scrub_by(const char *text)
{
	char *vars[] = { NULL };
	struct opts opts = { .table = table };
	json_t *json = json_loads(text, 0, NULL);
	struct run_env env;
	int rc;

	assert_non_null(json);
	run_env_init(&env, vars);
	rc = run_env_scrub(&env, json, &opts);
	run_env_free(&env);
	json_decref(json);
	return rc;
}

static void
bad_tags(void **state)
{
	static const char *const good[] = { "{" KEY ",\"tags\":[]}",
	    "{" KEY ",\"tags\":[\"" TAG "\"],\"lengths\":[20],\"marks\":[\"" MARK "\"]}",
	    "{" KEY ",\"tags\":[\"" TAG "\"]}" };
	static const char *const bad[] = { "{}", "{\"key\":\"00\",\"tags\":[]}",
	    "{\"tags\":[]}", "{\"key\":1,\"tags\":2}", "{" KEY "}",
	    "{" KEY ",\"tags\":[\"00\"]}", "{" KEY ",\"tags\":[7]}",
	    "{" KEY ",\"tags\":[\"" TAG "\"],\"lengths\":[-20]}",
	    "{" KEY ",\"tags\":[\"" TAG "\"],\"marks\":[]}",
	    "{" KEY ",\"tags\":[],\"marks\":[\"" MARK "\"]}",
	    "{" KEY ",\"tags\":[\"" TAG "\"],\"marks\":[\"00\"]}",
	    "{" KEY ",\"tags\":[\"" TAG "\"],\"marks\":{}}" };
	char *vars[] = { NULL };
	struct opts opts = { .table = table };
	struct run_env env;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(scrub_by(good[i]), 0);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(scrub_by(bad[i]), -1);
	run_env_init(&env, vars);
	assert_int_equal(run_env_scrub(&env, NULL, &opts), -1);
	run_env_free(&env);
}

static void
fills(void **state)
{
	static char no[] = "NO_PROXY=*", twice[] = "no_proxy=a", again[] = "no_proxy=b",
	    count[] = "GIT_CONFIG_COUNT=1", key[] = "GIT_CONFIG_KEY_0=user.name",
	    value[] = "GIT_CONFIG_VALUE_0=x", tls[] = "NODE_TLS_REJECT_UNAUTHORIZED=0",
	    options[] = "NODE_OPTIONS=--trace-warnings";
	char *vars[] = { no, twice, again, count, key, value, tls, options, NULL };
	struct run_env_tools tools = { .self = "/bin/countersign",
	    .node_preload = "/h/node proxy.cjs", .php_ini = "/h/run/php.ini" };
	static const char *const upper_lower[] = { "http_proxy", "HTTP_PROXY",
	    "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY" };
	static const char *const bundles[] = { "SSL_CERT_FILE", "CURL_CA_BUNDLE",
	    "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO", "PIP_CERT",
	    "CARGO_HTTP_CAINFO", "AWS_CA_BUNDLE", "DENO_CERT", "NIX_SSL_CERT_FILE",
	    "npm_config_cafile" };
	struct run_env env;
	json_t *run = reply();
	size_t i;

	(void)state;
	run_env_init(&env, vars);
	run_env_fill(&env, run, &tools);
	assert_false(env.failed);
	for (i = 0; i < 6; i++)
		assert_string_equal(run_env_get(&env, upper_lower[i]),
		    "http://run:csr1_token@127.0.0.1:4321");
	for (i = 0; i < sizeof(bundles) / sizeof(bundles[0]); i++)
		assert_string_equal(run_env_get(&env, bundles[i]), "/h/bundle.pem");
	assert_string_equal(run_env_get(&env, "NO_PROXY"), "");
	assert_string_equal(run_env_get(&env, "no_proxy"), "");
	assert_null(run_env_get(&env, "NODE_TLS_REJECT_UNAUTHORIZED"));
	assert_string_equal(run_env_get(&env, "NODE_OPTIONS"),
	    "--trace-warnings --require \"/h/node proxy.cjs\"");
	assert_string_equal(run_env_get(&env, "PHP_INI_SCAN_DIR"), ":/h/run");
	assert_string_equal(run_env_get(&env, "API_TOKEN"), "dummy");
	assert_string_equal(run_env_get(&env, "OTHER"), "dummy");
	assert_string_equal(run_env_get(&env, "COUNTERSIGN_RUN"), "run_x");
	assert_string_equal(run_env_get(&env, "COUNTERSIGN_SOCKET"), "/h/a.sock");
	assert_string_equal(run_env_get(&env, "GIT_CONFIG_KEY_0"), "user.name");
	assert_string_equal(run_env_get(&env, "GIT_CONFIG_VALUE_1"), "");
	assert_string_equal(run_env_get(&env, "GIT_CONFIG_VALUE_2"),
	    "!'/bin/countersign' credential git");
	assert_string_equal(run_env_get(&env, "GIT_CONFIG_COUNT"), "6");
	run_env_free(&env);
	json_decref(run);
}

static void
loopback(void **state)
{
	static char php[] = "PHP_INI_SCAN_DIR=/etc/php:/mine";
	char *vars[] = { php, NULL };
	struct run_env_tools tools = { .self = "/c", .direct_loopback = true,
	    .php_ini = "/h/php.ini" };
	struct run_env env;
	json_t *run = reply();

	(void)state;
	run_env_init(&env, vars);
	run_env_fill(&env, run, &tools);
	assert_string_equal(run_env_get(&env, "no_proxy"), "localhost,127.0.0.1,::1");
	assert_null(run_env_get(&env, "NODE_OPTIONS"));
	assert_string_equal(run_env_get(&env, "PHP_INI_SCAN_DIR"),
	    "/etc/php:/mine:/h");
	run_env_free(&env);
	json_decref(run);
}

/* Of many bindings as many as one variable holds, and not one byte more: the
 * command could not be executed. */
static void
many(void **state)
{
	char *vars[] = { NULL };
	struct run_env_tools tools = { .self = "/c" };
	struct run_env env;
	json_t *run = reply(), *list = json_object_get(run, "placeholders"), *kept;
	size_t len;

	(void)state;
	for (int i = 0; i < 2000; i++)
		json_array_append(list, json_array_get(list, 0));
	run_env_init(&env, vars);
	run_env_fill(&env, run, &tools);
	assert_false(env.failed);
	len = strlen(run_env_get(&env, "COUNTERSIGN_BINDINGS")) +
	    sizeof("COUNTERSIGN_BINDINGS=");
	assert_in_range(len, 127 * 1024, 128 * 1024);
	kept = json_loads(run_env_get(&env, "COUNTERSIGN_BINDINGS"), 0, NULL);
	assert_int_equal(json_array_size(kept) + env.bindings_left_out, 2001);
	assert_string_equal(run_env_get(&env, "API_TOKEN"), "dummy");
	json_decref(kept);
	run_env_free(&env);
	json_decref(run);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(removes), cmocka_unit_test(windows), cmocka_unit_test(names),
		cmocka_unit_test(keeps), cmocka_unit_test(too_long),
		cmocka_unit_test(bad_tags), cmocka_unit_test(fills),
		cmocka_unit_test(loopback), cmocka_unit_test(many),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
