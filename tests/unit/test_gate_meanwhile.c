/* What changes while the gate waits: for its policy, or for the vault's store. */
#include "gate_scene.h"

#include <time.h>

static struct scene s;

static void
close_run(void)
{
	struct gate_run_summary summary;
	struct gate_problem unused;

	fake_decide = NULL;
	fake_vault_asked = NULL;
	assert_int_equal(gate_run_close(s.gate, &fake_port, s.run, &closer,
	    &summary, &unused), 0);
}

/* What version 0 asks for is not cached any more; nothing is withheld by it. */
static void
forget_one(void)
{
	assert_int_equal(vault_withhold(s.vault, "one", 99, NULL), VAULT_OK);
}

static void
closes(const struct policy_input *input, struct policy_decision *out)
{
	close_run();
}

static bool
secret_is(const char *text)
{
	return verdict.secret != NULL && secret_equal(verdict.secret, text, strlen(text));
}

/* A server's store that was emptied and filled again counts from 1, too: what is behind a
 * number is another secret, recognised as such, and no login that tokens are got with. */
static void
test_other_bytes_of_the_same_version(void **state)
{
	static const char other[] = "another-secret-under-the-same-number",
	    source[] = "mint:{\"v\":1,\"flow\":\"client_credentials\"}";

	begin(&s, DATA(""));
	ask(&s, "GET", "https://api.example.com/", bearer(s.hub));
	allowed("hub");
	assert_true(secret_is(REAL_ONE));
	memcpy(fake_entries[0].bytes, other, fake_entries[0].len = strlen(other));
	forget_one();
	ask(&s, "GET", "https://api.example.com/", bearer(s.hub));
	allowed("hub");
	assert_true(secret_is(other));
	ask(&s, "GET", "https://open.example.com/?x=another-secret-under-the-same-number", "");
	refused(403, "credential/raw-secret");
	memcpy(fake_entries[0].bytes, source, fake_entries[0].len = strlen(source));
	forget_one();
	ask(&s, "GET", "https://api.example.com/", bearer(s.hub));
	refused(503, "secret/no-token");
	gate_verdict_release(&verdict);
	end(&s);
}

/* Behind a teardown nothing is allowed, or evidence that looks whole would lack it. */
static void
test_closed_while_asked_for_an_action(void **state)
{
	static struct gate_answer answer;
	struct gate_action action = { .kind = { "tool", 4 }, .name = { "Bash", 4 },
	    .peer = { -1, -1, 0 }, .port = -1 };

	begin(&s, DATA(""));
	gate_decide_action(s.gate, s.thread, s.run, &action, &answer);
	assert_int_equal(answer.verdict, POLICY_ALLOW);
	gate_verdict_release(&answer.record);
	fake_decide = closes;
	gate_decide_action(s.gate, s.thread, s.run, &action, &answer);
	assert_int_equal(answer.verdict, POLICY_DENY);
	assert_string_equal(answer.policy.rule, "run/closed");
	assert_string_equal(answer.record.record_type, "refusal");
	gate_verdict_release(&answer.record);
	end(&s);
}

static void
test_closed_while_asked_for_a_grant(void **state)
{
	begin(&s, DATA(""));
	fake_decide = closes;
	assert_int_equal(issue(&s, "http:GET", "https://api.example.com/a", 1, 0), -1);
	assert_string_equal(why.rule, "run/closed");
	assert_int_equal(fake_count("grant", run_id(s.run)), 0);
	assert_non_null(fake_last("refusal"));
	end(&s);
}

static void
test_closed_while_a_request_is_judged(void **state)
{
	begin(&s, DATA(""));
	fake_decide = closes;
	ask(&s, "GET", "https://api.example.com/", bearer(s.hub));
	refused(403, "run/closed");
	gate_verdict_release(&verdict);
	end(&s);
}

/* --- other requests, while one is judged ------------------------------- */

struct other {
	struct run *run;
	const char *url;
	char lines[256];
	unsigned times;
	struct gate_verdict verdict;	/* of the last */
};

static struct other other;

static void *
ask_meanwhile(void *arg)
{
	struct gate_thread *thread = gate_thread_new(s.gate);

	for (unsigned i = 0; i < other.times; i++) {
		gate_verdict_release(&other.verdict);
		ask_with(&s, thread, other.run, NULL, "GET", other.url, other.lines,
		    &other.verdict);
	}
	gate_thread_free(thread);
	return NULL;
}

