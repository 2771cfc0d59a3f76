/*
 * Signed notes and checkpoints.  Nothing is good without a signature; whatever
 * is taken for a checkpoint comes back from checkpoint_format byte for byte.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "ledger/tree/note.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void
require(int condition)
{
	if (!condition)
		abort();
}

/* The key whose seed is the bytes 0 to 31 has signed the corpus. */
static const struct note_key *
log_key(void)
{
	static struct note_key key;
	uint8_t seed[32], pk[NOTE_PK_LEN], sk[NOTE_SK_LEN];
	unsigned i;

	if (key.name[0] != '\0')
		return &key;
	for (i = 0; i < sizeof(seed); i++)
		seed[i] = (uint8_t)i;
	require(sodium_init() >= 0);
	crypto_sign_seed_keypair(pk, sk, seed);
	require(note_key_make(&key, "ledger.example/test", NOTE_ED25519, pk) == 0);
	return &key;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const struct note_key *key;
	struct checkpoint at, opened;
	char again[CHECKPOINT_TEXT_MAX + 1], vkey[NOTE_VKEY_MAX + 1];
	const char *text = (const char *)data, *why = NULL;
	struct note_key read;
	struct note note;
	unsigned i;
	int n;

	key = log_key();
	if (note_key_parse(&read, text, len) == 0) {
		n = note_key_format(&read, vkey, sizeof(vkey));
		require(n == (int)len && memcmp(vkey, text, len) == 0);
	}
	if (note_parse(&note, text, len, &why) != 0) {
		require(why != NULL);
		require(checkpoint_open(&opened, text, len, key, &why) != 0);
		return 0;
	}
	require(note.count >= 1 && note.count <= NOTE_SIGS_MAX);
	require(note.text_len < len && note.text[note.text_len - 1] == '\n');
	for (i = 0; i < note.count; i++)
		require(note.sig[i].name >= text && note.sig[i].name_len <= NOTE_NAME_MAX &&
		    note.sig[i].name + note.sig[i].name_len <= text + len);
	if (checkpoint_parse(&at, note.text, note.text_len) == 0) {
		n = checkpoint_format(&at, again, sizeof(again));
		require(n == (int)note.text_len && memcmp(again, note.text, note.text_len) == 0);
	}
	if (checkpoint_open(&opened, text, len, key, &why) == 0)
		require(note_verify(&note, key, NULL) == NOTE_GOOD &&
		    strcmp(opened.origin, key->name) == 0);
	return 0;
}
