/*
 * The tree beside the records: starts that need not read them, files that are
 * missing or wrong, proofs and tiles against a tree held in memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ledger/tree/hashes.h"
#include "ledger/tree/proof.h"
#include "scratch_ledger.h"

/* Two full segments and some; made once, since it takes a second. */
static struct scratch scratch;
static struct scratch_read made;

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
must_check(struct scratch_read *read)
{
	if (scratch_check(&scratch, read) != 0) {
		print_error("%s\n", scratch.err);
		fail();
	}
}

static int
make(void **state)
{
	struct ledger_record record = { "outcome", NULL, SCRATCH_POLICY,
	    "{}", 2, false };
	uint64_t sent = 0, got = 0, total = 65536 * 2 + 1000;
	struct ledger *ledger;
	struct ledger_port *port;

	scratch_init(&scratch, NULL);
	scratch.options.sync = LEDGER_SYNC_NONE;
	ledger = must_open();
	port = ledger_port(ledger, 0);
	while (got < total) {
		struct pollfd fd = { ledger_port_fd(port), POLLIN, 0 };
		struct ledger_receipt receipt;

		while (sent < total && ledger_submit(port, &record, sent) == 0)
			sent++;
		poll(&fd, 1, 60000);
		while (ledger_receipt(port, &receipt))
			got++;
	}
	assert_int_equal(ledger_close(ledger), 0);
	must_check(&made);
	return 0;
}

static int
clean(void **state)
{
	free(made.lines);
	scratch_remove(&scratch);
	return 0;
}

static const char *
path_of(const char *name)
{
	static char path[600];

	snprintf(path, sizeof(path), "%s/%s", scratch.dir, name);
	return path;
}

/* Open and close; returns the `read_from` that the new `open` record names. */
static long
reopen(void)
{
	char *text = calloc(1, 1 << 20), *at;
	FILE *file;
	long from = -1;

	assert_int_equal(ledger_close(must_open()), 0);
	file = fopen(path_of("records-00000000000000131072.jsonl"), "rb");
	assert_non_null(file);
	assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
	fclose(file);
	for (at = text; (at = strstr(at, "\"read_from\":")) != NULL; at++)
		from = strtol(at + 12, NULL, 10);
	free(text);
	return from;
}

/* Put a byte in its place, or (-1) change the one that is there. */
static void
set_byte(const char *name, long at, int byte)
{
	FILE *file = fopen(path_of(name), "r+b");

	assert_non_null(file);
	assert_int_equal(fseek(file, at, SEEK_SET), 0);
	if (byte < 0)
		byte = fgetc(file) ^ 1;
	assert_int_equal(fseek(file, at, SEEK_SET), 0);
	fputc(byte, file);
	fclose(file);
}

static void
flip(const char *name, long at)
{
	set_byte(name, at, -1);
}

#define HASHES0 "hashes-00000000000000000000"
#define RECORDS0 "records-00000000000000000000.jsonl"

static void
a_start_reads_the_last_segment_only(void **state)
{
	assert_int_equal(reopen(), 131072);
	scratch.options.check_all = true;
	assert_int_equal(reopen(), 0);
	scratch.options.check_all = false;
}

static void
missing_and_wrong_files_are_made_again(void **state)
{
	assert_int_equal(unlink(path_of(HASHES0)), 0);
	assert_int_equal(reopen(), 0);
	assert_int_equal(reopen(), 131072);
	/* the segment's root: the signed root does not come out */
	flip(HASHES0, 2097152 + 8192 + 5);
	assert_int_equal(reopen(), 0);
	assert_int_equal(reopen(), 131072);
	/* the size of the records */
	flip(HASHES0, 2097152 + 8192 + 32 + 7);
	assert_int_equal(reopen(), 0);
	assert_int_equal(reopen(), 131072);
	assert_int_equal(truncate(path_of(HASHES0), 2097152), 0);
	assert_int_equal(reopen(), 0);
	assert_int_equal(reopen(), 131072);
}

