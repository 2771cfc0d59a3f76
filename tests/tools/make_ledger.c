/*
 * Writes a large sealed ledger in constant memory, for measurements.
 *
 *   make_ledger DIR RECORDS [BYTES]
 *
 * Two streams, runs of 1,000 records, lines of about BYTES (default 300), a
 * checkpoint for each segment and one at the end; tables of heads at the start
 * of segments, and the leaves beside them, as the recorder writes them.  The key's seed is the bytes
 * 0 to 31; DIR/log.vkey is its public half.
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <sodium.h>

#include "ledger/record/record.h"
#include "ledger/tree/hashes.h"
#include "ledger/tree/note.h"
#include "ledger/tree/tree.h"

#define ORIGIN "ledger.example/large"
#define SEGMENT 65536
#define POLICY "sha256:72db5dd2a85d2d7c9d8e2c82840d75e51f39ca5d3f18bdc06e2ace90abc871b8"

struct stream {
	const char *name;
	uint64_t seq;
	uint8_t last[TREE_HASH_LEN];
};

static struct {
	const char *dir;
	struct note_key key;
	uint8_t sk[NOTE_SK_LEN];
	struct tree_frontier tree;
	FILE *segment, *checkpoints;
	struct hashes hashes;
	int dirfd;
	uint64_t bytes;		/* of the segment */
	int64_t time_us;
} made;

static FILE *
open_file(const char *name)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", made.dir, name);
	if ((file = fopen(path, "w")) == NULL)
		err(1, "%s", path);
	return file;
}

static void
close_file(FILE *file)
{
	if (file != NULL && fclose(file) != 0)
		err(1, "%s", made.dir);
}

static void
put_text(const char *name, const char *text)
{
	FILE *file = open_file(name);

	fputs(text, file);
	close_file(file);
}

static void
seal(void)
{
	struct checkpoint checkpoint = { ORIGIN, made.tree.size, { 0 } };
	char note[CHECKPOINT_NOTE_MAX + 1];

	tree_frontier_root(&made.tree, checkpoint.root);
	if (checkpoint_sign(&checkpoint, &made.key, made.sk, note, sizeof(note)) < 0)
		errx(1, "checkpoint_sign");
	fprintf(made.checkpoints, "%s\n", note);
	put_text("checkpoint", note);
}

static struct record_slice
slice(const char *text)
{
	return (struct record_slice){ text, text == NULL ? 0 : strlen(text) };
}

static void
add(struct stream *stream, const char *type, const char *run, const char *body)
{
	static char line[RECORD_LINE_MAX + 1];
	struct record_parts parts = { stream->last, slice(stream->name), slice(type),
	    slice(run), slice(POLICY), slice(body), stream->seq++, made.time_us += 997, NULL };
	char name[64];
	size_t len;

	if (made.tree.size % SEGMENT == 0) {
		close_file(made.segment);
		snprintf(name, sizeof(name), "records-%020llu.jsonl",
		    (unsigned long long)made.tree.size);
		made.segment = open_file(name);
		made.bytes = 0;
		hashes_start(&made.hashes, made.dirfd, made.tree.size, NULL, 0);
	}
	if ((len = record_compose(line, sizeof(line), &parts)) == 0)
		errx(1, "record_compose");
	tree_leaf(line, len, stream->last);
	line[len++] = '\n';
	made.bytes += len;
	hashes_add(&made.hashes, stream->last);
	if (fwrite(line, 1, len, made.segment) != len ||
	    tree_frontier_append(&made.tree, stream->last) != 0)
		err(1, "%s", made.dir);
	if (made.tree.size % SEGMENT != 0)
		return;
	hashes_finish(&made.hashes, made.bytes);
	seal();
}

static void
add_heads(struct stream streams[2])
{
	char body[512], last[2][2 * TREE_HASH_LEN + 1];
	int i;

	for (i = 0; i < 2; i++)
		sodium_bin2hex(last[i], sizeof(last[i]), streams[i].last, TREE_HASH_LEN);
	snprintf(body, sizeof(body), "{\"streams\":[{\"stream\":\"%s\",\"next_seq\":%llu,"
	    "\"last\":\"%s\",\"open\":true},{\"stream\":\"%s\",\"next_seq\":%llu,"
	    "\"last\":\"%s\",\"open\":true}]}", streams[0].name,
	    (unsigned long long)streams[0].seq, last[0], streams[1].name,
	    (unsigned long long)streams[1].seq, last[1]);
	add(&streams[0], "heads", NULL, body);
}

static void
add_uses(struct stream streams[2], uint64_t records, size_t bytes)
{
	static const char *const types[] = { "coverage", "grant", "secret", "refusal" };
	const size_t envelope = 262;
	char body[RECORD_LINE_MAX], run[40], pad[RECORD_LINE_MAX];
	size_t room = bytes > envelope + 28 ? bytes - envelope - 28 : 0;
	uint64_t i;

	memset(pad, 'a', sizeof(pad));
	for (i = 0; i < records; i++) {
		if (made.tree.size % SEGMENT == 0) {
			add_heads(streams);
			continue;
		}
		snprintf(run, sizeof(run), "run_%06llu", (unsigned long long)(i / 1000));
		snprintf(body, sizeof(body), "{\"n\":%llu,\"path\":\"/%.*s\"}",
		    (unsigned long long)(1000000000 + i), (int)room, pad);
		add(&streams[i % 8 == 7], types[i % 4], run, body);
	}
}

int
main(int argc, char **argv)
{
	struct stream streams[2] = { { .name = "broker" }, { .name = "hook" } };
	const uint64_t records = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	const size_t bytes = argc > 3 ? strtoull(argv[3], NULL, 10) : 300;
	uint8_t seed[32], pk[NOTE_PK_LEN];
	char vkey[NOTE_VKEY_MAX + 2];
	int i, n;

	if (records < 4 || bytes > RECORD_LINE_MAX - 200)
		errx(1, "usage: make_ledger DIR RECORDS [BYTES]");
	for (i = 0; i < 32; i++)
		seed[i] = (uint8_t)i;
	made.dir = argv[1];
	made.time_us = INT64_C(1764430561123456);
	if (sodium_init() < 0 || crypto_sign_seed_keypair(pk, made.sk, seed) != 0 ||
	    note_key_make(&made.key, ORIGIN, NOTE_ED25519, pk) != 0 ||
	    (n = note_key_format(&made.key, vkey, sizeof(vkey))) < 0)
		errx(1, "key");
	if (mkdir(made.dir, 0700) != 0 ||
	    (made.dirfd = open(made.dir, O_RDONLY | O_DIRECTORY)) < 0)
		err(1, "%s", made.dir);
	strcpy(vkey + n, "\n");
	put_text("log.vkey", vkey);
	made.checkpoints = open_file("checkpoints");
	add(&streams[0], "open", NULL, "{}");
	add(&streams[1], "open", NULL, "{}");
	add_uses(streams, records - 4, bytes);
	add(&streams[1], "close", NULL, "{}");
	add(&streams[0], "close", NULL, "{}");
	seal();
	hashes_flush(&made.hashes);
	hashes_stop(&made.hashes);
	close_file(made.segment);
	close_file(made.checkpoints);
	return 0;
}
