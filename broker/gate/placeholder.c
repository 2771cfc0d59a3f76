#include "gate/placeholder.h"

#include "ledger/scan/format/formats.h"

#include <stdint.h>
#include <stdio.h>
#include <sodium.h>

#define DIGITS "0123456789"
#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define BASE62 DIGITS UPPER LOWER

static char
draw(const char *alphabet)
{
	return alphabet[randombytes_uniform((uint32_t)strlen(alphabet))];
}

static size_t
plain(char *out, size_t cap)
{
	size_t n = sizeof(PLACEHOLDER_PLAIN) - 1;

	if (cap < n + 32)
		return 0;
	memcpy(out, PLACEHOLDER_PLAIN, n);
	for (size_t i = 0; i < 32; i++)
		out[n + i] = draw(BASE62);
	return n + 32;
}

/* --- JWT -------------------------------------------------------------------- */

/* Three runs of base64url, the first of which begins an object. */
static bool
is_jwt(struct slice s)
{
	unsigned dots = 0;

	if (s.n < 20 || memcmp(s.p, "eyJ", 3) != 0 || s.p[s.n - 1] == '.')
		return false;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '.' && s.p[i - 1] != '.')
			dots++;
		else if (strchr(BASE62 "-_", s.p[i]) == NULL || s.p[i] == '\0')
			return false;
	}
	return dots == 2;
}

