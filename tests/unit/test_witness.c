/*
 * The witness's rules, without HTTP: what it cosigns, what it refuses and with
 * which status, what it keeps, and that it never forgets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "ledger/anchor/cosign.h"
#include "ledger/anchor/submission.h"
#include "ledger/anchor/witness.h"
#include "ledger/io.h"
#include "ledger_maker.h"

#define NAME "witness.example.com/w1"

static struct maker ours, forked;
static char dir[64];
static struct note_key key;
static struct witness *witness;
static struct witness_reply reply;
static char body[SUBMISSION_MAX + 1];
static uint64_t now_s = 1764400000;

static void
must_open(void)
{
	struct problem problem = { .text = "" };

	witness = witness_open(dir, &problem);
	if (witness == NULL)
		print_error("%s\n", problem.text);
	assert_non_null(witness);
}

static int
set_up(void **state)
{
	struct problem problem = { .text = "" };

	if (sodium_init() < 0)
		return -1;
	make_temp_dir(dir);
	maker_init(&ours);
	maker_init(&forked);
	for (int i = 0; i < 40; i++) {
		maker_add(&ours, "broker", i == 0 ? "open" : "secret", NULL, "{}");
		maker_add(&forked, "broker", i == 0 ? "open" : "secret", NULL,
		    i == 10 ? "{\"x\":1}" : "{}");
	}
	assert_int_equal(witness_create(dir, NAME, &key, &problem), 0);
	assert_int_equal(witness_add_log(dir, &ours.key, &problem), 0);
	must_open();
	return 0;
}

static int
tear_down(void **state)
{
	io_fault = NULL;
	witness_close(witness);
	witness = NULL;
	maker_free(&ours);
	maker_free(&forked);
	remove_tree(dir);
	return 0;
}

static struct tree_leaves
leaves_of(const struct maker *maker, uint8_t (*leaf)[TREE_HASH_LEN])
{
	for (size_t i = 0; i < maker->count; i++)
		memcpy(leaf[i], maker->line[i].leaf, TREE_HASH_LEN);
	return (struct tree_leaves){
	    (const uint8_t (*)[TREE_HASH_LEN])leaf, maker->count };
}

/* A checkpoint of the first size records, signed with the maker's key. */
static int
sign_at(const struct maker *maker, uint64_t size, char *out, size_t cap)
{
	uint8_t leaf[64][TREE_HASH_LEN];
	struct tree_leaves leaves = leaves_of(maker, leaf);
	struct tree_source source = tree_leaves_source(&leaves);
	struct checkpoint at = { .size = size };

	snprintf(at.origin, sizeof(at.origin), "%s", maker->key.name);
	assert_int_equal(tree_root(&source, size, at.root), 0);
	return checkpoint_sign(&at, &maker->key, maker->sk, out, cap);
}

static size_t
compose(const struct maker *maker, uint64_t old, uint64_t proved_from,
    uint64_t size)
{
	uint8_t leaf[64][TREE_HASH_LEN];
	struct tree_leaves leaves = leaves_of(maker, leaf);
	struct tree_source source = tree_leaves_source(&leaves);
	char note[CHECKPOINT_NOTE_MAX + 1];
	struct submission in = { .old_size = old, .note = note };
	int n;

	in.note_len = (size_t)sign_at(maker, size, note, sizeof(note));
	assert_int_equal(tree_prove_consistency(&source, proved_from, size,
	    &in.proof), 0);
	n = submission_format(&in, body, sizeof(body));
	assert_true(n > 0);
	return (size_t)n;
}

static void
submit(size_t len, unsigned status, const char *event)
{
	witness_add_checkpoint(witness, body, len, now_s++, &reply);
	assert_string_equal(reply.event, event);
	assert_int_equal(reply.status, status);
}

static void
advance(uint64_t from, uint64_t to)
{
	submit(compose(&ours, from, from, to), 200, "cosigned");
}

static size_t
evidence(void)
{
	char pattern[128];
	glob_t found;
	size_t n;

	snprintf(pattern, sizeof(pattern), "%s/evidence-*", dir);
	n = glob(pattern, 0, NULL, &found) == 0 ? found.gl_pathc : 0;
	if (n > 0)
		globfree(&found);
	return n;
}

