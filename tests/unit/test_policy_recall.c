/*
 * A scratch that has seen other decisions decides as a fresh one does: inputs
 * drawn from few values, so that most members repeat and some always differ.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "policy/input.h"
#include "policy/pack.h"
#include "same_decision.h"

#define ROUNDS 4000

#define S(text) { text, sizeof(text) - 1 }

static const char data[] = "{\"bindings\": {"
    "\"a\": {\"secret\": \"one\", \"hosts\": [\"a.example.com\"], \"allow\": [\"GET /x/**\", \"POST /x/y\"]},"
    "\"b\": {\"secret\": \"two\", \"hosts\": [\"a.example.com\", \"b.example.com\"], \"port\": 8443, \"allow\": [\"* /**\"]}},"
    "\"egress\": {\"allow\": [\"c.example.com\", \"*.example.net:8443\"], \"private\": []},"
    "\"dns\": {\"allow\": [\"d.example.com\"]}, \"files\": {\"read\": [\"/tmp/**\"], \"write\": []},"
    "\"grant\": {\"ttl_s\": 60, \"uses\": 2}, \"limits\": {\"requests\": 50, \"bytes_out\": 1000},"
    "\"tools\": {\"deny\": [\"Bash(rm *)\"], \"ask\": [\"Web*\"]}}";

static char dir[] = "/tmp/cs-recall-XXXXXX";

static int
make_dir(void **state)
{
	char path[80], err[512];
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/pack", dir);
	assert_int_equal(policy_default_pack_write(path, err, sizeof(err)), 0);
	snprintf(path, sizeof(path), "%s/pack/data.json", dir);
	assert_non_null(f = fopen(path, "w"));
	assert_true(fputs(data, f) >= 0);
	assert_int_equal(fclose(f), 0);
	return 0;
}

static int
remove_dir(void **state)
{
	char command[80];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

static struct policy_pack *
load(void)
{
	char path[80], err[512] = "";
	struct policy_pack *pack;

	snprintf(path, sizeof(path), "%s/pack", dir);
	if ((pack = policy_pack_load(path, err, sizeof(err))) == NULL)
		fail_msg("%s", err);
	return pack;
}

/* The same numbers every time. */
static uint32_t
draw(uint32_t n)
{
	static uint64_t x = 1;

	x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (uint32_t)(x >> 33) % n;
}

static struct policy_str
pick(const char *const *from, uint32_t n)
{
	const char *text = from[draw(n)];

	return (struct policy_str){ text, text != NULL ? strlen(text) : 0 };
}

#define PICK(...) pick((const char *const[]){ __VA_ARGS__ }, \
    sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

static int64_t
few(void)
{
	return (int64_t)draw(4) - 1;
}

/* -1 is no limit; few are too low for what any_input() has used. */
static int64_t
limit(int64_t low)
{
	uint32_t n = draw(10);

	return n == 0 ? low : n < 4 ? 1 << 20 : -1;
}

static struct policy_input
any_input(void)
{
	static const char *const secrets[] = { "one", "two", NULL, NULL },
	    *const bindings[] = { "a", "b", NULL, "a" };
	uint32_t n = draw(4);

	return (struct policy_input){
		.now_ns = 1700000000000000000 + (int64_t)draw(1000000),
		.run = { PICK("r1", "r2"), PICK(NULL, "p"), PICK(NULL), 1 },
		.agent = { PICK(NULL, "agent"), PICK(NULL) },
		.caller = { few(), few(), PICK(NULL), PICK(NULL) },
		.action = { PICK("http", "http", "http", "credential", "connect",
		    "tool", "file", "dns", "budget", "other", NULL),
		    PICK("GET", "POST", "use", "read", NULL),
		    PICK(NULL, "GET", "Bash", "WebFetch", "/tmp/x"),
		    PICK(NULL, "{\"command\":\"rm -r x\"}", "[1]") },
		.target = { PICK("https", "https", "http", NULL),
		    PICK("a.example.com", "b.example.com", "c.example.com",
		    "x.example.net", NULL), PICK("/x/y", "/x/z", "/q",
		    "/x/info/refs", NULL), PICK(NULL, "service=git-upload-pack"),
		    PICK(NULL), (const int64_t[]){ 443, 443, 8443, -1 }[draw(4)] },
		.secret = { pick(&secrets[n], 1), pick(&bindings[draw(8) == 0 ?
		    draw(4) : n], 1), few() },
		.grant = { PICK(NULL, "g"), few() },
		.budget = { draw(52), draw(3) * 300, draw(3), draw(1000) },
		.limits = { limit(20), limit(300), limit(1), limit(500) },
		.delegation = PICK(NULL, NULL, NULL, NULL, NULL, NULL, NULL,
		    "{\"scopes\":[\"a\"],\"expires\":1700000000}",
		    "{\"scopes\":[\"*\"],\"chain\":[{\"principal\":\"p\",\"scopes\":[\"*\"]}]}"),
	};
}

