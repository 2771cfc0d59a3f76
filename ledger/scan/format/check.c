#define OPENSSL_SUPPRESS_DEPRECATED
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <openssl/sha.h>
#include <sodium.h>
#include <zlib.h>

#include "ledger/scan/format/check.h"

#define SUM_MAX 8	/* characters of any checksum */

static const char base62[] =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
static const char base36[] = "0123456789abcdefghijklmnopqrstuvwxyz";
static const char base32[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
static const char bech32[] = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";

/* A checksum: sum_len characters at sum_at over [from, to). */
struct span {
	size_t from, to, sum_at, sum_len;
};

static bool
span_of(enum scan_check check, size_t len, size_t prefix_len, struct span *s)
{
	static const size_t sum_len[SCAN_CHECKSUMS] = {
		[SCAN_CRC32_BASE62] = 6, [SCAN_CRC32_BASE36] = 7,
		[SCAN_CRC32_HEX] = 8, [SCAN_CRC32_HEX_LE] = 8,
		[SCAN_CRC32_BASE64_LE] = 6, [SCAN_SHA256_BASE32] = 8,
	};
	size_t separator = check == SCAN_CRC32_HEX || check == SCAN_CRC32_HEX_LE;

	if (check >= SCAN_CHECKSUMS || sum_len[check] == 0)
		return false;
	s->sum_len = sum_len[check];
	if (len < prefix_len + s->sum_len + separator)
		return false;
	s->sum_at = check == SCAN_SHA256_BASE32 ? 77 : len - s->sum_len;
	if (s->sum_at + s->sum_len > len)
		return false;
	s->to = s->sum_at - separator;
	s->from = check == SCAN_CRC32_BASE36 || check == SCAN_CRC32_HEX_LE ||
	    check == SCAN_SHA256_BASE32 ? 0 : prefix_len;
	return true;
}

static void
digits(uint32_t value, const char *alphabet, uint32_t base, char *out, size_t n)
{
	while (n-- > 0) {
		out[n] = alphabet[value % base];
		value /= base;
	}
}

static void
sha256_base32(const uint8_t *p, size_t len, char *out)
{
	uint8_t hash[SHA256_DIGEST_LENGTH];
	uint64_t bits = 0;
	SHA256_CTX sha;
	int i;

	SHA256_Init(&sha);
	SHA256_Update(&sha, p, len);
	SHA256_Final(hash, &sha);
	for (i = 0; i < 5; i++)
		bits = bits << 8 | hash[i];
	for (i = 0; i < 8; i++)
		out[i] = base32[bits >> (35 - 5 * i) & 31];
}

static void
compute(enum scan_check check, const uint8_t *token, const struct span *s,
    char out[SUM_MAX + 2])
{
	uint32_t crc = (uint32_t)crc32(0, token + s->from, (uInt)(s->to - s->from));
	uint8_t little[4] = { (uint8_t)crc, (uint8_t)(crc >> 8),
	    (uint8_t)(crc >> 16), (uint8_t)(crc >> 24) };

	switch (check) {
	case SCAN_CRC32_BASE62:
		digits(crc, base62, 62, out, 6);
		break;
	case SCAN_CRC32_BASE36:
		digits(crc, base36, 36, out, 7);
		break;
	case SCAN_CRC32_HEX:
		digits(crc, base36, 16, out, 8);
		break;
	case SCAN_CRC32_HEX_LE:
		sodium_bin2hex(out, SUM_MAX + 2, little, sizeof(little));
		break;
	case SCAN_CRC32_BASE64_LE:
		sodium_bin2base64(out, SUM_MAX + 2, little, sizeof(little),
		    sodium_base64_VARIANT_ORIGINAL);
		break;
	default:
		sha256_base32(token + s->from, s->to - s->from, out);
		break;
	}
}

/* BIP-173 over one case; the human-readable part ends at the last '1'. */
static uint32_t
bech32_step(uint32_t sum, unsigned value)
{
	static const uint32_t generator[5] = { 0x3b6a57b2, 0x26508e6d, 0x1ea119fa,
	    0x3d4233dd, 0x2a1462b3 };
	uint32_t top = sum >> 25;
	int i;

	sum = (sum & 0x1ffffff) << 5 ^ value;
	for (i = 0; i < 5; i++)
		if ((top >> i & 1) != 0)
			sum ^= generator[i];
	return sum;
}

/* The state after human-readable part and data[0..data_len). */
static bool
bech32_sum(const uint8_t *token, size_t hrp_len, size_t len, uint32_t *out)
{
	const char *at;
	uint32_t sum = 1;
	size_t i;

	for (i = 0; i < hrp_len; i++)
		sum = bech32_step(sum, (unsigned)tolower(token[i]) >> 5);
	sum = bech32_step(sum, 0);
	for (i = 0; i < hrp_len; i++)
		sum = bech32_step(sum, (unsigned)tolower(token[i]) & 31);
	for (i = hrp_len + 1; i < len; i++) {
		at = memchr(bech32, tolower(token[i]), 32);
		if (at == NULL)
			return false;
		sum = bech32_step(sum, (unsigned)(at - bech32));
	}
	*out = sum;
	return true;
}

static void
bech32_fix(uint8_t *token, size_t len, size_t prefix_len)
{
	uint32_t sum;
	int i;

	if (prefix_len == 0 || len < prefix_len + 6 ||
	    !bech32_sum(token, prefix_len - 1, len - 6, &sum))
		return;
	for (i = 0; i < 6; i++)
		sum = bech32_step(sum, 0);
	sum ^= 1;
	for (i = 0; i < 6; i++)
		token[len - 6 + (size_t)i] =
		    (uint8_t)toupper(bech32[sum >> (25 - 5 * i) & 31]);
}

/* A mention in prose has no key behind it: 40 characters of base64 on one or
 * two lines (line ends may be escaped) must follow. */
static enum scan_outcome
pem_body(const uint8_t *rest, size_t len)
{
	size_t i, body = 0;

	for (i = 0; i < len && i < 400 && body < 40; i++) {
		if (isalnum(rest[i]) || rest[i] == '+' || rest[i] == '/')
			body++;
		else if (rest[i] == '-' && len - i > 8 &&
		    memcmp(rest + i, "-----END", 8) == 0)
			return SCAN_MENTION;
		else if (strchr("\r\n\\=,:- \t", rest[i]) == NULL)
			return SCAN_MENTION;
		else if (rest[i] == ' ' && body > 0 && body < 16)
			return SCAN_MENTION;
	}
	return body >= 40 ? SCAN_RIGHT : SCAN_MENTION;
}

static size_t
decode64(const uint8_t *text, size_t len, uint8_t *out, size_t cap)
{
	uint32_t bits = 0;
	size_t i, n = 0;
	int have = 0, value;

	for (i = 0; i < len && n < cap; i++) {
		if (text[i] >= 'A' && text[i] <= 'Z')
			value = text[i] - 'A';
		else if (text[i] >= 'a' && text[i] <= 'z')
			value = text[i] - 'a' + 26;
		else if (text[i] >= '0' && text[i] <= '9')
			value = text[i] - '0' + 52;
		else if (text[i] == '+' || text[i] == '-')
			value = 62;
		else if (text[i] == '/' || text[i] == '_')
			value = 63;
		else
			break;
		bits = bits << 6 | (uint32_t)value;
		if ((have += 6) >= 8)
			out[n++] = (uint8_t)(bits >> (have -= 8));
	}
	return n;
}

static enum scan_outcome
jwt(const uint8_t *token, size_t len)
{
	const uint8_t *dot = memchr(token, '.', len);
	uint8_t head[512];
	size_t n;

	if (dot == NULL)
		return SCAN_WRONG;
	n = decode64(token, (size_t)(dot - token), head, sizeof(head));
	if (memmem(head, n, "\"alg\"", 5) == NULL)
		return SCAN_WRONG;
	return memmem(head, n, "\"none\"", 6) != NULL ? SCAN_WRONG : SCAN_RIGHT;
}

static bool
is_redaction(const uint8_t *p, size_t len)
{
	static const char *words[] = { "REDACTED", "redacted", "***", "xxxx", "XXXX",
	    "${", "$(", "{{", "<", "..." };
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (memmem(p, len, words[i], strlen(words[i])) != NULL)
			return true;
	return false;
}

/* Long enough, with letters and digits, and not of few characters: what a
 * person would not write into an example. */
static bool
looks_chosen(const uint8_t *p, size_t len)
{
	size_t i, numbers = 0, letters = 0;

	for (i = 0; i < len; i++) {
		numbers += isdigit(p[i]) != 0;
		letters += isalpha(p[i]) != 0;
	}
	return len >= 8 && numbers > 0 && letters > 1 && scan_entropy(p, len) >= 25;
}

/* user:password@host behind "://". */
static enum scan_outcome
url_password(const uint8_t *p, size_t len)
{
	const uint8_t *colon, *at;

	p += 3;
	len -= 3;
	colon = memchr(p, ':', len);
	at = memrchr(p, '@', len);
	if (at != NULL && is_redaction(p, (size_t)(at - p)))
		return SCAN_MENTION;
	if (colon == NULL || at == NULL || at < colon ||
	    !looks_chosen(colon + 1, (size_t)(at - colon) - 1) ||
	    memmem(at, (size_t)(p + len - at), "example.", 8) == at + 1)
		return SCAN_WRONG;
	return SCAN_ABSENT;
}

static enum scan_outcome
pem_base64(const uint8_t *p, size_t len)
{
	uint8_t plain[96];
	size_t phase, n;

	for (phase = 0; phase < 4 && phase < len; phase++) {
		n = decode64(p + phase, len - phase, plain, sizeof(plain));
		if (memmem(plain, n, "PRIVATE KEY", 11) != NULL)
			return SCAN_RIGHT;
	}
	return SCAN_MENTION;
}

static enum scan_outcome
basic(const uint8_t *body, size_t len)
{
	uint8_t plain[512];
	const uint8_t *colon;
	size_t n;

	while (len > 0 && (*body == ' ' || *body == '\t')) {
		body++;
		len--;
	}
	n = decode64(body, len, plain, sizeof(plain));
	colon = memchr(plain, ':', n);
	if (colon == NULL || is_redaction(plain, n))
		return SCAN_MENTION;
	return looks_chosen(colon + 1, n - (size_t)(colon - plain) - 1) ?
	    SCAN_RIGHT : SCAN_WRONG;
}

/* An assignment's value that a person would take for a key: two digits, and
 * enough different characters. */
static enum scan_outcome
looks_random(const uint8_t *body, size_t len)
{
	const uint8_t *value = body + len;
	size_t i, numbers = 0, letters = 0;

	while (value > body && strchr("\"':= \t\r\n>", value[-1]) == NULL)
		value--;
	len -= (size_t)(value - body);
	for (i = 0; i < len; i++) {
		numbers += isdigit(value[i]) != 0;
		letters += isalpha(value[i]) != 0;
	}
	if (numbers < 2 || letters < 4 || is_redaction(value, len) ||
	    scan_entropy(value, len) < 35)
		return SCAN_MENTION;
	return SCAN_ABSENT;
}

enum scan_outcome
scan_check(enum scan_check check, const uint8_t *token, size_t len,
    size_t prefix_len, size_t rest_len)
{
	char sum[SUM_MAX + 2];
	const uint8_t *at;
	struct span s;
	uint32_t state;

	switch (check) {
	case SCAN_BECH32:
		return prefix_len > 0 && bech32_sum(token, prefix_len - 1, len, &state) &&
		    state == 1 ? SCAN_RIGHT : SCAN_WRONG;
	case SCAN_PEM_BODY:
		return pem_body(token + len, rest_len);
	case SCAN_JWT:
		return jwt(token, len);
	case SCAN_BASIC:
		return basic(token + prefix_len, len - prefix_len);
	case SCAN_NOT_EXAMPLE:
		return len > 7 && memcmp(token + len - 7, "EXAMPLE", 7) == 0 ?
		    SCAN_MENTION : SCAN_ABSENT;
	case SCAN_PASSWORD:
		at = memmem(token, len, "://", 3);
		return at == NULL ? SCAN_MENTION :
		    url_password(at, len - (size_t)(at - token));
	case SCAN_BEARER:
		return is_redaction(token, len) ? SCAN_MENTION :
		    looks_chosen(token + prefix_len, len - prefix_len) ? SCAN_ABSENT : SCAN_WRONG;
	case SCAN_PEM_BASE64:
		return pem_base64(token, len);
	case SCAN_LOOKS_RANDOM:
		return looks_random(token + prefix_len, len - prefix_len);
	default:
		break;
	}
	if (!span_of(check, len, prefix_len, &s))
		return SCAN_ABSENT;
	compute(check, token, &s, sum);
	return memcmp(sum, token + s.sum_at, s.sum_len) == 0 ? SCAN_RIGHT : SCAN_WRONG;
}

bool
scan_check_place(enum scan_check check, size_t len, size_t prefix_len,
    size_t *at, size_t *sum_len)
{
	struct span s;

	if (check == SCAN_BECH32 && len >= 6) {
		*at = len - 6;
		*sum_len = 6;
		return true;
	}
	if (!span_of(check, len, prefix_len, &s))
		return false;
	*at = s.sum_at;
	*sum_len = s.sum_len;
	return true;
}

void
scan_check_fix(enum scan_check check, uint8_t *token, size_t len,
    size_t prefix_len)
{
	char sum[SUM_MAX + 2];
	struct span s;

	if (check == SCAN_BECH32) {
		bech32_fix(token, len, prefix_len);
	} else if (span_of(check, len, prefix_len, &s)) {
		compute(check, token, &s, sum);
		memcpy(token + s.sum_at, sum, s.sum_len);
	}
}

/* Base-2 logarithm of x > 0 in 1/65536, by repeated squaring. */
static uint64_t
log2_fixed(uint64_t x)
{
	uint64_t result = (uint64_t)(63 - __builtin_clzll(x)) << 16, bit;

	x <<= __builtin_clzll(x);
	x >>= 33;		/* [2^30, 2^31) stands for [1, 2) */
	for (bit = UINT64_C(1) << 15; bit != 0; bit >>= 1) {
		x = x * x >> 30;
		if (x >= UINT64_C(1) << 31) {
			result += bit;
			x >>= 1;
		}
	}
	return result;
}

unsigned
scan_entropy(const uint8_t *text, size_t len)
{
	uint32_t count[256] = { 0 };
	uint64_t sum = 0;
	size_t i;

	if (len == 0)
		return 0;
	for (i = 0; i < len; i++)
		count[text[i]]++;
	for (i = 0; i < 256; i++)
		if (count[i] > 1)
			sum += count[i] * log2_fixed(count[i]);
	return (unsigned)((log2_fixed(len) - sum / len) * 10 >> 16);
}
