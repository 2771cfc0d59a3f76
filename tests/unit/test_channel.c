/*
 * Rings, receipts and wake-ups, and a producer that is not ours.  The source is
 * included, since the hostile side writes where only the channel does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ledger/recorder/channel.c"

#include <pthread.h>

#define POLICY "sha256:" \
	"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static struct channel_submission taken;

static void
bytes_come_out_as_they_went_in(void **state)
{
	static struct ring_shared shared;
	static uint8_t data[64];
	struct ring writer, reader;
	uint64_t filled;

	memset(&shared, 0, sizeof(shared));
	ring_init(&writer, &shared, data, sizeof(data));
	ring_init(&reader, &shared, data, sizeof(data));
	for (unsigned round = 0; round < 1000; round++) {
		uint8_t in[64], out[64];
		size_t len = round % 65;

		for (size_t i = 0; i < len; i++)
			in[i] = (uint8_t)(round + i);
		assert_true(ring_has_room(&writer, len));
		ring_put(&writer, in, len / 2);
		assert_true(ring_filled(&reader, &filled));
		assert_int_equal(filled, 0);
		ring_put(&writer, in + len / 2, len - len / 2);
		ring_publish(&writer);
		assert_true(ring_filled(&reader, &filled));
		assert_int_equal(filled, len);
		assert_int_equal(ring_has_room(&writer, 65 - len), false);
		ring_take(&reader, out, len);
		ring_release(&reader);
		assert_memory_equal(in, out, len);
	}
}

static void
positions_that_cannot_be_are_seen(void **state)
{
	static const uint64_t positions[] = { 65, 1000, UINT64_MAX,
	    UINT64_MAX - 63, UINT64_C(1) << 63 };
	static struct ring_shared shared;
	static uint8_t data[64];

	for (size_t i = 0; i < sizeof(positions) / sizeof(*positions); i++) {
		struct ring writer, reader;
		uint64_t filled;

		ring_init(&writer, &shared, data, sizeof(data));
		ring_init(&reader, &shared, data, sizeof(data));
		atomic_store(&shared.head, positions[i]);
		assert_false(ring_filled(&reader, &filled));
		ring_put(&writer, data, 64);
		atomic_store(&shared.tail, positions[i]);
		assert_false(ring_has_room(&writer, 1));
	}
}

static struct ledger_record
record_of(const char *body, size_t len)
{
	return (struct ledger_record){ .type = "use", .run = "r1",
	    .policy = POLICY, .body = body, .body_len = len };
}

static void
submissions_and_receipts_make_the_round(void **state)
{
	struct channel *channel = channel_new(2);
	struct ledger_record record = record_of("{\"a\":1}", 7);
	struct ledger_receipt sent = { .ticket = 9, .status = LEDGER_FULL,
	    .index = 1, .seq = 2, .leaf = { 3, 4 } }, got;

	assert_non_null(channel);
	record.seal = true;
	assert_int_equal(channel_submit(channel, 1, &record, 9), 0);
	assert_int_equal(channel_take(channel, 0, &taken), CHANNEL_EMPTY);
	assert_int_equal(channel_take(channel, 1, &taken), CHANNEL_TAKEN);
	assert_int_equal(taken.ticket, 9);
	assert_true(taken.seal && taken.has_run);
	assert_memory_equal(taken.type, "use", taken.type_len);
	assert_memory_equal(taken.run, "r1", taken.run_len);
	assert_memory_equal(taken.policy, POLICY, sizeof(taken.policy));
	assert_memory_equal(taken.body, record.body, taken.body_len);
	assert_true(channel_answer(channel, 1, &sent));
	assert_false(channel_receipt(channel, 1, &got));
	channel_ring_port(channel, 1);
	assert_false(channel_receipt(channel, 0, &got));
	assert_true(channel_receipt(channel, 1, &got));
	assert_int_equal(got.ticket, sent.ticket);
	assert_int_equal(got.status, sent.status);
	assert_int_equal(got.index, sent.index);
	assert_int_equal(got.seq, sent.seq);
	assert_memory_equal(got.leaf, sent.leaf, sizeof(got.leaf));
	assert_false(channel_receipt(channel, 1, &got));
	channel_free(channel);
}

/* No more than CHANNEL_RECEIPTS are owed, so that none is ever lost. */
static void
a_port_never_owes_more_than_it_holds(void **state)
{
	struct channel *channel = channel_new(1);
	struct ledger_record record = record_of("{}", 2);
	struct ledger_receipt receipt = { .ticket = 1 };
	unsigned sent = 0, answered = 0;

	assert_non_null(channel);
	for (;;) {
		while (channel_submit(channel, 0, &record, 1) == 0)
			sent++;
		if (channel_take(channel, 0, &taken) != CHANNEL_TAKEN)
			break;
		do {
			assert_true(channel_answer(channel, 0, &receipt));
			answered++;
		} while (channel_take(channel, 0, &taken) == CHANNEL_TAKEN);
	}
	assert_int_equal(sent, CHANNEL_RECEIPTS);
	assert_int_equal(answered, CHANNEL_RECEIPTS);
	assert_false(channel_answer(channel, 0, &receipt));
	assert_int_equal(channel_submit(channel, 0, &record,
	    LEDGER_NO_RECEIPT), 0);
	channel_ring_port(channel, 0);
	assert_true(channel_receipt(channel, 0, &receipt));
	assert_int_equal(channel_submit(channel, 0, &record, 1), 0);
	channel_free(channel);
}

