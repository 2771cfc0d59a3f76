/*
 * What witnesses and authorities said last of the ledger, recorded before a run is
 * opened: the run's opening names that record, so that nobody can have made the run
 * up before they said it (ledger/anchor/after.h).
 *
 * It is taken from a file that the anchoring process writes, which parses what
 * strangers send: so nothing goes into a record but cosignatures of the ledger's own
 * checkpoints that are good under the keys of the settings and not dated ahead, and
 * tokens of the authorities named there, as bytes.  What will not do is left out and
 * logged; nobody waits for anybody outside, and no opening fails for it.
 */
#ifndef BROKER_GATE_ANCHORED_H
#define BROKER_GATE_ANCHORED_H

#include "conf/conf.h"
#include "gate/admin.h"

struct anchored;

/* NULL where nothing is configured, or memory lacks: then openings name none. */
struct anchored *anchored_new(const struct conf_anchors *conf, const char *ledger_dir);
void anchored_free(struct anchored *anchored);

/*
 * The latest of these records, written now where there is something new: 1; 0 where
 * there is none yet; -1 with a problem: it could not be recorded, so nothing can.
 */
int anchored_latest(struct anchored *anchored, struct ledger_port *port,
    const char *policy, struct ledger_receipt *out, struct gate_problem *why);

#endif
