#include "ledger/recorder/rekey.h"
#include "ledger/tree/proof.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#define BODY_MAX 2048
#define ENTRY_MAX (RECORD_LINE_MAX + 1 + PROOF_TEXT_MAX + 2)

/* A seed on its way from the keeper to the key; locked while it is there. */
struct fresh {
	uint8_t seed[STORE_SEED_LEN], sk[NOTE_SK_LEN];
	struct note_key key;
};

static struct fresh *
fresh_new(void)
{
	return sodium_malloc(sizeof(struct fresh));
}

static int
fresh_key(struct fresh *fresh, const struct store *store)
{
	uint8_t pk[NOTE_PK_LEN];

	crypto_sign_seed_keypair(pk, fresh->sk, fresh->seed);
	return note_key_make(&fresh->key, store->key.name, NOTE_ED25519, pk);
}

/*
 * The last leaf's proof: the tree before it falls into complete subtrees, the
 * smallest of which is its first sibling, and so on up.
 */
static void
prove_last(const struct tree_frontier *before, struct tree_proof *out)
{
	out->count = 0;
	for (unsigned level = 0; level < TREE_LEVELS; level++) {
		if ((before->size >> level & 1) != 0)
			memcpy(out->hash[out->count++], before->node[level],
			    TREE_HASH_LEN);
	}
}

static int
compose_entry(struct store *store, const char *line, size_t len,
    const struct tree_frontier *before, char *out, size_t cap)
{
	char note[CHECKPOINT_NOTE_MAX + 1];
	struct tree_proof proof;
	int note_len = store_sign(store, note, sizeof(note)), n;

	if (note_len < 0 || len + 2 > cap)
		return -1;
	prove_last(before, &proof);
	memcpy(out, line, len);
	out[len] = '\n';
	n = proof_format(&proof, before->size, note, (size_t)note_len,
	    out + len + 1, cap - len - 2);
	if (n < 0)
		return -1;
	out[len + 1 + (size_t)n] = '\n';
	return (int)len + 1 + n + 1;
}

/* Steps 3 to 5: the key record is the last and durable. */
static int
finish(struct store *store, const struct ledger_keeper *keeper,
    const char *line, size_t len, const struct tree_frontier *before,
    struct fresh *fresh)
{
	char *entry = malloc(ENTRY_MAX);
	int n = -1, status = -1;

	if (entry != NULL && store_checkpoint(store) == 0)
		n = compose_entry(store, line, len, before, entry, ENTRY_MAX);
	if (n > 0 && store_add_epoch(store, entry, (size_t)n) == 0 &&
	    memcmp(store->key.pk, fresh->key.pk, NOTE_PK_LEN) == 0) {
		memcpy(store->sk, fresh->sk, NOTE_SK_LEN);
		status = keeper->advance(keeper->context);
	}
	free(entry);
	return status;
}

/* ---- at the start ---- */

/* The last record brings in a key, and no epoch begins with it yet. */
static bool
interrupted(const struct store *store, const struct replay *replay)
{
	return replay->key_line != NULL &&
	    replay->key_before.size + 1 == replay->tree.size &&
	    store->epochs.epoch[store->epochs.count - 1].until == UINT64_MAX &&
	    (store->epochs.count < 2 || store->epochs.epoch[
	    store->epochs.count - 2].until < replay->tree.size);
}

static int
complete(struct store *store, const struct replay *replay,
    const struct ledger_keeper *keeper, struct fresh *fresh,
    struct problem *problem)
{
	struct record_line record;
	struct note_key key, before;
	uint64_t epoch;

	if (keeper == NULL || keeper->load_next(keeper->context,
	    fresh->seed) != 0 || fresh_key(fresh, store) != 0 ||
	    record_parse(replay->key_line, replay->key_len, &record) != NULL ||
	    epochs_read_body(record.body, &epoch, &key, &before) != 0 ||
	    memcmp(key.pk, fresh->key.pk, NOTE_PK_LEN) != 0)
		return problem_set(problem, "the last record brings in a key "
		    "whose secret is not there: start a new ledger "
		    "(countersign ledger restart-origin)");
	if (finish(store, keeper, replay->key_line, replay->key_len,
	    &replay->key_before, fresh) != 0)
		return problem_errno(problem, "cannot finish the change of the "
		    "signing key");
	return 0;
}

int
rekey_resume(struct store *store, const struct replay *replay,
    const struct ledger_keeper *keeper, struct problem *problem)
{
	struct fresh *fresh;
	int status = 0;

	if (interrupted(store, replay)) {
		if ((fresh = fresh_new()) == NULL)
			return problem_set(problem, "out of memory");
		status = complete(store, replay, keeper, fresh, problem);
		sodium_free(fresh);
	}
	/* What is left of one that never came to its record, or is over. */
	if (status == 0 && keeper != NULL &&
	    keeper->discard(keeper->context) != 0)
		status = problem_errno(problem, "cannot erase a signing key "
		    "that is no longer used");
	return status;
}

/* ---- while it runs ---- */

static enum rekey_status
write_record(struct store *store, struct scribe *scribe,
    const struct note_key *key, const char *reason)
{
	char body[BODY_MAX];
	int len = epochs_body(store->epochs.count, key, &store->key, reason,
	    body, sizeof(body));
	enum store_status status = STORE_FAILED;

	if (len < 0)
		return REKEY_FAILED;
	store->keep_before = true;
	status = scribe_note(scribe, "key", body, (size_t)len);
	store->keep_before = false;
	return status == STORE_OK ? REKEY_DONE : status == STORE_FULL ?
	    REKEY_LATER : REKEY_FAILED;
}

static enum rekey_status
change(struct store *store, struct scribe *scribe,
    const struct ledger_keeper *keeper, const char *reason,
    struct fresh *fresh, char *line)
{
	enum rekey_status status;
	size_t len;

	randombytes_buf(fresh->seed, sizeof(fresh->seed));
	if (fresh_key(fresh, store) != 0 || store_prepare_epoch(store) != 0 ||
	    keeper->save_next(keeper->context, fresh->seed) != 0)
		return REKEY_LATER;
	status = write_record(store, scribe, &fresh->key, reason);
	if (status == REKEY_LATER && keeper->discard(keeper->context) != 0)
		return REKEY_FAILED;
	if (status != REKEY_DONE)
		return status;
	len = store_last_line(store, line);
	if (store_commit(store) != 0 || finish(store, keeper, line, len,
	    &store->before, fresh) != 0)
		return REKEY_FAILED;
	return REKEY_DONE;
}

enum rekey_status
rekey_now(struct store *store, struct scribe *scribe,
    const struct ledger_keeper *keeper, const char *reason)
{
	struct fresh *fresh = fresh_new();
	char *line = malloc(RECORD_LINE_MAX);
	enum rekey_status status = REKEY_LATER;

	if (fresh != NULL && line != NULL && store->epochs.count < EPOCHS_MAX)
		status = change(store, scribe, keeper, reason, fresh, line);
	free(line);
	sodium_free(fresh);
	return status;
}
