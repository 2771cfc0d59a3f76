/*
 * Hashes as text: one a line, in base64 with its padding and in no other form,
 * as proofs (c2sp.org/tlog-proof) and submissions to witnesses
 * (c2sp.org/tlog-witness) have them.
 */
#ifndef LEDGER_TREE_HASH_LINES_H
#define LEDGER_TREE_HASH_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "ledger/tree/tree.h"

#define HASH_LINE_LEN 45	/* 44 digits and LF */

/* The lines of a proof, without NUL; out has room for count * HASH_LINE_LEN
 * bytes and one more.  The bytes written. */
size_t hash_lines_write(const struct tree_proof *proof, char *out);

/* Lines from *at up to an empty line, behind which *at then stands.  False
 * where that is not what is there, or more than most (TREE_PROOF_MAX at the
 * utmost). */
bool hash_lines_read(const char **at, const char *end, unsigned most,
    struct tree_proof *proof);

/* A decimal number in its one form, up to LF, behind which *at then stands. */
bool hash_lines_number(const char **at, const char *end, uint64_t *number);

#endif
