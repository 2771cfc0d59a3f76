/*
 * Every bit of every record flipped, and every cut, in a ledger of 300 records
 * and in a bundle of it: each is a gap, and exactly the record that was changed
 * is named.  Every bit in turns of many records at once, a part of them (all
 * LFs) alone too.  Spread over processes; with sanitizers only a part is done.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "ledger/bundle/bundle.h"
#include "ledger/tree/hashes.h"
#include "verify_case.h"

#define RECORDS 300
#define WORKERS 2
#define APART 6		/* from a record to the next that is changed at once */
#define SINGLE 11	/* one byte of so many is changed alone; all with COUNTERSIGN_LONG */
#ifdef __SANITIZE_ADDRESS__
#define PART 101	/* one of so many, a prime */
#else
#define PART 1
#endif

static struct maker m;
static char base[64], original[96], bundle[96];

enum kind { LEDGER, BARE, BUNDLE };	/* bare: without the leaves beside */

/* What one worker has: its own copy, and where its records' lines begin. */
struct copy {
	struct verify_case c;
	char dir[96], path[192];
	enum kind kind;
	int fd;
	char *text;
	size_t len, *line, lines;	/* line[lines] is len */
	uint64_t first;			/* index of the first line */
};

static int
setup(void **state)
{
	struct bundle_options options = { .ledger = original, .run = "run_b", .out = bundle };
	char err[512];

	/* a hundred thousand verifications: what is freed is kept */
	mallopt(M_MMAP_THRESHOLD, 64 << 20);
	mallopt(M_TRIM_THRESHOLD, 256 << 20);
	if (access("/dev/shm", W_OK) == 0)
		setenv("TMPDIR", "/dev/shm", 0);
	make_temp_dir(base);
	snprintf(original, sizeof(original), "%s/ledger", base);
	snprintf(bundle, sizeof(bundle), "%s/bundle", base);
	maker_init(&m);
	maker_usual(&m, RECORDS);
	/* one checkpoint is the hardest: nothing narrows the search */
	m.checkpoints_len = strlen(m.checkpoint);
	memcpy(m.checkpoints, m.checkpoint, m.checkpoints_len);
	maker_save(&m, original, 0);
	if (bundle_write(&options, err, sizeof(err)) == 0)
		return 0;
	print_error("%s\n", err);
	return -1;
}

static int
teardown(void **state)
{
	maker_free(&m);
	remove_tree(base);
	return 0;
}

static void
copy_file(const char *from, const char *to, const char *name)
{
	size_t len;
	char *bytes = read_file(from, name, &len);

	write_file(to, name, bytes, len);
	free(bytes);
}

static void
save_hashes(const char *dir)
{
	struct hashes *h = malloc(sizeof(*h));
	int dirfd = open(dir, O_RDONLY | O_DIRECTORY);
	size_t i;

	assert_non_null(h);
	hashes_start(h, dirfd, 0, NULL, 0);
	for (i = 0; i < m.count; i++)
		hashes_add(h, m.line[i].leaf);
	hashes_flush(h);
	hashes_stop(h);
	close(dirfd);
	free(h);
}

static void
open_copy(struct copy *copy, enum kind kind)
{
	static const char *const files[] = { "manifest.json", "ledger/frontier",
	    "ledger/records.jsonl", "ledger/leaves", "ledger/checkpoint", "keys/log.vkey" };
	char sub[128];
	size_t i;

	case_init(&copy->c, &m.key);
	copy->kind = kind;
	snprintf(copy->dir, sizeof(copy->dir), "%s/copy", copy->c.base);
	if (kind == BUNDLE) {
		mkdir(copy->dir, 0700);
		snprintf(sub, sizeof(sub), "%s/ledger", copy->dir);
		mkdir(sub, 0700);
		snprintf(sub, sizeof(sub), "%s/keys", copy->dir);
		mkdir(sub, 0700);
		for (i = 0; i < sizeof(files) / sizeof(files[0]); i++)
			copy_file(bundle, copy->dir, files[i]);
	} else {
		maker_save(&m, copy->dir, 0);
		if (kind == LEDGER)
			save_hashes(copy->dir);
	}
	snprintf(copy->path, sizeof(copy->path), "%s/%s", copy->dir, kind == BUNDLE ?
	    "ledger/records.jsonl" : "records-00000000000000000000.jsonl");
	copy->text = read_file(copy->dir, copy->path + strlen(copy->dir) + 1, &copy->len);
	copy->fd = open(copy->path, O_RDWR);
	assert_true(copy->fd >= 0);
	copy->line = calloc(RECORDS + 10, sizeof(*copy->line));
	for (i = 0; i < copy->len; i++)
		if (copy->text[i] == '\n')
			copy->line[++copy->lines] = i + 1;
	case_verify(&copy->c, copy->dir);
	copy->first = copy->c.result.first;
	assert_int_equal(copy->c.result.integrity.verdict, VERIFY_COMPLETE);
}

