/* Signed notes and checkpoints: our own round trip, every changed bit and
 * every cut of one, and vectors that were made by other code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sodium.h>

#include "ledger/tree/note.h"

#define VECTORS "../shared/data/ledger-vectors/"
#define ORIGIN "ledger.example/broker-1"
#define VKEY ORIGIN "+6e5791d5+AQOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4"

static struct note_key key;
static uint8_t sk[NOTE_SK_LEN];

/* The key whose seed is the bytes 0 to 31. */
static int
setup(void **state)
{
	uint8_t seed[32], pk[NOTE_PK_LEN];
	int i;

	if (sodium_init() < 0)
		return -1;
	for (i = 0; i < 32; i++)
		seed[i] = (uint8_t)i;
	crypto_sign_seed_keypair(pk, sk, seed);
	return note_key_make(&key, ORIGIN, NOTE_ED25519, pk);
}

static size_t
slurp(const char *path, char *buf, size_t cap)
{
	FILE *f = fopen(path, "rb");
	size_t n;

	if (f == NULL)
		return 0;
	n = fread(buf, 1, cap, f);
	fclose(f);
	return n;
}

static size_t
sample(char *out, size_t cap)
{
	struct checkpoint checkpoint = { ORIGIN, 5, { 0 } };
	int len;

	memset(checkpoint.root, 0xa5, TREE_HASH_LEN);
	len = checkpoint_sign(&checkpoint, &key, sk, out, cap);
	assert_true(len > 0);
	return (size_t)len;
}

static void
vkeys(void **state)
{
	static const char *bad[] = {
		"", "+", "++", ORIGIN, "a+6e5791d5+AQOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4",
		ORIGIN "+6E5791D5+AQOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4",
		ORIGIN "+6e5791d6+AQOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4",
		ORIGIN "+6e5791d5+AgOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4",
		ORIGIN "+6e5791d5+AQOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG",
		ORIGIN "+6e5791d5+AQOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4=",
		VKEY "\n", " " VKEY, "x+6e5791d", "x+zzzzzzzz+AQ==",
	};
	char text[NOTE_VKEY_MAX + 1];
	struct note_key parsed;
	size_t i;

	assert_int_equal(note_key_format(&key, text, sizeof(text)), strlen(VKEY));
	assert_string_equal(text, VKEY);
	assert_int_equal(note_key_format(&key, text, strlen(VKEY)), -1);
	assert_int_equal(note_key_parse(&parsed, VKEY, strlen(VKEY)), 0);
	assert_string_equal(parsed.name, ORIGIN);
	assert_memory_equal(parsed.pk, key.pk, NOTE_PK_LEN);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(note_key_parse(&parsed, bad[i], strlen(bad[i])), -1);
	assert_int_equal(note_key_parse(&parsed, "a\0b", 3), -1);
}

static void
names(void **state)
{
	static const char *bad[] = { "", "a b", "a+b", "a\nb", "a\tb", "a\xc2\xa0" "b",
	    "a\xe2\x80\x83" "b", "a\xe3\x80\x80", "\xff", "\xc0\x80", "\xed\xa0\x80",
	    "a\x7f", "a\xc2\x80", "\xc2\x85" "a", "a\xc2\x9b" "31m", "\xc2\x9f" };
	struct note_key made;
	char longest[NOTE_NAME_MAX + 2];
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(note_key_make(&made, bad[i], NOTE_ED25519, key.pk), -1);
	memset(longest, 'a', sizeof(longest));
	longest[NOTE_NAME_MAX + 1] = '\0';
	assert_int_equal(note_key_make(&made, longest, NOTE_ED25519, key.pk), -1);
	longest[NOTE_NAME_MAX] = '\0';
	assert_int_equal(note_key_make(&made, longest, NOTE_ED25519, key.pk), 0);
	assert_int_equal(note_key_make(&made, "caf\xc3\xa9.example/\xe2\x82\xac", NOTE_ED25519, key.pk), 0);
	assert_int_equal(note_key_make(&made, "a", 7, key.pk), -1);
}

static void
round_trip(void **state)
{
	char buf[CHECKPOINT_NOTE_MAX + 1];
	struct checkpoint got;
	const char *why = "";
	size_t len = sample(buf, sizeof(buf));

	assert_int_equal(checkpoint_open(&got, buf, len, &key, &why), 0);
	assert_string_equal(got.origin, ORIGIN);
	assert_int_equal(got.size, 5);
	assert_int_equal(got.root[31], 0xa5);
}

