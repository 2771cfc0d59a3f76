/* The tree against RFC 6962's reference values, against the RFC's recursive
 * definition written out, and against proofs that were changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sodium.h>

#include "ledger/tree/tree.h"

#define N 70

static uint8_t leaf[N][TREE_HASH_LEN];

static int
setup(void **state)
{
	int i;

	for (i = 0; i < N; i++)
		tree_leaf(&i, sizeof(i), leaf[i]);
	return sodium_init() < 0;
}

/* MTH(D[first:last]), as the RFC writes it. */
static void
reference(unsigned first, unsigned last, uint8_t out[TREE_HASH_LEN])
{
	uint8_t left[TREE_HASH_LEN], right[TREE_HASH_LEN];
	unsigned k = 1;

	if (last - first == 1) {
		memcpy(out, leaf[first], TREE_HASH_LEN);
		return;
	}
	while (k * 2 < last - first)
		k *= 2;
	reference(first, first + k, left);
	reference(first + k, last, right);
	tree_node(left, right, out);
}

static void
assert_hex(const uint8_t hash[TREE_HASH_LEN], const char *expected)
{
	char hex[2 * TREE_HASH_LEN + 1];

	sodium_bin2hex(hex, sizeof(hex), hash, TREE_HASH_LEN);
	assert_string_equal(hex, expected);
}

static void
reference_roots(void **state)
{
	static const struct { const char *bytes; size_t len; } input[8] = {
		{ "", 0 }, { "\x00", 1 }, { "\x10", 1 }, { "\x20\x21", 2 },
		{ "\x30\x31", 2 }, { "\x40\x41\x42\x43", 4 },
		{ "\x50\x51\x52\x53\x54\x55\x56\x57", 8 },
		{ "\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f", 16 },
	};
	static const char *root[9] = {
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
		"fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
		"aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
		"d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
		"4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
		"76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
		"ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
		"5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
	};
	struct tree_frontier frontier;
	uint8_t hash[TREE_HASH_LEN];
	unsigned i;

	tree_frontier_init(&frontier);
	for (i = 0; i <= 8; i++) {
		tree_frontier_root(&frontier, hash);
		assert_hex(hash, root[i]);
		if (i == 8)
			break;
		tree_leaf(input[i].bytes, input[i].len, hash);
		assert_int_equal(tree_frontier_append(&frontier, hash), 0);
	}
}

static void
frontier_equals_recursion(void **state)
{
	struct tree_leaves leaves = { leaf, N };
	struct tree_source source = tree_leaves_source(&leaves);
	uint8_t expected[TREE_HASH_LEN], got[TREE_HASH_LEN];
	struct tree_frontier frontier;
	unsigned n;

	tree_frontier_init(&frontier);
	for (n = 1; n <= N; n++) {
		assert_int_equal(tree_frontier_append(&frontier, leaf[n - 1]), 0);
		reference(0, n, expected);
		tree_frontier_root(&frontier, got);
		assert_memory_equal(got, expected, TREE_HASH_LEN);
		assert_int_equal(tree_root(&source, n, got), 0);
		assert_memory_equal(got, expected, TREE_HASH_LEN);
	}
	assert_int_not_equal(tree_root(&source, N + 1, got), 0);
}

static void
subtrees_at_once(void **state)
{
	struct tree_frontier whole, parts;
	uint8_t node[TREE_HASH_LEN];
	unsigned i;

	tree_frontier_init(&whole);
	tree_frontier_init(&parts);
	for (i = 0; i < 52; i++)
		assert_int_equal(tree_frontier_append(&whole, leaf[i]), 0);
	reference(0, 32, node);
	assert_int_equal(tree_frontier_append_node(&parts, 5, node), 0);
	reference(32, 48, node);
	assert_int_equal(tree_frontier_append_node(&parts, 4, node), 0);
	assert_int_not_equal(tree_frontier_append_node(&parts, 5, node), 0);
	reference(48, 52, node);
	assert_int_equal(tree_frontier_append_node(&parts, 2, node), 0);
	assert_true(tree_frontier_equal(&whole, &parts));
	assert_int_equal(tree_frontier_append(&parts, leaf[0]), 0);
	assert_false(tree_frontier_equal(&whole, &parts));
	assert_int_not_equal(tree_frontier_append_node(&parts, 1, node), 0);
	assert_int_not_equal(tree_frontier_append_node(&parts, TREE_LEVELS, node), 0);
}

