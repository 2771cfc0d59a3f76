/* What left a machine, as its network tells. */
#include <arpa/inet.h>
#include <string.h>

#include "ledger/coverage/import_impl.h"

/* ---- what lines are filtered by, and renamed ---- */

/* An address in one spelling: as an IPv6 one, of which IPv4 has a part. */
static bool
read_address(const char *text, struct in6_addr *address)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (inet_pton(AF_INET6, text, address) == 1)
		return true;
	memcpy(address->s6_addr, mapped, sizeof(mapped));
	return inet_pton(AF_INET, text, address->s6_addr + sizeof(mapped)) == 1;
}

static bool
is_one_client(const char *a, const char *b)
{
	struct in6_addr x, y;

	return strcmp(a, b) == 0 || (read_address(a, &x) && read_address(b, &y) &&
	    memcmp(&x, &y, sizeof(x)) == 0);
}

bool
import_is_wanted(const struct import *m, const char *client)
{
	for (size_t i = 0; i < m->options->clients; i++)
		if (is_one_client(m->options->client[i], client))
			return true;
	return m->options->clients == 0;
}

const char *
import_resolve(const struct import *m, const char *host)
{
	const size_t len = strlen(host);

	for (size_t i = 0; i < m->options->resolves; i++)
		if (strncmp(m->options->resolve[i], host, len) == 0 &&
		    m->options->resolve[i][len] == '=')
			return m->options->resolve[i] + len + 1;
	return host;
}

/* ---- what is seen ---- */

static bool
is_chosen(const struct import *m, const char *protocol)
{
	for (size_t i = 0; i < m->options->protocols; i++)
		if (strcmp(m->options->protocol[i], protocol) == 0)
			return true;
	return m->options->protocols == 0;
}

const char *
import_note_kind(struct import *m, const char *kind)
{
	for (size_t i = 0; i < m->kinds; i++)
		if (strcmp(m->kind[i], kind) == 0)
			return NULL;
	if (m->kinds == IMPORT_PROTOCOLS_MAX)
		return "of a protocol that is not one more than 32";
	snprintf(m->kind[m->kinds++], sizeof(m->kind[0]), "%s", kind);
	return NULL;
}

/* port NULL: a protocol that has none. */
static const char *
put_connection(struct import *m, const char *protocol, const char *address, const char *port)
{
	const char *host = import_resolve(m, address), *why;
	const bool bare = strchr(host, ':') != NULL && host[0] != '[';
	int n;

	if (!is_chosen(m, protocol))
		return import_left_out;
	if ((why = import_note_kind(m, protocol)) != NULL)
		return why;
	snprintf(m->line.kind, sizeof(m->line.kind), "%s", protocol);
	memcpy(m->line.verb, "*", 2);
	n = snprintf(m->line.target, sizeof(m->line.target), "%s%s%s%s%s", bare ? "[" : "", host,
	    bare ? "]" : "", port != NULL ? ":" : "", port != NULL ? port : "");
	return n > 0 && (size_t)n < sizeof(m->line.target) ? NULL : "too long a target";
}

/* ---- egress ---- */

const char *
import_egress(struct import *m)
{
	char *at = m->line.text, *time = import_next(&at), *host = import_next(&at);
	char *port = import_next(&at), *protocol = import_next(&at);
	int value;

	if (time == NULL || host == NULL || port == NULL || strlen(port) > 5 ||
	    !import_digits(port, strlen(port), &value) || import_next(&at) != NULL)
		return "time, host, port, and a protocol or nothing";
	if (!import_seconds(time, &m->line.time_us) && !import_rfc3339(time, &m->line.time_us))
		return "a time: seconds, or as in RFC 3339";
	if (!import_is_wanted(m, ""))
		return "no clients here to choose from (--client)";
	if (protocol != NULL && !act_kind_valid(protocol))
		return "a protocol such as tcp";
	return put_connection(m, protocol != NULL ? protocol : "tcp", host, port);
}

/* ---- conntrack ---- */

/* The line in parts: of what stands there twice, once for each direction, the
 * first, which is that of who opened the connection. */
struct flow {
	const char *protocol, *src, *dst, *dport;
	bool timed;
};

static void
take_pair(const char *text, const char *name, const char **to)
{
	const size_t len = strlen(name);

	if (*to == NULL && strncmp(text, name, len) == 0 && text[len] == '=')
		*to = text + len + 1;
}

/* Behind time and event: "[ipv4 2] tcp 6 [120 [SYN_SENT]] src=... [start=...]". */
static void
read_flow(char *at, struct flow *flow, int64_t *time_us)
{
	char *word = import_next(&at);

	if (word != NULL && (strcmp(word, "ipv4") == 0 || strcmp(word, "ipv6") == 0)) {
		(void)import_next(&at);
		word = import_next(&at);
	}
	flow->protocol = word;
	while ((word = import_next(&at)) != NULL) {
		take_pair(word, "src", &flow->src);
		take_pair(word, "dst", &flow->dst);
		take_pair(word, "dport", &flow->dport);
		if (!flow->timed && strncmp(word, "start=", 6) == 0)
			flow->timed = import_ctime(word + 6, time_us);
	}
}

/* "[1796000410.123456] [NEW] ..." of events, of which those that say more about a
 * connection that was told before are none of their own. */
static const char *
read_event(char **at, struct flow *flow, int64_t *time_us)
{
	char *word = import_next(at), *event;

	if (word == NULL)
		return "a line of conntrack";
	flow->timed = import_seconds(word, time_us);
	event = flow->timed ? import_next(at) : word;
	if (event != NULL && (strcmp(event, "UPDATE") == 0 || strcmp(event, "DESTROY") == 0))
		return import_left_out;
	return event != NULL && strcmp(event, "NEW") == 0 ? NULL : "an event NEW, UPDATE or DESTROY";
}

const char *
import_conntrack(struct import *m)
{
	struct flow flow = { .timed = false };
	char *at = m->line.text, *tab;
	const char *why = NULL;
	int value;

	while ((tab = strchr(at, '\t')) != NULL)
		*tab = ' ';
	at += strspn(at, " ");
	if (*at == '[')
		why = read_event(&at, &flow, &m->line.time_us);
	if (why != NULL)
		return why;
	read_flow(at, &flow, &m->line.time_us);
	if (flow.protocol == NULL || flow.src == NULL || flow.dst == NULL ||
	    !act_kind_valid(flow.protocol) || (flow.dport != NULL && (strlen(flow.dport) > 5 ||
	    !import_digits(flow.dport, strlen(flow.dport), &value))))
		return "protocol, src=, dst=, dport=, as conntrack writes them";
	if (!import_is_wanted(m, flow.src))
		return import_left_out;
	if (!flow.timed)
		return "with a time: conntrack -E -o timestamp, or TZ=UTC conntrack -L -o ktimestamp";
	return put_connection(m, flow.protocol, flow.dst, flow.dport);
}
