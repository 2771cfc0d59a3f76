/*
 * The writer as its callers see it: both places of the recorder, receipts,
 * refusals, two writers, wake-ups, reopening.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scratch_ledger.h"

static struct ledger *
must_open(struct scratch *scratch)
{
	struct ledger *ledger = scratch_open(scratch);

	if (ledger == NULL)
		print_error("%s\n", scratch->err);
	assert_non_null(ledger);
	return ledger;
}

static void
must_check(struct scratch *scratch, struct scratch_read *read)
{
	if (scratch_check(scratch, read) != 0) {
		print_error("%s\n", scratch->err);
		fail();
	}
}

/* The whole life, in one place or the other. */
static void
life(enum ledger_place place)
{
	struct ledger_receipt receipt;
	struct scratch_read read;
	struct scratch scratch;
	struct ledger *ledger;

	scratch_init(&scratch, "/tmp");	/* a real disk, most likely */
	scratch.options.place = place;
	ledger = must_open(&scratch);
	assert_true((ledger_recorder_pid(ledger) != 0) ==
	    (place == LEDGER_IN_PROCESS));
	for (uint64_t n = 0; n < 100; n++) {
		assert_int_equal(scratch_append(ledger_port(ledger, 0), n,
		    20 + n * 7, &receipt), LEDGER_DURABLE);
		assert_int_equal(receipt.index, n + 1);
		assert_int_equal(receipt.seq, n + 1);
	}
	assert_true(ledger_healthy(ledger));
	assert_int_equal(ledger_close(ledger), 0);
	must_check(&scratch, &read);
	assert_int_equal(read.count, 102);
	assert_int_equal(read.nuls + read.tail, 0);
	assert_int_equal(read.checkpoint.size, 102);
	assert_string_equal(read.lines[0].type, "open");
	assert_string_equal(read.lines[101].type, "close");
	assert_memory_equal(read.lines[100].leaf, receipt.leaf,
	    sizeof(receipt.leaf));
	free(read.lines);
	scratch_remove(&scratch);
}

static void
lives_in_a_process(void **state)
{
	life(LEDGER_IN_PROCESS);
}

static void
lives_in_a_thread(void **state)
{
	life(LEDGER_IN_THREAD);
}

static void
a_stream_goes_on_when_reopened(void **state)
{
	struct ledger_receipt receipt;
	struct scratch_read read;
	struct scratch scratch;

	scratch_init(&scratch, NULL);
	for (uint64_t round = 0; round < 5; round++) {
		struct ledger *ledger = must_open(&scratch);

		assert_int_equal(scratch_append(ledger_port(ledger, 0), round,
		    100, &receipt), LEDGER_DURABLE);
		assert_int_equal(receipt.seq, round * 3 + 1);
		assert_int_equal(ledger_close(ledger), 0);
	}
	must_check(&scratch, &read);
	assert_int_equal(read.count, 15);
	assert_int_equal(read.checkpoint.size, 15);
	free(read.lines);
	scratch_remove(&scratch);
}

static void
a_second_writer_is_told_who_holds_it(void **state)
{
	struct scratch scratch;
	struct ledger *ledger;
	char pid[32];

	scratch_init(&scratch, NULL);
	ledger = must_open(&scratch);
	snprintf(pid, sizeof(pid), "process %d;",
	    (int)ledger_recorder_pid(ledger));
	for (int place = 0; place < 2; place++) {
		scratch.options.place = (enum ledger_place)place;
		assert_null(scratch_open(&scratch));
		assert_non_null(strstr(scratch.err, pid));
	}
	assert_int_equal(ledger_close(ledger), 0);
	ledger = must_open(&scratch);
	assert_int_equal(ledger_close(ledger), 0);
	scratch_remove(&scratch);
}

