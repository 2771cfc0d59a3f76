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

/* Make key and certificate: dir/ca.pem in the clear, dir/ca.key sealed (master
 * purpose "ca").  dir is HOME/ca, made 0700 if it is not there; VAULT_EXISTS
 * where it holds a CA.  name goes into the subject, for people who look at
 * their trust stores; 1 to 40 bytes.  Valid for two years. */
enum vault_status ca_create(const char *dir, const uint8_t *key,
    const char *name, struct vault_error *err);

/* VAULT_INVALID where the certificate has expired, or is not the key's. */
enum vault_status ca_open(const char *dir, const uint8_t *key, struct ca **out,
    struct vault_error *err);
void ca_free(struct ca *ca);

/* How many leaves are kept, and how long one is valid: backdated an hour for
 * clocks that are behind, minted anew when less than a day is left. */
#define CA_LEAVES_MAX 256
#define CA_LEAF_S (7 * 24 * 3600)

/*
 * A server context for host (canonical, lower case), minted on first use and
 * kept in a bounded least-recently-used cache; all leaves share one key, all
 * contexts one ticket key, ALPN is http/1.1 only.  The caller owns a reference
 * (SSL_CTX_free).  NULL where host is no valid DNS name or address.  Any thread.
 */
SSL_CTX *ca_server_ctx(struct ca *ca, const char *host);

/* For tests: what time it is, in Unix seconds.  Before any thread. */
void ca_set_clock(struct ca *ca, int64_t (*now_s)(void));

/* Write the certificate, then the system's bundle: what CA variables of
 * clients point at.  The system's is $SSL_CERT_FILE, else the first there is
 * of the places where distributions keep it; without any, ours stands alone.
 * Mode 0644, replaced as a whole.  0 or -1 with errno. */
int ca_write_bundle(const char *ca_pem, const char *out_path);

#endif
