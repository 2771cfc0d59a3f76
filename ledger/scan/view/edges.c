/* The edges of the members of archives, where these lie uncompressed: tar, zip, cpio. */
#include "ledger/scan/view/edges.h"

#include <stdlib.h>
#include <string.h>

#include "ledger/scan/view/escape.h"

#define EDGES_MAX 6	/* of one header */
#define CONTEXT 48	/* bytes kept in front of a word */
#define WORD_MAX 65536	/* of it on either side */

#define TAR_MAGIC 257	/* where it stands in its header */
#define CPIO_HEADER 110
#define ZIP_END 22

struct edges {
	const struct scan_part *part;
	size_t *at;
	size_t n;
};

static void
put(struct edges *edges, size_t at)
{
	if (at > 0 && at < edges->part->len)
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
    struct scan_view *view)
{
	struct edges edges = { part, NULL, 0 };
	size_t i, from = 0;
	int result = 0;

	if (places == 0)
		return 0;
	if ((edges.at = reallocarray(NULL, places, EDGES_MAX * sizeof(*edges.at))) == NULL)
		return -1;
	for (i = 0; i < places; i++)
		header_edges(&edges, place[i]);
	if (edges.n > 1)
		qsort(edges.at, edges.n, sizeof(*edges.at), by_place);
	for (i = 0; edges.n > 0 && i <= edges.n && result == 0; i++) {
		result = between(part, from, i < edges.n ? edges.at[i] : part->len, view);
		from = i < edges.n ? edges.at[i] : part->len;
	}
	free(edges.at);
	return result;
}
