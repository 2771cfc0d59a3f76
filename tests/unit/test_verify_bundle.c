/* Bundles: how they are written, and their files beside the records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>
#include <cmocka.h>
#include <sodium.h>

#include "ledger/evidence/manifest.h"
#include "ledger/verify/packs.h"
#include "policy/policy.h"
#include "verify_usual.h"

/* Every other file of the bundle, every bit. */
static void
other_files_flipped(void **state)
{
	static const char *const files[] = { "ledger/checkpoint", "ledger/frontier",
	    "keys/log.vkey", "manifest.json", "ledger/leaves",
	    "packs/" MAKER_PACK "/main.rego" };
	char *bytes;
	size_t len, i, at;

	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		bytes = read_file(bundle, files[i], &len);
		for (at = 0; at < len * 8; at += len > 2000 ? 611 : step(5)) {
			bytes[at / 8] ^= (char)(1 << at % 8);
			write_file(bundle, files[i], bytes, len);
			if (verify(bundle) == VERIFY_COMPLETE)
				fail_msg("%s bit %zu", files[i], at);
			bytes[at / 8] ^= (char)(1 << at % 8);
		}
		for (at = 0; at < len; at += len > 2000 ? 611 : step(5)) {
			write_file(bundle, files[i], bytes, at);
			if (verify(bundle) == VERIFY_COMPLETE)
				fail_msg("%s cut at %zu", files[i], at);
		}
		write_file(bundle, files[i], bytes, len);
		assert_int_equal(verify(bundle), VERIFY_COMPLETE);
		free(bytes);
	}
}

struct listing {
	struct manifest manifest;
	int dirfd;
};

static int
list_file(void *context, const char *path, uint64_t size, int regular)
{
	struct listing *l = context;
	char hex[65];

	if (strcmp(path, "manifest.json") == 0)
		return 0;
	assert_true(regular);
	assert_int_equal(evidence_digest(l->dirfd, path, hex), 0);
	return manifest_add(&l->manifest, path, size, hex);
}

static int
by_path(const void *a, const void *b)
{
	return strcmp(((const struct manifest_file *)a)->path,
	    ((const struct manifest_file *)b)->path);
}

/* The manifest as somebody writes it who has changed the files. */
static void
correct_manifest(const char *dir)
{
	struct listing now = { .dirfd = evidence_dir(dir) };
	struct manifest old;
	char *text;
	size_t len;

	text = read_file(dir, "manifest.json", &len);
	assert_int_equal(manifest_parse(&old, text, len, err, sizeof(err)), 0);
	free(text);
	strcpy(now.manifest.origin, old.origin);
	strcpy(now.manifest.run, old.run);
	now.manifest.first = old.first;
	now.manifest.size = old.size;
	assert_int_equal(evidence_walk(now.dirfd, list_file, &now), 0);
	qsort(now.manifest.file, now.manifest.count, sizeof(*now.manifest.file), by_path);
	assert_non_null(text = manifest_format(&now.manifest, &len));
	write_file(dir, "manifest.json", text, len);
	free(text);
	close(now.dirfd);
	manifest_free(&old);
	manifest_free(&now.manifest);
}

/* With a manifest that lists them as they are, so that no digest tells. */
static void
leaves_and_key_forged(void **state)
{
	struct verify_options unpinned = { .path = bundle, .threads = 1 };
	char *bytes, *manifest, vkey[NOTE_VKEY_MAX + 2];
	uint8_t pk[NOTE_PK_LEN], sk[NOTE_SK_LEN];
	size_t len, manifest_len, i;
	struct note_key other;

	manifest = read_file(bundle, "manifest.json", &manifest_len);
	bytes = read_file(bundle, "ledger/leaves", &len);
	for (i = 0; i < 5; i++) {
		if (i == 0)
			bytes[len / 2] ^= 1;
		write_file(bundle, "ledger/leaves", bytes, i == 0 ? len :
		    i == 1 ? len - 1 : i == 2 ? len - 32 : i == 3 ? 0 : len);
		if (i == 0)
			bytes[len / 2] ^= 1;
		correct_manifest(bundle);
		if (verify(bundle) != (i == 4 ? VERIFY_COMPLETE : VERIFY_GAP) ||
		    result.finding_count != (i != 4) || finds("leaves") != (i != 4)) {
			say();
			fail_msg("leaves %zu", i);
		}
	}
	free(bytes);
	bytes = read_file(bundle, "keys/log.vkey", &len);
	crypto_sign_keypair(pk, sk);
	assert_int_equal(note_key_make(&other, MAKER_ORIGIN, NOTE_ED25519, pk), 0);
	assert_true(note_key_format(&other, vkey, sizeof(vkey)) > 0);
	strcat(vkey, "\n");
	for (i = 0; i < 3; i++) {
		if (i == 0)
			write_file(bundle, "keys/log.vkey", vkey, strlen(vkey));
		else
			write_file(bundle, "keys/log.vkey", bytes, i == 1 ? len - 1 : 0);
		correct_manifest(bundle);
		assert_int_equal(verify(bundle), VERIFY_GAP);
		assert_int_equal(result.finding_count, 1);
		assert_true(finds("key"));
		verify_free(&result);
		assert_int_equal(verify_run(&unpinned, &result, err, sizeof(err)), 0);
		assert_int_equal(result.verdict, VERIFY_GAP);
		assert_true(finds("key"));
	}
	write_file(bundle, "keys/log.vkey", bytes, len);
	write_file(bundle, "manifest.json", manifest, manifest_len);
	assert_int_equal(verify(bundle), VERIFY_COMPLETE);
	free(bytes);
	free(manifest);
}

