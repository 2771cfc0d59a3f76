/*
 * What a crash leaves, and what an attacker does, as the next start sees it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ledger_maker.h"
#include "must_ledger.h"
#include "scratch_ledger.h"

static const char *
path_of(const struct scratch *scratch, const char *name)
{
	static char path[600];

	snprintf(path, sizeof(path), "%s/%s", scratch->dir, name);
	return path;
}

#define FIRST "records-00000000000000000000.jsonl"

static size_t
slurp(const struct scratch *scratch, const char *name, char **text)
{
	FILE *file = fopen(path_of(scratch, name), "rb");
	size_t len;

	assert_non_null(file);
	*text = malloc(1 << 20);
	assert_non_null(*text);
	len = fread(*text, 1, 1 << 20, file);
	fclose(file);
	return len;
}

static void
spill(const struct scratch *scratch, const char *name, const char *text,
    size_t len)
{
	FILE *file = fopen(path_of(scratch, name), "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, len, file), len);
	fclose(file);
}

/* A ledger that was closed after n records, then n more whose writer is killed
 * together with nothing lost. */
static void
make_crashed(struct scratch *scratch, uint64_t n)
{
	struct ledger_receipt receipt;
	struct ledger *ledger;

	scratch_init(scratch, NULL);
	ledger = must_open(scratch);
	for (uint64_t i = 0; i < n; i++)
		scratch_append(ledger_port(ledger, 0), i, 10, &receipt);
	kill(ledger_recorder_pid(ledger), SIGKILL);
	assert_int_equal(ledger_close(ledger), -1);
}

static void
an_open_stream_goes_on_after_a_crash(void **state)
{
	struct scratch_read read;
	struct scratch scratch;
	char *text;

	make_crashed(&scratch, 5);
	must_check(&scratch, &read);
	assert_int_equal(read.count, 6);
	assert_true(read.nuls > 0);
	assert_int_equal(read.checkpoint.size, 1);
	free(read.lines);
	assert_int_equal(ledger_close(must_open(&scratch)), 0);
	must_check(&scratch, &read);
	assert_int_equal(read.count, 8);
	assert_int_equal(read.lines[6].seq, 6);
	assert_string_equal(read.lines[6].type, "open");
	assert_int_equal(read.nuls + read.tail, 0);
	assert_int_equal(read.checkpoint.size, 8);
	free(read.lines);
	slurp(&scratch, FIRST, &text);
	assert_non_null(strstr(text, "\"after_crash\":true,\"last_seq\":5}"));
	assert_null(strstr(text, "\"type\":\"recover\""));
	free(text);
	assert_int_equal(ledger_close(must_open(&scratch)), 0);	/* that one was closed */
	slurp(&scratch, FIRST, &text);
	assert_non_null(strstr(text, "\"after_crash\":false,\"last_seq\":7}"));
	free(text);
	scratch_remove(&scratch);
}

/* Bytes of the recovered-* file, or -1 where there is none. */
static long
aside_len(const struct scratch *scratch, char *out, size_t cap)
{
	DIR *dir = opendir(scratch->dir);
	struct dirent *entry;
	long len = -1;

	while ((entry = readdir(dir)) != NULL) {
		FILE *file;

		if (strncmp(entry->d_name, "recovered-", 10) != 0)
			continue;
		file = fopen(path_of(scratch, entry->d_name), "rb");
		assert_non_null(file);
		len = (long)fread(out, 1, cap, file);
		fclose(file);
		unlink(path_of(scratch, entry->d_name));
	}
	closedir(dir);
	return len;
}

/* The first segment without the NULs behind its records, and where the last
 * record starts. */
static size_t
slurp_records(const struct scratch *scratch, char **text, size_t *last)
{
	size_t len = slurp(scratch, FIRST, text);

	while (len > 0 && (*text)[len - 1] == '\0')
		len--;
	*last = (size_t)((char *)memrchr(*text, '\n', len - 1) - *text) + 1;
	return len;
}

/* Of the last record only `torn` bytes are left; false where it has not more. */
static bool
torn_to(size_t torn, bool nuls)
{
	struct scratch_read read;
	struct scratch scratch;
	char *text, aside[2048];
	size_t len, last;

	make_crashed(&scratch, 5);
	len = slurp_records(&scratch, &text, &last);
	spill(&scratch, FIRST, text, last + torn);
	if (nuls)
		assert_int_equal(truncate(path_of(&scratch, FIRST),
		    (off_t)len + 100000), 0);
	assert_int_equal(ledger_close(must_open(&scratch)), 0);
	must_check(&scratch, &read);
	assert_int_equal(read.count, torn > 0 ? 8 : 7);
	assert_int_equal(scratch_find(&read, "recover"), torn > 0 ? 7 : 0);
	assert_int_equal(aside_len(&scratch, aside, sizeof(aside)),
	    torn > 0 ? (long)torn : -1);
	assert_memory_equal(aside, text + last, torn);
	free(read.lines);
	free(text);
	scratch_remove(&scratch);
	return last + torn + 1 < len;
}

