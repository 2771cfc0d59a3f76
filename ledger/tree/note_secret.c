#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "ledger/base64.h"
#include "ledger/io.h"
#include "ledger/tree/note_secret.h"

#define BEGIN "PRIVATE+KEY+"

int
note_secret_new(const char *name, enum note_type type, struct note_key *key,
    uint8_t seed[NOTE_SEED_LEN])
{
	uint8_t pk[NOTE_PK_LEN], sk[NOTE_SK_LEN];

	randombytes_buf(seed, NOTE_SEED_LEN);
	crypto_sign_seed_keypair(pk, sk, seed);
	sodium_memzero(sk, sizeof(sk));
	if (note_key_make(key, name, type, pk) == 0)
		return 0;
	sodium_memzero(seed, NOTE_SEED_LEN);
	return -1;
}

int
note_secret_format(const struct note_key *key, const uint8_t seed[NOTE_SEED_LEN],
    char out[NOTE_SECRET_MAX + 1])
{
	uint8_t typed[1 + NOTE_SEED_LEN] = { (uint8_t)key->type };
	char base64[64], id[2 * NOTE_ID_LEN + 1];
	int n;

	memcpy(typed + 1, seed, NOTE_SEED_LEN);
	sodium_bin2hex(id, sizeof(id), key->id, NOTE_ID_LEN);
	sodium_bin2base64(base64, sizeof(base64), typed, sizeof(typed),
	    sodium_base64_VARIANT_ORIGINAL);
	n = snprintf(out, NOTE_SECRET_MAX + 1, BEGIN "%s+%s+%s\n", key->name, id, base64);
	sodium_memzero(base64, sizeof(base64));
	sodium_memzero(typed, sizeof(typed));
	return n;
}

int
note_secret_parse(char *text, enum note_type type, struct note_key *key,
    uint8_t sk[NOTE_SK_LEN])
{
	uint8_t typed[1 + NOTE_SEED_LEN] = { 0 }, pk[NOTE_PK_LEN];
	char *name = text + sizeof(BEGIN) - 1, *id, *base64, hex[2 * NOTE_ID_LEN + 1];
	size_t n = 0;
	int bad;

	if (strncmp(text, BEGIN, sizeof(BEGIN) - 1) != 0 ||
	    (id = strchr(name, '+')) == NULL || (base64 = strchr(id + 1, '+')) == NULL)
		return -1;
	*id++ = *base64++ = '\0';
	base64[strcspn(base64, "\n")] = '\0';
	bad = base64_read(typed, sizeof(typed), base64, strlen(base64), &n) != 0 ||
	    n != sizeof(typed) || typed[0] != type;
	if (!bad)
		crypto_sign_seed_keypair(pk, sk, typed + 1);
	sodium_memzero(typed, sizeof(typed));
	if (bad || note_key_make(key, name, type, pk) != 0)
		return -1;
	sodium_bin2hex(hex, sizeof(hex), key->id, NOTE_ID_LEN);
	return strcmp(hex, id) == 0 ? 0 : -1;
}

int
note_secret_create(const char *path, const struct note_key *key,
    const uint8_t seed[NOTE_SEED_LEN], struct problem *problem)
{
	char text[NOTE_SECRET_MAX + 1];
	const int n = note_secret_format(key, seed, text);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int status = 0;

	if (fd < 0) {
		status = problem_errno(problem, "%.300s", path);
	} else if (io_write(fd, text, (size_t)n, 0) != 0 || io_sync_all(fd) != 0) {
		status = problem_errno(problem, "%.300s", path);
		unlink(path);
	}
	if (fd >= 0)
		close(fd);
	sodium_memzero(text, sizeof(text));
	return status;
}

static int
check_mode(int fd, const char *path, struct problem *problem)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return problem_errno(problem, "%.300s", path);
	if (!S_ISREG(st.st_mode))
		return problem_set(problem, "%.300s: not a regular file", path);
	return (st.st_mode & 077) == 0 ? 0 : problem_set(problem, "%.300s may be readable by "
	    "its owner only (chmod 600)", path);
}

int
note_secret_load(const char *path, enum note_type type, struct note_key *key,
    uint8_t sk[NOTE_SK_LEN], struct problem *problem)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char text[NOTE_SECRET_MAX + 1];
	ssize_t n;
	int status = -1;

	if (fd < 0)
		return problem_errno(problem, "%.300s", path);
	if (check_mode(fd, path, problem) == 0) {
		n = read(fd, text, sizeof(text) - 1);
		text[n > 0 ? n : 0] = '\0';
		status = n <= 0 || note_secret_parse(text, type, key, sk) != 0 ?
		    problem_set(problem, "%.300s: no key to sign with (PRIVATE+KEY+...)", path) : 0;
	}
	close(fd);
	sodium_memzero(text, sizeof(text));
	return status;
}
