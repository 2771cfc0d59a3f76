#include "ledger/record/json_out.h"
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX_BYTES 4096
#define TEXT_MAX 1024

static const char *const words[] = { "error", "warning", "info", "debug" };
static enum log_level limit = LOG_INFO;
static bool as_json;

int
log_set_level(const char *word)
{
	unsigned i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(word, words[i]) == 0) {
			limit = (enum log_level)i;
			return 0;
		}
	return -1;
}

void
log_set_json(bool json)
{
	as_json = json;
}

static void
stamp(char *buf, size_t cap)
{
	struct timespec now;
	struct tm tm;
	char day[32];

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(buf, cap, "%s.%03ldZ", day, now.tv_nsec / 1000000);
}

static int
json_line(char *line, size_t cap, enum log_level level, const char *event,
    const char *at, const char *text)
{
	struct json_out out;

	json_out_begin(&out, line, cap);
	json_out_object(&out, NULL);
	json_out_str(&out, "t", at);
	json_out_str(&out, "level", words[level]);
	json_out_str(&out, "event", event);
	json_out_str(&out, "text", text);
	json_out_object_end(&out);
	return json_out_end(&out);
}

/* One write(2) a line, so that lines of several threads do not mix. */
void
log_event(enum log_level level, const char *event, const char *fmt, ...)
{
	char line[LINE_MAX_BYTES], text[TEXT_MAX], at[64], *c;
	va_list args;
	int n;

	if (level > limit)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	stamp(at, sizeof(at));
	if (as_json) {
		n = json_line(line, sizeof(line) - 1, level, event, at, text);
	} else {
		for (c = text; *c != '\0'; c++)
			if ((unsigned char)*c < 0x20 || *c == 0x7f)
				*c = '?';
		n = snprintf(line, sizeof(line) - 1, "%s %s %s: %s", at,
		    words[level], event, text);
	}
	if (n < 0)
		return;
	line[n++] = '\n';
	(void)!write(STDERR_FILENO, line, (size_t)n);
}

/* --- keeping the file small ------------------------------------------- */

static bool
copy(int from, int to)
{
	char buf[16384];
	ssize_t n;

	while ((n = read(from, buf, sizeof(buf))) > 0)
		if (write(to, buf, (size_t)n) != n)
			return false;
	return n == 0;
}

/* Reading it: -1 where standard error is something else. */
static int
open_if_stderr(const char *path, size_t *size)
{
	struct stat own, there;
	int fd;

	if (fstat(STDERR_FILENO, &own) != 0 || !S_ISREG(own.st_mode))
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd == -1)
		return -1;
	if (fstat(fd, &there) != 0 || there.st_ino != own.st_ino ||
	    there.st_dev != own.st_dev) {
		close(fd);
		return -1;
	}
	*size = (size_t)there.st_size;
	return fd;
}

static int
keep_as(int from, const char *path)
{
	char before[PATH_MAX], next[PATH_MAX];
	int to, error = 0;

	if (snprintf(before, sizeof(before), "%s.1", path) >= PATH_MAX ||
	    snprintf(next, sizeof(next), "%s.1.new", path) >= PATH_MAX)
		return ENAMETOOLONG;
	to = open(next, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW |
	    O_NONBLOCK, 0600);
	if (to == -1)
		return errno;
	if (!copy(from, to) || rename(next, before) != 0) {
		error = errno;
		(void)unlink(next);
	}
	close(to);
	return error;
}

/* A full disk gets its space back: the log is worth less than what fills it. */
void
log_trim(const char *path, size_t max)
{
	size_t size = 0;
	int error, from = open_if_stderr(path, &size);

	if (from == -1)
		return;
	if (size > max) {
		/* of one that grew while nobody looked, the end */
		if (size > 2 * max)
			(void)lseek(from, (off_t)(size - 2 * max), SEEK_SET);
		error = keep_as(from, path);
		if (ftruncate(STDERR_FILENO, 0) != 0)
			error = errno;
		if (error != 0)
			log_event(LOG_WARNING, "log_not_kept", "%s",
			    strerror(error));
	}
	close(from);
}
