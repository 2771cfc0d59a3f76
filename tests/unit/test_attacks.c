/*
 * The table of attacks, a test for each row, and the flaws that journald's
 * sealing had.  Whoever attacks has every file, and where it is said the log's
 * key too; the verifier has a key that it pinned, and in some rows a head that
 * it saved.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <sodium.h>

#include "ledger/tree/hashes.h"
#include "verify_case.h"

#define RECORDS 60
#define VICTIM 20	/* a record in the middle, and one that others follow */
#define SEGMENT_NAME "records-00000000000000000000.jsonl"

static struct maker m;
static struct verify_case c;
static char dir[96], head[96];

/* A good ledger before each test, its head saved by the verifier. */
static int
begin(void **state)
{
	maker_init(&m);
	case_init(&c, &m.key);
	maker_usual(&m, RECORDS);
	write_file(c.base, "head", m.checkpoint, strlen(m.checkpoint));
	snprintf(head, sizeof(head), "%s/head", c.base);
	if (case_verify_maker(&c, &m, dir) == VERIFY_COMPLETE)
		return 0;
	case_say(&c);
	return -1;
}

static int
end(void **state)
{
	maker_free(&m);
	case_free(&c);
	return 0;
}

/* The lines in this order, whatever was signed. */
static enum verify_verdict
verify_lines(const size_t *order, size_t count)
{
	struct maker other = m;
	enum verify_verdict verdict;
	size_t i;

	other.line = calloc(count + 1, sizeof(*other.line));
	other.room = count + 1;
	assert_non_null(other.line);
	for (i = 0; i < count; i++)
		other.line[i] = m.line[order[i]];
	other.count = count;
	verdict = case_verify_maker(&c, &other, NULL);
	free(other.line);
	return verdict;
}

/* All indices but those from `without` to `without + n`. */
static size_t
all_but(size_t order[RECORDS * 2], size_t without, size_t n)
{
	size_t i, count = 0;

	for (i = 0; i < m.count; i++)
		if (i < without || i >= without + n)
			order[count++] = i;
	return count;
}

/* The whole ledger again as `again` makes it, and signed by the log's key. */
static void
resign(void)
{
	size_t i, k;
	unsigned s;
	uint8_t last[MAKER_STREAMS][32];
	char hex[65], old[65], *at;

	memset(last, 0, sizeof(last));
	for (i = 0; i < m.count; i++) {
		sodium_bin2hex(old, sizeof(old), m.line[i].leaf, 32);
		s = strstr(m.line[i].text, "\"stream\":\"hook\"") != NULL;
		sodium_bin2hex(hex, sizeof(hex), last[s], 32);
		memcpy(m.line[i].text + RECORD_PREV_AT, hex, 64);
		maker_rehash(&m, i);
		memcpy(last[s], m.line[i].leaf, 32);
		/* what names it as its parent follows it */
		sodium_bin2hex(hex, sizeof(hex), m.line[i].leaf, 32);
		for (k = i + 1; k < m.count; k++)
			if ((at = strstr(m.line[k].text, "\"parent\"")) != NULL &&
			    (at = strstr(at, old)) != NULL)
				memcpy(at, hex, 64);
	}
	for (k = 0; k < 2; k++)
		memcpy(m.stream[k].last, last[k], 32);
	m.checkpoints_len = 0;
	maker_seal(&m);
}

/* One bit of its time, so that it is a record still. */
static void
change(size_t index)
{
	*(strstr(m.line[index].text, "Z\",\"type\"") - 1) ^= 1;
}

/* ---- the table ---- */

static void
a_byte_changed(void **state)
{
	change(VICTIM);
	assert_int_equal(case_verify_maker(&c, &m, NULL), VERIFY_GAP);
	assert_int_equal(c.result.finding_count, 1);
	assert_string_equal(c.result.finding[0].code, "altered");
	assert_int_equal(c.result.finding[0].index, VICTIM);
	assert_int_equal(c.result.finding[0].line, VICTIM + 1);
	assert_int_equal(c.result.integrity.verdict, VERIFY_GAP);
}

static void
a_record_deleted(void **state)
{
	size_t order[RECORDS * 2] = { 0 }, n = all_but(order, VICTIM, 1);

	assert_int_equal(verify_lines(order, n), VERIFY_GAP);
	assert_non_null(case_find(&c, "missing"));
	assert_int_equal(c.result.completeness.verdict, VERIFY_GAP);
}

