#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ledger/evidence/evidence.h"
#include "ledger/io.h"
#include "ledger/verify/walk_slot.h"

#define READ_MORE (16 * 1024)		/* where a guess was too low */
#define LINE_ROOM (RECORD_LINE_MAX + 2)	/* a line that is one byte too long, and LF */

static int
next_segment(struct walk_reader *r, char *err, size_t err_len)
{
	const char *path = r->walk->segments[r->segment].path;

	r->fd = evidence_open(r->walk->dirfd, path, NULL);
	if (r->fd < 0) {
		snprintf(err, err_len, "%s: %s", path, errno == ELOOP ?
		    "a link, which evidence may not hold" : strerror(errno));
		return -1;
	}
	r->at = 0;
	r->line = 1;
	r->end = r->skip = false;
	return 0;
}

/* More bytes behind those in the buffer; none at the end of the segment. */
static int
more(struct walk_reader *r, struct walk_slot *slot, size_t want, char *err, size_t err_len)
{
	const uint64_t left = r->walk->segments[r->segment].bytes - r->at;
	ptrdiff_t n;

	if (want > WALK_BUFFER - slot->have)
		want = WALK_BUFFER - slot->have;
	if (want > left)
		want = (size_t)left;
	n = io_read(r->fd, slot->buf + slot->have, want, r->at);
	if (n < 0) {
		snprintf(err, err_len, "%s: %s", r->walk->segments[r->segment].path,
		    strerror(errno));
		return -1;
	}
	r->at += (uint64_t)n;
	r->bytes += (uint64_t)n;
	slot->have += (size_t)n;
	r->end = (size_t)n < want || want == left;
	return 0;
}

static void
add_line(struct walk_slot *slot, const char *text, size_t len)
{
	struct walk_line *line = &slot->lines[slot->batch.count++];

	line->text = text;
	line->len = (uint32_t)len;
}

/* Nothing but NUL from here on: space that a recorder took ahead, or that a
 * crash left.  It stops at the first other byte, so that it costs nothing. */
static bool
only_nul(struct walk_reader *r, const struct walk_slot *slot, size_t at)
{
	char block[4096];
	uint64_t offset = r->at;
	ptrdiff_t n;

	for (; at < slot->have; at++)
		if (slot->buf[at] != '\0')
			return false;
	while ((n = io_read(r->fd, block, sizeof(block), offset)) > 0) {
		if (block[0] != '\0' || memcmp(block, block + 1, (size_t)n - 1) != 0)
			return false;
		offset += (uint64_t)n;
	}
	return n == 0;
}

/* Where the records end in NULs, forget these and see the end here. */
static bool
cut_nul(struct walk_reader *r, struct walk_slot *slot, size_t at, size_t window)
{
	const char *nul = memchr(slot->buf + at, '\0', window);

	if (nul == NULL || !only_nul(r, slot, (size_t)(nul - slot->buf)))
		return false;
	slot->have = (size_t)(nul - slot->buf);
	r->end = true;
	return true;
}

/* Lines of the buffer from *at on; true while the batch can take more. */
static bool
split(struct walk_reader *r, struct walk_slot *slot, size_t *at, unsigned limit)
{
	const char *lf;
	size_t left, window;

	while (slot->batch.count < limit) {
		left = slot->have - *at;
		if (r->skip) {
			lf = memchr(slot->buf + *at, '\n', left);
			*at = lf == NULL ? slot->have : (size_t)(lf - slot->buf) + 1;
			r->skip = lf == NULL;
			if (r->skip)
				return true;
			continue;
		}
		window = left < LINE_ROOM ? left : LINE_ROOM;
		lf = memchr(slot->buf + *at, '\n', window);
		if (lf != NULL) {
			add_line(slot, slot->buf + *at, (size_t)(lf - slot->buf) - *at);
			*at = (size_t)(lf - slot->buf) + 1;
		} else if (cut_nul(r, slot, *at, window)) {
			return true;
		} else if (window == LINE_ROOM) {
			add_line(slot, slot->buf + *at, RECORD_LINE_MAX + 1);
			*at += window;
			r->skip = true;
		} else {
			return true;
		}
	}
	return false;
}

/* The segment's end: what is left of it ends no line. */
static void
end_segment(struct walk_reader *r, struct walk_slot *slot)
{
	slot->torn = r->rest_len + r->skip;
	slot->torn_line = r->line;
	r->rest_len = 0;
	close(r->fd);
	r->fd = -1;
	r->segment++;
}

int
walk_reader_fill(struct walk_reader *r, struct walk_slot *slot, char *err, size_t err_len)
{
	unsigned limit = WALK_LINES - (unsigned)(r->index % WALK_LINES);
	size_t at = 0;

	if (r->fd < 0 && next_segment(r, err, err_len) != 0)
		return -1;
	memmove(slot->buf, r->rest, r->rest_len);
	slot->have = r->rest_len;
	slot->torn = 0;
	slot->batch = (struct walk_batch){ .index = r->index, .segment = r->segment,
	    .line = r->line, .lines = slot->lines, .facts = slot->facts };
	while (split(r, slot, &at, limit)) {
		if (r->end || (slot->batch.count > 0 && WALK_BUFFER - slot->have == 0))
			break;
		if (r->skip)	/* nothing of it is kept, but the lines before are */
			slot->have = at = slot->batch.count > 0 ? at : 0;
		if (WALK_BUFFER - slot->have == 0)
			break;
		if (more(r, slot, r->guess > slot->have ? r->guess - slot->have :
		    READ_MORE, err, err_len) != 0)
			return -1;
	}
	slot->batch.bytes = at;
	r->index += slot->batch.count;
	r->line += slot->batch.count;
	r->rest = slot->buf + at;
	r->rest_len = slot->have - at;
	r->guess = at + at / 64 + READ_MORE;
	if (r->end && (slot->batch.count < limit || r->rest_len == 0))
		end_segment(r, slot);
	return 0;
}

void
walk_reader_begin(struct walk_reader *r, const struct walk *walk)
{
	*r = (struct walk_reader){ .walk = walk, .fd = -1, .index = walk->first,
	    .rest = "", .guess = WALK_BUFFER / 2 };
}

void
walk_reader_end(struct walk_reader *r)
{
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
}

bool
walk_reader_done(const struct walk_reader *r)
{
	return r->segment >= r->walk->segment_count;
}
