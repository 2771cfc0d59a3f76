/*
 * Keys and certificates are OpenSSL's business; here is what goes into them,
 * and which are kept.  A leaf's key lives as long as the process and never
 * touches a disk.
 */
#include "tls/ca.h"
#include "tls/ca_cert.h"
#include "private_file.h"
#include "vault/master.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#define PEM_MAX 65536
#define REMINT_S (24 * 3600)
#define BACKDATE_S 3600
#define TICKET_KEYS_LEN 80	/* what SSL_CTX_set_tlsext_ticket_keys takes */
#define LABEL "ca.key"

struct leaf {
	char *host;
	SSL_CTX *ctx;
	int64_t not_after_s;
	uint64_t used;		/* ca->clock when last handed out */
};

struct ca {
	EVP_PKEY *key, *leaf_key;
	X509 *cert;
	int64_t not_after_s;
	uint8_t ticket_keys[TICKET_KEYS_LEN];
	int64_t (*now_s)(void);
	pthread_mutex_t lock;	/* around what follows */
	struct leaf leaves[CA_LEAVES_MAX];
	uint64_t hashes[CA_LEAVES_MAX];	/* of their hosts; together for speed */
	size_t n;
	uint64_t clock;
};

static int64_t
system_clock(void)
{
	return (int64_t)time(NULL);
}

/* --- creating ---------------------------------------------------------- */

static enum vault_status
save_key(const char *path, EVP_PKEY *pkey, const uint8_t *key,
    struct vault_error *err)
{
	enum vault_status status;
	BIO *bio = BIO_new(BIO_s_secmem());
	char *der = NULL;
	long len = 0;

	if (bio != NULL && i2d_PrivateKey_bio(bio, pkey) == 1)
		len = BIO_get_mem_data(bio, &der);
	if (len <= 0)
		status = vault_fail(err, VAULT_IO, "%s: OpenSSL cannot write "
		    "the key", path);
	else
		status = sealed_write(path, key, LABEL, der, (size_t)len, err);
	if (len > 0)
		OPENSSL_cleanse(der, (size_t)len);
	BIO_free(bio);
	return status;
}

static enum vault_status
save_cert(const char *path, X509 *cert, struct vault_error *err)
{
	enum vault_status status = VAULT_OK;
	BIO *bio = BIO_new(BIO_s_mem());
	char *pem = NULL;
	long len = 0;

	if (bio != NULL && PEM_write_bio_X509(bio, cert) == 1)
		len = BIO_get_mem_data(bio, &pem);
	if (len <= 0)
		status = vault_fail(err, VAULT_IO, "%s: OpenSSL cannot write "
		    "the certificate", path);
	else if (private_file_replace_mode(path, pem, (size_t)len, 0644) != 0)
		status = vault_fail_file(err, path, errno);
	BIO_free(bio);
	return status;
}

static int
paths(const char *dir, char *pem, char *key)
{
	return snprintf(pem, PATH_MAX, "%s/ca.pem", dir) < PATH_MAX &&
	    snprintf(key, PATH_MAX, "%s/ca.key", dir) < PATH_MAX ? 0 : -1;
}

enum vault_status
ca_create(const char *dir, const uint8_t *key, const char *name,
    struct vault_error *err)
{
	char pem[PATH_MAX], sealed[PATH_MAX];
	EVP_PKEY *pkey = NULL;
	X509 *cert = NULL;
	enum vault_status status;

	if (strnlen(name, 41) == 0 || strnlen(name, 41) > 40)
		return vault_fail(err, VAULT_INVALID, "the CA's name must have "
		    "1 to 40 bytes");
	if (paths(dir, pem, sealed) != 0)
		return vault_fail_file(err, dir, ENAMETOOLONG);
	if (mkdir(dir, 0700) != 0 && errno != EEXIST)
		return vault_fail_file(err, dir, errno);
	/* The certificate comes last: a key alone was left by a killed run. */
	if (access(pem, F_OK) == 0)
		return vault_fail(err, VAULT_EXISTS, "%s holds a CA already", dir);
	pkey = ca_cert_key();
	cert = pkey != NULL ? ca_cert_root(pkey, name, system_clock()) : NULL;
	if (cert == NULL)
		status = vault_fail(err, VAULT_IO, "OpenSSL cannot make the CA");
	else if ((status = save_key(sealed, pkey, key, err)) == VAULT_OK)
		status = save_cert(pem, cert, err);
	X509_free(cert);
	EVP_PKEY_free(pkey);
	return status;
}

/* --- opening ----------------------------------------------------------- */

static enum vault_status
load_key(struct ca *ca, const char *path, const uint8_t *key,
    struct vault_error *err)
{
	struct secret *secret = NULL;
	const unsigned char *p;
	enum vault_status status;
	struct slice der;

