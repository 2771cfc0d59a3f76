#include <string.h>

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/hmac.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include "policy/builtins/codec.h"
#include "policy/builtins/jws.h"

static const struct jws_alg algs[] = {
	{ "HS256", JWS_HMAC, EVP_sha256 }, { "HS384", JWS_HMAC, EVP_sha384 },
	{ "HS512", JWS_HMAC, EVP_sha512 }, { "RS256", JWS_RSA, EVP_sha256 },
	{ "RS384", JWS_RSA, EVP_sha384 }, { "RS512", JWS_RSA, EVP_sha512 },
	{ "PS256", JWS_PSS, EVP_sha256 }, { "PS384", JWS_PSS, EVP_sha384 },
	{ "PS512", JWS_PSS, EVP_sha512 }, { "ES256", JWS_ECDSA, EVP_sha256 },
	{ "ES384", JWS_ECDSA, EVP_sha384 }, { "ES512", JWS_ECDSA, EVP_sha512 },
	{ "EdDSA", JWS_EDDSA, NULL }
};

const struct jws_alg *
jws_alg_find(const struct value *name)
{
	size_t i;

	for (i = 0; i < sizeof(algs) / sizeof(algs[0]); i++)
		if (value_is_text(name, algs[i].name))
			return &algs[i];
	return NULL;
}

/* --- keys ------------------------------------------------------------- */

static void
keys_release(void *arg)
{
	struct jws_keys *keys = arg;
	unsigned i;

	for (i = 0; i < keys->n; i++)
		EVP_PKEY_free(keys->key[i].pkey);
	keys->n = 0;
	ERR_clear_error();
}

/* A base64url member, decoded; NULL where it is missing or bad. */
static const struct value *
octets(struct arena *arena, const struct value *jwk, const char *name)
{
	const struct value *v = value_member(jwk, name);
	struct buf out = { .arena = arena };
	bool url;

	if (v == NULL || v->kind != VALUE_STRING || v->str.n > 16384)
		return NULL;
	/* Of both alphabets, with padding or without, as OPA's library. */
	url = memchr(v->str.p, '+', v->str.n) == NULL &&
	    memchr(v->str.p, '/', v->str.n) == NULL;
	if (!codec_unbase64(&out, v->str.p, v->str.n, (url ? CODEC_URL : 0) |
	    (v->str.n > 0 && v->str.p[v->str.n - 1] == '=' ? CODEC_PAD : 0)))
		return NULL;
	return buf_value(&out);
}

static EVP_PKEY *
from_params(const char *type, int selection, OSSL_PARAM_BLD *build)
{
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
	OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(build);
	EVP_PKEY *pkey = NULL;

	if (ctx != NULL && params != NULL && EVP_PKEY_fromdata_init(ctx) == 1
	    && EVP_PKEY_fromdata(ctx, &pkey, selection, params) != 1)
		pkey = NULL;
	OSSL_PARAM_free(params);
	EVP_PKEY_CTX_free(ctx);
	return pkey;
}

static const struct {
	const char *jwk, *param;
} rsa_parts[] = {
	{ "n", OSSL_PKEY_PARAM_RSA_N },
	{ "e", OSSL_PKEY_PARAM_RSA_E },
	{ "d", OSSL_PKEY_PARAM_RSA_D },
	{ "p", OSSL_PKEY_PARAM_RSA_FACTOR1 },
	{ "q", OSSL_PKEY_PARAM_RSA_FACTOR2 },
	{ "dp", OSSL_PKEY_PARAM_RSA_EXPONENT1 },
	{ "dq", OSSL_PKEY_PARAM_RSA_EXPONENT2 },
	{ "qi", OSSL_PKEY_PARAM_RSA_COEFFICIENT1 }
};

/* Of how many parts a key is, from the beginning; d is the last that must be there. */
enum { RSA_PUBLIC = 2, RSA_D = 2, RSA_PRIVATE = sizeof(rsa_parts) / sizeof(rsa_parts[0]) };

