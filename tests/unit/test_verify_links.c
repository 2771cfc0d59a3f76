/* What records say of others: parents, tables of heads; and what stands behind
 * a NUL. */
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
#include "verify_made.h"

static char body[4096];

#define ALLOWED "{\"decision\":\"allow\","

static const char *
parent(uint64_t of)
{
	char hex[65];

	sodium_bin2hex(hex, sizeof(hex), m.line[of].leaf, 32);
	snprintf(body, sizeof(body), "{\"a\":{\"parent\":\"of another object\"},"
	    "\"decision\":\"allow\",\"parent\":\"%s\"}",
	    hex);
	return body;
}

/* A body with a parent and something more. */
static const char *
of(uint64_t at, const char *more)
{
	static char text[4096];
	char hex[65];

	sodium_bin2hex(hex, sizeof(hex), m.line[at].leaf, 32);
	snprintf(text, sizeof(text), "{\"decision\":\"allow\",\"parent\":\"%s\"%s}", hex, more);
	return text;
}

/* The same, and whether it was allowed is said by the caller. */
static const char *
under(uint64_t at, const char *more)
{
	static char text[4096];
	char hex[65];

	sodium_bin2hex(hex, sizeof(hex), m.line[at].leaf, 32);
	snprintf(text, sizeof(text), "{\"parent\":\"%s\"%s}", hex, more);
	return text;
}

/* Runs that are open, to be torn down before the ledger's session closes. */
static struct { const char *name; uint64_t at; } opened[4];
static unsigned runs;

static void
begin(void)
{
	restart();
	runs = 0;
}

static uint64_t
open_run(const char *name, const char *text)
{
	opened[runs].name = name;
	return opened[runs++].at = maker_add(&m, "s", "run", name, text);
}

static enum verify_verdict
end_and_verify(void)
{
	for (unsigned i = 0; i < runs; i++) {
		maker_add(&m, "s", "run", opened[i].name, of(opened[i].at, ",\"state\":\"closed\""));
		maker_add(&m, "s", "teardown", opened[i].name, of(opened[i].at, ""));
	}
	runs = 0;
	return close_and_verify();
}

/* From the outcome up to the run. */
static void
good_parents(void **state)
{
	uint64_t run, grant, decision;

	begin();
	run = open_run("r", "{\"state\":\"open\"}");
	grant = maker_add(&m, "s", "grant", "r", parent(run));
	decision = maker_add(&m, "s", "decision", "r", parent(run));
	maker_add(&m, "s", "outcome", "r", parent(maker_add(&m, "s", "use", "r", parent(grant))));
	maker_add(&m, "s", "outcome", "r", parent(decision));
	maker_add(&m, "s", "refusal", "r", parent(grant));
	maker_add(&m, "s", "grant", "r", parent(grant));
	open_run("child", of(run, ",\"state\":\"open\",\"parent_run\":\"r\""));
	maker_add(&m, "s", "coverage", NULL, "{\"parent\":7}");
	if (end_and_verify() != VERIFY_COMPLETE)
		case_say(&c);
	assert_int_equal(c.result.verdict, VERIFY_COMPLETE);
}

static void
bad_parents(void **state)
{
	static const char *const bodies[] = { ALLOWED "\"parent\":1}", ALLOWED "\"parent\":\"\"}",
	    ALLOWED "\"parent\":null}", ALLOWED "\"parent\":\"00\"}",
	    ALLOWED "\"parent\":\"00000000000000000000000000000000000000000000000000000000000000AA\"}",
	    ALLOWED "\"parent\":\"0000000000000000000000000000000000000000000000000000000000000000\"}" };
	/* a type, and what it may not name */
	static const char *const pairs[][2] = { { "use", "use" }, { "use", "teardown" },
	    { "outcome", "run" }, { "outcome", "grant" }, { "grant", "use" },
	    { "teardown", "grant" }, { "run", "open" }, { "run", "use" }, { "use", "refusal" } };
	const struct verify_finding *f;
	uint64_t at;
	size_t i;

	for (i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		begin();
		at = maker_add(&m, "s", "use", "r", bodies[i]);
		assert_int_equal(end_and_verify(), VERIFY_GAP);
		f = case_find(&c, "parent");
		assert_non_null(f);
		assert_int_equal(f->index, at);
		assert_int_equal(f->line, at + 1);
		assert_string_equal(f->type, "use");
		assert_int_equal(c.result.finding_count, 1);
		assert_int_equal(c.result.integrity.verdict, VERIFY_COMPLETE);
		assert_int_equal(c.result.completeness.verdict, VERIFY_GAP);
	}
	for (i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		begin();
		at = strcmp(pairs[i][1], "open") == 0 ? 0 :
		    maker_add(&m, "s", pairs[i][1], "r", "{}");
		maker_add(&m, "s", pairs[i][0], "r", parent(at));
		assert_int_equal(end_and_verify(), VERIFY_GAP);
		assert_non_null(f = case_find(&c, "parent"));
		assert_int_equal(f->index, at + 1);
	}
}

