/* The recorder's loop by itself, with producers that end badly.  The channel's source
 * is included, since a hostile one writes where only the channel does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ledger/recorder/channel.c"

#include <sodium.h>

#include "ledger/recorder/recorder.h"
#include "must_ledger.h"

static struct scratch scratch;
static struct channel *channel;
static uint8_t sk[NOTE_SK_LEN];
static int owner[2];		/* the recorder's end of it, and the producers' */

static int
set_up(void **state)
{
	uint8_t pk[NOTE_PK_LEN];

	scratch_init(&scratch, NULL);
	crypto_sign_seed_keypair(pk, sk, scratch.seed);
	channel = channel_new(2);
	return channel != NULL ? pipe(owner) : -1;
}

static int
tear_down(void **state)
{
	channel_free(channel);
	scratch_remove(&scratch);
	close(owner[0]);
	return 0;
}

static int
record(void)
{
	const struct recorder_setup setup = { .channel = channel, .owner_fd = owner[0],
	    .dir = scratch.dir, .stream = scratch.options.stream, .policy = SCRATCH_POLICY,
	    .sk = sk, .sync = true, .checkpoint_ms = 1000000, .reserve_bytes = 1 << 20,
	    .place = "thread", .confined = "" };
	struct problem problem = { "" };
	struct recorder *recorder = recorder_start(&setup, 2, &problem);

	assert_string_equal(problem.text, "");
	assert_non_null(recorder);
	return recorder_run(recorder);
}

static void
submit(unsigned port)
{
	const struct ledger_record one = { .type = "outcome", .run = "r1",
	    .policy = SCRATCH_POLICY, .body = "{\"n\":1}", .body_len = 7 };

	assert_int_equal(channel_submit(channel, port, &one, 1), 0);
}

static enum ledger_status
answered(unsigned port)
{
	struct ledger_receipt receipt;

	assert_true(channel_receipt(channel, port, &receipt));
	return receipt.status;
}

static struct scratch_read read_back;

static void
told_to_stop(void **state)
{
	submit(0);
	submit(1);
	channel_stop(channel);
	assert_int_equal(record(), 0);
	close(owner[1]);
	assert_int_equal(answered(0), LEDGER_DURABLE);
	assert_int_equal(answered(1), LEDGER_DURABLE);
	must_check(&scratch, &read_back);
	assert_int_equal(read_back.count, 4);
	assert_int_equal(scratch_find(&read_back, "close"), 4);
	free(read_back.lines);
}

/* What waits is written; the stream is not closed by who was not told to. */
static void
owner_gone(void **state)
{
	submit(0);
	close(owner[1]);
	assert_int_equal(record(), 0);
	assert_int_equal(answered(0), LEDGER_DURABLE);
	must_check(&scratch, &read_back);
	assert_int_equal(read_back.count, 2);
	assert_int_equal(scratch_find(&read_back, "close"), 0);
	assert_int_equal(read_back.checkpoint.size, 2);
	free(read_back.lines);
}

/* Who writes what no program of ours does is not believed on any port. */
static void
protocol_broken(void **state)
{
	struct ring *out = &channel->port[0].producer.out;

	ring_put(out, "half", 4);
	ring_publish(out);
	submit(1);
	channel_stop(channel);
	assert_int_equal(record(), -1);
	close(owner[1]);
	assert_int_equal(answered(1), LEDGER_FAILED);
	assert_true(channel_failed(channel));
	must_check(&scratch, &read_back);
	assert_int_equal(read_back.count, 1);
	free(read_back.lines);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(told_to_stop),
		EACH(owner_gone),
		EACH(protocol_broken),
	};

	return cmocka_run_group_tests_name("recorder", tests, NULL, NULL);
}
