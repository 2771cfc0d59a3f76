/*
 * Verification: records a second of a sealed ledger of 300-byte records, on
 * one thread and on two, beside what SHA-256 alone costs over the same lines
 * in the same run.  Usage: bench_verify [RECORDS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sodium.h>

#include "ledger/verify/verify.h"
#include "ledger_maker.h"

#define LINE 300

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double
cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* A use of the run, as long as a line is to be. */
static void
use_body(const struct maker *maker, uint64_t run, size_t n, size_t pad, char body[2 * LINE])
{
	char hex[65], text[LINE];

	memset(text, 'a', sizeof(text));
	sodium_bin2hex(hex, sizeof(hex), maker->line[run].leaf, TREE_HASH_LEN);
	snprintf(body, 2 * LINE, "{\"decision\":\"allow\",\"n\":%zu,\"parent\":\"%s\",\"pad\":\"%.*s\"}",
	    1000000 + n, hex, (int)pad, text);
}

static void
fill(struct maker *maker, size_t n)
{
	char body[2 * LINE];
	size_t i, bare, pad;
	uint64_t at, run;

	maker_add(maker, "b", "open", NULL, "{}");
	run = maker_add(maker, "b", "run", "x", "{\"state\":\"open\"}");
	use_body(maker, run, 0, 0, body);
	at = maker_add(maker, "b", "use", "x", body);
	bare = maker->line[at].len + 6;
	pad = bare < LINE ? LINE - bare : 0;
	for (i = 3; i < n - 3; i++) {
		use_body(maker, run, i, pad, body);
		maker_add(maker, "b", "use", "x", body);
	}
	maker_add(maker, "b", "run", "x", "{\"state\":\"closed\"}");
	maker_add(maker, "b", "teardown", "x", "{}");
	maker_add(maker, "b", "close", NULL, "{}");
	maker_seal(maker);
}

/* CPU seconds to hash every line, and nothing else. */
static double
hash_alone(const struct maker *maker)
{
	uint8_t leaf[TREE_HASH_LEN];
	double began = cpu();
	size_t i;

	for (i = 0; i < maker->count; i++)
		tree_leaf(maker->line[i].text, maker->line[i].len, leaf);
	return cpu() - began;
}

static void
measure(const struct maker *maker, const char *dir, unsigned threads, double hash)
{
	static struct verify_result result;
	struct verify_options options = { .path = dir, .key = &maker->key, .threads = threads };
	double wall, used;
	char err[256];

	wall = now();
	used = cpu();
	if (verify_run(&options, &result, err, sizeof(err)) != 0 ||
	    result.verdict != VERIFY_COMPLETE) {
		fprintf(stderr, "bench_verify: not complete\n");
		exit(1);
	}
	wall = now() - wall;
	used = cpu() - used;
	verify_free(&result);
	printf("verify, %u thread%s: %.2f million records a second (wall), %.2f per CPU second, "
	    "%.2f of the time of SHA-256 alone\n", threads, threads == 1 ? "" : "s",
	    (double)maker->count / wall / 1e6, (double)maker->count / used / 1e6, used / hash);
}

int
main(int argc, char **argv)
{
	size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 500000;
	struct maker maker;
	char base[64], dir[96];
	double hash;
	int i;

	if (n < 10)
		return 1;
	make_temp_dir(base);
	snprintf(dir, sizeof(dir), "%s/ledger", base);
	maker_init(&maker);
	fill(&maker, n);
	maker_save(&maker, dir, 65536);
	hash_alone(&maker);
	for (i = 0; i < 3; i++) {
		hash = hash_alone(&maker);
		printf("SHA-256 alone: %.2f million lines per CPU second\n", (double)n / hash / 1e6);
		measure(&maker, dir, 1, hash);
		measure(&maker, dir, 2, hash);
	}
	maker_free(&maker);
	remove_tree(base);
	return 0;
}
