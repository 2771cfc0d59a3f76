/* Coverage: what observers saw against records made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "coverage_scene.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void
one_to_one(void **state)
{
	struct scene s;

	scene_begin(&s, ALL);
	for (int i = 0; i < 3; i++) {
		scene_at(&s, 10 + i);
		scene_outcome(&s, scene_request(&s, "use", "allow", "/a", ""), ",\"status\":200");
	}
	assert_int_equal(scene_judge(&s, ANY SEEN("10.000000", "/a") SEEN("11.000000", "/a")
	    SEEN("12.500000", "/a")), VERIFY_COMPLETE);
	assert_int_equal(s.result->verdict, VERIFY_COMPLETE);
	assert_int_equal(s.coverage->source[0].recorded, 3);
	/* a fourth one has none left, though three records are of its time */
	assert_int_equal(scene_judge(&s, ANY SEEN("10.000000", "/a") SEEN("11.000000", "/a")
	    SEEN("12.000000", "/a") SEEN("12.000000", "/a")), VERIFY_GAP);
	assert_int_equal(s.result->verdict, VERIFY_GAP);
	assert_int_equal(s.result->findings, 1);
	assert_string_equal(s.result->finding[0].code, "unrecorded");
	assert_int_equal(s.result->finding[0].line, 5);
	assert_string_equal(s.result->finding[0].file, "truth.jsonl");
	/* too late for any, and another path */
	assert_int_equal(scene_judge(&s, ANY SEEN("14.100000", "/a")), VERIFY_GAP);
	assert_int_equal(scene_judge(&s, ANY SEEN("13.900000", "/a")), VERIFY_COMPLETE);
	assert_int_equal(scene_judge(&s, ANY SEEN("11.000000", "/a") SEEN("11.000000", "/b")), VERIFY_GAP);
	scene_end(&s);
}

static void
where_it_belongs(void **state)
{
	struct scene s;
	const struct coverage_source *source;

	scene_begin(&s, ALL);
	scene_at(&s, 10);
	scene_outcome(&s, scene_request(&s, "use", "allow", "/a", ""), ",\"status\":200");
	assert_int_equal(scene_judge(&s, ANY SEEN("10.000000", "/a")
	    "{\"t\":\"2026-11-30T00:59:59.000000Z\",\"kind\":\"http\",\"verb\":\"GET\",\"target\":\"https://h/b\"}\n"
	    "{\"t\":\"2026-11-30T01:01:00.000000Z\",\"kind\":\"http\",\"verb\":\"GET\",\"target\":\"https://h/b\"}\n"
	    "{" AT("11.000000") ",\"kind\":\"dns\",\"target\":\"h\"}\n"), VERIFY_COMPLETE);
	source = &s.coverage->source[0];
	assert_int_equal(source->outside_time, 2);
	assert_int_equal(source->outside_scope, 1);
	assert_string_equal(source->excuse, "names");
	assert_non_null(strstr(s.result->coverage.text, "1 that no adapter claims to see"));
	/* only what no record of the run is about: nothing was reconciled */
	assert_int_equal(scene_judge(&s, ANY "{" AT("11.000000") ",\"kind\":\"dns\",\"target\":\"h\"}\n"),
	    VERIFY_NOT_ESTABLISHED);
	assert_int_equal(s.result->verdict, VERIFY_NOT_ESTABLISHED);
	/* a clock of whole seconds cannot tell 59 from behind the teardown */
	assert_int_equal(scene_judge(&s, HEAD ",\"resolution_ms\":1000}\n" SEEN("10.000000", "/a")
	    SEEN("59.000000", "/b")), VERIFY_NOT_ESTABLISHED);
	assert_int_equal(s.coverage->source[0].edge, 1);
	scene_end(&s);
}

