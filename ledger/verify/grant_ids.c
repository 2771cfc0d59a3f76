#include "ledger/verify/grant_ids.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "ledger/record/record_memo.h"
#include "ledger/verify/load.h"
#include "ledger/verify/member.h"

#define SETS 1024
#define WAYS 16
#define MARK_LEN 16

struct entry {
	uint8_t mark[MARK_LEN];	/* of the record's leaf */
	uint8_t id[crypto_generichash_BYTES_MIN];
	bool used;
};

struct grant_ids {
	uint64_t others, first, first_seq;	/* that name another; the first of them */
	struct entry entry[SETS][WAYS];	/* the one that came last in front */
};

struct grant_ids *
grant_ids_new(void)
{
	return calloc(1, sizeof(struct grant_ids));
}

void
grant_ids_free(struct grant_ids *ids)
{
	free(ids);
}

static struct entry *
set_of(struct grant_ids *ids, const uint8_t *leaf)
{
	return ids->entry[(leaf[0] << 8 | leaf[1]) % SETS];
}

static void
keep(struct grant_ids *ids, const uint8_t leaf[TREE_HASH_LEN], const uint8_t *id)
{
	struct entry *set = set_of(ids, leaf);

	memmove(set + 1, set, (WAYS - 1) * sizeof(*set));
	memcpy(set[0].mark, leaf, MARK_LEN);
	memcpy(set[0].id, id, sizeof(set[0].id));
	set[0].used = true;
}

/* Of the record that this one names; NULL: it is of no grant, or not kept. */
static const uint8_t *
id_of_parent(struct grant_ids *ids, const struct record_line *r)
{
	uint8_t leaf[TREE_HASH_LEN];
	const struct entry *set;

	if (r->parent.ptr == NULL || r->parent.len != 2 * TREE_HASH_LEN + 2 ||
	    !record_hash_decode(r->parent.ptr + 1, leaf))
		return NULL;
	set = set_of(ids, leaf);
	for (unsigned i = 0; i < WAYS && set[i].used; i++)
		if (memcmp(set[i].mark, leaf, MARK_LEN) == 0)
			return set[i].id;
	return NULL;
}

void
grant_ids_take(struct grant_ids *ids, const struct record_line *r,
    const uint8_t leaf[TREE_HASH_LEN], uint64_t index)
{
	const bool issued = record_slice_is(r->type, "grant") && !member_is(r->body, "state", "revoked");
	uint8_t id[crypto_generichash_BYTES_MIN];
	const uint8_t *want;
	struct record_slice name;

	if (!member_find(r->body, "grant", &name))
		return;
	(void)crypto_generichash(id, sizeof(id), (const uint8_t *)name.ptr, name.len, NULL, 0);
	want = issued ? NULL : id_of_parent(ids, r);
	if (want != NULL && memcmp(want, id, sizeof(id)) != 0 && ids->others++ == 0) {
		ids->first = index;
		ids->first_seq = r->seq;
	}
	if (issued || record_slice_is(r->type, "use") || record_slice_is(r->type, "decision"))
		keep(ids, leaf, id);
}

void
grant_ids_judge(const struct grant_ids *ids, struct verify_result *result)
{
	struct verify_finding *f;

	if (ids->others == 0)
		return;
	f = verify_find(result, VERIFY_GAP, "parent", "it names another grant than the record "
	    "that it was admitted under; %" PRIu64 " in all", ids->others);
	f->has_index = f->has_seq = true;
	f->index = ids->first;
	f->seq = ids->first_seq;
}
