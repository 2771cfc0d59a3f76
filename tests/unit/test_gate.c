/* The gate over a fake policy, ledger and store: who may do what with which
 * credential, and what is written down about it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fake_ledger.h"
#include "fake_policy.h"
#include "fake_vault.h"

#include "gate/admin.h"
#include "gate/process.h"

#include <pthread.h>
#include <sodium.h>
#include <sys/prctl.h>
#include <unistd.h>

#define REAL_ONE "ghp_R3alSecretOfTheFirstKind0123456789ab"
#define REAL_TWO "key-R3alSecretOfTheSecondKind987654321"

#define REAL_SHORT "s3cretOf12by"

#define DATA(more) DATA_AND("", more)
#define DATA_AND(binding, more) "{\"bindings\":{" binding \
	"\"hub\":{\"secret\":\"one\",\"hosts\":[\"api.example.com\"],\"env\":[\"HUB\"]," \
	"\"placement\":{\"kind\":\"header\",\"name\":\"Authorization\",\"template\":\"Bearer {}\"}}," \
	"\"git\":{\"secret\":\"one\",\"hosts\":[\"git.example.com\"]," \
	"\"placement\":{\"kind\":\"basic\",\"user\":\"x-access-token\"}}," \
	"\"map\":{\"secret\":\"two\",\"hosts\":[\"maps.example.com\"],\"limits\":{\"requests\":2}," \
	"\"placement\":{\"kind\":\"query\",\"name\":\"key\"}}}" more "}"

struct scene {
	struct vault *vault;
	struct gate *gate;
	struct gate_thread *thread;
	struct run *run;
	char token[GATE_TOKEN_MAX];
	char hub[128], git[128], map[128];	/* placeholders */
};

static struct gate_problem why;
static const struct gate_closer closer = { "operator", NULL, { 1000, 4321, 1 } };

static void
keep_placeholder(void *arg, const struct binding *binding, const char *text)
{
	struct scene *scene = arg;
	char *to = strcmp(binding->id, "hub") == 0 ? scene->hub :
	    strcmp(binding->id, "git") == 0 ? scene->git : scene->map;

	snprintf(to, 128, "%s", text);
}

static struct run *
open_run(struct scene *scene, const struct gate_run_options *options,
    char token[GATE_TOKEN_MAX])
{
	struct run *run = gate_run_open(scene->gate, &fake_port, options,
	    token, &why);

	if (run == NULL)
		fail_msg("%s: %s", why.rule, why.detail);
	return run;
}

static const struct gate_run_options plain_run = {
	.principal = "alice@example.com", .agent_name = "tester", .pid = -1, .uid = -1,
	.limits = { -1, -1, -1, -1 } };

static const struct opa *fake_opa;	/* of the next gate */

static void
begin(struct scene *scene, const char *data)
{
	uint32_t version;
	struct vault_error error;
	struct gate_options options = { .pack_path = "unused", .opa = fake_opa };
	struct rules *rules;
	char err[256];

	*scene = (struct scene){ .vault = fake_vault_new() };
	fake_ledger_forget();
	fake_status = LEDGER_DURABLE;
	fake_decide = NULL;
	fake_data = data;
	assert_int_equal(vault_put(scene->vault, "one", REAL_ONE,
	    strlen(REAL_ONE), false, &version, &error), VAULT_OK);
	assert_int_equal(vault_put(scene->vault, "two", REAL_TWO,
	    strlen(REAL_TWO), false, &version, &error), VAULT_OK);
	assert_int_equal(vault_put(scene->vault, "short", REAL_SHORT,
	    strlen(REAL_SHORT), false, &version, &error), VAULT_OK);
	options.vault = scene->vault;
	scene->gate = gate_new(&options, err, sizeof(err));
	if (scene->gate == NULL)
		fail_msg("%s", err);
	scene->thread = gate_thread_new(scene->gate);
	scene->run = open_run(scene, &plain_run, scene->token);
	rules = gate_rules(scene->gate);
	gate_run_placeholders(scene->run, rules, keep_placeholder, scene);
	rules_unref(rules);
	assert_true(scene->hub[0] != '\0' && scene->git[0] != '\0' &&
	    scene->map[0] != '\0');
}

static void
end(struct scene *scene)
{
	run_unref(scene->run);
	gate_thread_free(scene->thread);
	gate_free(scene->gate);
	vault_close(scene->vault);
	fake_ledger_forget();
}

/* A request for url with these header lines, as the proxy would see it. */
static void
ask_with(struct scene *scene, struct gate_thread *thread, struct run *run,
    const struct peer *peer, const char *method, const char *url,
    const char *lines, struct gate_verdict *out)
{
	static _Thread_local char text[8192], space[8192];
	static _Thread_local struct head head;
	struct gate_request request = { .kind = GATE_HTTP, .run = run,
	    .route = "absolute", .peer = { -1, -1, 0 }, .head = &head,
	    .method = slice_of(method) };
	struct head_error error = { 0, "" };
	struct target target;
	const char *rule;
	size_t used;

	if (peer != NULL)
		request.peer = *peer;
	rule = target_from_absolute(slice_of(url), space, sizeof(space), &target);
	if (rule != NULL)
		fail_msg("%s: %s", url, rule);
	snprintf(text, sizeof(text), "%s %s HTTP/1.1\r\nHost: %s\r\n%s\r\n",
	    method, url, target.host, lines);
	if (head_parse_request(text, strlen(text), &head, &used, &error) !=
	    HEAD_DONE)
		fail_msg("%s", error.rule);
	request.target = &target;
	request.body_len = head.framing == HEAD_LENGTH ?
	    (int64_t)head.body_len : head.framing == HEAD_CHUNKED ? -1 : 0;
	gate_decide(scene->gate, thread, &request, out);
}

static struct gate_verdict verdict;

static void
ask(struct scene *scene, const char *method, const char *url,
    const char *lines)
{
	gate_verdict_release(&verdict);
	ask_with(scene, scene->thread, scene->run, NULL, method, url, lines,
	    &verdict);
}

static const char *
bearer(const char *token)
{
	static _Thread_local char line[256];

	snprintf(line, sizeof(line), "Authorization: Bearer %s\r\n", token);
	return line;
}

static void
allowed(const char *binding)
{
	if (!verdict.allow)
		fail_msg("refused: %s: %s", verdict.rule, verdict.reason);
	if (binding != NULL) {
		assert_non_null(verdict.binding);
		assert_string_equal(verdict.binding->id, binding);
		assert_non_null(verdict.secret);
		assert_non_null(verdict.needles);
		assert_string_equal(verdict.record_type, "use");
	} else {
		assert_null(verdict.binding);
		assert_null(verdict.secret);
		assert_string_equal(verdict.record_type, "decision");
	}
}