/* Packs are bound by the records alone, whatever the manifest says. */
static void
packs_forged(void **state)
{
	static const char forged[] = "package x\nallow := true\n";
	char *manifest, under[200], other[300], path[256];
	size_t len;

	manifest = read_file(bundle, "manifest.json", &len);
	snprintf(under, sizeof(under), "%s/packs/" MAKER_PACK, bundle);
	write_file(under, "main.rego", forged, sizeof(forged) - 1);
	correct_manifest(bundle);
	assert_int_equal(verify(bundle), VERIFY_GAP);
	assert_int_equal(result.finding_count, 1);
	assert_non_null(strstr(result.finding[0].what, "pack altered"));
	assert_int_equal(result.completeness.verdict, VERIFY_GAP);
	/* one file more in it */
	write_file(under, "main.rego", "package x\n", 10);
	write_file(under, "more.rego", "", 0);
	correct_manifest(bundle);
	assert_int_equal(verify(bundle), VERIFY_GAP);
	assert_true(finds("pack_altered"));
	snprintf(path, sizeof(path), "%s/more.rego", under);
	unlink(path);
	/* under the digest that it has: not the pack that is named */
	snprintf(other, sizeof(other), "%s/packs/%064d", bundle, 0);
	assert_int_equal(rename(under, other), 0);
	correct_manifest(bundle);
	assert_int_equal(verify(bundle), VERIFY_GAP);
	assert_true(finds("pack_altered") && finds("pack_missing"));
	assert_int_equal(rename(other, under), 0);
	/* none at all */
	snprintf(path, sizeof(path), "%s/packs", bundle);
	snprintf(other, sizeof(other), "%s/aside", base);
	assert_int_equal(rename(path, other), 0);
	correct_manifest(bundle);
	assert_int_equal(verify(bundle), VERIFY_NOT_ESTABLISHED);
	assert_int_equal(result.finding_count, 1);
	assert_non_null(strstr(result.finding[0].what, "pack missing"));
	assert_int_equal(rename(other, path), 0);
	/* a file beside the packs */
	write_file(path, "note", "hello", 5);
	correct_manifest(bundle);
	assert_int_equal(verify(bundle), VERIFY_NOT_ESTABLISHED);
	assert_true(finds("pack_unnamed"));
	snprintf(other, sizeof(other), "%s/note", path);
	unlink(other);
	write_file(bundle, "manifest.json", manifest, len);
	assert_int_equal(verify(bundle), VERIFY_COMPLETE);
	free(manifest);
}

