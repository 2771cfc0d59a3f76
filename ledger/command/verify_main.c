#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sodium.h>

#include "ledger/anchor/trust.h"
#include "ledger/bundle/archive.h"
#include "ledger/clock.h"
#include "ledger/command/verify_args.h"
#include "ledger/evidence/evidence.h"
#include "ledger/output/out_file.h"
#include "ledger/output/progress.h"
#include "ledger/output/shown.h"
#include "ledger/output/terminal.h"
#include "ledger/report/html.h"
#include "ledger/report/report.h"
#include "ledger/verify/load.h"
#include "ledger/input.h"

#define WHY 256	/* bytes of a reason */

/* The key from a file, or given as such.  1: none there (default only). */
static int
load_key(const char *given, bool must, struct note_key *key, char *err,
    size_t err_len)
{
	char buf[NOTE_VKEY_MAX + 2];
	size_t len;
	FILE *file;

	if (note_key_parse(key, given, strlen(given)) == 0)
		return 0;
	if ((file = input_open(given)) == NULL) {
		snprintf(err, err_len, "--key %.200s: neither a vkey nor a file that can "
		    "be read: %s", given, input_why(errno));
		return must ? -1 : 1;
	}
	len = fread(buf, 1, sizeof(buf), file);
	fclose(file);
	while (len > 0 && (buf[len - 1] == '\n' || buf[len - 1] == '\r'))
		len--;
	if (note_key_parse(key, buf, len) == 0 && key->type == NOTE_ED25519)
		return 0;
	snprintf(err, err_len, "%.200s: no vkey of a log (name+id+key)", given);
	return -1;
}

/* The checkpoint that was verified, not one that came meanwhile. */
static int
save_head(const struct verify_args *args, const struct verify_result *result)
{
	struct out_file file;

	if (result->note == NULL) {
		errno = ENOENT;
		return -1;
	}
	if (out_file_open(&file, args->save_head) != 0)
		return -1;
	return out_file_close(&file, fwrite(result->note, 1, result->note_len,
	    file.stream) == result->note_len);
}

/* How far the scan is, of the bytes that there are. */
struct scan_bar {
	struct progress progress;
	uint64_t total;
};

static void
scan_step(void *context, const struct scan_result *so_far)
{
	struct scan_bar *bar = context;

	progress_step(&bar->progress, so_far->bytes, bar->total);
}

/* Tags that the evidence does not name may be anybody's. */
static int
load_tags(const struct verify_args *args, struct scanner *scanner,
    struct scan_tags **tags, char *err, size_t err_len)
{
	char commitment[SCAN_TAGS_COMMITMENT_MAX];

	if (args->tags == NULL)
		return 0;
	*tags = scan_tags_load(args->tags, commitment, err, err_len);
	if (*tags == NULL)
		return -1;
	if (!scan_tags_committed(args->dir, commitment)) {
		snprintf(err, err_len, "%.200s: no record of the evidence names these tags",
		    args->tags);
		return -1;
	}
	scanner_set_tags(scanner, *tags);
	return 0;
}

/* Names of files are looked at even where contents are not: by formats then.  What
 * a truth says is shown, too.
 * why: "", or why the vault's secrets are not looked for. */
static struct scanner *
make_scanner(const struct verify_args *args, const struct verify_defaults *defaults,
    char why[WHY])
{
	struct scanner *scanner = scanner_new();

	why[0] = '\0';
	if (scanner != NULL && (args->scan || args->truths > 0) && defaults->secrets != NULL &&
	    defaults->secrets(defaults->context, scanner, why, WHY) != 0)
		shown_complain("%s: without the vault's secrets: %s",
		    defaults->program, why);
	else
		why[0] = '\0';
	return scanner;
}

/* Where nothing was found that outweighs it. */
static void
incomplete(struct scan_result *scanned, const char *why)
{
	if (scanned->verdict == SCAN_CLEAN)
		scanned->verdict = SCAN_INCOMPLETE;
	scan_result_incomplete(scanned, "", "", why);
}

/*
 * The broker knew the secret that it found; nobody who looks later need know it: it
 * may be too weak for a tag, or revoked since.  So its word counts whatever was
 * looked for here, if the records are as they were signed.
 */
