/*
 * What the adapters of a ledger published (`coverage` records), as the three lists of
 * a VLC-1 coverage declaration: each kind of action under the adapter that names it,
 * such as "proxy@broker:http"; what it cannot see "...:beyond", what it leaves out
 * "...:left-out".  No name stands in two lists, and none holds a comma or a space.
 */
#ifndef LEDGER_EXPORT_VLC1_SIGHTS_H
#define LEDGER_EXPORT_VLC1_SIGHTS_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#define VLC1_SIGHTS_MAX 16	/* adapters that are told apart */
#define VLC1_SIGHT_LIST_MAX 512	/* bytes of one's list */
#define VLC1_LIST_MAX 2000	/* of all of them */

enum vlc1_list { VLC1_SEES, VLC1_LEAVES_OUT, VLC1_CANNOT_SEE, VLC1_LISTS };

struct vlc1_sight {
	char who[160];
	uint64_t index;			/* of the record */
	char list[VLC1_LISTS][VLC1_SIGHT_LIST_MAX];
};

struct vlc1_sights {
	struct vlc1_sight one[VLC1_SIGHTS_MAX];
	unsigned n;
};

/* From a record's body: its adapter's manifest in place of the one before, which
 * with first_only stays.  Whether that changed anything; what cannot be read, or is
 * too much, does not. */
bool vlc1_sights_take(struct vlc1_sights *sights, json_t *body, uint64_t index,
    bool first_only);

/* "a,b,c": a name that does not fit is told as "more". */
void vlc1_sights_list(const struct vlc1_sights *sights, enum vlc1_list which,
    char out[VLC1_LIST_MAX]);

#endif
