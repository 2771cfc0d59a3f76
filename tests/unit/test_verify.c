/* Verification: what is good, and every way in which it can stop being good. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include <sodium.h>

#include "ledger/evidence/evidence.h"
#include "verify_usual.h"

static void
good_ones(void **state)
{
	unsigned threads;

	assert_int_equal(verify(ledger), VERIFY_COMPLETE);
	assert_int_equal(result.kind, VERIFY_LEDGER);
	assert_int_equal(result.findings, 0);
	assert_int_equal(result.size, good.count);
	assert_int_equal(result.sealed, good.count);
	assert_int_equal(result.streams, 2);
	assert_int_equal(result.anchoring.verdict, VERIFY_NOT_ESTABLISHED);
	assert_int_equal(result.coverage.verdict, VERIFY_NOT_ESTABLISHED);
	for (threads = 2; threads <= 5; threads++) {
		struct verify_options options = { .path = bundle, .key = &good.key,
		    .threads = threads };

		verify_free(&result);
		assert_int_equal(verify_run(&options, &result, err, sizeof(err)), 0);
		if (result.verdict != VERIFY_COMPLETE)
			say();
		assert_int_equal(result.verdict, VERIFY_COMPLETE);
		assert_int_equal(result.kind, VERIFY_BUNDLE);
		assert_string_equal(result.run, "run_b");
		assert_true(result.first > 0);
	}
}

/* A ledger's anchors have no end, and it stays verifiable. */
static void
many_anchors(void **state)
{
	const int dirfd = open(ledger, O_RDONLY | O_DIRECTORY);
	char name[64];
	int fd;

	assert_int_equal(mkdirat(dirfd, "anchors", 0700), 0);
	for (unsigned i = 0; i <= EVIDENCE_FILES_MAX; i++) {
		snprintf(name, sizeof(name), "anchors/%020u.note", i);
		assert_true((fd = openat(dirfd, name, O_WRONLY | O_CREAT, 0600)) >= 0);
		close(fd);
	}
	assert_int_equal(verify(ledger), VERIFY_COMPLETE);
	for (unsigned i = 0; i <= EVIDENCE_FILES_MAX; i++) {
		snprintf(name, sizeof(name), "anchors/%020u.note", i);
		assert_int_equal(unlinkat(dirfd, name, 0), 0);
	}
	assert_int_equal(unlinkat(dirfd, "anchors", AT_REMOVEDIR), 0);
	close(dirfd);
}

static void
without_a_key(void **state)
{
	struct verify_options options = { .path = bundle };
	uint8_t pk[NOTE_PK_LEN], sk[NOTE_SK_LEN];
	struct note_key other;

	verify_free(&result);
	assert_int_equal(verify_run(&options, &result, err, sizeof(err)), 0);
	assert_int_equal(result.verdict, VERIFY_NOT_ESTABLISHED);
	assert_int_equal(result.integrity.verdict, VERIFY_NOT_ESTABLISHED);
	assert_non_null(strstr(result.integrity.text, "no key is pinned"));
	crypto_sign_keypair(pk, sk);
	assert_int_equal(note_key_make(&other, MAKER_ORIGIN, NOTE_ED25519, pk), 0);
	options.key = &other;
	verify_free(&result);
	assert_int_equal(verify_run(&options, &result, err, sizeof(err)), 0);
	assert_int_equal(result.verdict, VERIFY_NOT_ESTABLISHED);
	assert_true(finds("unknown_key"));
	/* the same name and id, but another key: a forgery */
	other = good.key;
	other.pk[5] ^= 4;
	verify_free(&result);
	assert_int_equal(verify_run(&options, &result, err, sizeof(err)), 0);
	assert_int_equal(result.verdict, VERIFY_GAP);
	assert_true(finds("checkpoint"));
}

/* Edits of the list of lines, in the bundle: deleted, inserted, doubled,
 * swapped, spliced in from another run.  Each is named where it is. */