/* Every single bit, every cut, and a byte more: none passes. */
static void
every_bit_and_cut(void **state)
{
	char buf[CHECKPOINT_NOTE_MAX + 2];
	struct checkpoint got;
	const char *why;
	size_t len = sample(buf, sizeof(buf) - 1), i;

	for (i = 0; i < len * 8; i++) {
		buf[i / 8] ^= (char)(1 << i % 8);
		why = NULL;
		assert_int_equal(checkpoint_open(&got, buf, len, &key, &why), -1);
		assert_non_null(why);
		buf[i / 8] ^= (char)(1 << i % 8);
	}
	for (i = 0; i < len; i++)
		assert_int_equal(checkpoint_open(&got, buf, i, &key, &why), -1);
	buf[len] = '\n';
	assert_int_equal(checkpoint_open(&got, buf, len + 1, &key, &why), -1);
	assert_int_equal(checkpoint_open(&got, buf, len, &key, &why), 0);
}

/* Nobody honest adds a bad one, before or behind the good one. */
static void
two_signatures_of_a_key(void **state)
{
	char buf[CHECKPOINT_NOTE_MAX + 1], both[2 * CHECKPOINT_NOTE_MAX], *line, *other;
	size_t len = sample(buf, sizeof(buf)), n, i;
	struct note note;
	const char *why;

	line = (char *)memmem(buf, len, "\n\n", 2) + 2;
	n = (size_t)(buf + len - line);
	memcpy(both, buf, len);
	memcpy(both + len, line, n);
	assert_int_equal(note_parse(&note, both, len + n, &why), 0);
	assert_int_equal(note.count, 2);
	assert_int_equal(note_verify(&note, &key, NULL), NOTE_GOOD);
	for (i = 0; i < 2; i++) {
		other = both + len + i * n - 30;
		*other = *other == 'A' ? 'B' : 'A';
		assert_int_equal(note_parse(&note, both, len + n, &why), 0);
		assert_int_equal(note_verify(&note, &key, NULL), NOTE_FORGED);
		memcpy(both + len - n + i * n, line, n);
	}
}

static void
checkpoint_rules(void **state)
{
#define ROOT "paWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaU=\n"
	static const char *bad[] = { "", "\n", "a\n5\n" ROOT "x\n", "a\n05\n" ROOT,
	    "a\n-5\n" ROOT, "a\n\n" ROOT, "a\n 5\n" ROOT, "\n5\n" ROOT, "a b\n5\n" ROOT,
	    "a\n9223372036854775808\n" ROOT, "a\n99999999999999999999999\n" ROOT,
	    "a\n5\npaWl\n", "a\n5\n" ROOT "\n" };
	struct checkpoint got;
	size_t i;

	assert_int_equal(checkpoint_parse(&got, "a\n0\n" ROOT, 4 + strlen(ROOT)), 0);
	assert_int_equal(checkpoint_parse(&got, "a\n9223372036854775807\n" ROOT,
	    22 + strlen(ROOT)), 0);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(checkpoint_parse(&got, bad[i], strlen(bad[i])), -1);
}

static void
other_keys(void **state)
{
	char buf[CHECKPOINT_NOTE_MAX + 1];
	uint8_t other_sk[NOTE_SK_LEN], pk[NOTE_PK_LEN];
	struct note_key other;
	struct checkpoint got;
	const char *why;
	size_t len = sample(buf, sizeof(buf));

	crypto_sign_keypair(pk, other_sk);
	assert_int_equal(note_key_make(&other, ORIGIN, NOTE_ED25519, pk), 0);
	assert_int_equal(checkpoint_open(&got, buf, len, &other, &why), -1);
	assert_string_equal(why, "not signed by the pinned key");
	assert_int_equal(note_key_make(&other, "ledger.example/broker-2", NOTE_ED25519, key.pk), 0);
	assert_int_equal(checkpoint_open(&got, buf, len, &other, &why), -1);
	assert_string_equal(why, "another ledger's origin");
	/* a key refuses to be named by a secret key that is not its own */
	assert_int_equal(note_sign("a\n", 2, &key, other_sk, buf, sizeof(buf)), -1);
	/* a cosignature's type is not an Ed25519 note's */
	other = key;
	other.type = NOTE_COSIGNATURE_V1;
	assert_int_equal(note_sign("a\n", 2, &other, sk, buf, sizeof(buf)), -1);
}

/* A key id that matches with a signature that does not is no unknown key. */
static void
forged_under_our_name(void **state)
{
	char buf[CHECKPOINT_NOTE_MAX + 1];
	struct note_key stolen = key;
	struct checkpoint got;
	const char *why;
	size_t len = sample(buf, sizeof(buf));

	stolen.pk[0] ^= 1;
	assert_int_equal(checkpoint_open(&got, buf, len, &stolen, &why), -1);
	assert_string_equal(why, "the pinned key's signature does not match");
}

