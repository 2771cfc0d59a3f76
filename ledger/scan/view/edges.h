/*
 * What archives put side by side without anything between: a member's last word and
 * the next one's name, a name and what a link of that name leads to.  Private to the
 * scanner; pure.
 */
#ifndef LEDGER_SCAN_VIEW_EDGES_H
#define LEDGER_SCAN_VIEW_EDGES_H

#include "ledger/scan/view/view.h"

/*
 * Adds the words on both sides of each edge, apart from one another, to a view that
 * was cleared.  place: where the engine saw what may be a header, in any order.
 * 0, or -1 where memory lacks.
 */
int scan_view_edges(const struct scan_part *part, const size_t *place, size_t places,
    struct scan_view *view);

#endif
