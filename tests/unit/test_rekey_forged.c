/* Signing keys that change: every way in which keys and sizes can be made not to fit
 * (the flaws found in journald's sealing among them). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "ledger/tree/proof.h"
#include "rekey_case.h"

static void
key_of(unsigned epoch, struct note_key *key, uint8_t sk[NOTE_SK_LEN])
{
	uint8_t pk[NOTE_PK_LEN];

	crypto_sign_seed_keypair(pk, sk, kept.used[epoch]);
	assert_int_equal(note_key_make(key, SCRATCH_ORIGIN, NOTE_ED25519, pk),
	    0);
}

/* The n-th checkpoint of the log of all, signed again by another epoch's key. */
static void
resign(const char *name, uint64_t size, unsigned epoch)
{
	char note[CHECKPOINT_NOTE_MAX + 1], sk_note[CHECKPOINT_NOTE_MAX + 1];
	uint8_t sk[NOTE_SK_LEN];
	struct note_key key;
	struct checkpoint at;
	size_t len = 0;
	char *text = read_file(scratch.dir, name, &len), *p, *end, line[80];
	struct note parsed;
	const char *why;
	int n;

	snprintf(line, sizeof(line), SCRATCH_ORIGIN "\n%llu\n",
	    (unsigned long long)size);
	p = memmem(text, len, line, strlen(line));
	assert_non_null(p);
	end = memmem(p, len - (size_t)(p - text), "\n\n", 2);
	assert_non_null(end);
	end = memchr(end + 2, '\n', len - (size_t)(end + 2 - text));
	assert_non_null(end);
	memcpy(note, p, (size_t)(end + 1 - p));
	assert_int_equal(note_parse(&parsed, note, (size_t)(end + 1 - p), &why), 0);
	assert_int_equal(checkpoint_parse(&at, parsed.text, parsed.text_len), 0);
	key_of(epoch, &key, sk);
	n = checkpoint_sign(&at, &key, sk, sk_note, sizeof(sk_note));
	assert_int_equal(n, end + 1 - p);	/* as long as the other */
	memcpy(p, sk_note, (size_t)n);
	write_file(scratch.dir, name, text, len);
	free(text);
}

static void
test_newer_key_on_older_size(void **state)
{
	struct epochs epochs;

	make_three();
	epochs = read_epochs();
	resign("checkpoints", epochs.epoch[0].until, 1);
	judged(VERIFY_GAP, "checkpoint");
	epochs_free(&epochs);
}

/* What a thief of the first key would do: sign on with it. */
static void
test_older_key_on_newer_size(void **state)
{
	struct checkpoint at;
	struct note note;
	const char *why;
	size_t len = 0;
	char *text;

	make_three();
	text = read_file(scratch.dir, "checkpoint", &len);
	assert_int_equal(note_parse(&note, text, len, &why), 0);
	assert_int_equal(checkpoint_parse(&at, note.text, note.text_len), 0);
	free(text);
	resign("checkpoint", at.size, 0);
	judged(VERIFY_GAP, "checkpoint");
	resign("checkpoint", at.size, 1);
	judged(VERIFY_GAP, "checkpoint");
	resign("checkpoint", at.size, 2);
	judged(VERIFY_COMPLETE, NULL);
}

/* An unauthenticated file may not hide an epoch. */
static void
test_no_epochs_file(void **state)
{
	char path[320];

	make_three();
	snprintf(path, sizeof(path), "%s/" EPOCHS_FILE, scratch.dir);
	assert_int_equal(unlink(path), 0);
	judged(VERIFY_GAP, "key");
}

static size_t
entry_at(const char *text, size_t len, unsigned n)
{
	size_t at = 0;

	while (n-- > 0)
		at += epochs_entry_len(text + at, len - at);
	return at;
}

