#include "vault/listing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
listing_add(struct listing *listing, const char *name, uint32_t version,
    int64_t created_s, int64_t revoked_s)
{
	size_t cap = listing->cap == 0 ? 64 : 2 * listing->cap;
	struct listed *one;

	if (listing->n == listing->cap) {
		one = reallocarray(listing->all, cap, sizeof(*one));
		if (one == NULL) {
			listing->failed = true;
			return;
		}
		listing->all = one;
		listing->cap = cap;
	}
	one = &listing->all[listing->n++];
	snprintf(one->name, sizeof(one->name), "%s", name);
	one->version = version;
	one->created_s = created_s;
	one->revoked_s = revoked_s;
}

void
listing_revoke(struct listing *listing, const char *name, uint32_t version,
    int64_t now_s)
{
	for (size_t i = 0; i < listing->n; i++) {
		struct listed *one = &listing->all[i];

		if (strcmp(one->name, name) == 0 && one->revoked_s == 0 &&
		    (version == 0 || one->version == version))
			one->revoked_s = now_s;
	}
}

void
listing_copy(struct listing *to, const struct listing *from)
{
	*to = (struct listing){ .failed = from->failed };
	for (size_t i = 0; i < from->n; i++)
		listing_add(to, from->all[i].name, from->all[i].version,
		    from->all[i].created_s, from->all[i].revoked_s);
}

void
listing_free(struct listing *listing)
{
	free(listing->all);
	*listing = (struct listing){ .n = 0 };
}
