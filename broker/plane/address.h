/*
 * Which addresses are not the public Internet: pure.
 *
 * Ranges: the IANA special-purpose registries for IPv4 and IPv6 (RFC 6890 and
 * its updates).  An IPv6 address that carries an IPv4 address (mapped,
 * compatible, NAT64, 6to4, Teredo) is judged by the one that it carries, too.
 */
#ifndef BROKER_ADDRESS_H
#define BROKER_ADDRESS_H

#include <stdbool.h>
#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>

union address {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

/* NULL for a public unicast address, else a word for what it is: "loopback",
 * "private", "link-local", "metadata", ...  Other families are "unsupported". */
const char *address_special(const union address *address);

/* The address with its IPv4 part taken out of a mapped or NAT64 form, for
 * rules that speak of IPv4; other addresses are copied as they are. */
void address_unwrap(const union address *address, union address *out);

/* Same family, address and port? */
bool address_same(const union address *a, const union address *b);

/* "192.0.2.1", "2001:db8::1", in dotted or compressed form only; the port in
 * host byte order.  0, or -1 where text is no such address. */
int address_parse(const char *text, uint16_t port, union address *out);

/* From what the system returned; 0, or -1 for a family that is not IP. */
int address_copy(union address *out, const struct sockaddr *from);

socklen_t address_len(const union address *address);

#endif
