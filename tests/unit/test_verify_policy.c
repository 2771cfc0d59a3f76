/* The policy packs that records name: each is brought into force by an `open` or by
 * a `policy` record before it, or the verifier says which record is the first that
 * names another. */
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
#include "ledger/verify/in_force.h"
#include "verify_made.h"

#define BATCH 1500	/* more than one */
#define SEGMENT 65536

static char pack_name[4][RECORD_POLICY_LEN + 1];

/* The number's pack; 0 is the one that the maker begins with. */
static const char *
pack(unsigned i)
{
	snprintf(pack_name[i % 4], sizeof(pack_name[0]), "sha256:%064x", i);
	return i == 0 ? MAKER_POLICY : pack_name[i % 4];
}

static uint64_t
add(const char *type, const char *run, const char *body)
{
	return maker_add(&m, "s", type, run, body);
}

/* A record under that pack. */
static uint64_t
under(unsigned i, const char *run)
{
	m.policy = pack(i);
	return add("secret", run, "{}");
}

/* Under the pack in force until now, as the broker does it. */
static uint64_t
bring_in(const char *stream, unsigned i)
{
	char body[256];

	snprintf(body, sizeof(body), "{\"before\":\"%s\",\"after\":\"%s\",\"bindings\":1}",
	    m.policy != NULL ? m.policy : MAKER_POLICY, pack(i));
	return maker_add(&m, stream, "policy", NULL, body);
}

/* The ledger, closed: one finding, that the record at `at` names another pack. */
static void
finds(uint64_t at)
{
	const struct verify_finding *f;

	assert_int_equal(close_and_verify(), VERIFY_GAP);
	f = case_find(&c, "policy");
	if (f == NULL || f->index != at || c.result.finding_count != 1)
		case_say(&c);
	assert_non_null(f);
	assert_int_equal(f->index, at);
	assert_int_equal(f->verdict, VERIFY_GAP);
	assert_int_equal(c.result.finding_count, 1);
	assert_int_equal(c.result.integrity.verdict, VERIFY_COMPLETE);
	assert_int_equal(c.result.completeness.verdict, VERIFY_GAP);
}

static void
finds_nothing(void)
{
	if (close_and_verify() != VERIFY_COMPLETE)
		case_say(&c);
	assert_int_equal(c.result.verdict, VERIFY_COMPLETE);
}

/* Requests that began before a change go on under the old pack, and it may come
 * back; alone, and in batches where nothing else is. */
static void
brought_in(void **state)
{
	unsigned i, n;

	for (n = 1; n <= BATCH; n += BATCH - 1) {
		restart();
		bring_in("s", 1);
		for (i = 0; i < n; i++)
			under(i % 3 == 0 ? 0 : 1, NULL);
		m.policy = pack(1);
		bring_in("s", 0);
		for (i = 0; i < n; i++)
			under(0, NULL);
		finds_nothing();
	}
}

static void
not_brought_in(void **state)
{
	unsigned i, n;
	uint64_t at;

	for (n = 1; n <= BATCH; n += BATCH - 1) {
		restart();
		for (i = 0; i < n; i++)
			under(0, NULL);
		at = under(1, NULL);
		for (i = 0; i < n; i++)
			under(i % 3 == 0 ? 0 : 1, NULL);
		finds(at);
	}
}

/* The record comes behind; it says that another was refused; it says nothing. */
static void
of_no_use(void **state)
{
	static const char *const bodies[] = { "{}", "{\"after\":1}", "{\"after\":\"sha256:1\"}",
	    "{\"before\":\"" MAKER_POLICY "\",\"refused\":\"policy/bad-pack\",\"source\":\"bundle\"}" };
	uint64_t at;
	unsigned i;

	for (i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		restart();
		add("policy", NULL, bodies[i]);
		finds(under(1, NULL));
	}
	restart();
	at = under(1, NULL);
	bring_in("s", 1);
	under(1, NULL);
	finds(at);
	restart();
	bring_in("s", 1);
	finds(under(2, NULL));
}

/* Each session begins with the pack of its open; those of before are over. */
static void
sessions(void **state)
{
	unsigned again;

	for (again = 0; again < 2; again++) {
		restart();
		bring_in("s", 1);
		under(1, NULL);
		add("close", NULL, "{}");
		m.policy = pack(2);
		add("open", NULL, "{}");
		under(2, NULL);
		if (again == 0)
			finds_nothing();
		else
			finds(under(1, NULL));
	}
}

/* What one stream says of the ledger's packs is so for the others, too. */
static void
streams(void **state)
{
	unsigned before;
	uint64_t at;

	for (before = 0; before < 2; before++) {
		restart();
		if (before == 1)
			bring_in("s", 1);
		maker_add(&m, "t", "open", NULL, "{}");
		if (before == 0)
			bring_in("s", 1);
		m.policy = pack(1);
		at = maker_add(&m, "t", "secret", NULL, "{}");
		maker_add(&m, "t", "close", NULL, "{}");
		if (before == 0)
			finds_nothing();
		else
			finds(at);
	}
}