static void
what_breaks_the_format_is_refused_and_declared(void **state)
{
	static const struct ledger_record bad[] = {
		{ "nonsense", "r1", SCRATCH_POLICY, "{}", 2, false },
		{ "close", "r1", SCRATCH_POLICY, "{}", 2, false },
		{ "use", "-r", SCRATCH_POLICY, "{}", 2, false },
		{ "use", "", SCRATCH_POLICY, "{}", 2, false },
		{ "use", "r\"1", SCRATCH_POLICY, "{}", 2, false },
		{ "use", "r1", "sha256:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeFF", "{}", 2, false },
		{ "use", "r1", "sha256:00112233445566778899aabbccddeeff00112233445566778899aabbccddee\",", "{}", 2, false },
		{ "use", "r1", SCRATCH_POLICY, "[]", 2, false },
		{ "use", "r1", SCRATCH_POLICY, "{}\n{}", 5, false },
		{ "use", "r1", SCRATCH_POLICY, "{\"a\":1},\"b\":{}", 14, false },
		{ "use", "r1", SCRATCH_POLICY, "{\"a\":1,\"a\":1}", 13, false },
		{ "use", "r1", SCRATCH_POLICY, "{\0}", 3, false },
	};
	const uint64_t n = sizeof(bad) / sizeof(*bad);
	struct ledger_receipt receipt;
	struct scratch_read read;
	struct scratch scratch;
	struct ledger *ledger;

	scratch_init(&scratch, NULL);
	ledger = must_open(&scratch);
	for (uint64_t i = 0; i < n; i++)
		assert_int_equal(ledger_append_wait(ledger_port(ledger, 0),
		    &bad[i], &receipt), LEDGER_REJECTED);
	assert_int_equal(scratch_append(ledger_port(ledger, 0), 7, 10,
	    &receipt), LEDGER_DURABLE);
	assert_int_equal(ledger_close(ledger), 0);
	must_check(&scratch, &read);
	/* each alone in its batch: one seq lost, one taken by its `drop` */
	assert_int_equal(receipt.seq, 2 * n + 1);
	assert_int_equal(read.count, n + 3);
	assert_string_equal(read.lines[1].type, "drop");
	assert_int_equal(read.lines[1].seq, 2);
	free(read.lines);
	scratch_remove(&scratch);
}

static void
too_long_is_refused_at_the_port(void **state)
{
	static char body[LEDGER_BODY_MAX + 2], name[LEDGER_RUN_MAX + 2];
	struct ledger_record record = { "use", "r1", SCRATCH_POLICY, body,
	    LEDGER_BODY_MAX + 1, false };
	struct ledger_receipt receipt;
	struct scratch scratch;
	struct ledger *ledger;

	memset(name, 'a', LEDGER_RUN_MAX + 1);
	memset(body, 'x', sizeof(body));
	memcpy(body, "{\"a\":\"", 6);
	scratch_init(&scratch, NULL);
	ledger = must_open(&scratch);
	assert_int_equal(ledger_append_wait(ledger_port(ledger, 0), &record,
	    &receipt), LEDGER_REJECTED);
	assert_int_equal(ledger_submit(ledger_port(ledger, 0), &record, 1), -1);
	record.body_len = LEDGER_BODY_MAX;
	memcpy(body + LEDGER_BODY_MAX - 2, "\"}", 2);
	assert_int_equal(ledger_append_wait(ledger_port(ledger, 0), &record,
	    &receipt), LEDGER_DURABLE);
	record.run = name;
	assert_int_equal(ledger_append_wait(ledger_port(ledger, 0), &record,
	    &receipt), LEDGER_REJECTED);
	name[LEDGER_RUN_MAX] = '\0';
	assert_int_equal(ledger_append_wait(ledger_port(ledger, 0), &record,
	    &receipt), LEDGER_DURABLE);
	record.policy = "sha256:short";
	assert_int_equal(ledger_append_wait(ledger_port(ledger, 0), &record,
	    &receipt), LEDGER_REJECTED);
	assert_int_equal(ledger_close(ledger), 0);
	scratch_remove(&scratch);
}