/* A good pack, but of no record; it does not get into a bundle either. */
static void
pack_unnamed(void **state)
{
	char dir[96], from[128], hex[65], named[72], path[256], out[96];
	struct bundle_pack two[] = { pack, { named, from } };
	struct bundle_options options = { .ledger = ledger, .run = "run_b", .out = out,
	    .packs = two, .pack_count = 2 };
	struct stat st;
	int fd;

	snprintf(from, sizeof(from), "%s/pack2", base);
	snprintf(out, sizeof(out), "%s/two", base);
	mkdir(from, 0700);
	write_file(from, "other.rego", "package y\n", 10);
	assert_true((fd = evidence_dir(from)) >= 0);
	assert_int_equal(packs_digest(fd, hex), 0);
	close(fd);
	snprintf(named, sizeof(named), "sha256:%s", hex);
	assert_int_equal(bundle_write(&options, err, sizeof(err)), 0);
	assert_int_equal(verify(out), VERIFY_COMPLETE);
	snprintf(path, sizeof(path), "%s/packs/%s", out, hex);
	assert_int_not_equal(stat(path, &st), 0);
	assert_int_equal(rename(from, path), 0);
	correct_manifest(out);
	assert_int_equal(verify(out), VERIFY_NOT_ESTABLISHED);
	assert_int_equal(result.finding_count, 1);
	assert_true(finds("pack_unnamed"));
	/* a directory's files beside names that sort between: by whole paths */
	snprintf(dir, sizeof(dir), "%s/pack3", base);
	snprintf(path, sizeof(path), "%s/a", dir);
	mkdir(dir, 0700);
	mkdir(path, 0700);
	write_file(dir, "a/b", "1", 1);
	write_file(dir, "a-b", "2", 1);
	assert_true((fd = evidence_dir(dir)) >= 0);
	assert_int_equal(packs_digest(fd, hex), 0);
	close(fd);
	assert_string_equal(hex, "8b02dfd2f1e0a5c1b512552fce5e8339541cc606a99a66329f0d31a8782697a0");
}

/* What policy/ says of a pack when it loads it. */
static void
digest_of_the_default_pack(void **state)
{
	struct policy_pack *loaded;
	char dir[96], hex[65];
	int fd;

	snprintf(dir, sizeof(dir), "%s/default", base);
	assert_int_equal(policy_default_pack_write(dir, err, sizeof(err)), 0);
	loaded = policy_pack_load(dir, err, sizeof(err));
	assert_non_null(loaded);
	assert_true((fd = evidence_dir(dir)) >= 0);
	assert_int_equal(packs_digest(fd, hex), 0);
	close(fd);
	assert_string_equal(hex, policy_pack_digest(loaded) + strlen("sha256:"));
	policy_pack_unref(loaded);
}

/* The same ledger gives the same bytes, whatever grew behind. */
static void
bundle_deterministic(void **state)
{
	static const char *const files[] = { "manifest.json", "ledger/records.jsonl",
	    "ledger/leaves", "ledger/frontier", "ledger/checkpoint", "keys/log.vkey" };
	struct bundle_options options = { .run = "run_a", .packs = &pack, .pack_count = 1 };
	char one[96], two[96], dir[96], *a, *b;
	struct maker m;
	size_t i, n, k;

	snprintf(one, sizeof(one), "%s/b1", base);
	snprintf(two, sizeof(two), "%s/b2", base);
	snprintf(dir, sizeof(dir), "%s/grown", base);
	options.ledger = ledger;
	options.out = one;
	assert_int_equal(bundle_write(&options, err, sizeof(err)), 0);
	assert_int_equal(verify(one), VERIFY_COMPLETE);
	maker_init(&m);
	maker_usual(&m, RECORDS);
	maker_add(&m, "broker", "open", NULL, "{}");
	maker_seal(&m);
	maker_add(&m, "broker", "secret", NULL, "{}");
	maker_save(&m, dir, 100);
	maker_free(&m);
	options.ledger = dir;
	options.out = two;
	assert_int_equal(bundle_write(&options, err, sizeof(err)), 0);
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		a = read_file(one, files[i], &n);
		b = read_file(two, files[i], &k);
		assert_int_equal(n, k);
		assert_memory_equal(a, b, n);
		free(a);
		free(b);
	}
}

static void
bundle_refusals(void **state)
{
	struct bundle_options options = { .ledger = ledger, .run = "run_x" };
	char out[96], dir[96];
	struct stat st;
	struct maker m;

	snprintf(out, sizeof(out), "%s/refused", base);
	snprintf(dir, sizeof(dir), "%s/other", base);
	options.out = out;
	assert_int_equal(bundle_write(&options, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "no run run_x"));
	/* open, and torn down but not sealed */
	remove_tree(dir);
	maker_init(&m);
	maker_add(&m, "broker", "open", NULL, "{}");
	maker_add(&m, "broker", "run", "run_x", "{\"state\":\"open\"}");
	maker_seal(&m);
	maker_save(&m, dir, 0);
	options.ledger = dir;
	assert_int_equal(bundle_write(&options, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "has not ended"));
	maker_add(&m, "broker", "teardown", "run_x", "{}");
	maker_save(&m, dir, 0);
	assert_int_equal(bundle_write(&options, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "no signed checkpoint"));
	/* records that do not give the signed root */
	maker_seal(&m);
	m.line[0].text[m.line[0].len - 1] = ' ';
	maker_save(&m, dir, 0);
	assert_int_equal(bundle_write(&options, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "do not give"));
	maker_free(&m);
	assert_int_not_equal(stat(out, &st), 0);
	/* and nothing is left behind */
	options.ledger = "/nonexistent";
	assert_int_equal(bundle_write(&options, err, sizeof(err)), -1);
}

