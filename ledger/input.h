/*
 * A file that a person names to be read: a FIFO that nobody writes to would hold up
 * whoever opens it for ever, and a device might never end.
 */
#ifndef LEDGER_INPUT_H
#define LEDGER_INPUT_H

#include <stdbool.h>
#include <stdio.h>

/* For reading; a FIFO with a writer (`<(...)` of a shell) is waited for, as standard
 * input is.  NULL with errno: ENXIO for a FIFO without one, ENODEV for a device or a
 * socket. */
FILE *input_open(const char *path);

/* False for what is there and no plain file: a library that opens a path by itself
 * would wait for a FIFO for ever.  NULL is fine. */
bool input_is_file(const char *path);

/* What to say of that errno. */
const char *input_why(int error);

#endif
