#include <stdio.h>
#include <string.h>

#include "ledger/coverage/act.h"
#include "ledger/utf8.h"

bool
act_kind_valid(const char *kind)
{
	const size_t len = strlen(kind);

	return len >= 1 && len <= ACT_KIND_MAX &&
	    strspn(kind, "abcdefghijklmnopqrstuvwxyz0123456789_-") == len;
}

static const char *
set_verb(struct act *act, const char *verb)
{
	const size_t len = strlen(verb);

	if (len < 1 || len > ACT_VERB_MAX)
		return "a verb of 1 to 128 bytes";
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)verb[i] <= 0x20 || (unsigned char)verb[i] >= 0x7f)
			return "a verb of visible ASCII";
	memcpy(act->verb, verb, len + 1);
	return NULL;
}

/* ---- hosts ---- */

static char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* The host at text[0..len), brackets and all, in lower case behind act->target. */
static const char *
put_host(struct act *act, const char *text, size_t len)
{
	const bool address = len > 2 && text[0] == '[' && text[len - 1] == ']';
	size_t at = strlen(act->target);

	if (len > 1 && text[len - 1] == '.')
		len--;		/* the root's dot */
	if (len < 1 || len > ACT_HOST_MAX)
		return "a host of 1 to 255 bytes";
	for (size_t i = 0; i < len; i++) {
		const char c = lower(text[i]);

		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
		    c == '.' || c == '_' ||
		    (address && (c == ':' || i == 0 || i == len - 1))))
			return "a host of letters, digits, '-', '.' and '_', or an address in brackets";
		act->target[at++] = c;
	}
	act->target[at] = '\0';
	return NULL;
}

/* The port in text[0..len); 0: none. */
static unsigned
port_of(const char *text, size_t len)
{
	unsigned port = 0;

	if (len < 1 || len > 5)
		return 0;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return 0;
		port = 10 * port + (unsigned)(text[i] - '0');
	}
	return port <= 65535 ? port : 0;
}

/* host[:port] in text[0..len); the port is written unless it is `implied`, which
 * is also what stands for one that is not there (0: there must be one). */
static const char *
put_authority(struct act *act, const char *text, size_t len, unsigned implied)
{
	const char *end = text + len, *colon = memrchr(text, ':', len);
	unsigned port = implied;
	const char *why;

	if (colon != NULL && memchr(colon, ']', (size_t)(end - colon)) != NULL)
		colon = NULL;	/* within an address */
	if (colon != NULL && (port = port_of(colon + 1, (size_t)(end - colon) - 1)) == 0)
		return "a port from 1 to 65535";
	if (colon == NULL && implied == 0)
		return "host:port";
	why = put_host(act, text, colon != NULL ? (size_t)(colon - text) : len);
	if (why == NULL && port != implied)
		snprintf(act->target + strlen(act->target), 16, ":%u", port);
	return why;
}

/* ---- paths ---- */

static bool
is_unreserved(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	    (c >= '0' && c <= '9') || memchr("-._~", c, 4) != NULL;
}

int
act_hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : lower(c) >= 'a' && lower(c) <= 'f' ?
	    lower(c) - 'a' + 10 : -1;
}

static size_t
put_byte(char *to, size_t at, unsigned char c, bool plain)
{
	static const char digits[] = "0123456789ABCDEF";

	if (plain) {
		to[at] = (char)c;
		return at + 1;
	}
	to[at] = '%';
	to[at + 1] = digits[c >> 4];
	to[at + 2] = digits[c & 15];
	return at + 3;
}

/* Up to '?' or '#'.  Nothing is resolved or refused here: a path that no broker
 * would send is one that none has a record of. */
static const char *
put_path(struct act *act, const char *path)
{
	size_t at = strlen(act->target), begin = at;

	if (*path == '\0' || *path == '?' || *path == '#')
		act->target[at++] = '/';
	for (; *path != '\0' && *path != '?' && *path != '#'; path++) {
		const unsigned char c = (unsigned char)*path;

		if (at - begin + 3 > ACT_PATH_MAX)
			return "a path of at most 8192 bytes";
		if (c == '%' && act_hex(path[1]) >= 0 && act_hex(path[2]) >= 0) {
			const unsigned char of = (unsigned char)(act_hex(path[1]) << 4 |
			    act_hex(path[2]));

			at = put_byte(act->target, at, of, is_unreserved(of));
			path += 2;
		} else {
			at = put_byte(act->target, at, c, is_unreserved(c) ||
			    memchr("!$&'()*+,;=:@/", c, 14) != NULL);
		}
	}
	act->target[at] = '\0';
	return NULL;
}

