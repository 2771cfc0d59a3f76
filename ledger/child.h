/* What the processes that the daemon forks, and runs nothing else in, have in common. */
#ifndef LEDGER_CHILD_H
#define LEDGER_CHILD_H

/* Their owner tells them when to end; a terminal or a service manager that signals
 * the whole group would cost what is still under way. */
void child_ignore_signals(void);

#endif