static void
take_found(const struct scan_words *words, const struct verify_result *verified,
    struct scan_result *scanned)
{
	struct scan_finding *f;

	if (verified->integrity.verdict != VERIFY_COMPLETE) {
		incomplete(scanned, "a scan record says that the broker found a secret in these "
		    "records; that it is as it was signed is not established");
		return;
	}
	scanned->verdict = SCAN_FOUND;
	scanned->sealed_found = words->found;
	scanned->finding_count += words->found;
	if (scanned->findings == SCAN_FINDINGS_MAX)
		return;
	f = &scanned->finding[scanned->findings++];
	*f = (struct scan_finding){ .line = words->line, .offset = words->offset,
	    .confidence = SCAN_HIGH, .known = true };
	snprintf(f->path, sizeof(f->path), "%s", words->file);
	snprintf(f->what, sizeof(f->what), "a secret of the vault, found before sealing");
	snprintf(f->form, sizeof(f->form), "the broker's signed scan record");
}

/*
 * Where nobody looked for the secrets themselves, by value or by tag, the broker
 * did before it sealed: its signed word stands for it, if all of it is good and
 * the records are as they were signed.  Where there is none, and a run used a
 * secret, or the vault was to be had but for a passphrase, nothing is established.
 */
static void
stand_in(const struct verify_args *args, const struct verify_result *verified,
    const char *why, struct scan_result *scanned)
{
	const struct scan_words words = scan_words_of(args->dir,
	    verified->kind == VERIFY_BUNDLE ? verified->run : NULL);
	char text[WHY + 64];

	if (words.found > 0)
		take_found(&words, verified, scanned);
	if (scanned->verdict != SCAN_CLEAN || scanned->secrets > 0 || scanned->tags > 0)
		return;
	if (words.other == 0 && words.without == 0 &&
	    verified->integrity.verdict == VERIFY_COMPLETE)
		scanned->sealed = words.clean;
	if (words.other == 0 && (scanned->sealed > 0 ||
	    (words.needed == 0 && why[0] == '\0')))
		return;
	snprintf(text, sizeof(text), "the vault's secrets were not looked for: %.180s", why);
	if (words.other > 0)
		snprintf(text, sizeof(text), "the broker did not find its records clean of its "
		    "secrets before it sealed them");
	else if (why[0] == '\0')
		snprintf(text, sizeof(text), "a secret was used, and no signed scan record says "
		    "that the broker looked for it (its owner can: countersign verify, or --tags)");
	incomplete(scanned, text);
}

static const char *
shown_name(void *scanner, const char *path)
{
	return scanner_shown_name(scanner, path);
}

static int
scan(const struct verify_args *args, struct scanner *scanner, uint64_t total,
    struct scan_result *result, char *err, size_t err_len)
{
	struct scan_bar bar = { .total = total };
	int status;

	progress_begin(&bar.progress, !args->quiet && terminal_redraws(STDERR_FILENO), "scanning");
	scanner_set_calls(scanner, NULL, scan_step, &bar);
	status = scanner_scan(scanner, args->dir, result, err, err_len);
	progress_end(&bar.progress);
	return status;
}

static int
write_file(const struct report *report, const char *path,
    int (*write_report)(const struct report *, FILE *), char *err, size_t err_len)
{
	struct out_file file;

	if (out_file_open(&file, path) == 0 &&
	    out_file_close(&file, write_report(report, file.stream) == 0) == 0)
		return 0;
	snprintf(err, err_len, "%.200s: %s", path, out_file_why(errno));
	return -1;
}

static int
write_reports(const struct verify_args *args, const struct report *report, char *err,
    size_t err_len)
{
	if (args->html != NULL &&
	    write_file(report, args->html, report_html, err, err_len) != 0)
		return -1;
	if (args->sarif != NULL &&
	    write_file(report, args->sarif, report_sarif, err, err_len) != 0)
		return -1;
	if (verify_args_to_stdout(args->html) || verify_args_to_stdout(args->sarif))
		return 0;
	snprintf(err, err_len, "cannot write the report");
	return (args->json ? report_json(report, stdout) :
	    report_text(report, args->colour, stdout)) != 0 || fflush(stdout) != 0 ? -1 : 0;
}

