/*
 * Signing keys that change: each epoch sealed by its own key, what a crash at
 * any write leaves, and every way in which keys and sizes can be made not to
 * fit (the flaws found in journald's sealing among them).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "ledger/io.h"
#include "ledger/tree/epochs.h"
#include "ledger/tree/proof.h"
#include "ledger/verify/verify.h"
#include "ledger_maker.h"
#include "scratch_ledger.h"

#define SEEDS 64

/* A keeper in memory, which survives what the recorder does not. */
static struct {
	uint8_t seed[32], next[32];
	bool has_next, fail_save, fail_advance;
	uint8_t used[SEEDS][32];	/* in order: what a thief may have */
	unsigned n_used;
} kept;

static int
save_next(void *context, const uint8_t seed[32])
{
	errno = ENOSPC;
	if (kept.fail_save)
		return -1;
	memcpy(kept.next, seed, 32);
	kept.has_next = true;
	return 0;
}

static int
load_next(void *context, uint8_t seed[32])
{
	memcpy(seed, kept.next, 32);
	return kept.has_next ? 0 : -1;
}

static int
advance(void *context)
{
	errno = EIO;
	if (kept.fail_advance)
		return -1;
	memcpy(kept.seed, kept.next, 32);
	kept.has_next = false;
	memcpy(kept.used[kept.n_used++ % SEEDS], kept.seed, 32);
	return 0;
}

static int
discard(void *context)
{
	kept.has_next = false;
	return 0;
}

static const struct ledger_keeper keeper = { save_next, load_next, advance,
    discard, NULL };
static struct scratch scratch;
static struct note_key origin;

static int
set_up(void **state)
{
	uint8_t pk[NOTE_PK_LEN], sk[NOTE_SK_LEN];

	memset(&kept, 0, sizeof(kept));
	scratch_init(&scratch, NULL);
	memcpy(kept.seed, scratch.seed, 32);
	memcpy(kept.used[kept.n_used++], kept.seed, 32);
	crypto_sign_seed_keypair(pk, sk, scratch.seed);
	assert_int_equal(note_key_make(&origin, SCRATCH_ORIGIN, NOTE_ED25519,
	    pk), 0);
	scratch.options.place = LEDGER_IN_THREAD;
	scratch.options.keeper = &keeper;
	scratch.options.seed = kept.seed;
	return 0;
}

static int
tear_down(void **state)
{
	io_fault = NULL;
	scratch_remove(&scratch);
	return 0;
}

static struct ledger *
must_open(void)
{
	struct ledger *ledger = scratch_open(&scratch);

	if (ledger == NULL)
		print_error("%s\n", scratch.err);
	assert_non_null(ledger);
	return ledger;
}

static void
append(struct ledger *ledger, unsigned count)
{
	struct ledger_receipt receipt;

	for (unsigned i = 0; i < count; i++)
		assert_int_equal(scratch_append(ledger_port(ledger, 0), i, 100,
		    &receipt), LEDGER_DURABLE);
}

/* The verdict under the pinned origin key, and that it is this one; code, where not NULL, must be among
 * the findings. */
static enum verify_verdict
look(void)
{
	struct verify_options options = { .path = scratch.dir,
	    .key = &origin, .threads = 1 };
	struct verify_result *result = calloc(1, sizeof(*result));
	enum verify_verdict verdict;
	char err[256] = "";

	assert_non_null(result);
	assert_int_equal(verify_run(&options, result, err, sizeof(err)), 0);
	verdict = result->verdict;
	verify_free(result);
	free(result);
	return verdict;
}

static void
judged(enum verify_verdict verdict, const char *code)
{
	struct verify_options options = { .path = scratch.dir,
	    .key = &origin, .threads = 1 };
	struct verify_result *result = calloc(1, sizeof(*result));
	char err[256] = "";
	bool found = code == NULL;

	assert_non_null(result);
	assert_int_equal(verify_run(&options, result, err, sizeof(err)), 0);
	for (unsigned i = 0; i < result->findings; i++) {
		if (code != NULL && strcmp(result->finding[i].code, code) == 0)
			found = true;
		if (result->verdict != verdict)
			print_error("%s: %s\n", result->finding[i].code,
			    result->finding[i].what);
	}
	assert_string_equal(verify_verdict_word(result->verdict),
	    verify_verdict_word(verdict));
	assert_true(found);
	verify_free(result);
	free(result);
}

