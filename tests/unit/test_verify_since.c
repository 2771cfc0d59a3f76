/* Verifying what is new since a saved head: what it reads, what it sees, and
 * when it reads all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sodium.h>

#include "ledger/tree/hashes.h"
#include "verify_case.h"

#define SEGMENT 65536
#define RECORDS (2 * SEGMENT + 3000)
#define HEAD (2 * SEGMENT + 1000)	/* where it was saved */

static struct maker m;
static struct verify_case c;
static char dir[96], head[96];

static void
add_heads(void)
{
	char body[512], one[65], two[65];

	snprintf(body, sizeof(body), "{\"streams\":[{\"stream\":\"a\",\"next_seq\":%d,"
	    "\"last\":\"%s\",\"open\":true},{\"stream\":\"b\",\"next_seq\":%d,\"last\":\"%s\","
	    "\"open\":true}]}", (int)m.stream[0].seq,
	    sodium_bin2hex(one, sizeof(one), m.stream[0].last, 32), (int)m.stream[1].seq,
	    sodium_bin2hex(two, sizeof(two), m.stream[1].last, 32));
	maker_add(&m, "a", "heads", NULL, body);
}

static void
save_hashes(void)
{
	struct hashes *h = malloc(sizeof(*h));
	int dirfd = open(dir, O_RDONLY | O_DIRECTORY);
	uint64_t bytes = 0;
	size_t i;

	assert_non_null(h);
	for (i = 0; i < 2 * SEGMENT; i++) {
		if (i % SEGMENT == 0) {
			hashes_start(h, dirfd, i, NULL, 0);
			bytes = 0;
		}
		hashes_add(h, m.line[i].leaf);
		bytes += m.line[i].len + 1;
		if (i % SEGMENT == SEGMENT - 1)
			hashes_finish(h, bytes);
	}
	close(dirfd);
	free(h);
}

static int
setup(void **state)
{
	size_t i;

	maker_init(&m);
	case_init(&c, &m.key);
	snprintf(dir, sizeof(dir), "%s/ledger", c.base);
	snprintf(head, sizeof(head), "%s/head", c.base);
	maker_add(&m, "a", "open", NULL, "{}");
	maker_add(&m, "b", "open", NULL, "{}");
	for (i = 2; i < RECORDS; i++) {
		if (i % SEGMENT == 0)
			add_heads();
		else
			maker_add(&m, i % 5 == 0 ? "b" : "a", "coverage", NULL, "{\"x\":1}");
		if (i + 1 == HEAD)
			maker_seal(&m);
		if (i + 1 == HEAD)
			write_file(c.base, "head", m.checkpoint, strlen(m.checkpoint));
	}
	maker_add(&m, "a", "close", NULL, "{}");
	maker_add(&m, "b", "close", NULL, "{}");
	maker_seal(&m);
	maker_save(&m, dir, SEGMENT);
	save_hashes();
	c.options.head = head;
	return 0;
}

static int
teardown(void **state)
{
	maker_free(&m);
	case_free(&c);
	return 0;
}

static enum verify_verdict
verify(bool since)
{
	c.options.since = since;
	return case_verify(&c, dir);
}

