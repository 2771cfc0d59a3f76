/* The gate over a fake policy, ledger and store: who may send which credential
 * where, what adapters are answered, and what is written down about it. */
#include "ledger/clock.h"
#include "gate_scene.h"

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
	/* its place twice, also where the other holds a token of the client's own */
	snprintf(line, sizeof(line), "Authorization: Bearer %s\r\n"
	    "authorization: Bearer theirs\r\n", s.hub);
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

/* No binding uses it any more, or ever did: it is a secret all the same, until it
 * is revoked. */
static void
test_raw_secret_unused(void **state)
{
	static const char newer[] = "ghp_AnotherS3cretOfTheFirstKind9876543210";
	struct scene s;
	uint32_t version;

	begin(&s, DATA(""));
	ask(&s, "GET", "https://evil.example.net/", "X: a" REAL_SHORT "z\r\n");
	refused(403, "credential/raw-secret");
	assert_int_equal(gate_secret_put(s.gate, &fake_port, "one", newer, strlen(newer),
	    true, &version, &why), 0);
	ask(&s, "GET", "https://evil.example.net/", bearer(REAL_ONE));
	refused(403, "credential/raw-secret");
	ask(&s, "GET", "https://api.example.com/", bearer(REAL_ONE));
	refused(403, "credential/raw-secret");
	ask(&s, "GET", "https://api.example.com/", bearer(newer));
	refused(403, "credential/raw-secret");
	assert_int_equal(gate_secret_revoke(s.gate, &fake_port, "one", 1, &why), 0);
	ask(&s, "GET", "https://api.example.com/", bearer(REAL_ONE));
	allowed(NULL);
	ask(&s, "GET", "https://api.example.com/", bearer(newer));
	refused(403, "credential/raw-secret");
	assert_int_equal(gate_secret_revoke(s.gate, &fake_port, "short", 0, &why), 0);
	ask(&s, "GET", "https://evil.example.net/", "X: a" REAL_SHORT "z\r\n");
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
	gate_thread_until(s.thread, clock_boot_ms() - 51);
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
	/* What cannot be read again is recognised nowhere: that is said. */
	fake_vault_down = true;
	assert_int_equal(gate_secret_put(s.gate, &fake_port, "two",
	    "key-Another0ne9876", 18, true, &version, &why), -1);
	fake_vault_down = false;
	assert_string_equal(why.rule, "secret/not-known");
	assert_int_equal(why.status, 503);
	assert_int_equal(gate_secret_put(s.gate, &fake_port, "two",
	    "key-Another0ne98765", 19, true, &version, &why), 0);
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

/* --- more than one --------------------------------------------------- */

static void
placeholder_of_key(void *arg, const struct binding *binding, const char *text)
{
	if (strcmp(binding->id, "key") == 0)
		snprintf(arg, 128, "%s", text);
}

static void
test_two_bindings_of_a_host(void **state)
{
	struct scene s;
	char lines[512], key[128] = "";
	struct rules *rules;

	begin(&s, DATA_AND("\"key\":{\"secret\":\"two\",\"hosts\":[\"api.example.com\"],"
	    "\"placement\":{\"kind\":\"header\",\"name\":\"X-Key\",\"template\":\"{}\"}},", ""));
	rules = gate_rules(s.gate);
	gate_run_placeholders(s.run, rules, placeholder_of_key, key);
	rules_unref(rules);
	snprintf(lines, sizeof(lines), "X-Key: %s\r\n", key);
	ask(&s, "GET", "https://api.example.com/", lines);
	allowed("key");
	snprintf(lines, sizeof(lines), "%sX-Key: %s\r\n", bearer(s.hub), key);
	ask(&s, "GET", "https://api.example.com/", lines);
	refused(403, "credential/several");
	gate_verdict_release(&verdict);
	end(&s);
}

/* A method is free text, up to 32 characters of it. */
static void
test_secret_for_a_method(void **state)
{
	static const char real[] = "K3Y-MADE-UP-0123456789";
	uint32_t version;
	struct scene s;

	begin(&s, DATA(""));
	assert_int_equal(gate_secret_put(s.gate, &fake_port, "upper", real,
	    sizeof(real) - 1, false, &version, &why), 0);
	ask(&s, real, "https://api.example.com/", "");
	refused(403, "credential/raw-secret");
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
	static const struct { const char *before, *after; } escaped[] = {
		{ "\"", "\"" }, { "[1,\"", "\"]" }, { "{\"", "\":1}" },
		{ "{\"a\":{\"b\":[\"\\\\ ", "\"]}}" },
	};
	char args[256];

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

	for (size_t i = 0; i < sizeof(escaped) / sizeof(*escaped); i++) {
		snprintf(args, sizeof(args), "%s\\u%04x%s%s", escaped[i].before,
		    (unsigned)REAL_ONE[0], REAL_ONE + 1, escaped[i].after);
		action.args = (struct policy_str){ args, strlen(args) };
		gate_decide_action(s.gate, s.thread, s.run, &action, answer);
		assert_string_equal(answer->policy.rule, "credential/raw-secret");
		gate_verdict_release(&answer->record);
	}
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
		cmocka_unit_test(test_raw_secret_unused),
		cmocka_unit_test(test_run_token_outside),
		cmocka_unit_test(test_rotate_and_revoke),
		cmocka_unit_test(test_reload),
		cmocka_unit_test(test_two_bindings_of_a_host),
		cmocka_unit_test(test_secret_for_a_method),
		cmocka_unit_test(test_action),
		cmocka_unit_test(test_engine),
		cmocka_unit_test(test_refuse_malformed),
		cmocka_unit_test(test_connect),
	};

	if (sodium_init() == -1)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
