/* The low-level SHA-256 calls are deprecated in OpenSSL 3, yet they are the
 * only ones that cost nothing beside the hash: EVP looks its provider up and
 * allocates for each message, which is most of the time of a 65-byte node. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <openssl/sha.h>
#include <sodium.h>

#include "ledger/base64.h"
#include "ledger/sha256/sha256.h"
#include "ledger/tree/tree.h"

#define BASE64_LEN 44	/* of one hash, padded */
#define ROW 256		/* leaves that are appended at a time */
#define LANES_WORTH 4	/* fewer are quicker one by one */

void
tree_leaf(const void *line, size_t len, uint8_t out[TREE_HASH_LEN])
{
	static const uint8_t prefix = TREE_LEAF_PREFIX;
	SHA256_CTX sha;

	SHA256_Init(&sha);
	SHA256_Update(&sha, &prefix, 1);
	SHA256_Update(&sha, line, len);
	SHA256_Final(out, &sha);
}

void
tree_node(const uint8_t left[TREE_HASH_LEN],
    const uint8_t right[TREE_HASH_LEN], uint8_t out[TREE_HASH_LEN])
{
	uint8_t pair[1 + 2 * TREE_HASH_LEN] = { TREE_NODE_PREFIX };
	SHA256_CTX sha;

	memcpy(pair + 1, left, TREE_HASH_LEN);
	memcpy(pair + 1 + TREE_HASH_LEN, right, TREE_HASH_LEN);
	SHA256_Init(&sha);
	SHA256_Update(&sha, pair, sizeof(pair));
	SHA256_Final(out, &sha);
}

static void
empty_root(uint8_t out[TREE_HASH_LEN])
{
	SHA256_CTX sha;

	SHA256_Init(&sha);
	SHA256_Final(out, &sha);
}

void
tree_frontier_init(struct tree_frontier *frontier)
{
	memset(frontier, 0, sizeof(*frontier));
}

int
tree_frontier_append_node(struct tree_frontier *frontier, unsigned level,
    const uint8_t node[TREE_HASH_LEN])
{
	const uint64_t full = UINT64_C(1) << TREE_LEVELS;
	uint8_t carry[TREE_HASH_LEN];
	uint64_t leaves;
	unsigned k;

	if (level >= TREE_LEVELS)
		return -1;
	leaves = UINT64_C(1) << level;
	if ((frontier->size & (leaves - 1)) != 0 || frontier->size >= full - leaves)
		return -1;
	memcpy(carry, node, TREE_HASH_LEN);
	for (k = level; (frontier->size >> k & 1) != 0; k++)
		tree_node(frontier->node[k], carry, carry);
	memcpy(frontier->node[k], carry, TREE_HASH_LEN);
	frontier->size += leaves;
	return 0;
}

int
tree_frontier_append(struct tree_frontier *frontier,
    const uint8_t leaf[TREE_HASH_LEN])
{
	return tree_frontier_append_node(frontier, 0, leaf);
}

/* The nodes over count pairs that lie side by side in row. */
static void
hash_pairs(const uint8_t (*row)[TREE_HASH_LEN], size_t count,
    uint8_t (*out)[TREE_HASH_LEN])
{
	uint8_t message[ROW / 2][1 + 2 * TREE_HASH_LEN];
	struct sha256_job job[ROW / 2];
	size_t i;

	assert(count <= ROW / 2);
	if (count < LANES_WORTH) {
		for (i = 0; i < count; i++)
			tree_node(row[2 * i], row[2 * i + 1], out[i]);
		return;
	}
	for (i = 0; i < count; i++) {
		message[i][0] = TREE_NODE_PREFIX;
		memcpy(message[i] + 1, row[2 * i], 2 * TREE_HASH_LEN);
		job[i] = (struct sha256_job){ message[i], sizeof(message[i]), out[i] };
	}
	sha256_jobs(job, count);
}

/*
 * At most ROW leaves.  On each level the frontier's own node, where it has
 * one, is the left neighbour of those that came; what is left without a
 * neighbour is the frontier's from then on.  The two rows take turns, each with
 * a place for that neighbour in front.
 */
