/*
 * Writes a small sealed ledger of the recorder's into a directory, and proofs
 * over it into DIR/proofs, for other implementations to check:
 *
 *   inclusion <index> <size> <hash>...
 *   consistency <old size> <new size> <hash>...
 *
 * hashes in base64.  Usage: ledger_sample DIR RECORDS
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <sodium.h>

#include "ledger/recorder/append.h"
#include "ledger/tree/tree.h"

#define POLICY "sha256:2222222222222222222222222222222222222222222222222222222222222222"

static void
die(const char *what)
{
	fprintf(stderr, "ledger_sample: %s\n", what);
	exit(1);
}

static void
append(const char *dir, unsigned long n)
{
	uint8_t seed[32];
	struct ledger_options options = { .dir = dir, .seed = seed, .stream = "broker",
	    .policy = POLICY, .place = LEDGER_IN_PROCESS, .ports = 1,
	    .checkpoint_ms = 1000 };
	struct ledger_record record = { .type = "grant", .run = "run_sample", .policy = POLICY };
	struct ledger_receipt receipt;
	struct ledger *ledger;
	char err[256], body[128];
	unsigned long i;

	memset(seed, 7, sizeof(seed));
	if (ledger_create(dir, "ledger.example/sample", seed, err, sizeof(err)) != 0 ||
	    (ledger = ledger_open(&options, err, sizeof(err))) == NULL)
		die(err);
	for (i = 0; i < n; i++) {
		record.body = body;
		record.body_len = (size_t)snprintf(body, sizeof(body), "{\"n\":%lu}", i);
		record.seal = i == n / 3;
		if (ledger_append_wait(ledger_port(ledger, 0), &record, &receipt) != LEDGER_DURABLE)
			die("append");
	}
	if (ledger_close(ledger) != 0)
		die("close");
}

static uint64_t
read_leaves(const char *dir, uint8_t (*leaf)[TREE_HASH_LEN], uint64_t max)
{
	char path[512], *line = NULL;
	size_t cap = 0;
	ssize_t len;
	uint64_t n = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/records-%020d.jsonl", dir, 0);
	if ((file = fopen(path, "r")) == NULL)
		die(path);
	while (n < max && (len = getline(&line, &cap, file)) > 0)
		tree_leaf(line, (size_t)len - 1, leaf[n++]);
	free(line);
	fclose(file);
	return n;
}

static void
print_proof(FILE *out, const struct tree_proof *proof)
{
	char text[45];
	unsigned i;

	for (i = 0; i < proof->count; i++) {
		sodium_bin2base64(text, sizeof(text), proof->hash[i], TREE_HASH_LEN,
		    sodium_base64_VARIANT_ORIGINAL);
		fprintf(out, " %s", text);
	}
	putc('\n', out);
}

static void
prove(const char *dir, uint8_t (*leaf)[TREE_HASH_LEN], uint64_t n)
{
	struct tree_leaves leaves = { (const uint8_t (*)[TREE_HASH_LEN])leaf, n };
	struct tree_source source = tree_leaves_source(&leaves);
	struct tree_proof proof;
	char path[512];
	FILE *out;
	uint64_t i;

	snprintf(path, sizeof(path), "%s/proofs", dir);
	if ((out = fopen(path, "w")) == NULL)
		die(path);
	for (i = 0; i < n; i++) {
		if (tree_prove_inclusion(&source, i, n, &proof) != 0)
			die("inclusion");
		fprintf(out, "inclusion %lu %lu", (unsigned long)i, (unsigned long)n);
		print_proof(out, &proof);
		if (tree_prove_consistency(&source, i + 1, n, &proof) != 0)
			die("consistency");
		fprintf(out, "consistency %lu %lu", (unsigned long)i + 1, (unsigned long)n);
		print_proof(out, &proof);
	}
	if (fclose(out) != 0)
		die(path);
}

int
main(int argc, char **argv)
{
	static uint8_t leaf[10000][TREE_HASH_LEN];
	unsigned long n = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;

	if (n < 1 || n > 9000 || sodium_init() < 0)
		die("usage: ledger_sample DIR RECORDS");
	append(argv[1], n);
	prove(argv[1], leaf, read_leaves(argv[1], leaf, 10000));
	return 0;
}