/* What cannot be unpacked was altered, or never was a bundle's file. */
static void
judge_archive(struct verify_result *result, const char *why)
{
	memset(result, 0, sizeof(*result));
	result->kind = VERIFY_BUNDLE;
	verify_find(result, VERIFY_GAP, "archive", "%s", why);
	result->integrity = (struct verify_statement){ VERIFY_GAP,
	    "the bundle's file is damaged, or not in the form of one" };
	result->completeness = result->anchoring = result->coverage =
	    (struct verify_statement){ VERIFY_NOT_ESTABLISHED, "it could not be read" };
}

/* A ledger is read for it where there is something to hold against it, or has to
 * be: all of it is read. */
static int
judge_coverage(const struct verify_args *args, const struct trust *trust, struct scanner *scanner,
    struct verify_result *result, struct coverage **coverage, char *err, size_t err_len)
{
	const struct coverage_options options = { .dir = args->dir, .run = result->run,
	    .truth = args->truth, .truths = args->truths, .window_ms = args->window_ms,
	    .observer = trust != NULL ? trust->observer : NULL,
	    .observers = trust != NULL ? trust->observers : 0,
	    .observed = trust != NULL ? trust->observed : 0,
	    .now_us = (int64_t)time(NULL) * 1000000,
	    .shown = shown_name, .shown_context = scanner };

	if (result->kind == VERIFY_LEDGER && args->truths == 0 && options.observed == 0)
		return 0;
	return coverage_judge(&options, result, coverage, err, err_len);
}

static int
verify_files(const struct verify_args *args, const struct verify_defaults *defaults,
    const struct note_key *key, const struct trust *trust, struct report *report,
    struct scan_result *scanned, struct verify_result *result,
    struct coverage **coverage, char *err, size_t err_len)
{
	struct progress progress;
	struct verify_options options = { .path = args->dir, .key = key, .trust = trust,
	    .epochs = args->epochs, .since = args->since != NULL, .head = args->since != NULL ? args->since : args->head,
	    .threads = args->threads, .progress = progress_step, .context = &progress };
	char why[WHY];
	struct scanner *scanner = make_scanner(args, defaults, why);
	struct scan_tags *tags = NULL;
	int status = -1;

	snprintf(err, err_len, "out of memory");
	if (scanner == NULL || (args->scan &&
	    load_tags(args, scanner, &tags, err, err_len) != 0))
		goto out;
	options.shown = shown_name;
	options.shown_context = scanner;
	progress_begin(&progress, !args->quiet && terminal_redraws(STDERR_FILENO), "verifying");
	status = verify_run(&options, result, err, err_len);
	progress_end(&progress);
	if (status == 0)
		status = judge_coverage(args, trust, scanner, result, coverage, err, err_len);
	report->coverage = *coverage;
	if (status != 0 || !args->scan)
		goto out;
	report->scan = scanned;
	status = scan(args, scanner, result->bytes, scanned, err, err_len);
	if (status == 0)
		stand_in(args, result, why, scanned);
out:
	scanner_free(scanner);
	scan_tags_free(tags);
	return status;
}

/* The key that the policy pins for whatever log these files say they are of;
 * NULL: none, and nothing will be established. */
static const struct note_key *
trusted_key(const struct trust *trust, const char *dir)
{
	static const char *const files[] = { "ledger/checkpoint", "checkpoint" };
	const struct trust_log *log = NULL;
	int dirfd = evidence_dir(dir);
	size_t len;

	for (size_t i = 0; i < 2 && dirfd >= 0 && log == NULL; i++) {
		char *text = evidence_read(dirfd, files[i], NOTE_MAX, &len);

		if (text == NULL)
			continue;
		text[strcspn(text, "\n")] = '\0';
		log = trust_log(trust, text);
		free(text);
	}
	if (dirfd >= 0)
		close(dirfd);
	return log != NULL ? &log->key : NULL;
}

/* Where the files are, into args->dir.  ARCHIVE_BAD: it cannot be unpacked;
 * ARCHIVE_TROUBLE: it cannot be read; both with a message. */