static void
others_ask(const struct policy_input *input, struct policy_decision *out)
{
	pthread_t thread;

	fake_decide = NULL;
	assert_int_equal(pthread_create(&thread, NULL, ask_meanwhile, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void
others_ask_and_deny(const struct policy_input *input, struct policy_decision *out)
{
	others_ask(input, out);
	deny_all(input, out);
}

/* Both found the grant unspent; one use is for one of them. */
static void
test_a_grant_is_spent_meanwhile(void **state)
{
	begin(&s, DATA(""));
	assert_int_equal(issue(&s, "http:GET", "https://api.example.com/", 1, -1), 0);
	other = (struct other){ .run = s.run, .url = "https://api.example.com/", .times = 1 };
	snprintf(other.lines, sizeof(other.lines), "%s", bearer(grant_token));
	fake_decide = others_ask;
	ask(&s, "GET", "https://api.example.com/", other.lines);
	refused(403, "grant/replayed");
	assert_true(other.verdict.allow);
	gate_verdict_release(&other.verdict);
	gate_verdict_release(&verdict);
	end(&s);
}

static void
placeholder_of_map(void *arg, const struct binding *binding, const char *text)
{
	if (strcmp(binding->id, "map") == 0)
		snprintf(arg, 128, "%s", text);
}

/* What the run above has no room for, while its own request is on its way, does not
 * count in the run below either. */
static void
test_a_budget_above_is_full_meanwhile(void **state)
{
	struct gate_run_options options = plain_run;
	char token[GATE_TOKEN_MAX], map[128], own[256], below[256];
	struct rules *rules;

	begin(&s, DATA(""));
	options.limits.requests = 2;
	run_unref(s.run);
	s.run = open_run(&s, &options, token);
	options.parent = run_id(s.run);
	other = (struct other){ .run = open_run(&s, &options, token), .url = below, .times = 2 };
	rules = gate_rules(s.gate);
	gate_run_placeholders(s.run, rules, placeholder_of_map, map);
	snprintf(own, sizeof(own), "https://maps.example.com/?key=%s", map);
	gate_run_placeholders(other.run, rules, placeholder_of_map, map);
	snprintf(below, sizeof(below), "https://maps.example.com/?key=%s", map);
	rules_unref(rules);

	ask(&s, "GET", own, "");
	allowed("map");
	fake_decide = others_ask_and_deny;
	ask(&s, "GET", own, "");
	refused(403, "fake/deny");
	assert_string_equal(other.verdict.rule, "budget/requests");
	other.times = 1;
	ask_meanwhile(NULL);	/* what was denied above is there again */
	assert_true(other.verdict.allow);
	gate_verdict_release(&other.verdict);
	gate_verdict_release(&verdict);
	run_unref(other.run);
	end(&s);
}

static void
test_a_bindings_budget_above_is_full_meanwhile(void **state)
{
	struct gate_run_options options = plain_run;
	char token[GATE_TOKEN_MAX], map[128], own[256], below[256];
	struct rules *rules;

	begin(&s, DATA(""));
	options.parent = run_id(s.run);
	other = (struct other){ .run = open_run(&s, &options, token), .url = below, .times = 2 };
	rules = gate_rules(s.gate);
	gate_run_placeholders(other.run, rules, placeholder_of_map, map);
	rules_unref(rules);
	snprintf(own, sizeof(own), "https://maps.example.com/?key=%s", s.map);
	snprintf(below, sizeof(below), "https://maps.example.com/?key=%s", map);

	ask(&s, "GET", own, "");
	allowed("map");
	fake_decide = others_ask_and_deny;
	ask(&s, "GET", own, "");
	refused(403, "fake/deny");
	assert_string_equal(other.verdict.rule, "budget/binding-requests");
	other.times = 1;
	ask_meanwhile(NULL);
	assert_true(other.verdict.allow);
	gate_verdict_release(&other.verdict);
	gate_verdict_release(&verdict);
	run_unref(other.run);
	end(&s);
}

/* A run below another is never opened behind that one's teardown. */
static void
test_closed_while_one_below_is_made(void **state)
{
	struct gate_run_options below = plain_run;
	char token[GATE_TOKEN_MAX];
	uint32_t version;
	size_t runs = 0;

	begin(&s, DATA(""));
	assert_int_equal(gate_secret_put(s.gate, &fake_port, "two", "another-made-up-one", 19,
	    true, &version, &why), 0);
	fake_vault_asked = close_run;
	forget_one();
	below.parent = run_id(s.run);
	assert_null(gate_run_open(s.gate, &fake_port, &below, token, &why));
	assert_null(fake_vault_asked);
	assert_string_equal(why.rule, "run/bad-parent");
	for (size_t i = 0; i < fake_n_records; i++)
		runs += strcmp(fake_records[i].type, "run") == 0;
	assert_int_equal(runs, 2);	/* the one above: opened and closed */
	end(&s);
}

static void *
revoke_one(void *arg)
{
	struct gate_problem unused;

	gate_secret_revoke(s.gate, &fake_port, "one", 0, &unused);
	return NULL;
}

static pthread_t revoker;

/* The store takes long over a put; what is revoked meanwhile is cut at once. */
static void
revoke_meanwhile(void)
{
	const struct timespec pause = { 0, 1000000 };

	fake_vault_asked = NULL;
	assert_int_equal(pthread_create(&revoker, NULL, revoke_one, NULL), 0);
	for (int ms = 0; ms < 60000 && __atomic_load_n(&cuts, __ATOMIC_ACQUIRE) == 0; ms++)
		nanosleep(&pause, NULL);
	assert_int_equal(cuts, 1);
}

static void
test_revoked_while_another_is_stored(void **state)
{
	uint32_t version;

	begin(&s, DATA(""));
	cuts = 0;
	gate_on_revoke(s.gate, count_cut, NULL);
	fake_vault_asked = revoke_meanwhile;
	assert_int_equal(gate_secret_put(s.gate, &fake_port, "three", "a-third-made-up-one", 19,
	    false, &version, &why), 0);
	assert_int_equal(pthread_join(revoker, NULL), 0);
	assert_non_null(fake_last("secret"));
	assert_non_null(strstr(fake_last("secret"), "revoked"));
	end(&s);
}

static unsigned asked;

static void
count_asked(void)
{
	asked++;
}

static bool
decide_now(bool now, const char *lines)
{
	gate_verdict_release(&verdict);
	ask_now = now;
	ask(&s, "GET", "https://api.example.com/", lines);
	ask_now = false;
	return decided;
}

/* A thread that must not wait is told so, and nothing has happened. */
static void
test_a_store_that_takes_long(void **state)
{
	struct gate_run_info info;
	size_t records;

	fake_vault_waits = true;
	begin(&s, DATA(""));
	fake_vault_waits = false;
	assert_true(gate_may_wait(s.gate));
	assert_true(decide_now(true, bearer(s.hub)));	/* cached since the run was opened */
	allowed("hub");
	forget_one();
	fake_vault_asked = count_asked;
	records = fake_n_records;
	asked = 0;
	assert_false(decide_now(true, bearer(s.hub)));
	assert_int_equal(asked, 0);
	assert_null(verdict.rules);
	run_info(s.run, &info);
	assert_int_equal(info.used.requests, 1);
	assert_int_equal(info.allowed, 1);
	assert_int_equal(info.refused, 0);
	assert_true(decide_now(true, ""));	/* one without a secret asks for none */
	allowed(NULL);
	assert_true(decide_now(false, bearer(s.hub)));
	allowed("hub");
	assert_int_equal(asked, 1);
	assert_true(decide_now(true, bearer(s.hub)));
	assert_int_equal(fake_n_records, records);
	gate_verdict_release(&verdict);
	end(&s);
}

/* Who waited behind one that was told nothing does not wait as long again. */
static void
test_a_store_that_is_down(void **state)
{
	const struct timespec pause = { 0, 50000000 };

	fake_vault_waits = true;
	begin(&s, DATA(""));
	fake_vault_waits = false;
	forget_one();
	fake_vault_down = true;
	fake_vault_asked = count_asked;
	for (asked = 0; asked < 2;)	/* a second, and the next is asked */
		if (decide_now(false, bearer(s.hub)) && !verdict.allow) {
			refused(503, "vault/unavailable");
			nanosleep(&pause, NULL);
		}
	fake_vault_down = false;
	while (decide_now(false, bearer(s.hub)) && !verdict.allow)
		nanosleep(&pause, NULL);
	allowed("hub");
	assert_int_equal(asked, 3);
	gate_verdict_release(&verdict);
	end(&s);
}

/* --- secrets that are too short ---------------------------------------- */

static unsigned lacks;
static char lack_why[128];

static void
keep_lack(void *arg, const struct binding *binding, const char *reason,
    const char *remedy)
{
	assert_string_equal(binding->id, "tiny");
	snprintf(lack_why, sizeof(lack_why), "%s: %s", remedy, reason);
	lacks++;
}

/* A run that is opened for the binding "tiny": why it has no placeholder. */
static const char *
open_without_tiny(void)
{
	struct rules *rules = gate_rules(s.gate);
	char token[GATE_TOKEN_MAX];
	struct run *run = open_run(&s, &plain_run, token);

	lacks = 0;
	gate_run_lacks(run, rules, keep_lack, NULL);
	assert_int_equal(lacks, 1);
	run_unref(run);
	rules_unref(rules);
	return lack_why;
}

/* Others may store one in a server that is shared.  That it is of no use is known
 * until it is another version: the vault is not asked for all of its secrets again
 * by each run and each request. */
static void
test_a_short_secret_is_known_to_be(void **state)
{
	uint32_t version;
	unsigned lists;

	begin(&s, DATA_AND("\"tiny\":{\"secret\":\"tiny\",\"hosts\":[\"tiny.example.com\"],"
	    "\"placement\":{\"kind\":\"header\",\"name\":\"Authorization\",\"template\":\"{}\"}},", ""));
	assert_non_null(strstr(open_without_tiny(), "put: its secret is not in the vault"));
	assert_int_equal(vault_put(s.vault, "tiny", "shr", 3, false, &version, NULL), VAULT_OK);
	assert_non_null(strstr(open_without_tiny(), "rotate: its secret is too short"));
	lists = fake_vault_lists;
	assert_non_null(strstr(open_without_tiny(), "too short"));
	assert_int_equal(issue(&s, "http:GET", "https://tiny.example.com/a", 1, 60), 0);
	for (int i = 0; i < 3; i++) {
		char line[128];

		snprintf(line, sizeof(line), "Authorization: %s\r\n", grant_token);
		ask(&s, "GET", "https://tiny.example.com/a", line);
		refused(503, "vault/unavailable");
		assert_non_null(strstr(verdict.reason, "too short"));
	}
	assert_int_equal(fake_vault_lists, lists);
	assert_int_equal(vault_put(s.vault, "tiny", "long-enough-now", 15, true, &version, NULL), VAULT_OK);
	ask(&s, "GET", "https://tiny.example.com/a", "");
	gate_verdict_release(&verdict);
	assert_int_equal(vault_withhold(s.vault, "tiny", 0, NULL), VAULT_OK);
	assert_non_null(strstr(open_without_tiny(), "rotate: the current version of its secret is revoked"));
	end(&s);
}

/* --- rules that come into force meanwhile ------------------------------ */

/* The route's binding is of rules that were in force when the head was read. */
static void
test_reloaded_behind_the_head(void **state)
{
	static const struct {
		const char *data, *rule;	/* NULL: allowed */
	} after[] = {
		{ DATA(",\"limits\":{\"requests\":99}"), NULL },
		{ "{}", "policy/reloaded" },
		{ "{\"bindings\":{\"hub\":{\"secret\":\"one\",\"hosts\":[\"api.example.com\"],"
		  "\"placement\":{\"kind\":\"header\",\"name\":\"X-Key\",\"template\":\"{}\"}}}}", "policy/reloaded" },
		{ "{\"bindings\":{\"hub\":{\"secret\":\"two\",\"hosts\":[\"api.example.com\"],"
		  "\"placement\":{\"kind\":\"header\",\"name\":\"Authorization\",\"template\":\"Bearer {}\"}}}}", "policy/reloaded" },
	};
	char before[POLICY_DIGEST_LEN + 1], then[POLICY_DIGEST_LEN + 1];

	for (size_t i = 0; i < sizeof(after) / sizeof(*after); i++) {
		struct rules *held;

		begin(&s, DATA(""));
		held = gate_rules(s.gate);
		beside.only = bindings_by_id(rules_bindings(held), SLICE("hub"));
		beside.rules = held;
		fake_data = after[i].data;
		assert_int_equal(gate_reload(s.gate, &fake_port, before, then, &why), 0);
		ask(&s, "GET", "https://api.example.com/", bearer(s.hub));
		if (after[i].rule != NULL) {
			refused(503, after[i].rule);
		} else {
			allowed("hub");
			assert_ptr_equal(verdict.binding, bindings_by_id(
			    rules_bindings(verdict.rules), SLICE("hub")));
		}
		assert_ptr_not_equal(verdict.rules, held);
		gate_verdict_release(&verdict);
		beside.only = NULL;
		beside.rules = NULL;
		rules_unref(held);
		end(&s);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_other_bytes_of_the_same_version),
		cmocka_unit_test(test_closed_while_asked_for_an_action),
		cmocka_unit_test(test_closed_while_asked_for_a_grant),
		cmocka_unit_test(test_closed_while_a_request_is_judged),
		cmocka_unit_test(test_a_grant_is_spent_meanwhile),
		cmocka_unit_test(test_a_budget_above_is_full_meanwhile),
		cmocka_unit_test(test_a_bindings_budget_above_is_full_meanwhile),
		cmocka_unit_test(test_closed_while_one_below_is_made),
		cmocka_unit_test(test_revoked_while_another_is_stored),
		cmocka_unit_test(test_a_store_that_takes_long),
		cmocka_unit_test(test_a_store_that_is_down),
		cmocka_unit_test(test_a_short_secret_is_known_to_be),
		cmocka_unit_test(test_reloaded_behind_the_head),
	};

	if (sodium_init() == -1)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