static struct epochs
read_epochs(void)
{
	struct epochs epochs;
	const char *why = "";
	size_t len = 0;
	char *text = read_file(scratch.dir, EPOCHS_FILE, &len);

	assert_int_equal(epochs_pin(&epochs, &origin), 0);
	if (epochs_follow(&epochs, text, len, &why) != 0)
		fail_msg("%s", why);
	free(text);
	return epochs;
}

/* Three epochs, closed in order. */
static void
make_three(void)
{
	struct ledger *ledger = must_open();

	append(ledger, 5);
	assert_int_equal(ledger_rotate(ledger, 5000), 0);
	append(ledger, 5);
	usleep(1100 * 1000);
	assert_int_equal(ledger_rotate(ledger, 5000), 0);
	append(ledger, 5);
	assert_int_equal(ledger_close(ledger), 0);
}

static void
test_rotates(void **state)
{
	struct epochs epochs;

	make_three();
	judged(VERIFY_COMPLETE, NULL);
	epochs = read_epochs();
	assert_int_equal(epochs.count, 3);
	assert_int_equal(kept.n_used, 3);
	assert_false(kept.has_next);
	for (unsigned i = 0; i < 3; i++) {
		uint8_t pk[NOTE_PK_LEN], sk[NOTE_SK_LEN];

		crypto_sign_seed_keypair(pk, sk, kept.used[i]);
		assert_memory_equal(pk, epochs.epoch[i].key.pk, sizeof(pk));
		assert_string_equal(epochs.epoch[i].key.name, SCRATCH_ORIGIN);
	}
	assert_ptr_equal(epochs_key(&epochs, 0), &epochs.epoch[0].key);
	for (unsigned i = 0; i < 2; i++) {
		uint64_t until = epochs.epoch[i].until;

		assert_ptr_equal(epochs_key(&epochs, until),
		    &epochs.epoch[i].key);
		assert_ptr_equal(epochs_key(&epochs, until + 1),
		    &epochs.epoch[i + 1].key);
	}
	epochs_free(&epochs);
}

static void
test_goes_on(void **state)
{
	struct ledger *ledger;

	make_three();
	ledger = must_open();
	append(ledger, 3);
	assert_int_equal(ledger_close(ledger), 0);
	judged(VERIFY_COMPLETE, NULL);
	/* an older seed, as from a backup, opens nothing */
	memcpy(kept.seed, kept.used[0], 32);
	assert_null(scratch_open(&scratch));
	assert_non_null(strstr(scratch.err, "restart-origin"));
}

static void
test_by_size(void **state)
{
	struct ledger *ledger;
	struct ledger_counts counts;

	scratch.options.epoch_records = 10;
	ledger = must_open();
	append(ledger, 12);
	for (unsigned i = 0; i < 12000; i++) {
		ledger_counts(ledger, &counts);
		if (counts.epoch > 0)
			break;
		usleep(5000);
	}
	assert_int_equal(counts.epoch, 1);
	append(ledger, 3);
	assert_int_equal(ledger_close(ledger), 0);
	judged(VERIFY_COMPLETE, NULL);
}

static void
test_by_time(void **state)
{
	struct ledger *ledger;
	struct ledger_counts counts;

	scratch.options.epoch_s = 1;
	ledger = must_open();
	append(ledger, 1);
	for (unsigned i = 0; i < 12000; i++) {
		ledger_counts(ledger, &counts);
		if (counts.epoch > 0)
			break;
		usleep(5000);
	}
	assert_int_equal(counts.epoch, 1);
	/* an idle ledger does not change keys for ever */
	usleep(2500 * 1000);
	ledger_counts(ledger, &counts);
	assert_int_equal(counts.epoch, 1);
	assert_int_equal(ledger_close(ledger), 0);
	judged(VERIFY_COMPLETE, NULL);
}

