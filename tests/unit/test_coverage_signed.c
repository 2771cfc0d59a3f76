/* Coverage: ground truth that an observer signed, in a bundle that anybody made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <sodium.h>

#include "coverage_scene.h"
#include "ledger/coverage/signed.h"
#include "ledger/tree/note_secret.h"
#include "ledger/verify/vouch.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct observer {
	struct note_key key;
	uint8_t sk[NOTE_SK_LEN];
};

static struct observer
observer(const char *name, uint8_t first)
{
	uint8_t seed[NOTE_SEED_LEN] = { first }, pk[NOTE_PK_LEN];
	struct observer o;

	crypto_sign_seed_keypair(pk, o.sk, seed);
	assert_int_equal(note_key_make(&o.key, name, NOTE_ED25519, pk), 0);
	return o;
}

static char *
sign(const struct observer *o, const char *text, size_t *len)
{
	char *out = signed_make(text, strlen(text), &o->key, o->sk, len);

	assert_non_null(out);
	return out;
}

static void
put(struct scene *s, const char *name, const struct observer *by, const char *text)
{
	size_t len = strlen(text);
	char *out = by != NULL ? sign(by, text, &len) : NULL;

	scene_bundled(s, name, out != NULL ? out : text, len);
	free(out);
}

#define FROM "\"from\":\"2026-11-30T01:00:00.000000Z\""
#define TO "\"to\":\"2026-11-30T01:00:59.000000Z\""
#define WHOLE HEAD ",\"exhaustive\":true," FROM "," TO "}\n"

static void
two_requests(struct scene *s)
{
	scene_begin(s, ALL);
	for (int i = 10; i < 12; i++) {
		scene_at(s, i);
		scene_outcome(s, scene_request(s, "use", "allow", "/a", ""), ",\"status\":200");
	}
}

#define BOTH SEEN("10.000000", "/a") SEEN("11.000000", "/a")

/* ---- the signature alone ---- */

static void
signatures(void **state)
{
	struct observer one = observer("one.example.com", 1), two = observer("two.example.com", 2);
	struct observer namesake = observer("one.example.com", 3);
	const struct note_key keys[] = { two.key, one.key };
	char name[NOTE_NAME_MAX + 1], *text;
	size_t len, which;

	assert_int_equal(signed_judge("a\n", 2, keys, 2, &which, name), SIGNED_NOT);
	assert_int_equal(signed_text_len("a\n", 2), 2);
	text = sign(&one, WHOLE BOTH, &len);
	assert_int_equal(signed_text_len(text, len), strlen(WHOLE BOTH));
	assert_int_equal(signed_judge(text, len, keys, 2, &which, name), SIGNED_GOOD);
	assert_int_equal(which, 1);
	assert_string_equal(name, "one.example.com");
	assert_int_equal(signed_judge(text, len, &two.key, 1, &which, name), SIGNED_UNKNOWN);
	assert_string_equal(name, "one.example.com");
	/* of one name, but another key: its id is another, and it is nobody's */
	assert_int_equal(signed_judge(text, len, &namesake.key, 1, &which, name), SIGNED_UNKNOWN);
	text[3] ^= 1;
	assert_int_equal(signed_judge(text, len, keys, 2, &which, name), SIGNED_FORGED);
	assert_string_equal(name, "one.example.com");
	text[3] ^= 1;
	/* what stands behind the signature makes all of it unsigned */
	text[len - 1] = 'x';
	assert_int_equal(signed_judge(text, len, keys, 2, &which, name), SIGNED_NOT);
	text[len - 1] = '\n';
	assert_null(signed_make(text, len, &two.key, two.sk, &len));
	assert_null(signed_make("a\tb\n", 4, &two.key, two.sk, &len));
	assert_null(signed_make("a", 1, &two.key, two.sk, &len));
	assert_null(signed_make("a\n", 2, &two.key, one.sk, &len));
	free(text);
}

