#include "confined.h"

#include <stdlib.h>
#include <string.h>

void
confined_add(struct confined *confined, const char *path,
    enum confine_access access)
{
	if (path == NULL || path[0] == '\0')
		return;
	if (confined->n < CONFINE_PATHS_MAX)
		confined->paths[confined->n] = (struct confine_path){ path,
		    access };
	confined->n++;
}

void
confined_add_folder(struct confined *confined, const char *file, char *buf,
    size_t cap)
{
	if (file == NULL || file[0] != '/' || strlen(file) >= cap)
		return;
	memcpy(buf, file, strlen(file) + 1);
	*(strrchr(buf, '/') + 1) = '\0';
	confined_add(confined, buf, CONFINE_READ);
}

void
confined_system(struct confined *confined)
{
	static const char *const read[] = { "/etc", "/usr", "/lib", "/lib64",
	    "/run/systemd/resolve", "/run/NetworkManager", "/run/resolvconf",
	    "/dev/urandom" };

	for (size_t i = 0; i < sizeof(read) / sizeof(*read); i++)
		confined_add(confined, read[i], CONFINE_READ);
	confined_add(confined, "/dev/null", CONFINE_WRITE);
	confined_add(confined, getenv("SSL_CERT_FILE"), CONFINE_READ);
}
