/*
 * The daemon's own log: one line per event on standard error, as text or as
 * JSON.  It is for operating the daemon; the evidence is the ledger.  No
 * secret, token or byte of a request belongs into it.  Any thread.
 */
#ifndef BROKER_LOG_H
#define BROKER_LOG_H

#include <stdbool.h>
#include <stddef.h>

enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG };

/* "error", "warning", "info", "debug": 0, or -1 for another word. */
int log_set_level(const char *word);
void log_set_json(bool json);

/* event is one word ("started", "ledger_failed"); the rest is for people. */
void log_event(enum log_level level, const char *event, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Where standard error is the file path and has grown beyond max bytes: its
 * content (the last 2 * max bytes at most) becomes path.1, in place of what was there, and path is empty again.
 * Anything else that standard error may be (a terminal, the journal, a file that
 * somebody else chose) is not ours to cut.  Copied and truncated rather than
 * renamed, since every process of the daemon writes to that one open file (all
 * of them appending); a line that another one writes meanwhile can be lost.
 * Call it now and then, from one thread.
 */
#define LOG_FILE_MAX (1u << 20)
void log_trim(const char *path, size_t max);

#endif
