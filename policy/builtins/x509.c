/*
 * Certificates, requests and key pairs, with the members of Go's structures
 * that policies look at: names, validity, serial number, alternative names.
 */
#include <string.h>

#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include "policy/builtins/codec.h"
#include "policy/builtins/layout.h"
#include "policy/plan/builtin.h"

#define CERTS_MAX 32

/* What OpenSSL holds for us while the arena may fail. */
struct held {
	X509 *cert[CERTS_MAX];
	unsigned n;
	X509_REQ *request;
	EVP_PKEY *key;
	X509_STORE *store;
	X509_STORE_CTX *ctx;
	STACK_OF(X509) *middle;		/* does not own */
	GENERAL_NAMES *names;
	BIO *bio;
};

static void
held_release(void *arg)
{
	struct held *h = arg;

	while (h->n > 0)
		X509_free(h->cert[--h->n]);
	X509_REQ_free(h->request);
	EVP_PKEY_free(h->key);
	X509_STORE_CTX_free(h->ctx);
	X509_STORE_free(h->store);
	sk_X509_free(h->middle);
	GENERAL_NAMES_free(h->names);
	BIO_free(h->bio);
	memset(h, 0, sizeof(*h));
	ERR_clear_error();
}

static struct held *
held_new(struct eval *eval)
{
	struct held *h = arena_alloc(eval->arena, sizeof(*h));

	memset(h, 0, sizeof(*h));
	arena_step(eval->arena, 1000);
	arena_defer(eval->arena, held_release, h);
	return h;
}

/* --- in --------------------------------------------------------------- */

static bool
is_pem(const struct value *v)
{
	return v->str.n > 10 && memcmp(v->str.p, "-----BEGIN", 10) == 0;
}

/* PEM as it is; else base64 of PEM or DER.  NULL after an error. */
static const struct value *
unwrapped(struct eval *eval, const struct value *v)
{
	struct buf out = { .arena = eval->arena };

	if (is_pem(v))
		return v;
	arena_step(eval->arena, v->str.n / 32);
	if (!codec_unbase64(&out, v->str.p, v->str.n, CODEC_PAD) ||
	    out.n == 0)
		return eval_error(eval, "illegal base64 data");
	return buf_value(&out);
}

static bool
read_pem_certs(struct held *h, const struct value *text)
{
	X509 *cert;

	h->bio = BIO_new_mem_buf(text->str.p, (int)text->str.n);
	while (h->bio != NULL && h->n < CERTS_MAX && (cert =
	    PEM_read_bio_X509(h->bio, NULL, NULL, NULL)) != NULL)
		h->cert[h->n++] = cert;
	return h->n > 0;
}

static bool
read_der_certs(struct held *h, const struct value *der)
{
	const unsigned char *p = (const unsigned char *)der->str.p;
	const unsigned char *end = p + der->str.n;
	X509 *cert;

	while (p < end && h->n < CERTS_MAX &&
	    (cert = d2i_X509(NULL, &p, end - p)) != NULL)
		h->cert[h->n++] = cert;
	return h->n > 0 && p == end;
}

static bool
read_certs(struct eval *eval, struct held *h, const struct value *v)
{
	const struct value *bytes = unwrapped(eval, v);

	if (bytes == NULL)
		return false;
	if (bytes->str.n > 1 << 20 || !(is_pem(bytes) ?
	    read_pem_certs(h, bytes) : read_der_certs(h, bytes))) {
		eval_error(eval, "x509: malformed certificate");
		return false;
	}
	return true;
}

/* --- out -------------------------------------------------------------- */

static void
put(struct eval *eval, struct value *to, const char *name,
    const struct value *v)
{
	value_put(eval->arena, to, value_text(eval->arena, name), v);
}

static const struct value *
asn1_text(struct eval *eval, const ASN1_STRING *s)
{
	return value_string_copy(eval->arena,
	    (const char *)ASN1_STRING_get0_data(s),
	    (size_t)ASN1_STRING_length(s));
}

