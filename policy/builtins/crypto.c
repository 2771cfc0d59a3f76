#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "policy/builtins/codec.h"
#include "policy/plan/builtin.h"

static const struct value *
hex_of(struct eval *eval, const unsigned char *md, size_t n)
{
	struct buf out = { .arena = eval->arena };

	codec_hex(&out, (const char *)md, n);
	return buf_value(&out);
}

static const struct value *
digest(struct eval *eval, const struct value *const *args, const EVP_MD *type)
{
	unsigned char md[EVP_MAX_MD_SIZE];
	unsigned n;

	if (!builtin_want(eval, args, 0, VALUE_STRING))
		return NULL;
	arena_step(eval->arena, 8 + args[0]->str.n / 64);
	if (EVP_Digest(args[0]->str.p, args[0]->str.n, md, &n, type,
	    NULL) != 1)
		return eval_error(eval, "digest not available");
	return hex_of(eval, md, n);
}

static const struct value *
call_md5(struct eval *eval, const struct value *const *args)
{
	return digest(eval, args, EVP_md5());
}

static const struct value *
call_sha1(struct eval *eval, const struct value *const *args)
{
	return digest(eval, args, EVP_sha1());
}

static const struct value *
call_sha256(struct eval *eval, const struct value *const *args)
{
	return digest(eval, args, EVP_sha256());
}

static const struct value *
hmac(struct eval *eval, const struct value *const *args, const EVP_MD *type)
{
	unsigned char md[EVP_MAX_MD_SIZE];
	unsigned n;

	if (!builtin_want(eval, args, 0, VALUE_STRING) ||
	    !builtin_want(eval, args, 1, VALUE_STRING))
		return NULL;
	arena_step(eval->arena, 8 + args[0]->str.n / 64);
	if (args[1]->str.n > INT32_MAX || HMAC(type, args[1]->str.p,
	    (int)args[1]->str.n, (const unsigned char *)args[0]->str.p,
	    args[0]->str.n, md, &n) == NULL)
		return eval_error(eval, "digest not available");
	return hex_of(eval, md, n);
}

static const struct value *
call_hmac_md5(struct eval *eval, const struct value *const *args)
{
	return hmac(eval, args, EVP_md5());
}

static const struct value *
call_hmac_sha1(struct eval *eval, const struct value *const *args)
{
	return hmac(eval, args, EVP_sha1());
}

static const struct value *
call_hmac_sha256(struct eval *eval, const struct value *const *args)
{
	return hmac(eval, args, EVP_sha256());
}

static const struct value *
call_hmac_sha512(struct eval *eval, const struct value *const *args)
{
	return hmac(eval, args, EVP_sha512());
}

static const struct value *
call_hmac_equal(struct eval *eval, const struct value *const *args)
{
	if (!builtin_want(eval, args, 0, VALUE_STRING) ||
	    !builtin_want(eval, args, 1, VALUE_STRING))
		return NULL;
	return value_bool(args[0]->str.n == args[1]->str.n &&
	    CRYPTO_memcmp(args[0]->str.p, args[1]->str.p,
	    args[0]->str.n) == 0);
}

const struct builtin builtins_crypto[] = {
	{ "crypto.md5", 1, 1, call_md5, false },
	{ "crypto.sha1", 1, 1, call_sha1, false },
	{ "crypto.sha256", 1, 1, call_sha256, false },
	{ "crypto.hmac.md5", 2, 2, call_hmac_md5, false },
	{ "crypto.hmac.sha1", 2, 2, call_hmac_sha1, false },
	{ "crypto.hmac.sha256", 2, 2, call_hmac_sha256, false },
	{ "crypto.hmac.sha512", 2, 2, call_hmac_sha512, false },
	{ "crypto.hmac.equal", 2, 2, call_hmac_equal, false },
	{ NULL, 0, 0, NULL, false }
};