/* What the short way cannot see, the long way does, and so does the verifier. */
static void
altered_records_are_seen_when_all_are_read(void **state)
{
	struct stat st;

	chmod(path_of(RECORDS0), 0600);
	flip(RECORDS0, 100000);
	assert_int_equal(reopen(), 131072);
	scratch.options.check_all = true;
	assert_null(scratch_open(&scratch));
	scratch.options.check_all = false;
	flip(RECORDS0, 100000);
	/* another size is seen by both */
	assert_int_equal(stat(path_of(RECORDS0), &st), 0);
	assert_int_equal(truncate(path_of(RECORDS0), st.st_size - 1), 0);
	assert_null(scratch_open(&scratch));
	assert_non_null(strstr(scratch.err, "not whole"));
	assert_int_equal(truncate(path_of(RECORDS0), st.st_size), 0);
	set_byte(RECORDS0, st.st_size - 1, '\n');
	chmod(path_of(RECORDS0), 0400);
	assert_int_equal(reopen(), 131072);
}

static void
proofs_and_tiles_are_those_of_the_records(void **state)
{
	uint8_t (*leaves)[32] = malloc(made.count * 32);
	struct tree_leaves list = { (const uint8_t (*)[32])leaves, made.count };
	struct tree_source memory = tree_leaves_source(&list), disk;
	struct hashes_reader reader = { .size = made.count };
	uint8_t tile[256 * 32], root[32], expected[32];

	for (uint64_t i = 0; i < made.count; i++)
		memcpy(leaves[i], made.lines[i].leaf, 32);
	reader.dirfd = open(scratch.dir, O_RDONLY | O_DIRECTORY);
	disk = hashes_source(&reader);
	assert_int_equal(tree_root(&disk, made.count, root), 0);
	assert_memory_equal(root, made.checkpoint.root, 32);
	for (uint64_t i = 0; i < made.count; i += 7919) {
		struct tree_proof a, b;

		assert_int_equal(tree_prove_inclusion(&disk, i, made.count,
		    &a), 0);
		assert_int_equal(tree_prove_inclusion(&memory, i, made.count,
		    &b), 0);
		assert_int_equal(a.count, b.count);
		assert_memory_equal(a.hash, b.hash, a.count * 32);
		assert_true(tree_verify_inclusion(&a, i, made.count,
		    leaves[i], root));
		assert_int_equal(tree_prove_consistency(&disk, i, made.count,
		    &a), 0);
		assert_int_equal(tree_root(&memory, i, expected), 0);
		assert_true(tree_verify_consistency(&a, i, made.count,
		    expected, root));
	}
	/* tile/0/x513 wide 240 or so, tile/1/002 and tile/2/000 */
	assert_int_equal(hashes_tile(&reader, 0, 513, 200, tile), 0);
	assert_memory_equal(tile, leaves[513 * 256], 200 * 32);
	assert_int_equal(hashes_tile(&reader, 1, 2, 3, tile), 0);
	assert_int_equal(hashes_tile(&reader, 2, 0, 2, tile), 0);
	memory.node(memory.context, 16, 1, expected);
	assert_memory_equal(tile + 32, expected, 32);
	/* beyond the tree */
	assert_int_equal(hashes_tile(&reader, 2, 0, 3, tile), -1);
	assert_int_equal(hashes_tile(&reader, 0, 5000, 1, tile), -1);
	assert_int_equal(hashes_tile(&reader, 0, UINT64_MAX, 1, tile), -1);
	assert_int_equal(hashes_tile(&reader, 9, 0, 1, tile), -1);
	assert_int_equal(hashes_tile(&reader, 0, 0, 0, tile), -1);
	assert_int_equal(hashes_tile(&reader, 0, 0, 257, tile), -1);
	close(reader.dirfd);
	free(leaves);
}