static void
test_cosigns(void **state)
{
	char note[CHECKPOINT_NOTE_MAX + 1], line[COSIGN_LINE_MAX + 1];
	int note_len = sign_at(&ours, 5, note, sizeof(note));
	const char *why = "";
	uint64_t time = 0;

	submit(compose(&ours, 0, 0, 5), 200, "cosigned");
	assert_int_equal(cosign_pick(note, (size_t)note_len, reply.body,
	    reply.len, &key, &time, line, sizeof(line), &why), reply.len);
	assert_string_equal(line, reply.body);
	assert_int_equal(time, now_s - 1);
	advance(5, 6);
	advance(6, 40);
	advance(40, 40);
	assert_int_equal(evidence(), 0);
}

static void
test_other_size(void **state)
{
	advance(0, 7);
	submit(compose(&ours, 0, 0, 9), 409, "other_size");
	assert_string_equal(reply.body, "7\n");
	assert_string_equal(reply.type, "text/x.tlog.size");
	submit(compose(&ours, 5, 5, 9), 409, "other_size");
	submit(compose(&ours, 3, 3, 4), 409, "other_size");
	advance(7, 9);
}

static void
test_fork(void **state)
{
	advance(0, 9);
	submit(compose(&forked, 9, 9, 20), 200, "cosigned");
	assert_int_equal(evidence(), 0);
	/* the fork lies behind record 10 */
	submit(compose(&ours, 20, 20, 20), 409, "equivocation");
	assert_int_equal(reply.len, 0);
	assert_int_equal(evidence(), 1);
	submit(compose(&ours, 20, 20, 20), 409, "equivocation");
	assert_int_equal(evidence(), 1);
	submit(compose(&ours, 20, 20, 30), 422, "inconsistent");
	assert_int_equal(evidence(), 2);
	submit(compose(&forked, 20, 20, 30), 200, "cosigned");
}

static void
test_bad_proof(void **state)
{
	advance(0, 9);
	submit(compose(&ours, 9, 8, 20), 422, "inconsistent");
	submit(compose(&ours, 9, 20, 20), 422, "inconsistent");
	/* a proof where none is due */
	submit(compose(&ours, 9, 8, 9), 422, "inconsistent");
	advance(9, 20);
}

/* Whoever has read a log's honest checkpoints can send them behind no proof: there is
 * room left for what its key cannot have signed honestly. */
static void
test_evidence_left(void **state)
{
	advance(0, 5);
	for (uint64_t size = 6; size <= 40; size++)
		submit(compose(&ours, 5, 4, size), 422, "inconsistent");
	assert_int_equal(evidence(), WITNESS_EVIDENCE_MAX / 2);
	advance(5, 20);
	submit(compose(&forked, 20, 20, 20), 409, "equivocation");
	assert_int_equal(evidence(), WITNESS_EVIDENCE_MAX / 2 + 1);
}

static void
test_rollback(void **state)
{
	advance(0, 20);
	submit(compose(&ours, 20, 20, 20), 200, "cosigned");
	submit((size_t)snprintf(body, sizeof(body), "%s", ""), 400, "malformed");
	submit(compose(&ours, 10, 10, 15), 409, "other_size");
	assert_string_equal(reply.body, "20\n");
	/* an old size above the new one */
	compose(&ours, 10, 10, 15);
	memcpy(body, "old 20", 6);
	submit(strlen(body), 400, "malformed");
}

static void
test_strangers(void **state)
{
	uint8_t pk[NOTE_PK_LEN], sk[NOTE_SK_LEN];
	struct maker other = ours;

	crypto_sign_keypair(pk, sk);
	assert_int_equal(note_key_make(&other.key, ours.key.name,
	    NOTE_ED25519, pk), 0);
	memcpy(other.sk, sk, sizeof(sk));
	submit(compose(&other, 0, 0, 5), 403, "unknown_key");
	assert_string_equal(reply.origin, ours.key.name);
	assert_int_equal(note_key_make(&other.key, "log.example.com/else",
	    NOTE_ED25519, pk), 0);
	submit(compose(&other, 0, 0, 5), 404, "unknown_log");
	assert_string_equal(reply.origin, "");
	advance(0, 5);
}

