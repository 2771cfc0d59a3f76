/* Which build of a program a file holds: a daemon goes on as it was started when an
 * upgrade has put another one in its place, of the same version number perhaps. */
#ifndef BROKER_BUILD_DIGEST_H
#define BROKER_BUILD_DIGEST_H

#define BUILD_DIGEST_LEN 64	/* SHA-256 of the file, in hex */

/* 0, or -1 where path cannot be read: digest is "" then. */
int build_digest(const char *path, char digest[BUILD_DIGEST_LEN + 1]);

#endif