/* One line that is good, and one that is forged: forged, in whatever order. */
static void
good_and_forged(void **state)
{
	struct observer one = observer("one.example.com", 1), two = observer("two.example.com", 2);
	const struct note_key keys[] = { one.key, two.key }, turned[] = { two.key, one.key };
	char text[4096] = "a\n\n", name[NOTE_NAME_MAX + 1], line[NOTE_LINE_MAX + 1];
	size_t which;
	int n;

	n = note_sign_line("a\n", 2, &one.key, one.sk, line, sizeof(line));
	assert_true(n > 0);
	memcpy(text + 3, line, (size_t)n + 1);
	n = note_sign_line("b\n", 2, &two.key, two.sk, line, sizeof(line));
	assert_true(n > 0);
	strcat(text, line);
	assert_int_equal(signed_judge(text, strlen(text), keys, 1, &which, name), SIGNED_GOOD);
	assert_int_equal(signed_judge(text, strlen(text), keys, 2, &which, name), SIGNED_FORGED);
	assert_string_equal(name, "two.example.com");
	assert_int_equal(signed_judge(text, strlen(text), turned, 2, &which, name), SIGNED_FORGED);
	assert_string_equal(name, "two.example.com");
}

/* Every bit of a signed truth is the observer's. */
static void
any_bit(void **state)
{
	struct observer one = observer("one.example.com", 1);
	char name[NOTE_NAME_MAX + 1];
	size_t len, which;
	char *text = sign(&one, WHOLE SEEN("10.000000", "/a"), &len);

	for (size_t i = 0; i < 8 * len; i++) {
		text[i / 8] = (char)(text[i / 8] ^ 1 << i % 8);
		assert_int_not_equal(signed_judge(text, len, &one.key, 1, &which, name), SIGNED_GOOD);
		text[i / 8] = (char)(text[i / 8] ^ 1 << i % 8);
	}
	for (size_t i = 0; i < len; i++)
		assert_int_not_equal(signed_judge(text, i, &one.key, 1, &which, name), SIGNED_GOOD);
	free(text);
}

/* ---- in a bundle ---- */

static void
establishes(void **state)
{
	struct observer one = observer("one.example.com", 1), two = observer("two.example.com", 2);
	const struct note_key keys[] = { one.key, two.key };
	struct coverage_options pins = { .observer = keys, .observers = 1 }, none = { .window_ms = 0 };
	struct scene s;

	two_requests(&s);
	put(&s, "one.jsonl", &one, WHOLE BOTH);
	assert_int_equal(scene_judge_as(&s, &pins), VERIFY_COMPLETE);
	assert_int_equal(s.coverage->source[0].signature, SIGNED_GOOD);
	assert_true(coverage_vouched(&s.coverage->source[0]));
	assert_int_equal(s.result->verdict, VERIFY_COMPLETE);
	/* nobody pinned: as an unsigned one */
	assert_int_equal(scene_judge_as(&s, &none), VERIFY_NOT_ESTABLISHED);
	assert_int_equal(s.result->verdict, VERIFY_COMPLETE);
	assert_non_null(strstr(s.result->coverage.text, "nobody vouches for it"));
	/* two are pinned, and one is heard: all of them, unless the policy says how many */
	pins.observers = 2;
	assert_int_equal(scene_judge_as(&s, &pins), VERIFY_NOT_ESTABLISHED);
	assert_int_equal(s.result->verdict, VERIFY_COMPLETE);
	pins.observed = 1;
	assert_int_equal(scene_judge_as(&s, &pins), VERIFY_COMPLETE);
	pins.observed = 2;
	assert_int_equal(scene_judge_as(&s, &pins), VERIFY_NOT_ESTABLISHED);
	assert_int_equal(s.result->verdict, VERIFY_NOT_ESTABLISHED);
	assert_non_null(strstr(s.result->coverage.text, "of 2 observers that the policy names 1 "));
	/* one observer's two files are one observer */
	put(&s, "again.jsonl", &one, WHOLE BOTH BOTH);
	assert_int_equal(scene_judge_as(&s, &pins), VERIFY_GAP);
	put(&s, "again.jsonl", &one, HEAD ",\"exhaustive\":true,\"instance\":\"2\"," FROM "," TO "}\n" BOTH);
	assert_int_equal(scene_judge_as(&s, &pins), VERIFY_NOT_ESTABLISHED);
	put(&s, "again.jsonl", &two, WHOLE BOTH);
	assert_int_equal(scene_judge_as(&s, &pins), VERIFY_COMPLETE);
	assert_int_equal(s.result->verdict, VERIFY_COMPLETE);
	scene_end(&s);
}

static void
refutes(void **state)
{
	struct observer one = observer("one.example.com", 1);
	const struct coverage_options pins = { .observer = &one.key, .observers = 1 };
	struct scene s;

	two_requests(&s);
	put(&s, "one.jsonl", &one, WHOLE BOTH SEEN("12.000000", "/around"));
	assert_int_equal(scene_judge_as(&s, &pins), VERIFY_GAP);
	assert_int_equal(s.result->verdict, VERIFY_GAP);
	assert_int_equal(s.result->finding[0].line, 4);
	/* with its signature off it does still */
	put(&s, "one.jsonl", NULL, WHOLE BOTH SEEN("12.000000", "/around"));
	assert_int_equal(scene_judge_as(&s, &pins), VERIFY_GAP);
	scene_end(&s);
}

