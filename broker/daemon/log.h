/*
 * The daemon's own log: one line per event on standard error, as text or as
 * JSON.  It is for operating the daemon; the evidence is the ledger.  No
 * secret, token or byte of a request belongs into it.  Any thread.
 */
#ifndef BROKER_DAEMON_LOG_H
#define BROKER_DAEMON_LOG_H

#include <stdbool.h>

enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG };

/* "error", "warning", "info", "debug": 0, or -1 for another word. */
int log_set_level(const char *word);
void log_set_json(bool json);

/* event is one word ("started", "recorder_gone"); the rest is for people. */
void log_event(enum log_level level, const char *event, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
