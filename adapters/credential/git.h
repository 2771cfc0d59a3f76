/*
 * git's credential helper (gitcredentials(7), git-credential(1)): answers with
 * the run's placeholder for hosts that a binding covers, and with nothing for
 * others.  It holds no secret and asks nobody: what it knows stands in
 * COUNTERSIGN_BINDINGS, which `countersign run` sets.
 */
#ifndef ADAPTERS_CREDENTIAL_GIT_H
#define ADAPTERS_CREDENTIAL_GIT_H

#include "slice.h"

#include <stddef.h>

#define CREDENTIAL_GIT_IN_MAX 65536	/* bytes of one question */

/*
 * The answer to a question (lines of key=value): its length in out, 0 where no
 * binding covers the host, -1 with a message where the question is malformed.
 * bindings is the JSON text of COUNTERSIGN_BINDINGS.  Pure.
 */
int credential_git_answer(struct slice question, const char *bindings,
    char *out, size_t cap, char *err, size_t err_len);

/* `countersign credential git get|store|erase`: argv[0] is "git". */
int credential_git(int argc, char **argv);

#endif
