/* The API's server over a fake policy, ledger and store: doors, rights, bodies
 * and answers, spoken to in raw HTTP. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fake_ledger.h"
#include "fake_policy.h"
#include "fake_vault.h"

#include "api/api.h"
#include "conf/conf.h"

#include <jansson.h>
#include <sodium.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define REAL "tok-R3alSecretForTheApi0123456789abcdef"
#define DATA "{\"bindings\":{\"hub\":{\"secret\":\"one\",\"hosts\":[\"api.example.com\"]," \
	"\"env\":[\"HUB\"],\"placement\":{\"kind\":\"header\",\"name\":\"Authorization\",\"template\":\"Bearer {}\"}}}}"

static char dir[] = "/tmp/cs-api-XXXXXX";
static char operator_path[64], agent_path[64], note_path[64];
static struct vault *vault;
static struct gate *gate;
static struct api *api;
static uint16_t tcp_port;
static unsigned shutdowns;

static void
count_shutdown(void *arg)
{
	shutdowns++;
}

static int
set_up(void **state)
{
	struct sockaddr_in any = { .sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct gate_options options = { .pack_path = "unused" };
	static const struct conf_hosts names = { { "broker.internal" }, 1 };
	struct api_options serve = { .hosts = &names, .proxy_host = "127.0.0.5",
	    .api_host = "127.0.0.6",
	    .proxy_port = 1234, .shutdown = count_shutdown,
	    .ca_cert = "ca.pem", .ca_bundle = "bundle.pem" };
	struct vault_error error;
	uint32_t version;
	char err[256];
	FILE *note;

	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(operator_path, sizeof(operator_path), "%s/o", dir);
	snprintf(agent_path, sizeof(agent_path), "%s/a", dir);
	snprintf(note_path, sizeof(note_path), "%s/checkpoint", dir);
	note = fopen(note_path, "w");
	fputs("example.com/log\n1\nAAAA\n\n", note);
	fclose(note);
	vault = options.vault = fake_vault_new();
	vault_put(vault, "one", REAL, strlen(REAL), false, &version, &error);
	fake_data = DATA;
	gate = gate_new(&options, err, sizeof(err));
	if (gate == NULL)
		return -1;
	serve.gate = gate;
	serve.agent_socket = agent_path;
	serve.checkpoint_path = note_path;
	serve.operator_fd = api_listen_unix(operator_path, err, sizeof(err));
	serve.agent_fd = api_listen_unix(agent_path, err, sizeof(err));
	serve.tcp_fd = api_listen_tcp(&any, &tcp_port, err, sizeof(err));
	serve.api_port = tcp_port;
	api = api_start(&serve, err, sizeof(err));
	return api != NULL ? 0 : -1;
}

static int
tear_down(void **state)
{
	api_stop(api);
	gate_free(gate);
	vault_close(vault);
	fake_ledger_forget();
	unlink(operator_path);
	unlink(agent_path);
	unlink(note_path);
	rmdir(dir);
	return 0;
}

/* --- a client ----------------------------------------------------------- */

enum door { OPERATOR, AGENT, TCP };

static int
connect_to(enum door door)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct sockaddr_in in = { .sin_family = AF_INET,
	    .sin_port = htons(tcp_port),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const char *path = door == OPERATOR ? operator_path : agent_path;
	int fd = socket(door == TCP ? AF_INET : AF_UNIX, SOCK_STREAM, 0), rv;

	memcpy(un.sun_path, path, strlen(path) + 1);
	rv = door == TCP ? connect(fd, (struct sockaddr *)&in, sizeof(in)) :
	    connect(fd, (struct sockaddr *)&un, sizeof(un));
	assert_int_equal(rv, 0);
	return fd;
}

static char reply[1 << 18];
static json_t *doc;	/* of the last reply */

/* Send bytes, read to the end; the status. */
static int
exchange(enum door door, const char *bytes, size_t len)
{
	int fd = connect_to(door), status = 0;
	size_t n = 0;
	ssize_t got;
	char *body;

	while (len > 0 && (got = send(fd, bytes, len, MSG_NOSIGNAL)) > 0) {
		bytes += got;
		len -= (size_t)got;
	}
	while (n < sizeof(reply) - 1 &&
	    (got = recv(fd, reply + n, sizeof(reply) - 1 - n, 0)) > 0)
		n += (size_t)got;
	reply[n] = '\0';
	close(fd);
	sscanf(reply, "HTTP/1.1 %d", &status);
	json_decref(doc);
	doc = NULL;
	body = strstr(reply, "\r\n\r\n");
	if (body != NULL)
		doc = json_loads(body + 4, 0, NULL);
	return status;
}

