/* What the policy leaves to a person: asked, answered, used. */
#include "gate_scene.h"
#include "gate/words.h"

#define ISSUES "https://api.example.com/repos/o/r/issues"

static struct gate_approval_info last;
static char last_id[GATE_ID_MAX], last_state[16], last_text[512];
static unsigned listed;

static void
keep(void *arg, const struct gate_approval_info *info)
{
	listed++;
	last = *info;
	snprintf(last_id, sizeof(last_id), "%s", info->id);
	snprintf(last_state, sizeof(last_state), "%s", info->state);
	snprintf(last_text, sizeof(last_text), "%s %s %s %s: %s", info->action,
	    info->target, info->secret, info->binding, info->reason);
}

static unsigned
list(struct scene *s)
{
	listed = 0;
	gate_approvals_each(s->gate, keep, NULL);
	return listed;
}

static int
answer(struct scene *s, const char *id, bool approve, bool for_run)
{
	const struct gate_approval_answer said = { .approve = approve,
	    .for_run = for_run, .peer = { 1000, 77, 1 } };

	return gate_approval_answer(s->gate, &fake_port, slice_of(id), &said,
	    keep, NULL, &why);
}

static void
held(char id[GATE_ID_MAX])
{
	assert_true(verdict.held);
	assert_false(verdict.allow);
	assert_null(verdict.secret);
	assert_null(verdict.rules);
	assert_int_equal(verdict.record_len, 0);
	assert_memory_equal(verdict.question, "q_", 2);
	memcpy(id, verdict.question, GATE_ID_MAX);
}

static void
post(struct scene *s, const char *url)
{
	ask(s, "POST", url, bearer(s->hub));
}

static void
start(struct scene *s)
{
	begin(s, DATA(""));
	fake_decide = ask_all;
}

static void
stop(struct scene *s)
{
	gate_verdict_release(&verdict);
	end(s);
}

/* The hex of the leaf that the fake ledger gave its last record. */
static const char *
last_leaf(void)
{
	static char hex[2 * LEDGER_LEAF_LEN + 1];

	for (unsigned i = 0; i < LEDGER_LEAF_LEN; i++)
		snprintf(hex + 2 * i, 3, "%02x", (unsigned)(fake_n_records & 0xff));
	return hex;
}

static void
test_once(void **state)
{
	char id[GATE_ID_MAX], again[GATE_ID_MAX], other[GATE_ID_MAX];
	struct gate_run_info info;
	size_t records;
	struct scene s;

	start(&s);
	records = fake_n_records;
	post(&s, ISSUES "?a=1");
	held(id);
	post(&s, ISSUES "?a=1");
	held(again);
	assert_string_equal(again, id);
	post(&s, ISSUES "?a=2");
	held(other);
	assert_string_not_equal(other, id);
	run_info(s.run, &info);
	assert_int_equal(info.used.requests, 0);
	assert_int_equal(info.refused, 0);
	assert_int_equal(fake_n_records, records);
	assert_int_equal(list(&s), 2);

	assert_int_equal(answer(&s, id, true, false), 0);
	assert_string_equal(last_state, "approved");
	assert_string_equal(last_text, "http:POST " ISSUES "?a=1 one hub: a person decides this");
	assert_int_equal(fake_n_records, records + 1);
	assert_non_null(strstr(fake_last("decision"), "\"by\":\"person\""));
	assert_non_null(strstr(fake_last("decision"), "\"uid\":1000"));
	assert_memory_equal(fake_last("decision"), "{\"decision\":\"allow\"", 19);
	assert_int_equal(answer(&s, id, false, false), -1);
	assert_string_equal(why.rule, "approval/answered");

	post(&s, ISSUES "?a=1");
	allowed("hub");
	assert_non_null(strstr(verdict.record, last_leaf()));
	assert_non_null(strstr(verdict.record, "\"by\":\"person\""));
	post(&s, ISSUES "?a=1");
	held(again);
	assert_string_not_equal(again, id);
	assert_int_equal(answer(&s, id, true, false), -1);
	assert_int_equal(why.status, 404);
	stop(&s);
}