	status = sealed_read(path, key, LABEL, &secret, err);
	if (status != VAULT_OK)
		return status;
	der = secret_bytes(secret);
	p = (const unsigned char *)der.p;
	ca->key = d2i_AutoPrivateKey(NULL, &p, (long)der.n);
	secret_unref(secret);
	if (ca->key == NULL)
		return vault_fail(err, VAULT_DAMAGED, "%s: holds no key", path);
	return VAULT_OK;
}

static enum vault_status
load_cert(struct ca *ca, const char *path, struct vault_error *err)
{
	uint8_t *pem;
	size_t len = 0;
	BIO *bio;

	pem = private_file_read(path, PRIVATE_SETTINGS, PEM_MAX, &len);
	if (pem == NULL)
		return vault_fail_file(err, path, errno);
	if ((bio = BIO_new_mem_buf(pem, (int)len)) != NULL)
		ca->cert = PEM_read_bio_X509(bio, NULL, NULL, NULL);
	BIO_free(bio);
	free(pem);
	if (ca->cert == NULL)
		return vault_fail(err, VAULT_DAMAGED, "%s: holds no certificate",
		    path);
	if (X509_check_private_key(ca->cert, ca->key) != 1)
		return vault_fail(err, VAULT_INVALID, "%s is not the "
		    "certificate of ca.key beside it", path);
	ca->not_after_s = ca_cert_not_after(ca->cert);
	if (ca->not_after_s <= ca->now_s())
		return vault_fail(err, VAULT_INVALID, "%s has expired",
		    path);
	return VAULT_OK;
}

enum vault_status
ca_open(const char *dir, const uint8_t *key, struct ca **out,
    struct vault_error *err)
{
	char pem[PATH_MAX], sealed[PATH_MAX];
	enum vault_status status;
	struct ca *ca;

	*out = NULL;
	if (paths(dir, pem, sealed) != 0)
		return vault_fail_file(err, dir, ENAMETOOLONG);
	if ((ca = calloc(1, sizeof(*ca))) == NULL)
		return vault_fail(err, VAULT_IO, "out of memory");
	ca->now_s = system_clock;
	pthread_mutex_init(&ca->lock, NULL);
	if ((status = load_key(ca, sealed, key, err)) == VAULT_OK)
		status = load_cert(ca, pem, err);
	if (status == VAULT_OK && ((ca->leaf_key = ca_cert_key()) == NULL ||
	    RAND_bytes(ca->ticket_keys, sizeof(ca->ticket_keys)) != 1))
		status = vault_fail(err, VAULT_IO, "OpenSSL has no key for us");
	ERR_clear_error();
	if (status == VAULT_OK)
		*out = ca;
	else
		ca_free(ca);
	return status;
}

void
ca_set_clock(struct ca *ca, int64_t (*now_s)(void))
{
	ca->now_s = now_s;
}

static void
drop_leaf(struct leaf *leaf)
{
	free(leaf->host);
	SSL_CTX_free(leaf->ctx);
	*leaf = (struct leaf){ 0 };
}

void
ca_free(struct ca *ca)
{
	size_t i;

	if (ca == NULL)
		return;
	for (i = 0; i < ca->n; i++)
		drop_leaf(&ca->leaves[i]);
	X509_free(ca->cert);
	EVP_PKEY_free(ca->key);
	EVP_PKEY_free(ca->leaf_key);
	OPENSSL_cleanse(ca->ticket_keys, sizeof(ca->ticket_keys));
	pthread_mutex_destroy(&ca->lock);
	free(ca);
}

/* --- one server context ------------------------------------------------ */

/* What the parser reads, or nothing: a client that speaks only h2 gets a clear alert. */
static int
choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len,
    const unsigned char *in, unsigned in_len, void *arg)
{
	static const unsigned char ours[] = "\x08http/1.1\x08http/1.0";
	unsigned char *chosen = NULL;

	if (SSL_select_next_proto(&chosen, out_len, ours, sizeof(ours) - 1, in,
	    in_len) != OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*out = chosen;
	return SSL_TLSEXT_ERR_OK;
}

/* A ticket is good for the host that it was given for, in any thread. */
static int
set_sessions(SSL_CTX *ctx, struct ca *ca, const char *host)
{
	unsigned char id[SHA256_DIGEST_LENGTH];

	SHA256((const unsigned char *)host, strlen(host), id);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	return SSL_CTX_set_session_id_context(ctx, id, sizeof(id)) == 1 &&
	    SSL_CTX_set_tlsext_ticket_keys(ctx, ca->ticket_keys,
	    TICKET_KEYS_LEN) == 1 && SSL_CTX_set_num_tickets(ctx, 1) == 1;
}

static SSL_CTX *
make_ctx(struct ca *ca, const char *host, int64_t from_s, int64_t to_s)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
	X509 *cert = ca_cert_leaf(ca->cert, ca->key, ca->leaf_key, host, from_s,
	    to_s);

	if (ctx == NULL || cert == NULL ||
	    SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) != 1 ||
	    SSL_CTX_use_certificate(ctx, cert) != 1 ||
	    SSL_CTX_use_PrivateKey(ctx, ca->leaf_key) != 1 ||
	    !set_sessions(ctx, ca, host)) {
		SSL_CTX_free(ctx);
		ctx = NULL;
	}
	X509_free(cert);
	ERR_clear_error();
	if (ctx == NULL)
		return NULL;
	SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
	    SSL_OP_CIPHER_SERVER_PREFERENCE);
	SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_alpn_select_cb(ctx, choose_protocol, NULL);
	return ctx;
}

