/*
 * Times: a recorder whose clock is set back, also between two sessions, says so
 * and its ledger holds together; a record that is earlier than the one before it,
 * or later than the time at which others vouched for it, does not pass.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <sodium.h>

#include "ledger/anchor/cosign.h"
#include "ledger/anchor/trust.h"
#include "must_ledger.h"
#include "verify_case.h"

#define HOUR_US INT64_C(3600000000)

static time_t back_s;	/* how far the recorder's clock is set back */

/* In place of the library's, for the recorder's thread too. */
int
clock_gettime(clockid_t id, struct timespec *at)
{
	int status = (int)syscall(SYS_clock_gettime, id, at);

	if (id == CLOCK_REALTIME)
		at->tv_sec -= back_s;
	return status;
}

/* ---- the writer ---- */

static void
session(struct scratch *scratch, time_t within_s)
{
	struct ledger *ledger = must_open(scratch);
	struct ledger_receipt receipt;

	assert_int_equal(scratch_append(ledger_port(ledger, 0), 1, 10, &receipt),
	    LEDGER_DURABLE);
	back_s += within_s;
	assert_int_equal(scratch_append(ledger_port(ledger, 0), 2, 10, &receipt),
	    LEDGER_DURABLE);
	assert_int_equal(ledger_close(ledger), 0);
}

static enum verify_verdict
verify_scratch(struct scratch *scratch)
{
	struct verify_case c;
	struct note_key key;
	enum verify_verdict verdict;
	char *text;
	size_t len;

	text = read_file(scratch->dir, "log.vkey", &len);
	assert_int_equal(note_key_parse(&key, text, len - 1), 0);
	free(text);
	case_init(&c, &key);
	verdict = case_verify(&c, scratch->dir);
	case_say(&c);
	case_free(&c);
	return verdict;
}

static void
test_set_back(void **state)
{
	static const time_t within[] = { 0, 3600 };
	struct scratch_read read;
	struct scratch scratch;
	uint64_t clocks;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		back_s = 0;
		scratch_init(&scratch, NULL);
		scratch.options.place = LEDGER_IN_THREAD;
		session(&scratch, within[i]);
		back_s += 7200;
		session(&scratch, 0);
		must_check(&scratch, &read);
		clocks = 0;
		for (uint64_t k = 0; k < read.count; k++)
			clocks += strcmp(read.lines[k].type, "clock") == 0;
		assert_int_equal(clocks, i == 0 ? 1 : 2);
		free(read.lines);
		assert_int_equal(verify_scratch(&scratch), VERIFY_COMPLETE);
		scratch_remove(&scratch);
	}
	back_s = 0;
}

/* ---- the verifier ---- */

/* A ledger of n records, of which the one at `at` is of that type and so much
 * earlier than the one before it. */
static void
make(struct maker *maker, unsigned n, unsigned at, const char *type, int64_t back_us)
{
	maker_init(maker);
	maker_add(maker, "broker", "open", NULL, "{}");
	for (unsigned i = 1; i + 1 < n; i++) {
		if (i == at)
			maker->time_us -= back_us;
		maker_add(maker, "broker", i == at ? type : "secret", NULL, "{}");
	}
	maker_add(maker, "broker", "close", NULL, "{}");
	maker_seal(maker);
}

static void
test_earlier(void **state)
{
	static const unsigned places[] = { 1, 2, 1000, 4095, 4096, 4097, 8998 };
	const struct verify_finding *f;
	struct verify_case c;
	struct maker maker;

	(void)state;
	for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		make(&maker, 9000, places[i], "secret", MAKER_STEP_US + 1);
		case_init(&c, &maker.key);
		assert_int_equal(case_verify_maker(&c, &maker, NULL), VERIFY_GAP);
		f = case_find(&c, "clock");
		assert_non_null(f);
		assert_int_equal(f->index, places[i]);
		assert_int_equal(c.result.finding_count, 1);
		case_free(&c);
		maker_free(&maker);
	}
}

static void
test_said(void **state)
{
	struct verify_case c;
	struct maker maker;

	(void)state;
	make(&maker, 9000, 4097, "clock", HOUR_US);
	case_init(&c, &maker.key);
	assert_int_equal(case_verify_maker(&c, &maker, NULL), VERIFY_COMPLETE);
	case_free(&c);
	maker_free(&maker);
	make(&maker, 9000, 4097, "secret", MAKER_STEP_US);	/* the same time */
	case_init(&c, &maker.key);
	assert_int_equal(case_verify_maker(&c, &maker, NULL), VERIFY_COMPLETE);
	case_free(&c);
	maker_free(&maker);
}

/* A witness who cosigned that many seconds after the last record. */
static enum verify_verdict
witnessed(struct verify_case *c, const struct maker *maker, int64_t after_s)
{
	uint8_t seed[32] = { 7 }, pk[NOTE_PK_LEN], sk[NOTE_SK_LEN];
	char line[COSIGN_LINE_MAX + 1], note[CHECKPOINT_NOTE_MAX + sizeof(line) + 2];
	char dir[96], anchors[128];
	struct trust trust = { .logs = 1, .witnesses = 1, .quorum = 1 };
	const char *text = maker->checkpoint;
	int n;

	crypto_sign_seed_keypair(pk, sk, seed);
	assert_int_equal(note_key_make(&trust.witness[0], "witness.example.com/w",
	    NOTE_COSIGNATURE_V1, pk), 0);
	trust.log[0].key = maker->key;
	n = cosign_line(text, (size_t)(strstr(text, "\n\n") + 1 - text), &trust.witness[0],
	    sk, (uint64_t)(maker->time_us / 1000000 + after_s), line, sizeof(line));
	assert_true(n > 0);
	n = snprintf(note, sizeof(note), "%s%s\n", text, line);
	assert_true(n > 0 && n < (int)sizeof(note));
	(void)case_verify_maker(c, maker, dir);
	snprintf(anchors, sizeof(anchors), "%s/anchors", dir);
	assert_int_equal(mkdir(anchors, 0700), 0);
	write_file(anchors, "cosigned", note, (size_t)n);
	write_file(anchors, "checkpoint", note, (size_t)n - 1);
	c->options.trust = &trust;
	(void)case_verify(c, dir);
	c->options.trust = NULL;
	return c->result.verdict;
}

static void
test_later_than_vouched(void **state)
{
	static const struct { int64_t after_s; enum verify_verdict want; } cases[] = {
		{ 0, VERIFY_COMPLETE }, { 86400, VERIFY_COMPLETE },
		{ -290, VERIFY_COMPLETE }, { -400, VERIFY_NOT_ESTABLISHED },
		{ -86400, VERIFY_NOT_ESTABLISHED },
	};
	struct verify_case c;
	struct maker maker;

	(void)state;
	make(&maker, 300, 0, "", 0);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		case_init(&c, &maker.key);
		assert_int_equal(witnessed(&c, &maker, cases[i].after_s), cases[i].want);
		assert_int_equal(c.result.anchoring.verdict, cases[i].want);
		assert_true((case_find(&c, "clock") != NULL) ==
		    (cases[i].want != VERIFY_COMPLETE));
		case_free(&c);
	}
	maker_free(&maker);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set_back),
		cmocka_unit_test(test_earlier),
		cmocka_unit_test(test_said),
		cmocka_unit_test(test_later_than_vouched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