/* UTF-8 text of one entry; entries of odd types are taken as they are. */
static const struct value *
entry_text(struct eval *eval, X509_NAME_ENTRY *entry)
{
	return asn1_text(eval, X509_NAME_ENTRY_get_data(entry));
}

/* All entries of this kind; null where there are none. */
static const struct value *
name_list(struct eval *eval, X509_NAME *name, int nid)
{
	struct value *out = NULL;
	int at = -1;

	while ((at = X509_NAME_get_index_by_NID(name, nid, at)) >= 0) {
		if (out == NULL)
			out = value_array(eval->arena, 1);
		value_append(eval->arena, out, entry_text(eval,
		    X509_NAME_get_entry(name, at)));
	}
	return out != NULL ? out : &value_null;
}

static const struct value *
name_one(struct eval *eval, X509_NAME *name, int nid)
{
	int at = X509_NAME_get_index_by_NID(name, nid, -1);

	return at < 0 ? &value_empty_string :
	    entry_text(eval, X509_NAME_get_entry(name, at));
}

static const struct value *
name_value(struct eval *eval, X509_NAME *name)
{
	static const struct {
		const char *member;
		int nid;
	} lists[] = {
		{ "Country", NID_countryName },
		{ "Locality", NID_localityName },
		{ "Organization", NID_organizationName },
		{ "OrganizationalUnit", NID_organizationalUnitName },
		{ "PostalCode", NID_postalCode },
		{ "Province", NID_stateOrProvinceName },
		{ "StreetAddress", NID_streetAddress }
	};
	struct value *out = value_object(eval->arena, 9);
	size_t i;

	put(eval, out, "CommonName", name_one(eval, name, NID_commonName));
	put(eval, out, "SerialNumber", name_one(eval, name,
	    NID_serialNumber));
	for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		put(eval, out, lists[i].member, name_list(eval, name,
		    lists[i].nid));
	return out;
}

static const struct value *
serial_value(struct eval *eval, const ASN1_INTEGER *serial)
{
	BIGNUM *bn = ASN1_INTEGER_to_BN(serial, NULL);
	char *text = bn != NULL ? BN_bn2dec(bn) : NULL;
	char copy[128] = "0";
	size_t n;

	if (text != NULL && strlen(text) < sizeof(copy))
		memcpy(copy, text, strlen(text) + 1);
	OPENSSL_free(text);
	BN_free(bn);
	n = strlen(copy);
	return value_number(eval->arena, arena_copy(eval->arena, copy, n), n);
}

static const struct value *
time_value(struct eval *eval, const ASN1_TIME *t)
{
	static const struct value layout = VALUE_STRING_LITERAL("RFC3339");
	struct buf out = { .arena = eval->arena };
	struct moment m = { .zone = { 0, "UTC" } };
	struct tm tm;

	if (ASN1_TIME_to_tm(t, &tm) != 1)
		return &value_null;
	m.seconds = civil_days(tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday) *
	    86400 + tm.tm_hour * 3600 + tm.tm_min * 60 + tm.tm_sec;
	layout_format(&out, layout_named(eval->arena, &layout), &m);
	return buf_value(&out);
}

/* Alternative names of one type; null where there are none. */
static const struct value *
alternatives(struct eval *eval, const GENERAL_NAMES *names, int type)
{
	struct value *out = NULL;
	const GENERAL_NAME *name;
	int i;

	for (i = 0; names != NULL && i < sk_GENERAL_NAME_num(names); i++) {
		name = sk_GENERAL_NAME_value(names, i);
		if (name->type != type)
			continue;
		if (out == NULL)
			out = value_array(eval->arena, 1);
		value_append(eval->arena, out, asn1_text(eval, name->d.ia5));
	}
	return out != NULL ? out : &value_null;
}

static void
put_alternatives(struct eval *eval, struct value *out,
    const GENERAL_NAMES *names, const char *uris)
{
	put(eval, out, "DNSNames", alternatives(eval, names, GEN_DNS));
	put(eval, out, "EmailAddresses", alternatives(eval, names,
	    GEN_EMAIL));
	put(eval, out, uris, alternatives(eval, names, GEN_URI));
}

