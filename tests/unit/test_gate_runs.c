/* Runs at the gate: whose they are, how they end, and what they may use. */
#include "gate_scene.h"

/* --- runs ------------------------------------------------------------ */

static void
test_run_tokens(void **state)
{
	struct scene s;
	struct run *found;
	struct credential *credential;
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
	found = gate_run_by_credential(s.gate, slice_of(s.hub), &credential);
	assert_ptr_equal(found, s.run);
	assert_non_null(credential);
	credential_release(credential);
	run_unref(found);
	assert_null(gate_run_by_credential(s.gate, slice_of(s.token), &credential));
	assert_null(credential);
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

/* What the caller looked up already is judged as what the gate finds. */
static void
test_presented(void **state)
{
	struct scene s;
	struct run *other;
	char token[GATE_TOKEN_MAX], twice[512];
	struct rules *rules;

	begin(&s, DATA(""));
	other = open_run(&s, &plain_run, token);
	rules = gate_rules(s.gate);
	snprintf(twice, sizeof(twice), "%s%s", bearer(s.hub), bearer(s.hub));
	for (unsigned i = 0; i < 12; i++) {
		const char *text = i % 3 == 1 ? s.git : s.hub;
		bool repeated = i % 3 == 2, foreign = i >= 6;
		char rule[sizeof(verdict.rule)];

		beside.only = bindings_by_id(rules_bindings(rules), SLICE("hub"));
		beside.rules = i % 2 == 0 ? rules : NULL;
		ask_with(&s, s.thread, foreign ? other : s.run, NULL, "GET",
		    "https://api.example.com/", repeated ? twice : bearer(text),
		    &verdict);
		snprintf(rule, sizeof(rule), "%s", verdict.rule);
		gate_verdict_release(&verdict);
		run_unref(gate_run_by_credential(s.gate, slice_of(text),
		    &beside.credential));
		beside.copies = repeated ? 2 : 1;
		ask_with(&s, s.thread, foreign ? other : s.run, NULL, "GET",
		    "https://api.example.com/", repeated ? twice : bearer(text),
		    &verdict);
		assert_string_equal(verdict.rule, rule);
		assert_ptr_equal(verdict.rules, rules);
		assert_int_equal(verdict.allow, i % 3 == 0 && !foreign);
		gate_verdict_release(&verdict);
		credential_release(beside.credential);
		beside.credential = NULL;
	}
	beside.only = NULL;
	beside.rules = NULL;
	rules_unref(rules);
	run_unref(other);
	end(&s);
}

static void
test_close(void **state)
{
	struct scene s;
	struct credential *credential;
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
	assert_null(gate_run_by_credential(s.gate, slice_of(s.hub), &credential));
	assert_non_null(credential);	/* a closed run is still named */
	credential_release(credential);
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
	struct process me;

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
	assert_true(process_look(getpid(), &me));
	assert_true(process_within(me.pid, me.pid, me.start_time));
	assert_false(process_within(me.pid, me.pid, me.start_time + 1));	/* its number, used again */
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
	fake_decide = deny_all;	/* what is refused does not count */
	for (int i = 0; i < 3; i++) {
		ask(&s, "GET", url, "");
		refused(403, "fake/deny");
	}
	fake_decide = NULL;
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
	fake_decide = deny_all;	/* used nothing, neither here nor above */
	ask(&s, "GET", "https://api.example.com/", "");
	refused(403, "fake/deny");
	fake_decide = NULL;
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_run_tokens),
		cmocka_unit_test(test_no_run),
		cmocka_unit_test(test_foreign_run),
		cmocka_unit_test(test_presented),
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
	};

	if (sodium_init() == -1)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
