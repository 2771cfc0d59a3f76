/*
 * What is written is synced before anybody is told, and before what names it: the
 * order of the recorder's operations on its files, in letters.  A sync that is left
 * out shows nowhere else, short of a power cut.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rekey_case.h"

#define TRACE_MAX 4096

/* The recorder is a thread here, so its operations are ours to see: written by it
 * alone, read when it has answered. */
static char trace[TRACE_MAX];
static _Atomic size_t traced;
static _Atomic size_t fail_at;		/* the how-manieth sync fails; 0: none */
static _Atomic size_t syncs;

static int
note_operation(enum io_op op)
{
	static const char letters[IO_OPS] = { [IO_OPEN] = 'o', [IO_WRITE] = 'w',
	    [IO_SYNC] = 's', [IO_ALLOCATE] = 'a', [IO_TRUNCATE] = 't', [IO_RENAME] = 'r' };

	if (traced < TRACE_MAX - 1)
		trace[traced++] = letters[op];
	return op == IO_SYNC && ++syncs == fail_at ? EIO : 0;
}

static void
begin_trace(size_t fail)
{
	traced = syncs = 0;
	fail_at = fail;
}

/* What was done since, but for the zeros of space that is taken ("a"). */
static const char *
end_trace(void)
{
	size_t n = 0;
	bool zeros = false;

	for (size_t i = 0; i < traced; i++) {
		zeros = trace[i] == 'a' || (zeros && trace[i] == 'w');
		if (!zeros || trace[i] == 'a')
			trace[n++] = trace[i];
	}
	trace[n] = '\0';
	return trace;
}

static void
begins(const char *what)
{
	if (strncmp(end_trace(), what, strlen(what)) != 0)
		fail_msg("%s does not begin with %s", trace, what);
}

static void
has(const char *what)
{
	if (strstr(end_trace(), what) == NULL)
		fail_msg("%s has no %s", trace, what);
}

static void
ends(const char *what)
{
	const size_t n = strlen(end_trace()), want = strlen(what);

	if (n < want || strcmp(trace + n - want, what) != 0)
		fail_msg("%s does not end with %s", trace, what);
}

static struct ledger *
open_here(void)
{
	io_fault = note_operation;
	scratch.options.sync = LEDGER_SYNC_DATA;
	scratch.options.checkpoint_ms = 3600 * 1000;	/* none but those that are asked for */
	return must_open(&scratch);
}

static enum ledger_status
seal(struct ledger *ledger)
{
	const struct ledger_record record = { "teardown", "r1", SCRATCH_POLICY,
	    "{\"n\":7}", 7, true };
	struct ledger_receipt receipt;

	return ledger_append_wait(ledger_port(ledger, 0), &record, &receipt);
}

/* The records; then, where a checkpoint is wanted, the file of all, and the latest
 * under another name, its name, and the directory. */
#define RECORDS "ws"
#define CHECKPOINT "wsowtsrs"

static void
what_is_answered_is_synced(void **state)
{
	struct ledger *ledger;

	begin_trace(0);
	ledger = open_here();
	has("otass");		/* the segment and its directory, before a record */
	ends(CHECKPOINT);
	begin_trace(0);
	append(ledger, 1);
	ends(RECORDS);
	begin_trace(0);
	assert_int_equal(seal(ledger), LEDGER_DURABLE);
	ends(RECORDS "w" CHECKPOINT);	/* between them the hashes, which can be made again */
	begin_trace(0);
	assert_int_equal(ledger_close(ledger), 0);
	ends(RECORDS "w" CHECKPOINT "ts");
}

/* Whichever of them fails: who waits for the checkpoint is not told that it is there. */
static void
no_sync_fails_unnoticed(void **state)
{
	for (size_t i = 1; i <= 4; i++) {
		struct ledger *ledger = open_here();

		begin_trace(i);
		assert_int_not_equal(seal(ledger), LEDGER_DURABLE);
		assert_true(syncs >= i);
		assert_false(ledger_healthy(ledger));
		begin_trace(0);
		assert_int_equal(ledger_close(ledger), -1);
	}
}

/* What a crash left behind is kept aside before it is cut off. */
static void
a_torn_end_is_kept(void **state)
{
	char path[sizeof(scratch.dir) + 64];
	struct ledger *ledger = open_here();
	int fd;

	assert_int_equal(ledger_close(ledger), 0);
	snprintf(path, sizeof(path), "%s/records-%020d.jsonl", scratch.dir, 0);
	fd = open(path, O_WRONLY | O_APPEND);
	assert_int_equal(write(fd, "{\"torn", 6), 6);
	close(fd);
	begin_trace(0);
	ledger = open_here();
	has("owss");
	has("otass");
	assert_true(strstr(trace, "owss") < strstr(trace, "otass"));
	assert_int_equal(ledger_close(ledger), 0);
}

/* A segment is whole before the next one bears its name. */
static void
a_full_segment_is_synced(void **state)
{
	struct ledger *ledger = open_here();

	do {
		begin_trace(0);
		append(ledger, 1);
	} while (memchr(trace, 'r', traced) == NULL);
	begins("tsrs");
	ends(RECORDS);
	assert_int_equal(ledger_close(ledger), 0);
}

/* How the next key follows from this one is known before it signs anything. */
static void
an_epoch_is_synced(void **state)
{
	struct ledger *ledger;

	ledger = open_here();
	begin_trace(0);
	assert_int_equal(ledger_rotate(ledger, 10000), 0);
	has(CHECKPOINT "owss");
	assert_int_equal(ledger_close(ledger), 0);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(what_is_answered_is_synced),
		EACH(no_sync_fails_unnoticed),
		EACH(a_torn_end_is_kept),
		EACH(a_full_segment_is_synced),
		EACH(an_epoch_is_synced),
	};

	return cmocka_run_group_tests_name("durable", tests, NULL, NULL);
}