static void
put_epochs(const char *a, size_t a_len, const char *b, size_t b_len)
{
	char *joined = malloc(a_len + b_len + 1);

	memcpy(joined, a, a_len);
	memcpy(joined + a_len, b, b_len);
	write_file(scratch.dir, EPOCHS_FILE, joined, a_len + b_len);
	free(joined);
}

static void
test_entries(void **state)
{
	size_t len = 0, second;
	char *text;

	make_three();
	text = read_file(scratch.dir, EPOCHS_FILE, &len);
	second = entry_at(text, len, 1);
	/* the second is gone, stands first, stands twice */
	put_epochs(text, second, "", 0);
	judged(VERIFY_GAP, "key");
	put_epochs(text + second, len - second, text, second);
	judged(VERIFY_GAP, "key");
	put_epochs(text, second, text, len);
	judged(VERIFY_GAP, "key");
	put_epochs(text, len, text + second, len - second);
	judged(VERIFY_GAP, "key");
	/* torn at its end: the second is not there yet */
	put_epochs(text, len - 1, "", 0);
	judged(VERIFY_GAP, "key");
	put_epochs(text, len, "half", 4);
	judged(VERIFY_COMPLETE, NULL);
	for (size_t i = 0; i < len; i += 3) {
		struct epochs epochs;
		const char *why = "";

		text[i] ^= 0x01;
		assert_int_equal(epochs_pin(&epochs, &origin), 0);
		if (epochs_follow(&epochs, text, len, &why) == 0 &&
		    epochs.count == 3)
			fail_msg("byte %zu of the file may be anything", i);
		epochs_free(&epochs);
		text[i] ^= 0x01;
	}
	free(text);
}

/* A second last checkpoint of one epoch: the key record proved under a later
 * checkpoint that the old key signed, so that the epoch would last longer. */
static void
test_later_seal(void **state)
{
	char note[CHECKPOINT_NOTE_MAX + 1], *text, entry[8192];
	const uint8_t (*leaf)[TREE_HASH_LEN];
	struct checkpoint at = { .origin = SCRATCH_ORIGIN };
	struct epochs epochs;
	uint8_t sk[NOTE_SK_LEN];
	struct tree_leaves leaves;
	struct tree_source source;
	struct tree_proof proof;
	struct note_key key;
	const char *why = "";
	size_t len = 0, line_len;
	char *hashes;
	int n, note_len;

	make_three();
	epochs = read_epochs();
	text = read_file(scratch.dir, EPOCHS_FILE, &len);
	line_len = (size_t)((char *)memchr(text, '\n', len) - text);
	hashes = read_file(scratch.dir, "hashes-00000000000000000000", &len);
	leaf = (const uint8_t (*)[TREE_HASH_LEN])hashes;
	leaves = (struct tree_leaves){ leaf, len / TREE_HASH_LEN };
	source = tree_leaves_source(&leaves);
	at.size = epochs.epoch[0].until + 1;
	assert_int_equal(tree_root(&source, at.size, at.root), 0);
	key_of(0, &key, sk);
	note_len = checkpoint_sign(&at, &key, sk, note, sizeof(note));
	assert_int_equal(tree_prove_inclusion(&source, epochs.epoch[0].until - 1,
	    at.size, &proof), 0);
	memcpy(entry, text, line_len + 1);
	n = proof_format(&proof, epochs.epoch[0].until - 1, note,
	    (size_t)note_len, entry + line_len + 1, sizeof(entry) - line_len - 2);
	assert_true(n > 0);
	strcat(entry + line_len + 1, "\n");
	epochs_free(&epochs);
	assert_int_equal(epochs_pin(&epochs, &origin), 0);
	assert_int_equal(epochs_follow(&epochs, entry, strlen(entry), &why), -1);
	assert_string_equal(why, "an epoch's last checkpoint does not end with "
	    "its key record");
	epochs_free(&epochs);
	free(hashes);
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
		TEST(test_newer_key_on_older_size),
		TEST(test_older_key_on_newer_size), TEST(test_no_epochs_file),
		TEST(test_entries), TEST(test_later_seal),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