static void
test_malformed(void **state)
{
	static const char *const heads[] = { "", "old", "old \n", "old 01\n\n",
	    "old -1\n\n", "old 1", "Old 0\n\n", "old 0\n", "old 0\r\n\r\n",
	    "old 99999999999999999999\n\n", "old 0\nAAAA\n\n",
	    "old 0\n\n\n", "old 0\n\nx\n1\n\n" };
	char many[80 * 45 + 16] = "old 0\n";

	for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++) {
		strcpy(body, heads[i]);
		submit(strlen(body), 400, "malformed");
	}
	for (int i = 0; i < 64; i++)
		strcat(many, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n");
	strcat(many, "\n");
	strcpy(body, many);
	submit(strlen(body), 400, "malformed");
	/* every cut of a good one, and every byte changed */
	for (size_t len = compose(&ours, 0, 0, 5), cut = 0; cut < len; cut++) {
		witness_add_checkpoint(witness, body, cut, now_s, &reply);
		assert_int_not_equal(reply.status, 200);
		body[cut] ^= 0x04;
		witness_add_checkpoint(witness, body, len, now_s, &reply);
		assert_int_not_equal(reply.status, 200);
		body[cut] ^= 0x04;
	}
	advance(0, 5);
}

/* Others' signatures, as many as a note may have, do not grow the state. */
static void
test_many_signatures(void **state)
{
	size_t len = compose(&ours, 0, 0, 5);

	for (int i = 0; i < 31; i++)
		len += (size_t)sprintf(body + len, "\xe2\x80\x94 x.example/%d "
		    "AAAAAAAAAAAA\n", i);
	submit(len, 200, "cosigned");
	witness_close(witness);
	must_open();
	advance(5, 6);
}

static void
test_remembers(void **state)
{
	char id[33];
	size_t len = 0;

	advance(0, 9);
	witness_close(witness);
	must_open();
	submit(compose(&ours, 0, 0, 9), 409, "other_size");
	advance(9, 12);
	witness_origin_id(ours.key.name, id);
	assert_non_null(witness_latest(witness, id, &len));
	assert_true(len > 0);
	assert_null(witness_latest(witness, "0", &len));
}

static void
test_one_at_a_time(void **state)
{
	struct problem problem = { .text = "" };

	assert_null(witness_open(dir, &problem));
	assert_non_null(strstr(problem.text, "another process"));
}

static void
state_path(char path[160])
{
	char id[33];

	witness_origin_id(ours.key.name, id);
	snprintf(path, 160, "%s/state-%s", dir, id);
}

static void
test_altered_state(void **state)
{
	struct problem problem = { .text = "" };
	char path[160];
	FILE *f;

	advance(0, 9);
	witness_close(witness);
	state_path(path);
	f = fopen(path, "r+");
	fseek(f, (long)strlen(ours.key.name) + 1, SEEK_SET);
	fputc('8', f);		/* as if it had only seen eight */
	fclose(f);
	witness = witness_open(dir, &problem);
	assert_null(witness);
	assert_non_null(strstr(problem.text, "not as this witness wrote it"));
}

static int fail_at;
static enum io_op fail_op;

static int
fail_once(enum io_op op)
{
	return op == fail_op && --fail_at == 0 ? EIO : 0;
}

/* Whatever fails, no cosignature leaves whose state is not kept; and where the old state
 * is still in its place for certain, the next try may do. */
static void
test_write_fails(void **state)
{
	static const struct {
		enum io_op op;
		int at;
		bool again;
	} faults[] = { { IO_OPEN, 1, true }, { IO_WRITE, 1, true },
	    { IO_SYNC, 1, true }, { IO_RENAME, 1, false }, { IO_SYNC, 2, false } };

	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		const uint64_t at = 5 + i, from = i == 0 ? 0 : at - 1;

		fail_op = faults[i].op;
		fail_at = faults[i].at;
		io_fault = fail_once;
		submit(compose(&ours, from, from, at), 500, "not_kept");
		io_fault = NULL;
		if (faults[i].again) {
			submit(compose(&ours, from, from, at), 200, "cosigned");
			continue;
		}
		submit(compose(&ours, from, from, at), 500, "not_kept");
		witness_add_epochs(witness, "", 0, &reply);
		assert_int_equal(reply.status, 500);
		assert_string_equal(reply.event, "not_kept");
		witness_close(witness);
		must_open();
		witness_add_checkpoint(witness, body, compose(&ours, from, from, at),
		    now_s, &reply);
		/* the rename may have come before the failure */
		assert_true(reply.status == 200 || (reply.status == 409 &&
		    reply.len > 0));
	}
}

