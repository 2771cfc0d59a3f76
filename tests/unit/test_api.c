/* The API's server: doors, rights, bodies and answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "api_case.h"

#include <sys/stat.h>
#include <sys/wait.h>

/* --- runs ---------------------------------------------------------------- */

static void
test_run(void **state)
{
	struct open_run run;
	char path[128];

	open_run(&run, "{\"principal\":\"p\",\"agent\":{\"name\":\"a\",\"version\":\"1\"},"
	    "\"budget\":{\"requests\":5}}");
	assert_int_equal(strlen(run.id), 26);
	assert_int_equal(strlen(run.token), 48);
	assert_string_equal(json_string_value(json_object_get(json_object_get(doc,
	    "proxy"), "host")), "127.0.0.5");
	assert_non_null(strstr(reply, "\"url\":\"http://127.0.0.6:"));
	assert_int_equal(json_array_size(json_object_get(json_object_get(doc,
	    "scrub"), "tags")), 1);
	assert_null(strstr(reply, REAL));
	assert_non_null(strstr(reply, "Cache-Control: no-store\r\n"));

	assert_int_equal(call(OPERATOR, "GET", "/v1/runs", NULL, NULL), 200);
	assert_null(strstr(reply, run.token));
	snprintf(path, sizeof(path), "/v1/runs/%s", run.id);
	assert_int_equal(call(TCP, "GET", path, run.token, NULL), 200);
	assert_string_equal(member("state"), "open");
	assert_int_equal(call(AGENT, "GET", path, run.token, NULL), 200);
	problem(call(TCP, "GET", path, NULL, NULL), 401, "run/required");
	problem(call(TCP, "GET", "/v1/runs", run.token, NULL), 403,
	    "api/operator-only");
	assert_non_null(strstr(fake_last("refusal"), "\"rule\":\"api/operator-only\""));
	assert_non_null(strstr(fake_last("refusal"), "\"parent\":"));	/* it is the run's */
	problem(call(TCP, "GET", "/v1/runs/run_x", run.token, NULL), 404,
	    "run/none");

	assert_int_equal(call(TCP, "DELETE", path, run.token, NULL), 200);
	assert_non_null(strstr(member("checkpoint"), "example.com/log\n"));
	problem(call(TCP, "GET", path, run.token, NULL), 401, "run/unknown");
	problem(call(OPERATOR, "DELETE", path, NULL, NULL), 409, "run/closed");
	assert_int_equal(call(OPERATOR, "GET", path, NULL, NULL), 200);
	assert_string_equal(member("state"), "closed");
}

static void
test_other_runs_are_hidden(void **state)
{
	struct open_run a, b;
	char path[128];

	open_run(&a, "{}");
	open_run(&b, "{}");
	snprintf(path, sizeof(path), "/v1/runs/%s", a.id);
	problem(call(TCP, "GET", path, b.token, NULL), 404, "run/none");
	problem(call(TCP, "DELETE", path, b.token, NULL), 404, "run/none");
	assert_int_equal(call(OPERATOR, "DELETE", path, NULL, NULL), 200);
	snprintf(path, sizeof(path), "/v1/runs/%s", b.id);
	assert_int_equal(call(OPERATOR, "DELETE", path, NULL, NULL), 200);
}

/* A run does not outlive the process it was opened with, however that ends. */
static void
test_run_ends_with_its_process(void **state)
{
	const struct timespec pause = { 0, 10000000 };
	struct open_run run;
	char body[64], path[128];
	bool open = true;
	pid_t pid = fork();

	if (pid == 0) {
		for (;;)
			sleep(60);
	}
	assert_true(pid > 0);
	snprintf(body, sizeof(body), "{\"pid\":%d}", (int)pid);
	open_run(&run, body);
	snprintf(path, sizeof(path), "/v1/runs/%s", run.id);
	assert_int_equal(call(OPERATOR, "GET", path, NULL, NULL), 200);
	assert_string_equal(member("state"), "open");
	kill(pid, SIGKILL);
	for (int i = 0; i < 6000 && open; i++) {
		nanosleep(&pause, NULL);
		assert_int_equal(call(OPERATOR, "GET", path, NULL, NULL), 200);
		open = strcmp(member("state"), "open") == 0;
	}
	assert_false(open);	/* and nobody waited for it yet: it is a zombie */
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	problem(call(TCP, "POST", "/v1/decide", run.token,
	    "{\"action\":{\"kind\":\"tool\"}}"), 401, "run/unknown");
	problem(call(OPERATOR, "DELETE", path, NULL, NULL), 409, "run/closed");
}

