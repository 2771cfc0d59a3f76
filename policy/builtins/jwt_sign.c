/* JWTs are made: io.jwt.encode_sign, encode_sign_raw. */
#include "policy/builtins/codec.h"
#include "policy/builtins/jws.h"
#include "policy/builtins/jwt.h"
#include "policy/plan/builtin.h"

static const struct value *
sign_with(struct eval *eval, const struct value *text,
    const struct value *jwk, const struct jws_alg *alg)
{
	struct buf out = { .arena = eval->arena };
	const struct value *signature;
	struct jws_keys *keys;
	const char *why = "";

	keys = jws_keys_load(eval->arena, jwk->str.p, jwk->str.n, true, &why);
	if (keys == NULL)
		return eval_error(eval, "%s", why);
	why = "no usable key found in JWK set";
	signature = keys->n == 0 || (keys->key[0].pkey == NULL &&
	    keys->key[0].secret_len == 0) ? NULL : jws_sign(eval->arena, &keys->key[0],
	    alg, text->str.p, text->str.n, &why);
	arena_done(eval->arena, keys);
	if (signature == NULL)
		return eval_error(eval, "%s", why);
	buf_put(&out, text->str.p, text->str.n);
	buf_putc(&out, '.');
	codec_base64(&out, signature->str.p, signature->str.n, CODEC_URL);
	return buf_value(&out);
}

static const struct value *
encode_sign(struct eval *eval, const struct value *header,
    const struct value *payload, const struct value *jwk)
{
	struct buf text = { .arena = eval->arena };
	const struct value *parsed, *typ, *alg_name;
	const struct jws_alg *alg;
	char why[120];

	parsed = value_from_json(eval->arena, header->str.p, header->str.n,
	    &jwt_json_limits, why, sizeof(why));
	alg_name = value_member(parsed, "alg");
	if (alg_name == NULL)
		return eval_error(eval, "missing or invalid 'alg' header");
	if ((alg = jws_alg_find(alg_name)) == NULL)
		return eval_error(eval, "unknown JWS algorithm");
	typ = value_member(parsed, "typ");
	if ((typ == NULL || value_is_text(typ, "JWT")) &&
	    value_from_json(eval->arena, payload->str.p, payload->str.n,
	    &jwt_json_limits, why, sizeof(why)) == NULL)
		return eval_error(eval, "type is JWT but payload is not JSON");
	codec_base64(&text, header->str.p, header->str.n, CODEC_URL);
	buf_putc(&text, '.');
	codec_base64(&text, payload->str.p, payload->str.n, CODEC_URL);
	return sign_with(eval, buf_value(&text), jwk, alg);
}

static const struct value *
call_encode_sign_raw(struct eval *eval, const struct value *const *args)
{
	if (!builtin_want(eval, args, 2, VALUE_STRING) ||
	    !builtin_want(eval, args, 0, VALUE_STRING) ||
	    !builtin_want(eval, args, 1, VALUE_STRING))
		return NULL;
	return encode_sign(eval, args[0], args[1], args[2]);
}

static const struct value *
json_text(struct eval *eval, const struct value *v)
{
	struct buf out = { .arena = eval->arena };

	value_to_json(&out, v, VALUE_JSON_HTML);
	return buf_value(&out);
}

static const struct value *
call_encode_sign(struct eval *eval, const struct value *const *args)
{
	return encode_sign(eval, json_text(eval, args[0]),
	    json_text(eval, args[1]), json_text(eval, args[2]));
}

const struct builtin builtins_jwt_sign[] = {
	{ "io.jwt.encode_sign", 3, 3, call_encode_sign, false },
	{ "io.jwt.encode_sign_raw", 3, 3, call_encode_sign_raw, false },
	{ NULL, 0, 0, NULL, false }
};
