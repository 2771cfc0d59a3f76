/* What loading a ledger and loading a bundle share.  Private to load. */
#ifndef LEDGER_VERIFY_LOAD_IMPL_H
#define LEDGER_VERIFY_LOAD_IMPL_H

#include "ledger/verify/load.h"

/* The newest checkpoint, at path in the evidence; what is wrong with it becomes a
 * finding.  0, or -1 where memory lacks. */
int load_latest(struct load *load, const char *path, struct verify_result *result);

/* All of a bundle but keys and others' statements.  0, or -1 with a message. */
int load_bundle(struct load *load, const struct verify_options *options,
    struct verify_result *result, char *err, size_t err_len);

#endif
