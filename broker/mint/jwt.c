#include "mint/jwt.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <sodium.h>

#define RSA_BITS_MIN 2048
#define SIGNATURE_MAX 1024	/* RSA of 8192 bits */
#define HALF 32			/* of an ES256 signature (RFC 7518, section 3.4) */

/* A key that is sealed under a passphrase is none: nobody is there to give it. */
static int
no_passphrase(char *buf, int size, int writing, void *arg)
{
	return -1;
}

static EVP_PKEY *
read_key(const char *pem)
{
	BIO *bio = BIO_new_mem_buf(pem, -1);
	EVP_PKEY *key = bio == NULL ? NULL :
	    PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL);

	BIO_free(bio);
	ERR_clear_error();
	return key;
}

/* "RS256", "ES256", or NULL. */
static const char *
algorithm(const EVP_PKEY *key)
{
	char group[64];

	if (EVP_PKEY_is_a(key, "RSA"))
		return EVP_PKEY_get_bits(key) >= RSA_BITS_MIN &&
		    EVP_PKEY_get_size(key) <= SIGNATURE_MAX ? "RS256" : NULL;
	if (EVP_PKEY_is_a(key, "EC") && EVP_PKEY_get_group_name(key, group,
	    sizeof(group), NULL) == 1 && strcmp(group, SN_X9_62_prime256v1) == 0)
		return "ES256";
	return NULL;
}

int
jwt_key_check(const char *pem, char *err, size_t err_len)
{
	EVP_PKEY *key = read_key(pem);
	bool good = key != NULL && algorithm(key) != NULL;

	if (!good)
		snprintf(err, err_len, key == NULL ? "the key is no private key in "
		    "PEM, or is sealed under a passphrase" :
		    "the key is neither RSA of at least 2048 bits nor P-256");
	EVP_PKEY_free(key);
	return good ? 0 : -1;
}

static char *
base64url(const void *bytes, size_t len)
{
	const size_t cap = sodium_base64_encoded_len(len,
	    sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	char *out = malloc(cap);

	if (out != NULL)
		sodium_bin2base64(out, cap, bytes, len,
		    sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	return out;
}

static char *
encoded(const json_t *json)
{
	char *text = json_dumps(json, JSON_COMPACT);
	char *out = text == NULL ? NULL : base64url(text, strlen(text));

	free(text);
	return out;
}

static char *
join(const char *a, const char *b)
{
	const size_t cap = strlen(a) + strlen(b) + 2;
	char *out = malloc(cap);

	if (out != NULL)
		snprintf(out, cap, "%s.%s", a, b);
	return out;
}

/* The two numbers of a DER signature, one behind the other. */
static bool
unpack_ec(unsigned char *signature, size_t *len)
{
	const unsigned char *at = signature;
	ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &at, (long)*len);
	unsigned char raw[2 * HALF];
	bool good = pair != NULL &&
	    BN_bn2binpad(ECDSA_SIG_get0_r(pair), raw, HALF) == HALF &&
	    BN_bn2binpad(ECDSA_SIG_get0_s(pair), raw + HALF, HALF) == HALF;

	ECDSA_SIG_free(pair);
	if (good) {
		memcpy(signature, raw, sizeof(raw));
		*len = sizeof(raw);
	}
	return good;
}

static char *
signature_over(EVP_PKEY *key, const char *text)
{
	unsigned char signature[SIGNATURE_MAX];
	size_t len = sizeof(signature);
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	bool good = context != NULL &&
	    EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) == 1 &&
	    EVP_DigestSign(context, signature, &len, (const unsigned char *)text,
	    strlen(text)) == 1 &&
	    (!EVP_PKEY_is_a(key, "EC") || unpack_ec(signature, &len));

	EVP_MD_CTX_free(context);
	ERR_clear_error();
	return good ? base64url(signature, len) : NULL;
}

static char *
sign(EVP_PKEY *key, const char *key_id, const json_t *claims)
{
	json_t *header = json_pack("{s:s, s:s, s:s*}", "alg", algorithm(key), "typ",
	    "JWT", "kid", key_id);
	char *head = header == NULL ? NULL : encoded(header);
	char *body = encoded(claims), *text = NULL, *signature = NULL, *out = NULL;

	if (head != NULL && body != NULL)
		text = join(head, body);
	if (text != NULL)
		signature = signature_over(key, text);
	if (signature != NULL)
		out = join(text, signature);
	json_decref(header);
	free(head);
	free(body);
	free(text);
	free(signature);
	return out;
}

char *
jwt_sign(const char *pem, const char *key_id, const json_t *claims, char *err,
    size_t err_len)
{
	EVP_PKEY *key = read_key(pem);
	char *out = key == NULL || algorithm(key) == NULL ? NULL :
	    sign(key, key_id, claims);

	EVP_PKEY_free(key);
	if (out == NULL)
		snprintf(err, err_len, "nothing could be signed with its key");
	return out;
}
