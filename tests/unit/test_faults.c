/*
 * The N-th write, sync, allocation, ... fails, for every N: nothing is
 * acknowledged that is not there afterwards, nothing is acknowledged after a
 * failure, and the ledger opens again.  And disks that are full for a while.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <unistd.h>

#include "ledger/io.h"
#include "must_ledger.h"
#include "scratch_ledger.h"

/* Shared with the recorder's process. */
struct plan {
	_Atomic int op;		/* which kind fails */
	_Atomic int error;	/* with what; 0: none */
	_Atomic long at;	/* the how-manieth of its kind; 0: every one */
	_Atomic long seen;
	_Atomic bool hit;
};

static struct plan *plan;

static int
follow_plan(enum io_op op)
{
	if ((int)op != plan->op || plan->error == 0)
		return 0;
	plan->seen++;
	if (plan->at != 0 && plan->seen != plan->at)
		return 0;
	plan->hit = true;
	return plan->error;
}

static void
set_plan(enum io_op op, int error, long at)
{
	plan->error = 0;
	plan->op = (int)op;
	plan->at = at;
	plan->seen = 0;
	plan->hit = false;
	plan->error = error;
}

/* Append a few records, one of them sealed; those acknowledged are in
 * receipts. */
static size_t
load(struct ledger *ledger, struct ledger_receipt *receipts, uint64_t records)
{
	struct ledger_record seal = { "teardown", "r1", SCRATCH_POLICY,
	    "{\"n\":777}", 9, true };
	struct ledger_port *port = ledger_port(ledger, 0);
	bool failed = false;
	size_t n = 0;

	for (uint64_t i = 0; i < records; i++) {
		struct ledger_receipt receipt;
		enum ledger_status status;

		if (i == records / 2)
			status = ledger_append_wait(port, &seal, &receipt);
		else
			status = scratch_append(port, i, 10, &receipt);
		assert_false(failed && status == LEDGER_DURABLE);
		if (status == LEDGER_DURABLE)
			receipts[n++] = receipt;
		else
			failed = true;
		assert_true(failed == !ledger_healthy(ledger));
	}
	return n;
}

/* One life with a fault in it; false where the fault was not reached. */
static bool
live_with_fault(enum io_op op, int error, long at, enum ledger_place place)
{
	struct ledger_receipt receipts[16];
	struct scratch_read read;
	struct scratch scratch;
	struct ledger *ledger;
	size_t n = 0;
	bool hit;

	scratch_init(&scratch, NULL);
	scratch.options.place = place;
	set_plan(op, error, at);
	ledger = scratch_open(&scratch);
	if (ledger != NULL) {
		n = load(ledger, receipts, 8);
		if (ledger_close(ledger) == 0)
			assert_false(plan->hit && n < 8);
	} else {
		assert_true(plan->hit);
		assert_true(scratch.err[0] != '\0');
	}
	hit = plan->hit;
	set_plan(op, 0, 0);
	assert_int_equal(ledger_close(must_open(&scratch)), 0);
	must_check(&scratch, &read);
	for (size_t i = 0; i < n; i++) {
		assert_true(receipts[i].index < read.count);
		assert_memory_equal(read.lines[receipts[i].index].leaf,
		    receipts[i].leaf, sizeof(receipts[i].leaf));
	}
	assert_int_equal(read.checkpoint.size, read.count);
	free(read.lines);
	scratch_remove(&scratch);
	return hit;
}

static void
every_operation_may_fail(enum ledger_place place, int error)
{
	long total = 0;

	for (int op = 0; op < IO_OPS; op++) {
		long at = 1;

		while (live_with_fault((enum io_op)op, error, at, place))
			at++;
		total += at - 1;
	}
	/* A loop that reaches nothing proves nothing. */
	assert_true(total > 60);
}

static void
input_output_errors_in_a_process(void **state)
{
	every_operation_may_fail(LEDGER_IN_PROCESS, EIO);
}

static void
input_output_errors_in_a_thread(void **state)
{
	every_operation_may_fail(LEDGER_IN_THREAD, EIO);
}

static void
full_disks_anywhere(void **state)
{
	every_operation_may_fail(LEDGER_IN_PROCESS, ENOSPC);
}

/* No sync, no acknowledgement: not even of the first record after it failed. */
static void
nothing_is_acknowledged_without_a_sync(void **state)
{
	for (int synced = 0; synced < 2; synced++) {
		struct ledger_receipt receipt;
		struct scratch scratch;
		struct ledger *ledger;

		scratch_init(&scratch, NULL);
		scratch.options.sync = synced ? LEDGER_SYNC_DATA :
		    LEDGER_SYNC_NONE;
		ledger = must_open(&scratch);
		set_plan(IO_SYNC, EIO, 0);
		assert_int_equal(scratch_append(ledger_port(ledger, 0), 1, 10,
		    &receipt), synced ? LEDGER_FAILED : LEDGER_DURABLE);
		assert_true(plan->hit == (synced == 1));
		set_plan(IO_SYNC, 0, 0);
		/* a sync that would work now does not make up for it */
		assert_int_equal(scratch_append(ledger_port(ledger, 0), 2, 10,
		    &receipt), synced ? LEDGER_FAILED : LEDGER_DURABLE);
		assert_int_equal(ledger_close(ledger), synced ? -1 : 0);
		scratch_remove(&scratch);
	}
}

/* Fill up what is taken ahead; returns the number of records. */
static uint64_t
fill(struct ledger_port *port, uint64_t most)
{
	struct ledger_receipt receipt;
	uint64_t n = 0;

	while (n < most && scratch_append(port, n, 40000, &receipt) ==
	    LEDGER_DURABLE)
		n++;
	if (n < most)
		assert_int_equal(receipt.status, LEDGER_FULL);
	return n;
}