static void
edits(void **state)
{
	char *text, *copy, *p, *q;
	size_t len, i, at[RECORDS + 2], n = 0;
	uint64_t first;

	text = read_file(bundle, "ledger/records.jsonl", &len);
	for (p = text; p < text + len; p = strchr(p, '\n') + 1)
		at[n++] = (size_t)(p - text);
	at[n] = len;
	copy = malloc(2 * len);
	verify(bundle);
	first = result.first;
	for (i = 0; i < n; i++) {
		/* deleted */
		memcpy(copy, text, at[i]);
		memcpy(copy + at[i], text + at[i + 1], len - at[i + 1]);
		write_file(bundle, "ledger/records.jsonl", copy, len - (at[i + 1] - at[i]));
		assert_int_equal(verify(bundle), VERIFY_GAP);
		assert_string_equal(result.finding[1].code, "missing");
		assert_int_equal(result.finding[1].index, first + i);
		assert_int_equal(result.finding_count, 2);
		/* doubled */
		memcpy(copy, text, at[i + 1]);
		memcpy(copy + at[i + 1], text + at[i], len - at[i]);
		write_file(bundle, "ledger/records.jsonl", copy, len + at[i + 1] - at[i]);
		assert_int_equal(verify(bundle), VERIFY_GAP);
		assert_string_equal(result.finding[1].code, "inserted");
		assert_int_equal(result.finding[1].line, i + 2);
		assert_int_equal(result.finding_count, 2);
		/* a line of the other run in its place */
		memcpy(copy, text, at[i]);
		memcpy(copy + at[i], good.line[5].text, good.line[5].len);
		q = copy + at[i] + good.line[5].len;
		*q++ = '\n';
		memcpy(q, text + at[i + 1], len - at[i + 1]);
		write_file(bundle, "ledger/records.jsonl", copy, (size_t)(q - copy) + len - at[i + 1]);
		assert_int_equal(verify(bundle), VERIFY_GAP);
		assert_string_equal(result.finding[1].code, "altered");
		assert_int_equal(result.finding[1].index, first + i);
		/* swapped with the next */
		if (i + 1 == n)
			continue;
		memcpy(copy, text, at[i]);
		memcpy(copy + at[i], text + at[i + 1], at[i + 2] - at[i + 1]);
		memcpy(copy + at[i] + at[i + 2] - at[i + 1], text + at[i], at[i + 1] - at[i]);
		memcpy(copy + at[i + 2], text + at[i + 2], len - at[i + 2]);
		write_file(bundle, "ledger/records.jsonl", copy, len);
		assert_int_equal(verify(bundle), VERIFY_GAP);
		assert_string_equal(result.finding[1].code, "missing");
		assert_int_equal(result.finding[1].index, first + i);
		assert_true(finds("inserted") || i + 2 == n);
	}
	write_file(bundle, "ledger/records.jsonl", text, len);
	assert_int_equal(verify(bundle), VERIFY_COMPLETE);
	free(copy);
	free(text);
}

/* Everything signed again by the log's own key, yet the content is wrong. */
static void
signed_but_wrong(void **state)
{
	static const struct { const char *name, *code; enum verify_verdict verdict; } cases[] = {
		{ "a hole in seq", "missing", VERIFY_GAP },
		{ "a declared drop", "dropped", VERIFY_GAP },
		{ "a drop that names another hole", "missing", VERIFY_GAP },
		{ "no close", NULL, VERIFY_NOT_ESTABLISHED },
		{ "opened twice", "no_close", VERIFY_NOT_ESTABLISHED },
		{ "no open", "unopened", VERIFY_GAP },
		{ "a line that is no record", "malformed", VERIFY_GAP },
		{ "a close with another seq", "chain", VERIFY_GAP },
		{ "double names", "malformed", VERIFY_GAP },
		{ "behind the close", "unopened", VERIFY_GAP },
		{ "a stream from the middle", "chain", VERIFY_GAP },
		{ "a drop behind another record", "missing", VERIFY_GAP },
		{ "a drop without a hole", "chain", VERIFY_GAP },
		{ "a stream that begins with such a drop", "chain", VERIFY_GAP },
	};
	struct maker m;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		maker_init(&m);
		maker_add(&m, "s", i == 5 ? "secret" : "open", NULL, "{}");
		maker_add(&m, "s", "secret", NULL, "{}");
		if (i == 0)
			maker_skip(&m, "s", 5);
		if (i == 12)
			maker_add(&m, "s", "drop", NULL, "{\"from\":2,\"to\":1,\"count\":0}");
		if (i == 13)
			maker_add(&m, "t", "drop", NULL, "{\"from\":2,\"to\":1,\"count\":0}");
		if (i == 11)
			m.stream[0].last[3] ^= 1;
		if (i == 1 || i == 2 || i == 11) {
			maker_skip(&m, "s", 5);
			maker_add(&m, "s", "drop", NULL, i != 2 ?
			    "{\"from\":2,\"to\":4,\"count\":3,\"reason\":\"enospc\"}" :
			    "{\"from\":3,\"to\":4,\"count\":2,\"reason\":\"enospc\"}");
		}
		if (i == 4)
			maker_add(&m, "s", "open", NULL, "{}");
		if (i == 6)
			maker_raw(&m, "{}", 2);
		if (i == 8) {
			maker_add(&m, "s", "secret", NULL, "{\"a\":1,\"b\":2}");
			memcpy(strstr(m.line[m.count - 1].text, "\"b\""), "\"a\"", 3);
			maker_rehash(&m, m.count - 1);
			memcpy(m.stream[0].last, m.line[m.count - 1].leaf, 32);
		}
		if (i == 10) {
			maker_skip(&m, "t", 7);
			maker_add(&m, "t", "open", NULL, "{}");
			maker_add(&m, "t", "close", NULL, "{}");
		}
		if (i != 3)
			maker_add(&m, "s", "close", NULL, i == 7 ? "{\"first_seq\":0,\"last_seq\":9}" : "{}");
		if (i == 9)
			maker_add(&m, "s", "secret", NULL, "{}");
		maker_seal(&m);
		if (verify_maker(&m) != cases[i].verdict ||
		    (cases[i].code != NULL && !finds(cases[i].code))) {
			say();
			fail_msg("%s: %d", cases[i].name, (int)result.verdict);
		}
		assert_int_equal(result.integrity.verdict, VERIFY_COMPLETE);
		assert_int_equal(result.drops, i == 1 ? 3 : 0);
		assert_int_equal(result.stream[0].dropped, result.drops);
		maker_free(&m);
	}
}

