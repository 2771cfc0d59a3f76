/* The local CA: what is in its certificates, and which of them are kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <openssl/bn.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "private_file.h"
#include "tls/ca.h"
#include "tls/ca_cert.h"
#include "vault/master.h"

static char dir[] = "/tmp/test_ca.XXXXXX";
static char ca_dir[64], pem[80], sealed[80];
static uint8_t key[32], other_key[32];
static struct ca *ca;
static X509 *root;

static int
set_up(void **state)
{
	struct vault_error err;
	FILE *f;

	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(ca_dir, sizeof(ca_dir), "%s/ca", dir);
	snprintf(pem, sizeof(pem), "%s/ca.pem", ca_dir);
	snprintf(sealed, sizeof(sealed), "%s/ca.key", ca_dir);
	memset(key, 7, sizeof(key));
	if (ca_create(ca_dir, key, "test", &err) != VAULT_OK ||
	    ca_open(ca_dir, key, &ca, &err) != VAULT_OK) {
		fprintf(stderr, "%s\n", err.text);
		return -1;
	}
	if ((f = fopen(pem, "r")) == NULL)
		return -1;
	root = PEM_read_X509(f, NULL, NULL, NULL);
	fclose(f);
	return root != NULL ? 0 : -1;
}

static int
tear_down(void **state)
{
	X509_free(root);
	ca_free(ca);
	unlink(pem);
	unlink(sealed);
	rmdir(ca_dir);
	return rmdir(dir);
}

static int64_t
now(void)
{
	return (int64_t)time(NULL);
}

static int64_t clock_s;

static int64_t
test_clock(void)
{
	return clock_s;
}

/* The leaf of host; a reference of the caller's. */
static X509 *
leaf_of(const char *host)
{
	SSL_CTX *ctx = ca_server_ctx(ca, host);
	X509 *cert;

	assert_non_null(ctx);
	cert = SSL_CTX_get0_certificate(ctx);
	X509_up_ref(cert);
	SSL_CTX_free(ctx);
	return cert;
}

/* X509_V_OK, or why OpenSSL at its strictest refuses the leaf for host. */
static int
verify(X509 *cert, const char *host, bool address)
{
	X509_STORE *store = X509_STORE_new();
	X509_STORE_CTX *ctx = X509_STORE_CTX_new();
	X509_VERIFY_PARAM *param;
	int error;

	X509_STORE_add_cert(store, root);
	X509_STORE_CTX_init(ctx, store, cert, NULL);
	param = X509_STORE_CTX_get0_param(ctx);
	X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_X509_STRICT |
	    X509_V_FLAG_CHECK_SS_SIGNATURE | X509_V_FLAG_POLICY_CHECK);
	X509_VERIFY_PARAM_set_purpose(param, X509_PURPOSE_SSL_SERVER);
	X509_VERIFY_PARAM_set_auth_level(param, 2);
	if (address)
		X509_VERIFY_PARAM_set1_ip_asc(param, host);
	else
		X509_VERIFY_PARAM_set1_host(param, host, 0);
	X509_verify_cert(ctx);
	error = X509_STORE_CTX_get_error(ctx);
	X509_STORE_CTX_free(ctx);
	X509_STORE_free(store);
	return error;
}

static void
strictly_valid(void **state)
{
	static const struct { const char *host; bool address; } hosts[] = {
		{ "api.example.com", false }, { "localhost", false },
		{ "x_y-z.example.com", false }, { "xn--mnchen-3ya.example", false },
		{ "192.0.2.7", true }, { "2001:db8::1", true }, { "::1", true },
		{ "a23456789-123456789-123456789-123456789-123456789-123456789."
		    "b.example.com", false },
	};
	size_t i;
	X509 *cert;

	for (i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		cert = leaf_of(hosts[i].host);
		assert_int_equal(verify(cert, hosts[i].host, hosts[i].address),
		    X509_V_OK);
		assert_int_not_equal(verify(cert, "other.example.com", false),
		    X509_V_OK);
		X509_free(cert);
	}
}

