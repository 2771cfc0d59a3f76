#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "ledger/tree/tree.h"
#include "ledger_maker.h"

static void
must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "ledger_maker: %s\n", what);
	abort();
}

void
maker_init(struct maker *maker)
{
	uint8_t seed[32], pk[NOTE_PK_LEN];
	int i;

	must(sodium_init() >= 0, "sodium_init");
	memset(maker, 0, sizeof(*maker));
	for (i = 0; i < 32; i++)
		seed[i] = (uint8_t)i;
	crypto_sign_seed_keypair(pk, maker->sk, seed);
	must(note_key_make(&maker->key, MAKER_ORIGIN, NOTE_ED25519, pk) == 0, "key");
	maker->time_us = INT64_C(1764430561123456);
}

void
maker_free(struct maker *maker)
{
	while (maker->count > 0)
		free(maker->line[--maker->count].text);
	free(maker->line);
	free(maker->checkpoints);
}

static unsigned
stream_of(struct maker *maker, const char *name)
{
	unsigned i;

	for (i = 0; i < MAKER_STREAMS; i++) {
		if (maker->stream[i].name[0] == '\0')
			snprintf(maker->stream[i].name, sizeof(maker->stream[i].name), "%s", name);
		if (strcmp(maker->stream[i].name, name) == 0)
			return i;
	}
	must(false, "too many streams");
	return 0;
}

void
maker_rehash(struct maker *maker, size_t index)
{
	tree_leaf(maker->line[index].text, maker->line[index].len, maker->line[index].leaf);
}

void
maker_raw(struct maker *maker, const char *text, size_t len)
{
	if (maker->count >= maker->room) {
		maker->room = 2 * maker->count + 16;
		maker->line = realloc(maker->line, maker->room * sizeof(*maker->line));
		must(maker->line != NULL, "memory");
	}
	maker->line[maker->count].text = malloc(len + 1);
	must(maker->line[maker->count].text != NULL, "memory");
	memcpy(maker->line[maker->count].text, text, len);
	maker->line[maker->count].text[len] = '\0';
	maker->line[maker->count].len = len;
	maker_rehash(maker, maker->count++);
}

static struct record_slice
slice(const char *text)
{
	return (struct record_slice){ text, text != NULL ? strlen(text) : 0 };
}

uint64_t
maker_add(struct maker *maker, const char *stream, const char *type,
    const char *run, const char *body)
{
	static char line[RECORD_LINE_MAX + 1];
	unsigned s = stream_of(maker, stream);
	struct record_parts parts = { maker->stream[s].last, slice(stream), slice(type),
	    slice(run), slice(maker->policy != NULL ? maker->policy : MAKER_POLICY), slice(body), maker->stream[s].seq++,
	    maker->time_us += MAKER_STEP_US, NULL };
	size_t len = record_compose(line, sizeof(line), &parts);

	must(len > 0, "record_compose");
	maker_raw(maker, line, len);
	memcpy(maker->stream[s].last, maker->line[maker->count - 1].leaf, 32);
	return maker->count - 1;
}

void
maker_skip(struct maker *maker, const char *stream, uint64_t seq)
{
	maker->stream[stream_of(maker, stream)].seq = seq;
}

void
maker_seal(struct maker *maker)
{
	struct checkpoint checkpoint = { MAKER_ORIGIN, maker->count, { 0 } };
	struct tree_frontier tree;
	size_t i;
	int n;

	tree_frontier_init(&tree);
	for (i = 0; i < maker->count; i++)
		must(tree_frontier_append(&tree, maker->line[i].leaf) == 0, "append");
	tree_frontier_root(&tree, checkpoint.root);
	n = checkpoint_sign(&checkpoint, &maker->key, maker->sk, maker->checkpoint,
	    sizeof(maker->checkpoint));
	must(n > 0, "checkpoint_sign");
	maker->checkpoints = realloc(maker->checkpoints, maker->checkpoints_len + (size_t)n + 1);
	must(maker->checkpoints != NULL, "memory");
	memcpy(maker->checkpoints + maker->checkpoints_len, maker->checkpoint, (size_t)n);
	maker->checkpoints_len += (size_t)n;
	maker->checkpoints[maker->checkpoints_len++] = '\n';
}

void
write_file(const char *dir, const char *name, const void *bytes, size_t len)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "wb");
	must(file != NULL && fwrite(bytes, 1, len, file) == len && fclose(file) == 0, path);
}

char *
read_file(const char *dir, const char *name, size_t *len)
{
	char path[512], *bytes;
	FILE *file;
	long size;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "rb");
	must(file != NULL && fseek(file, 0, SEEK_END) == 0, path);
	size = ftell(file);
	rewind(file);
	bytes = malloc((size_t)size + 1);
	must(bytes != NULL && fread(bytes, 1, (size_t)size, file) == (size_t)size, path);
	fclose(file);
	bytes[size] = '\0';
	*len = (size_t)size;
	return bytes;
}

