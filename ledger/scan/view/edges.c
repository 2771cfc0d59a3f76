/* The edges of the members of archives, where these lie uncompressed: tar, zip, cpio, ar. */
#include "ledger/scan/view/edges.h"

#include <stdlib.h>
#include <string.h>

#include "ledger/scan/view/escape.h"

#define CONTEXT 48	/* bytes kept in front of a word */
#define WORD_MAX 65536	/* of it on either side */

#define TAR_MAGIC 257	/* where it stands in its header */
#define TAR_BLOCK 512
#define AR_START 8	/* bytes in front of the first header */
#define AR_HEADER 60
#define CPIO_HEADER 110
#define ZIP_END 22

struct edges {
	const struct scan_part *part;
	size_t *at;
	size_t n, cap;
	bool failed;
};

static void
put(struct edges *edges, size_t at)
{
	size_t *more, cap = edges->cap == 0 ? 64 : 2 * edges->cap;

	if (at == 0 || at >= edges->part->len)
		return;
	if (edges->n == edges->cap) {
		if ((more = reallocarray(edges->at, cap, sizeof(*more))) == NULL) {
			edges->failed = true;
			return;
		}
		edges->at = more;
		edges->cap = cap;
	}
	edges->at[edges->n++] = at;
}

/* ---- headers ---- */

/* Its fields end in a NUL only where they are not full. */
static void
tar_edges(struct edges *edges, size_t magic)
{
	static const unsigned fields[] = { 0, 100, 157, 257, 345, 500 };
	size_t i;

	for (i = 0; magic >= TAR_MAGIC && i < sizeof(fields) / sizeof(fields[0]); i++)
		put(edges, magic - TAR_MAGIC + fields[i]);
}

static size_t
number(const uint8_t *p, unsigned bytes)
{
	size_t n = 0;

	while (bytes-- > 0)
		n = n << 8 | p[bytes];
	return n;
}

/* In front of a member, and in the list at the archive's end. */
static const struct zip_header {
	size_t len, lengths;	/* of it; where in it the lengths of what follows stand */
	unsigned fields;	/* name, extra, comment */
	size_t size;		/* where that of the data behind them stands; 0: no data */
} zip_member = { 30, 26, 2, 18 }, zip_listed = { 46, 28, 3, 0 };

static void
zip_fields(struct edges *edges, size_t at, const struct zip_header *header)
{
	const uint8_t *p = edges->part->text + at;
	unsigned i;

	if (edges->part->len - at < header->len)
		return;
	put(edges, at += header->len);
	for (i = 0; i < header->fields; i++)
		put(edges, at += number(p + header->lengths + 2 * (size_t)i, 2));
	if (header->size > 0)
		put(edges, at + number(p + header->size, 4));
}

static void
zip_edges(struct edges *edges, size_t at)
{
	put(edges, at);
	switch (edges->part->text[at + 2]) {
	case 1:
		zip_fields(edges, at, &zip_listed);
		break;
	case 3:
		zip_fields(edges, at, &zip_member);
		break;
	case 5:
		put(edges, at + ZIP_END);
		break;
	}
}

static void
header_edges(struct edges *edges, size_t at)
{
	switch (edges->part->text[at]) {
	case 'u':
		tar_edges(edges, at);
		break;
	case 'P':
		zip_edges(edges, at);
		break;
	case '0':
		put(edges, at);
		put(edges, at + CPIO_HEADER);
		break;
	}
}

/* ---- headers without a magic ---- */

/* The number in a field of digits and blanks; false where it is none. */
static bool
field(const uint8_t *p, size_t len, unsigned base, size_t *value)
{
	size_t i = 0, digits;

	for (*value = 0; i < len && p[i] == ' '; i++)
		;
	for (digits = i; i < len && p[i] >= '0' && p[i] < '0' + base; i++)
		*value = *value * base + (size_t)(p[i] - '0');
	return i > digits && (i == len || p[i] == ' ' || p[i] == '\0');
}

static bool
v7_header(const uint8_t *p, size_t *size)
{
	size_t sum = 0, told, i;

	if (p[0] == '\0' || memcmp(p + TAR_MAGIC, "ustar", 5) == 0 ||
	    !field(p + 124, 12, 8, size) || !field(p + 148, 8, 8, &told))
		return false;
	for (i = 0; i < TAR_BLOCK; i++)
		sum += i < 148 || i >= 156 ? p[i] : ' ';
	return sum == told;
}

static bool
ar_header(const uint8_t *p, size_t *size)
{
	return memcmp(p + 58, "`\n", 2) == 0 && field(p + 48, 10, 10, size);
}

