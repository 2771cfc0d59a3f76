/* What the broker itself gives up; the order of a start is in broker/DESIGN.md. */
#ifndef BROKER_CONFINE_BROKER_H
#define BROKER_CONFINE_BROKER_H

#include <stddef.h>

/*
 * ledger_options.confine of the daemon; arg is its struct conf.  Behind the
 * recorder's fork and before any thread, since it holds for threads that start
 * afterwards only: nothing outside the home is written, and in it only the vault,
 * run/ and packs/; the ledger is the recorder's (unless that is a thread).  Read
 * is what libraries need (certificates, resolver, modules) and /proc, where
 * callers are looked up.  0, or -1 with a message.
 */
int confine_broker(void *arg, char *err, size_t err_len);

#endif