/* Another run's request, a second before this one began, takes no record of its. */
static void
neighbours(void **state)
{
	struct scene s;

	scene_begin(&s, ALL);
	scene_at(&s, 1);
	scene_outcome(&s, scene_request(&s, "use", "allow", "/a", ""), ",\"status\":200");
	assert_int_equal(scene_judge(&s, HEAD ",\"exhaustive\":true}\n"
	    "{\"t\":\"2026-11-30T00:59:59.500000Z\",\"kind\":\"http\",\"verb\":\"GET\",\"target\":\"https://h/a\"}\n"
	    SEEN("01.000000", "/a")), VERIFY_COMPLETE);
	assert_int_equal(s.coverage->source[0].outside_time, 1);
	/* of two alike the one that fits no record exactly is named */
	assert_int_equal(scene_judge(&s, ANY SEEN("00.200000", "/a") SEEN("01.000000", "/a")), VERIFY_GAP);
	assert_int_equal(s.result->finding[0].line, 2);
	/* clocks apart: both are taken, whatever the order */
	scene_end(&s);
	scene_begin(&s, ALL);
	scene_at(&s, 10);
	scene_outcome(&s, scene_request(&s, "use", "allow", "/a", ""), ",\"status\":200");
	scene_at(&s, 11);
	scene_outcome(&s, scene_request(&s, "use", "allow", "/a", ""), ",\"status\":200");
	assert_int_equal(scene_judge(&s, ANY SEEN("08.500000", "/a") SEEN("10.000000", "/a")), VERIFY_COMPLETE);
	scene_end(&s);
}

static void
refused_and_hidden(void **state)
{
	struct scene s;

	scene_begin(&s, ALL);
	scene_at(&s, 10);
	scene_request(&s, "refusal", "deny", "/no", "");
	scene_outcome(&s, scene_request(&s, "use", "allow", "hmac:00112233445566778899aabbccddeeff", ""),
	    ",\"status\":200");
	scene_outcome(&s, scene_request(&s, "use", "allow", "/a", ""), ",\"status\":200");
	assert_int_equal(scene_judge(&s, ANY SEEN("10.000000", "/key/x") SEEN("10.000000", "/a")),
	    VERIFY_COMPLETE);
	assert_int_equal(s.coverage->source[0].hidden, 1);
	assert_int_equal(scene_judge(&s, ANY SEEN("10.000000", "/key/x") SEEN("10.000000", "/no")), VERIFY_GAP);
	assert_int_equal(s.coverage->source[0].refused, 1);
	assert_non_null(strstr(s.result->finding[0].what, "has it refused"));
	scene_end(&s);
}

static void
tunnels_and_connections(void **state)
{
	static const char tunnel[] = "{\"decision\":\"allow\",\"kind\":\"connect\",\"input\":{"
	    "\"action\":{\"kind\":\"connect\",\"verb\":\"CONNECT\"},\"target\":{\"host\":\"t\",\"port\":443}}}";
	struct scene s;
	uint64_t decision;

	scene_begin(&s, ALL);
	scene_at(&s, 10);
	decision = scene_add(&s, "decision", "r", tunnel);
	scene_outcome(&s, scene_request(&s, "use", "allow", "/a", ""), ",\"status\":200");
	scene_at(&s, 20);
	scene_outcome(&s, decision, "");
	assert_int_equal(scene_judge(&s, ANY SEEN("10.000000", "/a")
	    "{" AT("15.000000") ",\"kind\":\"http\",\"verb\":\"GET\",\"target\":\"https://t/in\"}\n"
	    "{" AT("10.100000") ",\"kind\":\"tcp\",\"target\":\"t:443\"}\n"
	    "{" AT("10.100000") ",\"kind\":\"tcp\",\"target\":\"h:443\"}\n"), VERIFY_NOT_ESTABLISHED);
	assert_int_equal(s.result->verdict, VERIFY_NOT_ESTABLISHED);
	assert_int_equal(s.coverage->source[0].in_tunnel, 1);
	assert_int_equal(s.result->findings, 1);
	assert_string_equal(s.result->finding[0].code, "in_tunnel");
	assert_int_equal(s.result->finding[0].line, 3);
	assert_non_null(strstr(s.result->coverage.text, "1 action that s saw may have gone through"));
	assert_int_equal(s.coverage->source[0].recorded, 3);
	/* behind its end, and a second connection for one request */
	assert_int_equal(scene_judge(&s, ANY "{" AT("25.000000") ",\"kind\":\"http\",\"verb\":\"GET\","
	    "\"target\":\"https://t/in\"}\n"), VERIFY_GAP);
	assert_int_equal(scene_judge(&s, ANY "{" AT("10.100000") ",\"kind\":\"tcp\",\"target\":\"h:443\"}\n"
	    "{" AT("10.200000") ",\"kind\":\"tcp\",\"target\":\"h:443\"}\n"), VERIFY_GAP);
	scene_end(&s);
}

