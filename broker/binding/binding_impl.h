/* What reading and finding bindings share. */
#ifndef BROKER_BINDING_BINDING_IMPL_H
#define BROKER_BINDING_BINDING_IMPL_H

#include "binding/binding.h"
#include "json_in.h"

/* Sorted by host, scheme, port and then the document's order, so that what
 * covers one target lies together. */
struct place {
	const char *host;
	const struct binding *binding;
};

struct range {
	uint8_t bytes[16];	/* IPv4 as ::ffff:a.b.c.d */
	unsigned bits;
};

struct bindings {
	struct binding *all;
	size_t n;
	struct place *places;
	size_t n_places;
	const struct binding **by_id;
	struct range *ranges;
	size_t n_ranges;
	struct policy_budget limits;
	int64_t refusals;
	struct binding_grant grant;
};

/* An IPv4 address as IPv6 writes it: ::ffff:a.b.c.d. */
static inline void
map_v4(const uint8_t v4[4], uint8_t out[16])
{
	memset(out, 0, 10);
	out[10] = out[11] = 0xff;
	memcpy(out + 12, v4, 4);
}

/* One binding from its object.  0, or -1 with a message; binding_clear what was
 * read in either case. */
int binding_read(const char *id, json_t *object, struct binding *out,
    char *err, size_t err_len);
void binding_clear(struct binding *binding);

/* egress, limits and grant. */
int binding_read_egress(struct bindings *out, json_t *object, char *err,
    size_t err_len);
int binding_read_limits(struct bindings *out, json_t *limits, json_t *grant,
    char *err, size_t err_len);

/* "where: what" into err; -1. */
int binding_fail(char *err, size_t err_len, const char *where,
    const char *what);

#endif
