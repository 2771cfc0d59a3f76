#include "ledger/tree/hash_lines.h"
#include "ledger/base64.h"

#include <sodium.h>
#include <string.h>

#define DIGITS (HASH_LINE_LEN - 1)

size_t
hash_lines_write(const struct tree_proof *proof, char *out)
{
	char *at = out;

	for (unsigned i = 0; i < proof->count; i++) {
		sodium_bin2base64(at, DIGITS + 1, proof->hash[i],
		    TREE_HASH_LEN, sodium_base64_VARIANT_ORIGINAL);
		at[DIGITS] = '\n';
		at += HASH_LINE_LEN;
	}
	return (size_t)(at - out);
}

static bool
read_one(const char *line, uint8_t hash[TREE_HASH_LEN])
{
	char again[DIGITS + 1];
	size_t n;

	if (line[DIGITS] != '\n' || base64_read(hash, TREE_HASH_LEN,
	    line, DIGITS, &n) != 0 || n != TREE_HASH_LEN)
		return false;
	/* Bits behind the last byte would make another text of one hash. */
	sodium_bin2base64(again, sizeof(again), hash, n,
	    sodium_base64_VARIANT_ORIGINAL);
	return memcmp(again, line, DIGITS) == 0;
}

bool
hash_lines_read(const char **at, const char *end, unsigned most,
    struct tree_proof *proof)
{
	const char *p = *at;

	proof->count = 0;
	while (end - p >= HASH_LINE_LEN && *p != '\n') {
		if (proof->count == most ||
		    !read_one(p, proof->hash[proof->count]))
			return false;
		proof->count++;
		p += HASH_LINE_LEN;
	}
	if (p == end || *p != '\n')
		return false;
	*at = p + 1;
	return true;
}

bool
hash_lines_number(const char **at, const char *end, uint64_t *number)
{
	const char *p = *at;
	uint64_t value = 0;

	while (p < end && *p >= '0' && *p <= '9' && p - *at < 19)
		value = value * 10 + (uint64_t)(*p++ - '0');
	if (p == *at || p == end || *p != '\n' || (**at == '0' && p - *at > 1))
		return false;
	*number = value;
	*at = p + 1;
	return true;
}
