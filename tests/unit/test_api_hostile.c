/* The API's server and whoever means it ill: bodies, paths, browsers, tokens. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "api_case.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

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

/* Refused by the length that is announced: no byte of it is waited for. */
static void
test_announced_length(void **state)
{
	static const char text[] = "PUT /v1/secrets/big HTTP/1.1\r\nHost: x\r\n"
	    "Connection: close\r\nContent-Length: 2000000\r\n\r\n",
	    nowhere[] = "PUT /v1/nowhere HTTP/1.1\r\nHost: x\r\n"
	    "Connection: close\r\nContent-Length: 2000000\r\n\r\n";

	problem(exchange(OPERATOR, text, sizeof(text) - 1), 413, "api/too-large");
	/* nor where it is refused for what it asks */
	problem(exchange(OPERATOR, nowhere, sizeof(nowhere) - 1), 404, "api/path");
}

/* One that does not end is cut without an answer. */
static void
test_endless_body(void **state)
{
	const size_t len = 2 * (1 << 20) + 65536 + 1;
	char *text = malloc(len + 256);
	int n = snprintf(text, 256, "POST /v1/runs HTTP/1.1\r\nHost: x\r\n"
	    "Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n%zx\r\n", len);

	memset(text + n, ' ', len);
	memcpy(text + n + len, "\r\n0\r\n\r\n", 7);
	assert_int_equal(exchange(OPERATOR, text, (size_t)n + len + 7), 0);
	free(text);
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
	problem(call_with(OPERATOR, "PUT", "/v1/secrets/x",
	    "Content-Type: application/json\r\n", "{\"v\":1}", 7), 415, "api/media-type");
	assert_non_null(strstr(member("detail"), "the secret's own bytes"));
	problem(call(OPERATOR, "POST", "/v1/policy/reload", NULL, "{}"), 400,
	    "api/body");
}

/* What stands for a part of a path has room, or the path is none. */
static void
test_long_parts(void **state)
{
	static const char *const before[] = { "/v1/runs/", "/v1/ledger/tile/" };
	char path[256];

	for (size_t i = 0; i < 2; i++) {
		size_t n = strlen(before[i]);

		memcpy(path, before[i], n);
		memset(path + n, 'a', 200);
		path[n + 79] = '\0';
		call(OPERATOR, "GET", path, NULL, NULL);
		assert_string_not_equal(member("rule"), "api/path");
		path[n + 79] = 'a';
		path[n + 80] = '\0';
		problem(call(OPERATOR, "GET", path, NULL, NULL), 404, "api/path");
		path[n + 80] = 'a';
		path[n + 200] = '\0';
		problem(call(OPERATOR, "GET", path, NULL, NULL), 404, "api/path");
	}
}

/* It says that nobody else's decision is the proxy's. */
static void
test_no_proxy_by_name(void **state)
{
	struct open_run run;

	open_run(&run, "{}");
	problem(call(TCP, "POST", "/v1/decide", run.token, "{\"action\":{\"kind\":\"tool\"},"
	    "\"adapter\":\"proxy\"}"), 400, "api/member");
	problem(call(TCP, "POST", "/v1/decide", run.token, "{\"action\":{\"kind\":\"tool\"},"
	    "\"adapter\":\"PROXY\"}"), 400, "api/member");
}

