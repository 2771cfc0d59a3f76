/* The data document as packs/DATA.md describes it. */
#ifndef POLICY_COMMAND_DATA_H
#define POLICY_COMMAND_DATA_H

#include "policy/value/value.h"

/* Print a warning, with the place, for each member that is of another type or
 * form than DATA.md says, or that nobody reads.  Members at the top that DATA.md does
 * not know are the pack's own, unless they look like one that it knows.  How many
 * warnings. */
unsigned command_data_check(const struct value *data);

/* The same for the pack in that place; none where it cannot be loaded. */
unsigned command_data_look(const char *pack_path);

#endif
