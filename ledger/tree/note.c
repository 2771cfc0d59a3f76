#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "ledger/base64.h"
#include "ledger/tree/note.h"
#include "ledger/utf8.h"

#define DASH "\xe2\x80\x94 "	/* U+2014 and a space */
#define DASH_LEN 4
#define VARIANT sodium_base64_VARIANT_ORIGINAL

/* Valid UTF-8 whose only control byte is LF. */
static bool
text_valid(const char *text, size_t len)
{
	size_t i, n;

	for (i = 0; i < len; i += n) {
		if ((uint8_t)text[i] < 0x20 && text[i] != '\n')
			return false;
		if ((n = utf8_char(text + i, len - i)) == 0)
			return false;
	}
	return true;
}

/* DEL, and U+0080 to U+009F, in what is valid UTF-8: a terminal may obey them. */
static bool
has_control(const char *name, size_t len)
{
	if (memchr(name, 0x7f, len) != NULL)
		return true;
	for (size_t i = 0; i + 1 < len; i++)
		if ((uint8_t)name[i] == 0xc2 && (uint8_t)name[i + 1] < 0xa0)
			return true;
	return false;
}

/* The specification forbids '+' and any Unicode space in a name. */
static bool
name_valid(const char *name, size_t len)
{
	static const char *spaces[] = { "\xc2\xa0", "\xe1\x9a\x80",
	    "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f",
	    "\xe3\x80\x80" };
	size_t i, n;

	if (len == 0 || len > NOTE_NAME_MAX || !text_valid(name, len))
		return false;
	if (memchr(name, ' ', len) != NULL || memchr(name, '+', len) != NULL ||
	    memchr(name, '\n', len) != NULL || has_control(name, len))
		return false;
	for (i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++) {
		n = strlen(spaces[i]);
		if (memmem(name, len, spaces[i], n) != NULL)
			return false;
	}
	/* U+2000 to U+200A */
	for (i = 0; i + 2 < len; i++)
		if (memcmp(name + i, "\xe2\x80", 2) == 0 &&
		    (uint8_t)name[i + 2] >= 0x80 && (uint8_t)name[i + 2] <= 0x8a)
			return false;
	return true;
}

static void
key_id(const char *name, uint8_t type, const uint8_t pk[NOTE_PK_LEN],
    uint8_t out[NOTE_ID_LEN])
{
	crypto_hash_sha256_state sha;
	uint8_t digest[crypto_hash_sha256_BYTES];
	const uint8_t between[2] = { '\n', type };

	crypto_hash_sha256_init(&sha);
	crypto_hash_sha256_update(&sha, (const uint8_t *)name, strlen(name));
	crypto_hash_sha256_update(&sha, between, sizeof(between));
	crypto_hash_sha256_update(&sha, pk, NOTE_PK_LEN);
	crypto_hash_sha256_final(&sha, digest);
	memcpy(out, digest, NOTE_ID_LEN);
}

int
note_key_make(struct note_key *key, const char *name, enum note_type type,
    const uint8_t pk[NOTE_PK_LEN])
{
	size_t len = strlen(name);

	memset(key, 0, sizeof(*key));
	if (!name_valid(name, len) ||
	    (type != NOTE_ED25519 && type != NOTE_COSIGNATURE_V1))
		return -1;
	memcpy(key->name, name, len + 1);
	key->type = type;
	memcpy(key->pk, pk, NOTE_PK_LEN);
	key_id(name, (uint8_t)type, pk, key->id);
	return 0;
}

static bool
lower_hex(const char *text, size_t len)
{
	return strspn(text, "0123456789abcdef") >= len;
}

