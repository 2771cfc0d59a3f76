/*
 * A gate over a fake policy, ledger and store, with a run and its placeholders:
 * what the tests of the gate begin with.  Include it in one source of a test
 * program, which need not use all of it.
 */
#ifndef TESTS_GATE_SCENE_H
#define TESTS_GATE_SCENE_H

#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-variable"

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

/* What the next requests say beside: see struct gate_request. */
static struct {
	const struct binding *only;
	struct rules *rules;
	struct credential *credential;
	unsigned copies;
	bool websocket;
} beside;

static _Thread_local bool ask_now;	/* the next ones come from a thread that must not wait; */
static _Thread_local bool decided;	/* and whether the last was decided */

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
	    .method = slice_of(method), .only = beside.only,
	    .rules = beside.rules, .credential = beside.credential,
	    .copies = beside.copies,
	    .websocket = beside.websocket, .now = ask_now };
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
	decided = gate_decide(scene->gate, thread, &request, out);
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

/* --- policies -------------------------------------------------------- */

static void
deny_all(const struct policy_input *input, struct policy_decision *out)
{
	out->verdict = POLICY_DENY;
	snprintf(out->rule, sizeof(out->rule), "fake/deny");
	snprintf(out->reason, sizeof(out->reason), "the test says no");
}

/* A person is to be asked. */
static void
ask_all(const struct policy_input *input, struct policy_decision *out)
{
	out->verdict = POLICY_ASK;
	snprintf(out->reason, sizeof(out->reason), "a person decides this");
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

/* --- what was cut ---------------------------------------------------- */

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

#endif
