/* Signing keys that change: each epoch sealed by its own key, and what a crash at any
 * write leaves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "rekey_case.h"

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
	ledger = must_open(&scratch);
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
	ledger = must_open(&scratch);
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
	ledger = must_open(&scratch);
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
	ledger = must_open(&scratch);
	assert_int_equal(ledger_rotate(ledger, 100), -1);
	append(ledger, 1);
	assert_int_equal(ledger_close(ledger), 0);
	judged(VERIFY_COMPLETE, NULL);
}

static void
test_no_space_for_the_seed(void **state)
{
	struct ledger *ledger = must_open(&scratch);

	kept.fail_save = true;
	assert_int_equal(ledger_rotate(ledger, 300), -1);
	assert_true(ledger_healthy(ledger));
	append(ledger, 2);
	kept.fail_save = false;
	assert_int_equal(ledger_rotate(ledger, 60000), 0);
	append(ledger, 2);
	assert_int_equal(ledger_close(ledger), 0);
	judged(VERIFY_COMPLETE, NULL);
}

/* The old secret could not be erased: nothing more is signed, and the next
 * start finishes it. */
static void
test_not_erased(void **state)
{
	struct ledger *ledger = must_open(&scratch);

	kept.fail_advance = true;
	assert_int_equal(ledger_rotate(ledger, 3000), -1);
	assert_false(ledger_healthy(ledger));
	assert_int_equal(ledger_close(ledger), -1);
	kept.fail_advance = false;
	ledger = must_open(&scratch);
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
		struct verify_result *result;
		struct ledger *ledger;

		tear_down(NULL);
		set_up(NULL);
		ledger = must_open(&scratch);
		append(ledger, 3);
		left = (int)n;
		armed = fired = false;
		io_fault = fail_nth;
		armed = true;
		(void)ledger_rotate(ledger, 400);
		armed = false;
		(void)ledger_close(ledger);
		io_fault = NULL;
		ledger = must_open(&scratch);
		append(ledger, 2);
		if (ledger_rotate(ledger, 60000) != 0)
			fail_msg("no change of the key after failure %u", n);
		append(ledger, 2);
		assert_int_equal(ledger_close(ledger), 0);
		/* without a close, where the failure ended the session */
		result = look();
		assert_int_not_equal(result->verdict, VERIFY_GAP);
		verify_free(result);
		free(result);
		if (!fired)
			break;
	}
	assert_in_range(n, 6, 199);
	print_message("# %u failures\n", n - 1);
}

/* A producer cannot bring in a key. */
static void
test_not_for_producers(void **state)
{
	struct ledger *ledger = must_open(&scratch);
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
		TEST(test_crashes), TEST(test_not_for_producers),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
