#include "cli/host_arg.h"
#include "cli/cli.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

static char said[512];

/* https://user@HOST:PORT/path?query */
static const char *
is_url(const char *text)
{
	const char *at = strstr(text, "://"), *user;
	char host[300];

	if (at == NULL)
		return NULL;
	snprintf(host, sizeof(host), "%.*s", (int)strcspn(at + 3, "/?#"), at + 3);
	user = strrchr(host, '@');
	snprintf(said, sizeof(said), "a URL, where a host is wanted: write %s",
	    cli_clean(user != NULL ? user + 1 : host));
	return said;
}

static const char *
has_path(const char *text)
{
	char host[300];

	if (strchr(text, '/') == NULL)
		return NULL;
	snprintf(host, sizeof(host), "%.*s", (int)strcspn(text, "/"), text);
	snprintf(said, sizeof(said), "a host has no path: write %s",
	    cli_clean(host));
	return said;
}

static const char *
is_bare_ipv6(const char *text)
{
	struct in6_addr address;

	if (inet_pton(AF_INET6, text, &address) != 1)
		return NULL;
	snprintf(said, sizeof(said), "an IPv6 address stands in brackets: write "
	    "[%s]", text);
	return said;
}

/* What resolvers take "127.1" and "0x7f.1" for, with the port that was there. */
static const char *
other_spelling(const char *text, const char *fault)
{
	const size_t n = strcspn(text, ":");
	struct in_addr address;
	char host[64], right[INET_ADDRSTRLEN];

	if (strstr(fault, "IPv4") == NULL || n >= sizeof(host))
		return NULL;
	memcpy(host, text, n);
	host[n] = '\0';
	if (inet_aton(host, &address) == 0 ||
	    inet_ntop(AF_INET, &address, right, sizeof(right)) == NULL)
		return NULL;
	snprintf(said, sizeof(said), "%s: write %s%s", fault, right,
	    cli_clean(text + n));
	return said;
}

const char *
host_arg(const char *text, uint16_t default_port, struct target *out)
{
	const char *wrong, *fault;

	if ((wrong = is_url(text)) != NULL || (wrong = has_path(text)) != NULL ||
	    (wrong = is_bare_ipv6(text)) != NULL)
		return wrong;
	fault = target_from_authority(slice_of(text), default_port, out);
	if (fault == NULL)
		return NULL;
	wrong = other_spelling(text, fault);
	return wrong != NULL ? wrong : fault;
}
