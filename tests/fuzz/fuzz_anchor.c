/*
 * What strangers send to do with anchoring; the first byte says which: what a
 * witness gets, what it answers, the file of epochs, a trust policy, a tile's
 * name, a proof, what was said last.  What is accepted must come out again byte for byte.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "ledger/anchor/after.h"
#include "ledger/anchor/cosign.h"
#include "ledger/anchor/stamp.h"
#include "ledger/anchor/submission.h"
#include "ledger/anchor/tiles.h"
#include "ledger/anchor/trust.h"
#include "ledger/tree/epochs.h"
#include "ledger/tree/proof.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static struct note_key log_key, witness_key;

static void
require(int condition)
{
	if (!condition)
		abort();
}

static void
submission(const char *text, size_t len)
{
	static char again[SUBMISSION_MAX + 1];
	struct submission in;
	const char *why = NULL;
	int n;

	if (submission_parse(&in, text, len, &why) != 0) {
		require(why != NULL);
		return;
	}
	n = submission_format(&in, again, sizeof(again));
	require(n >= 0 && (size_t)n == len && memcmp(again, text, len) == 0);
}

/* The note, and the lines behind its first NUL. */
static void
answer(const char *text, size_t len)
{
	const char *nul = memchr(text, '\0', len), *why = NULL;
	char line[COSIGN_LINE_MAX + 1];
	uint64_t time_s;
	size_t head = nul != NULL ? (size_t)(nul - text) : len;
	size_t rest = nul != NULL ? len - head - 1 : 0;

	if (cosign_pick(text, head, nul != NULL ? nul + 1 : "", rest,
	    &witness_key, &time_s, line, sizeof(line), &why) < 0)
		require(why != NULL);
}

static void
epochs(const char *text, size_t len)
{
	struct epochs list;
	const char *why = NULL;

	require(epochs_pin(&list, &log_key) == 0);
	if (epochs_follow(&list, text, len, &why) != 0)
		require(why != NULL);
	for (unsigned i = 1; i < list.count; i++)
		require(i < 2 || list.epoch[i - 1].until >
		    list.epoch[i - 2].until);
	require(epochs_key(&list, 0) == &list.epoch[0].key);
	epochs_free(&list);
}

static void
trust(const char *text, size_t len)
{
	char err[256] = "";
	struct trust *policy = trust_parse(text, len, ".", err, sizeof(err));

	require(policy != NULL || err[0] != '\0');
	if (policy != NULL)
		require(policy->quorum <= policy->witnesses &&
		    policy->stamps <= policy->authorities && policy->logs > 0);
	free(policy);
}

static void
tile(const char *text, size_t len)
{
	char path[128], again[TILES_PATH_MAX];
	struct tiles_name name;

	if (len >= sizeof(path))
		return;
	memcpy(path, text, len);
	path[len] = '\0';
	if (tiles_name_parse(&name, path) != 0)
		return;
	require(tiles_name_format(&name, again, sizeof(again)) >= 0);
	require(strcmp(again, path) == 0);
}

static void
proof(const char *text, size_t len)
{
	struct checkpoint checkpoint;
	uint8_t leaf[TREE_HASH_LEN] = { 0 };
	const char *why = NULL;
	uint64_t index;

	if (proof_check(text, len, leaf, &log_key, &index, &checkpoint,
	    &why) != 0)
		require(why != NULL);
	(void)proof_checkpoint(text, len, &checkpoint);
}

/* Nobody here has signed anything: it may be recorded for what authorities said at
 * most, and proves nothing. */
static void
said_last(const char *text, size_t len)
{
	static struct trust policy = { .witnesses = 1, .quorum = 1 };
	struct checkpoint at = { .origin = "log.example.com/x", .size = 1000 };
	struct after *after = after_parse(text, len);
	struct after_answer answer;

	if (after == NULL)
		return;
	policy.witness[0] = witness_key;
	(void)after_misfit(after, &at, &witness_key, 1, INT64_MAX);
	after_ask(after, at.origin, at.size, &policy, &answer);
	require(answer.verdict != AFTER_GOOD && answer.time_s == 0);
	after_free(after);
}

static void
time_stamp(const uint8_t *der, size_t len)
{
	uint8_t digest[STAMP_DIGEST_LEN] = { 0 };
	struct stamp out;
	char why[256] = "";

	if (stamp_check(der, len, digest, NULL, NULL, &out, why,
	    sizeof(why)) != 0)
		require(why[0] != '\0');
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const uint8_t pk[NOTE_PK_LEN] = { 1 };
	const char *text = (const char *)data + 1;

	if (len == 0 || sodium_init() < 0 ||
	    note_key_make(&log_key, "log.example.com/x", NOTE_ED25519, pk) != 0 ||
	    note_key_make(&witness_key, "w.example.com", NOTE_COSIGNATURE_V1,
	    pk) != 0)
		return 0;
	switch (data[0]) {
	case 's':
		submission(text, len - 1);
		break;
	case 'a':
		answer(text, len - 1);
		break;
	case 'e':
		epochs(text, len - 1);
		break;
	case 't':
		trust(text, len - 1);
		break;
	case 'n':
		tile(text, len - 1);
		break;
	case 'p':
		proof(text, len - 1);
		break;
	case 'l':
		said_last(text, len - 1);
		break;
	case 'r':
		time_stamp(data + 1, len - 1);
		break;
	default:
		break;
	}
	return 0;
}
