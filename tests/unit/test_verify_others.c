/*
 * What others signed, held against the records: a checkpoint of another history
 * is evidence at any size, also at one that the log of all does not have.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>
#include <sodium.h>

#include "ledger/anchor/cosign.h"
#include "ledger/anchor/trust.h"
#include "ledger/bundle/bundle.h"
#include "verify_case.h"

#define RECORDS 90
#define SIZE 33		/* no checkpoint has it */
#define WITNESSES 2

static struct maker m;
static struct verify_case c;
static char dir[96], anchors[128];

static int
begin(void **state)
{
	(void)state;
	maker_init(&m);
	maker_usual(&m, RECORDS);
	case_init(&c, &m.key);
	assert_int_equal(case_verify_maker(&c, &m, dir), VERIFY_COMPLETE);
	snprintf(anchors, sizeof(anchors), "%s/anchors", dir);
	assert_int_equal(mkdir(anchors, 0700), 0);
	return 0;
}

static int
end(void **state)
{
	(void)state;
	case_free(&c);
	maker_free(&m);
	return 0;
}

/* The log's note of a tree: its own of that size, or of another history. */
static void
sign(const char *origin, uint64_t size, bool own, char *out, size_t cap)
{
	struct checkpoint at = { .size = size };
	struct tree_frontier tree;
	struct note_key key;

	assert_int_equal(note_key_make(&key, origin, NOTE_ED25519, m.key.pk), 0);
	snprintf(at.origin, sizeof(at.origin), "%s", origin);
	tree_frontier_init(&tree);
	for (uint64_t i = 0; i < size; i++)
		assert_int_equal(tree_frontier_append(&tree, m.line[i].leaf), 0);
	tree_frontier_root(&tree, at.root);
	if (!own)
		at.root[7] ^= 1;
	assert_true(checkpoint_sign(&at, &key, m.sk, out, cap) > 0);
}

/* With a witness's line behind it. */
static void
cosign(const char *note, const struct note_key *witness, const uint8_t *sk,
    int64_t time_s, char *out, size_t cap)
{
	char line[COSIGN_LINE_MAX + 1];

	assert_true(cosign_line(note, (size_t)(strstr(note, "\n\n") + 1 - note), witness,
	    sk, (uint64_t)time_s, line, sizeof(line)) > 0);
	assert_true(snprintf(out, cap, "%s%s\n", note, line) < (int)cap);
}

struct scene {
	struct trust trust;
	uint8_t sk[WITNESSES][NOTE_SK_LEN];
	char text[16384];
};

static void
set_scene(struct scene *s)
{
	uint8_t pk[NOTE_PK_LEN];

	memset(s, 0, sizeof(*s));
	s->trust.logs = s->trust.witnesses = s->trust.quorum = 1;
	s->trust.log[0].key = m.key;
	for (uint8_t i = 0; i < WITNESSES; i++) {
		const uint8_t seed[32] = { 7, i };
		const char name[] = { 'w', (char)('1' + i), '\0' };

		crypto_sign_seed_keypair(pk, s->sk[i], seed);
		assert_int_equal(note_key_make(&s->trust.witness[i], name,
		    NOTE_COSIGNATURE_V1, pk), 0);
	}
}

/* One more entry of anchors/cosigned. */
static void
keep_by(struct scene *s, unsigned witness, int64_t time_s, const char *origin,
    uint64_t size, bool own)
{
	char note[CHECKPOINT_NOTE_MAX + 1], both[CHECKPOINT_NOTE_MAX + COSIGN_LINE_MAX + 3];

	sign(origin, size, own, note, sizeof(note));
	cosign(note, &s->trust.witness[witness], s->sk[witness], time_s, both, sizeof(both));
	strcat(s->text, both);
	write_file(anchors, "cosigned", s->text, strlen(s->text));
}

static void
keep(struct scene *s, const char *origin, uint64_t size, bool own)
{
	keep_by(s, 0, m.time_us / 1000000, origin, size, own);
}

/* The verdict without a policy and with one must be the same. */
static enum verify_verdict
verdict(const struct scene *s)
{
	enum verify_verdict first = case_verify(&c, dir);

	c.options.trust = &s->trust;
	assert_int_equal(case_verify(&c, dir), first);
	c.options.trust = NULL;
	return first;
}

static void
test_another_history(void **state)
{
	struct scene *s = malloc(sizeof(*s));

	(void)state;
	assert_non_null(s);
	set_scene(s);
	keep(s, MAKER_ORIGIN, SIZE, true);
	keep(s, "ledger.example/another", SIZE + 1, false);	/* none of ours */
	keep(s, MAKER_ORIGIN, m.count, true);
	assert_int_equal(verdict(s), VERIFY_COMPLETE);
	set_scene(s);
	keep(s, MAKER_ORIGIN, SIZE, true);
	keep(s, MAKER_ORIGIN, SIZE, false);	/* both of one size */
	keep(s, MAKER_ORIGIN, m.count, true);
	assert_int_equal(verdict(s), VERIFY_GAP);
	assert_non_null(case_find(&c, "fork"));
	assert_int_equal(c.result.anchoring.verdict, VERIFY_GAP);
	set_scene(s);
	keep(s, MAKER_ORIGIN, 1, false);
	keep(s, MAKER_ORIGIN, m.count, true);
	assert_int_equal(verdict(s), VERIFY_GAP);
	free(s);
}