static void
append_row(struct tree_frontier *frontier, const uint8_t (*leaf)[TREE_HASH_LEN],
    size_t count)
{
	uint8_t rows[2][ROW + 1][TREE_HASH_LEN];
	uint64_t size = frontier->size;
	size_t n = count, first;
	unsigned k;

	memcpy(rows[0][1], leaf, n * TREE_HASH_LEN);
	for (k = 0; n > 0; k++, size >>= 1) {
		uint8_t (*row)[TREE_HASH_LEN] = rows[k % 2];

		first = 1 - (size & 1);
		if (first == 0)
			memcpy(row[0], frontier->node[k], TREE_HASH_LEN);
		n += 1 - first;
		if (n % 2 != 0)
			memcpy(frontier->node[k], row[first + n - 1],
			    TREE_HASH_LEN);
		n /= 2;
		hash_pairs((const uint8_t (*)[TREE_HASH_LEN])row + first, n,
		    rows[(k + 1) % 2] + 1);
	}
	frontier->size += count;
}

int
tree_frontier_append_leaves(struct tree_frontier *frontier,
    const uint8_t (*leaf)[TREE_HASH_LEN], size_t count)
{
	const uint64_t full = UINT64_C(1) << TREE_LEVELS;

	if (count >= full - frontier->size)
		return -1;
	while (count > 0) {
		size_t n = count < ROW ? count : ROW;

		append_row(frontier, leaf, n);
		leaf += n;
		count -= n;
	}
	return 0;
}

/* The subtrees fold from the right: the small ones hang under the large. */
void
tree_frontier_root(const struct tree_frontier *frontier,
    uint8_t out[TREE_HASH_LEN])
{
	uint8_t root[TREE_HASH_LEN];
	bool any = false;
	unsigned k;

	for (k = 0; k < TREE_LEVELS; k++) {
		if ((frontier->size >> k & 1) == 0)
			continue;
		if (any)
			tree_node(frontier->node[k], root, root);
		else
			memcpy(root, frontier->node[k], TREE_HASH_LEN);
		any = true;
	}
	if (!any)
		empty_root(root);
	memcpy(out, root, TREE_HASH_LEN);
}

bool
tree_frontier_equal(const struct tree_frontier *a, const struct tree_frontier *b)
{
	unsigned k;

	if (a->size != b->size)
		return false;
	for (k = 0; k < TREE_LEVELS; k++)
		if ((a->size >> k & 1) != 0 &&
		    memcmp(a->node[k], b->node[k], TREE_HASH_LEN) != 0)
			return false;
	return true;
}

int
tree_frontier_format(const struct tree_frontier *frontier, char *out, size_t cap)
{
	unsigned k;
	size_t at;
	int n;

	n = snprintf(out, cap, "%" PRIu64 "\n", frontier->size);
	if (n < 0 || (size_t)n >= cap)
		return -1;
	at = (size_t)n;
	for (k = TREE_LEVELS; k-- > 0;) {
		if ((frontier->size >> k & 1) == 0)
			continue;
		if (cap - at < BASE64_LEN + 2)
			return -1;
		sodium_bin2base64(out + at, cap - at, frontier->node[k],
		    TREE_HASH_LEN, sodium_base64_VARIANT_ORIGINAL);
		at += BASE64_LEN;
		out[at++] = '\n';
	}
	out[at] = '\0';
	return (int)at;
}

/* A decimal number without leading zeros, and its LF. */
static int
take_size(const char **text, const char *end, uint64_t *size)
{
	const char *p = *text;
	uint64_t value = 0;

	for (; p < end && *p >= '0' && *p <= '9'; p++) {
		if (value >= (UINT64_C(1) << TREE_LEVELS) / 10)
			return -1;
		value = value * 10 + (uint64_t)(*p - '0');
	}
	if (p == *text || p == end || *p != '\n' || (**text == '0' && p - *text > 1))
		return -1;
	*text = p + 1;
	*size = value;
	return 0;
}

