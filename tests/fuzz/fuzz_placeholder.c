/* Whatever the secret: a dummy of printable characters that is not the secret,
 * does not contain it, and differs from the next one. */
#include <stdint.h>
#include <stdlib.h>
#include <sodium.h>

#include "gate/placeholder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void
require(bool condition)
{
	if (!condition)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static char out[PLACEHOLDER_MAX], again[PLACEHOLDER_MAX];
	struct slice secret = { (const char *)data, len };
	size_t n, m;

	if (len == 0 || sodium_init() < 0)
		return 0;
	n = placeholder_make(secret, out, sizeof(out));
	m = placeholder_make(secret, again, sizeof(again));
	require(n >= 14 && n <= sizeof(out) && m >= 14);
	require(len < 12 || memmem(out, n, secret.p, len) == NULL);
	require(n != m || memcmp(out, again, n) != 0);
	for (size_t i = 0; i < n; i++)
		require((out[i] > 0x20 && out[i] < 0x7f) || out[i] == '\n' ||
		    (out[i] == ' ' && out[0] == '-'));
	return 0;
}
