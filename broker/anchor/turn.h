/*
 * One turn of asking: the latest checkpoint to every witness that has not
 * cosigned it (c2sp.org/tlog-witness), and, where one is due, to every
 * authority for a time stamp (RFC 3161).  What comes back is checked and kept
 * (ledger/anchor/anchors.h).
 *
 * While nothing is written a witness is asked again now and then, so that a run that
 * is opened next can name a time that is not long ago.
 *
 * A witness that contradicts us is asked once, recorded, and never again until
 * somebody has looked and removed its alarm: asking on would ask it to forget.
 */
#ifndef BROKER_ANCHOR_TURN_H
#define BROKER_ANCHOR_TURN_H

#include "anchor/post.h"
#include "anchor/recent.h"
#include "anchor/status.h"
#include "ledger/anchor/submission.h"
#include "ledger/tree/note.h"

#include <stdbool.h>

struct turn_witness {
	struct note_key key;
	uint64_t at;		/* the size that it is at, as far as we know */
	char who[2 * NOTE_ID_LEN + 3];	/* in names of files */
	uint64_t fresh_s;	/* it cosigned in this turn, then; 0: it did not */
	int64_t asked_ms;	/* monotonic, when it cosigned last */
};

struct turn {
	const struct conf_anchors *conf;
	struct anchor_shared *shared;
	int ledger_fd, anchors_fd;
	long timeout_ms;	/* of one call */
	struct turn_witness witness[CONF_WITNESSES_MAX];
	struct recent recent;
	int64_t stamped_ms[CONF_AUTHORITIES_MAX];	/* monotonic; 0: never */

	/* of this turn */
	char note[NOTE_MAX + 1];
	size_t note_len;
	struct checkpoint at;
	bool again;		/* the witness that is asked has cosigned this one before */
	bool shown;		/* epochs, to the witness that is asked */
	char cosigned[2 * NOTE_MAX];
	size_t cosigned_len;
	char body[SUBMISSION_MAX + 1];
	struct post_reply reply;
};

/* Keys from the settings, states from the directory. */
void turn_init(struct turn *turn);

/* stamps: also where none is due, once for what is not stamped. */
void turn_run(struct turn *turn, bool stamps);

#endif