/* One finding, of that code and record. */
static void
finds_one(const char *code, uint64_t at)
{
	const struct verify_finding *f;

	if (end_and_verify() != VERIFY_GAP || c.result.finding_count != 1)
		case_say(&c);
	assert_int_equal(c.result.verdict, VERIFY_GAP);
	assert_int_equal(c.result.finding_count, 1);
	assert_non_null(f = case_find(&c, code));
	assert_int_equal(f->index, at);
	assert_int_equal(c.result.integrity.verdict, VERIFY_COMPLETE);
	assert_int_equal(c.result.completeness.verdict, VERIFY_GAP);
}

/* So many records between, that what was kept is forgotten. */
static void
crowd(unsigned n)
{
	while (n-- > 0)
		maker_add(&m, "s", "grant", "crowd", "{}");
}

static void
outcomes(void **state)
{
	uint64_t run, use, decision;
	unsigned far;

	begin();
	finds_one("parent", maker_add(&m, "s", "outcome", "r", "{}"));
	for (far = 0; far < 2; far++) {
		begin();
		run = open_run("r", "{\"state\":\"open\"}");
		use = maker_add(&m, "s", "use", "r", of(run, ""));
		decision = maker_add(&m, "s", "decision", "r", of(run, ""));
		maker_add(&m, "s", "outcome", "r", of(use, ""));
		maker_add(&m, "s", "outcome", "r", of(decision, ""));
		crowd(far * 400);
		finds_one("twice", maker_add(&m, "s", "outcome", "r", of(decision, ",\"a\":1")));
	}
}

/* What a run did was allowed, of that run, and under another record. */
static void
admissions(void **state)
{
	static const struct { const char *type, *more, *code; } cases[] = {
		{ "use", ",\"decision\":\"allow\"", NULL },
		{ "use", ",\"a\":{\"decision\":\"deny\"},\"decision\":\"allow\"", NULL },
		{ "decision", ",\"decision\":\"allow\"", NULL },
		{ "decision", ",\"decision\":\"ask\"", NULL },
		{ "refusal", ",\"decision\":\"deny\"", NULL },
		{ "use", ",\"decision\":\"deny\"", "refused" },
		{ "use", ",\"decision\":\"ask\"", "refused" },
		{ "use", ",\"decision\":\"allowed\"", "refused" },
		{ "use", ",\"decision\":true", "refused" },
		{ "use", ",\"a\":{\"decision\":\"allow\"}", "refused" },
		{ "use", "", "refused" },
		{ "decision", ",\"decision\":\"deny\"", "refused" },
		{ "decision", "", "refused" },
	};
	uint64_t run, at;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin();
		run = open_run("r", "{\"state\":\"open\"}");
		at = maker_add(&m, "s", cases[i].type, "r", under(run, cases[i].more));
		if (cases[i].code != NULL)
			finds_one(cases[i].code, at);
		else
			assert_int_equal(end_and_verify(), VERIFY_COMPLETE);
	}
}

/* Records that are good themselves, and admit nothing. */
static void
good_records_that_admit_nothing(void **state)
{
	static const char *const types[] = { "use", "decision", "refusal", "grant" };
	uint64_t run, at;
	unsigned far;
	size_t i;

	for (far = 0; far < 2; far++) {
		for (i = 0; i < 4; i++) {	/* what was done admits its outcome */
			begin();
			run = open_run("r", "{\"state\":\"open\"}");
			at = maker_add(&m, "s", "use", "r", of(run, ""));
			crowd(far * 400);
			finds_one("parent", maker_add(&m, "s", types[i], "r", of(at, "")));
		}
		for (i = 0; i < 4; i++) {	/* a grant's end */
			begin();
			run = open_run("r", "{\"state\":\"open\"}");
			at = maker_add(&m, "s", "grant", "r", of(run, ",\"state\":\"issued\",\"requests\":1"));
			at = maker_add(&m, "s", "grant", "r", of(at, ",\"state\":\"revoked\""));
			crowd(far * 400);
			finds_one("parent", maker_add(&m, "s", types[i], "r", of(at, "")));
		}
	}
}