int
tree_frontier_parse(struct tree_frontier *frontier, const char *text, size_t len)
{
	const char *end = text + len;
	size_t got;
	unsigned k;

	tree_frontier_init(frontier);
	if (take_size(&text, end, &frontier->size) != 0)
		return -1;
	for (k = TREE_LEVELS; k-- > 0;) {
		if ((frontier->size >> k & 1) == 0)
			continue;
		if (end - text <= BASE64_LEN || text[BASE64_LEN] != '\n' ||
		    base64_read(frontier->node[k], TREE_HASH_LEN, text,
		    BASE64_LEN, &got) != 0 || got != TREE_HASH_LEN)
			return -1;
		text += BASE64_LEN + 1;
	}
	return text == end ? 0 : -1;
}

/* ---- proofs ---- */

static int
leaves_node(void *context, unsigned level, uint64_t index,
    uint8_t out[TREE_HASH_LEN])
{
	const struct tree_leaves *leaves = context;
	struct tree_frontier frontier;
	uint64_t i, first, last;

	if (level >= TREE_LEVELS || index >= (leaves->count >> level))
		return -1;
	first = index << level;
	last = (index + 1) << level;
	tree_frontier_init(&frontier);
	for (i = first; i < last; i++)
		if (tree_frontier_append(&frontier, leaves->leaf[i]) != 0)
			return -1;
	tree_frontier_root(&frontier, out);
	return 0;
}

struct tree_source
tree_leaves_source(struct tree_leaves *leaves)
{
	return (struct tree_source){ leaves_node, leaves };
}

/*
 * The hash of [first, last), where first is a multiple of the smallest power
 * of two that is >= last - first: every subtree that the RFC's recursion
 * meets is like that.
 */
static int
range_hash(const struct tree_source *source, uint64_t first, uint64_t last,
    uint8_t out[TREE_HASH_LEN])
{
	uint8_t node[TREE_HASH_LEN];
	uint64_t end = last;
	unsigned k;

	assert(first < last);
	for (k = 0; end > first; k++) {
		if (((end - first) >> k & 1) == 0)
			continue;
		end -= UINT64_C(1) << k;
		if (source->node(source->context, k, end >> k, node) != 0)
			return -1;
		if (end + (UINT64_C(1) << k) == last)
			memcpy(out, node, TREE_HASH_LEN);
		else
			tree_node(node, out, out);
	}
	return 0;
}

int
tree_root(const struct tree_source *source, uint64_t size,
    uint8_t out[TREE_HASH_LEN])
{
	if (size == 0) {
		empty_root(out);
		return 0;
	}
	return range_hash(source, 0, size, out);
}

/* The largest power of two below n, n > 1. */
static uint64_t
split(uint64_t n)
{
	return UINT64_C(1) << (63 - __builtin_clzll(n - 1));
}

/* The recursion meets the siblings from the top; a proof lists them from the
 * leaf.  So they are gathered downwards and turned round at the end. */
static void
reverse(struct tree_proof *proof)
{
	uint8_t swap[TREE_HASH_LEN];
	unsigned i, j;

	for (i = 0, j = proof->count; i + 1 < j; i++) {
		j--;
		memcpy(swap, proof->hash[i], TREE_HASH_LEN);
		memcpy(proof->hash[i], proof->hash[j], TREE_HASH_LEN);
		memcpy(proof->hash[j], swap, TREE_HASH_LEN);
	}
}

/* One level down, into the half of first..last that holds index; the other half's
 * hash is the proof's next. */
static int
descend(const struct tree_source *source, uint64_t index, uint64_t *first,
    uint64_t *last, struct tree_proof *out)
{
	const uint64_t middle = *first + split(*last - *first);
	const bool left = index < middle;

	if (range_hash(source, left ? middle : *first, left ? *last : middle,
	    out->hash[out->count]) != 0)
		return -1;
	*(left ? last : first) = middle;
	out->count++;
	return 0;
}

int
tree_prove_inclusion(const struct tree_source *source, uint64_t index,
    uint64_t size, struct tree_proof *out)
{
	uint64_t first = 0, last = size;

	out->count = 0;
	if (index >= size || size > UINT64_C(1) << TREE_LEVELS)
		return -1;
	while (last - first > 1)
		if (descend(source, index, &first, &last, out) != 0)
			return -1;
	reverse(out);
	return 0;
}