static void
refused(unsigned status, const char *rule)
{
	if (verdict.allow)
		fail_msg("allowed, not %s", rule);
	assert_string_equal(verdict.rule, rule);
	assert_int_equal(verdict.status, status);
	assert_null(verdict.secret);
	assert_null(verdict.binding);
	assert_string_equal(verdict.record_type, "refusal");
	assert_true(verdict.record_len > 0);
	assert_true(verdict.reason[0] != '\0' && verdict.remedy[0] != '\0');
	assert_non_null(strstr(verdict.record, rule));
}

/* --- placeholders ---------------------------------------------------- */

static void
test_placeholder(void **state)
{
	struct scene s;
	struct slice secret;

	begin(&s, DATA(""));
	ask(&s, "GET", "https://api.example.com/repos", bearer(s.hub));
	allowed("hub");
	secret = secret_bytes(verdict.secret);
	assert_true(slice_eq(secret, SLICE(REAL_ONE)));
	assert_int_equal(verdict.version, 1);
	assert_null(strstr(verdict.record, REAL_ONE));
	assert_null(strstr(verdict.record, s.hub));
	assert_null(strstr(verdict.record, "alice"));
	assert_non_null(strstr(verdict.record, "hmac:"));

	ask(&s, "GET", "https://maps.example.com/t?x=1&key=none", "");
	allowed(NULL);
	{
		char url[256];

		snprintf(url, sizeof(url),
		    "https://maps.example.com/t?x=1&key=%s&y=2", s.map);
		ask(&s, "GET", url, "");
		allowed("map");
		assert_null(strstr(verdict.record, s.map));
	}
	gate_verdict_release(&verdict);
	end(&s);
}

static void
test_basic(void **state)
{
	struct scene s;
	char line[512], pair[256];
	size_t n;

	begin(&s, DATA(""));
	n = (size_t)snprintf(pair, sizeof(pair), "x-access-token:%s", s.git);
	memcpy(line, "Authorization: Basic ", 21);
	sodium_bin2base64(line + 21, sizeof(line) - 21, (unsigned char *)pair,
	    n, sodium_base64_VARIANT_ORIGINAL);
	strcat(line, "\r\n");
	ask(&s, "GET", "https://git.example.com/o/r/info/refs", line);
	allowed("git");
	/* the same where it does not belong */
	ask(&s, "GET", "https://api.example.com/", line);
	refused(403, "credential/wrong-host");
	gate_verdict_release(&verdict);
	end(&s);
}

static void
test_own_token_left_alone(void **state)
{
	struct scene s;

	begin(&s, DATA(""));
	ask(&s, "GET", "https://api.example.com/", bearer("ghs_somebodyelses0123456789"));
	allowed(NULL);
	ask(&s, "GET", "https://api.example.com/", "");
	allowed(NULL);
	gate_verdict_release(&verdict);
	end(&s);
}

static void
test_misplaced(void **state)
{
	struct scene s;
	char line[512], url[512];

	begin(&s, DATA(""));
	ask(&s, "GET", "https://evil.example.net/", bearer(s.hub));
	refused(403, "credential/wrong-host");
	ask(&s, "GET", "http://api.example.com/", bearer(s.hub));
	refused(403, "credential/wrong-host");
	ask(&s, "GET", "https://api.example.com:8443/", bearer(s.hub));
	refused(403, "credential/wrong-host");

	snprintf(line, sizeof(line), "X-Other: %s\r\n", s.hub);
	ask(&s, "GET", "https://api.example.com/", line);
	refused(403, "credential/misplaced");
	snprintf(line, sizeof(line), "%s: x\r\n", s.hub);
	ask(&s, "GET", "https://api.example.com/", line);
	refused(403, "credential/misplaced");

	snprintf(url, sizeof(url), "https://api.example.com/a/%s", s.hub);
	ask(&s, "GET", url, "");
	refused(403, "credential/misplaced");
	assert_null(strstr(verdict.record, s.hub));
	snprintf(url, sizeof(url), "https://api.example.com/?q=%s", s.hub);
	ask(&s, "GET", url, bearer(s.hub));
	refused(403, "credential/repeated");
	snprintf(url, sizeof(url), "https://api.example.com/?q=%%%02x%s", s.hub[0],
	    s.hub + 1);
	ask(&s, "GET", url, "");
	refused(403, "credential/misplaced");

	snprintf(line, sizeof(line), "Authorization: Bearer %s\r\n"
	    "authorization: Bearer %s\r\n", s.hub, s.hub);
	ask(&s, "GET", "https://api.example.com/", line);
	refused(403, "credential/repeated");
	snprintf(line, sizeof(line), "Authorization: Bearer %s\r\n"
	    "X-Key: %s\r\n", s.hub, s.map);
	ask(&s, "GET", "https://api.example.com/", line);
	refused(403, "credential/wrong-host");
	gate_verdict_release(&verdict);
	end(&s);
}

static void
test_raw_secret(void **state)
{
	struct scene s;

	begin(&s, DATA(""));
	ask(&s, "GET", "https://api.example.com/", bearer(REAL_ONE));
	refused(403, "credential/raw-secret");
	assert_null(strstr(verdict.record, REAL_ONE));
	ask(&s, "GET", "https://evil.example.net/" REAL_ONE, "");
	refused(403, "credential/raw-secret");
	assert_null(strstr(verdict.record, REAL_ONE));
	ask(&s, "GET", "https://evil.example.net/?" REAL_TWO, "");
	refused(403, "credential/raw-secret");
	assert_null(strstr(verdict.record, REAL_TWO));
	ask(&s, "GET", "https://evil.example.net/", "X: " REAL_TWO "\r\n");
	refused(403, "credential/raw-secret");
	ask(&s, "GET", "https://evil.example.net/", "X: key-R3alSecretOfTheSecondKind98765432\r\n");
	allowed(NULL);
	gate_verdict_release(&verdict);
	end(&s);
}

static void
test_run_token_outside(void **state)
{
	struct scene s;
	char line[256];

	begin(&s, DATA(""));
	snprintf(line, sizeof(line), "Proxy-Authorization: Bearer %s\r\n", s.token);
	ask(&s, "GET", "https://api.example.com/", line);
	allowed(NULL);
	snprintf(line, sizeof(line), "Cookie: t=%s\r\n", s.token);
	ask(&s, "GET", "https://api.example.com/", line);
	refused(403, "credential/misplaced");
	assert_null(strstr(verdict.record, s.token));
	gate_verdict_release(&verdict);
	end(&s);
}

/* --- runs ------------------------------------------------------------ */

