/*
 * How fast the scanner is, in CPU time of one thread: the formats alone, and
 * everything, on source code of this machine, on logs full of hashes, and on
 * one long base64; with tags and with known secrets; and how many findings it
 * has in what should have none.
 *
 *   bench_scan [DIRECTORY]...   instead of /usr/include and /usr/share/doc
 */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <sodium.h>

#include "ledger/scan/format/engine.h"
#include "ledger/scan/stream.h"

#define SAMPLE (48u * 1024 * 1024)

static uint8_t *sample;
static size_t sample_len;
static char err[200];

static double
cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- samples ---- */

static int
add_file(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	FILE *in;

	if (kind != FTW_F || sample_len == SAMPLE || (in = fopen(path, "re")) == NULL)
		return 0;
	sample_len += fread(sample + sample_len, 1, SAMPLE - sample_len, in);
	fclose(in);
	return sample_len == SAMPLE;
}

static void
source(int argc, char **argv)
{
	int i;

	sample_len = 0;
	for (i = 1; i < argc; i++)
		nftw(argv[i], add_file, 32, FTW_PHYS);
	if (argc < 2) {
		nftw("/usr/include", add_file, 32, FTW_PHYS);
		nftw("/usr/share/doc", add_file, 32, FTW_PHYS);
	}
}

/* What a build or a registry logs: hashes of all kinds, one line each. */
static void
hash_log(void)
{
	uint8_t digest[64];
	char hex[129], base64[96];
	uint64_t i;

	sample_len = 0;
	for (i = 0; sample_len + 512 < SAMPLE; i++) {
		crypto_generichash(digest, sizeof(digest), (const uint8_t *)&i, sizeof(i),
		    NULL, 0);
		sodium_bin2hex(hex, sizeof(hex), digest, 32);
		sodium_bin2base64(base64, sizeof(base64), digest, sizeof(digest),
		    sodium_base64_VARIANT_ORIGINAL);
		sample_len += (size_t)sprintf((char *)sample + sample_len,
		    "2026-11-29T12:%02u:%02u.%06uZ level=info pkg=%.40s sha256:%s integrity=sha512-%s size=%u\n",
		    (unsigned)(i / 60 % 60), (unsigned)(i % 60), (unsigned)i % 1000000, hex + 7, hex,
		    base64, (unsigned)i);
	}
}

static void
base64_dump(void)
{
	static uint8_t noise[3 * 1024];
	size_t i;

	sample_len = 0;
	randombytes_buf(noise, sizeof(noise));
	for (i = 0; sample_len + 8192 < SAMPLE; i++) {
		noise[i % sizeof(noise)]++;
		sodium_bin2base64((char *)sample + sample_len, 8192, noise, sizeof(noise),
		    sodium_base64_VARIANT_ORIGINAL);
		sample_len += 4096;
	}
}

/* ---- measures ---- */

static unsigned found, advisory, incomplete;

static void
on_found(void *context, const struct scan_found *f)
{
	if (f->confidence == SCAN_LOW || f->identifier)
		advisory++;
	else
		found++;
}

static void
on_incomplete(void *context, const char *chain, const char *why)
{
	incomplete++;
}

static double
formats_alone(void)
{
	struct scan_engine *engine = scan_engine_new(err, sizeof(err));
	struct scan_hits hits = { 0 };
	double began = cpu();
	size_t at, n;

	for (at = 0; engine != NULL && at < sample_len; at += n) {
		n = sample_len - at < SCAN_BLOCK ? sample_len - at : SCAN_BLOCK;
		scan_engine_run(engine, sample + at, n, NULL, &hits);
	}
	began = cpu() - began;
	scan_engine_free(engine);
	scan_hits_free(&hits);
	return began;
}

static double
everything(struct scan_needles *needles, const struct scan_tags *tags)
{
	struct scan_worker *worker = scan_worker_new(needles, tags, &scan_engine_formats, err, sizeof(err));
	struct scan_sink sink = { on_found, on_incomplete, NULL };
	struct scan_stream *stream;
	double began = cpu();

	found = advisory = incomplete = 0;
	if (worker == NULL)
		return 0;
	stream = scan_stream_new(worker, &sink, SCAN_BLOCK, SCAN_OVERLAP);
	scan_stream_feed(stream, sample, sample_len);
	scan_stream_end(stream);
	began = cpu() - began;
	scan_worker_free(worker);
	return began;
}

/* 40 secrets, as the vault of a team might have. */
static struct scan_needles *
secrets(struct scan_tags **tags)
{
	struct scan_needles *needles = scan_needles_new();
	struct scan_tags_writer *writer = scan_tags_writer_new();
	char commitment[SCAN_TAGS_COMMITMENT_MAX], value[64], *text;
	uint8_t raw[30];
	size_t len;
	int i;

	for (i = 0; i < 40; i++) {
		randombytes_buf(raw, sizeof(raw));
		sodium_bin2base64(value, sizeof(value), raw, sizeof(raw),
		    sodium_base64_VARIANT_URLSAFE_NO_PADDING);
		scan_needles_add(needles, "bench", (const uint8_t *)value, strlen(value));
		scan_tags_add(writer, (const uint8_t *)value, strlen(value));
	}
	text = scan_tags_write(writer, &len, commitment);
	*tags = text == NULL ? NULL : scan_tags_read(text, len, err, sizeof(err));
	free(text);
	scan_tags_writer_free(writer);
	return needles;
}

static void
measure(const char *name, struct scan_needles *needles,
    const struct scan_tags *tags)
{
	double mb = (double)sample_len / 1e6, formats, all;

	if (sample_len == 0) {
		printf("%-22s nothing there\n", name);
		return;
	}
	formats = formats_alone();
	all = everything(NULL, NULL);
	printf("%-22s %6.1f MB  formats %5.0f MB/s  everything %4.0f MB/s  %u found, %u advisory, "
	    "%u not looked at\n", name, mb, mb / formats, mb / all, found, advisory, incomplete);
	printf("%-22s            with tags of 40 secrets %4.0f MB/s  with their values %4.0f MB/s\n",
	    "", mb / everything(NULL, tags), mb / everything(needles, NULL));
}

int
main(int argc, char **argv)
{
	struct scan_tags *tags = NULL;
	struct scan_needles *needles;

	if (sodium_init() < 0 || (sample = malloc(SAMPLE)) == NULL)
		return 1;
	needles = secrets(&tags);
	scan_engine_free(scan_engine_new(err, sizeof(err)));	/* compiles once */
	source(argc, argv);
	measure("source, documentation", needles, tags);
	hash_log();
	measure("logs full of hashes", needles, tags);
	base64_dump();
	measure("base64 of noise", needles, tags);
	scan_needles_free(needles);
	scan_tags_free(tags);
	free(sample);
	return 0;
}
