/* What the records say of runs as wholes: opened, closed and torn down once,
 * nothing admitted behind, and a teardown that says what the records say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sodium.h>

#include "ledger/bundle/bundle.h"
#include "ledger/verify/unended.h"
#include "verify_made.h"

#define NONE ",\"counts\":{\"allowed\":0,\"refused\":0,\"failed\":0,\"unfinished\":0}"

static uint64_t
add(const char *type, const char *run, const char *body)
{
	return maker_add(&m, "s", type, run, body);
}

/* A record that names another, and something more. */
static uint64_t
add_of(const char *type, uint64_t parent, const char *more)
{
	char body[1024], hex[65];

	sodium_bin2hex(hex, sizeof(hex), m.line[parent].leaf, 32);
	snprintf(body, sizeof(body), "{\"decision\":\"allow\",\"parent\":\"%s\"%s}", hex, more);
	return add(type, "r", body);
}

static uint64_t
end(uint64_t run, const char *more)
{
	char body[512];

	snprintf(body, sizeof(body), ",\"first_seq\":%d,\"last_seq\":%d,\"first_index\":%d,"
	    "\"last_index\":%d%s", (int)run, (int)m.count - 1, (int)run, (int)m.count - 1, more);
	return add_of("teardown", run, body);
}

static void
verify_bundle(void)
{
	char dir[96], out[128], err[512];
	struct bundle_options options = { .ledger = dir, .run = "r", .out = out };

	snprintf(out, sizeof(out), "%s/bundle", c.base);
	remove_tree(out);
	assert_int_equal(case_verify_maker(&c, &m, dir), c.result.verdict);
	if (bundle_write(&options, err, sizeof(err)) != 0)
		fail_msg("%s", err);
	case_verify(&c, out);
}

/* Of the ledger and of the run's bundle: one finding, of that code and record. */
static void
finds_one(const char *code, uint64_t at)
{
	const struct verify_finding *f;
	int bundle;

	assert_int_equal(close_and_verify(), VERIFY_GAP);
	for (bundle = 0; bundle < 2; bundle++) {
		if (bundle)
			verify_bundle();
		f = case_find(&c, code);
		if (f == NULL || f->index != at)
			case_say(&c);
		assert_non_null(f);
		assert_int_equal(f->index, at);
		assert_int_equal(f->verdict, VERIFY_GAP);
		assert_int_equal(c.result.integrity.verdict, VERIFY_COMPLETE);
		assert_int_equal(c.result.completeness.verdict, VERIFY_GAP);
		if (!bundle)
			assert_int_equal(c.result.finding_count, 1);
	}
}

static uint64_t
open_run(void)
{
	restart();
	return add("run", "r", "{\"state\":\"open\"}");
}

/* An outcome of what was under way, refusals of what came too late. */
static void
good(void **state)
{
	uint64_t run = open_run(), use = add_of("use", run, "");

	add_of("run", run, ",\"state\":\"closed\"");
	end(run, "");
	add_of("outcome", use, "");
	add_of("refusal", run, ",\"rule\":\"run/closed\"");
	add_of("grant", run, ",\"state\":\"revoked\"");
	add("run", "r2", "{\"state\":\"open\"}");
	add("run", "r2", "{\"state\":\"closed\"}");
	add("teardown", "r2", "{}");
	assert_int_equal(close_and_verify(), VERIFY_COMPLETE);
	verify_bundle();
	assert_null(case_find(&c, "after_teardown"));
}

/* ---- runs without an end ---- */

static uint64_t
opens(const char *stream, unsigned i)
{
	char id[32];

	snprintf(id, sizeof(id), "r%u", i);
	return maker_add(&m, stream, "run", id, "{\"state\":\"open\"}");
}

static void
ends(unsigned i)
{
	char id[32];

	snprintf(id, sizeof(id), "r%u", i);
	add("run", id, "{\"state\":\"closed\"}");
	add("teardown", id, "{}");
}

/* All that is found: these openings, in order, and nothing that is a gap. */
static void
lacks_ends(const uint64_t *at, unsigned n)
{
	assert_int_equal(c.result.verdict, n > 0 ? VERIFY_NOT_ESTABLISHED : VERIFY_COMPLETE);
	assert_int_equal(c.result.finding_count, n);
	for (unsigned i = 0; i < n; i++) {
		assert_string_equal(c.result.finding[i].code, "no_teardown");
		assert_string_equal(c.result.finding[i].type, "run");
		assert_int_equal(c.result.finding[i].index, at[i]);
		assert_int_equal(c.result.finding[i].verdict, VERIFY_NOT_ESTABLISHED);
	}
	if (n > 0)
		assert_int_equal(c.result.completeness.verdict, VERIFY_NOT_ESTABLISHED);
}