/* ---- the whole ---- */

static const char *
set_url(struct act *act, const char *url)
{
	const bool secure = strncasecmp(url, "https://", 8) == 0;
	const char *host, *why;
	size_t len;

	if (!secure && strncasecmp(url, "http://", 7) != 0)
		return "an absolute URL of http or https";
	host = url + (secure ? 8 : 7);
	len = strcspn(host, "/?#");
	if (memchr(host, '@', len) != NULL)
		return "a URL without user and password";
	snprintf(act->target, sizeof(act->target), "%s://", secure ? "https" : "http");
	why = put_authority(act, host, len, secure ? 443 : 80);
	return why != NULL ? why : put_path(act, host + len);
}

static const char *
set_text(struct act *act, const char *text)
{
	const size_t len = strlen(text);

	if (len < 1 || len > ACT_PATH_MAX)
		return "a target of 1 to 8192 bytes";
	for (size_t i = 0, n; i < len; i += n)
		if ((n = utf8_char(text + i, len - i)) == 0 ||
		    (unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return "a target in UTF-8, without control bytes";
	memcpy(act->target, text, len + 1);
	return NULL;
}

static bool
has_authority(const char *kind)
{
	return strcmp(kind, "connect") == 0 || strcmp(kind, "tcp") == 0;
}

const char *
act_set(struct act *act, const char *kind, const char *verb, const char *target)
{
	const char *why;

	act->kind[0] = act->verb[0] = act->target[0] = '\0';
	if (!act_kind_valid(kind))
		return "a kind of 1 to 32 lower case letters, digits, '_' and '-'";
	memcpy(act->kind, kind, strlen(kind) + 1);
	if ((why = set_verb(act, verb)) != NULL)
		return why;
	if (strcmp(kind, "http") == 0)
		return set_url(act, target);
	return has_authority(kind) ? put_authority(act, target, strlen(target), 0) :
	    set_text(act, target);
}

char *
act_key(const struct act *act)
{
	char *key;

	return asprintf(&key, "%s\n%s\n%s", act->kind, act->verb, act->target) < 0 ?
	    NULL : key;
}

void
act_of_key(struct act *act, const char *key)
{
	const char *verb = strchr(key, '\n') + 1, *target = strchr(verb, '\n') + 1;

	snprintf(act->kind, sizeof(act->kind), "%.*s", (int)(verb - key) - 1, key);
	snprintf(act->verb, sizeof(act->verb), "%.*s", (int)(target - verb) - 1, verb);
	snprintf(act->target, sizeof(act->target), "%s", target);
}

size_t
act_origin_len(const struct act *act)
{
	const char *host = strcmp(act->kind, "http") == 0 ?
	    strstr(act->target, "://") : NULL;

	return host == NULL ? 0 : (size_t)(host - act->target) + 3 +
	    strcspn(host + 3, "/");
}

bool
act_host_port(const struct act *act, char *out, size_t cap)
{
	const size_t origin = act_origin_len(act);
	const char *host = act->target, *port;
	int n;

	if (has_authority(act->kind)) {
		n = snprintf(out, cap, "%s", host);
		return n > 0 && (size_t)n < cap;
	}
	if (origin == 0)
		return false;
	host = strstr(act->target, "://") + 3;
	port = memrchr(host, ':', (size_t)(act->target + origin - host));
	if (port != NULL && memchr(port, ']', (size_t)(act->target + origin - port)) != NULL)
		port = NULL;
	n = snprintf(out, cap, "%.*s%s", (int)(act->target + origin - host), host,
	    port != NULL ? "" : act->target[4] == 's' ? ":443" : ":80");
	return n > 0 && (size_t)n < cap;
}