static void
decides_as_a_fresh_one(void **state)
{
	struct policy_scratch *old = policy_scratch_new(), *fresh;
	struct policy_pack *packs[2] = { load(), load() };
	struct policy_decision a, b;
	unsigned allowed = 0;

	(void)state;
	for (unsigned i = 0; i < ROUNDS; i++) {
		const struct policy_pack *pack = packs[i / 1000 % 2];
		struct policy_input in = any_input();

		fresh = policy_scratch_new();
		assert_non_null(fresh);
		policy_decide(pack, old, &in, &a);
		policy_decide(pack, fresh, &in, &b);
		assert_same_decision(&a, &b);
		policy_decide(pack, old, &in, &a);	/* all of it known now */
		assert_same_decision(&a, &b);
		/* Limits are met at about the same place. */
		assert_in_range(old->arena.steps, fresh->arena.steps / 2,
		    2 * fresh->arena.steps);
		allowed += a.verdict == POLICY_ALLOW;
		policy_scratch_free(fresh);
	}
	assert_in_range(allowed, ROUNDS / 20, ROUNDS - ROUNDS / 20);
	policy_scratch_free(old);
	policy_pack_unref(packs[0]);
	policy_pack_unref(packs[1]);
}

static size_t
used(const struct policy_scratch *scratch)
{
	return DECISION_ARENA_FIRST -
	    (size_t)(scratch->arena.end - scratch->arena.next);
}

static const struct policy_input plain_request = {
	.run = { S("r"), S("p"), { NULL, 0 }, 1 }, .caller = { -1, -1 },
	.action = { .kind = S("http"), .verb = S("GET") },
	.target = { .scheme = S("https"), .host = S("a.example.com"),
	    .path = S("/x/y"), .port = 443 },
	.secret = { S("one"), S("a"), 1 }, .grant.uses_left = -1,
	.limits = { -1, -1, -1, -1 },
};

static void
spares_work(void **state)
{
	struct policy_scratch *scratch = policy_scratch_new();
	struct policy_pack *pack = load();
	struct policy_decision out;
	struct policy_input in = plain_request;
	size_t first;

	(void)state;
	policy_decide(pack, scratch, &in, &out);
	assert_int_equal(out.verdict, POLICY_ALLOW);
	first = used(scratch);
	in.now_ns++;
	in.budget.requests++;
	in.budget.wall_ms += 3;
	policy_decide(pack, scratch, &in, &out);
	assert_int_equal(out.verdict, POLICY_ALLOW);
	assert_true(used(scratch) < first / 2);
	in.budget.requests = 51;	/* what is looked at anew decides anew */
	policy_decide(pack, scratch, &in, &out);
	assert_string_equal(out.rule, "budget/requests");
	policy_scratch_free(scratch);
	policy_pack_unref(pack);
}

/* Whatever was asked before: by steps of one and more, up and down again. */
static void
limits_hold_where_they_are(void **state)
{
	static const int64_t moves[] = {
		3, 4, 5, 6, 7, 6, 5, 4, 7, 5, 0, 5, 6, 5, 100, 4, 6, 3, INT64_MAX, 5
	};
	static const char *const rules[] = {
		"budget/requests", "budget/bytes_out", "budget/cost", "budget/wall_ms"
	};
	struct policy_scratch *old = policy_scratch_new(), *fresh;
	struct policy_pack *pack = load();
	struct policy_decision a, b;

	(void)state;
	for (unsigned i = 0; i < 4 * sizeof(moves) / sizeof(moves[0]); i++) {
		struct policy_input in = plain_request;
		int64_t *used[] = { &in.budget.requests, &in.budget.bytes_out,
			&in.budget.cost, &in.budget.wall_ms };
		int64_t *limits[] = { &in.limits.requests, &in.limits.bytes_out,
			&in.limits.cost, &in.limits.wall_ms };
		int64_t now = moves[i / 4];

		*used[i % 4] = now;
		*limits[i % 4] = 5;
		assert_non_null(fresh = policy_scratch_new());
		policy_decide(pack, old, &in, &a);
		policy_decide(pack, fresh, &in, &b);
		assert_same_decision(&a, &b);
		assert_string_equal(a.rule, now > 5 ? rules[i % 4] :
		    "binding/allow");
		if (i % 4 == 1 && now <= 5)
			assert_int_equal(a.max_bytes, 5 - now);
		policy_scratch_free(fresh);
	}
	policy_scratch_free(old);
	policy_pack_unref(pack);
}