/* What could not be written is not counted, and what was is over a restart. */
static void
test_evidence_counted(void **state)
{
	advance(0, 5);
	fail_op = IO_WRITE;
	io_fault = fail_once;
	for (uint64_t size = 6; size <= 20; size++) {
		fail_at = 1;
		submit(compose(&ours, 5, 4, size), 422, "evidence_lost");
	}
	io_fault = NULL;
	for (uint64_t size = 6; size <= 25; size++)
		submit(compose(&ours, 5, 4, size), 422, "inconsistent");
	assert_int_equal(evidence(), 20);
	witness_close(witness);
	must_open();
	for (uint64_t size = 26; size <= 40; size++)
		submit(compose(&ours, 5, 4, size), 422, "inconsistent");
	for (uint64_t size = 6; size <= 40; size++)
		submit(compose(&forked, 5, 4, size), 422, "inconsistent");
	assert_int_equal(evidence(), WITNESS_EVIDENCE_MAX / 2);
}

/* A read-only file that a failed or killed write left does not stop the next one. */
static void
test_left_behind(void **state)
{
	const int dirfd = open(dir, O_RDONLY | O_DIRECTORY);
	const int left = openat(dirfd, IO_NEXT, O_WRONLY | O_CREAT, 0400);
	const uid_t me = geteuid();

	assert_true(left >= 0);
	if (me == 0) {		/* whom no mode stops */
		assert_int_equal(fchown(left, 65534, (gid_t)-1), 0);
		assert_int_equal(fchown(dirfd, 65534, (gid_t)-1), 0);
		assert_int_equal(seteuid(65534), 0);
	}
	assert_int_equal(io_replace(dirfd, "one", 0400, "1", 1), 0);
	assert_int_equal(io_replace(dirfd, "one", 0400, "2", 1), 0);
	assert_int_equal(seteuid(me), 0);
	close(left);
	close(dirfd);
}

static void
test_key_is_private(void **state)
{
	struct problem problem = { .text = "" };
	struct note_key other;
	char path[160];
	struct stat st;

	snprintf(path, sizeof(path), "%s/key", dir);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(witness_create(dir, NAME, &other, &problem), -1);
	witness_close(witness);
	assert_int_equal(chmod(path, 0640), 0);
	witness = witness_open(dir, &problem);
	assert_null(witness);
	assert_non_null(strstr(problem.text, "chmod 600"));
}

static void
test_two_keys(void **state)
{
	uint8_t pk[NOTE_PK_LEN], sk[NOTE_SK_LEN];
	struct problem problem = { .text = "" };
	struct maker next = ours;

	advance(0, 9);
	witness_close(witness);
	crypto_sign_keypair(pk, sk);
	assert_int_equal(note_key_make(&next.key, ours.key.name, NOTE_ED25519,
	    pk), 0);
	memcpy(next.sk, sk, sizeof(sk));
	assert_int_equal(witness_add_log(dir, &next.key, &problem), 0);
	assert_int_equal(witness_add_log(dir, &next.key, &problem), 1);
	assert_int_equal(witness_add_log(dir, &ours.key, &problem), 1);
	must_open();
	assert_int_equal(witness_origins(witness), 1);
	submit(compose(&next, 9, 9, 12), 200, "cosigned");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
		TEST(test_cosigns), TEST(test_other_size), TEST(test_fork),
		TEST(test_bad_proof), TEST(test_evidence_left), TEST(test_rollback),
		TEST(test_strangers), TEST(test_malformed),
		TEST(test_many_signatures), TEST(test_remembers),
		TEST(test_one_at_a_time), TEST(test_altered_state),
		TEST(test_write_fails), TEST(test_evidence_counted),
		TEST(test_left_behind), TEST(test_key_is_private),
		TEST(test_two_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
