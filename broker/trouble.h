/* Errors of the system as people read them: what, where, and what to do. */
#ifndef BROKER_TROUBLE_H
#define BROKER_TROUBLE_H

#include <stddef.h>

/* "; free some space there" and the like, or "" where there is nothing to say. */
const char *trouble_remedy(int error);

/* "<what>: <the error's words><its remedy>" into err; -1.  Leaves errno alone. */
int trouble(char *err, size_t err_len, const char *what, int error);

#endif
