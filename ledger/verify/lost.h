/* What a `loss` record says: records that an adapter had and could not hand over. */
#ifndef LEDGER_VERIFY_LOST_H
#define LEDGER_VERIFY_LOST_H

#include <stddef.h>

#include "ledger/record/record.h"

/* Who lost how many, and why, for people: buf, or static text of a record that does not
 * say it.  count: at least one, which any loss is. */
const char *lost_say(const struct record_line *record, char *buf, size_t cap, uint64_t *count);

#endif