static void
what_they_hold(void **state)
{
	const ASN1_OCTET_STRING *root_ski = X509_get0_subject_key_id(root);
	X509 *cert = leaf_of("api.example.com");
	int days = 0, seconds = 0, critical = 0;

	assert_int_equal(X509_get_version(root), X509_VERSION_3);
	assert_int_equal(X509_get_extension_flags(root) & (EXFLAG_CA | EXFLAG_SS |
	    EXFLAG_INVALID), EXFLAG_CA | EXFLAG_SS);
	assert_int_equal(X509_get_pathlen(root), 0);
	assert_int_equal(X509_get_key_usage(root), KU_KEY_CERT_SIGN | KU_CRL_SIGN);
	assert_non_null(root_ski);
	ASN1_TIME_diff(&days, &seconds, X509_get0_notBefore(root), NULL);
	assert_in_range(seconds, 3600, 3720);
	ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(root));
	assert_true(days >= 366);

	assert_false(X509_get_extension_flags(cert) & (EXFLAG_CA | EXFLAG_INVALID));
	assert_int_equal(X509_get_key_usage(cert), KU_DIGITAL_SIGNATURE);
	ASN1_BIT_STRING_free(X509_get_ext_d2i(cert, NID_key_usage, &critical, NULL));
	assert_int_equal(critical, 1);
	assert_int_equal(X509_get_extended_key_usage(cert), XKU_SSL_SERVER);
	assert_non_null(X509_get0_subject_key_id(cert));
	assert_int_equal(ASN1_OCTET_STRING_cmp(X509_get0_authority_key_id(cert),
	    root_ski), 0);
	assert_int_equal(EVP_PKEY_get_bits(X509_get0_pubkey(cert)), 256);

	ASN1_TIME_diff(&days, &seconds, X509_get0_notBefore(cert), NULL);
	assert_in_range(seconds, 3600, 3660);
	assert_int_equal(days, 0);
	ASN1_TIME_diff(&days, &seconds, NULL, X509_get0_notAfter(cert));
	assert_in_range(days, 6, 7);
	X509_free(cert);
}

/* The serial in DER: INTEGER, at most 20 octets, positive, no octet too many. */
static void
check_serial(X509 *cert)
{
	ASN1_INTEGER *serial = X509_get_serialNumber(cert), *again;
	uint8_t der[64], *p = der;
	const uint8_t *q = der;
	int len = i2d_ASN1_INTEGER(serial, &p);

	assert_in_range(len, 3, 22);
	assert_int_equal(der[0], 2);
	assert_int_equal(der[1], len - 2);
	assert_false(der[2] & 0x80);
	assert_false(der[2] == 0 && !(der[3] & 0x80));
	again = d2i_ASN1_INTEGER(NULL, &q, len);
	assert_non_null(again);
	assert_int_equal(ASN1_INTEGER_cmp(serial, again), 0);
	ASN1_INTEGER_free(again);
}

static int
compare(const void *a, const void *b)
{
	return memcmp(a, b, 16);
}

static void
five_thousand_serials(void **state)
{
	EVP_PKEY *root_key = ca_cert_key();
	X509 *own = ca_cert_root(root_key, "serials", now()), *cert, *again;
	static uint8_t serials[5000][16];
	uint8_t *der, *p;
	const uint8_t *q;
	BIGNUM *bn;
	int i, len;

	for (i = 0; i < 5000; i++) {
		cert = ca_cert_leaf(own, root_key, root_key, "a.example", now(),
		    now() + 60);
		assert_non_null(cert);
		check_serial(cert);
		bn = ASN1_INTEGER_to_BN(X509_get0_serialNumber(cert), NULL);
		assert_int_equal(BN_num_bits(bn), 127);
		BN_bn2binpad(bn, serials[i], 16);
		BN_free(bn);
		der = NULL;
		len = i2d_X509(cert, &der);
		p = der;
		q = p;
		again = d2i_X509(NULL, &q, len);
		assert_non_null(again);
		assert_ptr_equal(q, der + len);
		X509_free(again);
		OPENSSL_free(der);
		X509_free(cert);
	}
	qsort(serials, 5000, 16, compare);
	for (i = 1; i < 5000; i++)
		assert_memory_not_equal(serials[i - 1], serials[i], 16);
	X509_free(own);
	EVP_PKEY_free(root_key);
}

