#include "inject/sigv4.h"

#include "hex_digit.h"

#include <sodium.h>
#include <stdlib.h>

#define KEY_MAX 256

/* --- the canonical request, hashed as it is spelled ------------------------ */

static void
hash_bytes(crypto_hash_sha256_state *hash, struct slice s)
{
	crypto_hash_sha256_update(hash, (const unsigned char *)s.p, s.n);
}

/* One character after another of the one spelling that a text has. */
struct spelling {
	const char *at, *end;
	bool undo;		/* the text's own escapes first */
	bool plus;		/* where '+' is a space */
	bool slash;		/* which stays */
	char left[2];		/* of an escape, last first */
	unsigned n_left;
};

static bool
is_plain(unsigned char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
	    c == '-' || c == '.' || c == '_' || c == '~';
}

static unsigned char
next_byte(struct spelling *s)
{
	const char *p = s->at++;

	if (s->plus && *p == '+')
		return ' ';
	if (!s->undo || *p != '%' || s->end - p < 3 || hex_digit(p[1]) < 0 ||
	    hex_digit(p[2]) < 0)
		return (unsigned char)*p;
	s->at += 2;
	return (unsigned char)(hex_digit(p[1]) << 4 | hex_digit(p[2]));
}

/* -1 at the end. */
static int
spell(struct spelling *s)
{
	static const char digits[] = "0123456789ABCDEF";
	unsigned char c;

	if (s->n_left > 0)
		return s->left[--s->n_left];
	if (s->at == s->end)
		return -1;
	c = next_byte(s);
	if (is_plain(c) || (s->slash && c == '/'))
		return c;
	s->left[0] = digits[c & 15];
	s->left[1] = digits[c >> 4];
	s->n_left = 2;
	return '%';
}

static void
hash_spelled(crypto_hash_sha256_state *hash, struct spelling s)
{
	char piece[256];
	size_t n = 0;
	int c;

	while ((c = spell(&s)) != -1) {
		piece[n++] = (char)c;
		if (n == sizeof(piece)) {
			hash_bytes(hash, (struct slice){ piece, n });
			n = 0;
		}
	}
	hash_bytes(hash, (struct slice){ piece, n });
}

static bool
undoes_escapes(struct slice service)
{
	static const struct slice names[] = { { "s3", 2 }, { "s3express", 9 },
	    { "s3-outposts", 11 }, { "s3-object-lambda", 16 } };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (slice_eq(service, names[i]))
			return true;
	return false;
}

/* --- the query -------------------------------------------------------------- */

struct parameter {
	struct slice key, value;
};

static struct spelling
of_query(struct slice text)
{
	return (struct spelling){ .at = text.p, .end = text.p + text.n,
	    .undo = true, .plus = true };
}

static int
spelled_order(struct slice a, struct slice b)
{
	struct spelling x = of_query(a), y = of_query(b);
	int c, d;

	do {
		c = spell(&x);
		d = spell(&y);
	} while (c == d && c != -1);
	return c - d;
}

static int
parameter_order(const void *a, const void *b)
{
	const struct parameter *x = a, *y = b;
	int c = spelled_order(x->key, y->key);

	return c != 0 ? c : spelled_order(x->value, y->value);
}

/* The count, or -1 for too many. */
static int
parameters(struct slice query, struct parameter out[SIGV4_PARAMETERS_MAX])
{
	const char *at = query.p, *end = query.p + query.n;
	int n = 0;

	while (at < end) {
		const char *amp = memchr(at, '&', (size_t)(end - at));
		const char *stop = amp != NULL ? amp : end;
		const char *equals = memchr(at, '=', (size_t)(stop - at));
		const char *key_end = equals != NULL ? equals : stop;
		const char *value = equals != NULL ? equals + 1 : stop;

		if (stop > at) {
			if (n == SIGV4_PARAMETERS_MAX)
				return -1;
			out[n++] = (struct parameter){
			    { at, (size_t)(key_end - at) },
			    { value, (size_t)(stop - value) } };
		}
		at = stop + 1;
	}
	return n;
}

