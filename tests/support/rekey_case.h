/*
 * A ledger of the test's own whose signing keys change, with a keeper in memory.
 * Include it after cmocka.h; set_up and tear_down are of each test.
 */
#ifndef TESTS_REKEY_CASE_H
#define TESTS_REKEY_CASE_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "ledger/io.h"
#include "ledger/tree/epochs.h"
#include "ledger/verify/verify.h"
#include "ledger_maker.h"
#include "must_ledger.h"
#include "scratch_ledger.h"

#define SEEDS 64

/* A keeper in memory, which survives what the recorder does not. */
static struct {
	uint8_t seed[32], next[32];
	bool has_next, fail_save, fail_advance;
	uint8_t used[SEEDS][32];	/* in order: what a thief may have */
	unsigned n_used;
} kept;

static inline int
save_next(void *context, const uint8_t seed[32])
{
	errno = ENOSPC;
	if (kept.fail_save)
		return -1;
	memcpy(kept.next, seed, 32);
	kept.has_next = true;
	return 0;
}

static inline int
load_next(void *context, uint8_t seed[32])
{
	memcpy(seed, kept.next, 32);
	return kept.has_next ? 0 : -1;
}

static inline int
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

static inline int
discard(void *context)
{
	kept.has_next = false;
	return 0;
}

static const struct ledger_keeper keeper = { save_next, load_next, advance,
    discard, NULL };
static struct scratch scratch;
static struct note_key origin;

static inline int
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

static inline int
tear_down(void **state)
{
	io_fault = NULL;
	scratch_remove(&scratch);
	return 0;
}

static inline void
append(struct ledger *ledger, unsigned count)
{
	struct ledger_receipt receipt;

	for (unsigned i = 0; i < count; i++)
		assert_int_equal(scratch_append(ledger_port(ledger, 0), i, 100,
		    &receipt), LEDGER_DURABLE);
}

/* What is found under the pinned origin key; to be released by verify_free and free. */
static inline struct verify_result *
look(void)
{
	struct verify_options options = { .path = scratch.dir,
	    .key = &origin, .threads = 1 };
	struct verify_result *result = calloc(1, sizeof(*result));
	char err[256] = "";

	assert_non_null(result);
	assert_int_equal(verify_run(&options, result, err, sizeof(err)), 0);
	return result;
}

/* This is the verdict; code, where not NULL, must be among the findings. */
static inline void
judged(enum verify_verdict verdict, const char *code)
{
	struct verify_result *result = look();
	bool found = code == NULL;

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

static inline struct epochs
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
static inline void
make_three(void)
{
	struct ledger *ledger = must_open(&scratch);

	append(ledger, 5);
	assert_int_equal(ledger_rotate(ledger, 60000), 0);
	append(ledger, 5);
	usleep(1100 * 1000);
	assert_int_equal(ledger_rotate(ledger, 60000), 0);
	append(ledger, 5);
	assert_int_equal(ledger_close(ledger), 0);
}

#endif
