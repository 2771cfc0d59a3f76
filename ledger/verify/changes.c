#include <string.h>

#include "ledger/verify/beside.h"
#include "ledger/verify/locate.h"
#include "ledger/verify/pass.h"
#include "ledger/verify/since.h"

/* The largest signed size whose root was reproduced, and the first that was
 * reached and was not (or UINT64_MAX).  Where the latest one is reproduced, the
 * records are as signed, and an earlier one that is not is a fork. */
static void
bounds(const struct load *load, uint64_t *good, uint64_t *bad)
{
	const struct seal *seal;
	unsigned i;

	*good = load->frontier.size;
	*bad = UINT64_MAX;
	for (i = 0; i < load->seals.count; i++) {
		seal = &load->seals.seal[i];
		if (!seal->reached || seal->state == SEAL_FORGED || seal->saved ||
		    seal->kept)
			continue;
		if (seal->matches && seal->at.size == load->latest.at.size)
			*bad = UINT64_MAX;
		if (seal->matches && seal->at.size > *good && *bad == UINT64_MAX)
			*good = seal->at.size;
		if (!seal->matches && seal->at.size < *bad)
			*bad = seal->at.size;
	}
}

static int
locate_batch_cb(void *context, const struct walk_batch *batch)
{
	locate_batch(context, batch);
	return 0;
}

/* The tree with one other leaf. */
struct supposed {
	const struct load *load;
	struct tree_frontier tree;
	uint64_t index, size;
	const uint8_t *leaf;
	const uint8_t *root;
};

static int
suppose_batch(void *context, const struct walk_batch *batch)
{
	struct supposed *s = context;
	unsigned i;

	for (i = 0; i < batch->count && s->tree.size < s->size; i++)
		if (tree_frontier_append(&s->tree, batch->index + i == s->index ?
		    s->leaf : batch->lines[i].leaf) != 0)
			return 1;
	return s->tree.size == s->size;
}

static bool
suppose(void *context, uint64_t index, const uint8_t leaf[TREE_HASH_LEN])
{
	const struct supposed *at = context;
	struct supposed s = *at;
	uint8_t root[TREE_HASH_LEN];

	s.tree = s.load->frontier;
	s.index = index;
	s.leaf = leaf;
	if (pass_again(s.load, suppose_batch, &s) < 0 || s.tree.size != s.size)
		return false;
	tree_frontier_root(&s.tree, root);
	return memcmp(root, s.root, TREE_HASH_LEN) == 0;
}

/* The root at the first size where it was not the signed one. */
static const uint8_t *
root_at(const struct load *load, uint64_t size)
{
	unsigned i;

	for (i = 0; i < load->seals.count; i++)
		if (load->seals.seal[i].at.size == size && !load->seals.seal[i].saved)
			return load->seals.seal[i].at.root;
	return load->latest.at.root;
}

static int
chain_batch_cb(void *context, const struct walk_batch *batch)
{
	return chain_batch(context, batch, NULL);
}

/* What was changed among the signed records is found by what they say of each
 * other; those behind them must not take part in that. */
static int
rechain(struct pass *pass)
{
	if (pass->load->kind != VERIFY_LEDGER || pass->tree.size <= load_sealed(pass->load))
		return 0;
	chain_free(&pass->chain);
	if (chain_init(&pass->chain, false) != 0 ||
	    (pass->options->since && since_again(pass->load, &pass->chain) != 0))
		return -1;
	pass->chain.end = load_sealed(pass->load);
	return pass_again(pass->load, chain_batch_cb, &pass->chain) == 0 ? 0 : -1;
}

bool
changes_between(const struct pass *pass, uint64_t *good, uint64_t *bad)
{
	const uint64_t size = pass->tree.size, sealed = pass->load->latest.at.size;

	bounds(pass->load, good, bad);
	return *bad != UINT64_MAX || size < sealed ||
	    (pass->load->kind == VERIFY_BUNDLE && size != sealed);
}

/* By a bundle's leaves. */
static int
name_by_leaves(struct pass *pass)
{
	struct locate locate = { .load = pass->load, .result = pass->result,
	    .leaves = &pass->load->leaves, .first = pass->load->frontier.size,
	    .end = UINT64_MAX };
	int status = locate_begin(&locate);

	/* where the files cannot be read, the first pass has said so */
	if (status == 0 && pass_again(pass->load, locate_batch_cb, &locate) == 0)
		locate_end(&locate);
	locate_free(&locate);
	return status;
}

/* By the leaves beside a ledger's records, for as much as they give a signed
 * root; false where they give none. */
static bool
name_by_hashes(struct pass *pass, uint64_t bad)
{
	const struct load *load = pass->load;
	const struct seal *latest = &load->latest;
	uint64_t size = 0;

	if (latest->state >= SEAL_UNPINNED &&
	    beside_gives(load, latest->at.size, latest->at.root))
		size = latest->at.size;
	else if (bad != UINT64_MAX && beside_gives(load, bad, root_at(load, bad)))
		size = bad;
	return size > 0 && beside_name(load, size, pass->result) == 0;
}

/* By leaves where there are good ones, or by the chain. */
int
changes_name(struct pass *pass, uint64_t good, uint64_t bad)
{
	struct supposed supposed = { .load = pass->load,
	    .size = bad != UINT64_MAX ? bad : pass->load->latest.at.size,
	    .root = root_at(pass->load, bad) };
	struct suspects suspects = { &pass->chain, pass->load, good,
	    bad < pass->tree.size ? bad : pass->tree.size, suppose, &supposed,
	    pass->result };

	if (rechain(pass) != 0)
		return -1;
	if (pass->load->leaves_good)
		return name_by_leaves(pass);
	if (name_by_hashes(pass, bad))
		return 0;
	if (bad != UINT64_MAX || pass->chain.events > 0)
		locate_by_chain(&suspects);
	else
		locate_flaws(&pass->chain, pass->load, pass->result);
	return 0;
}
