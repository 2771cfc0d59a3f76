/*
 * A good ledger of 300 records and the bundle of its second run, made once for all
 * tests of a program, which put back what they change.
 */
#ifndef TESTS_VERIFY_USUAL_H
#define TESTS_VERIFY_USUAL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ledger/bundle/bundle.h"
#include "ledger/verify/verify.h"
#include "ledger_maker.h"

/* Built once: a ledger, and the bundle of its second run. */
#define RECORDS 300

static struct maker good;
static char base[64], ledger[96], bundle[96], packs[96];
static const struct bundle_pack pack = { MAKER_POLICY, packs };
static struct verify_result result;
static char err[512];

static inline int
setup(void **state)
{
	struct bundle_options options = { .ledger = ledger, .run = "run_b", .out = bundle };

	make_temp_dir(base);
	snprintf(ledger, sizeof(ledger), "%s/ledger", base);
	snprintf(bundle, sizeof(bundle), "%s/bundle", base);
	snprintf(packs, sizeof(packs), "%s/pack", base);
	mkdir(packs, 0700);
	write_file(packs, "main.rego", "package x\n", 10);
	maker_init(&good);
	maker_usual(&good, RECORDS);
	maker_save(&good, ledger, 64);
	options.packs = &pack;
	options.pack_count = 1;
	if (bundle_write(&options, err, sizeof(err)) != 0) {
		fprintf(stderr, "bundle_write: %s\n", err);
		return -1;
	}
	return 0;
}

/* Of a file's bits a part, spread by a step; all where COUNTERSIGN_LONG is set. */
static inline size_t
step(size_t usual)
{
	if (getenv("COUNTERSIGN_LONG") != NULL)
		return 1;
#ifdef __SANITIZE_ADDRESS__
	return usual * 4 + 1;
#else
	return usual;
#endif
}

static inline int
teardown(void **state)
{
	maker_free(&good);
	remove_tree(base);
	return 0;
}

static inline enum verify_verdict
verify(const char *path)
{
	struct verify_options options = { .path = path, .key = &good.key, .threads = 1 };

	verify_free(&result);
	assert_int_equal(verify_run(&options, &result, err, sizeof(err)), 0);
	return result.verdict;
}

static inline bool
finds(const char *code)
{
	unsigned i;

	for (i = 0; i < result.findings; i++)
		if (strcmp(result.finding[i].code, code) == 0)
			return true;
	return false;
}

static inline void
say(void)
{
	unsigned i;

	for (i = 0; i < result.findings; i++)
		print_error("%s index %d count %d line %d: %s\n", result.finding[i].code,
		    (int)result.finding[i].index, (int)result.finding[i].count,
		    (int)result.finding[i].line, result.finding[i].what);
}

/* A changed copy of the good ledger, verified.  Records are the maker's. */
static inline enum verify_verdict
verify_maker(const struct maker *maker)
{
	char dir[96];
	enum verify_verdict verdict;

	snprintf(dir, sizeof(dir), "%s/other", base);
	remove_tree(dir);
	maker_save(maker, dir, 0);
	verdict = verify(dir);
	return verdict;
}

#endif
