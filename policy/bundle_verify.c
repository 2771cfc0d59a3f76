#include <stdio.h>
#include <string.h>

#include "policy/builtins/codec.h"
#include "policy/builtins/jws.h"
#include "policy/bundle.h"

#define SIGNATURES ".signatures.json"

struct check {
	struct arena *arena;
	const struct pack_files *files;
	const char *key_text;
	size_t key_len;
	char *err;
	size_t err_len;
};

static bool
no(struct check *c, const char *where, const char *what)
{
	if (c->err_len > 0)
		snprintf(c->err, c->err_len, "%s: %s", where, what);
	return false;
}

static const struct value *
json(struct check *c, const char *where, const char *p, size_t n)
{
	char why[100];
	const struct value *v = value_from_json(c->arena, p, n,
	    &value_json_strict, why, sizeof(why));

	if (v == NULL)
		no(c, where, why);
	return v;
}

static const struct value *
decoded(struct check *c, const char *p, size_t n)
{
	struct buf out = { .arena = c->arena };

	if (codec_unbase64(&out, p, n, CODEC_URL))
		return buf_value(&out);
	no(c, SIGNATURES, "illegal base64");
	return NULL;
}

/* PEM, or the object of a JWK set. */
static bool
looks_public(const char *key, size_t len)
{
	size_t i = 0;

	while (i < len && strchr(" \t\r\n", key[i]) != NULL && key[i] != '\0')
		i++;
	return (i < len && key[i] == '{') ||
	    memmem(key, len, "-----BEGIN", 10) != NULL;
}

static bool
signature_good(struct check *c, const struct value *header, const char *text,
    size_t len, const struct value *signature)
{
	const struct value *alg_name = value_member(header, "alg");
	const struct jws_alg *alg = jws_alg_find(alg_name);
	struct jws_key secret = { .secret = c->key_text,
	    .secret_len = c->key_len };
	struct jws_keys *keys;
	const char *why = "";
	bool good;

	if (alg == NULL)
		return no(c, SIGNATURES, "unknown algorithm");
	/* A key for signatures is never taken for a shared secret: it is no
	 * secret. */
	if (alg->family == JWS_HMAC) {
		if (looks_public(c->key_text, c->key_len))
			return no(c, SIGNATURES, "a public key cannot verify "
			    "a shared secret's signature");
		good = jws_verify(&secret, alg, text, len, signature->str.p,
		    signature->str.n);
	} else {
		keys = jws_keys_load(c->arena, c->key_text, c->key_len, false,
		    &why);
		if (keys == NULL)
			return no(c, "verification key", why);
		good = jws_verify_any(c->arena, keys,
		    value_member(header, "kid"), alg_name, alg, text, len,
		    signature->str.p, signature->str.n);
		arena_done(c->arena, keys);
	}
	return good || no(c, SIGNATURES, "the signature does not verify");
}

/* header.payload.signature: the payload, once the signature is good. */
static const struct value *
verified_payload(struct check *c, const struct value *token)
{
	const char *p = token->str.p, *end = p + token->str.n, *a, *b;
	const struct value *header, *payload, *signature;

	a = token->str.n > 0 ? memchr(p, '.', token->str.n) : NULL;
	b = a != NULL ? memchr(a + 1, '.', (size_t)(end - a - 1)) : NULL;
	if (b == NULL) {
		no(c, SIGNATURES, "not a signature");
		return NULL;
	}
	if ((header = decoded(c, p, (size_t)(a - p))) == NULL ||
	    (header = json(c, SIGNATURES, header->str.p,
	    header->str.n)) == NULL ||
	    (payload = decoded(c, a + 1, (size_t)(b - a - 1))) == NULL ||
	    (signature = decoded(c, b + 1, (size_t)(end - b - 1))) == NULL ||
	    !signature_good(c, header, p, (size_t)(b - p), signature))
		return NULL;
	return json(c, SIGNATURES, payload->str.p, payload->str.n);
}

/* --- digests ---------------------------------------------------------- */

/*
 * OPA hashes data.json and .manifest by structure: canonical JSON with sorted
 * names and no space; all others by their bytes.
 */
