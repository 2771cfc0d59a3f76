#include "export/position.h"
#include "ledger/input.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#define TEXT_MAX (128 + EXPORT_STREAMS_MAX * (RECORD_NAME_MAX + 32))

/* What is due in each stream, a line each, up to the end of the file. */
static int
parse_seqs(struct export_seqs *seqs, const char *text)
{
	unsigned long long next;
	int used;

	for (seqs->count = 0; *text != '\0'; text += used) {
		used = 0;
		if (seqs->count == EXPORT_STREAMS_MAX || sscanf(text, "stream %64s %16llu%n",
		    seqs->stream[seqs->count].name, &next, &used) != 2 || text[used] != '\n')
			return -1;
		seqs->stream[seqs->count++].next = next;
		used++;
	}
	return 0;
}

static int
parse(struct position *p, const char *text)
{
	unsigned long long next;
	char hex[65];
	size_t got;
	int used = 0;

	if (sscanf(text, "countersign-position 1\n%16llu %64[0-9a-f]%n", &next, hex, &used) != 2 ||
	    sodium_hex2bin(p->leaf, sizeof(p->leaf), hex, strlen(hex), NULL, &got, NULL) != 0 ||
	    got != sizeof(p->leaf) || text[used] != '\n')
		return -1;
	p->next = next;
	return parse_seqs(&p->seqs, text + used + 1);
}

int
position_load(const char *path, struct position *p, char *err, size_t err_len)
{
	char text[TEXT_MAX + 1];
	size_t n;
	FILE *in = input_open(path);

	if (in == NULL && errno == ENOENT)
		return 0;
	if (in == NULL) {
		snprintf(err, err_len, "%.200s: %s", path, input_why(errno));
		return -1;
	}
	n = fread(text, 1, TEXT_MAX, in);
	text[n] = '\0';
	fclose(in);
	if (parse(p, text) == 0)
		return 1;
	snprintf(err, err_len, "%.200s: no position of an export", path);
	return -1;
}

static size_t
format(const struct position *p, char text[TEXT_MAX])
{
	char hex[65];
	unsigned i;
	int len;

	sodium_bin2hex(hex, sizeof(hex), p->leaf, sizeof(p->leaf));
	len = sprintf(text, "countersign-position 1\n%" PRIu64 " %s\n", p->next, hex);
	for (i = 0; i < p->seqs.count; i++)
		len += sprintf(text + len, "stream %s %" PRIu64 "\n", p->seqs.stream[i].name,
		    p->seqs.stream[i].next);
	return (size_t)len;
}

int
position_save(const char *path, const struct position *p, char *err, size_t err_len)
{
	char temp[PATH_MAX], text[TEXT_MAX];
	const size_t len = format(p, text);
	int fd = -1, n;
	bool bad;

	n = snprintf(temp, sizeof(temp), "%s.new", path);
	if (n > 0 && (size_t)n < sizeof(temp))
		fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0644);
	bad = fd < 0 || write(fd, text, len) != (ssize_t)len || fsync(fd) != 0;
	if (fd >= 0 && close(fd) != 0)
		bad = true;
	if (!bad && rename(temp, path) == 0)
		return 0;
	snprintf(err, err_len, "%.200s: %s", path, strerror(errno));
	return -1;
}