/* Behind the last checkpoint nothing is established; a torn end even less. */
static void
unsealed_tail(void **state)
{
	struct maker m;
	char path[160];
	FILE *file;

	maker_init(&m);
	maker_usual(&m, 60);
	maker_add(&m, "broker", "open", NULL, "{}");
	maker_add(&m, "broker", "close", NULL, "{}");
	assert_int_equal(verify_maker(&m), VERIFY_NOT_ESTABLISHED);
	assert_true(finds("unsealed"));
	assert_int_equal(result.finding[0].count, 2);
	assert_int_equal(result.integrity.verdict, VERIFY_COMPLETE);
	snprintf(path, sizeof(path), "%s/other/records-%020d.jsonl", base, 0);
	file = fopen(path, "ab");
	fputs("{\"v\":1,\"prev\":\"00", file);
	fflush(file);
	snprintf(path, sizeof(path), "%s/other", base);
	assert_int_equal(verify(path), VERIFY_NOT_ESTABLISHED);
	assert_true(finds("torn"));
	/* space that a recorder takes ahead is zeros, and no finding */
	fwrite("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 1, 24, file);
	fflush(file);
	assert_int_equal(verify(path), VERIFY_NOT_ESTABLISHED);
	assert_true(finds("torn"));
	fclose(file);
	maker_seal(&m);
	maker_save(&m, path, 0);
	snprintf(path, sizeof(path), "%s/other/records-%020d.jsonl", base, 0);
	file = fopen(path, "ab");
	assert_int_equal(ftruncate(fileno(file), 3 * 1024 * 1024), 0);
	fclose(file);
	snprintf(path, sizeof(path), "%s/other", base);
	assert_int_equal(verify(path), VERIFY_COMPLETE);
	maker_free(&m);
}

/* Behind the last checkpoint stand records that continue their streams, and
 * nothing else but an end that is being written. */
static void
foreign_tail(void **state)
{
	static const char hello[] = "{\"hello\":1}\n", nuls[] = "{\"v\":1\0\0\0\0 x\n{}\n";
	char dir[96], path[160];
	struct maker m;
	FILE *file;
	size_t i;

	snprintf(dir, sizeof(dir), "%s/other", base);
	snprintf(path, sizeof(path), "%s/records-%020d.jsonl", dir, 0);
	maker_init(&m);
	maker_usual(&m, 60);
	for (i = 0; i < 4; i++) {
		remove_tree(dir);
		maker_save(&m, dir, 0);
		file = fopen(path, "ab");
		assert_non_null(file);
		if (i == 0)
			fwrite(hello, 1, sizeof(hello) - 1, file);
		else if (i == 1)
			fprintf(file, "%.*s\n", (int)m.line[9].len, m.line[9].text);
		else if (i == 2)	/* what follows NULs is none yet */
			fwrite(nuls, 1, sizeof(nuls) - 1, file);
		else	/* half of it: being written */
			fwrite(hello, 1, sizeof(hello) - 2, file);
		fclose(file);
		if (verify(dir) != (i < 2 ? VERIFY_GAP : VERIFY_NOT_ESTABLISHED) ||
		    finds("foreign") != (i < 2) || finds("torn") != (i >= 2)) {
			say();
			fail_msg("case %zu: %d", i, (int)result.verdict);
		}
		assert_int_equal(result.integrity.verdict, VERIFY_COMPLETE);
	}
	/* a record changed before it was signed */
	maker_add(&m, "broker", "open", NULL, "{}");
	maker_add(&m, "broker", "secret", NULL, "{\"a\":1}");
	maker_add(&m, "broker", "secret", NULL, "{\"a\":1}");
	m.line[m.count - 2].text[m.line[m.count - 2].len - 3] = '2';
	assert_int_equal(verify_maker(&m), VERIFY_GAP);
	assert_true(finds("foreign"));
	/* and a signed one too: it is named as without the others */
	m.line[9].text[m.line[9].len - 3] ^= 1;
	assert_int_equal(verify_maker(&m), VERIFY_GAP);
	assert_true(finds("altered"));
	assert_int_equal(result.finding[0].index, 9);
	maker_free(&m);
}

/* Rolled back and cut to an earlier checkpoint, but the log of all has the
 * later one. */
static void
rolled_back(void **state)
{
	struct verify_options options = { .threads = 1 };
	char dir[96], path[160], *old, *end;
	size_t i, bytes = 0, cut;
	struct maker m;

	snprintf(dir, sizeof(dir), "%s/other", base);
	snprintf(path, sizeof(path), "%s/records-%020d.jsonl", dir, 0);
	remove_tree(dir);
	maker_init(&m);
	maker_usual(&m, 60);
	old = strdup(m.checkpoint);
	cut = m.count;
	for (i = 0; i < cut; i++)
		bytes += m.line[i].len + 1;
	maker_add(&m, "broker", "open", NULL, "{}");
	maker_add(&m, "broker", "close", NULL, "{}");
	maker_seal(&m);
	maker_save(&m, dir, 0);
	/* the file of the latest alone: a crash leaves it so */
	write_file(dir, "checkpoint", old, strlen(old));
	assert_int_equal(verify(dir), VERIFY_NOT_ESTABLISHED);
	assert_int_equal(truncate(path, (off_t)bytes), 0);
	assert_int_equal(verify(dir), VERIFY_GAP);
	assert_true(finds("rollback"));
	assert_non_null(strstr(result.finding[0].what, "records, "));
	assert_int_equal(result.finding[0].count, 2);
	assert_int_equal(result.integrity.verdict, VERIFY_GAP);
	/* without a key it is named, and nothing is established */
	options.path = dir;
	verify_free(&result);
	assert_int_equal(verify_run(&options, &result, err, sizeof(err)), 0);
	assert_int_equal(result.verdict, VERIFY_NOT_ESTABLISHED);
	assert_true(finds("rollback"));
	/* the log cut as well: only a saved head can tell */
	m.checkpoints_len -= strlen(m.checkpoint) + 1;
	write_file(dir, "checkpoints", m.checkpoints, m.checkpoints_len);
	assert_int_equal(verify(dir), VERIFY_COMPLETE);
	end = m.checkpoint + strlen(m.checkpoint);
	write_file(base, "later", m.checkpoint, (size_t)(end - m.checkpoint));
	options.key = &good.key;
	snprintf(path, sizeof(path), "%s/later", base);
	options.head = path;
	verify_free(&result);
	assert_int_equal(verify_run(&options, &result, err, sizeof(err)), 0);
	assert_int_equal(result.verdict, VERIFY_GAP);
	/* a head that is none is wrong usage, not a verdict */
	write_file(base, "later", "hello\n", 6);
	verify_free(&result);
	assert_int_equal(verify_run(&options, &result, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "no saved head"));
	free(old);
	maker_free(&m);
}

/* A segment that is gone, and one under another name. */
static void
segments(void **state)
{
	char dir[96], path[160], other[160];

	snprintf(dir, sizeof(dir), "%s/other", base);
	remove_tree(dir);
	maker_save(&good, dir, 64);
	assert_int_equal(verify(dir), VERIFY_COMPLETE);
	snprintf(path, sizeof(path), "%s/records-%020d.jsonl", dir, 64);
	snprintf(other, sizeof(other), "%s/aside", dir);
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(verify(dir), VERIFY_GAP);
	assert_true(finds("missing"));
	assert_int_equal(result.finding[0].index, 64);
	assert_int_equal(result.finding[0].count, 64);
	snprintf(path, sizeof(path), "%s/records-%020d.jsonl", dir, 65);
	assert_int_equal(rename(other, path), 0);
	assert_int_equal(verify(dir), VERIFY_GAP);
}

/* What a bundle's maker with bad intentions puts in the way. */
static void
hostile(void **state)
{
	struct verify_options options = { .key = &good.key, .threads = 1 };
	static char big[3 * 1024 * 1024];
	char dir[96], path[160], *text;
	size_t len, i;
	struct bundle_options again = { .ledger = ledger, .run = "run_b", .out = dir,
	    .packs = &pack, .pack_count = 1 };

	snprintf(dir, sizeof(dir), "%s/hostile", base);
	assert_int_equal(bundle_write(&again, err, sizeof(err)), 0);
	/* it is not written twice */
	assert_int_not_equal(bundle_write(&again, err, sizeof(err)), 0);
	snprintf(path, sizeof(path), "%s/ledger/records.jsonl", dir);
	text = read_file(dir, "ledger/records.jsonl", &len);
	/* a link to the very same bytes */
	unlink(path);
	write_file(base, "records", text, len);
	snprintf(big, sizeof(big), "%s/records", base);
	assert_int_equal(symlink(big, path), 0);
	assert_int_equal(verify(dir), VERIFY_GAP);
	assert_true(finds("not_a_file") || finds("missing_file"));
	unlink(path);
	/* a FIFO: no hanging */
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(verify(dir), VERIFY_GAP);
	unlink(path);
	/* a directory, and nothing at all */
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(verify(dir), VERIFY_GAP);
	rmdir(path);
	assert_int_equal(verify(dir), VERIFY_GAP);
	assert_true(finds("missing_file"));
	/* giant lines, NULs, deep JSON, binary rubbish */
	memset(big, 'a', sizeof(big));
	write_file(dir, "ledger/records.jsonl", big, sizeof(big));
	assert_int_equal(verify(dir), VERIFY_GAP);
	for (i = 65530; i < 65545; i++) {
		big[i] = '\n';
		write_file(dir, "ledger/records.jsonl", big, sizeof(big));
		assert_int_equal(verify(dir), VERIFY_GAP);
		big[i] = 'a';
	}
	memset(big, '\0', sizeof(big));
	write_file(dir, "ledger/records.jsonl", big, sizeof(big));
	assert_int_equal(verify(dir), VERIFY_GAP);
	memset(big, '\n', sizeof(big));
	write_file(dir, "ledger/records.jsonl", big, 100000);
	assert_int_equal(verify(dir), VERIFY_GAP);
	memset(big, '[', sizeof(big));
	write_file(dir, "ledger/records.jsonl", big, 60000);
	assert_int_equal(verify(dir), VERIFY_GAP);
	randombytes_buf(big, sizeof(big));
	write_file(dir, "ledger/records.jsonl", big, sizeof(big));
	assert_int_equal(verify(dir), VERIFY_GAP);
	write_file(dir, "ledger/records.jsonl", text, len);
	assert_int_equal(verify(dir), VERIFY_COMPLETE);
	/* one more file, one more link */
	write_file(dir, "note.txt", "hello", 5);
	assert_int_equal(verify(dir), VERIFY_NOT_ESTABLISHED);
	assert_true(finds("unlisted_file"));
	snprintf(path, sizeof(path), "%s/note.txt", dir);
	unlink(path);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(verify(dir), VERIFY_GAP);
	assert_true(finds("not_a_file"));
	unlink(path);
	/* a manifest of brackets, and one that climbs out */
	memset(big, '[', sizeof(big));
	write_file(dir, "manifest.json", big, sizeof(big));
	assert_int_equal(verify(dir), VERIFY_GAP);
	assert_true(finds("manifest"));
	text = realloc(text, 4096);
	snprintf(text, 4096, "{\"v\":1,\"kind\":\"countersign-bundle\",\"origin\":\"a\","
	    "\"run\":\"run_b\",\"first\":0,\"size\":1,\"files\":[{\"path\":\"../../x\","
	    "\"bytes\":1,\"sha256\":\"%064d\"}]}", 0);
	write_file(dir, "manifest.json", text, strlen(text));
	assert_int_equal(verify(dir), VERIFY_GAP);
	assert_true(finds("manifest"));
	free(text);
	/* neither a bundle nor a ledger */
	options.path = "/proc/self/task";
	verify_free(&result);
	assert_int_equal(verify_run(&options, &result, err, sizeof(err)), -1);
	options.path = "/nonexistent";
	assert_int_equal(verify_run(&options, &result, err, sizeof(err)), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_ones),
		cmocka_unit_test(many_anchors),
		cmocka_unit_test(without_a_key),
		cmocka_unit_test(edits),
		cmocka_unit_test(signed_but_wrong),
		cmocka_unit_test(unsealed_tail),
		cmocka_unit_test(foreign_tail),
		cmocka_unit_test(rolled_back),
		cmocka_unit_test(segments),
		cmocka_unit_test(hostile),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
