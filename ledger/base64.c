#include <sodium.h>

#include "ledger/base64.h"

size_t
base64_ascii(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && (unsigned char)text[n] < 0x80)
		n++;
	return n;
}

int
base64_read(uint8_t *out, size_t cap, const char *text, size_t len, size_t *got)
{
	if (base64_ascii(text, len) != len)
		return -1;
	return sodium_base642bin(out, cap, text, len, NULL, got, NULL,
	    sodium_base64_VARIANT_ORIGINAL);
}
