/* The scanner's self-test.  Private to the scanner. */
#ifndef LEDGER_SCAN_CANARY_H
#define LEDGER_SCAN_CANARY_H

#include "ledger/scan/stream.h"

/* Whether a made-up token is found raw, in base64, escaped and in gzip, and the
 * tags' fixture by the tags, if there are any.  A scanner that misses one is
 * broken and must not say that anything is clean. */
bool scan_canary_found(struct scan_worker *worker, bool tags);

/* The same for a scan that knows secrets only: one that is no secret is found
 * plainly, in base64 and in hexadecimal. */
bool scan_canary_secret_found(void);

#endif
