#include <string.h>

#include "policy/builtins/codec.h"
#include "policy/builtins/jws.h"
#include "policy/builtins/jwt.h"
#include "policy/plan/builtin.h"

#define NESTED_MAX 8

/* The three sections; what is in them is looked at when it is needed, so that
 * the first thing wrong is the same as in OPA. */
struct token {
	const char *text;		/* header.payload as it was signed */
	size_t text_len;
	const char *section[3];
	size_t section_len[3];
	const struct value *header;	/* NULL: not decoded yet */
};

enum { HEADER, PAYLOAD, SIGNATURE };

const struct value_json_limits jwt_json_limits = {
	.depth = 256, .last_wins = true, .lone_surrogates = true
};

/* One section, decoded; NULL after an error. */
static const struct value *
part(struct eval *eval, const struct token *token, unsigned which)
{
	const char *p = token->section[which];
	size_t n = token->section_len[which];
	struct buf out = { .arena = eval->arena };

	arena_step(eval->arena, n / 32);
	if (!codec_unbase64_lax(&out, p, n))
		return eval_error(eval, "a part of the JWT has an invalid "
		    "encoding: illegal base64");
	return buf_value(&out);
}

static const struct value *
json_object(struct eval *eval, const struct value *text)
{
	const struct value *v;
	char why[120];

	v = value_from_json(eval->arena, text->str.p, text->str.n, &jwt_json_limits,
	    why, sizeof(why));
	if (v == NULL)
		return eval_error(eval, "invalid JSON: %s", why);
	if (v->kind != VALUE_OBJECT)
		return eval_error(eval, "decoded JSON type was not an Object");
	return v;
}

static bool
token_parse(struct eval *eval, const struct value *v, struct token *out)
{
	const char *p = v->str.p, *end = p + v->str.n, *first, *second;

	memset(out, 0, sizeof(*out));
	first = v->str.n > 0 ? memchr(p, '.', v->str.n) : NULL;
	if (first == NULL) {
		eval_error(eval, "encoded JWT had no period separators");
		return false;
	}
	second = memchr(first + 1, '.', (size_t)(end - first - 1));
	if (second == NULL ||
	    memchr(second + 1, '.', (size_t)(end - second - 1)) != NULL) {
		eval_error(eval, "encoded JWT must have 3 sections");
		return false;
	}
	out->text = p;
	out->text_len = (size_t)(second - p);
	out->section[HEADER] = p;
	out->section_len[HEADER] = (size_t)(first - p);
	out->section[PAYLOAD] = first + 1;
	out->section_len[PAYLOAD] = (size_t)(second - first - 1);
	out->section[SIGNATURE] = second + 1;
	out->section_len[SIGNATURE] = (size_t)(end - second - 1);
	return true;
}

static bool
header_parse(struct eval *eval, struct token *token)
{
	const struct value *text = part(eval, token, HEADER);

	if (text == NULL || (token->header = json_object(eval, text)) == NULL)
		return false;
	if (value_member(token->header, "enc") == NULL)
		return true;
	eval_error(eval, "JWT is a JWE object, which is not supported");
	return false;
}

static bool
is_jwt(const struct value *cty)
{
	return cty != NULL && cty->kind == VALUE_STRING &&
	    cty->str.n == 3 && strncasecmp(cty->str.p, "JWT", 3) == 0;
}

/* A token within a token may stand in quotation marks. */
static const struct value *
unquoted(struct eval *eval, const struct value *v)
{
	const char *p = v->str.p, *end = p + v->str.n;

	while (p < end && (*p == '"' || *p == '\''))
		p++;
	while (p < end && (end[-1] == '"' || end[-1] == '\''))
		end--;
	return value_string(eval->arena, p, (size_t)(end - p));
}

static const struct value *
triple(struct eval *eval, const struct value *a, const struct value *b,
    const struct value *c)
{
	struct value *out = value_array(eval->arena, 3);

	value_append(eval->arena, out, a);
	value_append(eval->arena, out, b);
	value_append(eval->arena, out, c);
	return out;
}

