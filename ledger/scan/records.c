/* A run's records, scanned where they lie. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ledger/evidence/evidence.h"
#include "ledger/io.h"
#include "ledger/recorder/segment.h"
#include "ledger/scan/scan.h"

#define READ_LEN (256 * 1024)
#define STEP 1024		/* records from one place that is remembered to the next */

/* What of the ledger's lines is wanted. */
struct range {
	struct scanner *scanner;
	uint64_t first, last, left;	/* left: bytes that may still be looked at */
	uint64_t index;			/* of the line that is read */
	struct scan_place *place;
};

/* The line begins at that offset. */
static void
note_place(struct range *range, uint64_t offset)
{
	if (range->index % STEP == 0 && range->index <= range->first)
		*range->place = (struct scan_place){ range->index, offset };
}

/* Feed what of a block, which lies at that offset, belongs to the range; false behind
 * its end. */
static bool
feed(struct range *range, const char *block, size_t len, uint64_t at)
{
	const char *p = block, *end = block + len, *from = NULL, *line_end;

	while (p < end && *p != '\0' && range->index <= range->last) {
		if (from == NULL && range->index >= range->first)
			from = p;
		line_end = memchr(p, '\n', (size_t)(end - p));
		p = line_end == NULL ? end : line_end + 1;
		if (line_end == NULL)
			break;
		range->index++;
		note_place(range, at + (uint64_t)(p - block));
	}
	if (from == NULL)
		return p == end;
	if ((uint64_t)(p - from) > range->left) {
		scanner_cannot(range->scanner, "more records than are scanned before sealing");
		return false;
	}
	range->left -= (uint64_t)(p - from);
	scanner_feed(range->scanner, from, (size_t)(p - from));
	return p == end;
}

static void
scan_segment(struct range *range, int dirfd, uint64_t first, char *block)
{
	char name[SEGMENT_NAME_MAX];
	uint64_t at = 0;
	ptrdiff_t n;
	int fd;

	segment_name(name, first);
	if ((fd = evidence_open(dirfd, name, NULL)) < 0) {
		scanner_cannot(range->scanner, strerror(errno));
		return;
	}
	range->index = first;
	if (range->place->index >= first && range->place->index <= range->first) {
		range->index = range->place->index;
		at = range->place->offset;
	}
	while ((n = io_read(fd, block, READ_LEN, at)) > 0 &&
	    feed(range, block, (size_t)n, at))
		at += (uint64_t)n;
	if (n < 0)
		scanner_cannot(range->scanner, strerror(errno));
	close(fd);
}

int
scanner_scan_records(struct scanner *scanner, const char *ledger,
    uint64_t first, uint64_t last, uint64_t max, struct scan_place *place,
    struct scan_result *result, char *err, size_t err_len)
{
	struct range range = { .scanner = scanner, .first = first, .last = last,
	    .left = max, .place = place };
	uint64_t segment = first / SEGMENT_RECORDS * SEGMENT_RECORDS;
	int dirfd;
	char *block;

	if (scanner_open(scanner, "records", result, err, err_len) != 0)
		return -1;
	dirfd = evidence_dir(ledger);
	block = malloc(READ_LEN);
	if (dirfd < 0 || block == NULL)
		scanner_cannot(scanner, strerror(errno));
	for (; dirfd >= 0 && block != NULL && segment <= last; segment += SEGMENT_RECORDS)
		scan_segment(&range, dirfd, segment, block);
	if (range.index <= last)
		scanner_cannot(scanner, "records are not there");
	free(block);
	if (dirfd >= 0)
		close(dirfd);
	scanner_close(scanner);
	return 0;
}