static void
test_run_tokens(void **state)
{
	struct scene s;
	struct run *found;
	char other[GATE_TOKEN_MAX];

	begin(&s, DATA(""));
	found = gate_run_by_token(s.gate, slice_of(s.token));
	assert_ptr_equal(found, s.run);
	run_unref(found);
	snprintf(other, sizeof(other), "%s", s.token);
	other[10] = other[10] == 'A' ? 'B' : 'A';
	assert_null(gate_run_by_token(s.gate, slice_of(other)));
	assert_null(gate_run_by_token(s.gate, SLICE("")));
	assert_null(gate_run_by_token(s.gate, slice_of(s.hub)));
	found = gate_run_by_credential(s.gate, slice_of(s.hub));
	assert_ptr_equal(found, s.run);
	run_unref(found);
	assert_null(gate_run_by_credential(s.gate, slice_of(s.token)));
	found = gate_run_by_id(s.gate, slice_of(run_id(s.run)));
	assert_ptr_equal(found, s.run);
	run_unref(found);
	end(&s);
}

static void
test_no_run(void **state)
{
	struct scene s;

	begin(&s, DATA(""));
	ask_with(&s, s.thread, NULL, NULL, "GET", "https://api.example.com/",
	    bearer(s.hub), &verdict);
	refused(403, "credential/foreign-run");
	gate_verdict_release(&verdict);
	ask_with(&s, s.thread, NULL, NULL, "GET", "https://api.example.com/",
	    "", &verdict);
	refused(407, "run/unknown");
	gate_verdict_release(&verdict);
	end(&s);
}

static void
test_foreign_run(void **state)
{
	struct scene s;
	struct run *other;
	char token[GATE_TOKEN_MAX];

	begin(&s, DATA(""));
	other = open_run(&s, &plain_run, token);
	ask_with(&s, s.thread, other, NULL, "GET", "https://api.example.com/",
	    bearer(s.hub), &verdict);
	refused(403, "credential/foreign-run");
	run_unref(other);
	gate_verdict_release(&verdict);
	end(&s);
}

static void
test_close(void **state)
{
	struct scene s;
	struct gate_run_summary summary;
	struct gate_run_info info;

	begin(&s, DATA(""));
	ask(&s, "GET", "https://api.example.com/", bearer(s.hub));
	allowed("hub");
	{
		struct gate_outcome outcome = { .status = 200, .redactions = 2 };
		char body[1024];

		assert_true(gate_outcome_record(s.gate, s.run, &verdict,
		    &outcome, body, sizeof(body)) > 0);
		gate_outcome_done(s.run);
	}
	ask(&s, "GET", "https://evil.example.net/", bearer(s.hub));
	gate_verdict_release(&verdict);
	ask(&s, "GET", "https://api.example.com/", bearer(s.hub));
	allowed("hub");
	{
		struct gate_outcome outcome = { .error = "connect", .failed = true };
		char body[1024];

		assert_true(gate_outcome_record(s.gate, s.run, &verdict,
		    &outcome, body, sizeof(body)) > 0);
		gate_outcome_done(s.run);
	}
	assert_int_equal(gate_run_close(s.gate, &fake_port, s.run, &closer, &summary,
	    &why), 0);
	assert_non_null(strstr(fake_recent("run", 0), "\"by\":\"operator\",\"peer\":{\"uid\":1000,\"pid\":4321}"));
	assert_non_null(fake_last("teardown"));
	assert_true(fake_records[fake_n_records - 1].seal);
	assert_int_equal(summary.allowed, 1);
	assert_int_equal(summary.refused, 1);
	assert_int_equal(summary.failed, 1);	/* and no more among the allowed */
	assert_int_equal(summary.requests, 3);
	assert_int_equal(summary.redacted, 2);
	assert_non_null(strstr(fake_last("teardown"), "\"unfinished\":0"));
	assert_int_equal(summary.size, fake_n_records);
	assert_false(run_open_p(s.run));
	assert_null(gate_run_by_token(s.gate, slice_of(s.token)));
	assert_null(gate_run_by_credential(s.gate, slice_of(s.hub)));
	ask(&s, "GET", "https://api.example.com/", bearer(s.hub));
	refused(403, "run/closed");
	assert_int_equal(gate_run_close(s.gate, &fake_port, s.run, &closer, &summary,
	    &why), -1);
	assert_int_equal(why.status, 409);
	run_info(s.run, &info);
	assert_false(info.open);
	assert_int_equal(info.failed, 1);
	gate_verdict_release(&verdict);
	end(&s);
}

/* The records of the last run that closed with that reason; its own name only
 * where it is that very process. */
static void
test_closer(void **state)
{
	struct process self;
	struct gate_closer by = { "run", NULL, { 1000, getpid(), 0 } };
	struct gate_run_options options = plain_run;
	struct gate_run_summary summary;
	char token[GATE_TOKEN_MAX], name[64];
	struct run *run;
	struct scene s;

	begin(&s, DATA_AND("\"tiny\":{\"secret\":\"short\",\"hosts\":[\"tiny.example.com\"],"
	    "\"placement\":{\"kind\":\"query\",\"name\":\"k\"}},", ""));
	assert_true(process_look(getpid(), &self));
	snprintf(name, sizeof(name), "\"program\":\"%s\"", self.name);
	options.pid = getpid();
	options.parent = run_id(s.run);
	run = open_run(&s, &options, token);
	by.peer.start_time = self.start_time;
	assert_string_equal(gate_closer_of(run, &by.peer), "opener");
	by.peer.start_time++;
	assert_string_equal(gate_closer_of(run, &by.peer), "run");
	assert_string_equal(gate_closer_of(s.run, &by.peer), "run");
	/* the parent first: both are closed by whoever closed that */
	assert_int_equal(gate_run_close(s.gate, &fake_port, s.run, &by, &summary, &why), 0);
	assert_null(strstr(fake_recent("run", 0), "reason"));
	assert_null(strstr(fake_recent("run", 0), "program"));
	assert_non_null(fake_recent("run", 1));
	assert_non_null(strstr(fake_recent("run", 1), "\"by\":\"run\",\"reason\":\"parent closed\""));
	run_unref(run);
	options.parent = NULL;
	run = open_run(&s, &options, token);
	by.peer.start_time = self.start_time;
	assert_int_equal(gate_run_close(s.gate, &fake_port, run, &by, &summary, &why), 0);
	assert_non_null(strstr(fake_recent("run", 0), name));
	run_unref(run);
	/* a process may call itself what it has stolen */
	run = open_run(&s, &options, token);
	assert_int_equal(prctl(PR_SET_NAME, REAL_SHORT), 0);
	assert_int_equal(gate_run_close(s.gate, &fake_port, run, &by, &summary, &why), 0);
	assert_int_equal(prctl(PR_SET_NAME, self.name), 0);
	assert_null(strstr(fake_recent("run", 0), "program"));
	run_unref(run);
	end(&s);
}