/* Without a run, without a parent, with nothing in it. */
static void
nobody_s(void **state)
{
	static const char *const types[] = { "use", "decision", "outcome" };
	uint64_t run, at;
	size_t i;

	for (i = 0; i < 3; i++) {
		begin();
		run = open_run("r", "{\"state\":\"open\"}");
		at = i < 2 ? run : maker_add(&m, "s", "use", "r", of(run, ""));
		finds_one("parent", maker_add(&m, "s", types[i], NULL, of(at, "")));
		begin();
		finds_one("parent", maker_add(&m, "s", types[i], "r", ALLOWED "\"a\":1}"));
		begin();
		finds_one(i < 2 ? "refused" : "parent", maker_add(&m, "s", types[i], NULL, "{}"));
	}
}

/* An outcome of what was refused, or of what a person was to be asked first. */
static void
outcomes_of_nothing(void **state)
{
	uint64_t run, ask, at;
	unsigned far;

	for (far = 0; far < 2; far++) {
		begin();
		run = open_run("r", "{\"state\":\"open\"}");
		ask = maker_add(&m, "s", "decision", "r", under(run, ",\"decision\":\"ask\""));
		crowd(far * 400);
		finds_one("parent", maker_add(&m, "s", "outcome", "r", of(ask, "")));
		begin();
		run = open_run("r", "{\"state\":\"open\"}");
		at = maker_add(&m, "s", "use", "r", under(run, ",\"decision\":\"deny\""));
		crowd(far * 400);
		ask = maker_add(&m, "s", "outcome", "r", of(at, ""));
		assert_int_equal(end_and_verify(), VERIFY_GAP);
		assert_int_equal(c.result.finding_count, 2);
		assert_int_equal(case_find(&c, "refused")->index, at);
		assert_int_equal(case_find(&c, "parent")->index, ask);
	}
}

/* What is no request has no outcome, and admits all else that a decision does. */
static void
actions(void **state)
{
	static const char *const types[] = { "use", "decision", "grant", "refusal" };
	uint64_t run, action;
	unsigned i, far;

	for (far = 0; far < 2; far++) {
		begin();
		run = open_run("r", "{\"state\":\"open\"}");
		action = maker_add(&m, "s", "decision", "r", of(run, ",\"kind\":\"action\""));
		crowd(far * 400);
		for (i = 0; i < 4; i++)
			maker_add(&m, "s", types[i], "r", of(action, ""));
		assert_int_equal(end_and_verify(), VERIFY_COMPLETE);
		begin();
		run = open_run("r", "{\"state\":\"open\"}");
		action = maker_add(&m, "s", "decision", "r", of(run, ",\"kind\":\"action\""));
		crowd(far * 400);
		finds_one("parent", maker_add(&m, "s", "outcome", "r", of(action, "")));
	}
}

/* What a run has leads to that run; what a child has may lead to its parent's. */
static void
other_runs(void **state)
{
	static const char *const types[] = { "use", "decision", "grant", "outcome", "scan" };
	uint64_t run, use, at;
	unsigned i, far;

	for (i = 0; i < 5; i++) {
		for (far = 0; far < 2; far++) {
			begin();
			run = open_run("r", "{\"state\":\"open\"}");
			open_run("other", of(run, ",\"state\":\"open\""));
			use = maker_add(&m, "s", "use", "r", of(run, ""));
			crowd(far * 400);
			maker_add(&m, "s", "refusal", "other", of(run, ""));
			at = i == 3 ? use : run;
			finds_one("parent", maker_add(&m, "s", types[i], "other", of(at, "")));
		}
	}
}

/* A run's closing is of its own opening, and one below another of the run that it names. */
static void
runs_own(void **state)
{
	static const struct { const char *more; bool good; } cases[] = {
		{ ",\"state\":\"open\",\"parent_run\":\"r\"", true },
		{ ",\"state\":\"open\",\"parent_run\":\"r2\"", false },
		{ ",\"state\":\"open\",\"parent_run\":\"other\"", false },
		{ ",\"state\":\"closed\"", false },
	};
	uint64_t run, at;
	unsigned i, far;

	for (i = 0; i < 4; i++) {
		for (far = 0; far < 2; far++) {
			begin();
			run = open_run("r", "{\"state\":\"open\"}");
			crowd(far * 400);
			at = maker_add(&m, "s", "run", "other", of(run, cases[i].more));
			maker_add(&m, "s", "teardown", "other", "{}");
			(void)end_and_verify();
			if ((case_find(&c, "parent") == NULL) != cases[i].good)
				fail_msg("case %u, far %u", i, far);
			if (!cases[i].good)
				assert_int_equal(case_find(&c, "parent")->index, at);
		}
	}
}