static void
hosts(void **state)
{
	static const char *const bad[] = { "", ".", "a..b", ".a", "a.", "A.example",
	    "a b", "a,DNS:b", "*.example.com", "1.2.3", "1.2.3.256", "[::1]",
	    "a.example:443", "a/b", "\xc3\xa4.example", NULL };
	char name[300];
	size_t i;

	for (i = 0; bad[i] != NULL; i++) {
		assert_null(ca_server_ctx(ca, bad[i]));
		assert_false(ca_cert_host_ok(bad[i]));
	}
	memset(name, 'a', sizeof(name));
	name[63] = '\0';
	assert_true(ca_cert_host_ok(name));
	name[63] = 'a', name[64] = '\0';
	assert_false(ca_cert_host_ok(name));
	for (i = 3; i < 253; i += 4)
		name[i] = '.', name[i + 1] = 'a';
	name[64] = 'a', name[253] = '\0';
	assert_true(ca_cert_host_ok(name));
	name[253] = 'a', name[254] = '\0';
	assert_false(ca_cert_host_ok(name));
}

static void
least_recently_used(void **state)
{
	X509 *first = leaf_of("first.example"), *second, *again;
	char host[32];
	int i;

	again = leaf_of("first.example");
	assert_ptr_equal(first, again);
	X509_free(again);
	second = leaf_of("second.example");
	for (i = 0; i < CA_LEAVES_MAX - 1; i++) {
		snprintf(host, sizeof(host), "h%d.example", i);
		X509_free(leaf_of(host));
		X509_free(leaf_of("first.example"));	/* stays in use */
	}
	again = leaf_of("first.example");
	assert_ptr_equal(first, again);
	X509_free(again);
	again = leaf_of("second.example");
	assert_ptr_not_equal(second, again);	/* was thrown out */
	X509_free(again);
	X509_free(first);
	X509_free(second);
}

static void
minted_anew_before_the_end(void **state)
{
	X509 *first, *later;

	clock_s = now();
	ca_set_clock(ca, test_clock);
	first = leaf_of("renew.example");
	clock_s += CA_LEAF_S - 24 * 3600;
	later = leaf_of("renew.example");
	assert_ptr_equal(first, later);
	X509_free(later);
	clock_s += 1;
	later = leaf_of("renew.example");
	assert_ptr_not_equal(first, later);
	assert_int_equal(ca_cert_not_after(later), clock_s + CA_LEAF_S);
	X509_free(later);
	X509_free(first);

	/* Never beyond the CA's own end; nothing after it. */
	clock_s = ca_cert_not_after(root) - 3600;
	first = leaf_of("end.example");
	assert_int_equal(ca_cert_not_after(first), ca_cert_not_after(root));
	later = leaf_of("end.example");
	assert_ptr_equal(first, later);
	X509_free(later);
	X509_free(first);
	clock_s = ca_cert_not_after(root);
	assert_null(ca_server_ctx(ca, "late.example"));
	clock_s = now();
}

