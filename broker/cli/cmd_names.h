/*
 * Names for a shell's completion: quick, without a passphrase, and without a word
 * where there is nothing to be known (no home, no daemon, a slow one).  A daemon is
 * never started.
 */
#ifndef BROKER_CLI_CMD_NAMES_H
#define BROKER_CLI_CMD_NAMES_H

/* What may stand in a place of a command line: where path is the command (" secret
 * revoke") and option NULL for an operand, or the option's name.  A kind of
 * cmd_names(), or NULL. */
const char *cmd_names_kind(const char *path, const char *option);

/* One a line, on standard output: "secrets", "bindings", "runs", "approvals", "packs",
 * "services".  0, or -1 for another kind.  Only such as no shell finds anything in. */
int cmd_names(const char *kind);

#endif