static const struct value *
call_decode(struct eval *eval, const struct value *const *args)
{
	const struct value *text = args[0], *payload, *signature;
	struct buf hex = { .arena = eval->arena };
	struct token token;
	int nested;

	if (!builtin_want(eval, args, 0, VALUE_STRING))
		return NULL;
	for (nested = 0; nested < NESTED_MAX; nested++) {
		if (!token_parse(eval, text, &token) ||
		    !header_parse(eval, &token) ||
		    (text = part(eval, &token, PAYLOAD)) == NULL)
			return NULL;
		if (!value_is_text(value_member(token.header, "cty"), "JWT"))
			break;
		text = unquoted(eval, text);
	}
	if (nested == NESTED_MAX)
		return eval_error(eval, "tokens nested too deeply");
	if ((payload = json_object(eval, text)) == NULL ||
	    (signature = part(eval, &token, SIGNATURE)) == NULL)
		return NULL;
	codec_hex(&hex, signature->str.p, signature->str.n);
	return triple(eval, token.header, payload, buf_value(&hex));
}

/* --- verification ----------------------------------------------------- */

/* What of the header must be text, is; NULL members are not there. */
static bool
header_ok(struct eval *eval, const struct value *header)
{
	static const char *const names[] = { "alg", "kid", "typ", "cty" };
	const struct value *v;
	size_t i;

	for (i = 0; i < 4; i++) {
		v = value_member(header, names[i]);
		if (v != NULL && v->kind != VALUE_STRING) {
			eval_error(eval, "%s: must be a string", names[i]);
			return false;
		}
	}
	v = value_member(header, "crit");
	if (v != NULL && (v->kind != VALUE_ARRAY || v->col.n == 0)) {
		eval_error(eval, "crit: must be a nonempty list");
		return false;
	}
	return true;
}

/* RFC 7515, 4.1.11: whoever does not understand a critical one, refuses. */
static bool
critical_unknown(struct eval *eval, const struct value *header)
{
	static const char *const known[] = {
		"alg", "kid", "typ", "cty", "crit"
	};
	const struct value *crit = value_member(header, "crit"), *name;
	uint32_t i;
	size_t k;

	for (i = 0; crit != NULL && i < crit->col.n; i++) {
		name = crit->col.items[i];
		for (k = 0; k < 5 && !value_is_text(name, known[k]); k++)
			continue;
		if (k == 5 && value_get(eval->arena, header, name) != NULL)
			return true;
	}
	return false;
}

/* A shared secret: what the header says is not even read. */
static const struct value *
verify_hmac(struct eval *eval, const struct value *const *args,
    const struct jws_alg *alg, const struct token *token)
{
	struct jws_key key = { .secret = args[1]->str.p,
	    .secret_len = args[1]->str.n };
	const struct value *signature = part(eval, token, SIGNATURE);

	if (signature == NULL)
		return NULL;
	return value_bool(jws_verify(&key, alg, token->text, token->text_len,
	    signature->str.p, signature->str.n));
}

static const struct value *
verify_by(struct eval *eval, const struct value *const *args,
    const char *name)
{
	const struct value wanted = { .kind = VALUE_STRING,
	    .str = { name, strlen(name) } };
	const struct jws_alg *alg = jws_alg_find(&wanted);
	const struct value *signature;
	const char *why = "";
	struct jws_keys *keys;
	struct token token;
	bool ok;

	if (!builtin_want(eval, args, 0, VALUE_STRING) ||
	    !builtin_want(eval, args, 1, VALUE_STRING) ||
	    !token_parse(eval, args[0], &token))
		return NULL;
	if (alg->family == JWS_HMAC)
		return verify_hmac(eval, args, alg, &token);
	if ((signature = part(eval, &token, SIGNATURE)) == NULL ||
	    !header_parse(eval, &token) || !header_ok(eval, token.header))
		return NULL;
	keys = jws_keys_load(eval->arena, args[1]->str.p, args[1]->str.n,
	    false, &why);
	if (keys == NULL)
		return eval_error(eval, "%s", why);
	ok = jws_verify_any(eval->arena, keys,
	    value_member(token.header, "kid"),
	    value_member(token.header, "alg"), alg, token.text,
	    token.text_len, signature->str.p, signature->str.n);
	arena_done(eval->arena, keys);
	return value_bool(ok);
}

#define VERIFY(function, name) \
	static const struct value * \
	function(struct eval *eval, const struct value *const *args) \
	{ \
		return verify_by(eval, args, name); \
	}

