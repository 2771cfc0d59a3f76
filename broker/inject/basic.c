#include "inject/basic.h"

#include "base64_digit.h"

#include <stdint.h>
#include <sodium.h>

/* --- writing -------------------------------------------------------------- */

static unsigned char
byte_of(struct slice user, struct slice password, size_t i)
{
	if (i < user.n)
		return (unsigned char)user.p[i];
	return i == user.n ? ':' : (unsigned char)password.p[i - user.n - 1];
}

static void
encode_group(const unsigned char in[3], size_t n, char *out)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "abcdefghijklmnopqrstuvwxyz0123456789+/";
	unsigned bits = (unsigned)in[0] << 16 | (unsigned)in[1] << 8 | in[2];

	out[0] = digits[bits >> 18];
	out[1] = digits[bits >> 12 & 63];
	out[2] = n > 1 ? digits[bits >> 6 & 63] : '=';
	out[3] = n > 2 ? digits[bits & 63] : '=';
}

size_t
basic_encode(struct slice user, struct slice password, char *out, size_t cap)
{
	unsigned char group[3];
	size_t total, n, written = 0;

	if (user.n > 0 && memchr(user.p, ':', user.n) != NULL)
		return 0;
	if (user.n > SIZE_MAX / 4 || password.n > SIZE_MAX / 4)
		return 0;
	total = user.n + 1 + password.n;
	if (cap / 4 < (total + 2) / 3)
		return 0;
	for (size_t i = 0; i < total; i += 3) {
		n = total - i < 3 ? total - i : 3;
		memset(group, 0, sizeof(group));
		for (size_t j = 0; j < n; j++)
			group[j] = byte_of(user, password, i + j);
		encode_group(group, n, out + written);
		written += 4;
	}
	sodium_memzero(group, sizeof(group));
	return written;
}

/* --- reading --------------------------------------------------------------- */

static struct slice
without_padding(struct slice s)
{
	for (int i = 0; i < 2 && s.n > 0 && s.p[s.n - 1] == '='; i++)
		s.n--;
	return s;
}

/* How many bytes s stands for, or -1 where it is no base64. */
static long
decoded_length(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (base64_digit(s.p[i]) < 0)
			return -1;
	return s.n % 4 == 1 ? -1 : (long)(s.n / 4 * 3 + s.n % 4 * 3 / 4);
}

/* Byte i of what s, known to be good, stands for. */
static char
decoded_at(struct slice s, size_t i)
{
	size_t group = i / 3 * 4, k = i % 3;
	unsigned high = (unsigned)base64_digit(s.p[group + k]);
	unsigned low = (unsigned)base64_digit(s.p[group + k + 1]);

	return (char)(high << (2 + 2 * k) | low >> (4 - 2 * k));
}

bool
basic_decode(struct slice encoded, char *buf, size_t cap, struct slice *user,
    struct slice *password)
{
	struct slice s = without_padding(encoded);
	long n = decoded_length(s);
	const char *colon;

	if (n <= 0 || (size_t)n > cap)
		return false;
	for (long i = 0; i < n; i++)
		buf[i] = decoded_at(s, (size_t)i);
	colon = memchr(buf, ':', (size_t)n);
	if (colon == NULL)
		return false;
	*user = (struct slice){ buf, (size_t)(colon - buf) };
	*password = (struct slice){ colon + 1, (size_t)n - user->n - 1 };
	return true;
}