static void
opening(void **state)
{
	struct ca *again = NULL;
	struct vault_error err;
	uint8_t *cert;
	size_t len = 0;
	char elsewhere[64], path[96];
	struct stat st;

	assert_int_equal(ca_create(ca_dir, key, "test", &err), VAULT_EXISTS);
	assert_int_equal(ca_open(ca_dir, other_key, &again, &err), VAULT_WRONG_KEY);
	assert_int_equal(ca_open(dir, key, &again, &err), VAULT_MISSING);
	assert_int_equal(stat(sealed, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(stat(pem, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	assert_int_equal(stat(ca_dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(chmod(pem, 0664), 0);
	assert_int_equal(ca_open(ca_dir, key, &again, &err), VAULT_INVALID);
	assert_int_equal(chmod(pem, 0644), 0);
	assert_int_equal(ca_create(ca_dir, key, "", &err), VAULT_INVALID);

	/* Another CA's certificate beside our key. */
	snprintf(elsewhere, sizeof(elsewhere), "%s/other", dir);
	assert_int_equal(ca_create(elsewhere, key, "other", &err), VAULT_OK);
	cert = private_file_read(pem, PRIVATE_SETTINGS, 65536, &len);
	snprintf(path, sizeof(path), "%s/ca.pem", elsewhere);
	assert_int_equal(private_file_replace_mode(path, cert, len, 0644), 0);
	assert_int_equal(ca_open(elsewhere, key, &again, &err), VAULT_INVALID);
	assert_int_equal(private_file_replace_mode(path, cert, len / 2, 0644), 0);
	assert_int_equal(ca_open(elsewhere, key, &again, &err), VAULT_DAMAGED);
	assert_null(again);
	free(cert);
	unlink(path);
	snprintf(path, sizeof(path), "%s/ca.key", elsewhere);
	unlink(path);
	rmdir(elsewhere);
}

/* A CA whose certificate has ended, with its key as ca_create would write it. */
static void
expired(void **state)
{
	char elsewhere[64], cert_path[80], key_path[80];
	EVP_PKEY *pkey = ca_cert_key();
	X509 *cert = ca_cert_root(pkey, "old", now() - CA_CERT_ROOT_S);
	struct ca *again = NULL;
	struct vault_error err;
	uint8_t *der = NULL;
	int len = i2d_PrivateKey(pkey, &der);
	FILE *out;

	snprintf(elsewhere, sizeof(elsewhere), "%s/old", dir);
	snprintf(cert_path, sizeof(cert_path), "%s/ca.pem", elsewhere);
	snprintf(key_path, sizeof(key_path), "%s/ca.key", elsewhere);
	assert_int_equal(mkdir(elsewhere, 0700), 0);
	assert_int_equal(sealed_write(key_path, key, "ca.key", der, (size_t)len,
	    &err), VAULT_OK);
	assert_non_null(out = fopen(cert_path, "w"));
	assert_int_equal(PEM_write_X509(out, cert), 1);
	fclose(out);
	assert_int_equal(ca_open(elsewhere, key, &again, &err), VAULT_INVALID);
	assert_non_null(strstr(err.text, "expired"));
	OPENSSL_free(der);
	X509_free(cert);
	EVP_PKEY_free(pkey);
	unlink(cert_path);
	unlink(key_path);
	rmdir(elsewhere);
}

/* --- handshakes in memory ---------------------------------------------- */

struct handshake {
	bool done, resumed;
	char alpn[16];
	SSL_SESSION *session;	/* of the client */
};

static int
keep_session(SSL *ssl, SSL_SESSION *session)
{
	struct handshake *result = SSL_get_app_data(ssl);

	SSL_SESSION_free(result->session);
	result->session = session;
	return 1;
}

static SSL_CTX *
client_ctx(void)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

	X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), root);
	X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(ctx),
	    X509_V_FLAG_X509_STRICT);
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT |
	    SSL_SESS_CACHE_NO_INTERNAL);
	SSL_CTX_sess_set_new_cb(ctx, keep_session);
	return ctx;
}

static struct handshake
shake(SSL_CTX *server_ctx, const char *host, const char *alpn,
    SSL_SESSION *session, int version)
{
	struct handshake result = { 0 };
	SSL_CTX *ctx = client_ctx();
	SSL *client = SSL_new(ctx), *server = SSL_new(server_ctx);
	BIO *a = NULL, *b = NULL;
	const unsigned char *chosen = NULL;
	unsigned len = 0;
	char byte;
	int i;

	BIO_new_bio_pair(&a, 0, &b, 0);
	SSL_set_bio(client, a, a);
	SSL_set_bio(server, b, b);
	SSL_set_app_data(client, &result);
	SSL_set1_host(client, host);
	SSL_set_max_proto_version(client, version);
	if (alpn != NULL)
		SSL_set_alpn_protos(client, (const unsigned char *)alpn,
		    (unsigned)strlen(alpn));
	if (session != NULL)
		SSL_set_session(client, session);
	SSL_set_connect_state(client);
	SSL_set_accept_state(server);
	for (i = 0; i < 10; i++) {
		SSL_do_handshake(client);
		SSL_do_handshake(server);
	}
	result.done = SSL_is_init_finished(client) && SSL_is_init_finished(server);
	if (result.done) {
		SSL_write(server, "x", 1);
		SSL_read(client, &byte, 1);	/* takes the ticket on its way */
	}
	result.resumed = SSL_session_reused(client);
	SSL_get0_alpn_selected(client, &chosen, &len);
	if (len < sizeof(result.alpn))
		memcpy(result.alpn, chosen != NULL ? (const char *)chosen : "", len);
	/* Without a close, SSL_free calls the session not resumable. */
	SSL_set_shutdown(client, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
	SSL_free(client);
	SSL_free(server);
	SSL_CTX_free(ctx);
	return result;
}

static void
protocols(void **state)
{
	SSL_CTX *ctx = ca_server_ctx(ca, "alpn.example");
	struct handshake r;

	r = shake(ctx, "alpn.example", "\x02h2\x08http/1.1", NULL, TLS1_3_VERSION);
	assert_true(r.done);
	assert_string_equal(r.alpn, "http/1.1");
	SSL_SESSION_free(r.session);
	r = shake(ctx, "alpn.example", NULL, NULL, TLS1_2_VERSION);
	assert_true(r.done);
	assert_string_equal(r.alpn, "");
	SSL_SESSION_free(r.session);
	r = shake(ctx, "alpn.example", "\x08http/1.0", NULL, TLS1_3_VERSION);
	assert_true(r.done);
	assert_string_equal(r.alpn, "http/1.0");
	SSL_SESSION_free(r.session);
	r = shake(ctx, "alpn.example", "\x08http/1.0\x08http/1.1", NULL, TLS1_3_VERSION);
	assert_true(r.done);
	assert_string_equal(r.alpn, "http/1.1");
	SSL_SESSION_free(r.session);
	r = shake(ctx, "alpn.example", "\x02h2", NULL, TLS1_3_VERSION);
	assert_false(r.done);
	r = shake(ctx, "alpn.example", NULL, NULL, TLS1_1_VERSION);
	assert_false(r.done);
	r = shake(ctx, "other.example", NULL, NULL, TLS1_3_VERSION);
	assert_false(r.done);
	/* What today's OpenSSL would refuse anyhow, on either side. */
	assert_int_equal(SSL_CTX_get_min_proto_version(ctx), TLS1_2_VERSION);
	assert_true(SSL_CTX_get_options(ctx) & SSL_OP_NO_RENEGOTIATION);
	assert_int_equal(SSL_CTX_get_num_tickets(ctx), 1);
	SSL_CTX_free(ctx);
}

/* One ticket key for all: also a context made anew resumes, and only for the
 * host that the ticket was given for. */
static void
resumes(void **state)
{
	static const int versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };
	SSL_CTX *ctx, *anew, *other = ca_server_ctx(ca, "other.example");
	struct handshake first, again;
	size_t i;

	for (i = 0; i < 2; i++) {
		clock_s = now();
		ctx = ca_server_ctx(ca, "resume.example");
		first = shake(ctx, "resume.example", NULL, NULL, versions[i]);
		assert_true(first.done);
		assert_false(first.resumed);
		assert_non_null(first.session);
		clock_s += CA_LEAF_S - 3600;
		anew = ca_server_ctx(ca, "resume.example");
		assert_ptr_not_equal(ctx, anew);
		again = shake(anew, "resume.example", NULL, first.session,
		    versions[i]);
		assert_true(again.done);
		assert_true(again.resumed);
		SSL_SESSION_free(again.session);
		again = shake(other, "other.example", NULL, first.session,
		    versions[i]);
		assert_false(again.done && again.resumed);
		SSL_SESSION_free(again.session);
		SSL_SESSION_free(first.session);
		SSL_CTX_free(ctx);
		SSL_CTX_free(anew);
	}
	clock_s = now();
	SSL_CTX_free(other);
}

static void *
ask_many(void *arg)
{
	char host[32];
	SSL_CTX *ctx;
	int i;

	for (i = 0; i < 200; i++) {
		snprintf(host, sizeof(host), "t%d.example", i % 50);
		ctx = ca_server_ctx(ca, host);
		if (ctx == NULL)
			return ca;	/* anything but NULL */
		SSL_CTX_free(ctx);
	}
	return NULL;
}

static void
four_threads(void **state)
{
	pthread_t threads[4];
	void *why = NULL;
	int i;

	for (i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, ask_many, NULL);
	for (i = 0; i < 4; i++) {
		pthread_join(threads[i], &why);
		assert_null(why);
	}
}

static void
bundle(void **state)
{
	char out[96], own[96], *text, *again;
	size_t len = 0, more = 0;
	struct stat st;

	snprintf(out, sizeof(out), "%s/bundle.pem", dir);
	snprintf(own, sizeof(own), "%s/own.pem", dir);
	assert_int_equal(private_file_replace(own, "the operator's", 14), 0);
	setenv("SSL_CERT_FILE", own, 1);
	assert_int_equal(ca_write_bundle(pem, out), 0);
	text = (char *)private_file_read(out, PRIVATE_SETTINGS, 1 << 24, &len);
	assert_non_null(text);
	assert_int_equal(strncmp(text, "-----BEGIN CERTIFICATE-----", 27), 0);
	assert_non_null(strstr(text, "the operator's"));
	free(text);

	/* It does not swallow itself. */
	setenv("SSL_CERT_FILE", out, 1);
	assert_int_equal(ca_write_bundle(pem, out), 0);
	text = (char *)private_file_read(out, PRIVATE_SETTINGS, 1 << 24, &len);
	assert_null(strstr(text, "the operator's"));
	free(text);

	/* What is no file is as good as none: the system's are taken. */
	unsetenv("SSL_CERT_FILE");
	assert_int_equal(ca_write_bundle(pem, out), 0);
	text = (char *)private_file_read(out, PRIVATE_SETTINGS, 1 << 24, &len);
	setenv("SSL_CERT_FILE", "/dev/null", 1);
	assert_int_equal(ca_write_bundle(pem, out), 0);
	again = (char *)private_file_read(out, PRIVATE_SETTINGS, 1 << 24, &more);
	assert_int_equal(len, more);
	assert_memory_equal(text, again, len);
	free(text);
	free(again);

	/* Two that are not parted by a newline would be none. */
	setenv("SSL_CERT_FILE", pem, 1);
	assert_int_equal(ca_write_bundle(own, out), 0);
	text = (char *)private_file_read(out, PRIVATE_SETTINGS, 1 << 24, &len);
	assert_int_equal(strncmp(text, "the operator's\n-----BEGIN", 25), 0);
	free(text);
	unsetenv("SSL_CERT_FILE");
	assert_int_equal(stat(out, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	assert_int_equal(ca_write_bundle("/nonexistent", out), -1);
	unlink(out);
	unlink(own);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strictly_valid),
		cmocka_unit_test(what_they_hold),
		cmocka_unit_test(five_thousand_serials),
		cmocka_unit_test(hosts),
		cmocka_unit_test(least_recently_used),
		cmocka_unit_test(minted_anew_before_the_end),
		cmocka_unit_test(opening),
		cmocka_unit_test(expired),
		cmocka_unit_test(protocols),
		cmocka_unit_test(resumes),
		cmocka_unit_test(four_threads),
		cmocka_unit_test(bundle),
	};

	return cmocka_run_group_tests_name("ca", tests, set_up, tear_down);
}