/* A broker that was killed and started again never tears its runs down. */
static void
bundle_of_a_run_without_end(void **state)
{
	struct bundle_options options = { .run = "run_x" };
	char out[96], dir[96];
	struct maker m;

	snprintf(out, sizeof(out), "%s/killed", base);
	snprintf(dir, sizeof(dir), "%s/killed-ledger", base);
	options.ledger = dir;
	options.out = out;
	maker_init(&m);
	maker_add(&m, "broker", "open", NULL, "{}");
	maker_add(&m, "broker", "run", "run_x", "{\"state\":\"open\"}");
	maker_add(&m, "broker", "secret", "run_x", "{}");
	/* another stream's opening says nothing of this one */
	maker_add(&m, "hook", "open", NULL, "{}");
	maker_seal(&m);
	maker_save(&m, dir, 0);
	assert_int_equal(bundle_write(&options, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "has not ended"));
	maker_add(&m, "broker", "open", NULL, "{}");
	maker_save(&m, dir, 0);
	assert_int_equal(bundle_write(&options, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "no signed checkpoint"));
	maker_seal(&m);
	maker_add(&m, "broker", "run", "run_y", "{\"state\":\"open\"}");
	maker_seal(&m);
	maker_save(&m, dir, 0);
	assert_int_equal(bundle_write(&options, err, sizeof(err)), 0);
	maker_free(&m);
	assert_int_equal(verify(out), VERIFY_NOT_ESTABLISHED);
	assert_true(finds("no_teardown") && finds("no_close"));
	assert_int_equal(result.integrity.verdict, VERIFY_COMPLETE);
}

/* The verifier has seen more of the ledger than was there when the bundle was cut
 * out: no bundle of an earlier run is a cut ledger. */
static void
an_older_bundle(void **state)
{
	char head[96];
	struct verify_options options = { .path = bundle, .key = &good.key, .threads = 1,
	    .head = head };

	(void)state;
	snprintf(head, sizeof(head), "%s/head", base);
	write_file(base, "head", good.checkpoint, strlen(good.checkpoint));
	verify_free(&result);
	assert_int_equal(verify_run(&options, &result, err, sizeof(err)), 0);
	assert_true(result.sealed < good.count);
	assert_int_equal(result.verdict, VERIFY_NOT_ESTABLISHED);
	assert_true(finds("head") && !finds("rollback"));
	assert_int_equal(result.integrity.verdict, VERIFY_COMPLETE);
}

/* The log signed another tree of a size within the bundle: evidence by itself. */
static void
an_anchor_of_another_history(void **state)
{
	struct checkpoint at = { .origin = MAKER_ORIGIN };
	char dir[128], note[CHECKPOINT_NOTE_MAX + 1], file[sizeof(note) + 16], name[64];
	char *manifest;
	size_t len;

	(void)state;
	assert_int_equal(verify(bundle), VERIFY_COMPLETE);
	at.size = result.first + 3;
	assert_true(checkpoint_sign(&at, &good.key, good.sk, note, sizeof(note)) > 0);
	snprintf(file, sizeof(file), "old 0\n\n%s", note);
	snprintf(name, sizeof(name), "%020llu.anchor", (unsigned long long)at.size);
	snprintf(dir, sizeof(dir), "%s/ledger/anchors", bundle);
	manifest = read_file(bundle, "manifest.json", &len);
	assert_int_equal(mkdir(dir, 0700), 0);
	write_file(dir, name, file, strlen(file));
	correct_manifest(bundle);
	assert_int_equal(verify(bundle), VERIFY_GAP);
	assert_true(finds("fork"));
	remove_tree(dir);
	write_file(bundle, "manifest.json", manifest, len);
	free(manifest);
	assert_int_equal(verify(bundle), VERIFY_COMPLETE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_anchor_of_another_history),
		cmocka_unit_test(an_older_bundle),
		cmocka_unit_test(other_files_flipped),
		cmocka_unit_test(leaves_and_key_forged),
		cmocka_unit_test(packs_forged),
		cmocka_unit_test(pack_unnamed),
		cmocka_unit_test(digest_of_the_default_pack),
		cmocka_unit_test(bundle_deterministic),
		cmocka_unit_test(bundle_refusals),
		cmocka_unit_test(bundle_of_a_run_without_end),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