static void
test_open_needs_ledger(void **state)
{
	struct scene s;
	char token[GATE_TOKEN_MAX];
	struct gate_counts counts;

	begin(&s, DATA(""));
	fake_status = LEDGER_FAILED;
	assert_null(gate_run_open(s.gate, &fake_port, &plain_run, token, &why));
	assert_int_equal(why.status, 503);
	assert_string_equal(why.rule, "ledger/failed");
	assert_string_equal(token, "");
	gate_counts(s.gate, &counts);
	assert_int_equal(counts.runs_open, 1);
	end(&s);
}

static void
test_many_closed_runs(void **state)
{
	struct scene s;
	struct gate_run_summary summary;
	char token[GATE_TOKEN_MAX];
	struct run *run;

	begin(&s, DATA(""));
	for (int i = 0; i < 600; i++) {
		run = open_run(&s, &plain_run, token);
		assert_int_equal(gate_run_close(s.gate, &fake_port, run,
		    &closer, &summary, &why), 0);
		run_unref(run);
	}
	assert_true(run_open_p(s.run));
	run = gate_run_by_token(s.gate, slice_of(s.token));
	assert_ptr_equal(run, s.run);
	run_unref(run);
	end(&s);
}

static void
test_peers(void **state)
{
	struct scene s;
	struct gate_run_options options = plain_run;
	struct peer self = { getuid(), getpid(), 0 }, init = { 0, 1, 0 };
	char token[GATE_TOKEN_MAX];
	struct run *run, *found;

	begin(&s, DATA(""));
	options.pid = getpid();
	run = open_run(&s, &options, token);
	ask_with(&s, s.thread, run, &self, "GET", "https://api.example.com/", "",
	    &verdict);
	allowed(NULL);
	gate_verdict_release(&verdict);
	ask_with(&s, s.thread, run, &init, "GET", "https://api.example.com/", "",
	    &verdict);
	refused(403, "run/foreign-process");
	found = gate_run_by_process(s.gate, getpid());
	assert_ptr_equal(found, run);
	run_unref(found);
	assert_null(gate_run_by_process(s.gate, 1));
	self = (struct peer){ getuid() + 1, -1, 0 };
	options.uid = getuid();
	run_unref(run);
	run = open_run(&s, &options, token);
	gate_verdict_release(&verdict);
	ask_with(&s, s.thread, run, &self, "GET", "https://api.example.com/", "",
	    &verdict);
	refused(403, "run/foreign-process");
	options.pid = 0x7ffffff0;
	assert_null(gate_run_open(s.gate, &fake_port, &options, token, &why));
	assert_string_equal(why.rule, "run/no-process");
	run_unref(run);
	gate_verdict_release(&verdict);
	end(&s);
}

/* --- budgets --------------------------------------------------------- */

static void
test_request_budget(void **state)
{
	struct scene s;
	struct gate_run_options options = plain_run;
	char token[GATE_TOKEN_MAX];
	struct run *run;

	begin(&s, DATA(""));
	options.limits.requests = 2;
	run = open_run(&s, &options, token);
	run_unref(s.run);
	s.run = run;
	for (int i = 0; i < 2; i++) {
		ask(&s, "GET", "https://api.example.com/", "");
		allowed(NULL);
	}
	ask(&s, "GET", "https://api.example.com/", "");
	refused(429, "budget/requests");
	gate_verdict_release(&verdict);
	end(&s);
}

static void
deny_all(const struct policy_input *input, struct policy_decision *out)
{
	out->verdict = POLICY_DENY;
	snprintf(out->rule, sizeof(out->rule), "fake/deny");
	snprintf(out->reason, sizeof(out->reason), "the test says no");
}

static void
test_refused_uses_nothing(void **state)
{
	struct scene s;

	begin(&s, DATA(",\"limits\":{\"requests\":1}"));
	fake_decide = deny_all;
	for (int i = 0; i < 3; i++) {
		ask(&s, "GET", "https://api.example.com/", bearer(s.hub));
		refused(403, "fake/deny");
	}
	fake_decide = NULL;
	ask(&s, "GET", "https://api.example.com/", bearer(s.hub));
	allowed("hub");
	ask(&s, "GET", "https://api.example.com/", bearer(s.hub));
	refused(429, "budget/requests");
	gate_verdict_release(&verdict);
	end(&s);
}

static void
test_binding_budget(void **state)
{
	struct scene s;
	char url[256];

	begin(&s, DATA(""));
	snprintf(url, sizeof(url), "https://maps.example.com/?key=%s", s.map);
	for (int i = 0; i < 2; i++) {
		ask(&s, "GET", url, "");
		allowed("map");
	}
	ask(&s, "GET", url, "");
	refused(429, "budget/binding-requests");
	ask(&s, "GET", "https://api.example.com/", bearer(s.hub));
	allowed("hub");
	gate_verdict_release(&verdict);
	end(&s);
}

static void
test_bytes_budget(void **state)
{
	struct scene s;

	begin(&s, DATA(",\"limits\":{\"bytes_out\":100}"));
	ask(&s, "POST", "https://api.example.com/", "Content-Length: 101\r\n");
	refused(429, "budget/bytes-out");
	ask(&s, "POST", "https://api.example.com/", "Content-Length: 100\r\n");
	allowed(NULL);
	assert_true(gate_spend_bytes(s.gate, s.run, 60));
	assert_false(gate_spend_bytes(s.gate, s.run, 41));
	assert_true(gate_spend_bytes(s.gate, s.run, 40));
	assert_false(gate_spend_bytes(s.gate, s.run, 1));
	assert_false(gate_spend_bytes(s.gate, s.run, UINT64_MAX));
	gate_verdict_release(&verdict);
	/* of unknown length: not before the secret is sent to find out */
	ask(&s, "POST", "https://api.example.com/", "Transfer-Encoding: chunked\r\n");
	refused(429, "budget/bytes-out");
	ask(&s, "GET", "https://api.example.com/", "");
	allowed(NULL);
	gate_return_bytes(s.run, 1);	/* that did not leave */
	ask(&s, "POST", "https://api.example.com/", "Transfer-Encoding: chunked\r\n");
	allowed(NULL);
	gate_verdict_release(&verdict);
	end(&s);
}