static void
a_full_ring_refuses(void **state)
{
	static char body[LEDGER_BODY_MAX];
	struct channel *channel = channel_new(1);
	struct ledger_record record = record_of(body, sizeof(body));
	unsigned sent = 0;

	assert_non_null(channel);
	while (channel_submit(channel, 0, &record, sent) == 0)
		sent++;
	assert_int_equal(sent, CHANNEL_RING / (sizeof(body) + 101));
	assert_int_equal(channel_take(channel, 0, &taken), CHANNEL_TAKEN);
	assert_int_equal(channel_submit(channel, 0, &record, sent), 0);
	channel_free(channel);
}

/* What a producer of ours never writes breaks its port, and no other. */
static void
lies_break_the_port(void **state)
{
	static const struct wire_submission lies[] = {
		{ .len = 0 },
		{ .len = 95 },
		{ .len = 97 },
		{ .len = UINT32_MAX },
		{ .len = 96 + 200, .type_len = 200 },
		{ .len = 96 + 65, .run_len = 65 },
		{ .len = 96 + LEDGER_BODY_MAX + 1,
		    .body_len = LEDGER_BODY_MAX + 1 },
		{ .len = 95, .body_len = UINT32_MAX },
		{ .len = 96, .seal = 2 },
		{ .len = 96, .has_run = 255 },
		{ .len = 96 + 4000, .body_len = 4000 },	/* more than was sent */
	};
	struct ledger_record record = record_of("{}", 2);

	for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
		struct channel *channel = channel_new(2);
		struct ring *out = &channel->port[0].producer.out;

		ring_put(out, &lies[i], sizeof(lies[i]));
		ring_put(out, "xxxx", 4);
		ring_publish(out);
		assert_int_equal(channel_take(channel, 0, &taken),
		    CHANNEL_BROKEN);
		assert_int_equal(channel_take(channel, 0, &taken),
		    CHANNEL_EMPTY);
		assert_int_equal(channel_submit(channel, 1, &record, 1), 0);
		assert_int_equal(channel_take(channel, 1, &taken),
		    CHANNEL_TAKEN);
		/* and it does not keep the recorder awake */
		assert_false(channel_sleep(channel, -1, 0));
		channel_free(channel);
	}
}

static void
half_a_header_breaks_the_port(void **state)
{
	struct channel *channel = channel_new(1);
	struct ring *out = &channel->port[0].producer.out;

	ring_put(out, "half", 4);
	ring_publish(out);
	assert_int_equal(channel_take(channel, 0, &taken), CHANNEL_BROKEN);
	channel_free(channel);
}

/* A bell that the recorder was about to ring when the producer looked must not
 * leave the descriptor readable for ever. */
