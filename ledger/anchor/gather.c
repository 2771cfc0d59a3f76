#include "ledger/anchor/gather.h"
#include "ledger/anchor/anchors.h"
#include "ledger/anchor/stamp.h"
#include "ledger/evidence/evidence.h"
#include "ledger/io.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DIGITS 20

/* ---- notes ---- */

/* Takes over text. */
static int
add_note(struct gather *gather, const struct gather_note *note)
{
	struct gather_note *more;

	if ((gather->notes & (gather->notes + 1)) == 0) {
		more = realloc(gather->note,
		    (2 * (size_t)gather->notes + 2) * sizeof(*more));
		if (more == NULL) {
			free(note->text);
			free(note->proof);
			return -1;
		}
		gather->note = more;
	}
	gather->note[gather->notes++] = *note;
	return 0;
}

/* What is no checkpoint of any log is passed over. */
static int
take_note(struct gather *gather, const char *text, size_t len,
    const struct submission *in)
{
	struct gather_note out = { .len = len };
	struct note note;
	const char *why;

	if (note_parse(&note, text, len, &why) != 0 ||
	    checkpoint_parse(&out.at, note.text, note.text_len) != 0)
		return 0;
	out.text = malloc(len + 1);
	out.proof = in != NULL ? malloc(sizeof(*out.proof)) : NULL;
	if (out.text == NULL || (in != NULL && out.proof == NULL)) {
		free(out.text);
		free(out.proof);
		return -1;
	}
	if (in != NULL) {
		*out.proof = in->proof;
		out.old_size = in->old_size;
	}
	memcpy(out.text, text, len);
	out.text[len] = '\0';
	return add_note(gather, &out);
}

/* Where the note that starts at p ends; NULL: it does not. */
static const char *
note_end(const char *p, const char *end)
{
	const char *blank = memmem(p, (size_t)(end - p), "\n\n", 2);

	if (blank == NULL)
		return NULL;
	p = note_signatures_end(blank + 2, end);
	return p == blank + 2 ? NULL : p;
}

static int
take_cosigned(struct gather *gather, const char *text, size_t len)
{
	const char *p = text, *end = text + len, *next;

	while (p < end && (next = note_end(p, end)) != NULL) {
		if (take_note(gather, p, (size_t)(next - p), NULL) != 0)
			return -1;
		for (p = next; p < end && *p == '\n'; p++)
			;
	}
	return 0;
}

/* The end of the file, from an entry's start. */
static char *
read_cosigned(int dirfd, size_t *len)
{
	uint64_t size = 0, from;
	int fd = evidence_open(dirfd, ANCHORS_DIR "/cosigned", &size);
	char *text = malloc(GATHER_COSIGNED_MAX + 1), *start;
	ptrdiff_t n = -1;

	from = size > GATHER_COSIGNED_MAX ? size - GATHER_COSIGNED_MAX : 0;
	if (fd >= 0 && text != NULL)
		n = io_read(fd, text, GATHER_COSIGNED_MAX, from);
	if (fd >= 0)
		close(fd);
	if (n < 0) {
		free(text);
		return NULL;
	}
	*len = (size_t)n;
	if (from == 0)
		return text;
	/* An entry ends with an empty line behind its signatures; two in a row
	 * are found in none. */
	start = memmem(text, *len, "=\n\n", 3);
	*len = start != NULL ? *len - (size_t)(start + 3 - text) : 0;
	if (start != NULL)
		memmove(text, start + 3, *len);
	return text;
}

/* ---- the directory ---- */

struct visit {
	struct gather *gather;
	int dirfd;
	bool bundle;
	const char *prefix;
	uint64_t *size;		/* of files that hold notes, by their names: in that order */
	size_t sizes;
};

static int
add_stamp(struct gather *gather, uint64_t size, const char *who, size_t n)
{
	struct gather_stamp *more;

	if (n == 0 || n >= sizeof(more->who))
		return 0;
	if ((gather->stamps & (gather->stamps + 1)) == 0) {
		more = realloc(gather->stamp,
		    (2 * (size_t)gather->stamps + 2) * sizeof(*more));
		if (more == NULL)
			return -1;
		gather->stamp = more;
	}
	more = &gather->stamp[gather->stamps++];
	*more = (struct gather_stamp){ .size = size };
	memcpy(more->who, who, n);
	return 0;
}

static int
add_size(struct visit *visit, uint64_t size)
{
	uint64_t *more;

	if ((visit->sizes & (visit->sizes + 1)) == 0) {
		more = realloc(visit->size, (2 * visit->sizes + 2) * sizeof(*more));
		if (more == NULL)
			return -1;
		visit->size = more;
	}
	visit->size[visit->sizes++] = size;
	return 0;
}

