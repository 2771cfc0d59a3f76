/* What is in our certificates (RFC 5280); ca.c keeps and serves them. */
#ifndef BROKER_CA_CERT_H
#define BROKER_CA_CERT_H

#include <stdbool.h>
#include <stdint.h>

#include <openssl/x509.h>

#define CA_CERT_ROOT_S ((int64_t)730 * 24 * 3600)

/* A fresh P-256 key; NULL on failure, like all that follow. */
EVP_PKEY *ca_cert_key(void);

/* The self-signed root of key, from an hour before now_s for CA_CERT_ROOT_S. */
X509 *ca_cert_root(EVP_PKEY *key, const char *name, int64_t now_s);

/* A leaf for host (ca_cert_host_ok) with leaf_key, signed by the root's key. */
X509 *ca_cert_leaf(X509 *root, EVP_PKEY *root_key, EVP_PKEY *leaf_key,
    const char *host, int64_t from_s, int64_t to_s);

/* Unix seconds; 0 where it cannot be told. */
int64_t ca_cert_not_after(const X509 *cert);

/* A name in lower-case letters, digits, '-' and '_' in labels of 1 to 63, at
 * most 253 bytes and not all numeric at its end, or an IP address as inet_pton
 * takes it. */
bool ca_cert_host_ok(const char *host);

#endif