static int
call_with(enum door door, const char *method, const char *path,
    const char *fields, const char *body, size_t body_len)
{
	size_t cap = body_len + 4096;
	char *text = malloc(cap);
	int n, status;

	n = snprintf(text, cap, "%s %s HTTP/1.1\r\nHost: localhost:%u\r\n"
	    "Connection: close\r\n%s", method, path, tcp_port, fields);
	if (body != NULL)
		n += snprintf(text + n, cap - (size_t)n,
		    "Content-Length: %zu\r\n", body_len);
	n += snprintf(text + n, cap - (size_t)n, "\r\n");
	if (body != NULL)
		memcpy(text + n, body, body_len);
	status = exchange(door, text, (size_t)n + (body ? body_len : 0));
	free(text);
	return status;
}

static int
call(enum door door, const char *method, const char *path, const char *token,
    const char *body)
{
	char field[128] = "";

	if (token != NULL)
		snprintf(field, sizeof(field), "Authorization: Bearer %s\r\n",
		    token);
	return call_with(door, method, path, field, body,
	    body != NULL ? strlen(body) : 0);
}

static const char *
member(const char *name)
{
	const char *text = json_string_value(json_object_get(doc, name));

	return text != NULL ? text : "";
}

static void
problem(int status, int want, const char *rule)
{
	char type[128];

	if (status != want)
		fail_msg("%d, not %d: %s", status, want, reply);
	assert_non_null(strstr(reply, "Content-Type: application/problem+json\r\n"));
	assert_string_equal(member("rule"), rule);
	snprintf(type, sizeof(type), "urn:countersign:refusal:%s", rule);
	assert_string_equal(member("type"), type);
	assert_int_equal(json_integer_value(json_object_get(doc, "status")),
	    want);
	assert_true(member("title")[0] && member("detail")[0] &&
	    member("remedy")[0]);
}

struct open_run {
	char id[64], token[64], placeholder[128];
};

static void
open_run(struct open_run *out, const char *body)
{
	json_t *first;

	if (call(OPERATOR, "POST", "/v1/runs", NULL, body) != 201)
		fail_msg("%s", reply);
	snprintf(out->id, sizeof(out->id), "%s", member("id"));
	snprintf(out->token, sizeof(out->token), "%s", member("token"));
	first = json_array_get(json_object_get(doc, "placeholders"), 0);
	snprintf(out->placeholder, sizeof(out->placeholder), "%s",
	    json_string_value(json_object_get(first, "value")));
}

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
test_decide(void **state)
{
	struct open_run run;

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
}

/* The recorder does not answer: only what waits for it is refused. */
static void
test_silent(void **state)
{
	struct open_run run;

	open_run(&run, "{}");
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

/* --- hostile input ------------------------------------------------------------ */

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
	for (int i = 0; i < 1000 && open; i++) {
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
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(api_listen_unix(longer, err, sizeof(err)), -1);
}

static void
test_no_secret_in_ledger(void **state)
{
	for (size_t i = 0; i < fake_n_records; i++) {
		assert_null(strstr(fake_records[i].body, REAL));
		assert_null(strstr(fake_records[i].body, "csr1_"));
		assert_null(strstr(fake_records[i].body, "csg1_"));
		assert_null(strstr(fake_records[i].body, "s3c"));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_run),
		cmocka_unit_test(test_other_runs_are_hidden),
		cmocka_unit_test(test_grants),
		cmocka_unit_test(test_decide),
		cmocka_unit_test(test_silent),
		cmocka_unit_test(test_secrets),
		cmocka_unit_test(test_hostile_json),
		cmocka_unit_test(test_large_body),
		cmocka_unit_test(test_paths_and_methods),
		cmocka_unit_test(test_browser),
		cmocka_unit_test(test_bad_tokens),
		cmocka_unit_test(test_agent_is_no_operator),
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
