/*
 * The paths that a confined process of the broker keeps (ledger/confine.h), put
 * together one by one.
 */
#ifndef BROKER_CONFINED_H
#define BROKER_CONFINED_H

#include "ledger/confine.h"

#include <limits.h>

#define CONFINED_FILES_MAX 10

struct confined {
	struct confine_path paths[CONFINE_PATHS_MAX];
	size_t n;	/* beyond CONFINE_PATHS_MAX: too many, and confine_self fails */
	char folder[CONFINED_FILES_MAX][PATH_MAX];
	size_t folders;
};

/* What anybody needs who resolves names and speaks TLS: libraries, resolver,
 * certificates (SSL_CERT_FILE too), /dev/null and /dev/urandom. */
void confined_system(struct confined *confined);

/* path stays the caller's until it is confined; NULL and "" are left out. */
void confined_add(struct confined *confined, const char *path,
    enum confine_access access);

/* To read a file that is read again and again, and its folder: whoever renews the file
 * renames a new one to it, which is another one to Landlock.  Of one in / the folder
 * is left out; NULL, "" and what is no absolute path are nothing. */
void confined_add_file(struct confined *confined, const char *file);

#endif
