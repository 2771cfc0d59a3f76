#include "ledger/anchor/revoked.h"
#include "ledger/anchor/stamp.h"
#include "ledger/input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <openssl/asn1.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ts.h>
#include <openssl/x509.h>
#include <sodium.h>

#define SECONDS_A_DAY 86400
#define STRENGTH 2		/* OpenSSL's level of 112 bits */
#define DIGEST_LEAST 28		/* bytes: SHA-224's, which are that strong */

/* ---- asking ---- */

void
stamp_digest(const void *bytes, size_t len, uint8_t digest[STAMP_DIGEST_LEN])
{
	crypto_hash_sha256(digest, bytes, len);
}

static TS_MSG_IMPRINT *
imprint_of(const uint8_t digest[STAMP_DIGEST_LEN])
{
	X509_ALGOR *algorithm = X509_ALGOR_new();
	TS_MSG_IMPRINT *imprint = TS_MSG_IMPRINT_new();
	bool good;

	good = algorithm != NULL && imprint != NULL &&
	    X509_ALGOR_set0(algorithm, OBJ_nid2obj(NID_sha256), V_ASN1_NULL,
	    NULL) == 1 &&
	    TS_MSG_IMPRINT_set_algo(imprint, algorithm) == 1 &&
	    TS_MSG_IMPRINT_set_msg(imprint, (uint8_t *)(uintptr_t)digest,
	    STAMP_DIGEST_LEN) == 1;
	X509_ALGOR_free(algorithm);
	if (good)
		return imprint;
	TS_MSG_IMPRINT_free(imprint);
	return NULL;
}

static bool
set_nonce(TS_REQ *request, const uint8_t nonce[STAMP_NONCE_LEN])
{
	BIGNUM *number = BN_bin2bn(nonce, STAMP_NONCE_LEN, NULL);
	ASN1_INTEGER *integer = number != NULL ? BN_to_ASN1_INTEGER(number,
	    NULL) : NULL;
	bool good = integer != NULL && TS_REQ_set_nonce(request, integer) == 1;

	ASN1_INTEGER_free(integer);
	BN_free(number);
	return good;
}

/* nonce NULL: without. */
static TS_REQ *
request_of(const uint8_t digest[STAMP_DIGEST_LEN], const uint8_t *nonce)
{
	TS_REQ *request = TS_REQ_new();
	TS_MSG_IMPRINT *imprint = imprint_of(digest);
	bool good = request != NULL && imprint != NULL &&
	    TS_REQ_set_version(request, 1) == 1 &&
	    TS_REQ_set_msg_imprint(request, imprint) == 1 &&
	    TS_REQ_set_cert_req(request, 1) == 1 &&
	    (nonce == NULL || set_nonce(request, nonce));

	TS_MSG_IMPRINT_free(imprint);
	if (good)
		return request;
	TS_REQ_free(request);
	return NULL;
}

uint8_t *
stamp_request(const uint8_t digest[STAMP_DIGEST_LEN],
    const uint8_t nonce[STAMP_NONCE_LEN], size_t *der_len)
{
	TS_REQ *request = request_of(digest, nonce);
	uint8_t *der = NULL, *copy = NULL;
	int n = request != NULL ? i2d_TS_REQ(request, &der) : -1;

	if (n > 0 && (copy = malloc((size_t)n)) != NULL) {
		memcpy(copy, der, (size_t)n);
		*der_len = (size_t)n;
	}
	OPENSSL_free(der);
	TS_REQ_free(request);
	return copy;
}

/* ---- checking ---- */

static int
refuse(char *why, size_t why_len, const char *text)
{
	unsigned long code = ERR_peek_last_error();
	const char *reason = code != 0 ? ERR_reason_error_string(code) : NULL;

	snprintf(why, why_len, "%s%s%s", text, reason != NULL ? ": " : "",
	    reason != NULL ? reason : "");
	ERR_clear_error();
	return -1;
}

/* Seconds since 1970 of a GeneralizedTime. */
static int
seconds_of(const ASN1_GENERALIZEDTIME *at, int64_t *out)
{
	ASN1_TIME *epoch = ASN1_TIME_set(NULL, 0);
	int days = 0, seconds = 0, good;

	good = epoch != NULL && at != NULL &&
	    ASN1_TIME_diff(&days, &seconds, epoch, at) == 1;
	ASN1_TIME_free(epoch);
	if (!good)
		return -1;
	*out = (int64_t)days * SECONDS_A_DAY + seconds;
	return *out >= 0 ? 0 : -1;
}

/* What is not told is 0. */
static bool
read_part(const ASN1_INTEGER *part, int64_t *out)
{
	*out = 0;
	return part == NULL || (ASN1_INTEGER_get_int64(out, part) == 1 && *out >= 0 &&
	    *out <= SECONDS_A_DAY);
}

