/* Grants at the gate: for one action, target, run and user; spent once. */
#include "gate_scene.h"

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
	ask(&s, "HEAD", "https://api.example.com/repos/o/r/issues",
	    bearer(grant_token));
	refused(403, "grant/replayed");
	assert_int_equal(gate_grant_look(s.gate, slice_of(grant.id), s.run,
	    &grant, &why), 0);
	assert_string_equal(grant.state, "spent");
	gate_verdict_release(&verdict);
	end(&s);
}

/* A grant of GET is spent by HEAD as well; one of HEAD gives no body. */
static void
test_get_covers_head(void **state)
{
	static const char url[] = "https://api.example.com/repos/o/r/issues";
	struct scene s;

	begin(&s, DATA(""));
	assert_int_equal(issue(&s, "http:GET", url, -1, -1), 0);
	ask(&s, "HEAD", url, bearer(grant_token));
	allowed("hub");
	ask(&s, "GET", url, bearer(grant_token));
	refused(403, "grant/replayed");
	assert_int_equal(issue(&s, "http:HEAD", url, -1, -1), 0);
	ask(&s, "GET", url, bearer(grant_token));
	refused(403, "grant/action-mismatch");
	ask(&s, "HEAD", url, bearer(grant_token));
	allowed("hub");
	assert_int_equal(issue(&s, "http:POST", url, -1, -1), 0);
	ask(&s, "HEAD", url, bearer(grant_token));
	refused(403, "grant/action-mismatch");
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
		{ "POST", "https://git.example.com/o/r.git/git-receive-pack?x=1" },
		{ "POST", "https://git.example.com/o/r.git/info/refs?service=git-receive-pack" },
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

/* Every part of the target counts, also where only that part differs. */
static void
test_grant_is_for_one_target(void **state)
{
	static const char two[] = "\"two\":{\"secret\":\"two\",\"hosts\":[\"a.example.org\",\"b.example.org\"],"
	    "\"placement\":{\"kind\":\"header\",\"name\":\"Authorization\",\"template\":\"Bearer {}\"}";
	char data[2048], before[POLICY_DIGEST_LEN + 1], after[POLICY_DIGEST_LEN + 1];
	static const struct {
		const char *more, *url, *rule;	/* the binding as it is by then */
	} then[] = {
		{ "", "https://b.example.org/x", "grant/target-mismatch" },
		{ "", "https://a.example.org/y", "grant/target-mismatch" },
		{ ",\"port\":8443", "https://a.example.org:8443/x", "grant/target-mismatch" },
		{ ",\"scheme\":\"http\",\"port\":443", "http://a.example.org:443/x", "grant/target-mismatch" },
		{ "", "https://a.example.org/x", NULL },
	};
	struct scene s;

	snprintf(data, sizeof(data), DATA_AND("%s},", ""), two);
	begin(&s, data);
	assert_int_equal(issue(&s, "http:GET", "https://a.example.org/x", 1, -1), 0);
	for (size_t i = 0; i < sizeof(then) / sizeof(*then); i++) {
		snprintf(data, sizeof(data), DATA_AND("%s%s},", ""), two, then[i].more);
		assert_int_equal(gate_reload(s.gate, &fake_port, before, after, &why), 0);
		ask(&s, "GET", then[i].url, bearer(grant_token));
		if (then[i].rule != NULL)
			refused(403, then[i].rule);
		else
			allowed("two");
	}
	gate_verdict_release(&verdict);
	end(&s);
}

/* What was agreed to is the use of that secret, not of one that came later. */
static void
test_grant_is_for_one_secret(void **state)
{
	char before[POLICY_DIGEST_LEN + 1], after[POLICY_DIGEST_LEN + 1];
	static const char other[] = "{\"bindings\":{\"hub\":{\"secret\":\"two\",\"hosts\":[\"api.example.com\"],"
	    "\"placement\":{\"kind\":\"header\",\"name\":\"Authorization\",\"template\":\"Bearer {}\"}}}}";
	struct scene s;

	begin(&s, DATA(""));
	assert_int_equal(issue(&s, "http:GET", "https://api.example.com/", 1, -1), 0);
	fake_data = other;
	assert_int_equal(gate_reload(s.gate, &fake_port, before, after, &why), 0);
	ask(&s, "GET", "https://api.example.com/", bearer(grant_token));
	refused(403, "grant/binding-changed");
	gate_verdict_release(&verdict);
	end(&s);
}

/* Only what nobody can use any more makes room for another. */
static void
test_grants_of_a_run(void **state)
{
	char first[GATE_TOKEN_MAX], id[64];
	struct scene s;
	size_t n;

	begin(&s, DATA(""));
	for (n = 0; issue(&s, "http:GET", "https://api.example.com/", 1, -1) == 0; n++) {
		if (n == 0)
			memcpy(first, grant_token, sizeof(first));
		if (n == 1)
			snprintf(id, sizeof(id), "%s", grant.id);
		if (fake_n_records > FAKE_RECORDS_MAX - 8)
			fake_ledger_forget();
	}
	assert_string_equal(why.rule, "grant/too-many");
	assert_string_equal(grant_token, "");
	assert_true(n > 1000);
	assert_int_equal(gate_grant_revoke(s.gate, &fake_port, slice_of(id), s.run,
	    &grant, &why), 0);
	assert_int_equal(issue(&s, "http:GET", "https://api.example.com/", 1, -1), 0);
	assert_int_equal(gate_grant_look(s.gate, slice_of(id), s.run, &grant, &why), -1);
	ask(&s, "GET", "https://api.example.com/", bearer(first));
	allowed("hub");
	gate_verdict_release(&verdict);
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_get_covers_head),
		cmocka_unit_test(test_grant),
		cmocka_unit_test(test_grant_misplaced),
		cmocka_unit_test(test_grant_query),
		cmocka_unit_test(test_grant_other_run_and_peer),
		cmocka_unit_test(test_grant_revoke_and_expiry),
		cmocka_unit_test(test_grant_git),
		cmocka_unit_test(test_grant_refused),
		cmocka_unit_test(test_grant_is_for_one_target),
		cmocka_unit_test(test_grant_is_for_one_secret),
		cmocka_unit_test(test_grants_of_a_run),
		cmocka_unit_test(test_twenty_redeem_one),
	};

	if (sodium_init() == -1)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
