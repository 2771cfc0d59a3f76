#include "conf/local_host.h"

#include <arpa/inet.h>

/* The field without its port; empty where what stands there is none. */
static struct slice
without_port(struct slice field)
{
	const struct slice none = { NULL, 0 };
	size_t end = field.n;

	while (end > 0 && field.p[end - 1] >= '0' && field.p[end - 1] <= '9')
		end--;
	if (end > 0 && field.p[end - 1] == ':')
		return end < field.n ? (struct slice){ field.p, end - 1 } : none;
	return field;
}

static bool
is_loopback(struct slice host)
{
	char text[INET_ADDRSTRLEN];
	struct in_addr in;

	if (slice_eq(host, SLICE("[::1]")))
		return true;
	if (host.n >= sizeof(text))
		return false;
	memcpy(text, host.p, host.n);
	text[host.n] = '\0';
	return inet_pton(AF_INET, text, &in) == 1 && ntohl(in.s_addr) >> 24 == 127;
}

bool
local_host_p(struct slice field, const struct conf_hosts *names)
{
	struct slice host = without_port(field);

	if (host.n == 0)
		return false;
	if (slice_case_eq(host, SLICE("localhost")) || is_loopback(host))
		return true;
	for (size_t i = 0; i < names->n; i++)
		if (slice_case_eq(host, slice_of(names->name[i])))
			return true;
	return false;
}
