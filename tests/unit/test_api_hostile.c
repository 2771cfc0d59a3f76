/* The API's server and whoever means it ill: bodies, paths, browsers, tokens. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "api_case.h"

static void
test_hostile_json(void **state)
{
	static const struct { const char *body, *rule, *says; } bad[] = {
		{ "", "api/json", "early" },
		{ "{", "api/json", "early" },
		{ "nothing", "api/json", "syntax" },
		{ "[]", "api/member", "object" },
		{ "1", "api/member", "object" },
		{ "{\"pid\":1,\"pid\":2}", "api/json", "twice" },
		{ "{\"pid\":NaN}", "api/json", "syntax" },
		{ "{\"pid\":1e999}", "api/json", "too large" },
		{ "{\"pid\":99999999999999999999}", "api/json", "too large" },
		{ "{\"pid\":9007199254740993}", "api/member", "pid" },
		{ "{\"pid\":1.0}", "api/member", "pid" },
		{ "{\"pid\":-1}", "api/member", "pid" },
		{ "{\"pid\":\"1\"}", "api/member", "pid" },
		{ "{\"pid\":null}", "api/member", "pid" },
		{ "{\"parent\":\"\"}", "api/member", "parent" },
		{ "{\"principal\":\"a\\u0000b\"}", "api/json", "NUL" },
		{ "{\"principal\":\"\xff\"}", "api/json", "UTF-8" },
		{ "{\"unknown\":\"s3cr3t\"}", "api/member", "unknown" },
		{ "{\"agent\":{\"nam\":\"s3cr3t\"}}", "api/member", "agent.nam" },
		{ "{\"budget\":{\"requests\":-5}}", "api/member", "budget.requests" },
		{ "{\"s3cr3t with spaces\":1}", "api/member", "unusual" },
		{ "{} s3cr3t", "api/json", "follows" },
		{ "{\"parent\":\"run_none\"}", "run/bad-parent", "parent" },
	};
	char deep[8192];

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		int status = call(OPERATOR, "POST", "/v1/runs", NULL, bad[i].body);

		if (strcmp(member("rule"), bad[i].rule) != 0)
			fail_msg("%s: %d %s", bad[i].body, status, reply);
		assert_non_null(strstr(member("detail"), bad[i].says));
		assert_null(strstr(reply, "s3cr3t"));
	}
	memset(deep, '[', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = '\0';
	problem(call(OPERATOR, "POST", "/v1/runs", NULL, deep), 400, "api/json");
}

static void
test_large_body(void **state)
{
	size_t len = (1 << 20) + 1;
	char *body = malloc(len + 1), *text;
	int n;

	memset(body, ' ', len);
	body[0] = '{';
	body[len - 1] = '}';
	body[len] = '\0';
	problem(call_with(OPERATOR, "POST", "/v1/runs", "", body, len), 413,
	    "api/too-large");
	assert_int_equal(call_with(OPERATOR, "POST", "/v1/runs", "", body + 2,
	    0), 400);
	/* the same without its length announced */
	text = malloc(len + 1024);
	n = snprintf(text, 1024, "POST /v1/runs HTTP/1.1\r\nHost: x\r\n"
	    "Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n%zx\r\n", len);
	memcpy(text + n, body, len);
	memcpy(text + n + len, "\r\n0\r\n\r\n", 7);
	problem(exchange(OPERATOR, text, (size_t)n + len + 7), 413,
	    "api/too-large");
	free(text);
	free(body);
}

