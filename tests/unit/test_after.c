/*
 * What others said last: the file that the anchoring process writes of it, and what
 * somebody with a trust policy makes of that.  The rest is in scenario not_before.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "anchor/recent.h"
#include "ledger/anchor/after.h"
#include "ledger/evidence/evidence.h"

#define ORIGIN "ledger.example/test"
#define NOW 1700000000

static struct note_key log_key, witness[CONF_WITNESSES_MAX];
static uint8_t log_sk[NOTE_SK_LEN], witness_sk[CONF_WITNESSES_MAX][NOTE_SK_LEN];
static struct conf_anchors conf;
static struct recent recent;
static struct trust trust;
static char dir[64];
static int dirfd_;

static void
key(struct note_key *out, uint8_t sk[NOTE_SK_LEN], const char *name, enum note_type type,
    uint8_t seed)
{
	uint8_t bytes[32] = { seed, 1 }, pk[NOTE_PK_LEN];

	crypto_sign_seed_keypair(pk, sk, bytes);
	assert_int_equal(note_key_make(out, name, type, pk), 0);
}

static int
setup(void **state)
{
	char name[NOTE_NAME_MAX + 1];

	(void)state;
	assert_true(sodium_init() >= 0);
	key(&log_key, log_sk, ORIGIN, NOTE_ED25519, 1);
	for (uint8_t i = 0; i < CONF_WITNESSES_MAX; i++) {
		snprintf(name, sizeof(name), "witness.example.com/%0200u", i);
		key(&witness[i], witness_sk[i], name, NOTE_COSIGNATURE_V1, (uint8_t)(10 + i));
	}
	snprintf(dir, sizeof(dir), "/tmp/cs-after-XXXXXX");
	assert_non_null(mkdtemp(dir));
	dirfd_ = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return 0;
}

static int
teardown(void **state)
{
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/" ANCHORS_RECENT, dir);
	unlink(path);
	rmdir(dir);
	close(dirfd_);
	return 0;
}

static int
begin(void **state)
{
	static char local[] = "local";

	(void)state;
	for (unsigned i = 0; i < ANCHOR_PARTIES_MAX; i++)
		free(recent.party[i].token);
	memset(&recent, 0, sizeof(recent));
	memset(&trust, 0, sizeof(trust));
	conf = (struct conf_anchors){ .witnesses = CONF_WITNESSES_MAX,
	    .authorities = CONF_AUTHORITIES_MAX };
	for (unsigned i = 0; i < CONF_AUTHORITIES_MAX; i++)
		conf.authority[i].name = local;
	memcpy(trust.witness, witness, sizeof(witness));
	trust.witnesses = CONF_WITNESSES_MAX;
	trust.quorum = 1;
	return 0;
}

static void
make_note(uint64_t size, char note[COSIGN_PLAIN_MAX + 1])
{
	struct checkpoint at = { .origin = ORIGIN, .size = size, .root = { (uint8_t)size } };

	assert_true(checkpoint_sign(&at, &log_key, log_sk, note, COSIGN_PLAIN_MAX + 1) > 0);
}

static void
cosign(unsigned i, uint64_t size, uint64_t time_s)
{
	char note[COSIGN_PLAIN_MAX + 1], line[COSIGN_LINE_MAX + 1];

	make_note(size, note);
	assert_true(cosign_line(note, (size_t)(strstr(note, "\n\n") + 1 - note), &witness[i],
	    witness_sk[i], time_s, line, sizeof(line)) > 0);
	recent_cosigned(&recent, i, note, line);
}

/* What the file holds, to be freed. */
static struct after *
kept(size_t *len)
{
	struct after *after;
	char *text;

	recent_keep(&recent, dirfd_, &conf);
	assert_false(recent.changed);
	text = evidence_read(dirfd_, ANCHORS_RECENT, AFTER_BYTES_MAX, len);
	assert_non_null(text);
	after = after_parse(text, *len);
	assert_non_null(after);
	free(text);
	return after;
}

