/*
 * What each witness and authority said last, in one file (ledger/anchor/after.h):
 * the daemon records it before it opens a run, and so the run is not older.
 */
#ifndef BROKER_ANCHOR_RECENT_H
#define BROKER_ANCHOR_RECENT_H

#include "anchor/status.h"
#include "ledger/anchor/cosign.h"

#include <stddef.h>
#include <stdint.h>

struct recent {
	struct recent_party {
		char note[COSIGN_PLAIN_MAX + 1];	/* with the log's signature alone; "": none */
		char line[COSIGN_LINE_MAX + 1];		/* a witness's */
		uint8_t *token;				/* an authority's */
		size_t token_len;
	} party[ANCHOR_PARTIES_MAX];
	bool changed;
};

/* Party i cosigned, or stamped, that note.  One that is too long is left out. */
void recent_cosigned(struct recent *recent, unsigned i, const char *note,
    const char *line);
void recent_stamped(struct recent *recent, unsigned i, const char *note,
    const uint8_t *token, size_t len);

/* What the authority of that name stamped before this start, out of anchors/. */
void recent_recall(struct recent *recent, unsigned i, int anchors_fd,
    uint64_t size, const char *who);

/* The file anew, where anything came.  name: of the authorities, by party. */
void recent_keep(struct recent *recent, int anchors_fd,
    const struct conf_anchors *conf);

#endif