int
tree_prove_consistency(const struct tree_source *source, uint64_t old_size,
    uint64_t new_size, struct tree_proof *out)
{
	uint64_t first = 0, last = new_size;

	out->count = 0;
	if (old_size > new_size || new_size > UINT64_C(1) << TREE_LEVELS)
		return -1;
	if (old_size == 0 || old_size == new_size)
		return 0;
	while (last > old_size)
		if (descend(source, old_size - 1, &first, &last, out) != 0)
			return -1;
	/* The old tree's last subtree; known to the verifier where it is all. */
	if (first != 0 && range_hash(source, first, last, out->hash[out->count++]) != 0)
		return -1;
	reverse(out);
	return 0;
}

/* RFC 9162, 2.1.3.2. */
bool
tree_verify_inclusion(const struct tree_proof *proof, uint64_t index,
    uint64_t size, const uint8_t leaf[TREE_HASH_LEN],
    const uint8_t root[TREE_HASH_LEN])
{
	uint8_t r[TREE_HASH_LEN];
	uint64_t fn = index, sn = size - 1;
	unsigned i;

	if (index >= size || proof->count > TREE_PROOF_MAX)
		return false;
	memcpy(r, leaf, TREE_HASH_LEN);
	for (i = 0; i < proof->count; i++) {
		if (sn == 0)
			return false;
		if ((fn & 1) != 0 || fn == sn) {
			tree_node(proof->hash[i], r, r);
			for (; (fn & 1) == 0 && fn != 0; fn >>= 1)
				sn >>= 1;
		} else {
			tree_node(r, proof->hash[i], r);
		}
		fn >>= 1;
		sn >>= 1;
	}
	return sn == 0 && memcmp(r, root, TREE_HASH_LEN) == 0;
}

/* RFC 9162, 2.1.4.2: climbs with both roots at once, from the first hash. */
static bool
climb(const struct tree_proof *proof, uint64_t fn, uint64_t sn,
    const uint8_t start[TREE_HASH_LEN], unsigned i, uint8_t fr[TREE_HASH_LEN],
    uint8_t sr[TREE_HASH_LEN])
{
	memcpy(fr, start, TREE_HASH_LEN);
	memcpy(sr, start, TREE_HASH_LEN);
	for (; i < proof->count; i++) {
		if (sn == 0)
			return false;
		if ((fn & 1) != 0 || fn == sn) {
			tree_node(proof->hash[i], fr, fr);
			tree_node(proof->hash[i], sr, sr);
			for (; (fn & 1) == 0 && fn != 0; fn >>= 1)
				sn >>= 1;
		} else {
			tree_node(sr, proof->hash[i], sr);
		}
		fn >>= 1;
		sn >>= 1;
	}
	return sn == 0;
}

bool
tree_verify_consistency(const struct tree_proof *proof, uint64_t old_size,
    uint64_t new_size, const uint8_t old_root[TREE_HASH_LEN],
    const uint8_t new_root[TREE_HASH_LEN])
{
	uint8_t fr[TREE_HASH_LEN], sr[TREE_HASH_LEN], empty[TREE_HASH_LEN];
	uint64_t fn = old_size - 1, sn = new_size - 1;
	bool known;

	if (old_size > new_size || proof->count > TREE_PROOF_MAX)
		return false;
	if (old_size == 0) {
		empty_root(empty);
		return proof->count == 0 && memcmp(old_root, empty, TREE_HASH_LEN) == 0;
	}
	if (old_size == new_size)
		return proof->count == 0 && memcmp(old_root, new_root, TREE_HASH_LEN) == 0;
	for (; (fn & 1) != 0; fn >>= 1)
		sn >>= 1;
	/* fn is 0 where the old size is a power of two: its root is the start. */
	known = fn == 0;
	if (!known && proof->count == 0)
		return false;
	return climb(proof, fn, sn, known ? old_root : proof->hash[0],
	    known ? 0 : 1, fr, sr) &&
	    memcmp(fr, old_root, TREE_HASH_LEN) == 0 &&
	    memcmp(sr, new_root, TREE_HASH_LEN) == 0;
}