static void
a_seal_is_signed_before_it_is_answered(void **state)
{
	struct ledger_record record = { "teardown", "r1", SCRATCH_POLICY, "{}",
	    2, true };
	struct ledger_receipt receipt;
	struct scratch_read read;
	struct scratch scratch;
	struct ledger *ledger;

	scratch_init(&scratch, NULL);
	ledger = must_open(&scratch);
	for (uint64_t i = 0; i < 3; i++) {
		scratch_append(ledger_port(ledger, 0), i, 10, &receipt);
		assert_int_equal(ledger_append_wait(ledger_port(ledger, 0),
		    &record, &receipt), LEDGER_DURABLE);
		must_check(&scratch, &read);
		assert_int_equal(read.checkpoint.size, receipt.index + 1);
		assert_int_equal(read.checkpoints, i + 3);
		free(read.lines);
	}
	assert_int_equal(ledger_close(ledger), 0);
	scratch_remove(&scratch);
}

static void
checkpoints_come_on_their_interval(void **state)
{
	struct ledger_receipt receipt;
	struct scratch_read read;
	struct ledger_counts counts;
	struct scratch scratch;
	struct ledger *ledger;

	scratch_init(&scratch, NULL);
	scratch.options.checkpoint_ms = 1;
	ledger = must_open(&scratch);
	scratch_append(ledger_port(ledger, 0), 1, 10, &receipt);
	do {
		usleep(1000);
		ledger_counts(ledger, &counts);
	} while (counts.checkpoints < 2);
	must_check(&scratch, &read);
	assert_int_equal(read.checkpoint.size, receipt.index + 1);
	free(read.lines);
	assert_int_equal(ledger_close(ledger), 0);
	scratch_remove(&scratch);
}

/* Many tickets at once, taken by epoll's rules: read until false, then wait. */
static void
receipts_come_back_with_their_tickets(void **state)
{
	struct ledger_record record = { "outcome", NULL, SCRATCH_POLICY,
	    "{\"n\":1}", 7, false };
	uint64_t sent = 0, got = 0, silent = 0;
	struct scratch_read read;
	struct scratch scratch;
	struct ledger *ledger;
	struct ledger_port *port;

	scratch_init(&scratch, NULL);
	scratch.options.ports = 3;
	ledger = must_open(&scratch);
	port = ledger_port(ledger, 2);
	assert_null(ledger_port(ledger, 3));
	while (got < 5000) {
		struct pollfd fd = { ledger_port_fd(port), POLLIN, 0 };
		struct ledger_receipt receipt;

		while (sent < 5000 && ledger_submit(port, &record, sent) == 0)
			sent++;
		if (silent < 100 && ledger_submit(port, &record,
		    LEDGER_NO_RECEIPT) == 0)
			silent++;
		assert_int_equal(poll(&fd, 1, 60000), 1);
		while (ledger_receipt(port, &receipt)) {
			assert_int_equal(receipt.ticket, got++);
			assert_int_equal(receipt.status, LEDGER_DURABLE);
		}
	}
	assert_int_equal(ledger_close(ledger), 0);
	must_check(&scratch, &read);
	assert_int_equal(read.count, 5000 + silent + 2);
	free(read.lines);
	scratch_remove(&scratch);
}

struct waiter {
	struct ledger_port *port;
	pthread_t thread;
	uint64_t count, from;
	uint64_t failures;
};

static void *
wait_often(void *arg)
{
	struct waiter *waiter = arg;

	for (uint64_t i = 0; i < waiter->count; i++) {
		struct ledger_receipt receipt;

		if (scratch_append(waiter->port, waiter->from + i,
		    100 + i % 500, &receipt) != LEDGER_DURABLE)
			waiter->failures++;
	}
	return NULL;
}