/* While the ledger is written: sealed records have proofs, others not yet. */
static void
receipts_can_be_proved(void **state)
{
	struct ledger_record record = { "teardown", "r1", SCRATCH_POLICY, "{}",
	    2, true };
	struct ledger *ledger = must_open();
	struct ledger_receipt sealed, later;
	struct checkpoint checkpoint;
	struct problem problem;
	struct note_key key;
	char *text = malloc(PROOF_TEXT_MAX), vkey[NOTE_VKEY_MAX + 2];
	const char *why = "";
	uint64_t index;
	FILE *file = fopen(path_of("log.vkey"), "rb");
	size_t n = fread(vkey, 1, sizeof(vkey), file);
	int fd = open(scratch.dir, O_RDONLY | O_DIRECTORY), len;

	fclose(file);
	assert_int_equal(note_key_parse(&key, vkey, n - 1), 0);
	ledger_append_wait(ledger_port(ledger, 0), &record, &sealed);
	record.seal = false;
	ledger_append_wait(ledger_port(ledger, 0), &record, &later);
	len = proof_compose(fd, sealed.index, text, PROOF_TEXT_MAX, &problem);
	assert_true(len > 0);
	assert_int_equal(proof_check(text, (size_t)len, sealed.leaf, &key,
	    &index, &checkpoint, &why), 0);
	assert_int_equal(index, sealed.index);
	assert_int_equal(checkpoint.size, sealed.index + 1);
	assert_int_equal(proof_check(text, (size_t)len, later.leaf, &key,
	    &index, &checkpoint, &why), -1);
	for (int at = 0; at < len; at++) {
		text[at] ^= 1;
		assert_int_equal(proof_check(text, (size_t)len, sealed.leaf,
		    &key, &index, &checkpoint, &why), -1);
		text[at] ^= 1;
		assert_int_equal(proof_check(text, (size_t)at, sealed.leaf,
		    &key, &index, &checkpoint, &why), -1);
	}
	assert_int_equal(proof_compose(fd, later.index, text, PROOF_TEXT_MAX,
	    &problem), -1);
	assert_non_null(strstr(problem.text, "not sealed"));
	assert_int_equal(proof_compose(fd, sealed.index, text, 200, &problem),
	    -1);
	close(fd);
	free(text);
	assert_int_equal(ledger_close(ledger), 0);
}

/* The proof that another implementation made. */
static void
a_foreign_proof_is_read(void **state)
{
	const char *dir = "../shared/data/ledger-vectors";
	char path[300], text[2048], vkey[512], line[1024];
	struct checkpoint checkpoint;
	struct note_key key;
	const char *why = "";
	uint8_t leaf[32];
	uint64_t index;
	size_t len, vkey_len;
	FILE *file;

	snprintf(path, sizeof(path), "%s/rec1.tlog-proof", dir);
	file = fopen(path, "rb");
	if (file == NULL)
		skip();
	len = fread(text, 1, sizeof(text), file);
	fclose(file);
	snprintf(path, sizeof(path), "%s/log.vkey", dir);
	file = fopen(path, "rb");
	assert_non_null(file);
	vkey_len = fread(vkey, 1, sizeof(vkey), file);
	fclose(file);
	vkey_len -= vkey[vkey_len - 1] == '\n';
	snprintf(path, sizeof(path), "%s/ledger.jsonl", dir);
	file = fopen(path, "rb");
	assert_non_null(file);
	for (int i = 0; i < 2; i++)
		assert_non_null(fgets(line, sizeof(line), file));
	fclose(file);
	tree_leaf(line, strlen(line) - 1, leaf);
	assert_int_equal(note_key_parse(&key, vkey, vkey_len), 0);
	assert_int_equal(proof_check(text, len, leaf, &key, &index,
	    &checkpoint, &why), 0);
	assert_int_equal(index, 1);
	assert_int_equal(checkpoint.size, 5);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(proofs_and_tiles_are_those_of_the_records),
		cmocka_unit_test(receipts_can_be_proved),
		cmocka_unit_test(a_foreign_proof_is_read),
		cmocka_unit_test(a_start_reads_the_last_segment_only),
		cmocka_unit_test(missing_and_wrong_files_are_made_again),
		cmocka_unit_test(altered_records_are_seen_when_all_are_read),
	};

	return cmocka_run_group_tests_name("hashes", tests, make, clean);
}
