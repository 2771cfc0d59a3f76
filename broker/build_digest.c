#include "build_digest.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/evp.h>

static int
digest_fd(int fd, char *digest)
{
	unsigned char sum[BUILD_DIGEST_LEN / 2];
	struct stat st;
	void *bytes;
	int ok;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size <= 0)
		return -1;
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return -1;
	ok = EVP_Digest(bytes, (size_t)st.st_size, sum, NULL, EVP_sha256(), NULL);
	munmap(bytes, (size_t)st.st_size);
	for (size_t i = 0; ok == 1 && i < sizeof(sum); i++)
		snprintf(digest + 2 * i, 3, "%02x", sum[i]);
	return ok == 1 ? 0 : -1;
}

int
build_digest(const char *path, char digest[BUILD_DIGEST_LEN + 1])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc = -1;

	digest[0] = '\0';
	if (fd != -1) {
		rc = digest_fd(fd, digest);
		close(fd);
	}
	return rc;
}
