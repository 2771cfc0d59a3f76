/*
 * The paths that a confined process of the broker keeps (ledger/confine.h), put
 * together one by one.
 */
#ifndef BROKER_CONFINED_H
#define BROKER_CONFINED_H

#include "ledger/confine.h"

struct confined {
	struct confine_path paths[CONFINE_PATHS_MAX];
	size_t n;	/* beyond CONFINE_PATHS_MAX: too many, and confine_self fails */
};

/* What anybody needs who resolves names and speaks TLS: libraries, resolver,
 * certificates (SSL_CERT_FILE too), /dev/null and /dev/urandom. */
void confined_system(struct confined *confined);

/* path stays the caller's until it is confined; NULL and "" are left out. */
void confined_add(struct confined *confined, const char *path,
    enum confine_access access);

/* The folder of file, where whoever renews the file renames a new one to; in
 * buf[0..cap).  NULL and what is no absolute path are left out. */
void confined_add_folder(struct confined *confined, const char *file, char *buf,
    size_t cap);

#endif