static void
test_children_narrow(void **state)
{
	struct scene s;
	struct gate_run_options options = plain_run;
	char token[GATE_TOKEN_MAX];
	struct run *parent, *a, *b;
	struct gate_run_info info;
	struct gate_run_summary summary;

	begin(&s, DATA(""));
	options.limits.requests = 3;
	parent = open_run(&s, &options, token);
	options.parent = run_id(parent);
	options.limits.requests = 100;
	a = open_run(&s, &options, token);
	options.limits.requests = -1;
	b = open_run(&s, &options, token);
	run_info(a, &info);
	assert_int_equal(info.limits.requests, 3);
	assert_string_equal(info.parent, run_id(parent));
	run_unref(s.run);
	s.run = a;
	ask(&s, "GET", "https://api.example.com/", "");
	ask(&s, "GET", "https://api.example.com/", "");
	allowed(NULL);
	s.run = b;
	ask(&s, "GET", "https://api.example.com/", "");
	allowed(NULL);
	ask(&s, "GET", "https://api.example.com/", "");
	refused(429, "budget/requests");
	assert_int_equal(gate_run_close(s.gate, &fake_port, parent, &closer, &summary,
	    &why), 0);
	assert_false(run_open_p(a) || run_open_p(b));
	options.parent = run_id(parent);
	assert_null(gate_run_open(s.gate, &fake_port, &options, token, &why));
	assert_string_equal(why.rule, "run/bad-parent");
	run_unref(a);
	run_unref(parent);
	gate_verdict_release(&verdict);
	end(&s);
}

static void
wall_over(const struct policy_input *input, struct policy_decision *out)
{
	out->cost = 7;
	out->max_bytes = 10;
}

static void
test_obligations(void **state)
{
	struct scene s;
	struct gate_run_options options = plain_run;
	char token[GATE_TOKEN_MAX];

	begin(&s, DATA(""));
	options.limits.cost = 15;
	run_unref(s.run);
	s.run = open_run(&s, &options, token);
	fake_decide = wall_over;
	ask(&s, "POST", "https://api.example.com/", "Content-Length: 11\r\n");
	refused(413, "policy/max-bytes");
	ask(&s, "POST", "https://api.example.com/", "Content-Length: 10\r\n");
	allowed(NULL);
	assert_int_equal(verdict.max_bytes, 10);
	ask(&s, "GET", "https://api.example.com/", "");
	allowed(NULL);
	ask(&s, "GET", "https://api.example.com/", "");
	refused(429, "budget/cost");
	gate_verdict_release(&verdict);
	end(&s);
}

static void
ask_all(const struct policy_input *input, struct policy_decision *out)
{
	out->verdict = POLICY_ASK;
	snprintf(out->reason, sizeof(out->reason), "a person decides this");
}

static void
test_ask(void **state)
{
	struct scene s;

	begin(&s, DATA(""));
	fake_decide = ask_all;
	ask(&s, "GET", "https://api.example.com/", bearer(s.hub));
	refused(403, "ask/no-approver");
	assert_string_equal(verdict.reason, "a person decides this");
	assert_non_null(strstr(verdict.record, "\"decision\":\"ask\""));
	gate_verdict_release(&verdict);
	end(&s);
}

/* --- another engine --------------------------------------------------- */

/* With a policy server; the fake one never looks at where it is. */
static void
test_engine(void **state)
{
	struct gate_run_info info;
	struct scene s;

	begin(&s, DATA(""));
	ask(&s, "GET", "https://api.example.com/", "");
	allowed(NULL);
	assert_null(strstr(verdict.record, "\"engine\""));
	assert_int_equal(gate_may_block_ms(s.gate), 0);
	gate_verdict_release(&verdict);
	end(&s);

	fake_opa = (const struct opa *)&s;
	begin(&s, DATA(""));
	fake_opa = NULL;
	assert_int_equal(gate_may_block_ms(s.gate), 50);
	ask(&s, "GET", "https://api.example.com/", "");
	allowed(NULL);
	assert_non_null(strstr(verdict.record,
	    "\"engine\":\"opa\",\"decision_id\":\"id-1\""));

	/* What waited longer than the deadline is not asked any more. */
	gate_thread_until(s.thread, gate_now_ms() - 51);
	ask(&s, "GET", "https://api.example.com/", "");
	assert_non_null(strstr(verdict.record, "\"decision_id\":\"id-0\""));

	/* No answer is a refusal that uses nothing. */
	fake_engine_failed = true;
	ask(&s, "GET", "https://api.example.com/", "");
	fake_engine_failed = false;
	refused(503, "engine/opa-timeout");
	run_info(s.run, &info);
	assert_int_equal(info.used.requests, 2);

	/* A refusal before the engine was asked does not speak of it. */
	gate_verdict_release(&verdict);
	ask_with(&s, s.thread, NULL, NULL, "GET", "https://api.example.com/",
	    "", &verdict);
	refused(407, "run/unknown");
	assert_null(strstr(verdict.record, "\"engine\""));
	gate_verdict_release(&verdict);
	end(&s);
}

/* --- grants ---------------------------------------------------------- */

static char grant_token[GATE_TOKEN_MAX];
static struct gate_grant_info grant;

static int
issue(struct scene *s, const char *action, const char *target, int64_t uses,
    int64_t ttl_s)
{
	struct gate_grant_options options = { .action = action,
	    .target = target, .uses = uses, .ttl_s = ttl_s,
	    .peer = { -1, -1, 0 } };

	return gate_grant_issue(s->gate, s->thread, &fake_port, s->run,
	    &options, grant_token, &grant, &why);
}

static void
test_grant(void **state)
{
	struct scene s;

	begin(&s, DATA(""));
	assert_int_equal(issue(&s, "http:POST",
	    "https://API.example.com/repos/o/r/issues", -1, -1), 0);
	assert_int_equal(strlen(grant_token), 48);
	assert_memory_equal(grant_token, "csg1_", 5);
	assert_string_equal(grant.target,
	    "https://api.example.com:443/repos/o/r/issues");
	assert_string_equal(grant.state, "active");
	assert_non_null(fake_last("grant"));
	assert_null(strstr(fake_last("grant"), grant_token));

	ask(&s, "GET", "https://api.example.com/repos/o/r/issues",
	    bearer(grant_token));
	refused(403, "grant/action-mismatch");
	ask(&s, "POST", "https://api.example.com/repos/o/r/issues/1",
	    bearer(grant_token));
	refused(403, "grant/target-mismatch");
	ask(&s, "POST", "https://api.example.com/repos/o/r/issues?x=1",
	    bearer(grant_token));
	refused(403, "grant/target-mismatch");
	ask(&s, "POST", "https://api.example.com/repos/o/r/issues",
	    bearer(grant_token));
	allowed("hub");
	assert_string_equal(verdict.grant, grant.id);
	assert_null(strstr(verdict.record, grant_token));
	ask(&s, "POST", "https://api.example.com/repos/o/r/issues",
	    bearer(grant_token));
	refused(403, "grant/replayed");
	assert_int_equal(gate_grant_look(s.gate, slice_of(grant.id), s.run,
	    &grant, &why), 0);
	assert_string_equal(grant.state, "spent");
	gate_verdict_release(&verdict);
	end(&s);
}

