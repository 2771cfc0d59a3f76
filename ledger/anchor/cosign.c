#include "ledger/anchor/cosign.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#define BLOB_LEN (8 + NOTE_SIG_LEN)

static int
write_line(const struct note_key *key, const uint8_t *blob, size_t len,
    char *out, size_t cap)
{
	uint8_t raw[NOTE_ID_LEN + BLOB_LEN];
	char base64[128];
	int n;

	memcpy(raw, key->id, NOTE_ID_LEN);
	memcpy(raw + NOTE_ID_LEN, blob, len);
	sodium_bin2base64(base64, sizeof(base64), raw, NOTE_ID_LEN + len,
	    sodium_base64_VARIANT_ORIGINAL);
	n = snprintf(out, cap, "\xe2\x80\x94 %s %s\n", key->name, base64);
	return n >= 0 && (size_t)n < cap ? n : -1;
}

int
cosign_line(const char *text, size_t text_len, const struct note_key *key,
    const uint8_t sk[NOTE_SK_LEN], uint64_t time_s, char *out, size_t cap)
{
	uint8_t blob[BLOB_LEN];
	char *message;
	int head, n = -1;

	if (key->type != NOTE_COSIGNATURE_V1 || text_len > NOTE_MAX ||
	    text_len == 0 || text[text_len - 1] != '\n' || memcmp(sk +
	    NOTE_SK_LEN - NOTE_PK_LEN, key->pk, NOTE_PK_LEN) != 0 ||
	    (message = malloc(64 + text_len)) == NULL)
		return -1;
	head = snprintf(message, 64, "cosignature/v1\ntime %" PRIu64 "\n",
	    time_s);
	memcpy(message + head, text, text_len);
	for (int i = 0; i < 8; i++)
		blob[i] = (uint8_t)(time_s >> (56 - 8 * i));
	if (crypto_sign_detached(blob + 8, NULL, (const uint8_t *)message,
	    (size_t)head + text_len, sk) == 0)
		n = write_line(key, blob, BLOB_LEN, out, cap);
	free(message);
	return n;
}

static const struct note_signature *
find(const struct note *note, const struct note_key *key)
{
	for (unsigned i = 0; i < note->count; i++) {
		const struct note_signature *sig = &note->sig[i];

		if (sig->name_len == strlen(key->name) &&
		    memcmp(sig->name, key->name, sig->name_len) == 0 &&
		    memcmp(sig->id, key->id, NOTE_ID_LEN) == 0)
			return sig;
	}
	return NULL;
}

int
cosign_plain(const struct note *note, const struct note_key *key, char *out,
    size_t cap)
{
	const struct note_signature *sig = find(note, key);
	int n;

	if (sig == NULL || sig->blob_len > BLOB_LEN ||
	    note_verify(note, key, NULL) != NOTE_GOOD ||
	    cap < note->text_len + 2)
		return -1;
	memcpy(out, note->text, note->text_len);
	out[note->text_len] = '\n';
	n = write_line(key, sig->blob, sig->blob_len, out + note->text_len + 1,
	    cap - note->text_len - 1);
	return n < 0 ? -1 : (int)note->text_len + 1 + n;
}

static int
pick(const char *joined, size_t text_len, size_t len,
    const struct note_key *key, uint64_t *time_s, char *out, size_t cap,
    const char **why)
{
	const struct note_signature *sig;
	struct note note;

	if (note_parse(&note, joined, len, why) != 0)
		return -1;
	if (note.text_len != text_len) {	/* an empty line among them */
		*why = "not only signature lines";
		return -1;
	}
	switch (note_verify(&note, key, time_s)) {
	case NOTE_GOOD:
		*why = "no room for the signature";
		sig = find(&note, key);
		return sig != NULL ? write_line(key, sig->blob, BLOB_LEN, out,
		    cap) : -1;
	case NOTE_UNSIGNED:
		*why = "no signature by the witness's key";
		return -1;
	case NOTE_FORGED:
		break;
	}
	*why = "the witness's signature does not match";
	return -1;
}

/* The text alone, then the lines, is a note that holds only what was answered. */
int
cosign_pick(const char *note, size_t note_len, const char *lines,
    size_t lines_len, const struct note_key *key, uint64_t *time_s, char *out,
    size_t cap, const char **why)
{
	struct note parsed;
	char *joined;
	int n;

	*time_s = 0;
	if (note_parse(&parsed, note, note_len, why) != 0)
		return -1;
	if (key->type != NOTE_COSIGNATURE_V1 || lines_len > NOTE_MAX) {
		*why = "not a witness's key or answer";
		return -1;
	}
	joined = malloc(parsed.text_len + 1 + lines_len);
	if (joined == NULL) {
		*why = "out of memory";
		return -1;
	}
	memcpy(joined, note, parsed.text_len);
	joined[parsed.text_len] = '\n';
	memcpy(joined + parsed.text_len + 1, lines, lines_len);
	n = pick(joined, parsed.text_len, parsed.text_len + 1 + lines_len, key,
	    time_s, out, cap, why);
	free(joined);
	return n;
}