/* A delegation ends at its second, also for what was allowed before. */
static void
a_delegation_ends(void **state)
{
	static const int64_t end = INT64_C(1700000000) * 1000000000;
	static const int64_t moves[] = { -9, -2, -1, 0, 1, -1, 0, 9, -5 };
	struct policy_scratch *scratch = policy_scratch_new();
	struct policy_pack *pack = load();
	struct policy_decision out;
	struct policy_input in = plain_request;

	(void)state;
	in.delegation = (struct policy_str)
	    S("{\"scopes\":[\"*\"],\"expires\":1700000000}");
	for (unsigned i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
		in.now_ns = end + moves[i];
		policy_decide(pack, scratch, &in, &out);
		assert_string_equal(out.rule, moves[i] < 0 ? "binding/allow" :
		    "delegation/expired");
	}
	policy_scratch_free(scratch);
	policy_pack_unref(pack);
}

/* What no rule looks at must be in order all the same. */
static void
known_answers_need_a_document(void **state)
{
	struct policy_scratch *scratch = policy_scratch_new();
	struct policy_pack *pack = load();
	struct policy_decision out;
	struct policy_input in = plain_request;

	(void)state;
	policy_decide(pack, scratch, &in, &out);
	assert_int_equal(out.verdict, POLICY_ALLOW);
	in.agent.name = (struct policy_str)S("\xff");
	policy_decide(pack, scratch, &in, &out);
	assert_string_equal(out.rule, "engine/input");
	in.agent.name = (struct policy_str)S("\xc3\xa9");
	in.delegation = (struct policy_str)S("{");
	policy_decide(pack, scratch, &in, &out);
	assert_string_equal(out.rule, "engine/input");
	in.delegation = (struct policy_str){ NULL, 0 };
	policy_decide(pack, scratch, &in, &out);
	assert_int_equal(out.verdict, POLICY_ALLOW);
	policy_scratch_free(scratch);
	policy_pack_unref(pack);
}

/* --- what functions look at ------------------------------------------- */

static uint64_t
bit(enum input_section section, const char *name)
{
	for (unsigned i = 0; i < INPUT_FIELDS; i++) {
		if (input_fields[i].section == section &&
		    strcmp(input_fields[i].name.str.p, name) == 0)
			return UINT64_C(1) << i;
	}
	fail_msg("no member %s", name);
	return 0;
}

static const struct plan_reads *
reads_of(const struct policy_pack *pack, const char *rule)
{
	char name[80];

	snprintf(name, sizeof(name), "g0.data.countersign.%s", rule);
	for (uint32_t i = 0; i < pack->plan->n_funcs; i++) {
		if (strcmp(pack->plan->funcs[i].name, name) == 0)
			return &pack->plan->funcs[i].reads;
	}
	fail_msg("no rule %s", rule);
	return NULL;
}

static void
reads_are_found(void **state)
{
	struct policy_pack *pack = load();
	const struct plan_reads *host = reads_of(pack, "host");
	const struct plan_reads *over = reads_of(pack, "over");
	const struct plan_reads *decision = reads_of(pack, "decision");

	(void)state;
	assert_int_equal(host->fields, bit(INPUT_TARGET, "host"));
	assert_int_equal(host->sections, 1u << INPUT_TARGET);
	/* A name that is known only when it runs: all of the section. */
	assert_int_equal(over->fields & (bit(INPUT_BUDGET, "cost") |
	    bit(INPUT_BUDGET, "wall_ms")), bit(INPUT_BUDGET, "cost") |
	    bit(INPUT_BUDGET, "wall_ms"));
	/* Through everything that it calls. */
	assert_true((decision->fields & bit(INPUT_TARGET, "path")) != 0);
	assert_true((decision->fields & bit(INPUT_NOW, "now_ns")) != 0);
	assert_true((decision->fields & bit(INPUT_DELEGATION, "delegation")) != 0);
	assert_true((reads_of(pack, "answer")->fields &
	    bit(INPUT_BUDGET, "requests")) == 0);
	policy_pack_unref(pack);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decides_as_a_fresh_one),
		cmocka_unit_test(spares_work),
		cmocka_unit_test(limits_hold_where_they_are),
		cmocka_unit_test(a_delegation_ends),
		cmocka_unit_test(known_answers_need_a_document),
		cmocka_unit_test(reads_are_found),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
