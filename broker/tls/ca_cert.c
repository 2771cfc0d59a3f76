#include "tls/ca_cert.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/x509v3.h>

#define SERIAL_BITS 127		/* random; 16 octets, never negative */
#define CN_MAX 64		/* ub-common-name */

EVP_PKEY *
ca_cert_key(void)
{
	return EVP_EC_gen("P-256");
}

/* Random, positive, not zero.  BN_to_ASN1_INTEGER makes DER of it, with the
 * zero octet where the top bit is set and none where it is not. */
static int
set_serial(X509 *cert)
{
	BIGNUM *serial = BN_new();
	int ok;

	ok = serial != NULL &&
	    BN_rand(serial, SERIAL_BITS, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
	    BN_to_ASN1_INTEGER(serial, X509_get_serialNumber(cert)) != NULL;
	BN_free(serial);
	return ok ? 0 : -1;
}

static int
set_validity(X509 *cert, int64_t from_s, int64_t to_s)
{
	time_t from = (time_t)from_s, to = (time_t)to_s;

	return ASN1_TIME_adj(X509_getm_notBefore(cert), from, 0, 0) != NULL &&
	    ASN1_TIME_adj(X509_getm_notAfter(cert), to, 0, 0) != NULL ? 0 : -1;
}

static int
add_name(X509_NAME *name, int nid, const char *text)
{
	return X509_NAME_add_entry_by_NID(name, nid, MBSTRING_UTF8,
	    (const unsigned char *)text, -1, -1, 0) == 1 ? 0 : -1;
}

/* issuer may be cert itself; value as in openssl's x509v3_config(5). */
static int
add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509_EXTENSION *extension;
	X509V3_CTX context;
	int ok;

	X509V3_set_ctx_nodb(&context);
	X509V3_set_ctx(&context, issuer, cert, NULL, NULL, 0);
	extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
	ok = extension != NULL && X509_add_ext(cert, extension, -1) == 1;
	X509_EXTENSION_free(extension);
	return ok ? 0 : -1;
}

/* What root and leaf have in common. */
static X509 *
begin(EVP_PKEY *key, int64_t from_s, int64_t to_s)
{
	X509 *cert = X509_new();

	if (cert == NULL)
		return NULL;
	if (X509_set_version(cert, X509_VERSION_3) != 1 ||
	    set_serial(cert) != 0 || set_validity(cert, from_s, to_s) != 0 ||
	    X509_set_pubkey(cert, key) != 1) {
		X509_free(cert);
		return NULL;
	}
	return cert;
}

X509 *
ca_cert_root(EVP_PKEY *key, const char *name, int64_t now_s)
{
	X509 *cert = begin(key, now_s - 3600, now_s + CA_CERT_ROOT_S);
	X509_NAME *subject;

	if (cert == NULL)
		return NULL;
	subject = X509_get_subject_name(cert);
	if (add_name(subject, NID_organizationName, "countersign") != 0 ||
	    add_name(subject, NID_organizationalUnitName, "local CA") != 0 ||
	    add_name(subject, NID_commonName, name) != 0 ||
	    X509_set_issuer_name(cert, subject) != 1 ||
	    add_extension(cert, cert, NID_basic_constraints,
	    "critical,CA:TRUE,pathlen:0") != 0 ||
	    add_extension(cert, cert, NID_key_usage,
	    "critical,keyCertSign,cRLSign") != 0 ||
	    add_extension(cert, cert, NID_subject_key_identifier, "hash") != 0 ||
	    add_extension(cert, cert, NID_authority_key_identifier,
	    "keyid:always") != 0 ||
	    X509_sign(cert, key, EVP_sha256()) == 0) {
		X509_free(cert);
		return NULL;
	}
	return cert;
}

static bool
is_address(const char *host)
{
	uint8_t binary[sizeof(struct in6_addr)];

	return inet_pton(AF_INET, host, binary) == 1 ||
	    inet_pton(AF_INET6, host, binary) == 1;
}

/* A name too long for a CN goes without; the SAN is what counts. */
static int
set_leaf_names(X509 *cert, X509 *root, const char *host)
{
	X509_NAME *subject = X509_get_subject_name(cert);
	char san[300];

	if (add_name(subject, NID_organizationName, "countersign") != 0 ||
	    (strlen(host) <= CN_MAX &&
	    add_name(subject, NID_commonName, host) != 0) ||
	    X509_set_issuer_name(cert, X509_get_subject_name(root)) != 1)
		return -1;
	snprintf(san, sizeof(san), "%s:%s", is_address(host) ? "IP" : "DNS",
	    host);
	return add_extension(cert, root, NID_subject_alt_name, san);
}

X509 *
ca_cert_leaf(X509 *root, EVP_PKEY *root_key, EVP_PKEY *leaf_key,
    const char *host, int64_t from_s, int64_t to_s)
{
	X509 *cert = begin(leaf_key, from_s, to_s);

	if (cert == NULL)
		return NULL;
	if (set_leaf_names(cert, root, host) != 0 ||
	    add_extension(cert, root, NID_basic_constraints,
	    "critical,CA:FALSE") != 0 ||
	    add_extension(cert, root, NID_key_usage,
	    "critical,digitalSignature") != 0 ||
	    add_extension(cert, root, NID_ext_key_usage, "serverAuth") != 0 ||
	    add_extension(cert, root, NID_subject_key_identifier, "hash") != 0 ||
	    add_extension(cert, root, NID_authority_key_identifier,
	    "keyid:always") != 0 ||
	    X509_sign(cert, root_key, EVP_sha256()) == 0) {
		X509_free(cert);
		return NULL;
	}
	return cert;
}

int64_t
ca_cert_not_after(const X509 *cert)
{
	struct tm tm = { 0 };

	if (ASN1_TIME_to_tm(X509_get0_notAfter(cert), &tm) != 1)
		return 0;
	return (int64_t)timegm(&tm);
}

static bool
label_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
	    c == '_';
}

bool
ca_cert_host_ok(const char *host)
{
	size_t i, label = 0;
	bool letters = false;	/* in the last label: "1.2.3.256" is no name */

	if (is_address(host))
		return true;
	for (i = 0; host[i] != '\0'; i++) {
		if (i >= 253)
			return false;
		if (host[i] == '.') {
			if (label == 0)
				return false;
			label = 0;
			letters = false;
		} else if (!label_char(host[i]) || ++label > 63)
			return false;
		else if (host[i] < '0' || host[i] > '9')
			letters = true;
	}
	return letters;
}