static void
a_record_inserted(void **state)
{
	/* one that continues its stream in form, behind the victim */
	m.room = m.count + 1;
	m.line = realloc(m.line, m.room * sizeof(*m.line));
	memmove(&m.line[VICTIM + 1], &m.line[VICTIM], (m.count - VICTIM) * sizeof(*m.line));
	m.count++;
	m.line[VICTIM + 1].text = strdup(m.line[VICTIM].text);
	m.line[VICTIM + 1].text[m.line[VICTIM].len] = '\0';
	change(VICTIM + 1);
	assert_int_equal(case_verify_maker(&c, &m, NULL), VERIFY_GAP);
	assert_true(c.result.findings > 0);
	assert_int_equal(c.result.integrity.verdict, VERIFY_GAP);
}

static void
records_reordered(void **state)
{
	size_t order[RECORDS * 2] = { 0 }, n = all_but(order, m.count, 0);

	order[VICTIM] = VICTIM + 1;
	order[VICTIM + 1] = VICTIM;
	assert_int_equal(verify_lines(order, n), VERIFY_GAP);
	assert_int_equal(c.result.integrity.verdict, VERIFY_GAP);
}

static void
a_record_duplicated(void **state)
{
	size_t order[RECORDS * 2] = { 0 }, n = all_but(order, m.count, 0), i;

	for (i = n; i > VICTIM; i--)
		order[i] = order[i - 1];
	assert_int_equal(verify_lines(order, n + 1), VERIFY_GAP);
	assert_non_null(case_find(&c, "reordered"));
}

/* To an earlier checkpoint, with everything that tells of the later one. */
static void
the_tail_cut_after_a_checkpoint(void **state)
{
	struct maker early;

	maker_init(&early);
	maker_usual(&early, RECORDS);
	maker_add(&m, "broker", "open", NULL, "{}");
	maker_add(&m, "broker", "close", NULL, "{}");
	maker_seal(&m);
	write_file(c.base, "head", m.checkpoint, strlen(m.checkpoint));
	/* by itself it is whole */
	assert_int_equal(case_verify_maker(&c, &early, NULL), VERIFY_COMPLETE);
	c.options.head = head;
	assert_int_equal(case_verify_maker(&c, &early, NULL), VERIFY_GAP);
	assert_non_null(case_find(&c, "rollback"));
	/* where the log of checkpoints was forgotten it tells too */
	c.options.head = NULL;
	early.checkpoints = realloc(early.checkpoints, m.checkpoints_len);
	early.checkpoints_len = m.checkpoints_len;
	memcpy(early.checkpoints, m.checkpoints, m.checkpoints_len);
	assert_int_equal(case_verify_maker(&c, &early, NULL), VERIFY_GAP);
	assert_non_null(case_find(&c, "rollback"));
	maker_free(&early);
}

/* It cannot be seen, and so the tail is never established. */
static void
the_tail_cut_inside_the_unsealed_part(void **state)
{
	size_t order[RECORDS * 2] = { 0 }, n;

	maker_add(&m, "broker", "open", NULL, "{}");
	maker_add(&m, "broker", "secret", NULL, "{}");
	maker_add(&m, "broker", "secret", NULL, "{}");
	assert_int_equal(case_verify_maker(&c, &m, NULL), VERIFY_NOT_ESTABLISHED);
	assert_non_null(case_find(&c, "unsealed"));
	n = all_but(order, m.count - 1, 1);
	assert_int_equal(verify_lines(order, n), VERIFY_NOT_ESTABLISHED);
	assert_non_null(case_find(&c, "unsealed"));
	assert_int_equal(c.result.integrity.verdict, VERIFY_COMPLETE);
}

static void
a_whole_stream_removed(void **state)
{
	size_t order[RECORDS * 2] = { 0 }, n = 0, i;
	struct maker other;

	for (i = 0; i < m.count; i++)
		if (strstr(m.line[i].text, "\"stream\":\"hook\"") == NULL)
			order[n++] = i;
	assert_int_equal(verify_lines(order, n), VERIFY_GAP);
	assert_int_equal(c.result.integrity.verdict, VERIFY_GAP);
	/* signed again with the log's key: only the saved head knows it */
	maker_init(&other);
	for (i = 0; i < n; i++)
		maker_raw(&other, m.line[order[i]].text, m.line[order[i]].len);
	maker_seal(&other);
	assert_int_equal(case_verify_maker(&c, &other, NULL), VERIFY_COMPLETE);
	c.options.head = head;
	assert_int_equal(case_verify_maker(&c, &other, NULL), VERIFY_GAP);
	maker_free(&other);
}