static size_t
put_part(const char *json, char *out, size_t cap)
{
	size_t n = strlen(json);

	if (cap < sodium_base64_ENCODED_LEN(n,
	    sodium_base64_VARIANT_URLSAFE_NO_PADDING))
		return 0;
	sodium_bin2base64(out, cap, (const unsigned char *)json, n,
	    sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	return strlen(out);
}

/* Some clients look whether their token has expired: ours does so in 2100. */
static size_t
jwt(char *out, size_t cap)
{
	char id[17] = "", payload[128];
	size_t n, part;

	for (size_t i = 0; i < 16; i++)
		id[i] = draw(BASE62);
	snprintf(payload, sizeof(payload), "{\"iss\":\"countersign\","
	    "\"sub\":\"placeholder\",\"exp\":4102444800,\"jti\":\"%s\"}", id);
	n = put_part("{\"alg\":\"HS256\",\"typ\":\"JWT\"}", out, cap);
	if (n == 0)
		return 0;
	out[n++] = '.';
	part = put_part(payload, out + n, cap - n);
	if (part == 0)
		return 0;
	n += part;
	if (cap - n < 1 + 43)
		return 0;
	out[n++] = '.';
	for (size_t i = 0; i < 43; i++)
		out[n++] = draw(BASE62);
	return n;
}

/* --- PEM --------------------------------------------------------------------- */

#define PEM_BODY_MAX 1600
#define PEM_LINE 64

/* "-----BEGIN label-----"; label empty where it is no PEM. */
static struct slice
pem_label(struct slice s)
{
	static const char begin[] = "-----BEGIN ";
	size_t n = sizeof(begin) - 1, end = n;

	if (s.n < n || memcmp(s.p, begin, n) != 0)
		return (struct slice){ NULL, 0 };
	while (end < s.n && end - n < 40 && (s.p[end] == ' ' ||
	    (s.p[end] >= 'A' && s.p[end] <= 'Z')))
		end++;
	if (s.n - end < 5 || memcmp(s.p + end, "-----", 5) != 0)
		return (struct slice){ NULL, 0 };
	return (struct slice){ s.p + n, end - n };
}

static size_t
pem(struct slice secret, struct slice label, char *out, size_t cap)
{
	const char *line = memchr(secret.p, '\n', secret.n) != NULL ? "\n" : "";
	size_t frame = 2 * label.n + sizeof("-----BEGIN ----------END -----");
	size_t body = secret.n > frame ? secret.n - frame : 0, n, room;
	int w;

	if (body < 16)			/* a frame with nothing in it */
		return plain(out, cap);
	body = body > PEM_BODY_MAX ? PEM_BODY_MAX : body / 4 * 4;
	room = frame + body + body / PEM_LINE + 4;
	if (cap < room)
		return 0;
	w = snprintf(out, cap, "-----BEGIN %.*s-----%s", (int)label.n, label.p, line);
	n = (size_t)w;
	for (size_t i = 0; i < body; i++) {
		out[n++] = draw(BASE62 "+/");
		if (*line != '\0' && (i + 1) % PEM_LINE == 0 && i + 1 < body)
			out[n++] = '\n';
	}
	w = snprintf(out + n, cap - n, "%s-----END %.*s-----", line, (int)label.n,
	    label.p);
	return n + (size_t)w;
}

/* --- one alphabet ------------------------------------------------------------- */

/* In this order: the first one that has all of a body's characters is its
 * alphabet.  bits: of chance in eight characters. */
static const struct alphabet {
	const char *characters;
	unsigned bits;
} alphabets[] = {
	{ DIGITS, 26 },
	{ DIGITS "abcdef", 32 },
	{ DIGITS "ABCDEF", 32 },
	{ "234567" UPPER, 40 },
	{ LOWER, 37 },
	{ DIGITS LOWER, 41 },
	{ DIGITS UPPER, 41 },
	{ BASE62, 47 },
	{ BASE62 "-_", 48 },
	{ BASE62 "+/", 48 },
};

/*
 * "sk-live_", "tok-": at most twelve characters up to the last separator, all
 * letters of one case, not what hex could be.  A random body has such a beginning
 * once in some hundred times; then a few of its letters are shown, out of a body
 * that keeps its PLACEHOLDER_BITS all the same.
 */
static size_t
prefix_length(struct slice s)
{
	size_t n = 0;
	bool lower = false, upper = false, beyond_hex = false;

	for (size_t i = 0; i < 12 && i < s.n; i++) {
		char c = s.p[i];
		if ((c == '_' || c == '-') && i > 1 && beyond_hex)
			n = i + 1;
		else if (c >= 'a' && c <= 'z')
			lower = true;
		else if (c >= 'A' && c <= 'Z')
			upper = true;
		else
			break;
		if (lower && upper)
			break;
		beyond_hex |= (c | 0x20) > 'f' && c != '_';
	}
	return n;
}

/* 8-4-4-4-12 */
static bool
is_uuid(struct slice s)
{
	if (s.n != 36)
		return false;
	for (size_t i = 0; i < s.n; i++)
		if ((s.p[i] == '-') != (i == 8 || i == 13 || i == 18 || i == 23))
			return false;
	return true;
}

static bool
is_joint(struct slice body, size_t i, bool uuid)
{
	return body.p[i] == '.' || (uuid && body.p[i] == '-') ||
	    (body.p[i] == '=' && i + 2 >= body.n);
}

static bool
has_all(const char *alphabet, struct slice body, bool uuid)
{
	for (size_t i = 0; i < body.n; i++)
		if (!is_joint(body, i, uuid) &&
		    (body.p[i] == '\0' || strchr(alphabet, body.p[i]) == NULL))
			return false;
	return true;
}

static size_t
same_alphabet(struct slice secret, char *out, size_t cap)
{
	size_t prefix = prefix_length(secret), drawn = 0;
	struct slice body = { secret.p + prefix, secret.n - prefix };
	bool uuid = is_uuid(body);
	const struct alphabet *a = alphabets;
	const struct alphabet *end = a + sizeof(alphabets) / sizeof(alphabets[0]);

	if (secret.n > cap)
		return 0;
	while (a < end && !has_all(a->characters, body, uuid))
		a++;
	if (a == end)
		return 0;
	memcpy(out, secret.p, prefix);
	for (size_t i = 0; i < body.n; i++) {
		bool joint = is_joint(body, i, uuid);
		out[prefix + i] = joint ? body.p[i] : draw(a->characters);
		drawn += !joint;
	}
	return drawn * a->bits / 8 >= PLACEHOLDER_BITS ? secret.n : 0;
}

/* --- which ---------------------------------------------------------------------- */

/*
 * Claude Code asks a person before it uses a key that it does not know, shows the
 * last 20 characters and remembers them with the answer.  All dummies of that
 * format end alike, so that it is asked once and not in every run; and what is
 * shown says what it is.  What comes before has all the chance that is needed.
 */
static void
end_alike(const struct scan_format *format, char *out, size_t n)
{
	static const char tail[] = "-countersign-dummyAA";

	if (strcmp(scan_format_id(format), "anthropic") == 0)
		memcpy(out + n - (sizeof(tail) - 1), tail, sizeof(tail) - 1);
}

static size_t
known_format(struct slice secret, char *out, size_t cap)
{
	struct scan_match match;

	if (secret.n > cap || !scan_formats_match(secret.p, secret.n, &match) ||
	    (match.len - match.prefix_len) * 5 < PLACEHOLDER_BITS ||
	    scan_formats_dummy(secret.p, secret.n, out) != 0)
		return 0;
	end_alike(match.format, out, secret.n);
	return secret.n;
}

static size_t
make(struct slice secret, char *out, size_t cap)
{
	struct slice label = pem_label(secret);
	size_t n;

	if (label.n > 0)
		return pem(secret, label, out, cap);
	if (secret.n > PLACEHOLDER_MAX)
		return plain(out, cap);
	if (is_jwt(secret))
		return jwt(out, cap);
	if (secret.n > cap)
		return 0;
	if ((n = known_format(secret, out, cap)) > 0 ||
	    (n = same_alphabet(secret, out, cap)) > 0)
		return n;
	return plain(out, cap);
}

size_t
placeholder_make(struct slice secret, char *out, size_t cap)
{
	size_t n = make(secret, out, cap);

	if (n == secret.n && sodium_memcmp(out, secret.p, n) == 0)
		return plain(out, cap);
	return n;
}