/* Of as many as a broker has open at once, and each that is over is forgotten. */
static void
never_torn_down(void **state)
{
	static const unsigned counts[] = { 1, 2, 50, 4096 };
	uint64_t at[2];

	for (unsigned i = 0; i < 4; i++) {
		restart();
		for (unsigned k = 0; k < counts[i]; k++)
			at[k % 2] = opens("s", k);
		for (unsigned k = 0; k + 1 < counts[i]; k++)
			ends(k);
		(void)close_and_verify();
		lacks_ends(&at[(counts[i] - 1) % 2], 1);
	}
	restart();
	for (unsigned k = 0; k < 3 * 4096; k++) {
		(void)opens("s", k);
		ends(k);
	}
	(void)close_and_verify();
	lacks_ends(NULL, 0);
	restart();
	at[0] = opens("s", 1);
	add("run", "r1", "{\"state\":\"closed\"}");
	at[1] = opens("s", 2);
	(void)close_and_verify();
	assert_non_null(strstr(c.result.finding[0].what, "run r1 "));
	lacks_ends(at, 2);
}

/* Told by the session that opened it, once; after a crash that is what is told. */
static void
sessions(void **state)
{
	uint64_t at;

	restart();
	at = opens("s", 1);
	add("close", NULL, "{}");
	add("open", NULL, "{}");
	(void)close_and_verify();
	lacks_ends(&at, 1);
	restart();
	maker_add(&m, "t", "open", NULL, "{}");
	at = opens("t", 1);
	(void)opens("s", 2);
	add("close", NULL, "{}");
	add("open", NULL, "{}");
	ends(2);
	maker_add(&m, "t", "close", NULL, "{}");
	(void)close_and_verify();
	assert_int_equal(c.result.finding_count, 2);
	restart();
	(void)opens("s", 1);
	add("open", NULL, "{}");
	assert_int_equal(close_and_verify(), VERIFY_NOT_ESTABLISHED);
	assert_int_equal(c.result.finding_count, 1);
	assert_non_null(case_find(&c, "no_close"));
	restart();
	(void)opens("s", 1);
	maker_seal(&m);
	(void)case_verify_maker(&c, &m, NULL);
	assert_null(case_find(&c, "no_teardown"));
}

/* More than are kept, and more than are told one by one. */
static void
too_many(void **state)
{
	restart();
	for (unsigned k = 0; k < UNENDED_MAX + 1; k++)
		(void)opens("s", k);
	for (unsigned k = 0; k < UNENDED_MAX + 1; k++)
		ends(k);
	assert_int_equal(close_and_verify(), VERIFY_NOT_ESTABLISHED);
	assert_int_equal(c.result.finding_count, 1);
	assert_string_equal(c.result.finding[0].code, "no_teardown");
	restart();
	for (unsigned k = 0; k < 300; k++)
		(void)opens("s", k);
	assert_int_equal(close_and_verify(), VERIFY_NOT_ESTABLISHED);
	assert_int_equal(c.result.finding_count, VERIFY_FINDINGS_MAX + 1);
	assert_int_equal(c.result.verdict, VERIFY_NOT_ESTABLISHED);
}

static void
twice(void **state)
{
	static const char *const states[] = { ",\"state\":\"open\"", ",\"state\":\"closed\"" };
	uint64_t run, at;
	unsigned i;

	for (i = 0; i < 2; i++) {
		run = open_run();
		add_of("run", run, states[1]);
		at = add_of("run", run, states[i]);
		add_of("teardown", run, "");
		finds_one("twice", at);
	}
	run = open_run();
	at = add_of("run", run, states[1]);
	end(run, NONE);
	finds_one("twice", add_of("teardown", run, ""));
}

static void
behind(void **state)
{
	static const char *const types[] = { "use", "decision", "grant", "scan", "coverage", "run" };
	uint64_t run;
	unsigned i;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		run = open_run();
		add_of("run", run, ",\"state\":\"closed\"");
		add_of("teardown", run, "");
		add("secret", "another", "{}");
		maker_seal(&m);
		add("secret", "another", "{}");
		add_of(types[i], run, "");
		add("close", NULL, "{}");
		maker_seal(&m);
		assert_int_equal(case_verify_maker(&c, &m, NULL), VERIFY_GAP);
		assert_int_equal(c.result.finding_count, 1);
		assert_non_null(case_find(&c, "after_teardown"));
		assert_int_equal(case_find(&c, "after_teardown")->index, 6);
	}
}