/* A stream of which only the close is taken, before anything was signed. */
static void
an_open_without_a_close(void **state)
{
	maker_add(&m, "hook", "open", NULL, "{}");
	maker_add(&m, "hook", "secret", NULL, "{}");
	maker_seal(&m);
	assert_int_equal(case_verify_maker(&c, &m, NULL), VERIFY_NOT_ESTABLISHED);
	assert_int_equal(c.result.integrity.verdict, VERIFY_COMPLETE);
	assert_int_equal(c.result.completeness.verdict, VERIFY_NOT_ESTABLISHED);
}

/* All that is signed was cut, and a stamp of what there was forgotten. */
static void
a_stamp_without_its_checkpoint(void **state)
{
	char made[96], anchors[128], name[64];
	size_t more;

	assert_int_equal(case_verify_maker(&c, &m, made), VERIFY_COMPLETE);
	snprintf(anchors, sizeof(anchors), "%s/anchors", made);
	assert_int_equal(mkdir(anchors, 0700), 0);
	for (more = 0; more < 2; more++) {
		snprintf(name, sizeof(name), "%020zu.tsa.tsr", m.count + more);
		write_file(anchors, name, "stamp", 5);
		assert_int_equal(case_verify(&c, made), more == 0 ? VERIFY_COMPLETE :
		    VERIFY_NOT_ESTABLISHED);
		assert_int_equal(case_find(&c, "rollback") != NULL, more == 1);
	}
	assert_int_equal(c.result.integrity.verdict, VERIFY_COMPLETE);
	assert_int_equal(c.result.anchoring.verdict, VERIFY_NOT_ESTABLISHED);
}

struct arrival {
	const char *dir;	/* of anchors */
	const char *note;	/* of more records than there are */
};

static void
others_sign_meanwhile(void *context, uint64_t done, uint64_t total)
{
	const struct arrival *arrival = context;
	char name[64];

	snprintf(name, sizeof(name), "%020zu.note", m.count);
	write_file(arrival->dir, name, arrival->note, strlen(arrival->note));
	snprintf(name, sizeof(name), "%020zu.tsa.tsr", m.count + 1);
	write_file(arrival->dir, name, "stamp", 5);
}

/* No attack: the ledger grows while it is read, and what others sign by then is
 * of records that were not there.  Found at the start it is a cut. */
static void
anchors_of_what_came_meanwhile(void **state)
{
	char made[96], anchors[128];
	struct arrival arrival = { .dir = anchors };

	assert_int_equal(case_verify_maker(&c, &m, made), VERIFY_COMPLETE);
	snprintf(anchors, sizeof(anchors), "%s/anchors", made);
	assert_int_equal(mkdir(anchors, 0700), 0);
	maker_add(&m, "broker", "open", NULL, "{}");
	maker_seal(&m);
	arrival.note = m.checkpoint;
	c.options.progress = others_sign_meanwhile;
	c.options.context = &arrival;
	assert_int_equal(case_verify(&c, made), VERIFY_COMPLETE);
	assert_null(case_find(&c, "rollback"));
	assert_int_equal(case_verify(&c, made), VERIFY_GAP);
	assert_non_null(case_find(&c, "rollback"));
	assert_int_equal(c.result.anchoring.verdict, VERIFY_GAP);
}

static void
checkpoints_rolled_back(void **state)
{
	char *old = strdup(m.checkpoint);

	maker_add(&m, "broker", "open", NULL, "{}");
	maker_add(&m, "broker", "close", NULL, "{}");
	maker_seal(&m);
	case_verify_maker(&c, &m, NULL);
	write_file(dir, "checkpoint", old, strlen(old));
	assert_int_equal(case_verify(&c, dir), VERIFY_NOT_ESTABLISHED);
	assert_non_null(case_find(&c, "unsealed"));
	free(old);
}