/* --- grants and decisions -------------------------------------------------- */

static void
test_grants(void **state)
{
	struct open_run run, other;
	char path[128], token[64];

	open_run(&run, "{}");
	open_run(&other, "{}");
	problem(call(TCP, "POST", "/v1/grants", NULL, "{}"), 401,
	    "run/required");
	problem(call(TCP, "POST", "/v1/grants", run.token, "{}"), 400,
	    "api/member");
	assert_non_null(strstr(member("detail"), "action"));
	problem(call(TCP, "POST", "/v1/grants", run.token,
	    "{\"action\":\"http:GET\",\"target\":\"https://other.example.com/\"}"),
	    403, "grant/no-binding");
	assert_int_equal(call(TCP, "POST", "/v1/grants", run.token,
	    "{\"action\":\"http:GET\",\"target\":\"https://api.example.com/x\",\"uses\":2,\"ttl_s\":60}"),
	    201);
	snprintf(token, sizeof(token), "%s", member("token"));
	assert_int_equal(strlen(token), 48);
	assert_int_equal(json_integer_value(json_object_get(doc, "uses")), 2);
	assert_non_null(json_object_get(doc, "receipt"));
	snprintf(path, sizeof(path), "/v1/grants/%s", member("id"));
	assert_int_equal(call(TCP, "GET", path, run.token, NULL), 200);
	assert_null(strstr(reply, token));
	problem(call(TCP, "GET", path, other.token, NULL), 404, "grant/unknown");
	problem(call(TCP, "DELETE", path, other.token, NULL), 404, "grant/unknown");
	assert_int_equal(call(OPERATOR, "GET", path, NULL, NULL), 200);
	assert_int_equal(call(TCP, "DELETE", path, run.token, NULL), 200);
	assert_string_equal(member("state"), "revoked");
	assert_int_equal(call(TCP, "DELETE", path, run.token, NULL), 200);
}

static void
limited(const struct policy_input *input, struct policy_decision *decision)
{
	decision->max_bytes = 0;
	decision->cost = 3;
}

/* No bytes at all is a limit as well, and what there is no limit of is not told. */
static void
test_obligations(void **state)
{
	struct open_run run;

	open_run(&run, "{}");
	fake_decide = limited;
	assert_int_equal(call(TCP, "POST", "/v1/decide", run.token,
	    "{\"action\":{\"kind\":\"tool\"}}"), 200);
	fake_decide = NULL;
	assert_non_null(strstr(reply, "{\"max_bytes\":0}"));
	assert_non_null(strstr(reply, "{\"cost\":3}"));
	assert_null(strstr(reply, "\"ttl_s\""));
	assert_null(strstr(reply, "\"uses\""));
}

static void
test_decide(void **state)
{
	struct open_run run;
	char path[128];

	open_run(&run, "{}");
	assert_int_equal(call(TCP, "POST", "/v1/decide", run.token,
	    "{\"action\":{\"kind\":\"tool\",\"name\":\"Bash\",\"args\":{\"command\":\"ls\"}},"
	    "\"target\":{\"path\":\"/a\"},\"adapter\":\"claude\"}"), 200);
	assert_string_equal(member("decision"), "allow");
	assert_non_null(json_object_get(doc, "receipt"));
	assert_int_equal(call(TCP, "POST", "/v1/decide", run.token,
	    "{\"action\":{\"kind\":\"tool\",\"args\":\"" REAL "\"}}"), 200);
	assert_string_equal(member("decision"), "deny");
	assert_string_equal(member("rule"), "credential/raw-secret");
	assert_null(strstr(reply, REAL));
	problem(call(TCP, "POST", "/v1/decide", run.token,
	    "{\"action\":{\"kind\":\"tool\",\"x\":1}}"), 400, "api/member");
	fake_status = LEDGER_FAILED;
	problem(call(TCP, "POST", "/v1/decide", run.token,
	    "{\"action\":{\"kind\":\"tool\"}}"), 503, "ledger/failed");
	assert_int_equal(call(TCP, "GET", "/healthz", NULL, NULL), 503);
	fake_status = LEDGER_DURABLE;
	assert_int_equal(call(TCP, "GET", "/healthz", NULL, NULL), 200);
	snprintf(path, sizeof(path), "/v1/runs/%s", run.id);
	assert_int_equal(call(OPERATOR, "DELETE", path, NULL, NULL), 200);
	assert_non_null(strstr(fake_last("teardown"), "\"unfinished\":0"));
}

