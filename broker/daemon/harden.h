/*
 * What the daemon does to itself before it holds a key.  Applied after exec
 * (which resets them) and before the first secret is read.
 */
#ifndef BROKER_DAEMON_HARDEN_H
#define BROKER_DAEMON_HARDEN_H

#include <stdbool.h>
#include <stddef.h>

/* umask 077, no core file, not dumpable (so no ptrace and no /proc/PID/mem by
 * the same user), SIGPIPE ignored, no privileges gained by exec. 0, or -1. */
int harden_process(char *err, size_t err_len);

/* Raise RLIMIT_MEMLOCK as far as allowed and see whether memory can be locked:
 * libsodium ignores a failed mlock.  0, or -1 with a message; with allowed a
 * failure is a message and 0, and *locked is false. */
int harden_memory(bool allowed, bool *locked, char *err, size_t err_len);

/*
 * One page for keys: locked, left out of core files and of forked children
 * (the recorder must not inherit the vault's key).  NULL with a message.
 */
void *harden_key_page(bool must_lock, char *err, size_t err_len);
void harden_key_page_free(void *page);

/*
 * The C library's allocator as a daemon wants it, where it is glibc: two arenas
 * for all threads instead of one each, and no lists of small pieces that every
 * larger allocation first puts together again (each thread has its own beside
 * them).  Before any thread is started.
 */
void memory_begin(void);
/* Give back what only the start needed. */
void memory_trim(void);

#endif
