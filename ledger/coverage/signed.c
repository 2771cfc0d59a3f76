#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/coverage/signed.h"

/* No line of a truth is empty: what stands behind the last empty line is no part
 * of it, if it is signatures at all. */
static int
split(struct note *note, const char *text, size_t len)
{
	static const char dash[] = "\n\n\xe2\x80\x94 ";
	const char *why;

	return memmem(text, len, dash, sizeof(dash) - 1) == NULL ? -1 :
	    note_parse_long(note, text, len, &why);
}

size_t
signed_text_len(const char *text, size_t len)
{
	struct note note;

	return split(&note, text, len) == 0 ? note.text_len : len;
}

enum signed_by
signed_judge(const char *text, size_t len, const struct note_key *key, size_t keys,
    size_t *which, char name[NOTE_NAME_MAX + 1])
{
	enum signed_by by = SIGNED_UNKNOWN;
	struct note note;

	*which = 0;
	name[0] = '\0';
	if (split(&note, text, len) != 0)
		return SIGNED_NOT;
	snprintf(name, NOTE_NAME_MAX + 1, "%.*s", (int)note.sig[0].name_len, note.sig[0].name);
	for (size_t i = 0; i < keys && by != SIGNED_FORGED; i++) {
		const enum note_verdict verdict = note_verify(&note, &key[i], NULL);

		if (verdict == NOTE_UNSIGNED || (verdict == NOTE_GOOD && by == SIGNED_GOOD))
			continue;
		by = verdict == NOTE_GOOD ? SIGNED_GOOD : SIGNED_FORGED;
		*which = i;
	}
	if (by != SIGNED_UNKNOWN)
		memcpy(name, key[*which].name, sizeof(key[*which].name));
	return by;
}

char *
signed_make(const char *text, size_t len, const struct note_key *key,
    const uint8_t sk[NOTE_SK_LEN], size_t *out_len)
{
	char *out = len > 0 && signed_text_len(text, len) == len ?
	    malloc(len + 1 + NOTE_LINE_MAX + 1) : NULL;
	int n;

	if (out == NULL)
		return NULL;
	memcpy(out, text, len);
	out[len] = '\n';
	n = note_sign_line(text, len, key, sk, out + len + 1, NOTE_LINE_MAX + 1);
	if (n < 0) {
		free(out);
		return NULL;
	}
	*out_len = len + 1 + (size_t)n;
	return out;
}