VERIFY(call_verify_hs256, "HS256")
VERIFY(call_verify_hs384, "HS384")
VERIFY(call_verify_hs512, "HS512")
VERIFY(call_verify_rs256, "RS256")
VERIFY(call_verify_rs384, "RS384")
VERIFY(call_verify_rs512, "RS512")
VERIFY(call_verify_ps256, "PS256")
VERIFY(call_verify_ps384, "PS384")
VERIFY(call_verify_ps512, "PS512")
VERIFY(call_verify_es256, "ES256")
VERIFY(call_verify_es384, "ES384")
VERIFY(call_verify_es512, "ES512")
VERIFY(call_verify_eddsa, "EdDSA")

/* --- decode_verify ---------------------------------------------------- */

struct constraints {
	const struct value *cert, *secret, *alg, *iss, *aud;
	double time_s;
};

static bool
constraint(struct eval *eval, const struct value *key, const struct value *v,
    struct constraints *c)
{
	const struct value **to = value_is_text(key, "cert") ? &c->cert :
	    value_is_text(key, "secret") ? &c->secret :
	    value_is_text(key, "alg") ? &c->alg : value_is_text(key, "iss") ? &c->iss :
	    value_is_text(key, "aud") ? &c->aud : NULL;

	if (to != NULL) {
		if (v->kind != VALUE_STRING) {
			eval_error(eval, "%.*s constraint: must be a string",
			    (int)key->str.n, key->str.p);
			return false;
		}
		*to = v->str.n > 0 ? v : NULL;
		return true;
	}
	if (!value_is_text(key, "time")) {
		eval_error(eval, "unknown token validation constraint");
		return false;
	}
	if (v->kind != VALUE_NUMBER || (c->time_s = num_to_double(v) / 1e9) <
	    0) {
		eval_error(eval, "token time constraint: must be a number, "
		    "not negative");
		return false;
	}
	return true;
}

static bool
constraints_of(struct eval *eval, const struct value *v, struct constraints *c)
{
	uint32_t i;

	memset(c, 0, sizeof(*c));
	c->time_s = (double)eval->now_ns / 1e9;
	value_sort(eval->arena, v);
	for (i = 0; i < v->col.n; i++)
		if (!constraint(eval, value_key_at(v, i), value_at(v, i), c))
			return false;
	if (c->cert != NULL && c->secret != NULL) {
		eval_error(eval, "duplicate key constraints");
		return false;
	}
	if (c->cert == NULL && c->secret == NULL) {
		eval_error(eval, "no key constraint");
		return false;
	}
	return true;
}

/* 1, 0, or -1 after an error. */
static int
signature_holds(struct eval *eval, const struct token *token,
    const struct constraints *c, const struct jws_keys *keys)
{
	const struct value *name = value_member(token->header, "alg");
	const struct jws_alg *alg = jws_alg_find(name);
	const struct value *signature;
	struct jws_key key = { 0 };

	if (!header_ok(eval, token->header))
		return -1;
	if (name == NULL || name->str.n == 0 ||
	    critical_unknown(eval, token->header))
		return 0;
	if (c->alg != NULL && value_compare(eval->arena, c->alg, name) != 0)
		return 0;
	if ((signature = part(eval, token, SIGNATURE)) == NULL)
		return -1;
	if (alg == NULL)
		return 0;
	if (keys != NULL)
		return jws_verify_any(eval->arena, keys,
		    value_member(token->header, "kid"), name, alg,
		    token->text, token->text_len, signature->str.p,
		    signature->str.n);
	key.secret = c->secret->str.p;
	key.secret_len = c->secret->str.n;
	return jws_verify(&key, alg, token->text, token->text_len,
	    signature->str.p, signature->str.n);
}

static bool
audience_holds(struct eval *eval, const struct value *aud,
    const struct value *wanted)
{
	uint32_t i;

	if (wanted == NULL)
		wanted = &value_empty_string;
	if (aud->kind == VALUE_STRING)
		return value_compare(eval->arena, aud, wanted) == 0;
	for (i = 0; aud->kind == VALUE_ARRAY && i < aud->col.n; i++)
		if (value_compare(eval->arena, aud->col.items[i],
		    wanted) == 0)
			return true;
	return false;
}