static void
test_for_run(void **state)
{
	char id[GATE_ID_MAX], token[GATE_TOKEN_MAX], foreign[GATE_ID_MAX];
	struct gate_run_summary summary;
	struct run *mine;
	struct scene s;

	start(&s);
	post(&s, ISSUES);
	held(id);
	assert_int_equal(answer(&s, id, true, true), 0);
	assert_int_equal(last.expires_s, -1);
	for (int i = 0; i < 3; i++) {
		post(&s, ISSUES);
		allowed("hub");
	}
	ask(&s, "PUT", ISSUES, bearer(s.hub));
	assert_true(verdict.held);

	/* Of another run it says nothing. */
	mine = s.run;
	s.run = open_run(&s, &plain_run, token);
	ask(&s, "POST", ISSUES, "");
	held(foreign);
	run_unref(s.run);
	s.run = mine;
	assert_int_equal(gate_run_close(s.gate, &fake_port, s.run, &closer,
	    &summary, &why), 0);
	assert_int_equal(list(&s), 1);
	assert_string_equal(last_id, foreign);
	assert_int_equal(answer(&s, id, true, false), -1);
	assert_string_equal(why.rule, "approval/unknown");
	stop(&s);
}

static void
test_denied(void **state)
{
	char id[GATE_ID_MAX];
	struct scene s;

	start(&s);
	post(&s, ISSUES);
	held(id);
	assert_int_equal(answer(&s, id, false, true), 0);
	assert_string_equal(last_state, "denied");
	assert_false(last.for_run);
	assert_non_null(strstr(fake_last("refusal"), "ask/denied"));
	for (int i = 0; i < 2; i++) {
		post(&s, ISSUES);
		refused(403, "ask/denied");
		assert_non_null(strstr(verdict.record, "\"by\":\"person\""));
	}
	stop(&s);
}

static void
test_ledger_fails(void **state)
{
	char id[GATE_ID_MAX];
	struct scene s;

	start(&s);
	post(&s, ISSUES);
	held(id);
	fake_status = LEDGER_FAILED;
	assert_int_equal(answer(&s, id, true, false), -1);
	assert_int_equal(why.status, 503);
	fake_status = LEDGER_DURABLE;
	post(&s, ISSUES);
	assert_true(verdict.held);
	assert_int_equal(answer(&s, id, true, false), 0);
	post(&s, ISSUES);
	allowed("hub");
	stop(&s);
}

static void
test_too_many(void **state)
{
	char url[128], id[GATE_ID_MAX];
	struct scene s;

	start(&s);
	for (int i = 0; i < 16; i++) {
		snprintf(url, sizeof(url), ISSUES "/%d", i);
		post(&s, url);
		held(id);
	}
	post(&s, ISSUES "/16");
	refused(429, "ask/too-many");
	for (int i = 0; i < 16; i++)
		gate_approval_held(s.gate, id, 1);
	post(&s, url);
	refused(429, "ask/too-many");
	gate_approval_held(s.gate, id, -1);
	post(&s, url);
	assert_true(verdict.held);
	stop(&s);
}

/* Obligations and limits hold under a consent, too. */
static void
ask_small(const struct policy_input *input, struct policy_decision *out)
{
	out->verdict = POLICY_ASK;
	out->max_bytes = 10;
	out->cost = 7;
	snprintf(out->reason, sizeof(out->reason), "a person decides this");
}

static void
test_obligations(void **state)
{
	struct gate_run_options options = plain_run;
	char id[GATE_ID_MAX];
	struct gate_run_info info;
	struct scene s;

	begin(&s, DATA(""));
	options.limits.cost = 10;
	run_unref(s.run);
	s.run = open_run(&s, &options, s.token);
	fake_decide = ask_small;
	ask(&s, "POST", ISSUES, "Content-Length: 11\r\n");
	refused(413, "policy/max-bytes");
	assert_non_null(strstr(verdict.record, "\"by\":\"gate\""));
	ask(&s, "POST", ISSUES, "Content-Length: 10\r\n");
	held(id);
	run_info(s.run, &info);
	assert_int_equal(info.used.cost, 0);
	assert_int_equal(answer(&s, id, true, true), 0);
	ask(&s, "POST", ISSUES, "Content-Length: 10\r\n");
	allowed(NULL);
	assert_int_equal(verdict.max_bytes, 10);
	ask(&s, "POST", ISSUES, "Content-Length: 10\r\n");
	refused(429, "budget/cost");
	stop(&s);
}