int
note_key_parse(struct note_key *key, const char *vkey, size_t len)
{
	char copy[NOTE_VKEY_MAX + 1];
	uint8_t typed[1 + NOTE_PK_LEN], id[NOTE_ID_LEN];
	char *plus, *hex;
	size_t got;

	memset(key, 0, sizeof(*key));
	if (len > NOTE_VKEY_MAX || memchr(vkey, '\0', len) != NULL)
		return -1;
	memcpy(copy, vkey, len);
	copy[len] = '\0';
	if ((plus = strchr(copy, '+')) == NULL)
		return -1;
	*plus = '\0';
	hex = plus + 1;
	if (strlen(hex) < 2 * NOTE_ID_LEN + 1 || !lower_hex(hex, 2 * NOTE_ID_LEN) ||
	    hex[2 * NOTE_ID_LEN] != '+' ||
	    sodium_hex2bin(id, sizeof(id), hex, 2 * NOTE_ID_LEN, NULL, &got, NULL) != 0)
		return -1;
	hex += 2 * NOTE_ID_LEN + 1;
	if (base64_read(typed, sizeof(typed), hex, strlen(hex), &got) != 0 || got != sizeof(typed))
		return -1;
	if (note_key_make(key, copy, typed[0], typed + 1) != 0)
		return -1;
	return memcmp(id, key->id, NOTE_ID_LEN) == 0 ? 0 : -1;
}

int
note_key_format(const struct note_key *key, char *out, size_t cap)
{
	uint8_t typed[1 + NOTE_PK_LEN];
	char hex[2 * NOTE_ID_LEN + 1], base64[45];
	int n;

	typed[0] = (uint8_t)key->type;
	memcpy(typed + 1, key->pk, NOTE_PK_LEN);
	sodium_bin2hex(hex, sizeof(hex), key->id, NOTE_ID_LEN);
	sodium_bin2base64(base64, sizeof(base64), typed, sizeof(typed), VARIANT);
	n = snprintf(out, cap, "%s+%s+%s", key->name, hex, base64);
	return n >= 0 && (size_t)n < cap ? n : -1;
}

/* One signature line, its LF cut. */
static int
signature_parse(struct note_signature *sig, const char *line, size_t len)
{
	uint8_t raw[NOTE_ID_LEN + NOTE_BLOB_READ_MAX];
	const char *space;
	size_t got;

	if (len < DASH_LEN || memcmp(line, DASH, DASH_LEN) != 0)
		return -1;
	line += DASH_LEN;
	len -= DASH_LEN;
	if ((space = memchr(line, ' ', len)) == NULL)
		return -1;
	sig->name = line;
	sig->name_len = (size_t)(space - line);
	if (!name_valid(sig->name, sig->name_len))
		return -1;
	len -= sig->name_len + 1;
	if (base64_read(raw, sizeof(raw), space + 1, len, &got) != 0 || got <= NOTE_ID_LEN)
		return -1;
	memcpy(sig->id, raw, NOTE_ID_LEN);
	sig->blob_len = got - NOTE_ID_LEN;
	if (sig->blob_len <= NOTE_BLOB_MAX)
		memcpy(sig->blob, raw + NOTE_ID_LEN, sig->blob_len);
	return 0;
}

static int
signatures_parse(struct note *note, const char *p, const char *end,
    const char **why)
{
	const char *lf;

	while (p < end) {
		if (note->count == NOTE_SIGS_MAX) {
			*why = "more signatures than are read";
			return -1;
		}
		lf = memchr(p, '\n', (size_t)(end - p));
		if (lf == NULL || signature_parse(&note->sig[note->count], p,
		    (size_t)(lf - p)) != 0) {
			*why = "a line after the blank line is no signature";
			return -1;
		}
		note->count++;
		p = lf + 1;
	}
	if (note->count == 0)
		*why = "no signature";
	return note->count == 0 ? -1 : 0;
}

int
note_parse(struct note *note, const char *buf, size_t len, const char **why)
{
	note->count = 0;
	if (len > NOTE_MAX) {
		*why = "not a text of UTF-8 lines";
		return -1;
	}
	return note_parse_long(note, buf, len, why);
}

int
note_parse_long(struct note *note, const char *buf, size_t len, const char **why)
{
	const char *blank = NULL, *p = buf;

	note->count = 0;
	if (!text_valid(buf, len)) {
		*why = "not a text of UTF-8 lines";
		return -1;
	}
	/* The last blank line divides: the text itself may hold some. */
	while ((p = memmem(p, len - (size_t)(p - buf), "\n\n", 2)) != NULL)
		blank = p++;
	if (blank == NULL) {
		*why = "no blank line before the signatures";
		return -1;
	}
	note->text = buf;
	note->text_len = (size_t)(blank - buf) + 1;
	return signatures_parse(note, blank + 2, buf + len, why);
}