static bool
hash_query(crypto_hash_sha256_state *hash, struct slice query)
{
	struct parameter all[SIGV4_PARAMETERS_MAX];
	int n = query.n > 0 ? parameters(query, all) : 0;

	if (n == -1)
		return false;
	qsort(all, (size_t)n, sizeof(*all), parameter_order);
	for (int i = 0; i < n; i++) {
		if (i > 0)
			hash_bytes(hash, SLICE("&"));
		hash_spelled(hash, of_query(all[i].key));
		hash_bytes(hash, SLICE("="));
		hash_spelled(hash, of_query(all[i].value));
	}
	return true;
}

/* --- the fields ------------------------------------------------------------- */

static int
name_order(struct slice a, struct slice b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int c = n > 0 ? strncasecmp(a.p, b.p, n) : 0;

	return c != 0 ? c : a.n < b.n ? -1 : a.n > b.n;
}

/* Those of one name stay in their order, which is that of their values. */
static void
sort_fields(struct sigv4 *request)
{
	for (size_t i = 1; i < request->n_fields; i++) {
		const struct head_field field = request->fields[i];
		size_t at = i;

		while (at > 0 && name_order(request->fields[at - 1].name,
		    field.name) > 0) {
			request->fields[at] = request->fields[at - 1];
			at--;
		}
		request->fields[at] = field;
	}
}

/* Blanks at the ends are gone; those between count as one. */
static void
hash_value(crypto_hash_sha256_state *hash, struct slice value)
{
	const char *at = value.p, *end = value.p + value.n;

	while (at < end) {
		const char *stop = at;

		while (stop < end && *stop != ' ' && *stop != '\t')
			stop++;
		hash_bytes(hash, (struct slice){ at, (size_t)(stop - at) });
		at = stop;
		while (at < end && (*at == ' ' || *at == '\t'))
			at++;
		if (at < end)
			hash_bytes(hash, SLICE(" "));
	}
}

static bool
add_name(struct sigv4 *request, struct slice name)
{
	char *out = request->names + request->names_len;

	if (name.n + 1 > sizeof(request->names) - request->names_len)
		return false;
	if (request->names_len > 0)
		*out++ = ';';
	for (size_t i = 0; i < name.n; i++)
		out[i] = (char)(name.p[i] >= 'A' && name.p[i] <= 'Z' ?
		    name.p[i] | 0x20 : name.p[i]);
	request->names_len = (size_t)(out + name.n - request->names);
	return true;
}

/* A line for each name, its values with commas between. */
static bool
hash_fields(crypto_hash_sha256_state *hash, struct sigv4 *request)
{
	request->names_len = 0;
	for (size_t i = 0; i < request->n_fields; i++) {
		const struct head_field *f = &request->fields[i];
		size_t before = request->names_len;

		if (i > 0 && name_order(f[-1].name, f->name) == 0) {
			hash_bytes(hash, SLICE(","));
			hash_value(hash, f->value);
			continue;
		}
		if (!add_name(request, f->name))
			return false;
		if (i > 0)
			hash_bytes(hash, SLICE("\n"));
		before += before > 0;	/* the ';' */
		hash_bytes(hash, (struct slice){ request->names + before,
		    f->name.n });
		hash_bytes(hash, SLICE(":"));
		hash_value(hash, f->value);
	}
	hash_bytes(hash, SLICE("\n\n"));
	hash_bytes(hash, (struct slice){ request->names, request->names_len });
	return true;
}