static enum archive_status
open_evidence(struct verify_args *args, struct tempdir *unpacked, char *err, size_t err_len)
{
	const char *special = evidence_special(args->path);
	enum archive_status status;

	args->dir = args->path;
	if (special != NULL) {
		snprintf(err, err_len, "%.200s: %s; evidence is a directory or a regular "
		    "file", args->path, special);
		return ARCHIVE_TROUBLE;
	}
	if (!archive_is(args->path))
		return ARCHIVE_GOOD;
	status = archive_unpack(args->path, unpacked, err, err_len);
	args->dir = unpacked->path;
	return status;
}

/* The verdict, once what came of it is written; EXIT_USAGE_OR_IO with a message. */
static int
conclude(const struct verify_args *args, const struct report *report,
    const struct verify_result *result, char *err, size_t err_len)
{
	if (write_reports(args, report, err, err_len) != 0)
		return EXIT_USAGE_OR_IO;
	if (args->save_head != NULL && result->integrity.verdict == VERIFY_COMPLETE &&
	    result->verdict != VERIFY_GAP && save_head(args, result) != 0) {
		snprintf(err, err_len, "%.200s: %s", args->save_head, out_file_why(errno));
		return EXIT_USAGE_OR_IO;
	}
	return (int)report_verdict(report);
}

static int
verify(struct verify_args *args, const struct verify_defaults *defaults,
    const struct note_key *key, const struct trust *trust,
    struct verify_result *result)
{
	struct tempdir unpacked = { .dirfd = -1 };
	struct scan_result *scanned = calloc(1, sizeof(*scanned));
	struct coverage *coverage = NULL;
	struct report report = { .path = args->path, .verify = result };
	enum archive_status archive = ARCHIVE_TROUBLE;
	char err[512] = "out of memory";
	const int64_t began_ns = clock_ns(CLOCK_MONOTONIC);
	int status = EXIT_USAGE_OR_IO;

	if (scanned != NULL)
		archive = open_evidence(args, &unpacked, err, sizeof(err));
	if (archive == ARCHIVE_TROUBLE)
		goto out;
	if (trust != NULL && archive != ARCHIVE_BAD)
		key = trusted_key(trust, args->dir);
	report.key = key != NULL ? key->name : NULL;
	report.trust = trust != NULL ? trust->sha256 : NULL;
	if (archive == ARCHIVE_BAD)
		judge_archive(result, err);
	else if (verify_files(args, defaults, key, trust, &report, scanned, result,
	    &coverage, err, sizeof(err)) != 0)
		goto out;
	report.dir = args->dir;
	report.seconds = (double)(clock_ns(CLOCK_MONOTONIC) - began_ns) / 1e9;
	status = conclude(args, &report, result, err, sizeof(err));
out:
	if (status == EXIT_USAGE_OR_IO)
		shown_complain("%s: %s", defaults->program, err);
	tempdir_remove(&unpacked);
	args->dir = NULL;
	coverage_free(coverage);
	free(scanned);
	return status;
}

int
verify_main(int argc, char **argv, const struct verify_defaults *defaults)
{
	struct verify_args args = { .scan = true, .window_ms = COVERAGE_WINDOW_MS };
	struct verify_result *result;
	struct trust *trust = NULL;
	struct note_key key;
	char err[512];
	const char *given;
	int status, have;

	if ((status = verify_args_parse(argc, argv, defaults, &args)) >= 0)
		return status;
	result = calloc(1, sizeof(*result));
	if (result == NULL || sodium_init() < 0) {
		shown_complain("%s: out of memory", defaults->program);
		free(result);
		return EXIT_USAGE_OR_IO;
	}
	given = args.key != NULL || args.trust != NULL ? args.key : defaults->key;
	have = given == NULL ? 1 : load_key(given, args.key != NULL, &key, err, sizeof(err));
	if (have >= 0 && args.trust != NULL &&
	    (trust = trust_load(args.trust, err, sizeof(err))) == NULL)
		have = -1;
	if (have < 0)
		shown_complain("%s: %s", defaults->program, err);
	else
		status = verify(&args, defaults, have == 0 ? &key : NULL, trust, result);
	if (have >= 0)
		verify_free(result);
	free(trust);
	free(result);
	return have < 0 ? EXIT_USAGE_OR_IO : status;
}
