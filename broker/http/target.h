/*
 * One canonical spelling of where a request goes, made once, used by policy,
 * ledger and wire alike.
 *
 * host: lower case, no trailing dot, A-labels only, IPv4 in dotted decimal
 * (decimal, octal and hex spellings are refused), IPv6 compressed, without
 * brackets.  path: begins with '/', percent escapes in upper case, unreserved
 * ones decoded; "." and ".." segments, "//", escaped '/', '\', NUL and control
 * bytes are refused, not repaired.  query: without '?', spelling kept, control
 * bytes refused.  A default port is implied, never written.
 */
#ifndef BROKER_TARGET_H
#define BROKER_TARGET_H

#include "http/head.h"

#define TARGET_HOST_MAX 254
#define TARGET_PATH_MAX 8192
#define TARGET_QUERY_MAX 16384

struct target {
	bool https;
	uint16_t port;
	char host[TARGET_HOST_MAX];	/* NUL-terminated */
	bool is_address;		/* host is an IP address */
	char *path;			/* in the caller's buffer, NUL-terminated */
	size_t path_len;
	const char *query;		/* NULL where there is no '?' */
	size_t query_len;
};

/* buf holds path and query and must outlive out.  NULL, or the violated rule. */
const char *target_from_absolute(struct slice uri, char *buf, size_t cap,
    struct target *out);
const char *target_from_authority(struct slice authority, uint16_t default_port,
    struct target *out);	/* CONNECT and Host: no path */
const char *target_set_path(struct target *out, struct slice origin_form,
    char *buf, size_t cap);

/* "host" or "host:port" where the port is not the scheme's own; IPv6 in
 * brackets.  The length, or 0 where it does not fit. */
size_t target_host_field(const struct target *target, char *buf, size_t cap);

/* "https://api.github.com:443/repos": the form that grants and records use. */
size_t target_url(const struct target *target, bool with_port, char *buf,
    size_t cap);

#endif