/* No space for a while: refused, not failed; then what was refused is declared
 * and all goes on. */
static void
a_full_disk_is_survived_and_declared(void **state)
{
	struct ledger_receipt receipt;
	struct scratch_read read;
	struct scratch scratch;
	struct ledger *ledger;
	struct ledger_counts counts;
	uint64_t n, i;

	scratch_init(&scratch, NULL);
	ledger = must_open(&scratch);
	set_plan(IO_ALLOCATE, ENOSPC, 0);
	n = fill(ledger_port(ledger, 0), 10000);
	assert_in_range(n, 1, 9999);
	for (i = 0; i < 4; i++)
		assert_int_equal(scratch_append(ledger_port(ledger, 0), i, 10,
		    &receipt), LEDGER_FULL);
	assert_true(ledger_healthy(ledger));
	ledger_counts(ledger, &counts);
	assert_int_equal(counts.refused, 5);
	set_plan(IO_ALLOCATE, 0, 0);
	assert_int_equal(scratch_append(ledger_port(ledger, 0), 1, 10,
	    &receipt), LEDGER_DURABLE);
	assert_int_equal(receipt.seq, n + 1 + 5 + 1);
	assert_int_equal(ledger_close(ledger), 0);
	must_check(&scratch, &read);
	i = scratch_find(&read, "drop");
	assert_int_equal(i, n + 2);
	assert_int_equal(read.lines[i - 1].seq, n + 1 + 5);
	assert_int_equal(scratch_find(&read, "close"), read.count);
	free(read.lines);
	scratch_remove(&scratch);
}

/* No space until the end: `drop`, `close` and a checkpoint fit the reserve. */
static void
a_full_disk_still_has_room_for_the_end(void **state)
{
	struct scratch_read read;
	struct scratch scratch;
	struct ledger *ledger;
	uint64_t n;

	scratch_init(&scratch, NULL);
	ledger = must_open(&scratch);
	set_plan(IO_ALLOCATE, ENOSPC, 0);
	n = fill(ledger_port(ledger, 0), 10000);
	assert_int_equal(ledger_close(ledger), 0);
	set_plan(IO_ALLOCATE, 0, 0);
	must_check(&scratch, &read);
	assert_int_equal(read.count, n + 3);
	assert_string_equal(read.lines[n + 1].type, "drop");
	assert_string_equal(read.lines[n + 2].type, "close");
	assert_int_equal(read.checkpoint.size, n + 3);
	free(read.lines);
	scratch_remove(&scratch);
}

/* The next segment cannot be made: refused while there are places left for
 * the end, which then needs no other segment. */
static void
a_segment_ends_on_a_full_disk(void **state)
{
	struct ledger_record record = { "outcome", NULL, SCRATCH_POLICY,
	    "{}", 2, false };
	struct ledger_receipt receipt;
	struct scratch_read read;
	struct scratch scratch;
	struct ledger *ledger;
	uint64_t n = 0;

	scratch_init(&scratch, NULL);
	scratch.options.sync = LEDGER_SYNC_NONE;
	ledger = must_open(&scratch);
	set_plan(IO_OPEN, ENOSPC, 0);
	while (ledger_append_wait(ledger_port(ledger, 0), &record, &receipt) ==
	    LEDGER_DURABLE)
		n++;
	assert_int_equal(receipt.status, LEDGER_FULL);
	set_plan(IO_OPEN, 0, 0);
	assert_int_equal(ledger_close(ledger), 0);
	must_check(&scratch, &read);
	assert_int_equal(n, 65536 - 16 - 1);
	assert_int_equal(read.count, n + 3);
	assert_int_equal(read.segments, 1);
	free(read.lines);
	scratch_remove(&scratch);
}

/* The same with a file system that is really full. */
static void
a_small_disk_fills_up(void **state)
{
	char mount_point[] = "/tmp/ledger-small-XXXXXX";
	struct scratch_read read;
	struct scratch scratch;
	struct ledger *ledger;
	uint64_t n;

	assert_non_null(mkdtemp(mount_point));
	if (mount("tmpfs", mount_point, "tmpfs", MS_NODEV | MS_NOSUID,
	    "size=6m") != 0) {
		rmdir(mount_point);
		skip();
	}
	scratch_init(&scratch, mount_point);
	ledger = scratch_open(&scratch);
	n = ledger != NULL ? fill(ledger_port(ledger, 0), 10000) : 0;
	if (ledger != NULL && ledger_close(ledger) != 0)
		n = 0;
	if (n > 0 && scratch_check(&scratch, &read) != 0)
		n = 0;
	scratch_remove(&scratch);
	umount(mount_point);
	rmdir(mount_point);
	assert_in_range(n, 50, 9999);
	assert_string_equal(read.lines[n + 1].type, "drop");
	assert_string_equal(read.lines[n + 2].type, "close");
	assert_int_equal(read.checkpoint.size, n + 3);
	free(read.lines);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(input_output_errors_in_a_process),
		cmocka_unit_test(input_output_errors_in_a_thread),
		cmocka_unit_test(full_disks_anywhere),
		cmocka_unit_test(nothing_is_acknowledged_without_a_sync),
		cmocka_unit_test(a_full_disk_is_survived_and_declared),
		cmocka_unit_test(a_full_disk_still_has_room_for_the_end),
		cmocka_unit_test(a_segment_ends_on_a_full_disk),
		cmocka_unit_test(a_small_disk_fills_up),
	};

	plan = mmap(NULL, sizeof(*plan), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (plan == MAP_FAILED)
		return 2;
	io_fault = follow_plan;
	return cmocka_run_group_tests_name("faults", tests, NULL, NULL);
}