static size_t
add_unknown(char *buf, size_t len, size_t cap, unsigned count, size_t blob_len)
{
	static uint8_t blob[4 + 4096];
	static char base64[6000];
	unsigned i;
	int n;

	for (i = 0; i < count; i++) {
		randombytes_buf(blob, 4 + blob_len);
		sodium_bin2base64(base64, sizeof(base64), blob, 4 + blob_len,
		    sodium_base64_VARIANT_ORIGINAL);
		n = snprintf(buf + len, cap - len, "\xe2\x80\x94 w%u.example %s\n", i, base64);
		assert_true(n > 0 && (size_t)n < cap - len);
		len += (size_t)n;
	}
	return len;
}

static void
unknown_signatures(void **state)
{
	static char buf[NOTE_MAX];
	struct checkpoint got;
	const char *why;
	size_t len = sample(buf, sizeof(buf)), more;

	more = add_unknown(buf, len, sizeof(buf), NOTE_SIGS_MAX - 1, 64);
	assert_int_equal(checkpoint_open(&got, buf, more, &key, &why), 0);
	more = add_unknown(buf, more, sizeof(buf), 1, 64);
	assert_int_equal(checkpoint_open(&got, buf, more, &key, &why), -1);
	/* another type's signature may be long, as post-quantum ones are */
	more = add_unknown(buf, len, sizeof(buf), 3, 3309);
	assert_int_equal(checkpoint_open(&got, buf, more, &key, &why), 0);
}

static void
text_with_blank_lines(void **state)
{
	static const char text[] = "one\n\ntwo\n\n\nthree\n";
	char buf[512];
	struct note note;
	const char *why;
	int len = note_sign(text, strlen(text), &key, sk, buf, sizeof(buf));

	assert_true(len > 0);
	assert_int_equal(note_parse(&note, buf, (size_t)len, &why), 0);
	assert_int_equal(note.text_len, strlen(text));
	assert_int_equal(note_verify(&note, &key, NULL), NOTE_GOOD);
	assert_int_equal(note_sign("no line end", 11, &key, sk, buf, sizeof(buf)), -1);
	assert_int_equal(note_sign("a\rb\n", 4, &key, sk, buf, sizeof(buf)), -1);
	assert_int_equal(note_sign("\xff\n", 2, &key, sk, buf, sizeof(buf)), -1);
	assert_int_equal(note_sign("a\n", 2, &key, sk, buf, 20), -1);
}

/* Made by another implementation, cosigned by a witness. */
static void
vectors(void **state)
{
	char buf[4096], vkey[512];
	struct note_key log, witness;
	struct checkpoint got;
	struct note note;
	const char *why;
	uint64_t time;
	size_t len, n;

	if ((n = slurp(VECTORS "log.vkey", vkey, sizeof(vkey))) == 0)
		skip();
	assert_int_equal(note_key_parse(&log, vkey, strcspn(vkey, "\n")), 0);
	len = slurp(VECTORS "checkpoint.unwitnessed", buf, sizeof(buf));
	assert_int_equal(checkpoint_open(&got, buf, len, &log, &why), 0);
	assert_int_equal(got.size, 5);
	n = slurp(VECTORS "witness.vkey", vkey, sizeof(vkey));
	assert_int_equal(note_key_parse(&witness, vkey, strcspn(vkey, "\n")), 0);
	assert_int_equal(witness.type, NOTE_COSIGNATURE_V1);
	len = slurp(VECTORS "checkpoint", buf, sizeof(buf));
	assert_int_equal(checkpoint_open(&got, buf, len, &log, &why), 0);
	assert_int_equal(note_parse(&note, buf, len, &why), 0);
	assert_int_equal(note_verify(&note, &witness, &time), NOTE_GOOD);
	assert_int_equal(time, 1735689605);
	note.sig[1].blob[7] ^= 1;
	assert_int_equal(note_verify(&note, &witness, &time), NOTE_FORGED);
	assert_int_equal(time, 0);
	note.count = 1;
	assert_int_equal(note_verify(&note, &witness, &time), NOTE_UNSIGNED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vkeys),
		cmocka_unit_test(names),
		cmocka_unit_test(round_trip),
		cmocka_unit_test(every_bit_and_cut),
		cmocka_unit_test(two_signatures_of_a_key),
		cmocka_unit_test(checkpoint_rules),
		cmocka_unit_test(other_keys),
		cmocka_unit_test(forged_under_our_name),
		cmocka_unit_test(unknown_signatures),
		cmocka_unit_test(text_with_blank_lines),
		cmocka_unit_test(vectors),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
