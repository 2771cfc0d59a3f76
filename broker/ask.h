/*
 * Getting secret bytes from outside into locked memory, without a stop in
 * ordinary memory: descriptors, private files, the terminal.
 *
 * Every function returns one reference, or NULL with a message that never
 * holds a byte of what was read.  One final newline (LF or CRLF) is left out;
 * CR, LF and NUL elsewhere are refused, and so is nothing at all.
 */
#ifndef BROKER_ASK_H
#define BROKER_ASK_H

#include "secret.h"

/* To the end of file. what names it in messages: "standard input". */
struct secret *ask_fd(int fd, const char *what, char *err, size_t err_len);

/* A regular file; with private_only also one that nobody but its owner (us or
 * root) may read. */
struct secret *ask_file(const char *path, bool private_only, char *err,
    size_t err_len);

/* The same of a text of several lines, as a key in PEM; path NULL: standard input. */
struct secret *ask_text(const char *path, char *err, size_t err_len);

/* From the controlling terminal without echo; twice: and once more to be
 * sure.  NULL with a message also where there is no terminal. */
struct secret *ask_terminal(const char *prompt, bool twice, char *err,
    size_t err_len);
bool ask_has_terminal(void);

/*
 * The passphrase of the vault, from the first of these that is there:
 * fd (-1: none), file, $CREDENTIALS_DIRECTORY/passphrase (systemd),
 * $COUNTERSIGN_PASSPHRASE_FILE, conf_file (config.json), the terminal.
 */
struct ask_passphrase {
	int fd;
	const char *file, *conf_file;
	bool terminal, twice;
};
struct secret *ask_passphrase(const struct ask_passphrase *from, char *err,
    size_t err_len);

/* Would ask_passphrase find one without a terminal? */
bool ask_passphrase_stored(const char *file, const char *conf_file);

#endif