/* The recorder does not answer: only what waits for it is refused. */
static void
test_silent(void **state)
{
	struct open_run run, over;
	char path[128];

	open_run(&run, "{}");
	open_run(&over, "{}");
	fake_silent_s = 7;
	assert_int_equal(call(TCP, "GET", "/healthz", NULL, NULL), 503);
	assert_string_equal(member("status"), "failed");
	assert_string_equal(member("ledger"), "silent");
	assert_non_null(strstr(member("reason"), "not answered for 7 s"));
	assert_int_equal(call(TCP, "GET", "/metrics", NULL, NULL), 200);
	assert_non_null(strstr(reply, "\ncountersign_ledger_up 0\n"));
	assert_non_null(strstr(reply, "\ncountersign_ledger_silent_seconds 7\n"));
	assert_int_equal(call(OPERATOR, "GET", "/v1/runs", NULL, NULL), 200);
	problem(call(OPERATOR, "POST", "/v1/runs", NULL, "{}"), 503,
	    "ledger/silent");
	problem(call(TCP, "POST", "/v1/decide", run.token,
	    "{\"action\":{\"kind\":\"tool\"}}"), 503, "ledger/silent");
	problem(call(TCP, "GET", "/v1/ledger/checkpoint", NULL, NULL), 503,
	    "ledger/silent");
	/* taking back is done all the same */
	problem(call(OPERATOR, "POST", "/v1/secrets/none/revoke", NULL, NULL),
	    404, "vault/missing");
	snprintf(path, sizeof(path), "/v1/runs/%s", over.id);
	assert_int_equal(call(OPERATOR, "DELETE", path, NULL, NULL), 200);
	fake_silent_s = 0;
	assert_int_equal(call(TCP, "GET", "/healthz", NULL, NULL), 200);
	assert_int_equal(call(OPERATOR, "POST", "/v1/runs", NULL, "{}"), 201);
}

/* --- secrets ---------------------------------------------------------------- */

static void
test_secrets(void **state)
{
	struct open_run run;
	char big[SECRET_MAX + 3];

	open_run(&run, "{}");
	problem(call(TCP, "PUT", "/v1/secrets/two", run.token, "x"), 403,
	    "api/operator-only");
	problem(call(AGENT, "GET", "/v1/secrets", run.token, NULL), 403,
	    "api/operator-only");
	problem(call(AGENT, "GET", "/v1/secrets", NULL, NULL), 403,
	    "api/operator-only");
	assert_int_equal(call(OPERATOR, "PUT", "/v1/secrets/two", NULL,
	    "s3cret-number-two\n"), 201);
	assert_int_equal(json_integer_value(json_object_get(doc, "version")), 1);
	problem(call(OPERATOR, "PUT", "/v1/secrets/two", NULL, "again and again"), 409,
	    "vault/exists");
	assert_int_equal(call(OPERATOR, "POST", "/v1/secrets/two/rotate", NULL,
	    "s3cret-number-three"), 200);
	assert_int_equal(json_integer_value(json_object_get(doc, "version")), 2);
	problem(call(OPERATOR, "POST", "/v1/secrets/none/rotate", NULL, "long enough"),
	    404, "vault/missing");
	problem(call(OPERATOR, "PUT", "/v1/secrets/bad", NULL, "a\nb"), 400,
	    "vault/invalid");
	problem(call(OPERATOR, "PUT", "/v1/secrets/empty", NULL, ""), 400,
	    "vault/invalid");
	problem(call(OPERATOR, "PUT", "/v1/secrets/Bad%2fname", NULL, "x"), 404,
	    "api/path");
	assert_int_equal(call(OPERATOR, "GET", "/v1/secrets", NULL, NULL), 200);
	assert_null(strstr(reply, "s3cret"));
	problem(call(OPERATOR, "POST", "/v1/secrets/two/revoke", NULL,
	    "{\"version\":0}"), 400, "api/member");
	assert_int_equal(call(OPERATOR, "POST", "/v1/secrets/two/revoke", NULL,
	    "{\"version\":1}"), 200);
	assert_int_equal(call(OPERATOR, "POST", "/v1/secrets/two/revoke", NULL,
	    NULL), 200);
	memset(big, 'x', sizeof(big));
	problem(call_with(OPERATOR, "PUT", "/v1/secrets/big", "", big,
	    sizeof(big)), 413, "api/too-large");
}

