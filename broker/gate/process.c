#include "gate/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* proc(5): "pid (comm) state ppid ... "; starttime is the 22nd field.  comm may
 * hold anything, a ')' too, so fields are counted from the last ')'. */
/* A process chooses its name, and may choose it to deceive a reader's terminal. */
static void
name_take(const char *stat, const char *end, char out[16])
{
	const char *begin = strchr(stat, '(');
	size_t n = begin != NULL && begin < end ? (size_t)(end - begin) - 1 : 0;

	out[0] = '\0';
	if (n == 0 || n > 15)
		return;
	for (size_t i = 1; i <= n; i++)
		if (begin[i] < 0x20 || begin[i] > 0x7e)
			return;
	memcpy(out, begin + 1, n);
	out[n] = '\0';
}

/* From a line of /proc/PID/stat: the parts that matter. */
static bool
process_parse(const char *stat, struct process *out)
{
	const char *at = strrchr(stat, ')');
	char *end;

	if (at == NULL)
		return false;
	name_take(stat, at, out->name);
	at++;
	for (unsigned field = 3; field <= 22; field++) {
		while (*at == ' ')
			at++;
		if (*at == '\0')
			return false;
		errno = 0;
		if (field == 3) {
			out->ended = *at == 'Z' || *at == 'X';
		} else if (field == 4) {
			out->parent = strtoll(at, &end, 10);
			if (end == at || errno != 0)
				return false;
		} else if (field == 22) {
			out->start_time = strtoull(at, &end, 10);
			return end != at && errno == 0;
		}
		at += strcspn(at, " ");
	}
	return false;
}

bool
process_look(int64_t pid, struct process *out)
{
	char path[48], stat[1024];
	struct stat owner;
	ssize_t n;
	int fd;

	if (pid <= 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return false;
	n = fstat(fd, &owner) == 0 ? read(fd, stat, sizeof(stat) - 1) : -1;
	close(fd);
	if (n <= 0)
		return false;
	stat[n] = '\0';
	*out = (struct process){ .pid = pid, .uid = owner.st_uid };
	return process_parse(stat, out);
}

unsigned
process_line(int64_t pid, struct process *line, unsigned max)
{
	unsigned n = 0;

	while (n < max && pid > 0 && process_look(pid, &line[n]))
		pid = line[n++].parent;
	return n;
}

bool
process_within(int64_t pid, int64_t root, uint64_t start_time)
{
	struct process line[PROCESS_DEPTH_MAX];
	unsigned n = process_line(pid, line, PROCESS_DEPTH_MAX);

	for (unsigned i = 0; i < n; i++)
		if (line[i].pid == root && line[i].start_time == start_time)
			return true;
	return false;
}
