/* How long ago something was, for people. */
#ifndef BROKER_CLI_AGE_H
#define BROKER_CLI_AGE_H

#include <jansson.h>
#include <stddef.h>

/* "3 d", "2 h", ... since an RFC 3339 time or a Unix one; "?" of anything else.
 * Into buf, or a constant. */
const char *age_text(const json_t *since, char *buf, size_t cap);

#endif