static void
close_copy(struct copy *copy)
{
	free(copy->text);
	free(copy->line);
	close(copy->fd);
	case_free(&copy->c);
}

static void
flip(const struct copy *copy, size_t at, unsigned bit)
{
	const char changed = (char)(copy->text[at] ^ 1 << bit);

	assert_int_equal(pwrite(copy->fd, &changed, 1, (off_t)at), 1);
}

static void
restore(const struct copy *copy, size_t at)
{
	assert_int_equal(pwrite(copy->fd, copy->text + at, 1, (off_t)at), 1);
}

/*
 * Is there a finding that names exactly that line?  An LF that is none any
 * more makes one line of two.  Without leaves, of the last records of streams,
 * which no other record points to, only the range is known.
 */
static bool
names(const struct copy *copy, size_t line, bool lf)
{
	const bool range = lf || (copy->kind == BARE && line + 2 >= copy->lines);
	const struct verify_result *r = &copy->c.result;
	const struct verify_finding *f;
	unsigned i;

	for (i = 0; i < r->findings; i++) {
		f = &r->finding[i];
		if (f->verdict == VERIFY_GAP && f->has_index &&
		    f->index == copy->first + line && f->count == 1)
			return true;
		if (range && f->verdict == VERIFY_GAP && f->has_index &&
		    f->index <= copy->first + line && f->index + f->count > copy->first + line)
			return true;
	}
	return false;
}

/* Findings beside those of the manifest's digest. */
static unsigned
others(const struct copy *copy)
{
	const struct verify_result *r = &copy->c.result;
	unsigned i, n = 0;

	for (i = 0; i < r->findings; i++)
		n += strcmp(r->finding[i].code, "file_altered") != 0 &&
		    strcmp(r->finding[i].code, "pack_missing") != 0;
	return n;
}

static bool
complain(const struct copy *copy, const char *what, size_t at, unsigned bit)
{
	fprintf(stderr, "%s, bit %u of byte %zu, verdict %d\n", what, bit, at,
	    (int)copy->c.result.verdict);
	case_say(&copy->c);
	return false;
}

/* One bit of a byte, alone; of an LF each. */
static bool
single_flips(struct copy *copy, unsigned worker)
{
	const size_t single = getenv("COUNTERSIGN_LONG") != NULL ? 1 : SINGLE;
	size_t line, at, n = 0;
	unsigned bit, bits;
	bool lf;

	for (line = 0; line < copy->lines; line++) {
		for (at = copy->line[line]; at < copy->line[line + 1]; at++, n++) {
			lf = copy->text[at] == '\n';
			if (lf ? line % (WORKERS * PART) != worker :
			    n % (WORKERS * PART * single) != worker)
				continue;
			bits = lf ? 8 : 1;
			for (bit = 0; bit < bits; bit++) {
				flip(copy, at, lf ? bit : (unsigned)(at % 8));
				if (case_verify(&copy->c, copy->dir) != VERIFY_GAP ||
				    !names(copy, line, lf) || (!lf && others(copy) != 1))
					return complain(copy, "flip", at, bit);
			}
			restore(copy, at);
		}
	}
	return true;
}

