/* How much memory the vault's secrets want locked: each version that is not revoked
 * lies in a page of its own, and of those in use what redaction looks for does, too. */
#ifndef BROKER_GATE_LOCKED_H
#define BROKER_GATE_LOCKED_H

#include <stddef.h>

/* "", or where that is more than may be locked: "; 612 versions of secrets, 600 in
 * use, want about 14512 KiB ...", with what to do. */
void locked_want(size_t versions, size_t used, char *buf, size_t cap);

#endif
