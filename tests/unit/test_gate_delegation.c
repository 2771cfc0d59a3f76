/* What a run was given is held to by the gate, whatever the policy says. */
#include "gate_scene.h"

#include <stdio.h>

/* The input's delegation that the policy saw last. */
static char seen[4096];

static void
allow_and_see(const struct policy_input *input, struct policy_decision *out)
{
	snprintf(seen, sizeof(seen), "%.*s", (int)input->delegation.n,
	    input->delegation.p != NULL ? input->delegation.p : "");
}

static struct run *
below(struct scene *s, struct run *parent, const char *const *scopes,
    size_t n, int64_t ttl_s)
{
	struct gate_run_options options = plain_run;
	char token[GATE_TOKEN_MAX];

	options.parent = run_id(parent);
	options.scopes = scopes;
	options.n_scopes = n;
	options.ttl_s = ttl_s;
	options.by_run = true;
	return gate_run_open(s->gate, &fake_port, &options, token, &why);
}

static void
placeholder_of(void *arg, const struct binding *binding, const char *text)
{
	snprintf(arg, 128, "%s", text);
}

static void
ask_as(struct scene *s, struct run *run, const char *method, const char *lines)
{
	gate_verdict_release(&verdict);
	ask_with(s, s->thread, run, NULL, method, "https://api.example.com/x",
	    lines, &verdict);
}

/* What is asked for HEAD may be had by who has GET, and not the other way round. */
static void
test_get_covers_head(void **state)
{
	static const char *const get[] = { "hub:GET", "tool:GET" };
	static const char *const head[] = { "hub:HEAD" };
	static const char *const more[][1] = { { "hub:GET" }, { "hub:POST" } };
	static const char *const not_get[][1] = { { "hub:HEADX" }, { "hu:HEAD" },
	    { "hub:POST:HEAD" }, { "tool:HEAD" }, { ":HEAD" } };
	struct run *child, *grand;
	struct scene s;

	begin(&s, DATA(""));
	fake_decide = allow_and_see;
	child = below(&s, s.run, get, 2, 0);
	assert_non_null(child);
	for (size_t i = 0; i < sizeof(not_get) / sizeof(*not_get); i++)
		assert_null(below(&s, child, not_get[i], 1, 0));
	grand = below(&s, child, head, 1, 0);
	assert_non_null(grand);
	for (size_t i = 0; i < sizeof(more) / sizeof(*more); i++)
		assert_null(below(&s, grand, more[i], 1, 0));
	run_unref(grand);
	run_unref(child);
	end(&s);
}

static void
test_scope_is_the_gates(void **state)
{
	static const char *const get[] = { "hub:GET" };
	struct rules *rules;
	char hub[128] = "";
	struct run *child;
	struct scene s;

	begin(&s, DATA(""));
	fake_decide = allow_and_see;
	child = below(&s, s.run, get, 1, 0);
	assert_non_null(child);
	rules = gate_rules(s.gate);
	gate_run_placeholders(child, rules, placeholder_of, hub);
	rules_unref(rules);
	ask_as(&s, child, "GET", bearer(hub));
	allowed("hub");
	assert_non_null(strstr(seen, "\"scopes\":[\"hub:GET\"]}"));
	assert_non_null(strstr(seen, "\"chain\":[{\"principal\":\"run_"));
	ask_as(&s, child, "HEAD", bearer(hub));	/* GET without its body */
	allowed("hub");
	ask_as(&s, child, "POST", bearer(hub));
	refused(403, "delegation/scope");
	assert_non_null(strstr(verdict.record, "\"by\":\"gate\""));
	ask_as(&s, child, "GET", "");	/* "http" is none of its scopes */
	refused(403, "delegation/scope");
	ask_as(&s, s.run, "GET", "");
	allowed(NULL);
	assert_string_equal(seen, "");	/* nothing narrows the run above */
	gate_verdict_release(&verdict);
	run_unref(child);
	end(&s);
}

static void
test_actions_and_grants(void **state)
{
	static const char *const some[] = { "tool:Read", "hub:POST" };
	static const char *const others[] = { "ReadAll", "Read:x", "Rea" };
	struct gate_action action = { .peer = { -1, -1, 0 }, .kind = { "tool", 4 },
	    .verb = { "use", 3 }, .name = { "Read", 4 }, .port = -1 };
	struct gate_answer answer;
	struct run *child;
	struct scene s;

	begin(&s, DATA(""));
	child = below(&s, s.run, some, 2, 0);
	assert_non_null(child);
	gate_decide_action(s.gate, s.thread, child, &action, &answer);
	assert_int_equal(answer.verdict, POLICY_ALLOW);
	gate_verdict_release(&answer.record);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		action.name = (struct policy_str){ others[i], strlen(others[i]) };
		gate_decide_action(s.gate, s.thread, child, &action, &answer);
		assert_int_equal(answer.verdict, POLICY_DENY);
		assert_true(answer.by_gate);
		assert_string_equal(answer.policy.rule, "delegation/scope");
		gate_verdict_release(&answer.record);
	}
	assert_null(below(&s, child, (const char *const[]){ "tool:Read:x" }, 1, 0));
	run_unref(s.run);
	s.run = child;
	assert_int_equal(issue(&s, "http:POST", "https://api.example.com/x", 1,
	    60), 0);
	assert_int_equal(issue(&s, "http:GET", "https://api.example.com/x", 1,
	    60), -1);
	assert_string_equal(why.rule, "delegation/scope");
	end(&s);
}