/* A grant's state that a newer version has may mean that it is over. */
static void
grant_states(void **state)
{
	uint64_t run, grant;

	begin();
	run = open_run("r", "{\"state\":\"open\"}");
	grant = maker_add(&m, "s", "grant", "r", of(run, ",\"state\":\"halted\""));
	maker_add(&m, "s", "use", "r", of(grant, ""));
	assert_int_equal(end_and_verify(), VERIFY_NOT_ESTABLISHED);
	assert_int_equal(c.result.finding_count, 1);
	assert_int_equal(case_find(&c, "unknown_value")->index, grant);
	/* it hides nothing else */
	begin();
	run = maker_add(&m, "s", "outcome", "r", "{}");
	grant = maker_add(&m, "s", "grant", "r", of(run, ",\"state\":1"));
	assert_int_equal(end_and_verify(), VERIFY_GAP);
	assert_non_null(case_find(&c, "unknown_value"));
	assert_true(c.result.finding_count >= 3);
}

static uint64_t
use_of(uint64_t grant)
{
	return maker_add(&m, "s", "use", "r", of(grant, ""));
}

static void
grants(void **state)
{
	static const char *const terms[] = { "{\"uses\":1,\"requests\":1}",
	    "{\"action\":{\"uses\":9,\"requests\":9},\"x\":\"\\\",\",\"uses\":1,\"requests\":3}",
	    "{\"requests\":1000}" };
	static const unsigned uses[] = { 1, 3, 1000 };
	uint64_t grant, other;
	unsigned i, k, far;

	for (i = 0; i < 3; i++) {
		for (far = 0; far < 2; far++) {
			begin();
			grant = maker_add(&m, "s", "grant", "r", terms[i]);
			other = maker_add(&m, "s", "grant", "r", "{}");
			for (k = 0; k < uses[i]; k++)
				use_of(grant);
			for (k = 0; k < 5; k++)	/* it does not say how many */
				use_of(other);
			crowd(far * 400);
			maker_add(&m, "s", "refusal", "r", "{}");
			finds_one("twice", use_of(grant));
		}
	}
}

static uint64_t
consent(uint64_t run, const char *approval)
{
	char more[64];

	snprintf(more, sizeof(more), ",\"approval\":%s", approval);
	return maker_add(&m, "s", "decision", "r", of(run, more));
}

/* Of a person's consent to one there is one use, decision or grant, near or far. */
static void
consents_once(void **state)
{
	static const char *const types[] = { "use", "decision", "grant" };
	uint64_t run, one;
	unsigned first, then, far;

	for (first = 0; first < 3; first++) {
		for (then = 0; then < 3; then++) {
			for (far = 0; far < 2; far++) {
				begin();
				run = open_run("r", "{\"state\":\"open\"}");
				one = consent(run, "{\"asked\":\"x\",\"for\":\"once\"}");
				maker_add(&m, "s", types[first], "r", of(one, ""));
				crowd(far * 400);
				maker_add(&m, "s", "refusal", "r", of(one, ""));
				maker_add(&m, "s", "grant", "r", of(one, ",\"state\":\"revoked\""));
				finds_one("twice", maker_add(&m, "s", types[then], "r", of(one, "")));
			}
		}
	}
}

static void
consents(void **state)
{
	static const char *const wide[] = { "{\"for\":\"run\"}", "{}", "1", "\"once\"",
	    "{\"x\":{\"for\":\"once\"}}" };
	uint64_t run, one;
	unsigned i, far;

	for (i = 0; i < sizeof(wide) / sizeof(wide[0]); i++) {
		begin();
		run = open_run("r", "{\"state\":\"open\"}");
		one = consent(run, wide[i]);
		for (unsigned k = 0; k < 2000; k++)
			use_of(one);
		end_and_verify();
		assert_int_equal(c.result.finding_count, 0);
	}
	for (far = 0; far < 2; far++) {
		begin();
		run = open_run("r", "{\"state\":\"open\"}");
		one = consent(run, "{\"for\":\"once\"}");
		crowd(far * 400);
		finds_one("parent", maker_add(&m, "s", "outcome", "r", of(one, "")));
		/* nor is it of another run */
		begin();
		run = open_run("r", "{\"state\":\"open\"}");
		open_run("q", "{\"state\":\"open\"}");
		one = consent(run, "{\"for\":\"once\"}");
		crowd(far * 400);
		finds_one("parent", maker_add(&m, "s", "use", "q", of(one, "")));
	}
}