static void
a_late_bell_is_drained(void **state)
{
	struct channel *channel = channel_new(1);
	struct pollfd fd = { channel_port_fd(channel, 0), POLLIN, 0 };
	struct ledger_receipt receipt;

	/* the recorder cleared `waits`, and has not rung yet */
	atomic_store(&channel->shared->port[0].waits, 0);
	assert_false(channel_receipt(channel, 0, &receipt));
	ring_bell(channel->port[0].bell);
	assert_int_equal(poll(&fd, 1, 0), 1);
	assert_false(channel_receipt(channel, 0, &receipt));
	assert_int_equal(poll(&fd, 1, 0), 0);
	/* and the next answer still rings */
	channel_answer(channel, 0, &receipt);
	channel_ring_port(channel, 0);
	assert_int_equal(poll(&fd, 1, 0), 1);
	channel_free(channel);
}

static void
gone_means_readable_for_ever(void **state)
{
	struct channel *channel = channel_new(3);
	struct ledger_record record = record_of("{}", 2);
	struct ledger_receipt receipt;

	channel_mark_gone(channel);
	for (unsigned i = 0; i < 3; i++) {
		struct pollfd fd = { channel_port_fd(channel, i), POLLIN, 0 };

		assert_int_equal(poll(&fd, 1, 0), 1);
		assert_false(channel_receipt(channel, i, &receipt));
		assert_int_equal(poll(&fd, 1, 0), 1);
		assert_int_equal(channel_submit(channel, i, &record, 1), -1);
	}
	assert_true(channel_gone(channel));
	channel_free(channel);
}

static void *
echo(void *arg)
{
	static struct channel_submission in;
	struct channel *channel = arg;

	while (!channel_stopping(channel)) {
		struct ledger_receipt receipt = { .status = LEDGER_DURABLE };
		bool any = false;

		while (channel_take(channel, 0, &in) == CHANNEL_TAKEN) {
			receipt.ticket = in.ticket;
			receipt.seq = in.body_len;
			memcpy(&receipt.index, in.body, sizeof(receipt.index));
			channel_answer(channel, 0, &receipt);
			any = true;
		}
		if (any)
			channel_ring_port(channel, 0);
		else
			channel_sleep(channel, -1, -1);
	}
	return NULL;
}

/* Both sides sleep and wake a hundred thousand times; a lost wake-up hangs. */
static void
nobody_sleeps_through_a_bell(void **state)
{
	struct channel *channel = channel_new(1);
	struct pollfd fd = { channel_port_fd(channel, 0), POLLIN, 0 };
	uint64_t sent = 0, got = 0;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, echo, channel), 0);
	while (got < 100000) {
		uint64_t body[40] = { sent }, burst = 1 + sent % 7;
		struct ledger_record record = record_of((char *)body,
		    sizeof(body[0]) * (1 + sent % 40));
		struct ledger_receipt receipt;

		while (burst-- > 0 && sent < 100000) {
			if (channel_submit(channel, 0, &record, sent) != 0)
				break;
			sent++;
			body[0] = sent;
		}
		channel_flush(channel);
		assert_int_equal(poll(&fd, 1, 60000), 1);
		while (channel_receipt(channel, 0, &receipt)) {
			assert_int_equal(receipt.ticket, got);
			assert_int_equal(receipt.index, got);
			got++;
		}
	}
	channel_stop(channel);
	pthread_join(thread, NULL);
	channel_free(channel);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_come_out_as_they_went_in),
		cmocka_unit_test(positions_that_cannot_be_are_seen),
		cmocka_unit_test(submissions_and_receipts_make_the_round),
		cmocka_unit_test(a_port_never_owes_more_than_it_holds),
		cmocka_unit_test(a_full_ring_refuses),
		cmocka_unit_test(lies_break_the_port),
		cmocka_unit_test(half_a_header_breaks_the_port),
		cmocka_unit_test(a_late_bell_is_drained),
		cmocka_unit_test(gone_means_readable_for_ever),
		cmocka_unit_test(nobody_sleeps_through_a_bell),
	};

	return cmocka_run_group_tests_name("channel", tests, NULL, NULL);
}