/* One byte of record index, changed and changed back. */
static void
flip(size_t index)
{
	const size_t segment = index / SEGMENT * SEGMENT;
	char path[160], byte;
	off_t at = 100;
	size_t i;
	int fd;

	for (i = segment; i < index; i++)
		at += (off_t)m.line[i].len + 1;
	snprintf(path, sizeof(path), "%s/records-%020zu.jsonl", dir, segment);
	assert_true((fd = open(path, O_RDWR)) >= 0);
	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= 1;
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

static void
only_what_is_new(void **state)
{
	if (verify(true) != VERIFY_COMPLETE)
		case_say(&c);
	assert_int_equal(c.result.verdict, VERIFY_COMPLETE);
	assert_int_equal(c.result.since, HEAD);
	assert_int_equal(c.result.first, 2 * SEGMENT);
	assert_int_equal(c.result.size, RECORDS + 2);
	assert_int_equal(c.result.streams, 2);
	assert_non_null(strstr(c.result.completeness.text, "since the saved head"));
	assert_string_equal(c.result.stream[0].name, "a");
	assert_int_equal(c.result.stream[0].last_seq, m.stream[0].seq - 1);
	assert_non_null(c.result.note);
	assert_int_equal(c.result.note_len, strlen(m.checkpoint));
	assert_memory_equal(c.result.note, m.checkpoint, c.result.note_len);
	assert_int_equal(verify(false), VERIFY_COMPLETE);
	assert_int_equal(c.result.since, 0);
	assert_int_equal(c.result.first, 0);
}

/* What is new is seen as ever; what the head had already seen is not read. */
static void __attribute__((unused))
what_it_sees(void **state)
{
	const size_t new = HEAD + 7, between = HEAD - 7, old = 1000;
	bool since;
	int i;

	for (i = 0; i < 2; i++) {
		since = i == 0;
		flip(new);
		assert_int_equal(verify(since), VERIFY_GAP);
		assert_int_equal(c.result.since != 0, since);
		assert_int_equal(case_find(&c, "altered")->index, new);
		flip(new);
		/* read, though before the head: then all is */
		flip(between);
		assert_int_equal(verify(since), VERIFY_GAP);
		assert_int_equal(c.result.since, 0);
		assert_int_equal(case_find(&c, "altered")->index, between);
		flip(between);
		flip(old);
		assert_int_equal(verify(since), since ? VERIFY_COMPLETE : VERIFY_GAP);
		flip(old);
	}
}

/* Nothing to go on from beside the records: all is read. */
static void __attribute__((unused))
without_hashes(void **state)
{
	char *bytes, name[64];
	size_t len, i;

	snprintf(name, sizeof(name), "hashes-%020d", SEGMENT);
	bytes = read_file(dir, name, &len);
	for (i = 0; i < 3; i++) {
		if (i == 0)
			bytes[len - 20] ^= 1;	/* another root */
		write_file(dir, name, bytes, i == 0 ? len : i == 1 ? len - 1 : 0);
		if (i == 0)
			bytes[len - 20] ^= 1;
		assert_int_equal(verify(true), VERIFY_COMPLETE);
		assert_int_equal(c.result.since, 0);
		assert_int_equal(c.result.size, RECORDS + 2);
	}
	write_file(dir, name, bytes, len);
	free(bytes);
	assert_int_equal(verify(true), VERIFY_COMPLETE);
	assert_int_equal(c.result.since, HEAD);
}

static void __attribute__((unused))
segment_gone(void **state)
{
	char from[160], to[160];

	snprintf(from, sizeof(from), "%s/records-%020d.jsonl", dir, 0);
	snprintf(to, sizeof(to), "%s/aside", c.base);
	assert_int_equal(rename(from, to), 0);
	assert_int_equal(verify(true), VERIFY_GAP);
	assert_int_equal(c.result.since, 0);
	assert_int_equal(rename(to, from), 0);
}

static void
sign_head(uint64_t size, unsigned char change)
{
	struct checkpoint at = { MAKER_ORIGIN, size, { 0 } };
	struct tree_frontier tree;
	char note[CHECKPOINT_NOTE_MAX + 1];
	size_t i;
	int n;

	tree_frontier_init(&tree);
	for (i = 0; i < size && i < m.count; i++)
		assert_int_equal(tree_frontier_append(&tree, m.line[i].leaf), 0);
	tree_frontier_root(&tree, at.root);
	at.root[0] ^= change;
	n = checkpoint_sign(&at, &m.key, m.sk, note, sizeof(note));
	assert_true(n > 0);
	write_file(c.base, "head", note, (size_t)n);
}

static void
forge_head(void)
{
	size_t len;
	char *text;

	sign_head(HEAD, 0);
	text = read_file(c.base, "head", &len);
	text[len - 30] = text[len - 30] == 'A' ? 'B' : 'A';
	write_file(c.base, "head", text, len);
	free(text);
}

static void
other_heads(void **state)
{
	char *old;
	size_t len;

	old = read_file(c.base, "head", &len);
	sign_head(HEAD, 1);	/* of another history */
	assert_int_equal(verify(true), VERIFY_GAP);
	assert_non_null(case_find(&c, "fork"));
	sign_head(m.count + 5, 0);	/* of more records than there are */
	assert_int_equal(verify(true), VERIFY_GAP);
	assert_non_null(case_find(&c, "rollback"));
	sign_head(2 * SEGMENT, 0);	/* at a segment's end: its last table is within */
	assert_int_equal(verify(true), VERIFY_COMPLETE);
	assert_int_equal(c.result.first, SEGMENT);
	sign_head(2 * SEGMENT + 1, 0);
	assert_int_equal(verify(true), VERIFY_COMPLETE);
	assert_int_equal(c.result.first, 2 * SEGMENT);
	forge_head();	/* the right root, but for a signature */
	assert_int_equal(verify(false), VERIFY_NOT_ESTABLISHED);
	assert_non_null(strstr(case_find(&c, "head")->what, "cannot be used"));
	sign_head(5, 0);	/* in the first segment: all is read */
	assert_int_equal(verify(true), VERIFY_COMPLETE);
	assert_int_equal(c.result.since, 0);
	sign_head(m.count, 0);	/* nothing is new */
	assert_int_equal(verify(true), VERIFY_COMPLETE);
	assert_int_equal(c.result.since, m.count);
	write_file(c.base, "head", old, len);
	free(old);
}

/* No result at all where there is nothing to go on from. */
static void
refusals(void **state)
{
	struct note_key other = m.key;
	struct verify_result r;
	struct verify_options o = { .path = dir, .head = head, .since = true, .threads = 1 };
	char *old;
	size_t len;

	assert_int_equal(verify_run(&o, &r, c.err, sizeof(c.err)), -1);	/* no key */
	assert_non_null(strstr(c.err, "no key of its origin is pinned"));
	other.pk[0] ^= 1;
	o.key = &other;
	assert_int_equal(verify_run(&o, &r, c.err, sizeof(c.err)), -1);
	o.key = &m.key;
	o.head = NULL;
	assert_int_equal(verify_run(&o, &r, c.err, sizeof(c.err)), -1);
	o.head = "/nonexistent";
	assert_int_equal(verify_run(&o, &r, c.err, sizeof(c.err)), -1);
	o.head = head;
	old = read_file(c.base, "head", &len);
	write_file(c.base, "head", old, len - 10);
	assert_int_equal(verify_run(&o, &r, c.err, sizeof(c.err)), -1);
	write_file(c.base, "head", old, len);
	free(old);
}

/* The log of all checkpoints is read from the head on. */
static void __attribute__((unused))
log_from_the_head(void **state)
{
	char *log = malloc(4000 * 256), *p = log, note[CHECKPOINT_NOTE_MAX + 1];
	struct checkpoint at = { .origin = MAKER_ORIGIN };
	struct tree_frontier tree;
	size_t i;

	assert_non_null(log);
	tree_frontier_init(&tree);
	for (i = 0; i < m.count; i++) {
		assert_int_equal(tree_frontier_append(&tree, m.line[i].leaf), 0);
		if (i % 100 != 99 && i + 1 < m.count)
			continue;
		at.size = i + 1;
		tree_frontier_root(&tree, at.root);
		at.root[0] ^= i == 99;	/* the first one is of another history */
		assert_true(checkpoint_sign(&at, &m.key, m.sk, note, sizeof(note)) > 0);
		p += sprintf(p, "%s\n", note);
	}
	write_file(dir, "checkpoints", log, (size_t)(p - log));
	assert_int_equal(verify(true), VERIFY_COMPLETE);
	assert_int_equal(c.result.since, HEAD);
	assert_int_equal(verify(false), VERIFY_GAP);
	assert_non_null(case_find(&c, "fork"));
	/* one of the last is forged */
	p[-200] ^= 1;
	write_file(dir, "checkpoints", log, (size_t)(p - log));
	assert_int_equal(verify(true), VERIFY_GAP);
	assert_non_null(case_find(&c, "checkpoint"));
	free(log);
	write_file(dir, "checkpoints", m.checkpoints, m.checkpoints_len);
	assert_int_equal(verify(true), VERIFY_COMPLETE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_is_new),
		cmocka_unit_test(refusals),
#ifndef __SANITIZE_ADDRESS__	/* each reads it all several times */
		cmocka_unit_test(what_it_sees),
		cmocka_unit_test(without_hashes),
		cmocka_unit_test(segment_gone),
		cmocka_unit_test(log_from_the_head),
#endif
		cmocka_unit_test(other_heads)
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
