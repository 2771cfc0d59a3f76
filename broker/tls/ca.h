/*
 * The local certificate authority: makes the leaf certificates with which the
 * forward proxy speaks for a bound host to local clients.
 *
 * RFC 5280: P-256, SHA-256, random positive serials of at most 20 octets, CA
 * with basicConstraints CA:TRUE,pathlen:0, keyUsage keyCertSign,cRLSign and a
 * subjectKeyIdentifier; leaves with authorityKeyIdentifier equal to it, SKI,
 * subjectAltName (dNSName, or iPAddress for an address), EKU serverAuth.
 */
#ifndef BROKER_CA_H
#define BROKER_CA_H

#include "vault/vault.h"

#include <openssl/ssl.h>

struct ca;

/* Make key and certificate: HOME/ca/ca.pem in the clear, HOME/ca/ca.key sealed
 * (master purpose "ca"). */
enum vault_status ca_create(const char *dir, const uint8_t *key,
    const char *name, struct vault_error *err);
enum vault_status ca_open(const char *dir, const uint8_t *key, struct ca **out,
    struct vault_error *err);
void ca_free(struct ca *ca);

/*
 * A server context for host (canonical, lower case), minted on first use and
 * kept in a bounded least-recently-used cache; all leaves share one key, all
 * contexts one ticket key, ALPN is http/1.1 only.  The caller owns a reference
 * (SSL_CTX_free).  NULL where host is no valid DNS name or address.  Any thread.
 */
SSL_CTX *ca_server_ctx(struct ca *ca, const char *host);

/* Write the certificate, then the system's bundle: what CA variables of
 * clients point at.  0 or -1 with errno. */
int ca_write_bundle(const char *ca_pem, const char *out_path);

#endif