/* The last record cut at every byte, with and without NULs behind it. */
static void
a_torn_end_is_cut_and_kept_aside(void **state)
{
	size_t torn = 0;

	while (torn_to(torn, torn % 2 != 0))
		torn++;
	assert_true(torn > 250);
	while (torn_to(torn, torn % 2 == 0) && torn > 0)
		torn--;
}

/* Pages reach the disk in any order: a hole of NULs before good bytes. */
static void
a_hole_ends_what_is_kept(void **state)
{
	struct scratch_read read;
	struct scratch scratch;
	char *text, *third, aside[4096];
	size_t len, last;

	make_crashed(&scratch, 5);
	len = slurp_records(&scratch, &text, &last);
	third = strstr(text, "\"n\":2") - 300;
	third = strchr(third, '\n') + 1;
	memset(third + 20, 0, 30);
	spill(&scratch, FIRST, text, len);
	assert_int_equal(ledger_close(must_open(&scratch)), 0);
	must_check(&scratch, &read);
	assert_int_equal(read.lines[2].n, 1);
	assert_string_equal(read.lines[3].type, "open");
	assert_string_equal(read.lines[4].type, "recover");
	assert_int_equal(aside_len(&scratch, aside, sizeof(aside)),
	    (long)(text + len - third));
	free(read.lines);
	free(text);
	scratch_remove(&scratch);
}

/* A closed ledger of eight records, all of them signed. */
static void
make_signed(struct scratch *scratch)
{
	struct ledger_receipt receipt;
	struct ledger *ledger;

	scratch_init(scratch, NULL);
	ledger = must_open(scratch);
	for (uint64_t i = 0; i < 6; i++)
		scratch_append(ledger_port(ledger, 0), i, 10, &receipt);
	assert_int_equal(ledger_close(ledger), 0);
}

/* A refused ledger is left byte for byte as it was found. */
static void
refused(struct scratch *scratch, const char *why)
{
	char *before, *after;
	size_t len = slurp(scratch, FIRST, &before);

	assert_null(scratch_open(scratch));
	if (strstr(scratch->err, why) == NULL) {
		print_error("%s\n", scratch->err);
		fail();
	}
	assert_int_equal(slurp(scratch, FIRST, &after), len);
	assert_memory_equal(before, after, len);
	free(before);
	free(after);
}

static void
signed_records_are_never_touched(void **state)
{
	struct scratch scratch;
	size_t len, last;
	char *text;

	make_signed(&scratch);
	len = slurp_records(&scratch, &text, &last);
	spill(&scratch, FIRST, text, last);
	refused(&scratch, "records are missing");
	spill(&scratch, FIRST, text, len - 1);
	refused(&scratch, "records are missing");
	spill(&scratch, FIRST, text, 0);
	refused(&scratch, "records are missing");
	text[len - 5] = '\0';
	spill(&scratch, FIRST, text, len);
	refused(&scratch, "records are missing");
	free(text);
	scratch_remove(&scratch);
}

static void
every_flipped_byte_is_refused(void **state)
{
	struct scratch scratch;
	char *text;
	size_t len;

	make_signed(&scratch);
	len = slurp(&scratch, FIRST, &text);
	for (size_t at = 0; at < len; at += 7) {
		text[at] ^= 1;
		spill(&scratch, FIRST, text, len);
		refused(&scratch, "");
		text[at] ^= 1;
	}
	spill(&scratch, FIRST, text, len);
	assert_int_equal(ledger_close(must_open(&scratch)), 0);
	free(text);
	scratch_remove(&scratch);
}

/* Behind the signed size: whole lines that do not follow are no crash. */
static void
a_foreign_line_behind_the_signed_ones_is_refused(void **state)
{
	struct scratch scratch;
	size_t len, last;
	char *text;

	make_crashed(&scratch, 3);
	len = slurp_records(&scratch, &text, &last);
	memcpy(text + len, text + last, len - last);	/* the last one twice */
	spill(&scratch, FIRST, text, len + len - last);
	refused(&scratch, "does not follow");
	memcpy(text + len, "garbage\n", 8);
	spill(&scratch, FIRST, text, len + 8);
	refused(&scratch, "is not valid");
	free(text);
	scratch_remove(&scratch);
}