static const struct value *
der_value(struct eval *eval, const X509 *cert)
{
	struct buf out = { .arena = eval->arena };
	unsigned char *der, *p;
	int n = i2d_X509(cert, NULL);

	if (n <= 0)
		return &value_null;
	der = p = arena_alloc(eval->arena, (size_t)n);
	i2d_X509(cert, &p);
	codec_base64(&out, (const char *)der, (size_t)n, CODEC_PAD);
	return buf_value(&out);
}

static const struct value *
cert_value(struct eval *eval, struct held *h, X509 *cert)
{
	struct value *out = value_object(eval->arena, 12);

	put(eval, out, "Subject", name_value(eval,
	    X509_get_subject_name(cert)));
	put(eval, out, "Issuer", name_value(eval,
	    X509_get_issuer_name(cert)));
	put(eval, out, "SerialNumber", serial_value(eval,
	    X509_get0_serialNumber(cert)));
	put(eval, out, "NotBefore", time_value(eval,
	    X509_get0_notBefore(cert)));
	put(eval, out, "NotAfter", time_value(eval,
	    X509_get0_notAfter(cert)));
	put(eval, out, "Version", value_int(eval->arena,
	    X509_get_version(cert) + 1));
	put(eval, out, "IsCA", value_bool(X509_check_ca(cert) > 0));
	put(eval, out, "Raw", der_value(eval, cert));
	GENERAL_NAMES_free(h->names);
	h->names = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
	put_alternatives(eval, out, h->names, "URIStrings");
	return out;
}

/* --- builtins --------------------------------------------------------- */

static const struct value *
call_parse_certificates(struct eval *eval, const struct value *const *args)
{
	struct value *out = NULL;
	struct held *h;
	unsigned i;

	if (!builtin_want(eval, args, 0, VALUE_STRING))
		return NULL;
	h = held_new(eval);
	if (read_certs(eval, h, args[0])) {
		out = value_array(eval->arena, h->n);
		for (i = 0; i < h->n; i++)
			value_append(eval->arena, out,
			    cert_value(eval, h, h->cert[i]));
	}
	arena_done(eval->arena, h);
	return out;
}

/* The first is the root, the last the leaf. */
static bool
chain_holds(struct eval *eval, struct held *h)
{
	X509_VERIFY_PARAM *param;
	unsigned i;

	h->store = X509_STORE_new();
	h->ctx = X509_STORE_CTX_new();
	h->middle = sk_X509_new_null();
	if (h->n < 2 || h->store == NULL || h->ctx == NULL ||
	    h->middle == NULL ||
	    X509_STORE_add_cert(h->store, h->cert[0]) != 1)
		return false;
	for (i = 1; i + 1 < h->n; i++)
		if (sk_X509_push(h->middle, h->cert[i]) == 0)
			return false;
	if (X509_STORE_CTX_init(h->ctx, h->store, h->cert[h->n - 1],
	    h->middle) != 1)
		return false;
	param = X509_STORE_CTX_get0_param(h->ctx);
	X509_VERIFY_PARAM_set_time(param,
	    (time_t)(eval->now_ns / 1000000000));
	X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_PARTIAL_CHAIN);
	arena_step(eval->arena, 2000 * (uint64_t)h->n);
	return X509_verify_cert(h->ctx) == 1;
}

static const struct value *
call_verify_certificates(struct eval *eval, const struct value *const *args)
{
	struct value *out, *list;
	STACK_OF(X509) *chain;
	struct held *h;
	bool valid;
	int i;

	if (!builtin_want(eval, args, 0, VALUE_STRING))
		return NULL;
	h = held_new(eval);
	valid = read_certs(eval, h, args[0]) && chain_holds(eval, h);
	eval->status = EVAL_OK;		/* what is wrong makes it false */
	out = value_array(eval->arena, 2);
	list = value_array(eval->arena, 2);
	value_append(eval->arena, out, value_bool(valid));
	value_append(eval->arena, out, list);
	chain = valid ? X509_STORE_CTX_get0_chain(h->ctx) : NULL;
	for (i = 0; chain != NULL && i < sk_X509_num(chain); i++)
		value_append(eval->arena, list, cert_value(eval, h,
		    sk_X509_value(chain, i)));
	arena_done(eval->arena, h);
	return out;
}

