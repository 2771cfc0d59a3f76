#include "aws_keys.h"

#define ID_MAX 128
#define KEY_MIN 8
#define KEY_MAX 252	/* sigv4.c puts four bytes before it */

/* Up to the next ':' or the end, which is taken off rest. */
static struct slice
next_part(struct slice *rest)
{
	const char *colon = rest->n > 0 ? memchr(rest->p, ':', rest->n) : NULL;
	struct slice part = *rest;

	if (colon == NULL) {
		*rest = (struct slice){ NULL, 0 };
		return part;
	}
	part.n = (size_t)(colon - rest->p);
	*rest = (struct slice){ colon + 1, rest->n - part.n - 1 };
	return part;
}

/* Each stands in a header's field. */
static bool
is_visible(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < '!' || s.p[i] > '~')
			return false;
	return true;
}

/* In front of a '/', between commas. */
static bool
is_id(struct slice s)
{
	return s.n > 0 && s.n <= ID_MAX && is_visible(s) &&
	    memchr(s.p, '/', s.n) == NULL && memchr(s.p, ',', s.n) == NULL;
}

bool
aws_keys_read(struct slice value, struct aws_keys *out)
{
	struct slice rest = value;

	if (!slice_eq(next_part(&rest), SLICE("aws")))
		return false;
	out->id = next_part(&rest);
	out->secret = next_part(&rest);
	out->token = next_part(&rest);
	return rest.p == NULL && is_id(out->id) && out->secret.n >= KEY_MIN &&
	    out->secret.n <= KEY_MAX && is_visible(out->secret) && is_visible(out->token);
}
