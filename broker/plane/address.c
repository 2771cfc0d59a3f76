#include "plane/address.h"

#include <arpa/inet.h>
#include <string.h>

struct range {
	uint8_t prefix[16];
	unsigned bits;
	const char *kind;
};

/* The first match counts: narrower ranges come before wider ones. */
static const struct range ranges4[] = {
	{ { 169, 254, 169, 254 }, 32, "metadata" },
	{ { 169, 254, 170, 2 }, 32, "metadata" },
	{ { 100, 100, 100, 200 }, 32, "metadata" },
	{ { 0 }, 8, "unspecified" },
	{ { 10 }, 8, "private" },
	{ { 100, 64 }, 10, "shared" },
	{ { 127 }, 8, "loopback" },
	{ { 169, 254 }, 16, "link-local" },
	{ { 172, 16 }, 12, "private" },
	{ { 192, 0, 0 }, 24, "reserved" },
	{ { 192, 0, 2 }, 24, "documentation" },
	{ { 192, 88, 99 }, 24, "reserved" },
	{ { 192, 168 }, 16, "private" },
	{ { 198, 18 }, 15, "benchmark" },
	{ { 198, 51, 100 }, 24, "documentation" },
	{ { 203, 0, 113 }, 24, "documentation" },
	{ { 224 }, 4, "multicast" },
	{ { 240 }, 4, "reserved" },
};

static const struct range ranges6[] = {
	{ { 0xfd, 0x00, 0x0e, 0xc2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54 }, 128, "metadata" },
	{ { 0 }, 128, "unspecified" },
	{ { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 }, 128, "loopback" },
	{ { 0x00, 0x64, 0xff, 0x9b, 0x00, 0x01 }, 48, "private" },
	{ { 0 }, 8, "reserved" },
	{ { 0x01, 0x00 }, 64, "discard" },
	{ { 0x20, 0x01, 0x0d, 0xb8 }, 32, "documentation" },
	{ { 0x20, 0x01 }, 23, "reserved" },
	{ { 0x3f, 0xff }, 20, "documentation" },
	{ { 0x5f, 0x00 }, 16, "reserved" },
	{ { 0xfc }, 7, "private" },
	{ { 0xfe, 0x80 }, 10, "link-local" },
	{ { 0xfe, 0xc0 }, 10, "site-local" },
	{ { 0xff }, 8, "multicast" },
};

/* Where an IPv6 address carries an IPv4 one; at, from which byte. */
static const struct carrier {
	uint8_t prefix[16];
	unsigned bits, at;
	bool plain;	/* the address itself says nothing more than that IPv4 address */
	uint8_t invert;
} carriers[] = {
	{ { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff }, 96, 12, true, 0 },	/* mapped */
	{ { 0x00, 0x64, 0xff, 0x9b }, 96, 12, true, 0 },			/* NAT64, RFC 6052 */
	{ { 0x20, 0x02 }, 16, 2, false, 0 },					/* 6to4 */
	{ { 0x20, 0x01, 0x00, 0x00 }, 32, 12, false, 0xff },			/* Teredo */
};

#define N(array) (sizeof(array) / sizeof((array)[0]))

static bool
has_prefix(const uint8_t *address, const uint8_t *prefix, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;

	if (memcmp(address, prefix, whole) != 0)
		return false;
	return rest == 0 ||
	    ((address[whole] ^ prefix[whole]) & (0xff << (8 - rest)) & 0xff) == 0;
}

static const char *
lookup(const struct range *ranges, size_t n, const uint8_t *address)
{
	for (size_t i = 0; i < n; i++) {
		if (has_prefix(address, ranges[i].prefix, ranges[i].bits))
			return ranges[i].kind;
	}
	return NULL;
}

static const struct carrier *
carrier_of(const uint8_t *address)
{
	for (size_t i = 0; i < N(carriers); i++) {
		if (has_prefix(address, carriers[i].prefix, carriers[i].bits))
			return &carriers[i];
	}
	return NULL;
}

static const char *
special6(const uint8_t *address)
{
	const struct carrier *carrier = carrier_of(address);
	const char *kind = NULL;
	uint8_t inner[4];

	if (carrier != NULL) {
		for (unsigned i = 0; i < 4; i++)
			inner[i] = address[carrier->at + i] ^ carrier->invert;
		kind = lookup(ranges4, N(ranges4), inner);
		if (kind != NULL || carrier->plain)
			return kind;
	}
	return lookup(ranges6, N(ranges6), address);
}

const char *
address_special(const union address *address)
{
	uint8_t bytes[4];

	switch (address->sa.sa_family) {
	case AF_INET:
		memcpy(bytes, &address->in.sin_addr, sizeof(bytes));
		return lookup(ranges4, N(ranges4), bytes);
	case AF_INET6:
		return special6(address->in6.sin6_addr.s6_addr);
	default:
		return "unsupported";
	}
}

void
address_unwrap(const union address *address, union address *out)
{
	const uint8_t *bytes = address->in6.sin6_addr.s6_addr;
	const struct carrier *carrier;

	carrier = address->sa.sa_family == AF_INET6 ? carrier_of(bytes) : NULL;
	if (carrier == NULL || !carrier->plain) {
		*out = *address;
		return;
	}
	memset(out, 0, sizeof(*out));
	out->in.sin_family = AF_INET;
	out->in.sin_port = address->in6.sin6_port;
	memcpy(&out->in.sin_addr, bytes + carrier->at, 4);
}

bool
address_same(const union address *a, const union address *b)
{
	if (a->sa.sa_family != b->sa.sa_family)
		return false;
	if (a->sa.sa_family == AF_INET)
		return a->in.sin_port == b->in.sin_port &&
		    a->in.sin_addr.s_addr == b->in.sin_addr.s_addr;
	return a->sa.sa_family == AF_INET6 &&
	    a->in6.sin6_port == b->in6.sin6_port &&
	    memcmp(&a->in6.sin6_addr, &b->in6.sin6_addr, 16) == 0;
}

int
address_parse(const char *text, uint16_t port, union address *out)
{
	memset(out, 0, sizeof(*out));
	if (inet_pton(AF_INET, text, &out->in.sin_addr) == 1) {
		out->in.sin_family = AF_INET;
		out->in.sin_port = htons(port);
		return 0;
	}
	memset(out, 0, sizeof(*out));
	if (inet_pton(AF_INET6, text, &out->in6.sin6_addr) == 1) {
		out->in6.sin6_family = AF_INET6;
		out->in6.sin6_port = htons(port);
		return 0;
	}
	return -1;
}

int
address_copy(union address *out, const struct sockaddr *from)
{
	memset(out, 0, sizeof(*out));
	if (from->sa_family != AF_INET && from->sa_family != AF_INET6)
		return -1;
	memcpy(out, from, from->sa_family == AF_INET ? sizeof(out->in) :
	    sizeof(out->in6));
	return 0;
}

socklen_t
address_len(const union address *address)
{
	return address->sa.sa_family == AF_INET6 ? sizeof(address->in6) :
	    sizeof(address->in);
}