static void
by_name(void **state)
{
	char lines[1024];
	struct scene s;
	uint64_t use;

	scene_begin(&s, ALL);
	scene_at(&s, 10);
	use = scene_request(&s, "use", "allow", "/a", ",\"grant\":\"g_one\"");
	scene_outcome(&s, use, ",\"status\":200");
	snprintf(lines, sizeof(lines), ANY "{" AT("40.000000") ",\"kind\":\"http\",\"verb\":\"GET\","
	    "\"target\":\"https://h/a\",\"record\":\"%s\"}\n", scene_hex(&s, use));
	assert_int_equal(scene_judge(&s, lines), VERIFY_COMPLETE);
#define GRANT(g) "{" AT("10.000000") ",\"kind\":\"http\",\"verb\":\"GET\",\"target\":\"https://h/a\"," \
	"\"grant\":\"" g "\",\"id\":\"" g "\"}\n"
	assert_int_equal(scene_judge(&s, ANY GRANT("g_one")), VERIFY_COMPLETE);
	assert_int_equal(scene_judge(&s, ANY GRANT("g_two")), VERIFY_GAP);
	/* one action, written down twice */
	assert_int_equal(scene_judge(&s, ANY GRANT("g_one") GRANT("g_one")), VERIFY_COMPLETE);
	assert_int_equal(s.coverage->source[0].duplicates, 1);
	assert_int_equal(s.coverage->source[0].seen, 1);
	scene_end(&s);
}

#define FULL HEAD ",\"exhaustive\":true"

/* Files that contradict themselves: with an action that they say not to see, or of a
 * time that is not over.  What they saw without a record is a gap all the same. */
static void
contradictions(void **state)
{
#define SEES_A "{\"v\":1,\"type\":\"countersign-truth\",\"source\":\"s\",\"sees\":" \
	"[{\"kind\":\"http\",\"targets\":[\"https://h/a*\"]}]}\n"
#define UNTIL(s) FULL ",\"from\":\"2026-11-30T01:00:00.000000Z\",\"to\":\"2026-11-30T01:00:" s "Z\"}\n"
	struct scene s;
	const char *files[] = { s.truth };
	struct coverage_options options = { .truth = files, .truths = 1 };

	scene_begin(&s, ALL);
	scene_at(&s, 10);
	scene_outcome(&s, scene_request(&s, "use", "allow", "/a", ""), ",\"status\":200");
	scene_outcome(&s, scene_request(&s, "use", "allow", "/b", ""), ",\"status\":200");
	assert_int_equal(scene_judge(&s, SEES_A SEEN("10.000000", "/a")), VERIFY_COMPLETE);
	assert_int_equal(s.coverage->source[0].beyond, 0);
	assert_int_equal(scene_judge(&s, SEES_A SEEN("10.000000", "/a") SEEN("10.000000", "/b")),
	    VERIFY_NOT_ESTABLISHED);
	assert_int_equal(s.coverage->source[0].beyond, 1);
	assert_non_null(strstr(s.result->coverage.text, "says not to see"));
	assert_int_equal(scene_judge(&s, SEES_A SEEN("10.000000", "/a") SEEN("10.000000", "/c")), VERIFY_GAP);
	/* until behind the verifier's time, give or take the window of 2 s */
	for (int i = 0; i < 3; i++) {
		options.now_us = (T0 + 50 - i) * 1000000;
		write_file(s.base, "truth.jsonl", UNTIL("51.000000") SEEN("10.000000", "/a") SEEN("10.000000", "/b"),
		    strlen(UNTIL("51.000000") SEEN("10.000000", "/a") SEEN("10.000000", "/b")));
		assert_int_equal(scene_judge_as(&s, &options), i < 2 ? VERIFY_COMPLETE : VERIFY_NOT_ESTABLISHED);
		assert_int_equal(s.coverage->source[0].ahead, i == 2);
	}
	assert_non_null(strstr(s.result->coverage.text, "not over"));
	scene_end(&s);
}

