/*
 * Views: a text decoded, so that what hides in an encoding can be looked for
 * as if it stood there plainly.  Private to the scanner; pure.
 *
 * A view holds all that one kind of decoding found in a text, in segments that
 * are kept apart by a line end, a NUL and a line end, which no format crosses.
 */
#ifndef LEDGER_SCAN_VIEW_VIEW_H
#define LEDGER_SCAN_VIEW_VIEW_H

#include "ledger/scan/view/classes.h"
#include "ledger/scan/view/map.h"
#include "ledger/scan/view/packed.h"

#define SCAN_RUN_MIN 18		/* decoded bytes: no format is shorter */

struct scan_view {
	const char *name;	/* of the decoding: "base64" */
	uint8_t *text;
	size_t len, cap;
	struct scan_map map;
	size_t *segment;	/* where each begins; the separator is not in it */
	size_t *segment_len;
	size_t segments, segments_cap;
	bool again;		/* decoding made something that can be decoded so too */
};

/* What is decoded: a text of one window, or of a view of it. */
struct scan_part {
	const uint8_t *text;
	size_t len;
	const struct scan_map *map;	/* NULL: the window itself */
	size_t at;		/* where text[0] is in what the map describes */
	const struct scan_classes *classes;	/* of all of that */
	struct scan_packed_probe *probe;	/* NULL: nothing is unpacked */
	bool bytes;		/* what is looked for may be other than ASCII */
	size_t least;		/* bytes of the shortest thing that is looked for */
};

void scan_view_free(struct scan_view *view);	/* wipes */

/* Empty it, for views of what `below` describes. */
void scan_view_clear(struct scan_view *view, const char *name,
    const struct scan_map *below, bool shortened);

/*
 * Each adds what it finds to a view that was cleared, and returns 0, or -1
 * where memory lacks.
 *
 * unescape: percent, quoted-printable, \u \x \ooo and the short escapes, HTML
 * entities; drops line ends and indentation inside a word, NULs (and with them
 * UTF-16), terminal colours, zero-width characters.  Only words in which
 * something changed, with a little of what stands before them.  Shortened.
 * deltas: the strings that a model's answer is streamed in, put together.
 * Shortened.
 * runs: of base64 (both alphabets), hexadecimal, base32 and decimal bytes, every run that is
 * long enough, from every phase; of a part that was only shortened, only the
 * runs that are new in it.
 */
int scan_view_unescape(const struct scan_part *part, struct scan_view *view);
int scan_view_deltas(const struct scan_part *part, struct scan_view *view);
int scan_view_runs(const struct scan_part *part, struct scan_view *base64,
    struct scan_view *hex, struct scan_view *base32, struct scan_view *decimal);

/* For those that write views: room for more bytes; begin and end a segment;
 * forget the last one. */
int scan_view_room(struct scan_view *view, size_t more);
int scan_view_begin(struct scan_view *view);
int scan_view_end(struct scan_view *view);
void scan_view_drop(struct scan_view *view);

#endif
