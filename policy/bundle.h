/*
 * Bundles: packs as OPA ships them, and their signatures.
 *
 * What is read is hostile until a signature (or the operator, for a directory
 * of theirs) vouches for it: sizes, counts and depths are bounded, paths stay
 * inside, only regular files are taken.  Nothing is kept between calls: any thread,
 * each with files of its own.
 */
#ifndef POLICY_BUNDLE_H
#define POLICY_BUNDLE_H

#include "policy/pack.h"

#define BUNDLE_COMPRESSED_MAX ((size_t)64 * 1024 * 1024)

/* Add the files of a tar.gz in memory (ustar and pax; leading "/" or "./" are
 * dropped), which are copied.  0, or -1 with a message; free files in either case. */
int bundle_read(struct pack_files *files, const void *bytes, size_t len,
    char *err, size_t err_len);

/*
 * Check .signatures.json: a JWS by one of the keys in key_text (PEM public key
 * or certificate, JWK set, or a shared secret for HS*), whose payload lists
 * every file with its SHA-256.  No more and no fewer files than listed.
 * 0, or -1 with a message.
 */
int bundle_verify(const struct pack_files *files, const char *key_text,
    size_t key_len, char *err, size_t err_len);

#endif