/* --- the rest ------------------------------------------------------------------ */

static void
test_policy_reload(void **state)
{
	assert_int_equal(call(OPERATOR, "POST", "/v1/policy/reload", NULL, NULL),
	    200);
	assert_string_equal(member("before"), member("after"));
	fake_data = NULL;
	problem(call(OPERATOR, "POST", "/v1/policy/reload", NULL, NULL), 422,
	    "policy/bad-pack");
	fake_data = DATA;
}

static void
test_open_pages(void **state)
{
	const char *line;

	assert_int_equal(call(TCP, "GET", "/v1/ledger/checkpoint", NULL, NULL),
	    200);
	assert_non_null(strstr(reply, "\r\n\r\nexample.com/log\n1\n"));
	assert_int_equal(call(AGENT, "GET", "/metrics", NULL, NULL), 200);
	assert_non_null(strstr(reply, "\n# TYPE countersign_runs_open gauge\n"));
	assert_non_null(strstr(reply, "\ncountersign_ledger_up 1\n"));
	/* every sample has a help and a type */
	for (line = strstr(reply, "\ncountersign_"); line != NULL;
	    line = strstr(line + 1, "\ncountersign_")) {
		char name[64], wanted[96];

		sscanf(line, "\n%60[a-z0-9_]", name);
		snprintf(wanted, sizeof(wanted), "\n# TYPE %s ", name);
		assert_non_null(strstr(reply, wanted));
	}
	assert_int_equal(call(TCP, "HEAD", "/healthz", NULL, NULL), 200);
}

static void
test_shutdown(void **state)
{
	problem(call(TCP, "POST", "/v1/shutdown", NULL, NULL), 403,
	    "api/operator-only");
	assert_int_equal(shutdowns, 0);
	assert_int_equal(call(OPERATOR, "POST", "/v1/shutdown", NULL, NULL), 202);
	assert_int_equal(call(OPERATOR, "POST", "/v1/shutdown", NULL, NULL), 202);
	assert_int_equal(shutdowns, 1);
}

static void
test_listen(void **state)
{
	char err[256], path[96], longer[200];
	struct stat is;
	FILE *file;

	assert_int_equal(stat(operator_path, &is), 0);
	assert_int_equal(is.st_mode & 0777, 0600);
	snprintf(path, sizeof(path), "%s/file", dir);
	file = fopen(path, "w");
	fclose(file);
	assert_int_equal(api_listen_unix(path, err, sizeof(err)), -1);
	assert_int_equal(stat(path, &is), 0);
	unlink(path);
	if (geteuid() == 0) {	/* a socket, but somebody else's */
		close(api_listen_unix(path, err, sizeof(err)));
		assert_int_equal(chown(path, 65534, 65534), 0);
		assert_int_equal(api_listen_unix(path, err, sizeof(err)), -1);
		assert_int_equal(stat(path, &is), 0);
		assert_int_equal(is.st_uid, 65534);
		unlink(path);
	}
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(api_listen_unix(longer, err, sizeof(err)), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_run),
		cmocka_unit_test(test_other_runs_are_hidden),
		cmocka_unit_test(test_grants),
		cmocka_unit_test(test_obligations),
		cmocka_unit_test(test_decide),
		cmocka_unit_test(test_silent),
		cmocka_unit_test(test_secrets),
		cmocka_unit_test(test_run_ends_with_its_process),
		cmocka_unit_test(test_policy_reload),
		cmocka_unit_test(test_open_pages),
		cmocka_unit_test(test_shutdown),
		cmocka_unit_test(test_listen),
		cmocka_unit_test(test_no_secret_in_ledger),
	};
	int rv;

	if (sodium_init() == -1)
		return 1;
	rv = cmocka_run_group_tests(tests, set_up, tear_down);
	json_decref(doc);
	return rv;
}
