/*
 * JSON Web Signatures (RFC 7515) over OpenSSL: keys from PEM or JWK (sets),
 * verification, and the signing that is repeatable.  Used by io.jwt.* and by
 * signed bundles.
 */
#ifndef POLICY_BUILTINS_JWS_H
#define POLICY_BUILTINS_JWS_H

#include <openssl/evp.h>

#include "policy/value/value.h"

#define JWS_KEYS_MAX 32

struct jws_key {
	EVP_PKEY *pkey;			/* NULL: symmetric */
	const char *secret;
	size_t secret_len;
	const struct value *alg, *kid;	/* NULL: not said */
};

struct jws_keys {
	struct jws_key key[JWS_KEYS_MAX];
	unsigned n;
};

enum jws_family { JWS_HMAC, JWS_RSA, JWS_PSS, JWS_ECDSA, JWS_EDDSA };

struct jws_alg {
	const char *name;
	enum jws_family family;
	const EVP_MD *(*md)(void);	/* NULL: EdDSA */
};

/* NULL: none of RFC 7518's that we know. */
const struct jws_alg *jws_alg_find(const struct value *name);

/*
 * From a PEM certificate or public key, or a JWK or JWK set; with private, JWK
 * only and with its private part.  The keys are released with
 * arena_done(arena, keys), or when the arena fails.  NULL with why.
 */
struct jws_keys *jws_keys_load(struct arena *arena, const char *text,
    size_t len, bool private, const char **why);

bool jws_verify(const struct jws_key *key, const struct jws_alg *alg,
    const char *text, size_t len, const char *signature, size_t sig_len);
/* By kid where one matches, else by every key whose alg is not another one. */
bool jws_verify_any(struct arena *arena, const struct jws_keys *keys,
    const struct value *kid, const struct value *alg_name,
    const struct jws_alg *alg, const char *text, size_t len,
    const char *signature, size_t sig_len);
/* NULL with why; PS* and ES* are refused, since they are not repeatable. */
const struct value *jws_sign(struct arena *arena, const struct jws_key *key,
    const struct jws_alg *alg, const char *text, size_t len,
    const char **why);

#endif