static bool
read_request(struct eval *eval, struct held *h, const struct value *v)
{
	const struct value *bytes = unwrapped(eval, v);
	const unsigned char *p;

	if (bytes == NULL)
		return false;
	if (is_pem(bytes) && bytes->str.n < 1 << 20) {
		h->bio = BIO_new_mem_buf(bytes->str.p, (int)bytes->str.n);
		h->request = PEM_read_bio_X509_REQ(h->bio, NULL, NULL, NULL);
	} else if (bytes->str.n < 1 << 20) {
		p = (const unsigned char *)bytes->str.p;
		h->request = d2i_X509_REQ(NULL, &p, (long)bytes->str.n);
	}
	if (h->request != NULL)
		return true;
	eval_error(eval, "asn1: structure error");
	return false;
}

static void
extensions_free(STACK_OF(X509_EXTENSION) *list)
{
	sk_X509_EXTENSION_pop_free(list, X509_EXTENSION_free);
}

static const struct value *
call_parse_request(struct eval *eval, const struct value *const *args)
{
	STACK_OF(X509_EXTENSION) *list;
	struct value *out = NULL;
	struct held *h;

	if (!builtin_want(eval, args, 0, VALUE_STRING))
		return NULL;
	h = held_new(eval);
	if (read_request(eval, h, args[0])) {
		list = X509_REQ_get_extensions(h->request);
		h->names = X509V3_get_d2i(list, NID_subject_alt_name, NULL,
		    NULL);
		extensions_free(list);
		out = value_object(eval->arena, 6);
		put(eval, out, "Subject", name_value(eval,
		    X509_REQ_get_subject_name(h->request)));
		put(eval, out, "Version", value_int(eval->arena,
		    X509_REQ_get_version(h->request)));
		put_alternatives(eval, out, h->names, "URIs");
	}
	arena_done(eval->arena, h);
	return out;
}

/* The certificates of a pair that belongs together; never the key. */
static const struct value *
call_parse_keypair(struct eval *eval, const struct value *const *args)
{
	const struct value *pem;
	struct value *out = NULL, *list;
	struct held *h;
	unsigned i;

	if (!builtin_want(eval, args, 0, VALUE_STRING) ||
	    !builtin_want(eval, args, 1, VALUE_STRING) ||
	    (pem = unwrapped(eval, args[1])) == NULL)
		return NULL;
	h = held_new(eval);
	if (!read_certs(eval, h, args[0]))
		goto out;
	BIO_free(h->bio);
	h->bio = BIO_new_mem_buf(pem->str.p, (int)pem->str.n);
	h->key = PEM_read_bio_PrivateKey(h->bio, NULL, NULL, NULL);
	if (h->key == NULL || X509_check_private_key(h->cert[0], h->key) != 1) {
		eval_error(eval, "tls: private key does not match public key");
		goto out;
	}
	list = value_array(eval->arena, h->n);
	for (i = 0; i < h->n; i++)
		value_append(eval->arena, list, der_value(eval, h->cert[i]));
	out = value_object(eval->arena, 1);
	put(eval, out, "Certificate", list);
 out:
	arena_done(eval->arena, h);
	return out;
}

const struct builtin builtins_x509[] = {
	{ "crypto.x509.parse_certificates", 1, 1, call_parse_certificates, false },
	{ "crypto.x509.parse_and_verify_certificates", 1, 1,
	    call_verify_certificates, true },
	{ "crypto.x509.parse_certificate_request", 1, 1, call_parse_request, false },
	{ "crypto.x509.parse_keypair", 1, 1, call_parse_keypair, false },
	{ NULL, 0, 0, NULL, false }
};