/* More than a day is nobody's clock. */
static bool
read_accuracy(TS_TST_INFO *info, int64_t *out)
{
	const TS_ACCURACY *accuracy = TS_TST_INFO_get_accuracy(info);
	int64_t seconds, millis, micros;

	*out = 0;
	if (accuracy == NULL)
		return true;
	if (!read_part(TS_ACCURACY_get_seconds(accuracy), &seconds) ||
	    !read_part(TS_ACCURACY_get_millis(accuracy), &millis) ||
	    !read_part(TS_ACCURACY_get_micros(accuracy), &micros))
		return false;
	*out = seconds + (millis > 0 || micros > 0);
	return true;
}

static int
read_info(TS_TST_INFO *info, struct stamp *out)
{
	BIGNUM *serial = NULL;
	char *hex = NULL;

	if (info == NULL ||
	    seconds_of(TS_TST_INFO_get_time(info), &out->time_s) != 0 ||
	    !read_accuracy(info, &out->accuracy_s))
		return -1;
	serial = ASN1_INTEGER_to_BN(TS_TST_INFO_get_serial(info), NULL);
	hex = serial != NULL ? BN_bn2hex(serial) : NULL;
	if (hex != NULL)
		snprintf(out->serial, sizeof(out->serial), "%.63s", hex);
	OPENSSL_free(hex);
	BN_free(serial);
	return hex != NULL ? 0 : -1;
}

/* For every certificate of a PEM file, until one returns true: how many. */
static unsigned
each_authority(const char *ca_file, bool (*each)(void *, X509 *), void *context)
{
	FILE *in = input_open(ca_file);
	bool stop = false;
	unsigned n = 0;
	X509 *cert;

	while (in != NULL && !stop &&
	    (cert = PEM_read_X509(in, NULL, NULL, NULL)) != NULL) {
		stop = each(context, cert);
		n++;
		X509_free(cert);
	}
	if (in != NULL)
		fclose(in);
	ERR_clear_error();	/* the file's end is one */
	return n;
}

static bool
add_authority(void *store, X509 *cert)
{
	(void)X509_STORE_add_cert(store, cert);
	return false;
}

static bool
pass_over(void *context, X509 *cert)
{
	(void)context;
	(void)cert;
	return false;
}

unsigned
stamp_authorities(const char *ca_file)
{
	return revoked_readable(ca_file) ? each_authority(ca_file, pass_over, NULL) : 0;
}

static bool
key_digest(const X509 *cert, uint8_t digest[STAMP_DIGEST_LEN])
{
	unsigned len = 0;

	return X509_pubkey_digest(cert, EVP_sha256(), digest, &len) == 1 &&
	    len == STAMP_DIGEST_LEN;
}

struct sought {
	const char *ca_file;		/* where to look */
	const uint8_t *key;
	bool found;
};

static bool
is_sought(void *context, X509 *cert)
{
	struct sought *sought = context;
	uint8_t digest[STAMP_DIGEST_LEN];

	sought->found = !key_digest(cert, digest) ||
	    memcmp(digest, sought->key, sizeof(digest)) == 0;
	return sought->found;
}

static bool
is_shared(void *context, X509 *cert)
{
	struct sought *sought = context;
	uint8_t digest[STAMP_DIGEST_LEN];

	sought->key = digest;
	sought->found = !key_digest(cert, digest);
	if (!sought->found)
		each_authority(sought->ca_file, is_sought, sought);
	sought->key = NULL;
	return sought->found;
}

bool
stamp_authorities_shared(const char *ca_file, const char *other)
{
	struct sought sought = { .ca_file = other };

	each_authority(ca_file, is_shared, &sought);
	return sought.found;
}

/* Whom the file names is trusted, a root or not, and must have been good at
 * that moment. */
static X509_STORE *
store_of(const char *ca_file, int64_t time_s)
{
	X509_STORE *store = X509_STORE_new();

	if (store != NULL && each_authority(ca_file, add_authority, store) > 0) {
		X509_VERIFY_PARAM_set_time(X509_STORE_get0_param(store),
		    (time_t)time_s);
		X509_VERIFY_PARAM_set_auth_level(X509_STORE_get0_param(store), STRENGTH);
		X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
		return store;
	}
	X509_STORE_free(store);
	return NULL;
}

/* What the request would have demanded: digest, its algorithm, the nonce. */
static TS_VERIFY_CTX *
context_of(const uint8_t digest[STAMP_DIGEST_LEN], const uint8_t *nonce,
    const char *ca_file, int64_t time_s)
{
	X509_STORE *store = ca_file != NULL ? store_of(ca_file, time_s) : NULL;
	TS_REQ *request = request_of(digest, nonce);
	TS_VERIFY_CTX *context = NULL;

	if (request != NULL && (ca_file == NULL || store != NULL))
		context = TS_REQ_to_TS_VERIFY_CTX(request, NULL);
	TS_REQ_free(request);
	if (context == NULL) {
		X509_STORE_free(store);
		return NULL;
	}
	/* What OpenSSL makes of a request leaves the signature out. */
	if (store != NULL) {
		TS_VERIFY_CTX_set_store(context, store);	/* its own now */
		TS_VERIFY_CTX_add_flags(context, TS_VFY_SIGNATURE);
	} else {
		TS_VERIFY_CTX_set_flags(context, TS_VFY_VERSION |
		    TS_VFY_IMPRINT | (nonce != NULL ? TS_VFY_NONCE : 0));
	}
	return context;
}