/* Two histories under one key: the two notes are evidence by themselves. */
static void
two_forks(void **state)
{
	struct maker other;

	maker_init(&other);
	maker_usual(&other, RECORDS);
	maker_add(&m, "broker", "open", NULL, "{}");
	maker_add(&m, "broker", "close", NULL, "{}");
	maker_seal(&m);
	maker_add(&other, "broker", "open", NULL, "{\"version\":\"other\"}");
	maker_add(&other, "broker", "close", NULL, "{}");
	maker_seal(&other);
	assert_int_equal(case_verify_maker(&c, &m, NULL), VERIFY_COMPLETE);
	assert_int_equal(case_verify_maker(&c, &other, NULL), VERIFY_COMPLETE);
	/* a verifier that has seen the one */
	write_file(c.base, "head", m.checkpoint, strlen(m.checkpoint));
	c.options.head = head;
	assert_int_equal(case_verify_maker(&c, &other, NULL), VERIFY_GAP);
	assert_non_null(case_find(&c, "fork"));
	/* both in one log */
	c.options.head = NULL;
	other.checkpoints = realloc(other.checkpoints,
	    other.checkpoints_len + strlen(m.checkpoint) + 1);
	other.checkpoints_len += (size_t)sprintf(other.checkpoints + other.checkpoints_len,
	    "%s", m.checkpoint);
	assert_int_equal(case_verify_maker(&c, &other, NULL), VERIFY_GAP);
	assert_non_null(case_find(&c, "fork"));
	maker_free(&other);
}

static void
rewound_and_regrown(void **state)
{
	change(VICTIM);
	resign();
	maker_add(&m, "broker", "open", NULL, "{}");
	maker_add(&m, "broker", "close", NULL, "{}");
	maker_seal(&m);
	assert_int_equal(case_verify_maker(&c, &m, NULL), VERIFY_COMPLETE);
	c.options.head = head;
	assert_int_equal(case_verify_maker(&c, &m, NULL), VERIFY_GAP);
	assert_non_null(case_find(&c, "fork"));
}

/* Everything signed with another key, under the same name; also with an id
 * that is the pinned key's. */
static void
the_key_replaced(void **state)
{
	struct note_key pinned = m.key;
	uint8_t pk[NOTE_PK_LEN];

	c.options.key = &pinned;
	crypto_sign_keypair(pk, m.sk);
	assert_int_equal(note_key_make(&m.key, MAKER_ORIGIN, NOTE_ED25519, pk), 0);
	resign();
	assert_int_equal(case_verify_maker(&c, &m, NULL), VERIFY_NOT_ESTABLISHED);
	assert_non_null(case_find(&c, "unknown_key"));
	assert_int_equal(c.result.integrity.verdict, VERIFY_NOT_ESTABLISHED);
	memcpy(m.key.id, pinned.id, sizeof(m.key.id));
	resign();
	assert_int_equal(case_verify_maker(&c, &m, NULL), VERIFY_GAP);
	assert_non_null(case_find(&c, "checkpoint"));
	assert_int_equal(c.result.integrity.verdict, VERIFY_GAP);
}

/* Whoever has the log's key can: that nobody else vouches for the head is said
 * of every ledger, also of this one. */
static void
everything_signed_again_by_the_operator(void **state)
{
	change(VICTIM);
	resign();
	assert_int_equal(case_verify_maker(&c, &m, NULL), VERIFY_COMPLETE);
	assert_int_equal(c.result.anchoring.verdict, VERIFY_NOT_ESTABLISHED);
	assert_non_null(strstr(c.result.anchoring.text, "another history"));
	c.options.head = head;
	assert_int_equal(case_verify_maker(&c, &m, NULL), VERIFY_GAP);
	assert_non_null(case_find(&c, "fork"));
}

static void
never_emitted(void **state)
{
	assert_int_equal(case_verify_maker(&c, &m, NULL), VERIFY_COMPLETE);
	assert_int_equal(c.result.coverage.verdict, VERIFY_NOT_ESTABLISHED);
	assert_non_null(strstr(c.result.coverage.text, "leaves no trace"));
}

/* ---- what journald got wrong ---- */

/* A newer key is not accepted on older entries: a key that was not pinned
 * signs nothing, whatever the ledger says of it. */
static void
a_newer_key_on_older_entries(void **state)
{
	struct note_key pinned = m.key;
	char vkey[NOTE_VKEY_MAX + 2];
	uint8_t pk[NOTE_PK_LEN];

	c.options.key = &pinned;
	crypto_sign_keypair(pk, m.sk);
	assert_int_equal(note_key_make(&m.key, MAKER_ORIGIN, NOTE_ED25519, pk), 0);
	assert_true(note_key_format(&m.key, vkey, sizeof(vkey)) > 0);
	change(VICTIM);
	resign();
	case_verify_maker(&c, &m, NULL);	/* log.vkey is the new key's */
	assert_int_equal(c.result.verdict, VERIFY_NOT_ESTABLISHED);
	assert_non_null(case_find(&c, "unknown_key"));
}

/* A part without a seal is not established; two seals of one part that differ
 * are a fork, and two that agree are nothing. */