/* What cannot be read is passed over. */
static int
take_file(const struct visit *visit, uint64_t size)
{
	struct submission in;
	const char *why = "";
	char path[96], *text;
	size_t len;
	int status = 0;

	snprintf(path, sizeof(path), "%s%020" PRIu64 "%s", visit->prefix, size,
	    visit->bundle ? ".anchor" : ".note");
	text = evidence_read(visit->dirfd, path, SUBMISSION_MAX, &len);
	if (text == NULL)
		return 0;
	if (!visit->bundle)
		status = take_note(visit->gather, text, len, NULL);
	else if (submission_parse(&in, text, len, &why) == 0)
		status = take_note(visit->gather, in.note, in.note_len, &in);
	free(text);
	return status;
}

static int
by_size(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Of a ledger the latest, of a bundle the nearest: there is no end to what may lie
 * there, and each is held in memory. */
static int
take_files(const struct visit *visit)
{
	const size_t max = visit->bundle ? GATHER_BUNDLE_MAX : GATHER_NOTES_MAX;
	size_t from = !visit->bundle && visit->sizes > max ? visit->sizes - max : 0;

	if (visit->sizes > 1)
		qsort(visit->size, visit->sizes, sizeof(*visit->size), by_size);
	for (size_t i = from; i < visit->sizes && i - from < max; i++)
		if (take_file(visit, visit->size[i]) != 0)
			return -1;
	return 0;
}

/* <20 digits>.note, .anchor or .<who>.tsr below the prefix. */
static int
on_file(void *context, const char *path, uint64_t size, int regular)
{
	struct visit *visit = context;
	size_t prefix = strlen(visit->prefix), n = strlen(path);
	const char *name = path + prefix;

	if (!regular || strncmp(path, visit->prefix, prefix) != 0)
		return 0;
	visit->gather->alarms += strncmp(name, "alarm.", 6) == 0;
	if (strspn(name, "0123456789") != DIGITS || name[DIGITS] != '.')
		return 0;
	if (strcmp(name + DIGITS, visit->bundle ? ".anchor" : ".note") == 0)
		return add_size(visit, strtoull(name, NULL, 10));
	if (n < 4 || strcmp(path + n - 4, ".tsr") != 0 ||
	    (visit->bundle && visit->gather->stamps >= GATHER_BUNDLE_MAX))
		return 0;
	return add_stamp(visit->gather, strtoull(name, NULL, 10),
	    name + DIGITS + 1, n - prefix - DIGITS - 1 - 4);
}

static int
note_by_size(const void *a, const void *b)
{
	const struct gather_note *x = a, *y = b;

	return (x->at.size > y->at.size) - (x->at.size < y->at.size);
}

static int
stamp_by_size(const void *a, const void *b)
{
	const struct gather_stamp *x = a, *y = b;

	return (x->size > y->size) - (x->size < y->size);
}

int
gather_read(struct gather *gather, int dirfd, bool bundle)
{
	struct visit visit = { .gather = gather, .dirfd = dirfd,
	    .bundle = bundle, .prefix = bundle ? "ledger/" ANCHORS_DIR "/" :
	    ANCHORS_DIR "/" };
	char *text = NULL;
	size_t len = 0;
	int status = 0;

	*gather = (struct gather){ .notes = 0 };
	snprintf(gather->dir, sizeof(gather->dir), "%s", visit.prefix);
	if (!bundle && (text = read_cosigned(dirfd, &len)) != NULL)
		status = take_cosigned(gather, text, len);
	free(text);
	if (status == 0) {
		(void)evidence_walk(dirfd, on_file, &visit);
		status = take_files(&visit);
	}
	free(visit.size);
	if (gather->notes > 1)
		qsort(gather->note, gather->notes, sizeof(*gather->note),
		    note_by_size);
	if (gather->stamps > 1)
		qsort(gather->stamp, gather->stamps, sizeof(*gather->stamp),
		    stamp_by_size);
	return status;
}

void
gather_free(struct gather *gather)
{
	for (unsigned i = 0; i < gather->notes; i++) {
		free(gather->note[i].text);
		free(gather->note[i].proof);
	}
	free(gather->note);
	free(gather->stamp);
	*gather = (struct gather){ .notes = 0 };
}

void
gather_extent(const struct gather *gather, uint64_t *cosigned,
    uint64_t *stamped)
{
	struct note note;
	const char *why;

	*cosigned = 0;
	*stamped = gather->stamps > 0 ?
	    gather->stamp[gather->stamps - 1].size : 0;
	for (unsigned i = gather->notes; i > 0 && *cosigned == 0; i--) {
		const struct gather_note *at = &gather->note[i - 1];

		if (note_parse(&note, at->text, at->len, &why) == 0 &&
		    note.count > 1)
			*cosigned = at->at.size;
	}
}

uint8_t *
gather_stamp(const struct gather *gather, int dirfd,
    const struct gather_stamp *stamp, size_t *len)
{
	char path[192];

	snprintf(path, sizeof(path), "%s%020" PRIu64 ".%s.tsr", gather->dir,
	    stamp->size, stamp->who);
	return (uint8_t *)evidence_read(dirfd, path, STAMP_MAX, len);
}