static EVP_PKEY *
rsa_key(struct arena *arena, const struct value *jwk, bool private)
{
	const struct value *text[RSA_PRIVATE];
	OSSL_PARAM_BLD *build;
	BIGNUM *bn[RSA_PRIVATE] = { NULL };
	EVP_PKEY *pkey = NULL;
	size_t i, n = private ? RSA_PRIVATE : RSA_PUBLIC;
	bool ok;

	/* What allocates in the arena comes before what must be freed. */
	for (i = 0; i < n; i++)
		text[i] = octets(arena, jwk, rsa_parts[i].jwk);
	build = OSSL_PARAM_BLD_new();
	ok = build != NULL;
	for (i = 0; i < n && ok; i++) {
		if (text[i] == NULL) {
			ok = i > RSA_D;
			continue;
		}
		bn[i] = BN_bin2bn((const unsigned char *)text[i]->str.p,
		    (int)text[i]->str.n, NULL);
		ok = bn[i] != NULL && OSSL_PARAM_BLD_push_BN(build,
		    rsa_parts[i].param, bn[i]) == 1;
	}
	if (ok)
		pkey = from_params("RSA", private ? EVP_PKEY_KEYPAIR :
		    EVP_PKEY_PUBLIC_KEY, build);
	for (i = 0; i < n; i++)
		BN_clear_free(bn[i]);
	OSSL_PARAM_BLD_free(build);
	return pkey;
}

static const struct {
	const char *crv, *group;
	size_t bytes;
} curves[] = {
	{ "P-256", "prime256v1", 32 }, { "P-384", "secp384r1", 48 },
	{ "P-521", "secp521r1", 66 }
};

/* The uncompressed point 4 || x || y, each of the curve's length. */
static bool
ec_point(const struct value *x, const struct value *y, size_t bytes,
    unsigned char point[133])
{
	if (x == NULL || y == NULL || x->str.n > bytes || y->str.n > bytes)
		return false;
	memset(point, 0, 133);
	point[0] = 4;
	memcpy(point + 1 + bytes - x->str.n, x->str.p, x->str.n);
	memcpy(point + 1 + 2 * bytes - y->str.n, y->str.p, y->str.n);
	return true;
}

static EVP_PKEY *
ec_key(struct arena *arena, const struct value *jwk)
{
	const struct value *crv = value_member(jwk, "crv");
	const struct value *x = octets(arena, jwk, "x");
	const struct value *y = octets(arena, jwk, "y");
	unsigned char point[133];
	OSSL_PARAM_BLD *build;
	EVP_PKEY *pkey = NULL;
	size_t i;

	for (i = 0; i < sizeof(curves) / sizeof(curves[0]); i++)
		if (value_is_text(crv, curves[i].crv))
			break;
	if (i == sizeof(curves) / sizeof(curves[0]) ||
	    !ec_point(x, y, curves[i].bytes, point) ||
	    (build = OSSL_PARAM_BLD_new()) == NULL)
		return NULL;
	if (OSSL_PARAM_BLD_push_utf8_string(build,
	    OSSL_PKEY_PARAM_GROUP_NAME, curves[i].group, 0) == 1 &&
	    OSSL_PARAM_BLD_push_octet_string(build, OSSL_PKEY_PARAM_PUB_KEY,
	    point, 1 + 2 * curves[i].bytes) == 1)
		pkey = from_params("EC", EVP_PKEY_PUBLIC_KEY, build);
	OSSL_PARAM_BLD_free(build);
	return pkey;
}

static EVP_PKEY *
okp_key(struct arena *arena, const struct value *jwk, bool private)
{
	const struct value *v = octets(arena, jwk, private ? "d" : "x");

	if (v == NULL || !value_is_text(value_member(jwk, "crv"), "Ed25519"))
		return NULL;
	return private ? EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL,
	    (const unsigned char *)v->str.p, v->str.n) :
	    EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL,
	    (const unsigned char *)v->str.p, v->str.n);
}

static bool
add_jwk(struct arena *arena, struct jws_keys *keys, const struct value *jwk,
    bool private)
{
	const struct value *kty = value_member(jwk, "kty"), *secret;
	struct jws_key key = { .alg = value_member(jwk, "alg"),
	    .kid = value_member(jwk, "kid") };

	if (key.alg != NULL && jws_alg_find(key.alg) == NULL)
		return true;	/* of no use to us: skipped */
	if (keys->n == JWS_KEYS_MAX)
		return false;
	if (value_is_text(kty, "oct")) {
		if ((secret = octets(arena, jwk, "k")) == NULL)
			return false;
		key.secret = secret->str.p;
		key.secret_len = secret->str.n;
	} else if (value_is_text(kty, "RSA")) {
		key.pkey = rsa_key(arena, jwk, private);
	} else if (value_is_text(kty, "EC")) {
		key.pkey = ec_key(arena, jwk);
	} else if (value_is_text(kty, "OKP")) {
		key.pkey = okp_key(arena, jwk, private);
	}
	if (key.pkey == NULL && key.secret == NULL)
		return false;
	keys->key[keys->n++] = key;
	return true;
}