static void
test_grant(void **state)
{
	struct scene s;

	start(&s);
	assert_int_equal(issue(&s, "http:POST", ISSUES, -1, -1), -1);
	assert_string_equal(why.rule, "ask/waiting");
	assert_int_equal(list(&s), 1);
	assert_non_null(strstr(why.remedy, last_id));
	assert_non_null(strstr(fake_last("refusal"), "\"decision\":\"ask\""));
	assert_memory_equal(last_text, "grant http:POST, 1 use within ", 30);
	assert_int_equal(answer(&s, last_id, true, false), 0);
	assert_non_null(strstr(fake_last("decision"), "\"action\":\"grant http:POST, 1 use within "));
	/* Not for more than was shown. */
	assert_int_equal(issue(&s, "http:POST", ISSUES, 1000, -1), -1);
	assert_string_equal(why.rule, "ask/waiting");
	assert_int_equal(issue(&s, "http:POST", ISSUES, -1, 7), -1);
	assert_string_equal(why.rule, "ask/waiting");
	assert_int_equal(list(&s), 3);
	assert_int_equal(issue(&s, "http:POST", ISSUES, -1, -1), 0);
	assert_non_null(strstr(fake_last("grant"), "\"by\":\"person\""));
	/* Who agreed to the grant is not asked again. */
	ask(&s, "POST", ISSUES, bearer(grant_token));
	allowed("hub");
	assert_string_equal(verdict.grant, grant.id);
	assert_int_equal(issue(&s, "http:POST", ISSUES, -1, -1), -1);
	assert_int_equal(list(&s), 3);
	assert_int_equal(answer(&s, last_id, false, false), 0);
	assert_int_equal(issue(&s, "http:POST", ISSUES, -1, -1), -1);
	assert_string_equal(why.rule, "ask/denied");
	stop(&s);
}

/* Of many requests a person is asked once: about what is granted. */
static void
test_grant_git(void **state)
{
	struct scene s;

	start(&s);
	assert_int_equal(issue(&s, "git:push", "https://api.example.com/o/r", -1, -1), -1);
	assert_string_equal(why.rule, "ask/waiting");
	assert_int_equal(list(&s), 1);
	assert_memory_equal(last_text, "grant git:push, 1 use within ", 29);
	assert_non_null(strstr(last_text, " s https://api.example.com/o/r "));
	assert_int_equal(answer(&s, last_id, true, false), 0);
	assert_int_equal(issue(&s, "git:push", "https://api.example.com/o/r", -1, -1), 0);
	assert_int_equal(list(&s), 0);
	stop(&s);
}

/* A GET ends; who agreed to one agreed to no open channel. */
static void
test_websocket(void **state)
{
	char id[GATE_ID_MAX], other[GATE_ID_MAX];
	struct scene s;

	start(&s);
	ask(&s, "GET", ISSUES, bearer(s.hub));
	held(id);
	assert_int_equal(answer(&s, id, true, true), 0);
	beside.websocket = true;
	ask(&s, "GET", ISSUES, bearer(s.hub));
	beside.websocket = false;
	held(other);
	list(&s);
	assert_memory_equal(last_text, "websocket https:", 16);
	ask(&s, "GET", ISSUES, bearer(s.hub));
	allowed("hub");
	stop(&s);
}

/* What is agreed to for the run leaves room for questions. */
static void
test_room(void **state)
{
	char url[128], id[GATE_ID_MAX];
	struct scene s;

	start(&s);
	for (int i = 0; i < 40; i++) {
		snprintf(url, sizeof(url), ISSUES "/%d", i);
		post(&s, url);
		held(id);
		assert_true(gate_approval_held(s.gate, id, 1));
		assert_int_equal(answer(&s, id, true, true), 0);
		/* Whoever comes to wait now is told that there is nothing to wait for. */
		assert_false(gate_approval_held(s.gate, id, 1));
		gate_approval_held(s.gate, id, -2);
	}
	stop(&s);
}

/* As another run of the same gate. */
static void
post_as(struct scene *s, struct run *run, const char *url)
{
	gate_verdict_release(&verdict);
	ask_with(s, s->thread, run, NULL, "POST", url, "", &verdict);
}

