#include "secret_parts.h"

#include "aws_keys.h"
#include "mint/source.h"

static bool
all(const struct slice *parts, size_t n, bool (*each)(void *arg, struct slice part),
    void *arg)
{
	for (size_t i = 0; i < n; i++)
		if (!each(arg, parts[i]))
			return false;
	return true;
}

bool
secret_parts(struct slice value, bool (*each)(void *arg, struct slice part),
    void *arg)
{
	struct slice parts[MINT_SOURCE_SECRETS];
	struct mint_source source;
	struct aws_keys keys;
	char unshown[256];
	bool rv;

	if (aws_keys_read(value, &keys)) {
		parts[0] = keys.secret;
		parts[1] = keys.token;
		return all(parts, keys.token.n > 0 ? 2 : 1, each, arg);
	}
	if (!mint_source_p(value) ||
	    mint_source_read(value, &source, unshown, sizeof(unshown)) != 0)
		return each(arg, value);
	rv = all(parts, mint_source_secrets(&source, parts), each, arg);
	mint_source_free(&source);
	return rv;
}