/* Each of the four places where a run begins and ends, off by one. */
static void
places(void **state)
{
	static const char *const forms[] = { ",\"first_seq\":2", ",\"last_seq\":1" NONE,
	    ",\"first_index\":0", ",\"last_index\":9" NONE };
	uint64_t run;
	unsigned i;

	for (i = 0; i < 4; i++) {
		run = open_run();
		add_of("run", run, ",\"state\":\"closed\"");
		finds_one("teardown", add_of("teardown", run, forms[i]));
	}
}

/* A run is closed before it is torn down, by whoever did it. */
static void
not_closed(void **state)
{
	uint64_t run = open_run();

	finds_one("teardown", add_of("teardown", run, ""));
	run = open_run();
	add_of("run", run, ",\"state\":\"paused\"");
	add_of("teardown", run, "");
	assert_int_equal(close_and_verify(), VERIFY_GAP);
	assert_non_null(case_find(&c, "teardown"));
	assert_int_equal(case_find(&c, "unknown_value")->index, 2);
}

#define FROM_TO ",\"first_index\":1,\"last_index\":2"
#define WEAK ",\"secrets\":3,\"tagged\":1,\"weak\":2,\"weak_secrets\":"
#define ONE "{\"name\":\"pin\",\"version\":1}"

/* The broker's own search: what it says, against what it counts. */
static void
scans(void **state)
{
	static const struct { const char *more; bool good; } cases[] = {
		{ ",\"verdict\":\"clean\",\"found\":0,\"bytes\":9" FROM_TO, true },
		{ ",\"verdict\":\"found\",\"found\":3,\"bytes\":9" FROM_TO, true },
		{ ",\"verdict\":\"incomplete\",\"found\":0,\"bytes\":0,\"why\":\"x\"", true },
		{ ",\"verdict\":\"clean\"" WEAK "[" ONE "," ONE "]", true },
		{ WEAK "[" ONE "]", true },
		{ ",\"verdict\":\"found\"", true },
		{ ",\"verdict\":\"clean\",\"found\":3,\"bytes\":9", false },
		{ ",\"verdict\":\"incomplete\",\"found\":1,\"bytes\":9", false },
		{ ",\"verdict\":\"found\",\"found\":0,\"bytes\":9", false },
		{ ",\"verdict\":\"clean\",\"found\":0,\"bytes\":0", false },
		{ ",\"verdict\":\"clean\",\"why\":\"out of memory\"", false },
		{ ",\"verdict\":\"clean\"" WEAK "[]", false },
		{ ",\"verdict\":\"clean\"" WEAK "[" ONE "," ONE "," ONE "]", false },
		{ ",\"secrets\":1,\"tagged\":1,\"weak\":1", false },
		{ ",\"secrets\":1,\"weak\":2,\"tagged\":0", false },
		{ ",\"verdict\":\"fine\",\"found\":0,\"bytes\":9", false },
		{ ",\"verdict\":1", false },
		{ ",\"verdict\":\"clean\",\"secrets\":-1", false },
		{ ",\"verdict\":\"clean\",\"bytes\":\"9\"", false },
		{ ",\"verdict\":\"clean\",\"first_index\":0", false },
		{ ",\"verdict\":\"clean\",\"last_index\":1", false },
	};
	uint64_t run, at;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		run = open_run();
		add_of("run", run, ",\"state\":\"closed\"");
		at = add_of("scan", run, cases[i].more);
		add_of("teardown", run, "");
		if (!cases[i].good)
			finds_one("scan", at);
		else if (close_and_verify() != VERIFY_COMPLETE)
			fail_msg("case %d", (int)i);
	}
}

/* Two requests: one answered, one not reached; a refusal; an adapter's question. */
static void
fill(uint64_t run)
{
	add_of("outcome", add_of("use", run, ""), ",\"status\":200");
	add_of("outcome", add_of("decision", run, ",\"kind\":\"http\""), ",\"ended\":\"unreached\"");
	add_of("outcome", add_of("use", run, ""), ",\"ended\":\"refused\"");
	add_of("refusal", run, ",\"kind\":\"http\"");
	add_of("refusal", run, ",\"kind\":\"http\"");
	add_of("refusal", run, ",\"kind\":\"action\"");
	add_of("decision", run, ",\"kind\":\"action\"");
}