/* What a run sends amiss is on record; what it was is not. */
static void
test_bad_input_is_recorded(void **state)
{
	struct open_run run;
	size_t before;

	open_run(&run, "{}");
	before = fake_n_records;
	problem(call(TCP, "POST", "/v1/decide", run.token,
	    "{\"s3cr3t_member\":1}"), 400, "api/member");
	assert_int_equal(fake_n_records, before + 1);
	assert_string_equal(fake_records[before].run, run.id);
	assert_non_null(strstr(fake_records[before].body, "\"rule\":\"api/member\""));
	assert_null(strstr(fake_records[before].body, "s3cr3t_member"));
	/* an operator's typing error is nobody's refusal */
	before = fake_n_records;
	problem(call(OPERATOR, "POST", "/v1/runs", NULL, "{\"x\":1}"), 400,
	    "api/member");
	assert_int_equal(fake_n_records, before);
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
/* A token in the hands of a process that is not of the run. */
static void
test_token_of_others(void **state)
{
	struct open_run run;
	char body[64], path[128];
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			pause();
	assert_true(pid > 0);
	snprintf(body, sizeof(body), "{\"pid\":%d}", (int)pid);
	open_run(&run, body);
	snprintf(path, sizeof(path), "/v1/runs/%s", run.id);
	problem(call(AGENT, "GET", path, run.token, NULL), 401, "run/unknown");
	problem(call(AGENT, "DELETE", path, run.token, NULL), 401, "run/unknown");
	assert_int_equal(call(OPERATOR, "DELETE", path, NULL, NULL), 200);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Another user who got to the operator's socket, whatever its mode says. */
static void
test_user_is_no_operator(void **state)
{
	pid_t pid;
	int status = 0;

	if (geteuid() != 0)
		skip();		/* nobody to become */
	assert_int_equal(chmod(dir, 0711), 0);
	assert_int_equal(chmod(operator_path, 0666), 0);
	if ((pid = fork()) == 0) {
		if (setgid(65534) != 0 || setuid(65534) != 0)
			_exit(2);
		_exit(call(OPERATOR, "GET", "/v1/secrets", NULL, NULL) == 403 &&
		    strcmp(member("rule"), "api/operator-only") == 0 ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	chmod(operator_path, 0600);
	chmod(dir, 0700);
}

/* --- what is left in memory ----------------------------------------------- */

/* Written so that no memory but a reader's holds it as it is. */
static const char hidden[] = "DBOBSZ.jo.uif.cpez.pg.b.dbmm.8342";

static bool
holds(const char *bytes, size_t len)
{
	const size_t n = sizeof(hidden) - 1;

	for (size_t i = 0; i + n <= len; i++) {
		size_t k = 0;

		while (k < n && bytes[i + k] == hidden[k] - 1)
			k++;
		if (k == n)
			return true;
	}
	return false;
}

/* Any memory of this process that can be read. */
static bool
memory_holds(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	int memory = open("/proc/self/mem", O_RDONLY);
	unsigned long from, to;
	char line[512], mode[8];
	bool found = false;

	assert_non_null(maps);
	assert_true(memory >= 0);
	while (!found && fgets(line, sizeof(line), maps) != NULL) {
		if (sscanf(line, "%lx-%lx %7s", &from, &to, mode) != 3 ||
		    mode[0] != 'r' || mode[1] != 'w')
			continue;
		char *copy = malloc(to - from);
		ssize_t got = pread(memory, copy, to - from, (off_t)from);

		found = got > 0 && holds(copy, (size_t)got);
		explicit_bzero(copy, to - from);
		free(copy);
	}
	fclose(maps);
	close(memory);
	return found;
}

/* By another process, so that this one holds what the server holds. */
static void
send_hidden(const char *token, size_t padding)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		char *body = calloc(1, padding + 256), *at;
		int n = sprintf(body, "{\"action\":{\"kind\":\"tool\",\"args\":\"");

		at = body + n;
		for (size_t i = 0; i < sizeof(hidden) - 1; i++)
			*at++ = (char)(hidden[i] - 1);
		memset(at, 'x', padding);
		memcpy(at + padding, "\"}}", 4);
		_exit(call(TCP, "POST", "/v1/decide", token, body) == 200 ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void
test_body_is_forgotten(void **state)
{
	const struct timespec pause = { 0, 10000000 };
	struct open_run run;
	bool there = true;

#ifdef __SANITIZE_ADDRESS__
	skip();		/* its own memory is too much to be read */
#endif
	open_run(&run, "{}");
	send_hidden(run.token, 0);
	send_hidden(run.token, 100000);		/* which grows on its way */
	/* The answer comes before the call's end. */
	for (int i = 0; i < 6000 && (there = memory_holds()); i++)
		nanosleep(&pause, NULL);
	assert_false(there);
}

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
		cmocka_unit_test(test_announced_length),
		cmocka_unit_test(test_endless_body),
		cmocka_unit_test(test_paths_and_methods),
		cmocka_unit_test(test_long_parts),
		cmocka_unit_test(test_no_proxy_by_name),
		cmocka_unit_test(test_bad_input_is_recorded),
		cmocka_unit_test(test_browser),
		cmocka_unit_test(test_bad_tokens),
		cmocka_unit_test(test_token_of_others),
		cmocka_unit_test(test_user_is_no_operator),
		cmocka_unit_test(test_body_is_forgotten),
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
