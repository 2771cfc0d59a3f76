/* Files that somebody names on a command line: a truth, a manifest. */
#ifndef LEDGER_COVERAGE_GIVEN_H
#define LEDGER_COVERAGE_GIVEN_H

#include <stddef.h>

/* A regular file (links are followed) of at most max bytes, with a NUL behind it, to
 * be freed; NULL with a message. */
char *given_read(const char *path, size_t max, size_t *len, char *err, size_t err_len);

#endif