static void
test_never_wider(void **state)
{
	static const char *const get[] = { "hub:GET" }, *const hub[] = { "hub" },
	    *const all[] = { "*" }, *const odd[] = { "hub:" }, *const none[] = { "" };
	char many[DELEGATION_SCOPES_MAX][DELEGATION_SCOPE_MAX + 1];
	const char *list[DELEGATION_SCOPES_MAX];
	struct run *child, *grand;
	struct scene s;

	begin(&s, DATA(""));
	child = below(&s, s.run, hub, 1, 100);
	grand = below(&s, child, get, 1, 50);
	assert_non_null(grand);
	assert_null(below(&s, grand, hub, 1, 0));
	assert_string_equal(why.rule, "delegation/widened");
	assert_non_null(strstr(fake_recent("refusal", 0), "\"kind\":\"run\""));
	assert_null(below(&s, child, all, 1, 0));
	assert_string_equal(why.rule, "delegation/widened");
	assert_null(below(&s, grand, get, 1, 51));
	assert_string_equal(why.rule, "delegation/too-long");
	assert_null(below(&s, s.run, odd, 1, 0));
	assert_string_equal(why.rule, "delegation/bad-scope");
	assert_null(below(&s, s.run, none, 1, 0));
	assert_string_equal(why.rule, "delegation/bad-scope");
	for (size_t i = 0; i < DELEGATION_SCOPES_MAX; i++) {
		snprintf(many[i], sizeof(many[i]), "hub:GET:%0*zu", 100, i);
		list[i] = many[i];
	}
	run_unref(grand);
	grand = below(&s, child, list, DELEGATION_SCOPES_MAX, 0);
	assert_non_null(grand);
	assert_null(below(&s, grand, list, DELEGATION_SCOPES_MAX, 0));
	assert_string_equal(why.rule, "delegation/bad-scope");	/* too long together */
	run_unref(grand);
	run_unref(child);
	end(&s);
}

static void
test_binding_limit_is_shared(void **state)
{
	struct run *child;
	struct scene s;
	char url[256], placeholder[128] = "";
	struct rules *rules;
	static const char *const map[] = { "map" };

	begin(&s, DATA(""));
	child = below(&s, s.run, map, 1, 0);
	assert_non_null(child);
	rules = gate_rules(s.gate);
	gate_run_placeholders(child, rules, placeholder_of, placeholder);
	rules_unref(rules);
	snprintf(url, sizeof(url), "https://maps.example.com/?key=%s", s.map);
	ask(&s, "GET", url, "");
	allowed("map");
	snprintf(url, sizeof(url), "https://maps.example.com/?key=%s",
	    placeholder);
	gate_verdict_release(&verdict);
	ask_with(&s, s.thread, child, NULL, "GET", url, "", &verdict);
	allowed("map");
	gate_verdict_release(&verdict);
	ask_with(&s, s.thread, child, NULL, "GET", url, "", &verdict);
	refused(429, "budget/binding-requests");
	snprintf(url, sizeof(url), "https://maps.example.com/?key=%s", s.map);
	ask(&s, "GET", url, "");
	refused(429, "budget/binding-requests");
	gate_verdict_release(&verdict);
	run_unref(child);
	end(&s);
}

/* A process of the run below is none of the run above, also after it was one. */
static void
test_own_token_only(void **state)
{
	struct gate_run_options options = plain_run;
	struct peer self = { getuid(), getpid(), 0 };
	char token[GATE_TOKEN_MAX];
	struct gate_run_summary summary;
	struct run *parent, *child, *without;
	struct scene s;

	begin(&s, DATA(""));
	options.pid = getppid();
	parent = open_run(&s, &options, token);
	assert_true(gate_run_admits(parent, &self));
	options.parent = run_id(parent);
	options.pid = -1;
	options.by_run = true;
	options.principal = NULL;
	without = open_run(&s, &options, token);
	assert_true(gate_run_admits(without, &self));
	assert_false(gate_run_admits(without, &(struct peer){ 0, 1, 0 }));
	options.pid = 1;
	assert_null(gate_run_open(s.gate, &fake_port, &options, token, &why));
	assert_string_equal(why.rule, "run/foreign-process");
	options.pid = getpid();
	options.parent = run_id(without);
	child = open_run(&s, &options, token);
	assert_true(gate_run_admits(child, &self));
	assert_false(gate_run_admits(parent, &self));
	assert_false(gate_run_admits(without, &self));
	assert_int_equal(gate_run_close(s.gate, &fake_port, child, &closer,
	    &summary, &why), 0);
	assert_true(gate_run_admits(parent, &self));
	run_unref(child);
	run_unref(without);
	run_unref(parent);
	end(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_get_covers_head),
		cmocka_unit_test(test_scope_is_the_gates),
		cmocka_unit_test(test_actions_and_grants),
		cmocka_unit_test(test_never_wider),
		cmocka_unit_test(test_binding_limit_is_shared),
		cmocka_unit_test(test_own_token_only)
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests_name("gate_delegation", tests, NULL, NULL);
}
