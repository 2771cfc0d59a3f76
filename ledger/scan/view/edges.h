/*
 * What archives put side by side without anything between: a member's last word and
 * the next one's name, a name and what a link of that name leads to.  Private to the
 * scanner; pure.
 */
#ifndef LEDGER_SCAN_VIEW_EDGES_H
#define LEDGER_SCAN_VIEW_EDGES_H

#include "ledger/scan/view/view.h"

/* An archive whose members' headers have no magic: each tells where the next one is. */
struct scan_archive {
	enum { SCAN_NO_ARCHIVE, SCAN_TAR_V7, SCAN_AR } kind;
	size_t next;	/* a header, in the part; behind its end where it is not there */
};

/* Whether the text begins like one. */
struct scan_archive scan_archive_at_start(const uint8_t *text, size_t len);

/*
 * Adds the words on both sides of each edge, apart from one another, to a view that
 * was cleared.  place: where the engine saw what may be a header, in any order.
 * archive goes on to the first header at `keep` or behind.  0, or -1 where memory lacks.
 */
int scan_view_edges(const struct scan_part *part, const size_t *place, size_t places,
    struct scan_archive *archive, size_t keep, struct scan_view *view);

#endif
