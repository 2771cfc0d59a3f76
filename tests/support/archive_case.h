/*
 * A good bundle as one file, and archives of the test's own, unpacked.  Include it
 * after cmocka.h.
 */
#ifndef TESTS_ARCHIVE_CASE_H
#define TESTS_ARCHIVE_CASE_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <zstd.h>

#include "ledger/bundle/archive.h"
#include "ledger/bundle/bundle.h"
#include "ledger/verify/verify.h"
#include "ledger_maker.h"

static struct maker good;
static char base[64], ledger[96], packs[96], file[96], places[96];
static const struct bundle_pack pack = { MAKER_POLICY, packs };
static uint8_t *tar;		/* of the good archive, unpacked */
static size_t tar_len;
static char err[512];

static inline int
setup(void **state)
{
	struct bundle_options options = { .ledger = ledger, .run = "run_b", .out = file,
	    .packs = &pack, .pack_count = 1, .archive = true };
	size_t len, n;
	char *bytes;

	make_temp_dir(base);
	snprintf(ledger, sizeof(ledger), "%s/ledger", base);
	snprintf(packs, sizeof(packs), "%s/pack", base);
	snprintf(file, sizeof(file), "%s/good.tar.zst", base);
	snprintf(places, sizeof(places), "%s/tmp", base);
	mkdir(places, 0700);
	setenv("TMPDIR", places, 1);
	mkdir(packs, 0700);
	write_file(packs, "main.rego", "package x\n", 10);
	maker_init(&good);
	maker_usual(&good, 300);
	maker_save(&good, ledger, 64);
	if (bundle_write(&options, err, sizeof(err)) != 0) {
		fprintf(stderr, "bundle_write: %s\n", err);
		return -1;
	}
	bytes = read_file(base, "good.tar.zst", &len);
	tar = malloc(4 * 1024 * 1024);
	n = ZSTD_decompress(tar, 4 * 1024 * 1024, bytes, len);
	/* the frame does not say its size, so this tells whether that is needed */
	free(bytes);
	tar_len = n;
	return ZSTD_isError(n) ? -1 : 0;
}

static inline int
teardown(void **state)
{
	free(tar);
	maker_free(&good);
	remove_tree(base);
	return 0;
}

static unsigned
left_behind(void)
{
	DIR *dir = opendir(places);
	unsigned n = 0;

	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n - 2;
}

static inline enum verify_verdict
verify(const char *path)
{
	struct verify_options options = { .path = path, .key = &good.key, .threads = 1 };
	struct verify_result *result = calloc(1, sizeof(*result));
	enum verify_verdict verdict;

	assert_int_equal(verify_run(&options, result, err, sizeof(err)), 0);
	verdict = result->verdict;
	verify_free(result);
	free(result);
	return verdict;
}

/* Unpack what stands at path, and verify it where that is possible; nothing
 * may be left behind. */
static inline enum archive_status
unpack(const char *path, enum verify_verdict *verdict)
{
	struct tempdir dir;
	enum archive_status status = archive_unpack(path, &dir, err, sizeof(err));

	if (status == ARCHIVE_GOOD && verdict != NULL)
		*verdict = verify(dir.path);
	tempdir_remove(&dir);
	assert_int_equal(left_behind(), 0);
	return status;
}

#endif