void
maker_save(const struct maker *maker, const char *dir, size_t per_segment)
{
	static char buffer[1 << 20];	/* as the recorder takes space */
	char path[512], vkey[NOTE_VKEY_MAX + 2];
	FILE *file = NULL;
	size_t i;

	must(mkdir(dir, 0700) == 0 || access(dir, W_OK) == 0, dir);
	for (i = 0; i < maker->count || i == 0; i++) {
		if (i == 0 || (per_segment != 0 && i % per_segment == 0)) {
			must(file == NULL || fclose(file) == 0, path);
			snprintf(path, sizeof(path), "%s/records-%020zu.jsonl", dir, i);
			must((file = fopen(path, "wb")) != NULL, path);
			setvbuf(file, buffer, _IOFBF, sizeof(buffer));
		}
		if (i < maker->count) {
			fwrite(maker->line[i].text, 1, maker->line[i].len, file);
			putc('\n', file);
		}
	}
	must(file != NULL && fclose(file) == 0, path);
	write_file(dir, "checkpoint", maker->checkpoint, strlen(maker->checkpoint));
	write_file(dir, "checkpoints", maker->checkpoints, maker->checkpoints_len);
	must(note_key_format(&maker->key, vkey, sizeof(vkey)) > 0, "vkey");
	strcat(vkey, "\n");
	write_file(dir, "log.vkey", vkey, strlen(vkey));
}

static void
use(struct maker *maker, const char *run, uint64_t opened, size_t i)
{
	char body[384], hex[2 * TREE_HASH_LEN + 1];
	uint64_t at;

	sodium_bin2hex(hex, sizeof(hex), maker->line[opened].leaf, TREE_HASH_LEN);
	if (i % 3 == 0) {
		snprintf(body, sizeof(body), "{\"decision\":\"allow\",\"tool\":\"Bash\","
		    "\"parent\":\"%s\"}", hex);
		maker_add(maker, "hook", "decision", run, body);
	}
	snprintf(body, sizeof(body), "{\"decision\":\"allow\",\"parent\":\"%s\",\"grant\":\"g_%04zu\",\"secret\":\"api\","
	    "\"version\":1,\"input\":{\"method\":\"GET\",\"path\":\"/repos/%zu\"}}", hex, i, i);
	at = maker_add(maker, "broker", "use", run, body);
	sodium_bin2hex(hex, sizeof(hex), maker->line[at].leaf, TREE_HASH_LEN);
	snprintf(body, sizeof(body), "{\"parent\":\"%s\",\"status\":200,\"bytes_in\":%zu}",
	    hex, 17 * i);
	maker_add(maker, "broker", "outcome", run, body);
}

void
maker_usual(struct maker *maker, size_t n)
{
	static const char *const runs[] = { "run_a", "run_b" };
	char body[64];
	uint64_t opened;
	size_t i, r;

	maker_add(maker, "broker", "open", NULL, "{\"version\":\"test\"}");
	maker_add(maker, "hook", "open", NULL, "{\"version\":\"test\"}");
	for (r = 0; r < 2; r++) {
		opened = maker_add(maker, "broker", "run", runs[r], "{\"state\":\"open\"}");
		for (i = 0; maker->count < (r + 1) * n / 2 - 4; i++) {
			use(maker, runs[r], opened, i);
			if (i == 10)
				maker_seal(maker);
		}
		maker_add(maker, "broker", "run", runs[r], "{\"state\":\"closed\"}");
		maker_add(maker, "broker", "teardown", runs[r], "{\"requests\":12}");
		maker_seal(maker);
	}
	snprintf(body, sizeof(body), "{\"first_seq\":0,\"last_seq\":%d}", (int)maker->stream[1].seq);
	maker_add(maker, "hook", "close", NULL, body);
	snprintf(body, sizeof(body), "{\"first_seq\":0,\"last_seq\":%d}", (int)maker->stream[0].seq);
	maker_add(maker, "broker", "close", NULL, body);
	maker_seal(maker);
}

void
make_temp_dir(char path[64])
{
	const char *base = getenv("TMPDIR");

	snprintf(path, 64, "%s/cs-test-XXXXXX", base != NULL && strlen(base) <= 40 ? base : "/tmp");
	must(mkdtemp(path) != NULL, path);
}

static int
remove_one(const char *path, const struct stat *st, int what, struct FTW *where)
{
	(void)st;
	(void)what;
	(void)where;
	return remove(path);
}

void
remove_tree(const char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