static bool
load_jwks(struct arena *arena, struct jws_keys *keys, const char *text,
    size_t len, bool private)
{
	static const struct value_json_limits limits = {
		.depth = 32, .last_wins = true, .lone_surrogates = true
	};
	const struct value *root, *list;
	char why[100];
	uint32_t i;

	root = value_from_json(arena, text, len, &limits, why, sizeof(why));
	if (root == NULL || root->kind != VALUE_OBJECT)
		return false;
	list = value_member(root, "keys");
	if (list == NULL)
		return add_jwk(arena, keys, root, private);
	if (list->kind != VALUE_ARRAY)
		return false;
	for (i = 0; i < list->col.n; i++)
		if (!add_jwk(arena, keys, list->col.items[i], private))
			return false;
	return true;
}

static EVP_PKEY *
pem_key(const char *text, size_t len, const char **why)
{
	BIO *bio = BIO_new_mem_buf(text, len > INT32_MAX ? 0 : (int)len);
	char *name = NULL, *header = NULL;
	unsigned char *bytes = NULL;
	const unsigned char *p;
	EVP_PKEY *pkey = NULL;
	X509 *cert = NULL;
	long n = 0;

	*why = "failed to parse a PEM block";
	if (bio == NULL || PEM_read_bio(bio, &name, &header, &bytes, &n) != 1)
		goto out;
	if (BIO_pending(bio) > 0) {
		*why = "extra data after a PEM certificate block";
		goto out;
	}
	p = bytes;
	if (strcmp(name, "CERTIFICATE") == 0) {
		*why = "failed to parse a PEM certificate";
		if ((cert = d2i_X509(NULL, &p, n)) != NULL)
			pkey = X509_get_pubkey(cert);
	} else if (strcmp(name, "PUBLIC KEY") == 0) {
		*why = "failed to parse a PEM public key";
		pkey = d2i_PUBKEY(NULL, &p, n);
	} else {
		*why = "failed to extract a Key from the PEM certificate";
	}
 out:
	X509_free(cert);
	OPENSSL_free(name);
	OPENSSL_free(header);
	OPENSSL_free(bytes);
	BIO_free(bio);
	return pkey;
}

struct jws_keys *
jws_keys_load(struct arena *arena, const char *text, size_t len, bool private,
    const char **why)
{
	struct jws_keys *keys = arena_alloc(arena, sizeof(*keys));
	bool ok;

	memset(keys, 0, sizeof(*keys));
	arena_step(arena, 1000);
	arena_defer(arena, keys_release, keys);
	if (!private && memmem(text, len, "-----BEGIN", 10) != NULL) {
		keys->key[0].pkey = pem_key(text, len, why);
		keys->n = keys->key[0].pkey != NULL;
		ok = keys->n == 1;
	} else {
		*why = "failed to parse a JWK key (set)";
		ok = load_jwks(arena, keys, text, len, private);
	}
	if (ok)
		return keys;
	arena_done(arena, keys);
	return NULL;
}

/* --- signatures ------------------------------------------------------- */

static bool
verify_hmac(const struct jws_key *key, const struct jws_alg *alg,
    const char *text, size_t len, const char *signature, size_t sig_len)
{
	unsigned char md[EVP_MAX_MD_SIZE];
	unsigned n;

	return key->secret_len <= INT32_MAX && HMAC(alg->md(), key->secret,
	    (int)key->secret_len, (const unsigned char *)text, len, md,
	    &n) != NULL && n == sig_len &&
	    CRYPTO_memcmp(md, signature, n) == 0;
}

/* r || s of equal length, as DER. */
static int
ecdsa_der(const char *signature, size_t len, unsigned char **der)
{
	const unsigned char *p = (const unsigned char *)signature;
	ECDSA_SIG *sig = ECDSA_SIG_new();
	size_t half = len / 2;
	BIGNUM *r, *s;
	int n = -1;

	*der = NULL;
	if (sig == NULL || half == 0 || half > 200) {
		ECDSA_SIG_free(sig);
		return -1;
	}
	r = BN_bin2bn(p, (int)half, NULL);
	s = BN_bin2bn(p + half, (int)(len - half), NULL);
	if (r != NULL && s != NULL && ECDSA_SIG_set0(sig, r, s) == 1) {
		n = i2d_ECDSA_SIG(sig, der);
	} else {
		BN_free(r);
		BN_free(s);
	}
	ECDSA_SIG_free(sig);
	return n;
}

static bool
fits(const struct jws_key *key, const struct jws_alg *alg)
{
	int type = EVP_PKEY_get_base_id(key->pkey);

	switch (alg->family) {
	case JWS_RSA:
	case JWS_PSS:
		return type == EVP_PKEY_RSA || type == EVP_PKEY_RSA_PSS;
	case JWS_ECDSA:
		return type == EVP_PKEY_EC;
	case JWS_EDDSA:
		return type == EVP_PKEY_ED25519;
	default:
		return false;
	}
}

