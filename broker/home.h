/*
 * Where things are.  HOME is $COUNTERSIGN_HOME, else
 * $XDG_STATE_HOME/countersign, else ~/.local/state/countersign; 0700.
 *
 *   config.json  master.json  ca/ca.pem  ca/ca.key  ca/bundle.pem
 *   vault/store      the encrypted store; a directory of its own, so that the
 *                    broker may replace it and write nothing else
 *   pack/            the policy pack in force (directory bundle)
 *   packs/<64 hex>/  every pack that decided something, by digest
 *   ledger/          the recorder's: lock, records-*.jsonl, checkpoint, checkpoints, log.vkey, seed
 *   runs/<id>/       one run's evidence bundle
 *   run/             daemon.json (pid, ports, version), operator.sock, agent.sock,
 *                    reserve (reserve.h)
 */
#ifndef BROKER_HOME_H
#define BROKER_HOME_H

#include <stdbool.h>
#include <stddef.h>

/* The directory, absolute, found once and kept for the life of the process;
 * NULL with a message where no home can be found.  First call before any
 * thread is started. */
const char *home_dir(char *err, size_t err_len);

/* Can everything be named that will lie in a home of this path?  JSON wants
 * UTF-8, settings of other programs a single line, and a socket's address has
 * room for HOME_DIR_MAX bytes before it.  0, or -1 with a message. */
#define HOME_DIR_MAX 89
int home_name_check(const char *dir, char *err, size_t err_len);

/* Nobody but us and root may write path (a file, or a directory with all that is
 * in it), nor a directory from HOME down to it: what lies there says where
 * secrets go.  0, also for a path outside HOME; -1 with a message that says what
 * to do.  Links on the way are followed, those within are not. */
int home_check_owned(const char *path, char *err, size_t err_len);

/*
 * HOME/name is a directory (or a link to one) that nobody but us, root and the
 * home's owner may write; with make one that is not there is made (0700).  1: it was made; 0: it is
 * well, or not there and not to be made; -1 with a message that says what to do.
 */
int home_folder(const char *name, bool make, char *err, size_t err_len);

/*
 * The home is for its owner alone: that others may read or search it is taken away.
 * One that they may write is left, to be refused: nobody knows what they did.  1: it
 * was; 0: there was nothing to do, or it is not ours to change; -1 with a message.
 */
int home_narrow(char *err, size_t err_len);

/* Make HOME/run and HOME/runs where they are not there: a copy of a home that was put
 * back lacks the one for good reason and the other for want of space.  0, or -1 with
 * a message. */
int home_make_rooms(char *err, size_t err_len);

/* Is there a vault in HOME?  0, or -1 with a message that says what to do. */
int home_need_vault(char *err, size_t err_len);

/* HOME/name in a buffer of the caller; 0, or -1 where it does not fit. */
int home_path(const char *name, char *buf, size_t cap);

#endif