static void
what_was_not_seen(void **state)
{
	struct scene s;

	scene_begin(&s, ALL);
	scene_at(&s, 10);
	scene_outcome(&s, scene_request(&s, "use", "allow", "/a", ""), ",\"status\":200");
	scene_outcome(&s, scene_request(&s, "use", "allow", "/b", ""), ",\"status\":200");
	scene_outcome(&s, scene_request(&s, "use", "allow", "/c", ""), ",\"error\":\"gone\",\"ended\":\"unreached\"");
	/* who does not claim to see all says nothing by not seeing it */
	assert_int_equal(scene_judge(&s, ANY SEEN("10.000000", "/a")), VERIFY_COMPLETE);
	assert_int_equal(s.coverage->source[0].unseen, 1);
	assert_int_equal(scene_judge(&s, FULL "}\n" SEEN("10.000000", "/a")), VERIFY_NOT_ESTABLISHED);
	assert_int_equal(s.result->findings, 1);
	assert_string_equal(s.result->finding[0].code, "unobserved");
	assert_int_equal(s.result->finding[0].index, 5);
	/* before his time began */
	assert_int_equal(scene_judge(&s, FULL ",\"from\":\"2026-11-30T01:00:30.000000Z\"}\n"
	    SEEN("10.000000", "/a")), VERIFY_COMPLETE);
	/* he leaves lines unread: there may be more */
	assert_int_equal(scene_judge(&s, HEAD ",\"unread\":1}\n" SEEN("10.000000", "/a")),
	    VERIFY_NOT_ESTABLISHED);
	scene_end(&s);
}

#define WITH(s, n) "{" AT(s) ",\"kind\":\"http\",\"verb\":\"GET\",\"target\":\"https://h/a\",\"outcome\":" n "}\n"

static void
outcomes_are_one(void **state)
{
	struct scene s;

	scene_begin(&s, ALL);
	scene_at(&s, 10);
	scene_outcome(&s, scene_request(&s, "use", "allow", "/a", ""), ",\"status\":401");
	scene_outcome(&s, scene_request(&s, "use", "allow", "/a", ""), ",\"status\":200");
	assert_int_equal(scene_judge(&s, ANY WITH("10.000000", "200") WITH("10.100000", "401")), VERIFY_COMPLETE);
	assert_int_equal(s.coverage->source[0].differ, 0);
	/* who tells no outcome takes either; the other is left for who does */
	assert_int_equal(scene_judge(&s, ANY SEEN("10.000000", "/a") WITH("10.100000", "401")), VERIFY_COMPLETE);
	assert_int_equal(scene_judge(&s, ANY SEEN("10.000000", "/a") WITH("10.100000", "200")), VERIFY_COMPLETE);
	assert_int_equal(scene_judge(&s, ANY WITH("10.000000", "200") WITH("10.100000", "500")), VERIFY_GAP);
	assert_int_equal(s.coverage->source[0].differ, 1);
	assert_int_equal(s.result->finding[0].line, 3);
	assert_non_null(strstr(s.result->finding[0].what, "the ledger has another"));
	/* a record that is somebody's already is no other one */
	assert_int_equal(scene_judge(&s, ANY WITH("10.000000", "200") WITH("10.100000", "401") WITH("10.100000", "401")),
	    VERIFY_GAP);
	assert_int_equal(s.coverage->source[0].differ, 0);
	assert_null(strstr(s.result->finding[0].what, "the ledger has another"));
	scene_end(&s);
}

/* A record that says nothing was sent excuses nobody. */
static void
nothing_was_sent(void **state)
{
	static const char *const ends[] = {
		",\"error\":\"connect_failed\",\"ended\":\"unreached\",\"bytes_out\":0",
		",\"error\":\"private_address\",\"ended\":\"refused\",\"bytes_out\":0",
		",\"error\":\"budget/bytes-out\",\"ended\":\"refused\",\"head_sent\":false,\"bytes_out\":0",
		",\"error\":\"client_gone\",\"head_sent\":false,\"bytes_out\":0" };
	char lines[512];

	for (size_t i = 0; i < COUNT(ends); i++) {
		struct scene s;
		uint64_t use;

		scene_begin(&s, ALL);
		scene_at(&s, 10);
		scene_outcome(&s, scene_request(&s, "use", "allow", "/b", ""), ",\"status\":200");
		use = scene_request(&s, "use", "allow", "/a", "");
		scene_outcome(&s, use, ends[i]);
		assert_int_equal(scene_judge(&s, ANY SEEN("10.000000", "/b") SEEN("10.000000", "/a")), VERIFY_GAP);
		assert_string_equal(s.result->finding[0].code, "unrecorded");
		assert_int_equal(s.result->finding[0].line, 3);
		snprintf(lines, sizeof(lines), ANY "{" AT("10.000000") ",\"kind\":\"http\",\"verb\":\"GET\","
		    "\"target\":\"https://h/a\",\"record\":\"%s\"}\n", scene_hex(&s, use));
		assert_int_equal(scene_judge(&s, lines), VERIFY_GAP);
		scene_end(&s);
	}
}