/* A record that follows, but for the seqs between that nobody declared as lost. */
static void
an_undeclared_hole_is_refused(void **state)
{
	char parent[64], dir[96], err[512];
	struct ledger_options options = { .dir = dir, .stream = "broker",
	    .policy = MAKER_POLICY, .ports = 1, .checkpoint_ms = 1000000 };
	uint8_t seed[32];
	struct ledger *ledger;
	struct maker m;

	for (uint8_t i = 0; i < sizeof(seed); i++)
		seed[i] = i;
	options.seed = seed;
	make_temp_dir(parent);
	snprintf(dir, sizeof(dir), "%s/l", parent);
	for (int hole = 0; hole < 2; hole++) {
		maker_init(&m);
		maker_add(&m, "broker", "open", NULL, "{}");
		maker_seal(&m);
		maker_skip(&m, "broker", 1 + 2 * (uint64_t)hole);
		maker_add(&m, "broker", "secret", NULL, "{}");
		maker_save(&m, dir, 0);
		maker_free(&m);
		ledger = ledger_open(&options, err, sizeof(err));
		if (hole == 0 && ledger == NULL)
			print_error("%s\n", err);
		assert_true((ledger == NULL) == (hole == 1));
		if (hole == 1)
			assert_non_null(strstr(err, "has seq 3 where 1 is due"));
		assert_int_equal(ledger_close(ledger), 0);
		remove_tree(dir);
	}
	remove_tree(parent);
}

static void
checkpoints_that_were_changed_are_refused(void **state)
{
	static const char *const names[] = { "checkpoint", "checkpoints",
	    "log.vkey" };
	struct scratch scratch;

	make_signed(&scratch);
	for (size_t i = 0; i < 3; i++) {
		char *text;
		size_t len = slurp(&scratch, names[i], &text);

		text[len - 30] ^= 1;
		spill(&scratch, names[i], text, len);
		refused(&scratch, "");
		text[len - 30] ^= 1;
		unlink(path_of(&scratch, names[i]));
		refused(&scratch, "");
		spill(&scratch, names[i], text, len);
		free(text);
	}
	assert_int_equal(ledger_close(must_open(&scratch)), 0);
	scratch_remove(&scratch);
}

/* `checkpoint` put back to an older one, and the records with it: the log of
 * checkpoints still knows. */
static void
a_rolled_back_checkpoint_is_seen(void **state)
{
	struct ledger_receipt receipt;
	struct scratch scratch;
	struct ledger *ledger;
	char *old, *records;
	size_t old_len, len;

	make_signed(&scratch);
	old_len = slurp(&scratch, "checkpoint", &old);
	len = slurp(&scratch, FIRST, &records);
	ledger = must_open(&scratch);
	scratch_append(ledger_port(ledger, 0), 1, 10, &receipt);
	assert_int_equal(ledger_close(ledger), 0);
	spill(&scratch, "checkpoint", old, old_len);
	spill(&scratch, FIRST, records, len);
	refused(&scratch, "records are missing");
	free(old);
	free(records);
	scratch_remove(&scratch);
}

/* A crash between the log of checkpoints and the file, or in the log. */
static void
a_torn_log_of_checkpoints_is_cut(void **state)
{
	struct scratch_read read;
	struct scratch scratch;
	char *text, *old;
	size_t len, old_len;

	make_signed(&scratch);
	len = slurp(&scratch, "checkpoints", &text);
	old_len = slurp(&scratch, "checkpoint", &old);
	for (size_t torn = 0; torn < old_len; torn += 5) {
		memcpy(text + len, old, torn);
		spill(&scratch, "checkpoints", text, len + torn);
		assert_int_equal(ledger_close(must_open(&scratch)), 0);
		must_check(&scratch, &read);
		free(read.lines);
		free(text);
		free(old);
		len = slurp(&scratch, "checkpoints", &text);
		old_len = slurp(&scratch, "checkpoint", &old);
	}
	/* more than what is written over it */
	memset(text + len, '#', 1000);
	spill(&scratch, "checkpoints", text, len + 1000);
	assert_int_equal(ledger_close(must_open(&scratch)), 0);
	free(text);
	len = slurp(&scratch, "checkpoints", &text);
	assert_null(memchr(text, '#', len));
	free(text);
	free(old);
	scratch_remove(&scratch);
}