static bool
canonical(struct sigv4 *request, char hex[SIGV4_HEX_LEN + 1])
{
	unsigned char digest[crypto_hash_sha256_BYTES];
	crypto_hash_sha256_state hash;

	crypto_hash_sha256_init(&hash);
	hash_bytes(&hash, request->method);
	hash_bytes(&hash, SLICE("\n"));
	hash_spelled(&hash, (struct spelling){ .at = request->path.p,
	    .end = request->path.p + request->path.n, .slash = true,
	    .undo = undoes_escapes(request->service) });
	hash_bytes(&hash, SLICE("\n"));
	if (!hash_query(&hash, request->query))
		return false;
	hash_bytes(&hash, SLICE("\n"));
	sort_fields(request);
	if (!hash_fields(&hash, request))
		return false;
	hash_bytes(&hash, SLICE("\n"));
	hash_bytes(&hash, request->payload);
	crypto_hash_sha256_final(&hash, digest);
	sodium_bin2hex(hex, SIGV4_HEX_LEN + 1, digest, sizeof(digest));
	return true;
}

/* --- the signature ------------------------------------------------------------ */

/* HMAC under key, several pieces long; out may be key. */
static void
hmac(const unsigned char *key, size_t key_len, const struct slice *pieces,
    size_t n, unsigned char out[crypto_auth_hmacsha256_BYTES])
{
	crypto_auth_hmacsha256_state state;

	crypto_auth_hmacsha256_init(&state, key, key_len);
	for (size_t i = 0; i < n; i++)
		crypto_auth_hmacsha256_update(&state,
		    (const unsigned char *)pieces[i].p, pieces[i].n);
	crypto_auth_hmacsha256_final(&state, out);
	sodium_memzero(&state, sizeof(state));
}

/* A key for this day, region and service. */
static bool
derive(const struct sigv4 *request, struct slice secret,
    unsigned char key[crypto_auth_hmacsha256_BYTES])
{
	const struct slice steps[] = { { request->time, 8 }, request->region,
	    request->service, SLICE("aws4_request") };
	unsigned char first[KEY_MAX];

	if (secret.n > sizeof(first) - 4)
		return false;
	memcpy(first, "AWS4", 4);
	memcpy(first + 4, secret.p, secret.n);
	hmac(first, 4 + secret.n, &steps[0], 1, key);
	sodium_memzero(first, sizeof(first));
	for (size_t i = 1; i < sizeof(steps) / sizeof(steps[0]); i++)
		hmac(key, crypto_auth_hmacsha256_BYTES, &steps[i], 1, key);
	return true;
}

bool
sigv4_sign(struct sigv4 *request, struct slice secret,
    char signature[SIGV4_HEX_LEN + 1])
{
	unsigned char key[crypto_auth_hmacsha256_BYTES];
	char hex[SIGV4_HEX_LEN + 1];
	const struct slice text[] = { SLICE("AWS4-HMAC-SHA256\n"),
	    { request->time, SIGV4_TIME_LEN }, SLICE("\n"), { request->time, 8 },
	    SLICE("/"), request->region, SLICE("/"), request->service,
	    SLICE("/aws4_request\n"), { hex, SIGV4_HEX_LEN } };

	if (!canonical(request, hex) || !derive(request, secret, key))
		return false;
	hmac(key, sizeof(key), text, sizeof(text) / sizeof(text[0]), key);
	sodium_bin2hex(signature, SIGV4_HEX_LEN + 1, key, sizeof(key));
	sodium_memzero(key, sizeof(key));
	return true;
}

void
sigv4_time(time_t at, char out[SIGV4_TIME_LEN + 1])
{
	struct tm tm;

	gmtime_r(&at, &tm);
	strftime(out, SIGV4_TIME_LEN + 1, "%Y%m%dT%H%M%SZ", &tm);
}

void
sigv4_hash(struct slice bytes, char hex[SIGV4_HEX_LEN + 1])
{
	unsigned char digest[crypto_hash_sha256_BYTES];

	crypto_hash_sha256(digest, (const unsigned char *)bytes.p, bytes.n);
	sodium_bin2hex(hex, SIGV4_HEX_LEN + 1, digest, sizeof(digest));
}