static struct after_answer
asked(uint64_t size)
{
	struct after_answer answer;
	struct checkpoint at = { .origin = ORIGIN, .size = size };
	size_t len;
	struct after *after = kept(&len);

	assert_null(after_misfit(after, &at, witness, CONF_WITNESSES_MAX, INT64_MAX));
	after_ask(after, ORIGIN, size, &trust, &answer);
	after_free(after);
	return answer;
}

/* Of several notes each one's last word, and as many as are wanted. */
static void
test_quorum(void **state)
{
	(void)state;
	cosign(0, 5, NOW);
	cosign(1, 5, NOW + 10);
	cosign(2, 4, NOW - 100);
	cosign(3, 7, NOW + 20);
	for (unsigned i = 0; i < 4; i++) {
		static const int64_t want[] = { NOW + 20, NOW + 10, NOW, NOW - 100 };

		trust.quorum = i + 1;
		assert_int_equal(asked(9).verdict, AFTER_GOOD);
		assert_int_equal(asked(9).time_s, want[i]);
		assert_int_equal(asked(9).latest_s, NOW + 20);
	}
	trust.quorum = 5;
	assert_int_equal(asked(9).verdict, AFTER_SHORT);
	trust.quorum = 1;
	trust.stamps = trust.authorities = 1;
	assert_int_equal(asked(9).verdict, AFTER_SHORT);
	cosign(0, 8, NOW + 30);
	trust.stamps = 0;
	assert_int_equal(asked(9).time_s, NOW + 30);
}

/* Everybody there can be, with names and tokens as long as they can be: it is a body
 * that a record can have, with all the witnesses, and as many authorities as fit. */
static void
test_room(void **state)
{
	static uint8_t token[AFTER_TOKEN_MAX + 1];
	char note[COSIGN_PLAIN_MAX + 1];
	size_t len;

	(void)state;
	for (unsigned i = 0; i < CONF_WITNESSES_MAX; i++)
		cosign(i, 20 + i, NOW + i);
	for (unsigned i = 0; i < CONF_AUTHORITIES_MAX; i++) {
		make_note(50 + i, note);
		recent_stamped(&recent, CONF_WITNESSES_MAX + i, note, token, AFTER_TOKEN_MAX);
	}
	recent_stamped(&recent, CONF_WITNESSES_MAX, note, token, AFTER_TOKEN_MAX + 1);
	trust.quorum = CONF_WITNESSES_MAX;
	assert_int_equal(asked(60).verdict, AFTER_GOOD);
	assert_int_equal(asked(60).time_s, NOW);
	after_free(kept(&len));
	assert_true(len > AFTER_TOKEN_MAX && len <= AFTER_BYTES_MAX);
}

static void
test_nothing(void **state)
{
	(void)state;
	recent_keep(&recent, dirfd_, &conf);
	assert_int_equal(faccessat(dirfd_, ANCHORS_RECENT, F_OK, 0), -1);
	recent_recall(&recent, CONF_WITNESSES_MAX, dirfd_, 0, "local");
	assert_false(recent.changed);
}

static void
test_refuted(void **state)
{
	struct after_answer answer;
	struct after *after;
	size_t len;

	(void)state;
	cosign(0, 5, NOW);
	assert_int_equal(asked(5).verdict, AFTER_GOOD);
	after = kept(&len);
	after_ask(after, ORIGIN, 4, &trust, &answer);
	assert_int_equal(answer.verdict, AFTER_FALSE);
	after_ask(after, "ledger.example/other", 5, &trust, &answer);
	assert_int_equal(answer.verdict, AFTER_FALSE);
	/* his name and id, and another key */
	trust.witness[0].pk[0] ^= 1;
	after_ask(after, ORIGIN, 5, &trust, &answer);
	assert_int_equal(answer.verdict, AFTER_FALSE);
	assert_string_equal(answer.who, "");
	after_free(after);
	after_ask_body("{}", 2, ORIGIN, 5, &trust, &answer);
	assert_int_equal(answer.verdict, AFTER_SHORT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_nothing, begin),
		cmocka_unit_test_setup(test_quorum, begin),
		cmocka_unit_test_setup(test_room, begin),
		cmocka_unit_test_setup(test_refuted, begin),
	};
	int failed = cmocka_run_group_tests(tests, setup, teardown);

	(void)begin(NULL);
	return failed;
}
