/* Refusals of nobody's run: a burst one by one, the rest by number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "plane/flood.h"

static struct flood flood;
static struct gate_verdict refusal;

static bool
refused(int64_t uid, const char *rule, int64_t now_ms)
{
	refusal.status = 400;
	snprintf(refusal.rule, sizeof(refusal.rule), "%s", rule);
	snprintf(refusal.reason, sizeof(refusal.reason), "because of %s", rule);
	return flood_admits(&flood, uid, &refusal, now_ms, now_ms * 1000);
}

static unsigned
admitted_of(int64_t uid, unsigned n, int64_t now_ms)
{
	unsigned admitted = 0;

	for (unsigned i = 0; i < n; i++)
		admitted += refused(uid, "http/malformed", now_ms);
	return admitted;
}

static void
test_burst(void **state)
{
	struct gate_counted told;

	flood_init(&flood);
	assert_int_equal(admitted_of(1000, 100, 5000), 100);
	assert_false(flood_take(&flood, 5000, true, &told));
	assert_int_equal(admitted_of(1000, 900, 5000), 0);
	/* other users have a burst of their own, other rules have not */
	assert_true(refused(1001, "http/malformed", 5000));
	assert_false(refused(1000, "run/unknown", 5000));
	/* nothing is told early */
	assert_false(flood_take(&flood, 5000 + COUNTS_MS - 1, false, &told));
	assert_false(refused(1000, "http/malformed", 5999));
	assert_true(flood_take(&flood, 5000 + COUNTS_MS, false, &told));
	assert_int_equal(told.count, 901);
	assert_int_equal(told.uid, 1000);
	assert_int_equal(told.status, 400);
	assert_int_equal(told.from_us, 5000000);
	assert_int_equal(told.to_us, 5999000);
	assert_string_equal(told.rule, "http/malformed");
	assert_string_equal(told.reason, "because of http/malformed");
	assert_true(flood_take(&flood, 5000 + COUNTS_MS, false, &told));
	assert_string_equal(told.rule, "run/unknown");
	assert_int_equal(told.count, 1);
	assert_false(flood_take(&flood, 5000 + COUNTS_MS, true, &told));
	flood_destroy(&flood);
}

/* One more a second, never more than a burst saved up. */
static void
test_refill(void **state)
{
	flood_init(&flood);
	assert_int_equal(admitted_of(7, 500, 0), 100);
	assert_int_equal(admitted_of(7, 10, 999), 0);
	assert_int_equal(admitted_of(7, 10, 1000), 1);
	assert_int_equal(admitted_of(7, 10, 4000), 3);
	assert_int_equal(admitted_of(7, 500, 10 * 3600 * 1000), 100);
	flood_destroy(&flood);
}

/* However many users and rules there are, the bounds hold and nothing is lost. */
static void
test_bounds(void **state)
{
	struct gate_counted told;
	unsigned admitted = 0, records = 0;
	uint64_t counted = 0;
	bool several = false;
	char rule[24];

	flood_init(&flood);
	for (int uid = 0; uid < 50; uid++)
		admitted += admitted_of(uid, 200, 0);
	assert_int_equal(admitted, (FLOOD_PEERS_MAX + 1) * FLOOD_BURST);
	for (int i = 0; i < 1000; i++) {
		snprintf(rule, sizeof(rule), "rule/%d", i);
		assert_false(refused(49, rule, 0));
	}
	while (flood_take(&flood, 0, true, &told)) {
		records++;
		counted += told.count;
		several = several || (strcmp(told.rule, "several") == 0 &&
		    told.uid == -1 && told.status == 0);
	}
	assert_true(records <= COUNTS_MAX);
	assert_true(several);
	assert_int_equal(counted + admitted, 50 * 200 + 1000);
	/* a user who has been quiet makes room for another */
	assert_int_equal(admitted_of(77, 200, 1000 * 1000), 100);
	assert_int_equal(admitted_of(78, 200, 1000 * 1000), 100);
	flood_destroy(&flood);
}

/* Places are told apart while there is room, then rules; requests and actions always. */
static void
test_places(void **state)
{
	static struct counts counts;
	struct gate_counted what = { .uid = 1, .status = 403, .kind = "http", .https = true,
	    .port = 443, .rule = "egress/default" }, told;
	uint64_t of_actions = 0, of_requests = 0;
	unsigned with_host = 0, records = 0;

	memset(&counts, 0, sizeof(counts));
	for (int i = 0; i < 10000; i++) {
		snprintf(what.host, sizeof(what.host), "h%d.example.com", i);
		counts_add(&counts, &what, 0, 0);
	}
	what.kind = "action";
	what.host[0] = '\0';
	for (int i = 0; i < 1000; i++) {
		snprintf(what.rule, sizeof(what.rule), "rule/%d", i);
		counts_add(&counts, &what, 0, 0);
	}
	what.kind = "grant";
	counts_add(&counts, &what, 0, 0);
	while (counts_take(&counts, 0, true, &told)) {
		records++;
		with_host += told.host[0] != '\0';
		if (told.kind != NULL && strcmp(told.kind, "action") == 0)
			of_actions += told.count;
		else
			of_requests += told.count;
	}
	assert_true(records <= COUNTS_MAX);
	assert_int_equal(with_host, COUNTS_MAX / 2);
	assert_int_equal(of_actions, 1000);
	assert_int_equal(of_requests, 10001);
}

static void
test_words(void **state)
{
	struct gate_counted told = { .count = 901, .from_us = 0, .to_us = 1500000,
	    .uid = 1000, .status = 400, .rule = "http/malformed", .reason = "bare LF" };
	char buf[GATE_RECORD_MAX];
	int n = gate_counted_record(&told, NULL, buf, sizeof(buf));

	assert_true(n > 0);
	buf[n] = '\0';
	assert_string_equal(buf, "{\"count\":901,\"from\":\"1970-01-01T00:00:00.000000Z\","
	    "\"to\":\"1970-01-01T00:00:01.500000Z\",\"decision\":\"deny\","
	    "\"rule\":\"http/malformed\",\"reason\":\"bare LF\",\"status\":400,"
	    "\"peer\":{\"uid\":1000,\"process\":\"not established\"}}");
	assert_int_equal(gate_counted_record(&told, NULL, buf, 20), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_burst),
		cmocka_unit_test(test_refill),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