const char *
note_signatures_end(const char *p, const char *end)
{
	const char *lf;

	for (; end - p > DASH_LEN && memcmp(p, DASH, DASH_LEN) == 0; p = lf + 1)
		if ((lf = memchr(p, '\n', (size_t)(end - p))) == NULL)
			return NULL;
	return p;
}

size_t
note_last_end(const char *text, size_t len)
{
	for (size_t end = len; end >= 2; end--) {
		size_t line = end - 2;

		if (text[end - 1] != '\n' || text[end - 2] != '\n')
			continue;
		while (line > 0 && text[line - 1] != '\n')
			line--;
		if (end - line > sizeof(DASH) && memcmp(text + line, DASH, DASH_LEN) == 0)
			return end;
	}
	return 0;
}

static uint64_t
load64(const uint8_t *p)
{
	uint64_t value = 0;
	unsigned i;

	for (i = 0; i < 8; i++)
		value = value << 8 | p[i];
	return value;
}

/* The signed message of a cosignature: a header with its time, the text. */
static bool
cosignature_good(const struct note *note, const struct note_signature *sig,
    const struct note_key *key, uint64_t *time)
{
	uint8_t message[64 + NOTE_MAX];
	int head;

	if (sig->blob_len != 8 + NOTE_SIG_LEN || note->text_len > NOTE_MAX)
		return false;
	head = snprintf((char *)message, 64, "cosignature/v1\ntime %" PRIu64 "\n",
	    load64(sig->blob));
	if (head < 0 || head >= 64)
		return false;
	memcpy(message + head, note->text, note->text_len);
	*time = load64(sig->blob);
	return crypto_sign_verify_detached(sig->blob + 8, message,
	    (size_t)head + note->text_len, key->pk) == 0;
}

static bool
signature_good(const struct note *note, const struct note_signature *sig,
    const struct note_key *key, uint64_t *time)
{
	if (key->type == NOTE_COSIGNATURE_V1)
		return cosignature_good(note, sig, key, time);
	return sig->blob_len == NOTE_SIG_LEN &&
	    crypto_sign_verify_detached(sig->blob, (const uint8_t *)note->text,
	    note->text_len, key->pk) == 0;
}

/* A second signature by the same key must be good too: nobody honest adds a
 * bad one, and then the order of lines does not matter. */
enum note_verdict
note_verify(const struct note *note, const struct note_key *key, uint64_t *time)
{
	enum note_verdict verdict = NOTE_UNSIGNED;
	const struct note_signature *sig;
	uint64_t when = 0;
	unsigned i;

	if (time != NULL)
		*time = 0;
	for (i = 0; i < note->count; i++) {
		sig = &note->sig[i];
		if (sig->name_len != strlen(key->name) ||
		    memcmp(sig->name, key->name, sig->name_len) != 0 ||
		    memcmp(sig->id, key->id, NOTE_ID_LEN) != 0)
			continue;
		if (!signature_good(note, sig, key, &when))
			return NOTE_FORGED;
		verdict = NOTE_GOOD;
	}
	if (time != NULL && verdict == NOTE_GOOD)
		*time = when;
	return verdict;
}

int
note_sign_line(const char *text, size_t len, const struct note_key *key,
    const uint8_t sk[NOTE_SK_LEN], char *out, size_t cap)
{
	uint8_t blob[NOTE_ID_LEN + NOTE_SIG_LEN];
	char base64[93];
	int n;

	if (key->type != NOTE_ED25519 || len == 0 ||
	    text[len - 1] != '\n' || !text_valid(text, len) ||
	    memcmp(sk + NOTE_SK_LEN - NOTE_PK_LEN, key->pk, NOTE_PK_LEN) != 0)
		return -1;
	memcpy(blob, key->id, NOTE_ID_LEN);
	if (crypto_sign_detached(blob + NOTE_ID_LEN, NULL, (const uint8_t *)text,
	    len, sk) != 0)
		return -1;
	sodium_bin2base64(base64, sizeof(base64), blob, sizeof(blob), VARIANT);
	n = snprintf(out, cap, DASH "%s %s\n", key->name, base64);
	return n >= 0 && (size_t)n < cap ? n : -1;
}

