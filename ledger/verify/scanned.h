/* Whether a `scan` record says one thing: what the broker counted, against the
 * verdict that it gives. */
#ifndef LEDGER_VERIFY_SCANNED_H
#define LEDGER_VERIFY_SCANNED_H

#include <stdbool.h>

#include "ledger/record/record.h"

/* NULL, or what it contradicts itself in, as static text.  Members that are not
 * there contradict nothing: older brokers did not say all of it. */
const char *scanned_misfit(const struct record_line *record);

/* Does it say that a secret was found? */
bool scanned_found(const struct record_line *record);

#endif