static void
parts_without_a_seal_and_with_several(void **state)
{
	struct maker other;

	maker_add(&m, "broker", "open", NULL, "{}");
	assert_int_equal(case_verify_maker(&c, &m, NULL), VERIFY_NOT_ESTABLISHED);
	maker_add(&m, "broker", "close", NULL, "{}");
	maker_seal(&m);
	maker_seal(&m);
	assert_int_equal(case_verify_maker(&c, &m, NULL), VERIFY_COMPLETE);
	maker_init(&other);
	maker_usual(&other, RECORDS);
	maker_add(&other, "broker", "open", NULL, "{\"a\":1}");
	maker_add(&other, "broker", "close", NULL, "{}");
	maker_seal(&other);
	m.checkpoints = realloc(m.checkpoints, m.checkpoints_len + strlen(other.checkpoint) + 2);
	m.checkpoints_len += (size_t)sprintf(m.checkpoints + m.checkpoints_len, "%s\n",
	    other.checkpoint);
	assert_int_equal(case_verify_maker(&c, &m, NULL), VERIFY_GAP);
	assert_non_null(case_find(&c, "fork"));
	maker_free(&other);
}

/* What stands beside the records hides nothing: without it, with another one,
 * and with one that agrees with records that were changed. */
static void
an_index_that_hides_records(void **state)
{
	static uint8_t forged[RECORDS * 2][TREE_HASH_LEN];
	const char *name = "hashes-00000000000000000000";
	size_t i;

	for (i = 0; i < 4; i++) {
		if (i == 1)
			write_file(dir, name, "", 0);
		if (i == 2)
			write_file(dir, name, forged, sizeof(forged));
		if (i == 3)
			write_file(dir, name, forged, sizeof(forged) - 7);
		assert_int_equal(case_verify(&c, dir), VERIFY_COMPLETE);
		assert_int_equal(c.result.size, m.count);
	}
	change(VICTIM);
	maker_rehash(&m, VICTIM);
	for (i = 0; i < m.count; i++)
		memcpy(forged[i], m.line[i].leaf, TREE_HASH_LEN);
	case_verify_maker(&c, &m, NULL);
	write_file(dir, name, forged, m.count * TREE_HASH_LEN);
	assert_int_equal(case_verify(&c, dir), VERIFY_GAP);
	assert_int_equal(case_find(&c, "altered")->index, VICTIM);
}

/* A ledger that was never sealed, held against a key, is not good. */
static void
an_unsealed_file_with_a_key(void **state)
{
	char path[160];
	unsigned i;

	for (i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/checkpoint", dir);
		if (i != 1)
			unlink(path);
		snprintf(path, sizeof(path), "%s/checkpoints", dir);
		if (i == 1)
			write_file(dir, "checkpoint", "", 0);
		if (i == 2)
			unlink(path);
		assert_int_not_equal(case_verify(&c, dir), VERIFY_COMPLETE);
		assert_int_not_equal(c.result.integrity.verdict, VERIFY_COMPLETE);
	}
}

/* ---- keys that are forged ---- */

/* Every bit of the signature, and of the key's id and name. */
static void
forged_signatures(void **state)
{
	char *note = strdup(m.checkpoint);
	size_t len = strlen(note), at;

	write_file(dir, "checkpoints", "", 0);
	for (at = (size_t)(strstr(note, "\xe2\x80\x94") - note); at < len; at++) {
		note[at] ^= (char)(1 << at % 7);
		write_file(dir, "checkpoint", note, len);
		if (case_verify(&c, dir) == VERIFY_COMPLETE)
			fail_msg("byte %zu", at);
		note[at] ^= (char)(1 << at % 7);
	}
	free(note);
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, begin, end)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(a_byte_changed),
		ROW(a_record_deleted),
		ROW(a_record_inserted),
		ROW(records_reordered),
		ROW(a_record_duplicated),
		ROW(the_tail_cut_after_a_checkpoint),
		ROW(the_tail_cut_inside_the_unsealed_part),
		ROW(a_whole_stream_removed),
		ROW(an_open_without_a_close),
		ROW(a_stamp_without_its_checkpoint),
		ROW(anchors_of_what_came_meanwhile),
		ROW(checkpoints_rolled_back),
		ROW(two_forks),
		ROW(rewound_and_regrown),
		ROW(the_key_replaced),
		ROW(everything_signed_again_by_the_operator),
		ROW(never_emitted),
		ROW(a_newer_key_on_older_entries),
		ROW(parts_without_a_seal_and_with_several),
		ROW(an_index_that_hides_records),
		ROW(an_unsealed_file_with_a_key),
		ROW(forged_signatures)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
