/* A bundle may be one file (ledger/bundle/archive.h); commands that read its
 * records read what was unpacked of it. */
#ifndef BROKER_CLI_UNPACKED_H
#define BROKER_CLI_UNPACKED_H

#define UNPACKED_MAX 16

/*
 * The directory to read in the place of path: path itself where it is no
 * bundle's file, else one that stays until the process ends.  The same for the
 * same path.  NULL after a message.  Before threads are started.
 */
const char *cli_unpacked(const char *path);

/* policy_command(), what it prints fit for a terminal. */
int cmd_policy(int argc, char **argv);

/* The same with the bundles' files among its operands unpacked. */
int cmd_policy_on_records(int argc, char **argv);

#endif
