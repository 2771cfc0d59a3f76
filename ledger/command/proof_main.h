/*
 * `countersign-verify proof`: does a tlog-proof (proof.h) show that a record is
 * in a log with this key?  Offline, and without the ledger.
 */
#ifndef LEDGER_COMMAND_PROOF_MAIN_H
#define LEDGER_COMMAND_PROOF_MAIN_H

/* argv[0] is skipped.  Exit status as countersign-verify's: 0 shown, 1 refuted,
 * 2 not established (no record was given), 3 usage or I/O. */
int proof_main(int argc, char **argv, const char *program);

#endif