static void
test_no_keeper(void **state)
{
	struct ledger *ledger;

	scratch.options.keeper = NULL;
	ledger = must_open();
	assert_int_equal(ledger_rotate(ledger, 100), -1);
	append(ledger, 1);
	assert_int_equal(ledger_close(ledger), 0);
	judged(VERIFY_COMPLETE, NULL);
}

static void
test_no_space_for_the_seed(void **state)
{
	struct ledger *ledger = must_open();

	kept.fail_save = true;
	assert_int_equal(ledger_rotate(ledger, 300), -1);
	assert_true(ledger_healthy(ledger));
	append(ledger, 2);
	kept.fail_save = false;
	assert_int_equal(ledger_rotate(ledger, 5000), 0);
	append(ledger, 2);
	assert_int_equal(ledger_close(ledger), 0);
	judged(VERIFY_COMPLETE, NULL);
}

/* The old secret could not be erased: nothing more is signed, and the next
 * start finishes it. */
static void
test_not_erased(void **state)
{
	struct ledger *ledger = must_open();

	kept.fail_advance = true;
	assert_int_equal(ledger_rotate(ledger, 3000), -1);
	assert_false(ledger_healthy(ledger));
	assert_int_equal(ledger_close(ledger), -1);
	kept.fail_advance = false;
	ledger = must_open();
	assert_int_equal(kept.n_used, 2);
	append(ledger, 2);
	assert_int_equal(ledger_close(ledger), 0);
	judged(VERIFY_NOT_ESTABLISHED, NULL);	/* a session without close */
}

/* ---- a crash at every write ---- */

static int left;
static bool armed, fired;

static int
fail_nth(enum io_op op)
{
	if (!armed || op == IO_ALLOCATE || --left > 0)
		return 0;
	fired = true;
	return EIO;
}

static void
test_crashes(void **state)
{
	unsigned n;

	for (n = 1; n < 200; n++) {
		struct ledger *ledger;

		tear_down(NULL);
		set_up(NULL);
		ledger = must_open();
		append(ledger, 3);
		left = (int)n;
		armed = fired = false;
		io_fault = fail_nth;
		armed = true;
		(void)ledger_rotate(ledger, 400);
		armed = false;
		(void)ledger_close(ledger);
		io_fault = NULL;
		ledger = must_open();
		append(ledger, 2);
		if (ledger_rotate(ledger, 5000) != 0)
			fail_msg("no change of the key after failure %u", n);
		append(ledger, 2);
		assert_int_equal(ledger_close(ledger), 0);
		/* without a close, where the failure ended the session */
		assert_int_not_equal(look(), VERIFY_GAP);
		if (!fired)
			break;
	}
	assert_in_range(n, 6, 199);
	print_message("# %u failures\n", n - 1);
}

/* ---- keys that do not fit ---- */

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

/* A producer cannot bring in a key. */
static void
test_not_for_producers(void **state)
{
	struct ledger *ledger = must_open();
	struct ledger_record record = { "key", NULL, SCRATCH_POLICY,
	    "{\"epoch\":1}", 11, false };
	struct ledger_receipt receipt;

	assert_int_equal(ledger_append_wait(ledger_port(ledger, 0), &record,
	    &receipt), LEDGER_REJECTED);
	assert_int_equal(ledger_close(ledger), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
		TEST(test_rotates), TEST(test_goes_on), TEST(test_by_size),
		TEST(test_by_time), TEST(test_no_keeper),
		TEST(test_no_space_for_the_seed), TEST(test_not_erased),
		TEST(test_crashes), TEST(test_newer_key_on_older_size),
		TEST(test_older_key_on_newer_size), TEST(test_no_epochs_file),
		TEST(test_entries), TEST(test_later_seal),
		TEST(test_not_for_producers),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
