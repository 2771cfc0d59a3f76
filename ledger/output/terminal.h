/* Whether what is written is seen on a terminal that can do more than text. */
#ifndef LEDGER_OUTPUT_TERMINAL_H
#define LEDGER_OUTPUT_TERMINAL_H

#include <stdbool.h>

/* A terminal (TERM set, and not dumb) whose user has not set NO_COLOR. */
bool terminal_colours(int fd);

/* A terminal on which a line can be drawn again. */
bool terminal_redraws(int fd);

/* --color=WHEN for standard output: always, never, auto.  0, or -1 for
 * another word. */
int terminal_colour_option(const char *when, bool *colour);

#endif