/* All grants are within what they are for, and kept or not. */
static void
grants_within(void **state)
{
	uint64_t grant[300];
	unsigned i, k;

	begin();
	for (i = 0; i < 300; i++)
		grant[i] = maker_add(&m, "s", "grant", "r",
		    i % 3 == 0 ? "{\"requests\":1}" : "{\"requests\":3}");
	for (k = 0; k < 3; k++)
		for (i = 0; i < 300; i++)
			if (k == 0 || i % 3 != 0)
				use_of(grant[i]);
	assert_int_equal(end_and_verify(), VERIFY_COMPLETE);
}

/* One that comes later is none: the ledger is made twice, since a leaf can
 * only be known before it is written where nothing links to it. */
static void
later_parent(void **state)
{
	uint64_t run;

	begin();
	maker_add(&m, "t", "open", NULL, "{}");
	maker_add(&m, "t", "run", "r", "{}");
	maker_add(&m, "t", "close", NULL, "{}");
	parent(2);
	/* the same stream t, behind the record that names its run */
	begin();
	maker_add(&m, "s", "use", "r", body);
	m.time_us -= 1234567;
	run = m.count;
	maker_add(&m, "t", "open", NULL, "{}");
	maker_add(&m, "t", "run", "r", "{}");
	maker_add(&m, "t", "close", NULL, "{}");
	assert_string_equal(body, parent(run + 1));
	assert_int_equal(end_and_verify(), VERIFY_GAP);
	assert_int_equal(case_find(&c, "parent")->index, 1);
}

/* More records between than are remembered: the second walk finds it. */
static void __attribute__((unused))
far_parent(void **state)
{
	uint64_t run, i;

	begin();
	run = open_run("r", "{\"state\":\"open\"}");
	for (i = 0; i < 90000; i++)
		maker_add(&m, "s", "grant", "r", "{}");
	maker_add(&m, "s", "use", "r", parent(run));
	assert_int_equal(end_and_verify(), VERIFY_COMPLETE);
}

/* Of a bundle only the run's own count, and its opening may name a run before. */
static void
parents_in_a_bundle(void **state)
{
	struct bundle_options options = { .run = "b" };
	char ledger[96], out[128];
	uint64_t a, b;
	int i;

	for (i = 0; i < 2; i++) {
		begin();
		a = open_run("a", "{\"state\":\"open\"}");
		b = maker_add(&m, "s", "run", "b", of(a, ",\"state\":\"open\""));
		maker_add(&m, "s", "use", "b", parent(i == 0 ? b : a));
		maker_add(&m, "s", "use", "a", parent(a));
		maker_add(&m, "s", "run", "b", of(b, ",\"state\":\"closed\""));
		maker_add(&m, "s", "teardown", "b", parent(b));
		assert_int_equal(end_and_verify(), i == 0 ? VERIFY_COMPLETE : VERIFY_GAP);
		snprintf(ledger, sizeof(ledger), "%.70s/made", c.base);
		snprintf(out, sizeof(out), "%.70s/bundle%d", c.base, i);
		options.ledger = ledger;
		options.out = out;
		assert_int_equal(bundle_write(&options, c.err, sizeof(c.err)), 0);
		case_verify(&c, out);
		assert_true((case_find(&c, "parent") != NULL) == (i == 1));
	}
}

static void
heads_entry(char *at, const char *name, uint64_t next, const uint8_t last[32], bool open)
{
	char hex[65];

	sprintf(at, "%s{\"stream\":\"%s\",\"next_seq\":%d,\"last\":\"%s\",\"open\":%s}",
	    at[-1] == '[' ? "" : ",", name, (int)next,
	    sodium_bin2hex(hex, sizeof(hex), last, 32), open ? "true" : "false");
}

enum { GOOD, SEQ, LAST, CLOSED, OMITTED, UNKNOWN, TWICE, FORM, MORE, CASES };