int
note_sign(const char *text, size_t len, const struct note_key *key,
    const uint8_t sk[NOTE_SK_LEN], char *out, size_t cap)
{
	int n;

	if (len > NOTE_MAX || len + 1 >= cap)
		return -1;
	n = note_sign_line(text, len, key, sk, out + len + 1, cap - len - 1);
	if (n < 0)
		return -1;
	memcpy(out, text, len);
	out[len] = '\n';
	return (int)len + 1 + n;
}

int
checkpoint_format(const struct checkpoint *checkpoint, char *out, size_t cap)
{
	char base64[45];
	int n;

	if (!name_valid(checkpoint->origin, strlen(checkpoint->origin)))
		return -1;
	sodium_bin2base64(base64, sizeof(base64), checkpoint->root, TREE_HASH_LEN,
	    VARIANT);
	n = snprintf(out, cap, "%s\n%" PRIu64 "\n%s\n", checkpoint->origin,
	    checkpoint->size, base64);
	return n >= 0 && (size_t)n < cap ? n : -1;
}

/* A decimal number without sign or leading zeros that takes all len bytes. */
static int
decimal_parse(const char *text, size_t len, uint64_t *out)
{
	uint64_t value = 0;
	size_t i;

	if (len == 0 || len > 19 || (len > 1 && text[0] == '0'))
		return -1;
	for (i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -1;
		value = value * 10 + (uint64_t)(text[i] - '0');
	}
	*out = value;
	return value < UINT64_C(1) << TREE_LEVELS ? 0 : -1;
}

int
checkpoint_parse(struct checkpoint *checkpoint, const char *text, size_t len)
{
	const char *line[4] = { text };
	size_t got;
	int i;

	memset(checkpoint, 0, sizeof(*checkpoint));
	for (i = 1; i < 4; i++) {
		line[i] = memchr(line[i - 1], '\n', len - (size_t)(line[i - 1] - text));
		if (line[i] == NULL)
			return -1;
		line[i]++;
	}
	if (line[3] != text + len)
		return -1;
	got = (size_t)(line[1] - line[0]) - 1;
	if (!name_valid(line[0], got))
		return -1;
	memcpy(checkpoint->origin, line[0], got);
	if (decimal_parse(line[1], (size_t)(line[2] - line[1]) - 1,
	    &checkpoint->size) != 0)
		return -1;
	if (base64_read(checkpoint->root, TREE_HASH_LEN, line[2],
	    (size_t)(line[3] - line[2]) - 1, &got) != 0 ||
	    got != TREE_HASH_LEN)
		return -1;
	return 0;
}

int
checkpoint_sign(const struct checkpoint *checkpoint, const struct note_key *key,
    const uint8_t sk[NOTE_SK_LEN], char *out, size_t cap)
{
	char text[CHECKPOINT_TEXT_MAX + 1];
	int len;

	if (strcmp(checkpoint->origin, key->name) != 0)
		return -1;
	len = checkpoint_format(checkpoint, text, sizeof(text));
	return len < 0 ? -1 : note_sign(text, (size_t)len, key, sk, out, cap);
}

int
checkpoint_sign_tree(const struct tree_frontier *tree, const struct note_key *key,
    const uint8_t sk[NOTE_SK_LEN], char *out, size_t cap)
{
	struct checkpoint checkpoint = { .size = tree->size };

	snprintf(checkpoint.origin, sizeof(checkpoint.origin), "%s", key->name);
	tree_frontier_root(tree, checkpoint.root);
	return checkpoint_sign(&checkpoint, key, sk, out, cap);
}

int
checkpoint_open(struct checkpoint *checkpoint, const char *buf, size_t len,
    const struct note_key *key, const char **why)
{
	struct note note;

	if (note_parse(&note, buf, len, why) != 0)
		return -1;
	if (checkpoint_parse(checkpoint, note.text, note.text_len) != 0) {
		*why = "not three lines of origin, size and root";
		return -1;
	}
	if (strcmp(checkpoint->origin, key->name) != 0) {
		*why = "another ledger's origin";
		return -1;
	}
	switch (note_verify(&note, key, NULL)) {
	case NOTE_GOOD:
		return 0;
	case NOTE_UNSIGNED:
		*why = "not signed by the pinned key";
		return -1;
	case NOTE_FORGED:
		break;
	}
	*why = "the pinned key's signature does not match";
	return -1;
}