/* The registered claims; 1, 0, or -1 after an error. */
static int
claims_hold(struct eval *eval, const struct value *payload,
    const struct constraints *c)
{
	const struct value *iss = value_member(payload, "iss");
	const struct value *aud = value_member(payload, "aud");
	const struct value *exp = value_member(payload, "exp");
	const struct value *nbf = value_member(payload, "nbf");

	if (c->iss != NULL && (iss == NULL ||
	    value_compare(eval->arena, iss, c->iss) != 0))
		return 0;
	if (aud != NULL ? !audience_holds(eval, aud, c->aud) : c->aud != NULL)
		return 0;
	if ((exp != NULL && exp->kind != VALUE_NUMBER) ||
	    (nbf != NULL && nbf->kind != VALUE_NUMBER)) {
		eval_error(eval, "%s value must be a number",
		    exp != NULL && exp->kind != VALUE_NUMBER ? "exp" : "nbf");
		return -1;
	}
	if (exp != NULL && c->time_s >= num_to_double(exp))
		return 0;
	return nbf == NULL || c->time_s >= num_to_double(nbf);
}

/* Down to the innermost token, whose payload is left in *text; each must be
 * signed. */
static int
innermost(struct eval *eval, const struct value **text,
    const struct constraints *c, const struct jws_keys *keys,
    struct token *out)
{
	int nested, held;

	for (nested = 0; nested < NESTED_MAX; nested++) {
		if (!token_parse(eval, *text, out) ||
		    !header_parse(eval, out))
			return -1;
		held = signature_holds(eval, out, c, keys);
		if (held != 1)
			return held;
		if ((*text = part(eval, out, PAYLOAD)) == NULL)
			return -1;
		if (!is_jwt(value_member(out->header, "cty")))
			return 1;
	}
	eval_error(eval, "tokens nested too deeply");
	return -1;
}

static const struct value *
call_decode_verify(struct eval *eval, const struct value *const *args)
{
	const struct value *text = args[0], *payload = NULL, *empty;
	struct jws_keys *keys = NULL;
	struct constraints c;
	struct token token;
	const char *why = "";
	int held;

	if (!builtin_want(eval, args, 1, VALUE_OBJECT) ||
	    !constraints_of(eval, args[1], &c) ||
	    !builtin_want(eval, args, 0, VALUE_STRING))
		return NULL;
	if (c.cert != NULL && (keys = jws_keys_load(eval->arena,
	    c.cert->str.p, c.cert->str.n, false, &why)) == NULL)
		return eval_error(eval, "%s", why);
	held = innermost(eval, &text, &c, keys, &token);
	if (keys != NULL)
		arena_done(eval->arena, keys);
	if (held == 1) {
		payload = json_object(eval, text);
		held = payload == NULL ? -1 : claims_hold(eval, payload, &c);
	}
	if (held < 0)
		return NULL;
	empty = value_object(eval->arena, 0);
	return held == 1 ? triple(eval, &value_true, token.header, payload) :
	    triple(eval, &value_false, empty, empty);
}

const struct builtin builtins_jwt[] = {
	{ "io.jwt.decode", 1, 1, call_decode, false },
	{ "io.jwt.decode_verify", 2, 2, call_decode_verify, true },
	{ "io.jwt.verify_hs256", 2, 2, call_verify_hs256, false },
	{ "io.jwt.verify_hs384", 2, 2, call_verify_hs384, false },
	{ "io.jwt.verify_hs512", 2, 2, call_verify_hs512, false },
	{ "io.jwt.verify_rs256", 2, 2, call_verify_rs256, false },
	{ "io.jwt.verify_rs384", 2, 2, call_verify_rs384, false },
	{ "io.jwt.verify_rs512", 2, 2, call_verify_rs512, false },
	{ "io.jwt.verify_ps256", 2, 2, call_verify_ps256, false },
	{ "io.jwt.verify_ps384", 2, 2, call_verify_ps384, false },
	{ "io.jwt.verify_ps512", 2, 2, call_verify_ps512, false },
	{ "io.jwt.verify_es256", 2, 2, call_verify_es256, false },
	{ "io.jwt.verify_es384", 2, 2, call_verify_es384, false },
	{ "io.jwt.verify_es512", 2, 2, call_verify_es512, false },
	{ "io.jwt.verify_eddsa", 2, 2, call_verify_eddsa, false },
	{ NULL, 0, 0, NULL, false }
};