/* A lost wake-up would leave one of them waiting for ever. */
static void
many_waiters_lose_no_wakeup(void **state)
{
	struct waiter waiters[16];
	struct scratch_read read;
	struct scratch scratch;
	struct ledger *ledger;
	uint8_t *seen = calloc(16, 1000);

	scratch_init(&scratch, NULL);
	scratch.options.ports = 16;
	scratch.options.sync = LEDGER_SYNC_NONE;
	ledger = must_open(&scratch);
	for (unsigned i = 0; i < 16; i++) {
		waiters[i] = (struct waiter){ .port = ledger_port(ledger, i),
		    .count = 1000, .from = i * 1000 };
		assert_int_equal(pthread_create(&waiters[i].thread, NULL,
		    wait_often, &waiters[i]), 0);
	}
	for (unsigned i = 0; i < 16; i++) {
		pthread_join(waiters[i].thread, NULL);
		assert_int_equal(waiters[i].failures, 0);
	}
	assert_int_equal(ledger_close(ledger), 0);
	must_check(&scratch, &read);
	assert_int_equal(read.count, 16002);
	for (uint64_t i = 1; i < 16001; i++)
		seen[read.lines[i].n]++;
	for (uint64_t i = 0; i < 16000; i++)
		assert_int_equal(seen[i], 1);
	free(read.lines);
	free(seen);
	scratch_remove(&scratch);
}

static void
segments_are_finished_as_they_fill(void **state)
{
	struct ledger_record record = { "outcome", NULL, SCRATCH_POLICY,
	    "{}", 2, false };
	uint64_t sent = 0, got = 0, total = 65536 * 2 + 10;
	struct scratch_read read;
	struct scratch scratch;
	struct ledger *ledger;
	struct ledger_port *port;

	scratch_init(&scratch, NULL);
	scratch.options.sync = LEDGER_SYNC_NONE;
	ledger = must_open(&scratch);
	port = ledger_port(ledger, 0);
	while (got < total) {
		struct pollfd fd = { ledger_port_fd(port), POLLIN, 0 };
		struct ledger_receipt receipt;

		while (sent < total && ledger_submit(port, &record, sent) == 0)
			sent++;
		poll(&fd, 1, 60000);
		while (ledger_receipt(port, &receipt)) {
			got++;
			assert_int_equal(receipt.index, got +
			    (got - 1) / 65535);
		}
	}
	assert_int_equal(ledger_close(ledger), 0);
	must_check(&scratch, &read);
	assert_int_equal(read.count, total + 4);
	assert_string_equal(read.lines[65536].type, "heads");
	assert_string_equal(read.lines[65536 * 2].type, "heads");
	assert_int_equal(read.segments, 3);
	assert_int_equal(read.tail + read.nuls, 0);
	free(read.lines);
	ledger = must_open(&scratch);
	assert_int_equal(ledger_close(ledger), 0);
	must_check(&scratch, &read);
	assert_int_equal(read.count, total + 6);
	free(read.lines);
	scratch_remove(&scratch);
}

static off_t
first_segment_bytes(const struct scratch *scratch)
{
	char path[400];
	struct stat st;

	snprintf(path, sizeof(path),
	    "%s/records-00000000000000000000.jsonl", scratch->dir);
	assert_int_equal(stat(path, &st), 0);
	return st.st_size;
}

/* Step by step, while nobody asks for anything; a record between two steps
 * finds its place, and closing gives all of it back. */
static void
space_is_taken_while_idle(void **state)
{
	const off_t ahead = 3 * 1024 * 1024;
	struct ledger_receipt receipt;
	struct scratch_read read;
	struct scratch scratch;
	struct ledger *ledger;
	uint64_t n = 0;

	scratch_init(&scratch, NULL);
	ledger = must_open(&scratch);
	for (; n < 1000 && first_segment_bytes(&scratch) < ahead; n++) {
		assert_int_equal(scratch_append(ledger_port(ledger, 0), n, 200,
		    &receipt), LEDGER_DURABLE);
		usleep(120 * 1000);
	}
	assert_true(n < 1000);
	assert_int_equal(ledger_close(ledger), 0);
	must_check(&scratch, &read);
	assert_int_equal(read.count, n + 2);
	assert_int_equal(read.nuls + read.tail, 0);
	free(read.lines);
	scratch_remove(&scratch);
}