/* Sixteen runs ask all that they may: every other one still has place for a question. */
static void
test_every_run_has_place(void **state)
{
	char url[128], token[GATE_TOKEN_MAX];
	struct gate_run_options below = plain_run;
	struct gate_counts counts;
	struct run *runs[18];
	struct scene s;

	start(&s);
	for (int i = 0; i < 18; i++)
		runs[i] = open_run(&s, &plain_run, token);
	for (int i = 0; i < 16 * 17; i++) {
		snprintf(url, sizeof(url), ISSUES "/%d", i % 17);
		post_as(&s, runs[i / 17], url);
		if (i % 17 < 16)
			assert_true(verdict.held);
		else
			refused(429, "ask/too-many");
	}
	assert_int_equal(list(&s), 256);
	for (int i = 16; i < 18; i++) {
		post_as(&s, runs[i], ISSUES "/1");
		assert_true(verdict.held);
		post_as(&s, runs[i], ISSUES "/2");
		refused(429, "ask/too-many");
		assert_non_null(strstr(verdict.reason, "of all runs"));
		post_as(&s, runs[i], ISSUES "/1");
		assert_true(verdict.held);
	}
	gate_counts(s.gate, &counts);
	assert_int_equal(counts.approvals_of_run, 16);
	assert_int_equal(counts.approvals_of_all, 2);
	assert_int_equal(counts.approvals_of_one, 0);
	/* A run below asks out of the share of the one above. */
	below.parent = run_id(runs[0]);
	run_unref(runs[17]);
	runs[17] = open_run(&s, &below, token);
	post_as(&s, runs[17], ISSUES "/1");
	refused(429, "ask/too-many");
	for (int i = 0; i < 18; i++)
		run_unref(runs[i]);
	stop(&s);
}

/* What was agreed to for one run takes no place from another, and has its own end. */
static void
test_kept_of_one_run(void **state)
{
	char url[128], id[GATE_ID_MAX], token[GATE_TOKEN_MAX];
	struct run *other;
	struct scene s;

	start(&s);
	for (int i = 0; i < 256; i++) {
		snprintf(url, sizeof(url), ISSUES "/%d", i);
		post(&s, url);
		held(id);
		assert_int_equal(answer(&s, id, true, true), 0);
	}
	post(&s, ISSUES "/256");
	refused(429, "ask/too-many");
	post(&s, url);
	allowed("hub");
	other = open_run(&s, &plain_run, token);
	for (int i = 0; i < 16; i++) {
		snprintf(url, sizeof(url), ISSUES "/%d", i);
		post_as(&s, other, url);
		assert_true(verdict.held);
	}
	run_unref(other);
	stop(&s);
}

/* A consent outlives a reload, but not to rules that ask for another reason. */
static void
ask_more(const struct policy_input *input, struct policy_decision *out)
{
	ask_all(input, out);
	snprintf(out->rule, sizeof(out->rule), "fake/two-persons");
}

static bool told_any;

static void
told_again(void *arg, const char *id)
{
	told_any = told_any || id == NULL;
}

static void
test_reload(void **state)
{
	char id[GATE_ID_MAX], other[GATE_ID_MAX];
	char before[POLICY_DIGEST_LEN + 1], after[POLICY_DIGEST_LEN + 1];
	struct scene s;

	start(&s);
	gate_on_answer(s.gate, told_again, NULL);
	post(&s, ISSUES);
	held(id);
	assert_int_equal(answer(&s, id, true, true), 0);
	assert_false(told_any);
	fake_data = DATA(",\"x\":1");
	assert_int_equal(gate_reload(s.gate, &fake_port, before, after, &why), 0);
	assert_string_not_equal(before, after);
	assert_true(told_any);		/* so that what waits is decided by the new ones */
	post(&s, ISSUES);
	allowed("hub");
	fake_decide = ask_more;
	post(&s, ISSUES);
	held(other);
	assert_string_not_equal(other, id);
	fake_decide = ask_all;
	post(&s, ISSUES);
	allowed("hub");
	stop(&s);
}

