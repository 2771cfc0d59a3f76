/* Our certificate together with those that the system trusts. */
#include "tls/ca.h"
#include "private_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUNDLE_MAX (16 * 1024 * 1024)

struct bytes {
	char *p;
	size_t n;
};

/* Append a file and a newline.  0, or -1 with errno. */
static int
append_file(struct bytes *to, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), saved;
	struct stat st;
	ssize_t n = 0;
	char *more;

	if (fd < 0)
		return -1;
	errno = EINVAL;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
	    st.st_size > BUNDLE_MAX)
		goto fail;
	if ((more = realloc(to->p, to->n + (size_t)st.st_size + 1)) == NULL)
		goto fail;
	to->p = more;
	while (st.st_size > 0) {
		n = read(fd, to->p + to->n, (size_t)st.st_size);
		if (n <= 0)
			break;
		to->n += (size_t)n;
		st.st_size -= n;
	}
	if (n < 0)
		goto fail;
	to->p[to->n++] = '\n';
	close(fd);
	return 0;
fail:
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

/* Best effort: a machine without a trust store trusts us alone. */
static void
append_system(struct bytes *to, const char *out_path)
{
	static const char *const places[] = {
		"/etc/ssl/certs/ca-certificates.crt",	/* Debian, Arch */
		"/etc/pki/tls/certs/ca-bundle.crt",	/* Fedora */
		"/etc/ssl/ca-bundle.pem",		/* SUSE */
		"/etc/ssl/cert.pem",			/* Alpine, BSD */
	};
	const char *own = getenv("SSL_CERT_FILE");
	size_t i;

	if (own != NULL && strcmp(own, out_path) != 0 && append_file(to, own) == 0)
		return;
	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (append_file(to, places[i]) == 0)
			return;
}

int
ca_write_bundle(const char *ca_pem, const char *out_path)
{
	struct bytes bundle = { NULL, 0 };
	int result = -1;

	if (append_file(&bundle, ca_pem) == 0) {
		append_system(&bundle, out_path);
		result = private_file_replace_mode(out_path, bundle.p, bundle.n,
		    0644);
	}
	free(bundle.p);
	return result;
}