static void
test_paths_and_methods(void **state)
{
	problem(call(OPERATOR, "GET", "/", NULL, NULL), 404, "api/path");
	problem(call(OPERATOR, "GET", "/v1/runs/", NULL, NULL), 404, "api/path");
	problem(call(OPERATOR, "GET", "/v1/runs/a/b", NULL, NULL), 404, "api/path");
	problem(call(OPERATOR, "GET", "/v1/runs/a%2e", NULL, NULL), 404, "api/path");
	problem(call(OPERATOR, "GET", "/v1/runs?x=1", NULL, NULL), 400, "api/query");
	problem(call(OPERATOR, "PATCH", "/v1/runs", NULL, "{}"), 405, "api/method");
	assert_non_null(strstr(reply, "\r\nAllow: "));
	problem(call(TCP, "OPTIONS", "/v1/runs", NULL, NULL), 405, "api/method");
	assert_null(strstr(reply, "Access-Control"));
	problem(call_with(OPERATOR, "POST", "/v1/runs",
	    "Content-Type: text/plain\r\n", "{}", 2), 415, "api/media-type");
	problem(call(OPERATOR, "POST", "/v1/policy/reload", NULL, "{}"), 400,
	    "api/body");
}

static void
test_browser(void **state)
{
	static const char *const hosts[] = { "evil.example.com",
	    "127.0.0.1.example.com", "localhost:80x", "localhost:", "" };
	char text[256];
	int n;

	for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++) {
		n = snprintf(text, sizeof(text), "GET /healthz HTTP/1.1\r\n"
		    "Host: %s\r\nConnection: close\r\n\r\n", hosts[i]);

		problem(exchange(TCP, text, (size_t)n), 421, "api/host");
	}
	problem(call_with(TCP, "GET", "/healthz",
	    "Origin: https://evil.example.com\r\n", NULL, 0), 403, "api/origin");
	assert_int_equal(call(TCP, "GET", "/healthz", NULL, NULL), 200);
	n = snprintf(text, sizeof(text), "GET /healthz HTTP/1.1\r\n"
	    "Host: broker.internal:1\r\nConnection: close\r\n\r\n");
	assert_int_equal(exchange(TCP, text, (size_t)n), 200);
}

static void
test_bad_tokens(void **state)
{
	static const char *const bad[] = { "x", "csr1_", REAL,
	    "csr1_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		problem(call(TCP, "POST", "/v1/decide", bad[i], "{}"), 401,
		    "run/unknown");
		assert_non_null(strstr(reply, "WWW-Authenticate: Bearer"));
		problem(call(OPERATOR, "GET", "/v1/runs", bad[i], NULL), 401,
		    "run/unknown");
	}
}

/* A caller inside a run's process tree is that run, on every socket. */
static void
test_agent_is_no_operator(void **state)
{
	struct open_run run;
	char body[64], path[128];

	snprintf(body, sizeof(body), "{\"pid\":%d}", (int)getpid());
	open_run(&run, body);
	problem(call(OPERATOR, "GET", "/v1/secrets", NULL, NULL), 403,
	    "api/operator-only");
	assert_int_equal(call(OPERATOR, "POST", "/v1/runs", NULL, "{}"), 201);
	assert_string_equal(member("parent"), run.id);	/* no run of its own */
	assert_null(json_object_get(doc, "scrub"));
	snprintf(path, sizeof(path), "/v1/runs/%s", run.id);
	assert_int_equal(call(AGENT, "GET", path, NULL, NULL), 200);
	assert_int_equal(call(AGENT, "POST", "/v1/decide", NULL,
	    "{\"action\":{\"kind\":\"tool\"}}"), 200);
	assert_int_equal(call(AGENT, "DELETE", path, NULL, NULL), 200);
	assert_int_equal(call(OPERATOR, "GET", "/v1/secrets", NULL, NULL), 200);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hostile_json),
		cmocka_unit_test(test_large_body),
		cmocka_unit_test(test_paths_and_methods),
		cmocka_unit_test(test_browser),
		cmocka_unit_test(test_bad_tokens),
		cmocka_unit_test(test_agent_is_no_operator),
		cmocka_unit_test(test_no_secret_in_ledger),
	};
	int rv;

	if (sodium_init() == -1)
		return 1;
	rv = cmocka_run_group_tests(tests, set_up, tear_down);
	json_decref(doc);
	return rv;
}