/* --- the cache --------------------------------------------------------- */

static uint64_t
hash_of(const char *host)
{
	uint64_t h = 14695981039346656037u;	/* FNV-1a */

	for (; *host != '\0'; host++)
		h = (h ^ (uint8_t)*host) * 1099511628211u;
	return h;
}

/* The place of host's leaf, or ca->n; caller holds the lock. */
static size_t
place_of(const struct ca *ca, const char *host, uint64_t hash)
{
	size_t i;

	for (i = 0; i < ca->n; i++)
		if (ca->hashes[i] == hash &&
		    strcmp(ca->leaves[i].host, host) == 0)
			break;
	return i;
}

static SSL_CTX *
hand_out(struct ca *ca, struct leaf *leaf)
{
	leaf->used = ++ca->clock;
	SSL_CTX_up_ref(leaf->ctx);
	return leaf->ctx;
}

/* Long enough to go, and begun: a clock may have been put back.  The CA's own
 * end is no reason to mint with every request. */
static bool
still_good(const struct ca *ca, const struct leaf *leaf, int64_t now_s)
{
	int64_t left_s = leaf->not_after_s - now_s;

	return left_s <= CA_LEAF_S + BACKDATE_S &&
	    (left_s >= REMINT_S || leaf->not_after_s == ca->not_after_s);
}

static SSL_CTX *
cached(struct ca *ca, const char *host, uint64_t hash, int64_t now_s)
{
	SSL_CTX *ctx = NULL;
	size_t i;

	pthread_mutex_lock(&ca->lock);
	i = place_of(ca, host, hash);
	if (i < ca->n && still_good(ca, &ca->leaves[i], now_s))
		ctx = hand_out(ca, &ca->leaves[i]);
	pthread_mutex_unlock(&ca->lock);
	return ctx;
}

/* A free place, or that of the leaf that nobody asked for the longest. */
static size_t
make_room(struct ca *ca)
{
	size_t i, oldest = 0;

	if (ca->n < CA_LEAVES_MAX)
		return ca->n++;
	for (i = 1; i < ca->n; i++)
		if (ca->leaves[i].used < ca->leaves[oldest].used)
			oldest = i;
	return oldest;
}

/* Keep a fresh leaf; takes over ctx and returns the caller's reference. */
static SSL_CTX *
keep(struct ca *ca, const char *host, uint64_t hash, SSL_CTX *ctx, int64_t to_s)
{
	char *copy = strdup(host);
	struct leaf *leaf;
	size_t i;

	if (copy == NULL)
		return ctx;
	pthread_mutex_lock(&ca->lock);
	if ((i = place_of(ca, host, hash)) == ca->n)
		i = make_room(ca);
	leaf = &ca->leaves[i];
	drop_leaf(leaf);
	ca->hashes[i] = hash;
	leaf->host = copy;
	leaf->ctx = ctx;
	leaf->not_after_s = to_s;
	ctx = hand_out(ca, leaf);
	pthread_mutex_unlock(&ca->lock);
	return ctx;
}

SSL_CTX *
ca_server_ctx(struct ca *ca, const char *host)
{
	uint64_t hash = hash_of(host);
	int64_t now_s = ca->now_s(), to_s = now_s + CA_LEAF_S;
	SSL_CTX *ctx;

	if ((ctx = cached(ca, host, hash, now_s)) != NULL)
		return ctx;
	if (to_s > ca->not_after_s)
		to_s = ca->not_after_s;
	if (to_s <= now_s || !ca_cert_host_ok(host))
		return NULL;
	/* Two threads may mint for one host at once; the later one stays. */
	if ((ctx = make_ctx(ca, host, now_s - BACKDATE_S, to_s)) == NULL)
		return NULL;
	return keep(ca, host, hash, ctx, to_s);
}