/* More than are kept: then it is not known, and is said. */
static void
many(void **state)
{
	unsigned i;

	restart();
	for (i = 1; i <= IN_FORCE_MAX; i++)
		bring_in("s", i);
	under(1, NULL);
	finds_nothing();
	restart();
	for (i = 1; i <= IN_FORCE_MAX + 1; i++)
		bring_in("s", i);
	under(1, NULL);
	assert_int_equal(close_and_verify(), VERIFY_NOT_ESTABLISHED);
	assert_int_equal(c.result.finding_count, 1);
	assert_int_equal(case_find(&c, "policy")->verdict, VERIFY_NOT_ESTABLISHED);
}

/* A run whose records are under the packs, in order; policy: brought in before the
 * second one.  Its opening is under the first. */
static void
make_run(unsigned first, unsigned second, const char *whose, bool policy)
{
	char body[128], hex[65];
	uint64_t run;

	restart();
	bring_in("s", 1);
	under(1, NULL);
	m.policy = pack(first);
	run = add("run", "r", "{\"state\":\"open\"}");
	if (policy)
		bring_in("s", second);
	under(second, whose);
	under(first, "r");
	m.policy = pack(second);
	sodium_bin2hex(hex, sizeof(hex), m.line[run].leaf, 32);
	snprintf(body, sizeof(body), "{\"state\":\"closed\",\"parent\":\"%s\"}", hex);
	m.policy = pack(first);
	add("run", "r", body);
	add("teardown", "r", "{}");
}

/* Of the bundle's run; the packs themselves are not in it. */
static const struct verify_finding *
bundle_finds(void)
{
	char dir[96], out[128], err[512];
	struct bundle_options options = { .ledger = dir, .run = "r", .out = out };

	snprintf(out, sizeof(out), "%s/bundle", c.base);
	remove_tree(out);
	add("close", NULL, "{}");
	maker_seal(&m);
	(void)case_verify_maker(&c, &m, dir);
	if (bundle_write(&options, err, sizeof(err)) != 0)
		fail_msg("%s", err);
	case_verify(&c, out);
	return case_find(&c, "policy");
}

/* What stands before a bundle may have brought in what a run's later records name:
 * it is not known, and is said; of other runs' it is not asked. */
static void
bundles(void **state)
{
	make_run(0, 1, "r", true);
	assert_null(bundle_finds());
	make_run(0, 1, "another", false);
	assert_null(bundle_finds());
	make_run(0, 1, NULL, false);
	assert_null(bundle_finds());
	make_run(0, 1, "r", false);
	assert_non_null(bundle_finds());
	assert_int_equal(bundle_finds()->verdict, VERIFY_NOT_ESTABLISHED);
	assert_int_equal(case_find(&c, "policy")->index, 4);
	assert_int_not_equal(c.result.verdict, VERIFY_COMPLETE);
	make_run(0, 2, "r", false);
	assert_non_null(bundle_finds());
}

/* ---- from a saved head on ---- */

static void
add_heads(void)
{
	char body[256], hex[65];

	snprintf(body, sizeof(body), "{\"streams\":[{\"stream\":\"s\",\"next_seq\":%d,"
	    "\"last\":\"%s\",\"open\":true}]}", (int)m.stream[0].seq,
	    sodium_bin2hex(hex, sizeof(hex), m.stream[0].last, 32));
	add("heads", NULL, body);
}

/* Two segments; pack 1 is brought in by the first.  Behind the saved head stands a
 * record under the pack `late`. */
static enum verify_verdict
since(unsigned late)
{
	char dir[96], head[96];

	snprintf(dir, sizeof(dir), "%s/ledger", c.base);
	snprintf(head, sizeof(head), "%s/head", c.base);
	remove_tree(dir);
	restart();
	bring_in("s", 1);
	m.policy = pack(1);
	while (m.count < SEGMENT)
		add("secret", NULL, "{}");
	add_heads();
	under(1, NULL);
	maker_seal(&m);
	write_file(c.base, "head", m.checkpoint, strlen(m.checkpoint));
	under(1, NULL);
	under(late, NULL);
	add("close", NULL, "{}");
	maker_seal(&m);
	maker_save(&m, dir, SEGMENT);
	c.options.head = head;
	c.options.since = true;
	(void)case_verify(&c, dir);
	c.options.head = NULL;
	c.options.since = false;
	return c.result.verdict;
}

/* What came before the saved head is read again where a pack may come from there. */
static void
since_a_head(void **state)
{
	assert_int_equal(since(1), VERIFY_COMPLETE);
	assert_int_equal(since(0), VERIFY_COMPLETE);
	assert_int_equal(since(2), VERIFY_GAP);
	assert_int_equal(c.result.finding_count, 1);
	assert_int_equal(case_find(&c, "policy")->index, SEGMENT + 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(brought_in),
		cmocka_unit_test(not_brought_in),
		cmocka_unit_test(of_no_use),
		cmocka_unit_test(sessions),
		cmocka_unit_test(streams),
		cmocka_unit_test(many),
		cmocka_unit_test(bundles),
		cmocka_unit_test(since_a_head),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
