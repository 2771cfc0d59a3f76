#include "conf/conf_text.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

int
conf_text_port(const char *text, unsigned least, uint16_t *port)
{
	unsigned long n = 0;
	size_t i;

	for (i = 0; text[i] >= '0' && text[i] <= '9' && i < 6; i++)
		n = n * 10 + (unsigned long)(text[i] - '0');
	if (i == 0 || text[i] != '\0' || n > 65535 || n < least)
		return -1;
	*port = (uint16_t)n;
	return 0;
}

/* Cut text[] at the last colon; what is behind it is a port. */
static int
cut_port(char *text, uint16_t *port)
{
	char *colon = strrchr(text, ':');

	if (colon == NULL || conf_text_port(colon + 1, 1, port) != 0)
		return -1;
	*colon = '\0';
	return 0;
}

static int
copy_address(const char *text, char *out, size_t cap)
{
	uint8_t binary[sizeof(struct in6_addr)];
	size_t len = strlen(text);
	bool v6 = text[0] == '[';
	char address[INET6_ADDRSTRLEN];

	if (v6 && (len < 2 || text[len - 1] != ']'))
		return -1;
	if (v6) {
		text++;
		len -= 2;
	}
	if (len == 0 || len >= sizeof(address))
		return -1;
	memcpy(address, text, len);
	address[len] = '\0';
	if (inet_pton(v6 ? AF_INET6 : AF_INET, address, binary) != 1)
		return -1;
	return snprintf(out, cap, "%s", address) < (int)cap ? 0 : -1;
}

bool
conf_text_host(const char *text)
{
	size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-._");

	return n > 0 && n <= 253 && text[n] == '\0';
}

int
conf_text_resolve(char *text, struct conf_resolve *out)
{
	char *address;

	if (cut_port(text, &out->to_port) != 0)
		return -1;
	if ((address = strchr(text, ':')) == NULL ||
	    (address = strchr(address + 1, ':')) == NULL)
		return -1;
	*address++ = '\0';
	if (cut_port(text, &out->port) != 0 || !conf_text_host(text) ||
	    copy_address(address, out->address, sizeof(out->address)) != 0)
		return -1;
	memcpy(out->host, text, strlen(text) + 1);
	return 0;
}

bool
conf_text_plain(const char *text)
{
	const char *p, *part = text;

	for (p = text;; p++) {
		if (*p == '/' || *p == '\0') {
			if (p == part || (part[0] == '.' && p - part <= 2))
				return false;
			if (*p == '\0')
				return true;
			part = p + 1;
		} else if (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQR"
		    "STUVWXYZ0123456789._-", *p) == NULL)
			return false;
	}
}

/* An address, and not a name that begins like one. */
static bool
is_loopback(const char *host)
{
	size_t n = strncmp(host, "[::1]", 5) == 0 ? 5 :
	    strncmp(host, "127.", 4) == 0 ? strspn(host, "0123456789.") : 0;

	return n > 0 && (host[n] == '\0' || host[n] == ':');
}

bool
conf_text_url(const char *text)
{
	const char *host = NULL;

	if (strncmp(text, "https://", 8) == 0)
		host = text + 8;
	else if (strncmp(text, "http://", 7) == 0 && is_loopback(text + 7))
		host = text + 7;
	return host != NULL && *host != '\0' && strlen(text) <= 300 &&
	    host[strspn(host, "abcdefghijklmnopqrstuvwxyz0123456789.-_:[]")] ==
	    '\0';
}

bool
conf_text_address(const char *text)
{
	const char *host = strstr(text, "://"), *path;
	char origin[320];
	int n;

	path = host != NULL ? strchr(host + 3, '/') : NULL;
	if (path == NULL)
		return conf_text_url(text);
	n = snprintf(origin, sizeof(origin), "%.*s", (int)(path - text), text);
	return n > 0 && (size_t)n < sizeof(origin) && conf_text_url(origin) &&
	    strlen(path) <= 1024 && path[strspn(path, "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._~%?&=+,:@-")] == '\0';
}
