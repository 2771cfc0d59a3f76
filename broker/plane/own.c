/*
 * Our own doors, asked for through ourselves.  A client that obeys its proxy
 * variables sends "http://127.0.0.1:PORT/x/binding/" here as it sends
 * everything, in absolute form or by CONNECT: it means the reverse route, and
 * nothing is dialled for it.
 */
#include "plane/conn.h"

#include <arpa/inet.h>
#include <string.h>

static bool
is_at(const struct target *target, const struct sockaddr_in *address)
{
	char text[INET_ADDRSTRLEN];

	return strcmp(target->host, "localhost") == 0 || (target->is_address &&
	    inet_ntop(AF_INET, &address->sin_addr, text, sizeof(text)) != NULL &&
	    strcmp(target->host, text) == 0);
}

static bool
is_proxy(const struct plane *plane, const struct target *target)
{
	return target->port == plane_port(plane) &&
	    is_at(target, &plane->conf->listen);
}

/* The API answers who calls it directly; a way through here would make every
 * caller of it one that sits in this process. */
bool
own_api_refused(struct conn *conn)
{
	const struct plane *plane = conn->worker->plane;
	const struct target *target = &conn->exchange->target;

	if (target->port != atomic_load(&plane->api_port) ||
	    !is_at(target, &plane->conf->api))
		return false;
	respond_refuse(conn, 403, "route/own-api",
	    "the broker's API is not reached through its proxy",
	    "call it at $COUNTERSIGN_SOCKET, or without a proxy (curl --noproxy '*')");
	return true;
}

bool
own_absolute(struct exchange *exchange)
{
	static const char scheme[] = "http://";
	const size_t n = sizeof(scheme) - 1;
	struct head *head = &exchange->head;
	struct slice authority, rest = head->target;
	struct target target;
	size_t len = 0;

	if (rest.n < n || strncasecmp(rest.p, scheme, n) != 0)
		return false;
	rest = (struct slice){ rest.p + n, rest.n - n };
	while (len < rest.n && rest.p[len] != '/' && rest.p[len] != '?')
		len++;
	authority = (struct slice){ rest.p, len };
	rest = (struct slice){ rest.p + len, rest.n - len };
	if (target_from_authority(authority, 80, &target) != NULL ||
	    !is_proxy(exchange->worker->plane, &target))
		return false;
	head->target = rest.n > 0 ? rest : SLICE("/");
	head->target_form = HEAD_ORIGIN;
	head->host = authority;	/* RFC 9112 section 3.2.2: it outranks Host */
	return true;
}

bool
own_connect(const struct exchange *exchange)
{
	return is_proxy(exchange->worker->plane, &exchange->target);
}

/* Whatever name led there. */
bool
own_address(const struct plane *plane, const union address *address)
{
	const union address api = { .in = { .sin_family = AF_INET,
	    .sin_port = htons((uint16_t)atomic_load(&plane->api_port)),
	    .sin_addr = plane->conf->api.sin_addr } };

	return address_same(address, &plane->address) || address_same(address, &api);
}

void
plane_name_api(struct plane *plane, uint16_t port)
{
	atomic_store(&plane->api_port, port);
}