static void
test_grant_misplaced(void **state)
{
	struct scene s;
	char line[512];

	begin(&s, DATA(""));
	assert_int_equal(issue(&s, "http:GET", "https://api.example.com/", 5, -1), 0);
	snprintf(line, sizeof(line), "X-Token: %s\r\n", grant_token);
	ask(&s, "GET", "https://api.example.com/", line);
	refused(403, "credential/misplaced");
	ask(&s, "GET", "https://evil.example.net/", bearer(grant_token));
	refused(403, "credential/misplaced");
	snprintf(line, sizeof(line), "Authorization: Bearer %s\r\nX: %s\r\n",
	    grant_token, grant_token);
	ask(&s, "GET", "https://api.example.com/", line);
	refused(403, "credential/repeated");
	ask(&s, "GET", "https://api.example.com/",
	    bearer("csg1_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"));
	refused(403, "grant/unknown-or-restarted");
	ask(&s, "GET", "https://api.example.com/", bearer(grant_token));
	allowed("hub");
	gate_verdict_release(&verdict);
	end(&s);
}

static void
test_grant_query(void **state)
{
	struct scene s;
	char url[256];

	begin(&s, DATA(""));
	assert_int_equal(issue(&s, "http:GET",
	    "https://maps.example.com/t?x=1&y=2", 1, -1), 0);
	snprintf(url, sizeof(url), "https://maps.example.com/t?x=1&key=%s&y=3",
	    grant_token);
	ask(&s, "GET", url, "");
	refused(403, "grant/target-mismatch");
	assert_null(strstr(verdict.record, grant_token));
	snprintf(url, sizeof(url), "https://maps.example.com/t?x=1&key=%s&y=2",
	    grant_token);
	ask(&s, "GET", url, "");
	allowed("map");
	gate_verdict_release(&verdict);
	end(&s);
}

static void
test_grant_other_run_and_peer(void **state)
{
	struct scene s;
	struct run *other;
	char token[GATE_TOKEN_MAX];
	struct peer somebody = { 4711, -1, 0 };
	struct gate_grant_options options = { .action = "http:GET",
	    .target = "https://api.example.com/", .uses = 5, .ttl_s = -1,
	    .peer = { 1234, -1, 0 } };

	begin(&s, DATA(""));
	assert_int_equal(gate_grant_issue(s.gate, s.thread, &fake_port, s.run,
	    &options, grant_token, &grant, &why), 0);
	other = open_run(&s, &plain_run, token);
	ask_with(&s, s.thread, other, NULL, "GET", "https://api.example.com/",
	    bearer(grant_token), &verdict);
	refused(403, "grant/foreign-run");
	gate_verdict_release(&verdict);
	ask_with(&s, s.thread, s.run, &somebody, "GET",
	    "https://api.example.com/", bearer(grant_token), &verdict);
	refused(403, "grant/foreign-caller");
	assert_int_equal(gate_grant_look(s.gate, slice_of(grant.id), other,
	    &grant, &why), -1);
	assert_int_equal(why.status, 404);
	assert_int_equal(gate_grant_revoke(s.gate, &fake_port,
	    slice_of(grant.id), other, &grant, &why), -1);
	run_unref(other);
	gate_verdict_release(&verdict);
	end(&s);
}

static unsigned cuts;
static char last_cut[256];	/* run, binding, grant, secret@version */

static void
count_cut(void *arg, const struct gate_cut *what)
{
	cuts++;
	snprintf(last_cut, sizeof(last_cut), "%s %s %s %s@%u",
	    what->run != NULL ? what->run : "-",
	    what->binding != NULL ? what->binding : "-",
	    what->grant != NULL ? what->grant : "-",
	    what->secret != NULL ? what->secret : "-", what->version);
}

static void
test_grant_revoke_and_expiry(void **state)
{
	struct scene s;

	begin(&s, DATA(""));
	cuts = 0;
	gate_on_revoke(s.gate, count_cut, NULL);
	assert_int_equal(issue(&s, "http:GET", "https://api.example.com/", 5,
	    1), 0);
	sleep(2);
	ask(&s, "GET", "https://api.example.com/", bearer(grant_token));
	refused(403, "grant/expired");
	assert_int_equal(issue(&s, "http:GET", "https://api.example.com/", 5,
	    -1), 0);
	assert_int_equal(gate_grant_revoke(s.gate, &fake_port,
	    slice_of(grant.id), s.run, &grant, &why), 0);
	assert_string_equal(grant.state, "revoked");
	assert_non_null(fake_last("grant"));
	assert_int_equal(cuts, 1);
	{
		char want[256];

		snprintf(want, sizeof(want), "%s - %s -@0", run_id(s.run), grant.id);
		assert_string_equal(last_cut, want);
	}
	ask(&s, "GET", "https://api.example.com/", bearer(grant_token));
	refused(403, "grant/revoked");
	gate_verdict_release(&verdict);
	end(&s);
}

static void
test_grant_git(void **state)
{
	struct scene s;
	static const char *const good[][2] = {
		{ "GET", "https://git.example.com/o/r.git/info/refs?service=git-receive-pack" },
		{ "GET", "https://git.example.com/o/r/info/refs?service=git-receive-pack" },
		{ "POST", "https://git.example.com/o/r.git/git-receive-pack" },
	}, *const bad[][2] = {
		{ "GET", "https://git.example.com/o/r.git/info/refs?service=git-upload-pack" },
		{ "GET", "https://git.example.com/o/r.git/info/refs" },
		{ "POST", "https://git.example.com/o/r.git/git-upload-pack" },
		{ "GET", "https://git.example.com/o/r.git/git-receive-pack" },
		{ "POST", "https://git.example.com/o/r2.git/git-receive-pack" },
		{ "POST", "https://git.example.com/o/git-receive-pack" },
	};
	char line[512], pair[256];
	size_t n;

	begin(&s, DATA(""));
	assert_int_equal(issue(&s, "git:push", "https://git.example.com/o/r.git",
	    -1, -1), 0);
	assert_int_equal(grant.requests_left, 8);
	n = (size_t)snprintf(pair, sizeof(pair), "x:%s", grant_token);
	memcpy(line, "Authorization: Basic ", 21);
	sodium_bin2base64(line + 21, sizeof(line) - 21, (unsigned char *)pair,
	    n, sodium_base64_VARIANT_ORIGINAL);
	strcat(line, "\r\n");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		ask(&s, bad[i][0], bad[i][1], line);
		assert_false(verdict.allow);
		assert_non_null(strstr(verdict.rule, "mismatch"));
	}
	for (size_t i = 0; i < 8; i++) {
		ask(&s, good[i % 3][0], good[i % 3][1], line);
		allowed("git");
	}
	ask(&s, good[0][0], good[0][1], line);
	refused(403, "grant/replayed");
	gate_verdict_release(&verdict);
	end(&s);
}