/* A consent for the run can be taken back; one for once cannot, it may be in use. */
static void
test_taken_back(void **state)
{
	char id[GATE_ID_MAX], once[GATE_ID_MAX];
	struct scene s;

	start(&s);
	post(&s, ISSUES);
	held(id);
	assert_int_equal(answer(&s, id, true, true), 0);
	post(&s, ISSUES);
	allowed("hub");
	assert_int_equal(answer(&s, id, true, false), -1);
	assert_string_equal(why.rule, "approval/answered");
	fake_status = LEDGER_FAILED;
	assert_int_equal(answer(&s, id, false, false), -1);
	fake_status = LEDGER_DURABLE;
	post(&s, ISSUES);
	allowed("hub");
	assert_int_equal(answer(&s, id, false, false), 0);
	assert_string_equal(last_state, "denied");
	assert_non_null(strstr(fake_last("refusal"), "took their consent back"));
	assert_non_null(strstr(fake_last("refusal"), id));
	post(&s, ISSUES);
	refused(403, "ask/denied");
	assert_int_equal(answer(&s, id, false, false), -1);
	assert_string_equal(why.rule, "approval/answered");

	post(&s, ISSUES "/2");
	held(once);
	assert_int_equal(answer(&s, once, true, false), 0);
	assert_int_equal(answer(&s, once, false, false), -1);
	assert_string_equal(why.rule, "approval/answered");
	stop(&s);
}

static char told_id[GATE_ID_MAX];

static void
told(void *arg, const char *id)
{
	snprintf(told_id, sizeof(told_id), "%s", id);
}

static void
test_told(void **state)
{
	char id[GATE_ID_MAX];
	struct gate_counts counts;
	struct scene s;

	start(&s);
	gate_on_answer(s.gate, told, NULL);
	post(&s, ISSUES);
	held(id);
	gate_counts(s.gate, &counts);
	assert_int_equal(counts.approvals_waiting, 1);
	assert_int_equal(answer(&s, id, true, false), 0);
	assert_string_equal(told_id, id);
	gate_counts(s.gate, &counts);
	assert_int_equal(counts.approvals_waiting, 0);
	stop(&s);
}

/* A refusal is a person's only where they said no: not what the gate had against a
 * request that they agreed to. */
static void
test_by_whom(void **state)
{
	static const struct policy_decision asks = { .verdict = POLICY_ASK },
	    denies = { .verdict = POLICY_DENY }, allows = { .verdict = POLICY_ALLOW };
	static const struct {
		const char *decision, *rule;
		bool person;
		const struct policy_decision *judged;
		const char *by;		/* NULL: the policy */
	} cases[] = {
		{ "allow", "bindings/ask", true, &asks, "person" },
		{ "allow", "bindings/allow", false, &allows, NULL },
		{ "deny", "ask/denied", true, &asks, "person" },
		{ "deny", "run/closed", true, &asks, "gate" },
		{ "deny", "grant/replayed", true, &asks, "gate" },
		{ "deny", "ask/too-many", false, &asks, "gate" },
		{ "deny", "egress/default", false, &denies, NULL },
		{ "deny", "budget/requests", false, NULL, "gate" },
		{ "ask", "ask/waiting", false, &asks, NULL },
	};
	char body[1024], want[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct peer nobody = { -1, -1, 0 };
		const struct words_decision what = { .decision = cases[i].decision,
		    .rule = cases[i].rule, .person = cases[i].person,
		    .judged = cases[i].judged, .kind = "http", .peer = &nobody };
		int n = words_decision(NULL, NULL, &what, body, sizeof(body) - 1);

		assert_true(n > 0);
		body[n] = '\0';
		snprintf(want, sizeof(want), "\"by\":\"%s\"",
		    cases[i].by != NULL ? cases[i].by : "");
		if (cases[i].by != NULL ? strstr(body, want) == NULL :
		    strstr(body, "\"by\"") != NULL)
			fail_msg("%s: %s", cases[i].rule, body);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_once),
		cmocka_unit_test(test_for_run),
		cmocka_unit_test(test_denied),
		cmocka_unit_test(test_ledger_fails),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_obligations),
		cmocka_unit_test(test_grant),
		cmocka_unit_test(test_grant_git),
		cmocka_unit_test(test_websocket),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_every_run_has_place),
		cmocka_unit_test(test_kept_of_one_run),
		cmocka_unit_test(test_reload),
		cmocka_unit_test(test_taken_back),
		cmocka_unit_test(test_told),
		cmocka_unit_test(test_by_whom),
	};

	return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
