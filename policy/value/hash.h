/* A hash of bytes, for tables of ours: eight at a time, not against attackers
 * (who only make a look-up in a small table slower). */
#ifndef POLICY_VALUE_HASH_H
#define POLICY_VALUE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t
hash_bytes(uint64_t seed, const char *p, size_t n)
{
	uint64_t h = seed ^ n, bytes;

	for (; n >= sizeof(bytes); p += sizeof(bytes), n -= sizeof(bytes)) {
		memcpy(&bytes, p, sizeof(bytes));
		h = (h ^ bytes) * UINT64_C(0x9e3779b97f4a7c15);
		h ^= h >> 32;
	}
	if (n > 0) {
		bytes = 0;
		memcpy(&bytes, p, n);
		h = (h ^ bytes) * UINT64_C(0x9e3779b97f4a7c15);
		h ^= h >> 32;
	}
	return h;
}

#endif