/* Every bit of the lines from `line` on, each APART-th at once. */
static bool
flip_together(struct copy *copy, size_t line, size_t offset, unsigned bit)
{
	size_t i, at;
	bool good;

	for (i = line; i < copy->lines; i += APART)
		if (copy->line[i] + offset + 1 < copy->line[i + 1])
			flip(copy, copy->line[i] + offset, bit);
	good = case_verify(&copy->c, copy->dir) == VERIFY_GAP;
	for (i = line; i < copy->lines; i += APART) {
		at = copy->line[i] + offset;
		if (at + 1 >= copy->line[i + 1])
			continue;
		restore(copy, at);
		if (!good || !names(copy, i, false))
			return complain(copy, "flips together", at, bit);
	}
	return true;
}

static bool
every_bit(struct copy *copy, unsigned worker)
{
	size_t line, offset, longest = 0, n = 0;
	unsigned bit;

	for (line = 0; line < copy->lines; line++)
		if (copy->line[line + 1] - copy->line[line] > longest)
			longest = copy->line[line + 1] - copy->line[line];
	for (line = 0; line < APART && line < copy->lines; line++)
		for (offset = 0; offset < longest; offset++)
			for (bit = 0; bit < 8; bit++)
				if (n++ % (WORKERS * PART) == worker &&
				    !flip_together(copy, line, offset, bit))
					return false;
	return true;
}

/* Each is missing from the line on in which the cut is. */
static bool
every_cut(struct copy *copy, unsigned worker)
{
	const struct verify_finding *f;
	size_t line = copy->lines, at;

	for (at = copy->len; at-- > 0;) {
		if (at < copy->line[line])
			line--;
		if (at % (WORKERS * PART) != worker)
			continue;
		assert_int_equal(ftruncate(copy->fd, (off_t)at), 0);
		if (case_verify(&copy->c, copy->dir) != VERIFY_GAP ||
		    (f = case_find(&copy->c, "missing")) == NULL ||
		    f->index != copy->first + line || f->count != copy->lines - line ||
		    (case_find(&copy->c, "cut") == NULL &&
		    case_find(&copy->c, "torn") == NULL) != (at == copy->line[line]))
			return complain(copy, "cut", at, 0);
	}
	return true;
}

/* Each worker is a process with a copy of its own. */
static void
spread(enum kind kind, bool (*work)(struct copy *, unsigned))
{
	pid_t pid[WORKERS];
	unsigned i, bad = 0;
	int status;

	for (i = 0; i < WORKERS; i++) {
		fflush(NULL);
		pid[i] = fork();
		assert_true(pid[i] >= 0);
		if (pid[i] == 0) {
			static struct copy copy;
			bool good;

			open_copy(&copy, kind);
			good = work(&copy, i);
			close_copy(&copy);
			_exit(good ? 0 : 1);
		}
	}
	for (i = 0; i < WORKERS; i++)
		bad += waitpid(pid[i], &status, 0) != pid[i] || status != 0;
	assert_int_equal(bad, 0);
}

static void
flips_in_a_ledger(void **state)
{
	spread(LEDGER, single_flips);
}

static void
flips_by_the_chain(void **state)
{
	spread(BARE, single_flips);
}

static void
flips_in_a_bundle(void **state)
{
	spread(BUNDLE, single_flips);
}

static void
every_bit_in_a_ledger(void **state)
{
	spread(LEDGER, every_bit);
}

static void
every_bit_in_a_bundle(void **state)
{
	spread(BUNDLE, every_bit);
}

static void
cuts_of_a_ledger(void **state)
{
	spread(LEDGER, every_cut);
}

static void
cuts_of_a_bundle(void **state)
{
	spread(BUNDLE, every_cut);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flips_in_a_bundle),
		cmocka_unit_test(every_bit_in_a_bundle),
		cmocka_unit_test(cuts_of_a_bundle),
		cmocka_unit_test(cuts_of_a_ledger),
		cmocka_unit_test(flips_by_the_chain),
		cmocka_unit_test(flips_in_a_ledger),
		cmocka_unit_test(every_bit_in_a_ledger)
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