static void
test_grant_refused(void **state)
{
	struct scene s;
	static const struct {
		const char *action, *target, *rule;
	} bad[] = {
		{ "http:get", "https://api.example.com/", "grant/bad-target" },
		{ "http:", "https://api.example.com/", "grant/bad-target" },
		{ "http:CONNECT", "https://api.example.com/", "grant/bad-target" },
		{ "tool:Bash", "https://api.example.com/", "grant/bad-target" },
		{ "http:GET", "https://api.example.com/../x", "grant/bad-target" },
		{ "http:GET", "https://api.example.com/**", "grant/bad-target" },
		{ "http:GET", "/repos", "grant/bad-target" },
		{ "git:push", "https://git.example.com/", "grant/bad-target" },
		{ "http:GET", "https://other.example.com/", "grant/no-binding" },
		{ "http:GET", "https://api.example.com/" REAL_ONE, "credential/raw-secret" },
	};

	begin(&s, DATA(""));
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		size_t before = fake_n_records;

		assert_int_equal(issue(&s, bad[i].action, bad[i].target, -1,
		    -1), -1);
		assert_string_equal(why.rule, bad[i].rule);
		assert_string_equal(grant_token, "");
		assert_int_equal(fake_n_records, before + 1);
		assert_non_null(fake_last("refusal"));
		assert_null(strstr(fake_last("refusal"), REAL_ONE));
	}
	fake_decide = deny_all;
	assert_int_equal(issue(&s, "http:GET", "https://api.example.com/", -1,
	    -1), -1);
	assert_string_equal(why.rule, "fake/deny");
	fake_decide = NULL;
	fake_status = LEDGER_FULL;
	assert_int_equal(issue(&s, "http:GET", "https://api.example.com/", -1,
	    -1), -1);
	assert_string_equal(why.rule, "ledger/full");
	end(&s);
}

#define RACERS 20

struct racer {
	struct scene *scene;
	pthread_t thread;
	pthread_barrier_t *start;
	char line[256];
	unsigned won, replayed;
};

static void *
race(void *arg)
{
	struct racer *racer = arg;
	struct gate_thread *thread = gate_thread_new(racer->scene->gate);
	struct gate_verdict *out = calloc(1, sizeof(*out));

	pthread_barrier_wait(racer->start);
	ask_with(racer->scene, thread, racer->scene->run, NULL, "GET",
	    "https://api.example.com/", racer->line, out);
	racer->won = out->allow;
	racer->replayed = strcmp(out->rule, "grant/replayed") == 0;
	gate_verdict_release(out);
	free(out);
	gate_thread_free(thread);
	return NULL;
}

static void
test_twenty_redeem_one(void **state)
{
	struct scene s;
	static struct racer racers[RACERS];
	pthread_barrier_t start;

	begin(&s, DATA(""));
	for (int round = 0; round < 10; round++) {
		unsigned won = 0, replayed = 0;

		assert_int_equal(issue(&s, "http:GET",
		    "https://api.example.com/", 1, -1), 0);
		pthread_barrier_init(&start, NULL, RACERS);
		for (int i = 0; i < RACERS; i++) {
			racers[i].scene = &s;
			racers[i].start = &start;
			snprintf(racers[i].line, sizeof(racers[i].line), "%s",
			    bearer(grant_token));
			pthread_create(&racers[i].thread, NULL, race,
			    &racers[i]);
		}
		for (int i = 0; i < RACERS; i++) {
			pthread_join(racers[i].thread, NULL);
			won += racers[i].won;
			replayed += racers[i].replayed;
		}
		assert_int_equal(won, 1);
		assert_int_equal(replayed, RACERS - 1);
		pthread_barrier_destroy(&start);
	}
	end(&s);
}

/* --- secrets and rules ----------------------------------------------- */

static void
test_rotate_and_revoke(void **state)
{
	struct scene s;
	struct gate_verdict *flying = calloc(1, sizeof(*flying));
	uint32_t version = 0;

	begin(&s, DATA(""));
	ask_with(&s, s.thread, s.run, NULL, "GET", "https://api.example.com/",
	    bearer(s.hub), flying);
	assert_true(flying->allow);
	assert_int_equal(gate_secret_put(s.gate, &fake_port, "one",
	    "ghp_second", 10, true, &version, &why), 0);
	assert_int_equal(version, 2);
	assert_non_null(fake_last("secret"));
	assert_null(strstr(fake_last("secret"), "ghp_second"));
	ask(&s, "GET", "https://api.example.com/", bearer(s.hub));
	allowed("hub");
	assert_int_equal(verdict.version, 2);
	assert_true(slice_eq(secret_bytes(flying->secret), SLICE(REAL_ONE)));
	gate_verdict_release(flying);
	free(flying);

	cuts = 0;
	gate_on_revoke(s.gate, count_cut, NULL);
	assert_int_equal(gate_secret_revoke(s.gate, &fake_port, "one", 0,
	    &why), 0);
	assert_int_equal(cuts, 1);
	assert_string_equal(last_cut, "- - - one@0");
	ask(&s, "GET", "https://api.example.com/", bearer(s.hub));
	refused(503, "vault/unavailable");
	assert_int_equal(gate_secret_put(s.gate, &fake_port, "none", "longer one", 10,
	    true, &version, &why), -1);
	assert_int_equal(why.status, 404);
	assert_int_equal(gate_secret_put(s.gate, &fake_port, "two",
	    "longer one", 10, false, &version, &why), -1);
	assert_int_equal(why.status, 409);
	assert_int_equal(gate_secret_put(s.gate, &fake_port, "short",
	    "1234567\n", 8, false, &version, &why), -1);
	assert_int_equal(why.status, 400);
	assert_string_equal(why.rule, "secret/too-short");
	gate_verdict_release(&verdict);
	end(&s);
}

