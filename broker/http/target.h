/*
 * One canonical spelling of where a request goes, made once, used by policy,
 * ledger and wire alike.
 *
 * host: lower case, no trailing dot, A-labels only, IPv4 in dotted decimal
 * (decimal, octal and hex spellings are refused), IPv6 compressed, without
 * brackets, an IPv4-mapped one as the IPv4 address it is.  path: begins with
 * '/', percent escapes in upper case, unreserved ones decoded, bytes that no
 * path may hold ('"', '<', '|', '[', ...) escaped; "." and ".." segments (also
 * with a ";parameter"), "//", escaped '\', NUL, control bytes and overlong UTF-8
 * are refused, not repaired.  An escaped '/' stays "%2F", ends a segment for all
 * of these refusals, and is told in escaped_slash: whoever sends or grants a path
 * refuses it there unless the binding takes such paths (gate.c, admin_grant.c).
 * query: without '?', spelling kept, control bytes refused.  No fragment.  A
 * default port is implied, never written.
 *
 * Applied to its own output it changes nothing.
 */
#ifndef BROKER_TARGET_H
#define BROKER_TARGET_H

#include "http/head.h"

#define TARGET_HOST_MAX 254
#define TARGET_PATH_MAX 8192
#define TARGET_QUERY_MAX 16384
#define TARGET_BUF_MAX (TARGET_PATH_MAX + TARGET_QUERY_MAX + 2)

struct target {
	bool https;
	uint16_t port;
	char host[TARGET_HOST_MAX];	/* NUL-terminated */
	bool is_address;		/* host is an IP address */
	char *path;			/* in the caller's buffer, NUL-terminated */
	size_t path_len;
	bool escaped_slash;		/* the path holds "%2F" */
	bool escaped_twice;		/* or "%25" before two hex digits: read twice it is another path */
	const char *query;		/* NULL where there is no '?' */
	size_t query_len;
};

/*
 * buf holds path and query and must outlive out; TARGET_BUF_MAX bytes always do.
 * NULL, or the violated rule: static text that repeats nothing of the input.
 */
const char *target_from_absolute(struct slice uri, char *buf, size_t cap,
    struct target *out);
const char *target_from_authority(struct slice authority, uint16_t default_port,
    struct target *out);	/* CONNECT and Host: no path; https where default_port is 443 */
/* A bare host, IPv6 without brackets; the same but for that. */
const char *target_from_host(struct slice host, uint16_t port,
    struct target *out);
/* The same for a name as one of these spelled it, and no doubt about it. */
void target_from_known(const char *host, bool is_address, uint16_t port,
    bool https, struct target *out);
/* "/path?query"; the rest of out stays. */
const char *target_set_path(struct target *out, struct slice origin_form,
    char *buf, size_t cap);

/* "host" or "host:port" where the port is not the scheme's own; IPv6 in
 * brackets; NUL-terminated.  The length, or 0 where it does not fit. */
size_t target_host_field(const struct target *target, char *buf, size_t cap);

/*
 * "https://api.github.com:443/repos": the form that grants and records use.
 * Without the query, which may hold a credential.  with_port: write it even
 * where it is the default.  NUL-terminated; the length, or 0.
 */
size_t target_url(const struct target *target, bool with_port, char *buf,
    size_t cap);

#endif