/* From any size, as many as a batch may have, gives what one by one gives. */
static void
leaves_at_once(void **state)
{
	static const size_t counts[] = { 0, 1, 2, 3, 7, 8, 63, 64, 65, 254, 255,
	    256, 257, 600 };
	static const size_t starts[] = { 0, 1, 2, 3, 5, 8, 63, 64, 127, 255, 256,
	    1023 };
	static uint8_t many[600 + 1023][TREE_HASH_LEN];
	struct tree_frontier single, begun, whole;
	size_t i, j, n = 0;

	for (i = 0; i < sizeof(many) / sizeof(many[0]); i++)
		tree_leaf(&i, sizeof(i), many[i]);
	tree_frontier_init(&begun);
	for (i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		for (; n < starts[i]; n++)
			assert_int_equal(tree_frontier_append(&begun, many[n]), 0);
		for (j = 0; j < sizeof(counts) / sizeof(counts[0]); j++) {
			single = whole = begun;
			for (size_t k = 0; k < counts[j]; k++)
				tree_frontier_append(&single, many[n + k]);
			assert_int_equal(tree_frontier_append_leaves(&whole,
			    (const uint8_t (*)[TREE_HASH_LEN])many + n, counts[j]), 0);
			assert_true(tree_frontier_equal(&single, &whole));
		}
	}
	begun.size = (UINT64_C(1) << TREE_LEVELS) - 3;
	assert_int_not_equal(tree_frontier_append_leaves(&begun,
	    (const uint8_t (*)[TREE_HASH_LEN])many, 3), 0);
	assert_true(begun.size == (UINT64_C(1) << TREE_LEVELS) - 3);
}

static void
frontier_text(void **state)
{
	struct tree_frontier frontier, back;
	char text[TREE_TEXT_MAX];
	unsigned n;
	int len, i;

	tree_frontier_init(&frontier);
	for (n = 0; n <= N; n++) {
		len = tree_frontier_format(&frontier, text, sizeof(text));
		assert_true(len > 0 && (size_t)len == strlen(text));
		assert_int_equal(tree_frontier_parse(&back, text, (size_t)len), 0);
		assert_true(tree_frontier_equal(&frontier, &back));
		for (i = 0; i < len; i++)
			assert_int_not_equal(tree_frontier_parse(&back, text, (size_t)i), 0);
		assert_int_not_equal(tree_frontier_parse(&back, text, (size_t)len + 1), 0);
		assert_int_equal(tree_frontier_format(&frontier, text, (size_t)len), -1);
		if (n < N)
			tree_frontier_append(&frontier, leaf[n]);
	}
	assert_int_not_equal(tree_frontier_parse(&back, "00\n", 3), 0);
	assert_int_not_equal(tree_frontier_parse(&back, "\n", 1), 0);
	assert_int_not_equal(tree_frontier_parse(&back, "+0\n", 3), 0);
	assert_int_not_equal(tree_frontier_parse(&back, "99999999999999999999\n", 21), 0);
	memset(&frontier, 0, sizeof(frontier));
	frontier.size = (UINT64_C(1) << TREE_LEVELS) - 1;
	assert_true(tree_frontier_format(&frontier, text, sizeof(text)) > 0);
	assert_int_not_equal(tree_frontier_append(&frontier, leaf[0]), 0);
}