/* Whose signature is not the log's proves nothing. */
static void
test_not_the_logs(void **state)
{
	struct scene *s = malloc(sizeof(*s));

	(void)state;
	assert_non_null(s);
	set_scene(s);
	m.sk[3] ^= 1;
	keep(s, MAKER_ORIGIN, SIZE, false);
	m.sk[3] ^= 1;
	keep(s, MAKER_ORIGIN, m.count, true);
	assert_int_equal(verdict(s), VERIFY_COMPLETE);
	free(s);
}

/* A checkpoint that was stamped stands in a file of its own. */
static void
test_stamped(void **state)
{
	char note[CHECKPOINT_NOTE_MAX + 1];

	(void)state;
	sign(MAKER_ORIGIN, SIZE, true, note, sizeof(note));
	write_file(anchors, "00000000000000000033.note", note, strlen(note));
	assert_int_equal(case_verify(&c, dir), VERIFY_COMPLETE);
	sign(MAKER_ORIGIN, SIZE, false, note, sizeof(note));
	write_file(anchors, "00000000000000000033.note", note, strlen(note));
	assert_int_equal(case_verify(&c, dir), VERIFY_GAP);
	assert_non_null(case_find(&c, "fork"));
}

/* ---- how far, by how many, and since when ---- */

static void
anchored(const struct scene *s, enum verify_verdict anchoring, uint64_t size, int64_t time_s)
{
	c.options.trust = &s->trust;
	assert_int_equal(case_verify(&c, dir), anchoring);
	c.options.trust = NULL;
	if (c.result.anchoring.verdict != anchoring)
		print_error("%s\n", c.result.anchoring.text);
	assert_int_equal(c.result.anchoring.verdict, anchoring);
	assert_int_equal(c.result.anchored, size);
	assert_int_equal(c.result.anchored_s, time_s);
}

/* Of two who are wanted, what both vouch for, since the later one does. */
static void
test_quorum(void **state)
{
	const int64_t then = m.time_us / 1000000;
	struct scene *s = malloc(sizeof(*s));

	(void)state;
	assert_non_null(s);
	set_scene(s);
	s->trust.witnesses = 2;
	keep_by(s, 0, then + 20, MAKER_ORIGIN, m.count, true);
	anchored(s, VERIFY_COMPLETE, m.count, then + 20);
	s->trust.quorum = 2;
	anchored(s, VERIFY_NOT_ESTABLISHED, 0, 0);
	keep_by(s, 1, then + 10, MAKER_ORIGIN, SIZE, true);
	anchored(s, VERIFY_NOT_ESTABLISHED, SIZE, then + 20);
	keep_by(s, 1, then + 30, MAKER_ORIGIN, m.count, true);
	anchored(s, VERIFY_COMPLETE, m.count, then + 30);
	free(s);
}

/* Lately said, and of all that is there. */
static void
test_age(void **state)
{
	const int64_t now = (int64_t)time(NULL);
	struct scene *s = malloc(sizeof(*s));

	(void)state;
	assert_non_null(s);
	set_scene(s);
	s->trust.witnesses = 2;
	s->trust.max_age_s = 3600;
	keep_by(s, 0, now - 7200, MAKER_ORIGIN, m.count, true);
	anchored(s, VERIFY_NOT_ESTABLISHED, m.count, now - 7200);
	keep_by(s, 1, now, MAKER_ORIGIN, SIZE, true);	/* not of what came since */
	anchored(s, VERIFY_NOT_ESTABLISHED, m.count, now - 7200);
	keep_by(s, 0, now, MAKER_ORIGIN, m.count, true);	/* it said so again */
	anchored(s, VERIFY_COMPLETE, m.count, now - 7200);
	free(s);
}

/* A clock that is days ahead tells nothing. */
static void
test_future(void **state)
{
	const int64_t now = (int64_t)time(NULL);
	struct scene *s = malloc(sizeof(*s));

	(void)state;
	assert_non_null(s);
	set_scene(s);
	keep_by(s, 0, now + 2 * 86400, MAKER_ORIGIN, m.count, true);
	anchored(s, VERIFY_NOT_ESTABLISHED, 0, 0);
	keep_by(s, 0, now, MAKER_ORIGIN, m.count, true);
	anchored(s, VERIFY_COMPLETE, m.count, now);
	free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_another_history, begin, end),
		cmocka_unit_test_setup_teardown(test_not_the_logs, begin, end),
		cmocka_unit_test_setup_teardown(test_stamped, begin, end),
		cmocka_unit_test_setup_teardown(test_quorum, begin, end),
		cmocka_unit_test_setup_teardown(test_age, begin, end),
		cmocka_unit_test_setup_teardown(test_future, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
