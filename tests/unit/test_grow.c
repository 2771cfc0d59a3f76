/*
 * The recorder's tree, whose nodes follow later: at any moment it is the one
 * that leaves appended one by one give, and so are the hashes beside it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ledger/recorder/grow.h"

static char dir[] = "/tmp/countersign-grow-XXXXXX";
static int dirfd = -1;

static int
make_dir(void **state)
{
	if (mkdtemp(dir) == NULL)
		return -1;
	dirfd = open(dir, O_RDONLY | O_DIRECTORY);
	return dirfd >= 0 ? 0 : -1;
}

static int
remove_dir(void **state)
{
	unlinkat(dirfd, "hashes-00000000000000000000", 0);
	close(dirfd);
	return rmdir(dir);
}

static void
add(struct grow *grow, struct tree_frontier *plain, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		uint64_t name = grow->size;
		uint8_t leaf[TREE_HASH_LEN];

		tree_leaf(&name, sizeof(name), leaf);
		assert_int_equal(grow_add(grow, leaf), 0);
		assert_int_equal(tree_frontier_append(plain, leaf), 0);
	}
}

static void
assert_same(struct grow *grow, const struct tree_frontier *plain)
{
	struct tree_frontier tree;

	grow_tree(grow, &tree);
	assert_int_equal(grow->n_waiting, 0);
	assert_true(tree_frontier_equal(&tree, plain));
}

/* Asked for after few, many and none, and begun from any size. */
static void
the_tree_is_that_of_single_steps(void **state)
{
	static const uint64_t starts[] = { 0, 1, 255, 256, 257, 1000, 65535 };
	static const uint64_t steps[] = { 1, 0, 1, 254, 1, 3, 256, 511, 2, 777 };
	struct tree_frontier plain;
	struct grow grow;

	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++) {
		tree_frontier_init(&plain);
		grow_init(&grow);
		assert_int_equal(grow_start(&grow, &plain), 0);
		add(&grow, &plain, starts[i]);
		grow_stop(&grow);
		assert_int_equal(grow_start(&grow, &plain), 0);
		assert_int_equal(grow.size, starts[i]);
		for (size_t k = 0; k < sizeof(steps) / sizeof(*steps); k++) {
			add(&grow, &plain, steps[k]);
			assert_same(&grow, &plain);
		}
		grow_stop(&grow);
	}
}

/* More than may wait, without anybody asking. */
static void
those_that_wait_are_bounded(void **state)
{
	struct tree_frontier plain;
	struct grow grow;

	tree_frontier_init(&plain);
	grow_init(&grow);
	assert_int_equal(grow_start(&grow, &plain), 0);
	add(&grow, &plain, GROW_WAITING);
	assert_int_equal(grow.n_waiting, GROW_WAITING);
	add(&grow, &plain, 1);
	assert_int_equal(grow.n_waiting, 1);
	grow_tidy(&grow);
	assert_int_equal(grow.n_waiting, 1);
	add(&grow, &plain, 400);
	grow_tidy(&grow);
	assert_int_equal(grow.n_waiting, 0);
	assert_same(&grow, &plain);
	grow_stop(&grow);
}

/* What a reader of the file proves from it gives the same root. */
static void
the_hashes_beside_follow(void **state)
{
	static const uint64_t steps[] = { 300, 1, 700, 23 };
	struct tree_frontier plain;
	struct grow grow;

	tree_frontier_init(&plain);
	grow_init(&grow);
	assert_int_equal(grow_start(&grow, &plain), 0);
	hashes_start(&grow.hashes, dirfd, 0, NULL, 0);
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		struct hashes_reader reader = { .dirfd = dirfd };
		struct tree_source source = hashes_source(&reader);
		uint8_t expected[TREE_HASH_LEN], root[TREE_HASH_LEN];

		add(&grow, &plain, steps[i]);
		grow_up(&grow);
		hashes_flush(&grow.hashes);
		reader.size = plain.size;
		tree_frontier_root(&plain, expected);
		assert_int_equal(tree_root(&source, plain.size, root), 0);
		assert_memory_equal(root, expected, sizeof(root));
	}
	grow_stop(&grow);
}

static void
a_full_tree_takes_no_more(void **state)
{
	struct tree_frontier full = {
	    .size = (UINT64_C(1) << TREE_LEVELS) - 2 };
	const uint8_t leaf[TREE_HASH_LEN] = { 1 };
	struct grow grow;

	grow_init(&grow);
	assert_int_equal(grow_start(&grow, &full), 0);
	assert_int_equal(grow_add(&grow, leaf), 0);
	assert_int_equal(grow_add(&grow, leaf), -1);
	grow_stop(&grow);
	grow_stop(&grow);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_tree_is_that_of_single_steps),
		cmocka_unit_test(those_that_wait_are_bounded),
		cmocka_unit_test(the_hashes_beside_follow),
		cmocka_unit_test(a_full_tree_takes_no_more),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