/* The line that hurts taken out of what was signed, or the signature of another. */
static void
altered(void **state)
{
	struct observer one = observer("one.example.com", 1), other = observer("one.example.com", 9);
	const struct coverage_options pins = { .observer = &one.key, .observers = 1 };
	static const char line[] = SEEN("12.000000", "/around");
	struct scene s;
	size_t len;
	char *text = sign(&one, WHOLE BOTH SEEN("12.000000", "/around"), &len), *at;

	two_requests(&s);
	at = strstr(text, line);
	memmove(at, at + sizeof(line) - 1, len - (size_t)(at - text) - (sizeof(line) - 1));
	scene_bundled(&s, "one.jsonl", text, len - (sizeof(line) - 1));
	assert_int_equal(scene_judge_as(&s, &pins), VERIFY_NOT_ESTABLISHED);
	assert_int_equal(s.coverage->source[0].signature, SIGNED_FORGED);
	assert_false(coverage_vouched(&s.coverage->source[0]));
	assert_int_equal(s.result->verdict, VERIFY_NOT_ESTABLISHED);
	assert_int_equal(s.result->findings, 1);
	assert_string_equal(s.result->finding[0].code, "observer");
	/* beside a good one it is not forgotten */
	put(&s, "two.jsonl", &one, WHOLE BOTH);
	assert_int_equal(scene_judge_as(&s, &pins), VERIFY_NOT_ESTABLISHED);
	put(&s, "one.jsonl", &other, WHOLE BOTH);
	put(&s, "two.jsonl", NULL, WHOLE BOTH);
	assert_int_equal(scene_judge_as(&s, &pins), VERIFY_NOT_ESTABLISHED);
	assert_int_equal(s.coverage->source[0].signature, SIGNED_UNKNOWN);
	assert_int_equal(s.result->verdict, VERIFY_COMPLETE);
	free(text);
	scene_end(&s);
}

/* Whoever makes the bundle picks among what an observer ever signed: one from before
 * the bypass, one of another client, one that does not say to miss nothing. */
static void
another_of_his(void **state)
{
	static const struct { const char *text; const char *why; } all[] = {
		{ HEAD ",\"exhaustive\":true," FROM ",\"to\":\"2026-11-30T01:00:58.999999Z\"}\n" BOTH,
		    "does not sign that he missed nothing" },
		{ HEAD ",\"exhaustive\":true,\"from\":\"2026-11-30T01:00:00.000001Z\"," TO "}\n" BOTH,
		    "does not sign that he missed nothing" },
		{ HEAD ",\"exhaustive\":true," FROM "}\n" BOTH, "does not sign that he missed nothing" },
		{ HEAD "," FROM "," TO "}\n" BOTH, "does not sign that he missed nothing" },
		{ WHOLE SEEN("10.000000", "/a"), "recorded actions that s should have seen" },
		{ WHOLE, "recorded actions that s should have seen" },
		{ HEAD ",\"exhaustive\":true,\"unread\":1," FROM "," TO "}\n" BOTH, "were not understood" },
		{ "{\"v\":1,\"type\":\"countersign-truth\",\"source\":\"s\",\"sees\":[{\"kind\":\"dns\"}],"
		    "\"exhaustive\":true," FROM "," TO "}\n", "saw nothing that this run has a record of" },
		{ WHOLE BOTH "{}\n", "cannot be read in full" },
		{ "{}\n", "cannot be read in full" },
	};
	struct observer one = observer("one.example.com", 1);
	const struct coverage_options pins = { .observer = &one.key, .observers = 1, .observed = 1 };
	struct scene s;

	two_requests(&s);
	for (size_t i = 0; i < COUNT(all); i++) {
		put(&s, "one.jsonl", &one, all[i].text);
		assert_int_equal(scene_judge_as(&s, &pins), VERIFY_NOT_ESTABLISHED);
		if (strstr(s.result->coverage.text, all[i].why) == NULL)
			fail_msg("%zu: %s", i, s.result->coverage.text);
		assert_int_equal(s.result->verdict, VERIFY_NOT_ESTABLISHED);
	}
	scene_end(&s);
}

