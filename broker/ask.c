#include "ask.h"
#include "trouble.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <sodium.h>

#define ASK_CAP (SECRET_MAX + 3)	/* a final CRLF, and one byte too many */

static struct secret *
finish(uint8_t *buf, size_t len, bool lines, const char *what, char *err,
    size_t err_len)
{
	struct secret *secret = NULL;
	const char *why = NULL;

	if (len == 0)
		why = "is empty";
	else if (lines)
		why = memchr(buf, '\0', len) != NULL ? "contains NUL" : NULL;
	else
		why = secret_check(buf, &len);
	if (why != NULL)
		snprintf(err, err_len, "%s %s", what, why);
	else if ((secret = secret_new(buf, len)) == NULL)
		snprintf(err, err_len, "%s: no locked memory for it "
		    "(see `ulimit -l`)", what);
	sodium_free(buf);
	return secret;
}

static struct secret *
read_all(int fd, bool lines, const char *what, char *err, size_t err_len)
{
	uint8_t *buf = sodium_malloc(ASK_CAP);
	size_t len = 0;
	ssize_t got;

	if (buf == NULL) {
		snprintf(err, err_len, "%s: out of memory", what);
		return NULL;
	}
	while (len < ASK_CAP) {
		got = read(fd, buf + len, ASK_CAP - len);
		if (got == 0)
			break;
		if (got > 0) {
			len += (size_t)got;
		} else if (errno != EINTR) {
			snprintf(err, err_len, "%s: %s", what, strerror(errno));
			sodium_free(buf);
			return NULL;
		}
	}
	if (len == ASK_CAP) {
		snprintf(err, err_len, "%s: longer than %d bytes", what,
		    SECRET_MAX);
		sodium_free(buf);
		return NULL;
	}
	return finish(buf, len, lines, what, err, err_len);
}

struct secret *
ask_fd(int fd, const char *what, char *err, size_t err_len)
{
	return read_all(fd, false, what, err, err_len);
}

/* NULL, or why this is not a file to keep a secret in. */
static const char *
file_fault(const struct stat *st, bool private_only)
{
	if (!S_ISREG(st->st_mode))
		return "is not a regular file: name one";
	if (!private_only)
		return NULL;
	if (st->st_uid != geteuid() && st->st_uid != 0)
		return "belongs to another user: chown it";
	if ((st->st_mode & 077) != 0)
		return "may be read by others; chmod 600 it";
	return NULL;
}

static struct secret *
read_file(const char *path, bool private_only, bool lines, char *err, size_t err_len)
{
	struct secret *secret = NULL;
	const char *fault;
	struct stat st;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd == -1 || fstat(fd, &st) != 0) {
		(void)trouble(err, err_len, path, errno);
	} else if ((fault = file_fault(&st, private_only)) != NULL) {
		snprintf(err, err_len, "%s %s", path, fault);
	} else {
		secret = read_all(fd, lines, path, err, err_len);
	}
	if (fd != -1)
		close(fd);
	return secret;
}

struct secret *
ask_file(const char *path, bool private_only, char *err, size_t err_len)
{
	return read_file(path, private_only, false, err, err_len);
}

struct secret *
ask_text(const char *path, char *err, size_t err_len)
{
	return path != NULL ? read_file(path, false, true, err, err_len) :
	    read_all(STDIN_FILENO, true, "standard input", err, err_len);
}

/* --- the terminal ---------------------------------------------------- */

static volatile sig_atomic_t caught;

static void
on_signal(int number)
{
	caught = number;
}

bool
ask_has_terminal(void)
{
	int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);

	if (fd == -1)
		return false;
	close(fd);
	return true;
}

/* Read up to a newline; the newline is not stored. -1 on error or signal. */
static ssize_t
read_line(int tty, uint8_t *buf)
{
	size_t len = 0;
	ssize_t got;

	for (;;) {
		if (len == ASK_CAP)
			return (ssize_t)len;
		got = read(tty, buf + len, 1);
		if (got <= 0)
			return got == 0 && len > 0 ? (ssize_t)len : -1;
		if (buf[len] == '\n')
			return (ssize_t)len;
		len++;
	}
}

static struct secret *
ask_once(int tty, const char *prompt, char *err, size_t err_len)
{
	uint8_t *buf = sodium_malloc(ASK_CAP);
	ssize_t len = -1;

	if (buf == NULL) {
		snprintf(err, err_len, "out of memory");
		return NULL;
	}
	if (dprintf(tty, "%s: ", prompt) > 0)
		len = read_line(tty, buf);
	(void)dprintf(tty, "\n");
	if (len < 0 || len == ASK_CAP) {
		snprintf(err, err_len, "%s: %s", prompt,
		    len < 0 ? "nothing was entered" : "too long");
		sodium_free(buf);
		return NULL;
	}
	return finish(buf, (size_t)len, false, prompt, err, err_len);
}