static void
count(const char *counts, const char *and_use, enum verify_verdict verdict)
{
	uint64_t run = open_run();
	char more[256];

	fill(run);
	if (and_use != NULL)
		add_of(and_use, run, "");
	add_of("run", run, ",\"state\":\"closed\"");
	snprintf(more, sizeof(more), ",\"counts\":{%s}", counts);
	end(run, more);
	close_and_verify();
	verify_bundle();
	if (verdict == VERIFY_COMPLETE)
		assert_null(case_find(&c, "teardown"));
	else
		assert_int_equal(case_find(&c, "teardown")->verdict, verdict);
}

static void
counts(void **state)
{
	count("\"allowed\":1,\"refused\":2,\"failed\":1,\"unfinished\":0", NULL, VERIFY_COMPLETE);
	count("\"allowed\":2,\"refused\":2,\"failed\":1,\"unfinished\":0", NULL, VERIFY_GAP);
	count("\"allowed\":0,\"refused\":2,\"failed\":1,\"unfinished\":0", NULL, VERIFY_GAP);
	count("\"allowed\":1,\"refused\":1,\"failed\":1,\"unfinished\":0", NULL, VERIFY_GAP);
	count("\"allowed\":1,\"refused\":2,\"failed\":0,\"unfinished\":0", NULL, VERIFY_GAP);
	/* a refusal that was under way, or was left out */
	count("\"allowed\":1,\"refused\":3,\"failed\":1,\"unfinished\":0", NULL,
	    VERIFY_NOT_ESTABLISHED);
	count("\"allowed\":2,\"refused\":2,\"failed\":1,\"unfinished\":1", "use", VERIFY_COMPLETE);
	count("\"allowed\":2,\"refused\":2,\"failed\":1,\"unfinished\":0", "use",
	    VERIFY_NOT_ESTABLISHED);
	count("\"allowed\":4,\"refused\":2,\"failed\":1,\"unfinished\":1", "use", VERIFY_GAP);
	count("\"allowed\":\"?\"", NULL, VERIFY_NOT_ESTABLISHED);
	/* what is under way explains no more than there is */
	count("\"allowed\":3,\"refused\":2,\"failed\":1,\"unfinished\":5", NULL, VERIFY_COMPLETE);
	count("\"allowed\":1,\"refused\":2,\"failed\":1,\"unfinished\":6", NULL,
	    VERIFY_NOT_ESTABLISHED);
	count("\"allowed\":70,\"refused\":2,\"failed\":1,\"unfinished\":5", NULL, VERIFY_GAP);
}

/* Of a run's refusals told by number each counts, but for those that adapters asked about. */
static void
told(void **state)
{
	static const char right[] = "\"allowed\":0,\"refused\":702,\"failed\":0,\"unfinished\":0";
	const char *forms[] = { right, "\"allowed\":0,\"refused\":3,\"failed\":0,\"unfinished\":0",
		"\"allowed\":0,\"refused\":752,\"failed\":0,\"unfinished\":0" };
	const enum verify_verdict verdict[] = { VERIFY_COMPLETE, VERIFY_GAP,
		VERIFY_NOT_ESTABLISHED };
	char more[256];

	for (size_t i = 0; i < 3; i++) {
		uint64_t run = open_run();

		add_of("refusal", run, ",\"kind\":\"http\"");
		add("refusal", "r", "{\"count\":700,\"decision\":\"deny\",\"kind\":\"http\"}");
		add("refusal", "r", "{\"count\":50,\"decision\":\"deny\",\"kind\":\"action\"}");
		add("refusal", "r", "{\"count\":1,\"decision\":\"deny\",\"rule\":\"several\"}");
		add("refusal", NULL, "{\"count\":9,\"decision\":\"deny\"}");
		add_of("run", run, ",\"state\":\"closed\"");
		snprintf(more, sizeof(more), ",\"counts\":{%s}", forms[i]);
		end(run, more);
		close_and_verify();
		assert_int_equal(c.result.counted, 760);
		assert_int_equal(c.result.counted_records, 4);
		verify_bundle();
		if (verdict[i] == VERIFY_COMPLETE)
			assert_null(case_find(&c, "teardown"));
		else
			assert_int_equal(case_find(&c, "teardown")->verdict, verdict[i]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good),
		cmocka_unit_test(never_torn_down),
		cmocka_unit_test(sessions),
		cmocka_unit_test(too_many),
		cmocka_unit_test(twice),
		cmocka_unit_test(behind),
		cmocka_unit_test(places),
		cmocka_unit_test(not_closed),
		cmocka_unit_test(scans),
		cmocka_unit_test(counts),
		cmocka_unit_test(told),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