static void
missing_segments_are_named(void **state)
{
	struct scratch scratch;
	char from[600], to[600];

	make_signed(&scratch);
	snprintf(from, sizeof(from), "%s", path_of(&scratch, FIRST));
	snprintf(to, sizeof(to), "%s", path_of(&scratch,
	    "records-00000000000000065536.jsonl"));
	assert_int_equal(rename(from, to), 0);
	assert_null(scratch_open(&scratch));
	assert_non_null(strstr(scratch.err, "some are missing"));
	assert_int_equal(rename(to, from), 0);
	assert_int_equal(ledger_close(must_open(&scratch)), 0);
	scratch_remove(&scratch);
}

/* What the child was told is durable, in memory that outlives it. */
struct told {
	_Atomic uint64_t count;
	uint64_t index[100000];
	uint64_t n[100000];
};

static _Noreturn void
append_until_killed(struct scratch *scratch, struct told *told, uint64_t from)
{
	struct ledger *ledger = scratch_open(scratch);

	if (ledger == NULL)
		_exit(3);
	for (uint64_t n = from; n - from < 100000; n++) {
		struct ledger_receipt receipt;
		uint64_t at = told->count;

		if (scratch_append(ledger_port(ledger, 0), n, 50 + n % 900,
		    &receipt) != LEDGER_DURABLE)
			_exit(4);
		told->index[at] = receipt.index;
		told->n[at] = n;
		told->count = at + 1;
	}
	_exit(5);
}

/* The recorder of a dead owner ends by itself; killed, it lets go too. */
static struct ledger *
open_again(struct scratch *scratch)
{
	for (int i = 0; i < 12000; i++) {
		struct ledger *ledger = scratch_open(scratch);

		if (ledger != NULL)
			return ledger;
		if (strstr(scratch->err, "being written by") == NULL)
			print_error("%s\n", scratch->err);
		assert_non_null(strstr(scratch->err, "being written by"));
		usleep(5000);
	}
	return NULL;
}

static pid_t
holder(const struct scratch *scratch)
{
	FILE *file = fopen(path_of(scratch, "lock"), "r");
	long pid = 0;

	if (file != NULL && fscanf(file, "%ld", &pid) != 1)
		pid = 0;
	if (file != NULL)
		fclose(file);
	return (pid_t)pid;
}

/* Kill the owner, its recorder, or both, in the middle of a load, again and
 * again: whatever was acknowledged is there, in its place. */
static void
killed_in_the_middle_nothing_acknowledged_is_missing(void **state)
{
	const int rounds = 50;
	struct told *told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct scratch_read read;
	struct scratch scratch;
	uint64_t acknowledged = 0;

	scratch_init(&scratch, "/tmp");
	scratch.options.checkpoint_ms = 3;
	for (int round = 0; round < rounds; round++) {
		pid_t child, recorder;
		uint64_t goal = 1 + (uint64_t)(round * 7) % 40;

		told->count = 0;
		child = fork();
		assert_true(child >= 0);
		if (child == 0)
			append_until_killed(&scratch, told,
			    (uint64_t)round * 100000);
		while (told->count < goal && waitpid(child, NULL, WNOHANG) == 0)
			usleep(50);
		recorder = holder(&scratch);
		if (round % 3 != 0)
			kill(recorder, SIGKILL);
		if (round % 3 != 1)
			kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		assert_true(told->count >= goal);
		assert_int_equal(ledger_close(open_again(&scratch)), 0);
		must_check(&scratch, &read);
		for (uint64_t i = 0; i < told->count; i++) {
			assert_true(told->index[i] < read.count);
			assert_true(read.lines[told->index[i]].n ==
			    told->n[i]);
		}
		assert_int_equal(read.checkpoint.size, read.count);
		acknowledged += told->count;
		free(read.lines);
	}
	print_message("# %llu acknowledged records in %d kills\n",
	    (unsigned long long)acknowledged, rounds);
	munmap(told, sizeof(*told));
	scratch_remove(&scratch);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_open_stream_goes_on_after_a_crash),
		cmocka_unit_test(a_torn_end_is_cut_and_kept_aside),
		cmocka_unit_test(a_hole_ends_what_is_kept),
		cmocka_unit_test(signed_records_are_never_touched),
		cmocka_unit_test(every_flipped_byte_is_refused),
		cmocka_unit_test(
		    a_foreign_line_behind_the_signed_ones_is_refused),
		cmocka_unit_test(an_undeclared_hole_is_refused),
		cmocka_unit_test(checkpoints_that_were_changed_are_refused),
		cmocka_unit_test(a_rolled_back_checkpoint_is_seen),
		cmocka_unit_test(a_torn_log_of_checkpoints_is_cut),
		cmocka_unit_test(missing_segments_are_named),
		cmocka_unit_test(
		    killed_in_the_middle_nothing_acknowledged_is_missing),
	};

	return cmocka_run_group_tests_name("recovery", tests, NULL, NULL);
}