/* A response, or a token that was kept without its response. */
struct parsed {
	TS_RESP *response;
	PKCS7 *token;		/* the response's, or our own where there is none */
	TS_TST_INFO *info;	/* our own */
};

static void
parsed_free(struct parsed *parsed)
{
	if (parsed->response == NULL)
		PKCS7_free(parsed->token);
	TS_RESP_free(parsed->response);
	TS_TST_INFO_free(parsed->info);
}

static int
parse(const uint8_t *der, size_t len, struct parsed *out)
{
	const uint8_t *at = der;

	memset(out, 0, sizeof(*out));
	out->response = d2i_TS_RESP(NULL, &at, (long)len);
	if (out->response != NULL) {
		out->token = TS_RESP_get_token(out->response);
	} else {
		at = der;
		out->token = d2i_PKCS7(NULL, &at, (long)len);
	}
	if (at != der + len || (out->response == NULL && out->token == NULL))
		return -1;
	if (out->token != NULL && PKCS7_type_is_signed(out->token))
		out->info = PKCS7_to_TS_TST_INFO(out->token);
	return 0;
}

/* The key of the one certificate that signed it. */
static bool
read_signer(PKCS7 *token, struct stamp *out)
{
	STACK_OF(X509) *signers = PKCS7_get0_signers(token, NULL, 0);
	bool good = signers != NULL && sk_X509_num(signers) == 1 &&
	    key_digest(sk_X509_value(signers, 0), out->signer);

	sk_X509_free(signers);
	return good;
}

/* The digests that were signed: of each signer one. */
static bool
is_strong(PKCS7 *token)
{
	STACK_OF(PKCS7_SIGNER_INFO) *all = PKCS7_get_signer_info(token);
	const EVP_MD *md;

	for (int i = 0; i < sk_PKCS7_SIGNER_INFO_num(all); i++) {
		md = EVP_get_digestbyobj(sk_PKCS7_SIGNER_INFO_value(all, i)->digest_alg->algorithm);
		if (md == NULL || EVP_MD_get_size(md) < DIGEST_LEAST)
			return false;
	}
	return true;
}

/* Signed at least by the certificate that it carries. */
static bool
signed_by_somebody(PKCS7 *token)
{
	return PKCS7_verify(token, NULL, NULL, NULL, NULL,
	    PKCS7_NOVERIFY) == 1;
}

/* What TS_RESP_verify_* passes, and we do not.  NULL, or why. */
static const char *
misfit(const struct parsed *parsed, const char *ca_file, struct stamp *out)
{
	if (ca_file == NULL && !signed_by_somebody(parsed->token))
		return "the time stamp is not signed";
	if (!read_signer(parsed->token, out))
		return "the time stamp's signer is not with it";
	return ca_file == NULL ? NULL :
	    revoked_for(ca_file, parsed->token, out->time_s + out->accuracy_s);
}

static int
check(const struct parsed *parsed, const uint8_t *digest,
    const uint8_t *nonce, const char *ca_file, struct stamp *out, char *why,
    size_t why_len)
{
	TS_VERIFY_CTX *context;
	const char *rule;
	int good;

	if (parsed->info == NULL || read_info(parsed->info, out) != 0)
		return refuse(why, why_len, "the authority granted no time "
		    "stamp");
	if (TS_TST_INFO_get_ext_by_critical(parsed->info, 1, -1) >= 0)
		return refuse(why, why_len, "the time stamp has a critical extension "
		    "that is not known here");
	if (!is_strong(parsed->token))
		return refuse(why, why_len, "the time stamp is signed by a digest that "
		    "can be forged (SHA-1, MD5)");
	context = context_of(digest, nonce, ca_file, out->time_s);
	if (context == NULL)
		return refuse(why, why_len, ca_file != NULL ?
		    "the authority's CA file cannot be used" : "out of memory");
	good = parsed->response != NULL ?
	    TS_RESP_verify_response(context, parsed->response) :
	    TS_RESP_verify_token(context, parsed->token);
	TS_VERIFY_CTX_free(context);
	if (good != 1)
		return refuse(why, why_len, "the time stamp does not verify");
	rule = misfit(parsed, ca_file, out);
	if (rule != NULL)
		return refuse(why, why_len, rule);
	ERR_clear_error();
	return 0;
}

int
stamp_check(const uint8_t *der, size_t der_len,
    const uint8_t digest[STAMP_DIGEST_LEN], const uint8_t *nonce,
    const char *ca_file, struct stamp *out, char *why, size_t why_len)
{
	struct parsed parsed;
	int status;

	memset(out, 0, sizeof(*out));
	if (der_len > STAMP_MAX)
		return refuse(why, why_len, "longer than any time stamp");
	if (parse(der, der_len, &parsed) != 0)
		status = refuse(why, why_len, "not a time stamp response");
	else
		status = check(&parsed, digest, nonce, ca_file, out, why,
		    why_len);
	parsed_free(&parsed);
	return status;
}
