#include "http/target.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>

/* --- the host ---------------------------------------------------------- */

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
is_hex(char c)
{
	return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

static char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/*
 * Resolvers read "127.1", "2130706433" and "0x7f.1" as addresses, and so does
 * the WHATWG URL: by the last label.  Whatever ends like a number is one.
 */
static bool
ends_like_a_number(const char *host)
{
	const char *dot = strrchr(host, '.'), *label = dot ? dot + 1 : host;

	if (label[0] == '0' && lower(label[1]) == 'x')
		return true;
	return strspn(label, "0123456789") == strlen(label);
}

/* inet_pton takes four decimal numbers without leading zeros, no other form. */
static const char *
set_ipv4(struct target *out)
{
	struct in_addr address;

	if (inet_pton(AF_INET, out->host, &address) != 1)
		return "an IPv4 address in another spelling than dotted decimal";
	out->is_address = true;
	return NULL;
}

static const char *
set_ipv6(struct slice host, struct target *out)
{
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct in6_addr address;
	char text[INET6_ADDRSTRLEN];

	if (host.n >= sizeof(text))
		return "not an IPv6 address";
	memcpy(text, host.p, host.n);
	text[host.n] = '\0';
	if (strlen(text) != host.n || inet_pton(AF_INET6, text, &address) != 1)
		return "not an IPv6 address";
	if (memcmp(address.s6_addr, mapped, sizeof(mapped)) == 0)
		inet_ntop(AF_INET, address.s6_addr + 12, out->host,
		    sizeof(out->host));
	else
		inet_ntop(AF_INET6, &address, out->host, sizeof(out->host));
	out->is_address = true;
	return NULL;
}

static const char *
check_label(const char *label, size_t n)
{
	if (n == 0)
		return "an empty label in the host";
	if (n > 63)
		return "a label of the host longer than 63 bytes";
	if (label[0] == '-' || label[n - 1] == '-')
		return "a label of the host begins or ends with '-'";
	for (size_t i = 0; i < n; i++)
		if (!is_digit(label[i]) && !(label[i] >= 'a' && label[i] <= 'z') &&
		    label[i] != '-' && label[i] != '_')
			return "a byte that no host name may have";
	return NULL;
}

static const char *
set_name(struct slice host, struct target *out)
{
	const char *why;
	size_t begin = 0;

	if (host.n > 0 && host.p[host.n - 1] == '.')
		host.n--;		/* the root's dot, once */
	if (host.n == 0)
		return "no host";
	if (host.n > 253)
		return "host longer than 253 bytes";
	for (size_t i = 0; i < host.n; i++) {
		if ((unsigned char)host.p[i] >= 0x80)
			return "host is not ASCII: write its xn-- form";
		out->host[i] = lower(host.p[i]);
	}
	out->host[host.n] = '\0';
	for (size_t i = 0; i <= host.n; i++) {
		if (i < host.n && out->host[i] != '.')
			continue;
		if ((why = check_label(out->host + begin, i - begin)) != NULL)
			return why;
		begin = i + 1;
	}
	return ends_like_a_number(out->host) ? set_ipv4(out) : NULL;
}

static const char *
set_port(struct slice digits, uint16_t *port)
{
	unsigned n = 0;

	if (digits.n == 0 || digits.n > 5)
		return "port is not a number from 1 to 65535";
	for (size_t i = 0; i < digits.n; i++) {
		if (!is_digit(digits.p[i]))
			return "port is not a number from 1 to 65535";
		n = n * 10 + (unsigned)(digits.p[i] - '0');
	}
	if (n == 0 || n > 65535 || digits.p[0] == '0')
		return "port is not a number from 1 to 65535";
	*port = (uint16_t)n;
	return NULL;
}

/* Cuts "host[:port]" or "[v6][:port]", not empty; port.p is NULL where there is no ':'. */
static const char *
cut_authority(struct slice authority, struct slice *host, struct slice *port)
{
	const char *end = authority.p + authority.n, *after;

	*port = (struct slice){ NULL, 0 };
	if (memchr(authority.p, '@', authority.n) != NULL)
		return "userinfo in the target";
	if (authority.p[0] == '[') {
		after = memchr(authority.p, ']', authority.n);
		if (after == NULL)
			return "no ']' after an IPv6 address";
		*host = (struct slice){ authority.p + 1,
		    (size_t)(after - authority.p) - 1 };
		after++;
		if (after < end && *after != ':')
			return "something else than a port after an IPv6 address";
	} else {
		after = memchr(authority.p, ':', authority.n);
		if (after == NULL)
			after = end;
		*host = (struct slice){ authority.p,
		    (size_t)(after - authority.p) };
	}
	if (after < end)
		*port = (struct slice){ after + 1, (size_t)(end - after) - 1 };
	return NULL;
}

const char *
target_from_authority(struct slice authority, uint16_t default_port,
    struct target *out)
{
	struct slice host, port;
	const char *why;

	*out = (struct target){ .https = default_port == 443,
	    .port = default_port };
	if (authority.n == 0)
		return "no host";
	if ((why = cut_authority(authority, &host, &port)) != NULL)
		return why;
	if (port.p != NULL && (why = set_port(port, &out->port)) != NULL)
		return why;
	return authority.p[0] == '[' ? set_ipv6(host, out) : set_name(host, out);
}

const char *
target_from_host(struct slice host, uint16_t port, struct target *out)
{
	*out = (struct target){ .https = port == 443, .port = port };
	if (host.n == 0)
		return "no host";
	return memchr(host.p, ':', host.n) != NULL ? set_ipv6(host, out) :
	    set_name(host, out);
}

/* --- the path ---------------------------------------------------------- */

static unsigned char
unhex(char c)
{
	return (unsigned char)(is_digit(c) ? c - '0' : lower(c) - 'a' + 10);
}

static bool
is_unreserved(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	    (c >= '0' && c <= '9') || memchr("-._~", c, 4) != NULL;
}

/* What may stand in a path as it is, RFC 3986: pchar without '%', and '/'. */
static bool
is_path_byte(unsigned char c)
{
	return is_unreserved(c) || memchr("!$&'()*+,;=:@/", c, 14) != NULL;
}

struct writer {
	char *p;
	size_t n, cap;
	const char *why;
};

static void
put(struct writer *w, unsigned char c)
{
	if (w->n + 1 >= w->cap)
		w->why = "path longer than allowed";
	else
		w->p[w->n++] = (char)c;
}

static void
put_escaped(struct writer *w, unsigned char c)
{
	static const char digits[] = "0123456789ABCDEF";

	put(w, '%');
	put(w, (unsigned char)digits[c >> 4]);
	put(w, (unsigned char)digits[c & 15]);
}

/*
 * Overlong UTF-8 ("%C0%AE" for a dot) has no other use than to get past
 * somebody's check.  p[0..2] is an escape of value c.
 */
static bool
is_overlong(const char *p, size_t n, unsigned char c)
{
	unsigned char next;

	if (c == 0xc0 || c == 0xc1)
		return true;
	if ((c != 0xe0 && c != 0xf0) || n < 6 || p[3] != '%' ||
	    !is_hex(p[4]) || !is_hex(p[5]))
		return false;
	next = (unsigned char)(unhex(p[4]) << 4 | unhex(p[5]));
	return next >= 0x80 && next < (c == 0xe0 ? 0xa0 : 0x90);
}

/* One escape: three bytes of in. */
static const char *
put_escape(struct writer *w, const char *p, size_t n)
{
	unsigned char c;

	if (n < 3 || !is_hex(p[1]) || !is_hex(p[2]))
		return "an incomplete percent escape in the path";
	c = (unsigned char)(unhex(p[1]) << 4 | unhex(p[2]));
	if (c < 0x20 || c == 0x7f)
		return "an escaped control byte in the path";
	if (c == '\\')
		return "an escaped '\\' in the path";
	if (is_overlong(p, n, c))
		return "overlong UTF-8 in the path";
	if (is_unreserved(c))
		put(w, c);
	else
		put_escaped(w, c);
	return NULL;
}

/* The segment that ends at p[n): is it one that servers resolve away? */
static const char *
check_segment(const char *segment, size_t n, bool last)
{
	const char *parameter = memchr(segment, ';', n);
	size_t name = parameter != NULL ? (size_t)(parameter - segment) : n;

	if (n == 0 && !last)
		return "'//' in the path";
	if ((name == 1 && segment[0] == '.') ||
	    (name == 2 && segment[0] == '.' && segment[1] == '.'))
		return "a '.' or '..' segment in the path";
	return NULL;
}

/* What ends a segment at p: its length; 0 where nothing does. */
static size_t
separator(const char *p, size_t n)
{
	if (p[0] == '/')
		return 1;
	return n >= 3 && memcmp(p, "%2F", 3) == 0 ? 3 : 0;
}

/* Of the path as written, in which every escape is whole and in upper case. */
static const char *
check_segments(const char *path, size_t len, bool *escaped_slash)
{
	const char *why;
	size_t begin = 1, n;

	*escaped_slash = false;
	for (size_t i = 1; i <= len; i++) {
		n = i < len ? separator(path + i, len - i) : 1;
		if (n == 0)
			continue;
		why = check_segment(path + begin, i - begin, i == len);
		if (why != NULL)
			return why;
		*escaped_slash = *escaped_slash || n == 3;
		i += n - 1;
		begin = i + 1;
	}
	return NULL;
}

static bool
has_escaped_escape(const char *path)
{
	for (; (path = strstr(path, "%25")) != NULL; path += 3)
		if (is_hex(path[3]) && is_hex(path[4]))
			return true;
	return false;
}

static const char *
put_path(struct writer *w, struct slice path)
{
	const char *why = NULL;

	for (size_t i = 0; i < path.n && why == NULL; i++) {
		unsigned char c = (unsigned char)path.p[i];
		if (c == '%') {
			why = put_escape(w, path.p + i, path.n - i);
			i += 2;
		} else if (c <= 0x20 || c >= 0x7f) {
			why = "a byte in the path that has to be escaped";
		} else if (c == '\\' || c == '#') {
			why = "a '\\' or '#' in the path";
		} else if (is_path_byte(c)) {
			put(w, c);
		} else {
			put_escaped(w, c);
		}
		if (why == NULL)
			why = w->why;
	}
	return why;
}

static const char *
check_query(struct slice query)
{
	if (query.n > TARGET_QUERY_MAX)
		return "query longer than allowed";
	for (size_t i = 0; i < query.n; i++) {
		unsigned char c = (unsigned char)query.p[i];
		if (c <= 0x20 || c >= 0x7f || c == '#')
			return "a byte in the query that has to be escaped";
	}
	return NULL;
}

/* path and query apart; an empty path is "/". */
static const char *
set_path(struct target *out, struct slice path, struct slice query, char *buf,
    size_t cap)
{
	struct writer w = { buf, 0,
	    cap < TARGET_PATH_MAX + 1 ? cap : TARGET_PATH_MAX + 1, NULL };
	const char *why;

	if (cap < 2)
		return "path longer than allowed";
	if (path.n == 0)
		path = SLICE("/");
	if ((why = put_path(&w, path)) != NULL ||
	    (why = check_segments(buf, w.n, &out->escaped_slash)) != NULL ||
	    (why = check_query(query)) != NULL)
		return why;
	buf[w.n++] = '\0';
	out->path = buf;
	out->path_len = w.n - 1;
	out->escaped_twice = has_escaped_escape(buf);
	out->query = NULL;
	out->query_len = 0;
	if (query.p == NULL)
		return NULL;
	if (cap - w.n < query.n + 1)
		return "query longer than allowed";
	memcpy(buf + w.n, query.p, query.n);
	buf[w.n + query.n] = '\0';
	out->query = buf + w.n;
	out->query_len = query.n;
	return NULL;
}

static void
cut_query(struct slice text, struct slice *path, struct slice *query)
{
	const char *mark = text.n > 0 ? memchr(text.p, '?', text.n) : NULL;

	*path = text;
	*query = (struct slice){ NULL, 0 };
	if (mark == NULL)
		return;
	path->n = (size_t)(mark - text.p);
	*query = (struct slice){ mark + 1, text.n - path->n - 1 };
}

void
target_from_known(const char *host, bool is_address, uint16_t port, bool https,
    struct target *out)
{
	size_t n = strlen(host);

	assert(n < sizeof(out->host));
	memcpy(out->host, host, n + 1);
	out->https = https;
	out->port = port;
	out->is_address = is_address;
	out->path = NULL;
	out->query = NULL;
	out->path_len = out->query_len = 0;
	out->escaped_slash = out->escaped_twice = false;
}

const char *
target_set_path(struct target *out, struct slice origin_form, char *buf,
    size_t cap)
{
	struct slice path, query;

	if (origin_form.n == 0 || origin_form.p[0] != '/')
		return "a path that does not begin with '/'";
	cut_query(origin_form, &path, &query);
	return set_path(out, path, query, buf, cap);
}

const char *
target_from_absolute(struct slice uri, char *buf, size_t cap,
    struct target *out)
{
	struct slice authority, path, query, rest;
	const char *why;
	bool https;

	if (uri.n > 8 && strncasecmp(uri.p, "https://", 8) == 0)
		https = true;
	else if (uri.n > 7 && strncasecmp(uri.p, "http://", 7) == 0)
		https = false;
	else if (uri.n < 3 || memmem(uri.p, uri.n, "://", 3) == NULL)
		return "no absolute URL, like https://host/path";
	else
		return "a scheme other than http and https";
	rest.p = uri.p + (https ? 8 : 7);
	rest.n = uri.n - (https ? 8 : 7);
	authority = rest;
	for (size_t i = 0; i < rest.n; i++)
		if (rest.p[i] == '/' || rest.p[i] == '?' || rest.p[i] == '\\' ||
		    rest.p[i] == '#') {
			authority.n = i;
			break;
		}
	why = target_from_authority(authority, https ? 443 : 80, out);
	if (why != NULL)
		return why;
	rest.p += authority.n;
	rest.n -= authority.n;
	if (rest.n > 0 && rest.p[0] != '/' && rest.p[0] != '?')
		return "a '\\' or '#' in the path";
	cut_query(rest, &path, &query);
	return set_path(out, path, query, buf, cap);
}

/* --- writing ------------------------------------------------------------ */

static size_t
fits(int n, size_t cap)
{
	return n > 0 && (size_t)n < cap ? (size_t)n : 0;
}

size_t
target_host_field(const struct target *target, char *buf, size_t cap)
{
	bool v6 = strchr(target->host, ':') != NULL;
	bool usual = target->port == (target->https ? 443 : 80);
	const char *open = v6 ? "[" : "", *close = v6 ? "]" : "";
	size_t n = strlen(target->host);

	if (usual && !v6 && n < cap) {	/* nearly always */
		memcpy(buf, target->host, n + 1);
		return n;
	}
	if (usual)
		return fits(snprintf(buf, cap, "%s%s%s", open, target->host,
		    close), cap);
	return fits(snprintf(buf, cap, "%s%s%s:%u", open, target->host, close,
	    (unsigned)target->port), cap);
}

size_t
target_url(const struct target *target, bool with_port, char *buf, size_t cap)
{
	bool v6 = strchr(target->host, ':') != NULL;
	char port[8] = "";

	if (with_port || target->port != (target->https ? 443 : 80))
		snprintf(port, sizeof(port), ":%u", (unsigned)target->port);
	return fits(snprintf(buf, cap, "%s://%s%s%s%s%s",
	    target->https ? "https" : "http", v6 ? "[" : "", target->host,
	    v6 ? "]" : "", port, target->path != NULL ? target->path : ""), cap);
}
