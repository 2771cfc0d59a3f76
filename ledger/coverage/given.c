#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ledger/coverage/coverage.h"
#include "ledger/coverage/given.h"
#include "ledger/coverage/truth.h"
#include "ledger/io.h"

char *
given_read(const char *path, size_t max, size_t *len, char *err, size_t err_len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	char *text = NULL;

	if (fd < 0 || fstat(fd, &st) != 0) {
		snprintf(err, err_len, "%.200s: %s", path, strerror(errno));
	} else if (!S_ISREG(st.st_mode)) {
		snprintf(err, err_len, "%.200s: not a regular file", path);
	} else if ((uint64_t)st.st_size > max) {
		snprintf(err, err_len, "%.200s: longer than %zu bytes", path, max);
	} else if ((text = malloc((size_t)st.st_size + 1)) == NULL) {
		snprintf(err, err_len, "out of memory");
	} else {
		const ptrdiff_t n = io_read(fd, text, (size_t)st.st_size, 0);

		if (n < 0) {
			snprintf(err, err_len, "%.200s: %s", path, strerror(errno));
			free(text);
			text = NULL;
		} else {
			text[n] = '\0';
			*len = (size_t)n;
		}
	}
	if (fd >= 0)
		close(fd);
	return text;
}

/* ---- whether it is what it is given as ---- */

#define WHY 160

static int
check_claim(const char *text, size_t len, char why[WHY])
{
	struct claim claim;
	const int result = claim_parse(&claim, text, len, why, WHY);

	claim_free(&claim);
	return result;
}

static int
check_truth(const char *text, size_t len, char why[WHY])
{
	struct truth truth;
	int result = truth_parse(&truth, text, len, why, WHY);

	if (result == 0 && truth.bad > 0) {
		snprintf(why, WHY, "line %" PRIu64 ": %s", truth.bad_line, truth.bad_why);
		result = -1;
	}
	truth_free(&truth);
	return result;
}

static int
check(const char *path, size_t max, const char *what,
    int (*judge)(const char *text, size_t len, char why[WHY]), char *err, size_t err_len)
{
	char why[WHY] = "";
	size_t len;
	char *text = given_read(path, max, &len, err, err_len);
	int result = -1;

	if (text != NULL && (result = judge(text, len, why)) != 0)
		snprintf(err, err_len, "%.200s: no %s: %s", path, what, why);
	free(text);
	return result;
}

int
coverage_check_claim(const char *path, char *err, size_t err_len)
{
	return check(path, CLAIM_BYTES_MAX, "coverage manifest", check_claim, err, err_len);
}

int
coverage_check_truth(const char *path, char *err, size_t err_len)
{
	return check(path, TRUTH_BYTES_MAX, "ground truth", check_truth, err, err_len);
}
