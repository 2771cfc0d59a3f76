/* Addresses of OPA servers. */
#include "policy/opa/opa.h"
#include "policy/opa/where.h"

#include <string.h>
#include <sys/un.h>

static bool
loopback(const char *host)
{
	size_t n = 0;

	if (strncmp(host, "127.", 4) == 0)
		n = strspn(host, "0123456789.");
	else if (strncmp(host, "localhost", 9) == 0)
		n = 9;
	else if (strncmp(host, "[::1]", 5) == 0)
		n = 5;
	return n > 0 && (host[n] == '\0' || host[n] == ':');
}

const char *
opa_where_wrong(const char *where)
{
	const char *socket = opa_where_socket(where), *host;

	if (strlen(where) > OPA_WHERE_MAX)
		return "is too long";
	if (socket != NULL)
		return socket[0] == '/' && strlen(socket) <
		    sizeof(((struct sockaddr_un *)0)->sun_path) ? NULL :
		    "needs the socket's absolute path, of at most 107 bytes";
	if (strncmp(where, "https://", 8) == 0)
		host = where + 8;
	else if (strncmp(where, "http://", 7) == 0)
		host = where + 7;
	else
		return "is unix:/path, https://host[:port] or http:// with a "
		    "loopback address";
	if (*host == '\0' || host[strspn(host, "abcdefghijklmnopqrstuvwxyz"
	    "0123456789.-:[]")] != '\0')
		return "has a host and a port in lower case and nothing behind";
	if (host == where + 7 && !loopback(host))
		return "has http only for a loopback address";
	return NULL;
}

const char *
opa_where_socket(const char *where)
{
	return strncmp(where, "unix:", 5) == 0 ? where + 5 : NULL;
}