static void
the_recorders_death_is_noticed(void **state)
{
	struct ledger_receipt receipt;
	struct scratch scratch;
	struct ledger *ledger;
	struct pollfd fd;

	scratch_init(&scratch, NULL);
	ledger = must_open(&scratch);
	scratch_append(ledger_port(ledger, 0), 1, 10, &receipt);
	assert_false(ledger_receipt(ledger_port(ledger, 0), &receipt));
	fd = (struct pollfd){ ledger_port_fd(ledger_port(ledger, 0)), POLLIN,
	    0 };
	kill(ledger_recorder_pid(ledger), SIGKILL);
	assert_int_equal(poll(&fd, 1, 60000), 1);
	assert_false(ledger_receipt(ledger_port(ledger, 0), &receipt));
	assert_int_equal(poll(&fd, 1, 0), 1);
	assert_false(ledger_healthy(ledger));
	assert_int_equal(scratch_append(ledger_port(ledger, 0), 2, 10,
	    &receipt), LEDGER_FAILED);
	assert_int_equal(ledger_close(ledger), -1);
	ledger = must_open(&scratch);
	assert_int_equal(ledger_close(ledger), 0);
	scratch_remove(&scratch);
}

/* Each turn is a second of ours, however long it takes. */
static void
await_silence(const struct ledger *ledger, bool silent)
{
	for (int n = 0; n < 600 && (ledger_silent_s(ledger) != 0) != silent; n++)
		usleep(100 * 1000);
	assert_true((ledger_silent_s(ledger) != 0) == silent);
}

static void
a_recorder_that_stands_still_is_told(void **state)
{
	struct ledger_record record = { .type = "policy", .policy = SCRATCH_POLICY,
	    .body = "{}", .body_len = 2 };
	struct ledger_receipt receipt;
	struct scratch_read read;
	struct scratch scratch;
	struct ledger *ledger;

	scratch_init(&scratch, NULL);
	ledger = must_open(&scratch);
	assert_int_equal(ledger_silent_s(ledger), 0);
	kill(ledger_recorder_pid(ledger), SIGSTOP);
	await_silence(ledger, true);
	assert_true(ledger_silent_s(ledger) >= LEDGER_SILENT_S);
	assert_true(ledger_healthy(ledger));
	/* whoever is in a hurry is told; the record stands in its turn */
	assert_int_equal(ledger_append_soon(ledger_port(ledger, 0), &record,
	    &receipt), LEDGER_SILENT);
	kill(ledger_recorder_pid(ledger), SIGCONT);
	await_silence(ledger, false);
	assert_int_equal(ledger_append_soon(ledger_port(ledger, 0), &record,
	    &receipt), LEDGER_DURABLE);
	assert_int_equal(receipt.seq, 2);
	assert_int_equal(ledger_close(ledger), 0);
	must_check(&scratch, &read);
	assert_int_equal(read.count, 4);
	free(read.lines);
	scratch_remove(&scratch);
}

static void
space_and_what_is_signed_are_counted(void **state)
{
	struct ledger_record record = { .type = "policy", .policy = SCRATCH_POLICY,
	    .body = "{}", .body_len = 2, .seal = true };
	struct ledger_receipt receipt;
	struct ledger_counts counts;
	struct scratch scratch;
	struct ledger *ledger;

	scratch_init(&scratch, NULL);
	ledger = must_open(&scratch);
	ledger_counts(ledger, &counts);
	assert_int_equal(counts.signed_size, 1);
	assert_true(counts.space > 0);
	assert_int_equal(ledger_append_soon(ledger_port(ledger, 0), &record,
	    &receipt), LEDGER_DURABLE);
	ledger_counts(ledger, &counts);
	assert_int_equal(counts.signed_size, 2);
	assert_int_equal(ledger_close(ledger), 0);
	scratch_remove(&scratch);
}

