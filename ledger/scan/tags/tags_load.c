#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ledger/evidence/evidence.h"
#include "ledger/io.h"
#include "ledger/record/record.h"
#include "ledger/scan/tags/tags.h"
#include "ledger/input.h"

#define BLOCK (1024 * 1024)
#define KEPT (RECORD_LINE_MAX + 1)	/* of the block before: a whole line */

struct scan_tags *
scan_tags_load(const char *path, char commitment[SCAN_TAGS_COMMITMENT_MAX],
    char *err, size_t err_len)
{
	char *text = malloc(SCAN_TAGS_FILE_MAX + 1), why[160];
	FILE *in = input_open(path);
	struct scan_tags *tags = NULL;
	size_t len;

	if (in == NULL || text == NULL) {
		snprintf(err, err_len, "%.200s: %s", path, input_why(errno));
		goto out;
	}
	len = fread(text, 1, SCAN_TAGS_FILE_MAX + 1, in);
	if (ferror(in) || len > SCAN_TAGS_FILE_MAX) {
		snprintf(err, err_len, "%.200s: %s", path, ferror(in) ? strerror(errno) :
		    "longer than any file of tags");
		goto out;
	}
	scan_tags_commitment(text, len, commitment);
	tags = scan_tags_read(text, len, why, sizeof(why));
	if (tags == NULL)
		snprintf(err, err_len, "%.200s: %s", path, why);
out:
	if (in != NULL)
		fclose(in);
	free(text);
	return tags;
}

/* ---- the ledger's word for it ---- */

struct search {
	int dirfd;
	char needle[SCAN_TAGS_COMMITMENT_MAX + 16];
	char *block;
	bool found;
};

/* The line around a member that says so is a scan record: its type stands in
 * front of the body, where nobody but the recorder writes. */
static bool
in_scan_record(const char *block, const char *at)
{
	const char *line = memrchr(block, '\n', (size_t)(at - block)), *body;

	line = line == NULL ? block : line + 1;
	body = memmem(line, (size_t)(at - line), "\"body\":", 7);
	return body != NULL &&
	    memmem(line, (size_t)(body - line), ",\"type\":\"scan\",", 15) != NULL;
}

static bool
search_block(struct search *search, size_t len)
{
	const char *p = search->block, *end = p + len;

	while ((p = memmem(p, (size_t)(end - p), search->needle,
	    strlen(search->needle))) != NULL) {
		if (in_scan_record(search->block, p))
			return true;
		p++;
	}
	return false;
}

static void
search_file(struct search *search, int fd)
{
	size_t kept = 0;
	uint64_t at = 0;
	ptrdiff_t n;

	while (!search->found && (n = io_read(fd, search->block + kept,
	    BLOCK, at)) > 0) {
		at += (uint64_t)n;
		kept += (size_t)n;
		search->found = search_block(search, kept);
		if (kept > KEPT) {
			memmove(search->block, search->block + kept - KEPT, KEPT);
			kept = KEPT;
		}
	}
	close(fd);
}

static bool
is_segment(const char *path)
{
	const size_t digits = strncmp(path, "records-", 8) == 0 ?
	    strspn(path + 8, "0123456789") : 0;

	return digits > 0 && strcmp(path + 8 + digits, ".jsonl") == 0;
}

static int
on_file(void *context, const char *path, uint64_t size, int regular)
{
	struct search *search = context;
	int fd;

	(void)size;
	if (regular && is_segment(path) &&
	    (fd = evidence_open(search->dirfd, path, NULL)) >= 0)
		search_file(search, fd);
	return search->found;
}

/* In the records alone: whatever else lies there is anybody's. */
static void
search_records(struct search *search)
{
	const int fd = evidence_open(search->dirfd, "ledger/records.jsonl", NULL);

	if (fd >= 0)
		search_file(search, fd);
	else
		(void)evidence_walk(search->dirfd, on_file, search);
}

bool
scan_tags_committed(const char *dir, const char *commitment)
{
	struct search search = { .block = malloc(BLOCK + KEPT) };

	snprintf(search.needle, sizeof(search.needle), "\"tags\":\"%s\"", commitment);
	search.dirfd = evidence_dir(dir);
	if (search.dirfd >= 0 && search.block != NULL)
		search_records(&search);
	if (search.dirfd >= 0)
		close(search.dirfd);
	free(search.block);
	return search.found;
}