/* What the verifier brings establishes as ever, and does not stand in for a demand. */
static void
brought_and_demanded(void **state)
{
	struct observer one = observer("one.example.com", 1);
	struct scene s;
	const char *files[1];
	struct coverage_options how = { .truth = files, .truths = 1, .observer = &one.key, .observers = 1 };

	two_requests(&s);
	assert_int_equal(scene_judge(&s, ANY BOTH), VERIFY_COMPLETE);
	files[0] = s.truth;
	assert_int_equal(scene_judge_as(&s, &how), VERIFY_COMPLETE);
	how.observed = 1;
	assert_int_equal(scene_judge_as(&s, &how), VERIFY_NOT_ESTABLISHED);
	assert_int_equal(s.result->verdict, VERIFY_NOT_ESTABLISHED);
	how.truths = 0;
	assert_int_equal(scene_judge_as(&s, &how), VERIFY_NOT_ESTABLISHED);
	assert_int_equal(s.result->verdict, VERIFY_NOT_ESTABLISHED);
	assert_non_null(strstr(s.result->coverage.text, "there is no ground truth"));
	put(&s, "one.jsonl", &one, WHOLE BOTH);
	how.truths = 1;
	assert_int_equal(scene_judge_as(&s, &how), VERIFY_COMPLETE);
	assert_int_equal(s.result->verdict, VERIFY_COMPLETE);
	scene_end(&s);
}

static void
no_longer_unvouched(void **state)
{
	struct verify_result *r = calloc(1, sizeof(*r));

	vouch_taken(r, "truth/a");
	assert_int_equal(r->unvouched_count, 0);
	r->unvouched_count = r->unvouched_kept = 3;
	strcpy(r->unvouched[0], "coverage/x");
	strcpy(r->unvouched[1], "truth/a");
	strcpy(r->unvouched[2], "truth/b");
	vouch_taken(r, "truth/a");
	vouch_taken(r, "truth/c");
	assert_int_equal(r->unvouched_count, 2);
	assert_int_equal(r->unvouched_kept, 2);
	assert_string_equal(r->unvouched[1], "truth/b");
	r->unvouched_count = 9;
	vouch_taken(r, "truth/c");
	assert_int_equal(r->unvouched_count, 8);
	assert_int_equal(r->unvouched_kept, 2);
	free(r);
}

/* ---- the key's file ---- */

static void
key_files(void **state)
{
	char dir[64], path[96], text[NOTE_SECRET_MAX + 1];
	struct problem problem = { .text = "" };
	uint8_t seed[NOTE_SEED_LEN], sk[NOTE_SK_LEN];
	struct note_key key, again;

	make_temp_dir(dir);
	snprintf(path, sizeof(path), "%s/key", dir);
	assert_int_equal(note_secret_new("a b", NOTE_ED25519, &key, seed), -1);
	assert_int_equal(note_secret_new("one.example.com", NOTE_ED25519, &key, seed), 0);
	assert_int_equal(note_secret_create(path, &key, seed, &problem), 0);
	assert_int_equal(note_secret_create(path, &key, seed, &problem), -1);
	assert_int_equal(note_secret_load(path, NOTE_ED25519, &again, sk, &problem), 0);
	assert_memory_equal(&key, &again, sizeof(key));
	assert_int_equal(note_secret_load(path, NOTE_COSIGNATURE_V1, &again, sk, &problem), -1);
	chmod(path, 0640);
	assert_int_equal(note_secret_load(path, NOTE_ED25519, &again, sk, &problem), -1);
	assert_non_null(strstr(problem.text, "chmod 600"));
	assert_int_equal(note_secret_load(dir, NOTE_ED25519, &again, sk, &problem), -1);
	note_secret_format(&key, seed, text);
	text[strlen(text) / 2] ^= 1;
	assert_int_equal(note_secret_parse(text, NOTE_ED25519, &again, sk), -1);
	strcpy(text, "PRIVATE+KEY+x+y");
	assert_int_equal(note_secret_parse(text, NOTE_ED25519, &again, sk), -1);
	strcpy(text, "");
	assert_int_equal(note_secret_parse(text, NOTE_ED25519, &again, sk), -1);
	remove_tree(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signatures), cmocka_unit_test(good_and_forged), cmocka_unit_test(any_bit), cmocka_unit_test(establishes),
		cmocka_unit_test(refutes), cmocka_unit_test(altered), cmocka_unit_test(another_of_his),
		cmocka_unit_test(brought_and_demanded), cmocka_unit_test(no_longer_unvouched),
		cmocka_unit_test(key_files),
	};

	return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