static struct secret *
ask_twice(int tty, const char *prompt, char *err, size_t err_len)
{
	struct secret *first = NULL, *again = NULL;
	char text[128];
	struct slice a;

	snprintf(text, sizeof(text), "%s, again", prompt);
	if ((first = ask_once(tty, prompt, err, err_len)) == NULL ||
	    (again = ask_once(tty, text, err, err_len)) == NULL)
		goto bad;
	a = secret_bytes(first);
	if (!secret_equal(again, a.p, a.n)) {
		snprintf(err, err_len, "the two entries differ");
		goto bad;
	}
	secret_unref(again);
	return first;
bad:
	secret_unref(first);
	secret_unref(again);
	return NULL;
}

struct secret *
ask_terminal(const char *prompt, bool twice, char *err, size_t err_len)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction act = { .sa_handler = on_signal }, old[4];
	struct termios saved, quiet;
	struct secret *secret;
	int tty;
	size_t i;

	tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	if (tty == -1 || tcgetattr(tty, &saved) != 0) {
		snprintf(err, err_len, "no terminal to ask for: %s", prompt);
		if (tty != -1)
			close(tty);
		return NULL;
	}
	/* Echo comes back whatever ends the reading; then the signal counts. */
	caught = 0;
	for (i = 0; i < 4; i++)
		sigaction(signals[i], &act, &old[i]);
	quiet = saved;
	quiet.c_lflag &= ~(tcflag_t)(ECHO | ECHOE | ECHOK | ECHONL);
	tcsetattr(tty, TCSAFLUSH, &quiet);
	secret = twice ? ask_twice(tty, prompt, err, err_len) :
	    ask_once(tty, prompt, err, err_len);
	tcsetattr(tty, TCSAFLUSH, &saved);
	for (i = 0; i < 4; i++)
		sigaction(signals[i], &old[i], NULL);
	close(tty);
	if (caught != 0) {
		secret_unref(secret);
		raise(caught);
		snprintf(err, err_len, "interrupted");
		return NULL;
	}
	return secret;
}

/* --- the passphrase -------------------------------------------------- */

static const char *
credential_path(char *buf, size_t cap)
{
	const char *dir = getenv("CREDENTIALS_DIRECTORY");
	int n;

	if (dir == NULL || dir[0] != '/')
		return NULL;
	n = snprintf(buf, cap, "%s/passphrase", dir);
	if (n < 0 || (size_t)n >= cap || access(buf, R_OK) != 0)
		return NULL;
	return buf;
}

static const char *
env_path(void)
{
	const char *path = getenv("COUNTERSIGN_PASSPHRASE_FILE");

	return path != NULL && path[0] != '\0' ? path : NULL;
}

bool
ask_passphrase_stored(const char *file, const char *conf_file)
{
	char buf[PATH_MAX];

	return file != NULL || credential_path(buf, sizeof(buf)) != NULL ||
	    env_path() != NULL || conf_file != NULL;
}

/* The file with the passphrase; who named it is said where it is no good. */
static struct secret *
ask_named(const char *path, bool private_only, const char *by, char *err,
    size_t err_len)
{
	struct secret *secret = ask_file(path, private_only, err, err_len);
	size_t len = strlen(err);

	if (secret == NULL && len < err_len)
		snprintf(err + len, err_len - len, " (the passphrase's file, named "
		    "by %s)", by);
	return secret;
}

struct secret *
ask_passphrase(const struct ask_passphrase *from, char *err, size_t err_len)
{
	char buf[PATH_MAX];
	const char *path;

	if (from->fd != -1)
		return ask_fd(from->fd, "passphrase", err, err_len);
	if (from->file != NULL)
		return ask_named(from->file, true, "--passphrase-file", err,
		    err_len);
	/* systemd owns the mode of its credentials (0400, or an ACL). */
	if ((path = credential_path(buf, sizeof(buf))) != NULL)
		return ask_named(path, false, "$CREDENTIALS_DIRECTORY", err,
		    err_len);
	if ((path = env_path()) != NULL)
		return ask_named(path, true, "$COUNTERSIGN_PASSPHRASE_FILE",
		    err, err_len);
	if (from->conf_file != NULL)
		return ask_named(from->conf_file, true, "config.json", err,
		    err_len);
	if (from->terminal && ask_has_terminal())
		return ask_terminal("Vault passphrase", from->twice, err, err_len);
	snprintf(err, err_len, "no passphrase: there is no terminal to ask; "
	    "give --passphrase-file, $COUNTERSIGN_PASSPHRASE_FILE or "
	    "\"passphrase_file\" in config.json");
	return NULL;
}