static bool
is_structured(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;

	return strcmp(name, "data.json") == 0 ||
	    strcmp(name, ".manifest") == 0;
}

static bool
file_digest(struct check *c, const struct pack_file *file, char hex[65])
{
	struct buf out = { .arena = c->arena };
	const char *p = file->bytes;
	unsigned char md[32];
	const struct value *v;
	size_t n = file->len, i;

	if (is_structured(file->path)) {
		if ((v = json(c, file->path, file->bytes, file->len)) == NULL)
			return false;
		value_to_json(&out, v, 0);
		p = out.p;
		n = out.n;
	}
	if (EVP_Digest(p, n, md, NULL, EVP_sha256(), NULL) != 1)
		return no(c, file->path, "cannot compute the digest");
	for (i = 0; i < sizeof(md); i++)
		snprintf(hex + 2 * i, 3, "%02x", md[i]);
	return true;
}

static bool
listed_file(struct check *c, const struct value *entry, const char *path)
{
	const struct value *name = value_member(entry, "name");
	const char *p;
	size_t n;

	if (name == NULL || name->kind != VALUE_STRING)
		return false;
	p = name->str.p;
	n = name->str.n;
	while (n > 0 && *p == '/') {
		p++;
		n--;
	}
	return strlen(path) == n && memcmp(path, p, n) == 0;
}

static bool
file_good(struct check *c, const struct pack_file *file,
    const struct value *list)
{
	const struct value *entry = NULL;
	char hex[65] = "";
	uint32_t i;

	for (i = 0; i < list->col.n && entry == NULL; i++)
		if (listed_file(c, list->col.items[i], file->path))
			entry = list->col.items[i];
	if (entry == NULL)
		return no(c, file->path, "is not signed");
	if (!value_is_text(value_member(entry, "algorithm"), "SHA-256"))
		return no(c, file->path, "signed with an unknown digest");
	if (!file_digest(c, file, hex))
		return false;
	return value_is_text(value_member(entry, "hash"), hex) ||
	    no(c, file->path, "differs from what was signed");
}

static bool
files_good(struct check *c, const struct value *payload)
{
	const struct value *list = value_member(payload, "files");
	size_t i, seen = 0;

	if (list == NULL || list->kind != VALUE_ARRAY)
		return no(c, SIGNATURES, "lists no files");
	for (i = 0; i < c->files->n; i++) {
		if (strcmp(c->files->file[i].path, SIGNATURES) == 0)
			continue;
		if (!file_good(c, &c->files->file[i], list))
			return false;
		seen++;
	}
	return seen == list->col.n ||
	    no(c, SIGNATURES, "a signed file is missing");
}

static bool
verify(struct check *c)
{
	const struct pack_file *file = pack_files_find(c->files, SIGNATURES);
	const struct value *root, *list, *payload;

	if (file == NULL)
		return no(c, SIGNATURES, "missing, but a signature is "
		    "required");
	if ((root = json(c, SIGNATURES, file->bytes, file->len)) == NULL)
		return false;
	list = value_member(root, "signatures");
	if (list == NULL || list->kind != VALUE_ARRAY || list->col.n != 1 ||
	    list->col.items[0]->kind != VALUE_STRING)
		return no(c, SIGNATURES, "must hold one signature");
	payload = verified_payload(c, list->col.items[0]);
	return payload != NULL && files_good(c, payload);
}

int
bundle_verify(const struct pack_files *files, const char *key_text,
    size_t key_len, char *err, size_t err_len)
{
	struct arena arena;
	struct check c = { &arena, files, key_text, key_len, err, err_len };
	volatile bool good = false;
	jmp_buf here;

	if (arena_init(&arena, 65536, (size_t)1 << 30, UINT64_MAX / 2) != 0) {
		no(&c, SIGNATURES, "out of memory");
		return -1;
	}
	if (setjmp(here) == 0) {
		arena.armed = &here;
		good = verify(&c);
	} else {
		no(&c, SIGNATURES, arena.message);
	}
	arena_release(&arena);
	return good ? 0 : -1;
}