static void
inclusion(void **state)
{
	struct tree_leaves leaves = { leaf, N };
	struct tree_source source = tree_leaves_source(&leaves);
	struct tree_proof proof;
	uint8_t root[TREE_HASH_LEN];
	unsigned n, i, k;

	for (n = 1; n <= N; n++) {
		reference(0, n, root);
		for (i = 0; i < n; i++) {
			assert_int_equal(tree_prove_inclusion(&source, i, n, &proof), 0);
			assert_true(tree_verify_inclusion(&proof, i, n, leaf[i], root));
			assert_false(tree_verify_inclusion(&proof, i, n, leaf[(i + 1) % N], root));
			assert_false(tree_verify_inclusion(&proof, i + n, n, leaf[i], root));
			if (i > 0)
				assert_false(tree_verify_inclusion(&proof, i - 1, n, leaf[i], root));
			for (k = 0; k < proof.count; k++) {
				proof.hash[k][k % TREE_HASH_LEN] ^= 0x10;
				assert_false(tree_verify_inclusion(&proof, i, n, leaf[i], root));
				proof.hash[k][k % TREE_HASH_LEN] ^= 0x10;
			}
			proof.count++;
			assert_false(tree_verify_inclusion(&proof, i, n, leaf[i], root));
			if (proof.count > 1) {
				proof.count -= 2;
				assert_false(tree_verify_inclusion(&proof, i, n, leaf[i], root));
			}
		}
		assert_int_not_equal(tree_prove_inclusion(&source, n, n, &proof), 0);
	}
	assert_int_not_equal(tree_prove_inclusion(&source, 0, 0, &proof), 0);
	assert_false(tree_verify_inclusion(&proof, 0, 0, leaf[0], root));
}

static void
consistency(void **state)
{
	struct tree_leaves leaves = { leaf, N };
	struct tree_source source = tree_leaves_source(&leaves);
	struct tree_proof proof;
	uint8_t old[TREE_HASH_LEN], new[TREE_HASH_LEN], other[TREE_HASH_LEN];
	unsigned m, n, k;

	tree_leaf("other", 5, other);
	for (n = 1; n <= N; n++) {
		reference(0, n, new);
		for (m = 1; m <= n; m++) {
			reference(0, m, old);
			assert_int_equal(tree_prove_consistency(&source, m, n, &proof), 0);
			assert_true(tree_verify_consistency(&proof, m, n, old, new));
			assert_false(tree_verify_consistency(&proof, m, n, other, new));
			assert_false(tree_verify_consistency(&proof, m, n, old, other));
			for (k = 0; k < proof.count; k++) {
				proof.hash[k][31 - k % 32] ^= 0x01;
				assert_false(tree_verify_consistency(&proof, m, n, old, new));
				proof.hash[k][31 - k % 32] ^= 0x01;
			}
			proof.count++;
			assert_false(tree_verify_consistency(&proof, m, n, old, new));
			if (proof.count > 1) {
				proof.count -= 2;
				assert_false(tree_verify_consistency(&proof, m, n, old, new));
			}
		}
		assert_int_not_equal(tree_prove_consistency(&source, n + 1, n, &proof), 0);
		proof.count = 0;
		assert_false(tree_verify_consistency(&proof, n + 1, n, new, new));
	}
}

static void
consistency_from_nothing(void **state)
{
	struct tree_leaves leaves = { leaf, N };
	struct tree_source source = tree_leaves_source(&leaves);
	struct tree_frontier frontier;
	struct tree_proof proof;
	uint8_t old[TREE_HASH_LEN], new[TREE_HASH_LEN];

	tree_frontier_init(&frontier);
	tree_frontier_root(&frontier, old);
	reference(0, 9, new);
	assert_int_equal(tree_prove_consistency(&source, 0, 9, &proof), 0);
	assert_int_equal(proof.count, 0);
	assert_true(tree_verify_consistency(&proof, 0, 9, old, new));
	assert_false(tree_verify_consistency(&proof, 0, 9, new, new));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reference_roots),
		cmocka_unit_test(frontier_equals_recursion),
		cmocka_unit_test(subtrees_at_once),
		cmocka_unit_test(leaves_at_once),
		cmocka_unit_test(frontier_text),
		cmocka_unit_test(inclusion),
		cmocka_unit_test(consistency),
		cmocka_unit_test(consistency_from_nothing),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
