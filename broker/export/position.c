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

#define TEXT_MAX 128

int
position_load(const char *path, struct position *p, char *err, size_t err_len)
{
	char text[TEXT_MAX + 1], hex[65];
	unsigned long long next;
	size_t n, got;
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
	if (sscanf(text, "countersign-position 1\n%16llu %64[0-9a-f]", &next, hex) != 2 ||
	    sodium_hex2bin(p->leaf, sizeof(p->leaf), hex, strlen(hex), NULL, &got, NULL) != 0 ||
	    got != sizeof(p->leaf)) {
		snprintf(err, err_len, "%.200s: no position of an export", path);
		return -1;
	}
	p->next = next;
	return 1;
}

int
position_save(const char *path, const struct position *p, char *err, size_t err_len)
{
	char temp[PATH_MAX], text[TEXT_MAX], hex[65];
	int fd = -1, n, len;
	bool bad;

	sodium_bin2hex(hex, sizeof(hex), p->leaf, sizeof(p->leaf));
	len = snprintf(text, sizeof(text), "countersign-position 1\n%" PRIu64 " %s\n", p->next, hex);
	n = snprintf(temp, sizeof(temp), "%s.new", path);
	if (n > 0 && (size_t)n < sizeof(temp))
		fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0644);
	bad = fd < 0 || write(fd, text, (size_t)len) != len || fsync(fd) != 0;
	if (fd >= 0 && close(fd) != 0)
		bad = true;
	if (!bad && rename(temp, path) == 0)
		return 0;
	snprintf(err, err_len, "%.200s: %s", path, strerror(errno));
	return -1;
}