/* Ctrl-C goes to the whole group; the recorder ends when it is told. */
static void
signals_of_the_group_do_not_end_it(void **state)
{
	struct ledger_receipt receipt;
	struct scratch scratch;
	struct ledger *ledger;

	scratch_init(&scratch, NULL);
	ledger = must_open(&scratch);
	kill(ledger_recorder_pid(ledger), SIGINT);
	kill(ledger_recorder_pid(ledger), SIGTERM);
	kill(ledger_recorder_pid(ledger), SIGHUP);
	assert_int_equal(scratch_append(ledger_port(ledger, 0), 1, 10,
	    &receipt), LEDGER_DURABLE);
	assert_int_equal(ledger_close(ledger), 0);
	scratch_remove(&scratch);
}

static void
wrong_directories_and_keys_are_refused(void **state)
{
	struct scratch scratch;
	char good[256];

	scratch_init(&scratch, NULL);
	assert_int_equal(ledger_create(scratch.dir, SCRATCH_ORIGIN,
	    scratch.seed, scratch.err, sizeof(scratch.err)), -1);
	assert_non_null(strstr(scratch.err, "holds a ledger already"));
	assert_int_equal(ledger_create(scratch.parent, "two words",
	    scratch.seed, scratch.err, sizeof(scratch.err)), -1);
	scratch.seed[0] ^= 1;
	assert_null(scratch_open(&scratch));
	assert_non_null(strstr(scratch.err, "signing key"));
	scratch.seed[0] ^= 1;
	snprintf(good, sizeof(good), "%s", scratch.dir);
	snprintf(scratch.dir, sizeof(scratch.dir), "%.200s/none",
	    scratch.parent);
	assert_null(scratch_open(&scratch));
	snprintf(scratch.dir, sizeof(scratch.dir), "%s", good);
	chmod(scratch.dir, 0770);
	assert_null(scratch_open(&scratch));
	assert_non_null(strstr(scratch.err, "writable by nobody else"));
	chmod(scratch.dir, 0700);
	scratch.options.stream = "two words";
	assert_null(scratch_open(&scratch));
	scratch.options.stream = "broker";
	scratch.options.ports = 0;
	assert_null(scratch_open(&scratch));
	scratch.options.ports = 65;
	assert_null(scratch_open(&scratch));
	scratch_remove(&scratch);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lives_in_a_process),
		cmocka_unit_test(lives_in_a_thread),
		cmocka_unit_test(a_stream_goes_on_when_reopened),
		cmocka_unit_test(a_second_writer_is_told_who_holds_it),
		cmocka_unit_test(what_breaks_the_format_is_refused_and_declared),
		cmocka_unit_test(too_long_is_refused_at_the_port),
		cmocka_unit_test(a_seal_is_signed_before_it_is_answered),
		cmocka_unit_test(checkpoints_come_on_their_interval),
		cmocka_unit_test(receipts_come_back_with_their_tickets),
		cmocka_unit_test(many_waiters_lose_no_wakeup),
		cmocka_unit_test(segments_are_finished_as_they_fill),
		cmocka_unit_test(space_is_taken_while_idle),
		cmocka_unit_test(the_recorders_death_is_noticed),
		cmocka_unit_test(a_recorder_that_stands_still_is_told),
		cmocka_unit_test(space_and_what_is_signed_are_counted),
		cmocka_unit_test(signals_of_the_group_do_not_end_it),
		cmocka_unit_test(wrong_directories_and_keys_are_refused),
	};

	return cmocka_run_group_tests_name("append", tests, NULL, NULL);
}