/* The service answered, and then the answer was withheld: that did happen. */
static void
answer_withheld(void **state)
{
	struct scene s;

	scene_begin(&s, ALL);
	scene_at(&s, 10);
	scene_outcome(&s, scene_request(&s, "use", "allow", "/a", ""),
	    ",\"status\":200,\"error\":\"secret\",\"ended\":\"refused\",\"bytes_out\":0");
	assert_int_equal(scene_judge(&s, ANY WITH("10.000000", "200")), VERIFY_COMPLETE);
	assert_int_equal(scene_judge(&s, ANY WITH("10.000000", "200") WITH("10.000000", "200")), VERIFY_GAP);
	scene_end(&s);
}

/* One that does not tell what became of it is taken last, and establishes nothing. */
static void
unsettled(void **state)
{
	static const char *const ends[] = { ",\"error\":\"client_gone\",\"bytes_out\":0",
	    ",\"error\":\"client_gone\",\"head_sent\":true,\"bytes_out\":0",
	    ",\"error\":\"budget/bytes-out\",\"ended\":\"refused\",\"head_sent\":true,\"bytes_out\":0",
	    /* to a connection of the pool that was closed, and then there was no other */
	    ",\"error\":\"connect_failed\",\"ended\":\"unreached\",\"head_sent\":true,\"bytes_out\":0",
	    ",\"error\":\"upstream_closed\"", ",\"error\":\"http/body\",\"ended\":\"refused\",\"bytes_out\":9",
	    "", NULL };

	for (size_t i = 0; i < COUNT(ends); i++) {
		struct scene s;
		uint64_t use;
		char index[32];

		scene_begin(&s, ALL);
		scene_at(&s, 10);
		use = scene_request(&s, "use", "allow", "/a", "");
		if (ends[i] != NULL)
			scene_outcome(&s, use, ends[i]);
		/* within the window of the one, and just when the other was */
		scene_at(&s, 9);
		scene_outcome(&s, scene_request(&s, "use", "allow", "/a", ""), ",\"status\":200");
		assert_int_equal(scene_judge(&s, ANY WITH("10.000000", "200")), VERIFY_COMPLETE);
		assert_int_equal(s.coverage->source[0].unsettled, 0);
		assert_int_equal(scene_judge(&s, ANY WITH("09.000000", "200") WITH("10.000000", "200")),
		    VERIFY_NOT_ESTABLISHED);
		assert_int_equal(s.result->verdict, VERIFY_NOT_ESTABLISHED);
		assert_int_equal(s.coverage->source[0].unsettled, 1);
		assert_int_equal(s.result->findings, 1);
		assert_string_equal(s.result->finding[0].code, "unsettled");
		assert_int_not_equal(s.result->finding[0].line, 0);
		snprintf(index, sizeof(index), "record %u", (unsigned)use);
		assert_non_null(strstr(s.result->finding[0].what, index));
		assert_int_equal(scene_judge(&s, ANY WITH("09.000000", "200") WITH("10.000000", "200")
		    WITH("10.000000", "200")), VERIFY_GAP);
		scene_end(&s);
	}
}

/* Of a connection nobody knows where the request came to nothing. */
static void
unsettled_connections(void **state)
{
	struct scene s;

	scene_begin(&s, ALL);
	scene_at(&s, 10);
	scene_outcome(&s, scene_request(&s, "use", "allow", "/a", ""), ",\"error\":\"tls_failed\",\"ended\":\"unreached\"");
	scene_outcome(&s, scene_request(&s, "use", "allow", "/b", ""), ",\"status\":200");
#define TCP "{" AT("10.100000") ",\"kind\":\"tcp\",\"target\":\"h:443\"}\n"
	assert_int_equal(scene_judge(&s, ANY TCP), VERIFY_COMPLETE);
	assert_int_equal(scene_judge(&s, ANY TCP TCP), VERIFY_NOT_ESTABLISHED);
	assert_int_equal(s.coverage->source[0].unsettled, 1);
	assert_int_equal(scene_judge(&s, ANY TCP TCP TCP), VERIFY_GAP);
	scene_end(&s);
}

static void
without_claims(void **state)
{
	struct scene s;

	scene_begin(&s, NULL);
	scene_at(&s, 10);
	scene_outcome(&s, scene_request(&s, "use", "allow", "/a", ""), ",\"status\":200");
	assert_int_equal(scene_judge(&s, ANY SEEN("10.000000", "/a")), VERIFY_NOT_ESTABLISHED);
	assert_non_null(strstr(s.result->coverage.text, "no record says what the adapters see"));
	/* whoever says nothing is asked for everything */
	assert_int_equal(scene_judge(&s, ANY SEEN("10.000000", "/b")), VERIFY_GAP);
	scene_end(&s);
}