static void
test_reload(void **state)
{
	struct scene s;
	char before[POLICY_DIGEST_LEN + 1], after[POLICY_DIGEST_LEN + 1];
	size_t n;

	begin(&s, DATA(""));
	n = fake_n_records;
	assert_int_equal(gate_reload(s.gate, &fake_port, before, after, &why), 0);
	assert_string_equal(before, after);
	assert_int_equal(fake_n_records, n);

	fake_data = NULL;
	assert_int_equal(gate_reload(s.gate, &fake_port, before, after, &why), -1);
	assert_int_equal(why.status, 422);
	fake_data = "{\"bindings\":{\"hub\":{}}}";
	assert_int_equal(gate_reload(s.gate, &fake_port, before, after, &why), -1);
	assert_int_equal(why.status, 422);
	ask(&s, "GET", "https://api.example.com/", bearer(s.hub));
	allowed("hub");

	fake_data = DATA(",\"limits\":{\"requests\":1}");
	fake_status = LEDGER_FAILED;
	assert_int_equal(gate_reload(s.gate, &fake_port, before, after, &why), -1);
	assert_int_equal(why.status, 503);
	assert_string_equal(before, after);
	fake_status = LEDGER_DURABLE;
	assert_int_equal(gate_reload(s.gate, &fake_port, before, after, &why), 0);
	assert_string_not_equal(before, after);
	assert_non_null(fake_last("policy"));
	assert_string_equal(fake_records[fake_n_records - 1].policy, before);
	ask(&s, "GET", "https://api.example.com/", bearer(s.hub));
	refused(429, "budget/requests");

	cuts = 0;
	gate_on_revoke(s.gate, count_cut, NULL);
	fake_data = "{}";
	assert_int_equal(gate_reload(s.gate, &fake_port, before, after, &why), 0);
	assert_int_equal(cuts, 3);
	ask(&s, "GET", "https://api.example.com/", bearer(s.hub));
	refused(403, "credential/wrong-host");
	gate_verdict_release(&verdict);
	end(&s);
}

/* --- adapters -------------------------------------------------------- */

static void
test_action(void **state)
{
	struct scene s;
	struct gate_answer *answer = malloc(sizeof(*answer));
	struct gate_action action = { .peer = { -1, -1, 0 },
	    .kind = { "tool", 4 }, .name = { "Bash", 4 },
	    .args = { "{\"command\":\"ls /home\"}", 22 }, .port = -1 };

	begin(&s, DATA(""));
	gate_decide_action(s.gate, s.thread, s.run, &action, answer);
	assert_int_equal(answer->verdict, POLICY_ALLOW);
	assert_string_equal(answer->record.record_type, "decision");
	assert_null(strstr(answer->record.record, "ls /home"));
	assert_non_null(strstr(answer->record.record, "\"args\":\"hmac:"));
	gate_verdict_release(&answer->record);

	action.args = (struct policy_str){ "\"curl " REAL_ONE "\"", strlen(REAL_ONE) + 7 };
	gate_decide_action(s.gate, s.thread, s.run, &action, answer);
	assert_int_equal(answer->verdict, POLICY_DENY);
	assert_string_equal(answer->policy.rule, "credential/raw-secret");
	assert_null(strstr(answer->record.record, REAL_ONE));
	gate_verdict_release(&answer->record);

	action.args = (struct policy_str){ NULL, 0 };
	action.name = (struct policy_str){ s.token, strlen(s.token) };
	gate_decide_action(s.gate, s.thread, s.run, &action, answer);
	assert_int_equal(answer->verdict, POLICY_ALLOW);
	assert_null(strstr(answer->record.record, s.token));
	gate_verdict_release(&answer->record);

	fake_decide = ask_all;
	gate_decide_action(s.gate, s.thread, s.run, &action, answer);
	assert_int_equal(answer->verdict, POLICY_ASK);
	assert_string_equal(answer->record.record_type, "decision");
	gate_verdict_release(&answer->record);
	free(answer);
	end(&s);
}

static void
test_refuse_malformed(void **state)
{
	struct scene s;
	struct gate_request request = { .kind = GATE_HTTP, .route = "none",
	    .peer = { -1, -1, 0 } };

	begin(&s, DATA(""));
	gate_refuse(s.gate, &request, 400, "http/bare-lf", "bare LF",
	    "send CRLF", &verdict);
	refused(400, "http/bare-lf");
	request.run = s.run;
	gate_verdict_release(&verdict);
	gate_refuse(s.gate, &request, 502, "upstream/certificate",
	    "it has expired", "renew it", &verdict);
	refused(502, "upstream/certificate");
	assert_non_null(strstr(verdict.record, "\"parent\":\""));
	gate_verdict_release(&verdict);
	end(&s);
}

static void
test_connect(void **state)
{
	struct scene s;
	struct target target = { .https = true, .port = 443 };
	struct gate_request request = { .kind = GATE_CONNECT,
	    .route = "connect", .peer = { -1, -1, 0 },
	    .method = { "CONNECT", 7 }, .target = &target, .body_len = 0 };

	begin(&s, DATA(""));
	snprintf(target.host, sizeof(target.host), "deb.example.org");
	request.run = s.run;
	gate_decide(s.gate, s.thread, &request, &verdict);
	allowed(NULL);
	gate_verdict_release(&verdict);
	snprintf(target.host, sizeof(target.host), "%s.example.org", REAL_TWO);
	gate_decide(s.gate, s.thread, &request, &verdict);
	refused(403, "credential/raw-secret");
	assert_null(strstr(verdict.record, REAL_TWO));
	gate_verdict_release(&verdict);
	end(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_placeholder),
		cmocka_unit_test(test_basic),
		cmocka_unit_test(test_own_token_left_alone),
		cmocka_unit_test(test_misplaced),
		cmocka_unit_test(test_raw_secret),
		cmocka_unit_test(test_run_token_outside),
		cmocka_unit_test(test_run_tokens),
		cmocka_unit_test(test_no_run),
		cmocka_unit_test(test_foreign_run),
		cmocka_unit_test(test_close),
		cmocka_unit_test(test_closer),
		cmocka_unit_test(test_open_needs_ledger),
		cmocka_unit_test(test_many_closed_runs),
		cmocka_unit_test(test_peers),
		cmocka_unit_test(test_request_budget),
		cmocka_unit_test(test_refused_uses_nothing),
		cmocka_unit_test(test_binding_budget),
		cmocka_unit_test(test_bytes_budget),
		cmocka_unit_test(test_children_narrow),
		cmocka_unit_test(test_obligations),
		cmocka_unit_test(test_ask),
		cmocka_unit_test(test_grant),
		cmocka_unit_test(test_grant_misplaced),
		cmocka_unit_test(test_grant_query),
		cmocka_unit_test(test_grant_other_run_and_peer),
		cmocka_unit_test(test_grant_revoke_and_expiry),
		cmocka_unit_test(test_grant_git),
		cmocka_unit_test(test_grant_refused),
		cmocka_unit_test(test_twenty_redeem_one),
		cmocka_unit_test(test_rotate_and_revoke),
		cmocka_unit_test(test_reload),
		cmocka_unit_test(test_action),
		cmocka_unit_test(test_engine),
		cmocka_unit_test(test_refuse_malformed),
		cmocka_unit_test(test_connect),
	};

	if (sodium_init() == -1)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
