/* What the commands of `coverage` share.  Private to *_main.c. */
#ifndef LEDGER_COMMAND_MAIN_IMPL_H
#define LEDGER_COMMAND_MAIN_IMPL_H

#include "ledger/command/coverage_main.h"

enum { EXIT_USAGE_OR_IO = 3 };

/* A message; where to find help: the status to leave with. */
int coverage_complain(const struct coverage_defaults *defaults, const char *command,
    const char *what);
int coverage_usage(const struct coverage_defaults *defaults, const char *command);
/* The usage line and a text: 0. */
int coverage_help(const struct coverage_defaults *defaults, const char *command,
    const char *operands, const char *text);

/* A text to a file that is not there yet, or (NULL) standard output; the second signs
 * it with the key in a file, where it is a truth that can be signed.  0, or the status
 * to leave with, behind a message. */
int coverage_put(const struct coverage_defaults *defaults, const char *command,
    const char *path, const char *text, size_t len);
int coverage_put_signed(const struct coverage_defaults *defaults, const char *command,
    const char *keyfile, const char *path, const char *text, size_t len);

/* argv[0] is the command's name.  The status to leave with. */
int coverage_import(int argc, char **argv, const struct coverage_defaults *defaults);
int coverage_key(int argc, char **argv, const struct coverage_defaults *defaults);
int coverage_sign(int argc, char **argv, const struct coverage_defaults *defaults);

#endif