static bool
verify_asymmetric(const struct jws_key *key, const struct jws_alg *alg,
    const char *text, size_t len, const unsigned char *signature,
    size_t sig_len)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	EVP_PKEY_CTX *pctx;
	bool ok;

	ok = ctx != NULL && EVP_DigestVerifyInit(ctx, &pctx,
	    alg->md != NULL ? alg->md() : NULL, NULL, key->pkey) == 1;
	if (ok && alg->family == JWS_PSS)
		ok = EVP_PKEY_CTX_set_rsa_padding(pctx,
		    RSA_PKCS1_PSS_PADDING) == 1 &&
		    EVP_PKEY_CTX_set_rsa_pss_saltlen(pctx,
		    RSA_PSS_SALTLEN_AUTO) == 1;
	ok = ok && EVP_DigestVerify(ctx, signature, sig_len,
	    (const unsigned char *)text, len) == 1;
	EVP_MD_CTX_free(ctx);
	ERR_clear_error();
	return ok;
}

bool
jws_verify(const struct jws_key *key, const struct jws_alg *alg,
    const char *text, size_t len, const char *signature, size_t sig_len)
{
	unsigned char *der = NULL;
	bool ok;
	int n;

	if (key->pkey == NULL)
		return alg->family == JWS_HMAC && verify_hmac(key, alg, text,
		    len, signature, sig_len);
	if (!fits(key, alg))
		return false;
	if (alg->family != JWS_ECDSA)
		return verify_asymmetric(key, alg, text, len,
		    (const unsigned char *)signature, sig_len);
	n = ecdsa_der(signature, sig_len, &der);
	ok = n > 0 && verify_asymmetric(key, alg, text, len, der, (size_t)n);
	OPENSSL_free(der);
	return ok;
}

static bool
same(struct arena *arena, const struct value *a, const struct value *b)
{
	return a != NULL && b != NULL && value_compare(arena, a, b) == 0;
}

bool
jws_verify_any(struct arena *arena, const struct jws_keys *keys,
    const struct value *kid, const struct value *alg_name,
    const struct jws_alg *alg, const char *text, size_t len,
    const char *signature, size_t sig_len)
{
	unsigned i;

	for (i = 0; i < keys->n; i++) {
		arena_step(arena, 1000);
		if (kid != NULL && kid->str.n > 0 &&
		    same(arena, kid, keys->key[i].kid))
			return jws_verify(&keys->key[i], alg, text, len,
			    signature, sig_len);
	}
	for (i = 0; i < keys->n; i++) {
		arena_step(arena, 1000);
		if (keys->key[i].alg != NULL &&
		    !same(arena, keys->key[i].alg, alg_name))
			continue;
		if (jws_verify(&keys->key[i], alg, text, len, signature,
		    sig_len))
			return true;
	}
	return false;
}

static bool
sign_asymmetric(const struct jws_key *key, const struct jws_alg *alg,
    const char *text, size_t len, unsigned char *out, size_t *out_len)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	bool ok;

	ok = ctx != NULL && EVP_DigestSignInit(ctx, NULL,
	    alg->md != NULL ? alg->md() : NULL, NULL, key->pkey) == 1 &&
	    EVP_DigestSign(ctx, out, out_len, (const unsigned char *)text,
	    len) == 1;
	EVP_MD_CTX_free(ctx);
	ERR_clear_error();
	return ok;
}

const struct value *
jws_sign(struct arena *arena, const struct jws_key *key,
    const struct jws_alg *alg, const char *text, size_t len, const char **why)
{
	unsigned char out[2048];
	size_t n = sizeof(out);
	unsigned mac_len = 0;

	*why = "the key does not fit the algorithm";
	if (alg->family == JWS_HMAC) {
		if (key->pkey != NULL || key->secret_len > INT32_MAX ||
		    HMAC(alg->md(), key->secret, (int)key->secret_len,
		    (const unsigned char *)text, len, out, &mac_len) == NULL)
			return NULL;
		return value_string_copy(arena, (const char *)out, mac_len);
	}
	if (key->pkey == NULL || !fits(key, alg))
		return NULL;
	if (alg->family == JWS_PSS || alg->family == JWS_ECDSA) {
		*why = "a decision must be repeatable; this algorithm's "
		    "signatures are not";
		return NULL;
	}
	if ((size_t)EVP_PKEY_get_size(key->pkey) > sizeof(out) ||
	    !sign_asymmetric(key, alg, text, len, out, &n))
		return NULL;
	return value_string_copy(arena, (const char *)out, n);
}