static size_t
header_len(const struct scan_archive *archive)
{
	return archive->kind == SCAN_AR ? AR_HEADER : TAR_BLOCK;
}

static bool
header_at(const struct scan_archive *archive, const uint8_t *p, size_t *size)
{
	return archive->kind == SCAN_AR ? ar_header(p, size) : v7_header(p, size);
}

struct scan_archive
scan_archive_at_start(const uint8_t *text, size_t len)
{
	struct scan_archive archive = { SCAN_TAR_V7, 0 };
	size_t size;

	if (len > AR_START && memcmp(text, "!<arch>\n", AR_START) == 0)
		return (struct scan_archive){ SCAN_AR, AR_START };
	if (len < TAR_BLOCK || !v7_header(text, &size))
		archive.kind = SCAN_NO_ARCHIVE;
	return archive;
}

/* From header to header; the archive stays at the first one at `keep` or behind. */
static void
walk(struct edges *edges, struct scan_archive *archive, size_t keep)
{
	static const unsigned fields[] = { 0, 100, 157, 257, TAR_BLOCK };
	const uint8_t *text = edges->part->text;
	const size_t len = edges->part->len, header = header_len(archive), pad = archive->kind ==
	    SCAN_AR ? 2 : TAR_BLOCK;
	size_t at = archive->next, size, i;

	while (archive->kind != SCAN_NO_ARCHIVE && at < len && header <= len - at) {
		if (!header_at(archive, text + at, &size) || size > SIZE_MAX / 2) {
			archive->kind = SCAN_NO_ARCHIVE;
			return;
		}
		for (i = 0; archive->kind == SCAN_TAR_V7 && i < sizeof(fields) / sizeof(fields[0]); i++)
			put(edges, at + fields[i]);
		if (archive->kind == SCAN_AR) {
			put(edges, at);
			put(edges, at + header);
		}
		at += header + (size + pad - 1) / pad * pad;
		if (archive->next < keep)
			archive->next = at;
	}
}

static int
by_place(const void *a, const void *b)
{
	const size_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* ---- words ---- */

static bool
ends_word(uint8_t c)
{
	return scan_is_space(c) || c == '\0';
}

/* The start of the word that ends at `at`, with its context; no further than floor. */
static size_t
word_start(const uint8_t *text, size_t floor, size_t at)
{
	size_t start = at;

	while (start > floor && at - start < WORD_MAX && !ends_word(text[start - 1]))
		start--;
	if (start == at)
		return at;
	return start - floor < CONTEXT ? floor : start - CONTEXT;
}

static size_t
word_end(const uint8_t *text, size_t at, size_t end)
{
	size_t from = at;

	while (at < end && at - from < WORD_MAX && !ends_word(text[at]))
		at++;
	return at;
}

static int
copy(const struct scan_part *part, size_t from, size_t to, struct scan_view *view)
{
	if (from == to)
		return 0;
	if (scan_view_begin(view) != 0 || scan_view_room(view, to - from) != 0 ||
	    scan_map_add(&view->map, view->len, part->at + from, 1, 1) != 0)
		return -1;
	memcpy(view->text + view->len, part->text + from, to - from);
	view->len += to - from;
	return scan_view_end(view);
}

/* What lies between two edges: nothing is copied twice, however many there are. */
static int
between(const struct scan_part *part, size_t from, size_t to, struct scan_view *view)
{
	size_t end = from == 0 ? 0 : word_end(part->text, from, to);
	size_t start = to == part->len ? to : word_start(part->text, from, to);

	if (end >= start)
		return copy(part, from, to, view);
	return copy(part, from, end, view) != 0 ? -1 : copy(part, start, to, view);
}

int
scan_view_edges(const struct scan_part *part, const size_t *place, size_t places,
    struct scan_archive *archive, size_t keep, struct scan_view *view)
{
	struct edges edges = { part, NULL, 0, 0, false };
	size_t i, from = 0;
	int result;

	for (i = 0; i < places; i++)
		header_edges(&edges, place[i]);
	if (archive->kind != SCAN_NO_ARCHIVE)
		walk(&edges, archive, keep);
	result = edges.failed ? -1 : 0;
	if (edges.n > 1)
		qsort(edges.at, edges.n, sizeof(*edges.at), by_place);
	for (i = 0; edges.n > 0 && i <= edges.n && result == 0; i++) {
		result = between(part, from, i < edges.n ? edges.at[i] : part->len, view);
		from = i < edges.n ? edges.at[i] : part->len;
	}
	free(edges.at);
	return result;
}
