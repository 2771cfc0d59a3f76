#include "gate/sieve.h"

#include <stdint.h>
#include <string.h>

#include <jansson.h>

/* As deep as the parser lets a value be. */
static bool
in_value(const struct sieve *sieve, const json_t *value)
{
	const char *key;
	json_t *one;
	size_t i;

	if (json_is_string(value))
		return sieve_finds(sieve, (struct slice){ json_string_value(value),
		    json_string_length(value) });
	json_array_foreach(value, i, one)
		if (in_value(sieve, one))
			return true;
	json_object_foreach((json_t *)(uintptr_t)value, key, one)
		if (sieve_finds(sieve, slice_of(key)) || in_value(sieve, one))
			return true;
	return false;
}

bool
sieve_finds_json(const struct sieve *sieve, struct slice text)
{
	json_t *value;
	bool found;

	if (sieve_finds(sieve, text))
		return true;
	if (text.n == 0 || memchr(text.p, '\\', text.n) == NULL)
		return false;	/* every string stands there as it is */
	value = json_loadb(text.p, text.n, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	found = in_value(sieve, value);
	json_decref(value);
	return found;
}