/* A table with one thing wrong. */
static void
heads(int which)
{
	static const uint8_t zeros[32];
	char *at = body + sprintf(body, "{\"streams\":[");
	uint8_t last[32];

	memcpy(last, m.stream[1].last, 32);
	last[3] ^= which == LAST;
	heads_entry(at, "s", m.stream[0].seq, m.stream[0].last, true);
	at += strlen(at);
	if (which != OMITTED)
		heads_entry(at, "t", m.stream[1].seq + (which == SEQ), last, which != CLOSED);
	at += strlen(at);
	if (which == UNKNOWN)
		heads_entry(at, "gone", 4, zeros, false);
	if (which == TWICE)
		heads_entry(at, "s", m.stream[0].seq, m.stream[0].last, true);
	strcat(at, which == FORM ? ",1]}" : which == MORE ? "],\"a\":1}" : "]}");
}

static void
tables_of_heads(void **state)
{
	const struct verify_finding *f;
	uint64_t at;
	int i;

	for (i = 0; i < CASES; i++) {
		begin();
		maker_add(&m, "t", "open", NULL, "{}");
		maker_add(&m, "t", "secret", NULL, "{}");
		maker_add(&m, "s", "secret", NULL, "{}");
		heads(i);
		at = maker_add(&m, "s", "heads", NULL, body);
		maker_add(&m, "t", "close", NULL, "{}");
		end_and_verify();
		f = case_find(&c, "heads");
		if ((c.result.verdict != VERIFY_COMPLETE) != (i != GOOD) ||
		    (f != NULL) != (i != GOOD) || (f != NULL && f->index != at)) {
			case_say(&c);
			fail_msg("case %d: %d", i, (int)c.result.verdict);
		}
	}
}

/* A stream cut out of the ledger, and everything signed again: the table of
 * heads still has it. */
static void
a_stream_removed(void **state)
{
	begin();
	maker_add(&m, "t", "open", NULL, "{}");
	maker_add(&m, "t", "close", NULL, "{}");
	heads(CLOSED);
	begin();
	memcpy(strstr(body, "\"next_seq\":1"), "\"next_seq\":1", 12);
	maker_add(&m, "s", "heads", NULL, body);
	assert_int_equal(end_and_verify(), VERIFY_GAP);
	assert_non_null(case_find(&c, "heads"));
}

/* Good records behind a NUL are counted, and none of them is followed. */
static void
behind_a_nul(void **state)
{
	const struct verify_finding *f;
	char dir[96], path[160];
	uint64_t at = 0;
	FILE *file;
	size_t i;

	begin();
	maker_add(&m, "s", "secret", NULL, "{}");
	maker_seal(&m);
	for (i = 0; i < 4; i++)
		maker_add(&m, "s", "secret", NULL, "{}");
	assert_int_equal(case_verify_maker(&c, &m, dir), VERIFY_NOT_ESTABLISHED);
	assert_int_equal(case_find(&c, "unsealed")->count, 4);
	for (i = 0; i < 3; i++)
		at += m.line[i].len + 1;
	snprintf(path, sizeof(path), "%s/records-%020d.jsonl", dir, 0);
	file = fopen(path, "r+b");
	assert_non_null(file);
	fseek(file, (long)at + 20, SEEK_SET);
	putc('\0', file);
	fclose(file);
	assert_int_equal(case_verify(&c, dir), VERIFY_NOT_ESTABLISHED);
	assert_int_equal(case_find(&c, "unsealed")->count, 1);
	assert_non_null(f = case_find(&c, "torn"));
	assert_int_equal(f->line, 4);
	assert_non_null(strstr(f->what, "2 records beyond"));
	assert_int_equal(c.result.size, 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_parents),
		cmocka_unit_test(outcomes),
		cmocka_unit_test(admissions),
		cmocka_unit_test(nobody_s),
		cmocka_unit_test(outcomes_of_nothing), cmocka_unit_test(actions),
		cmocka_unit_test(other_runs),
		cmocka_unit_test(runs_own),
		cmocka_unit_test(grant_states),
		cmocka_unit_test(grants),
		cmocka_unit_test(grants_within),
		cmocka_unit_test(consents_once),
		cmocka_unit_test(consents),
		cmocka_unit_test(bad_parents),
		cmocka_unit_test(later_parent),
		cmocka_unit_test(good_records_that_admit_nothing),
#ifndef __SANITIZE_ADDRESS__
		cmocka_unit_test(far_parent),
#endif
		cmocka_unit_test(parents_in_a_bundle),
		cmocka_unit_test(tables_of_heads),
		cmocka_unit_test(a_stream_removed),
		cmocka_unit_test(behind_a_nul)
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