/* One that began first and is still open is not hidden by others that are over, nor by
 * one that begins later. */
static void
tunnels_within_another(void **state)
{
	static const char tunnel[] = "{\"decision\":\"allow\",\"kind\":\"connect\",\"input\":{"
	    "\"action\":{\"kind\":\"connect\"},\"target\":{\"host\":\"h\",\"port\":443}}}";
	const double from[] = { 5, 10, 12, 45 }, to[] = { 30, 11, 13, 46 };
	uint64_t decision[4];
	struct scene s;

	scene_begin(&s, ALL);
	for (size_t i = 0; i < COUNT(from); i++) {
		scene_at(&s, from[i]);
		decision[i] = scene_add(&s, "decision", "r", tunnel);
	}
	for (size_t i = 0; i < COUNT(to); i++) {
		scene_at(&s, to[i]);
		scene_outcome(&s, decision[i], ",\"status\":200");
	}
	scene_judge(&s, ANY SEEN("02.900000", "/a") SEEN("25.000000", "/a")
	    SEEN("32.100000", "/a") SEEN("42.900000", "/a") SEEN("44.000000", "/a"));
	assert_int_equal(s.coverage->source[0].in_tunnel, 2);
	assert_int_equal(s.coverage->source[0].unrecorded, 3);
	scene_end(&s);
}

/* What a manifest and a truth list is theirs to choose, and what is held against it, too. */
static void
lists_without_end(void **state)
{
	static char claim[49152], lines[300 * 320];
	struct scene s;
	size_t at;

	at = (size_t)snprintf(claim, sizeof(claim), "{\"v\":1,\"kind\":\"countersign-coverage\","
	    "\"adapter\":\"a\",\"version\":\"1\",\"sees\":[{\"kind\":\"http\",\"targets\":[\"x\"]}");
	for (unsigned i = 0; i < 60; i++) {
		at += (size_t)snprintf(claim + at, sizeof(claim) - at, ",{\"kind\":\"http\",\"targets\":[\"x\"");
		for (unsigned k = 0; k < 50; k++)
			at += (size_t)snprintf(claim + at, sizeof(claim) - at, ",\"*a*bc%u\"", k);
		at += (size_t)snprintf(claim + at, sizeof(claim) - at, "]}");
	}
	snprintf(claim + at, sizeof(claim) - at, "],\"cannot_see\":[],\"leaves_out\":[]}");
	scene_begin(&s, claim);
	at = (size_t)snprintf(lines, sizeof(lines), "%s", ANY);
	for (unsigned i = 0; i < 300; i++)
		at += (size_t)snprintf(lines + at, sizeof(lines) - at, SEEN("20.000000", "/%0200u"), i);
	for (char *p = strstr(lines, "\n") + 1; (p = strstr(p, "/0")) != NULL; )
		for (p++; *p == '0'; p++)
			*p = (p - lines) % 2 ? 'a' : 'b';
	assert_int_equal(scene_judge(&s, lines), VERIFY_NOT_ESTABLISHED);
	assert_true(s.coverage->source[0].lists_long);
	assert_true(s.coverage->source[0].outside_scope > 0);
	assert_true(s.coverage->source[0].outside_scope < 300);
	assert_int_equal(s.coverage->source[0].unrecorded, 0);
	assert_non_null(strstr(s.result->coverage.text, "lists of what is seen are too long"));
	scene_end(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_to_one),
		cmocka_unit_test(where_it_belongs),
		cmocka_unit_test(neighbours),
		cmocka_unit_test(refused_and_hidden),
		cmocka_unit_test(tunnels_and_connections),
		cmocka_unit_test(tunnels_within_another),
		cmocka_unit_test(lists_without_end),
		cmocka_unit_test(by_name),
		cmocka_unit_test(contradictions),
		cmocka_unit_test(what_was_not_seen),
		cmocka_unit_test(outcomes_are_one),
		cmocka_unit_test(nothing_was_sent),
		cmocka_unit_test(answer_withheld),
		cmocka_unit_test(unsettled),
		cmocka_unit_test(unsettled_connections),
		cmocka_unit_test(without_claims),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
