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
confined_add_file(struct confined *confined, const char *file)
{
	char *folder;

	if (file == NULL || file[0] != '/' || strlen(file) >= PATH_MAX)
		return;
	confined_add(confined, file, CONFINE_READ);
	if (strrchr(file, '/') == file)
		return;
	if (confined->folders == CONFINED_FILES_MAX) {
		confined->n = CONFINE_PATHS_MAX + 1;
		return;
	}
	folder = confined->folder[confined->folders++];
	memcpy(folder, file, strlen(file) + 1);
	*(strrchr(folder, '/') + 1) = '\0';
	confined_add(confined, folder, CONFINE_READ);
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
