/* What was adopted, over a restart: HOME/packs/discovered.json. */
#ifndef BROKER_DISCOVER_STATE_H
#define BROKER_DISCOVER_STATE_H

#include "discover/revision.h"

#define STATE_NAME "discovered.json"

/* No file, or one about another source: an empty history, which is 0, too; -1
 * with a message where there is one that cannot be understood. */
int state_read(const char *packs, const char *from,
    struct revision_history *out, char *err, size_t err_len);
int state_write(const char *packs, const char *from,
    const struct revision_history *history, char *err, size_t err_len);

#endif
