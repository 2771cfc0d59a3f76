/* The doors: who asks, and where to. */
#include "plane/conn.h"
#include "inject/inject.h"
#include "ledger/base64.h"
#include "conf/local_host.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#define TOKEN_MAX 4096

/* --- who -------------------------------------------------------------- */

/* The token of "Basic base64(any:token)" or "Bearer token", in buf. */
static struct slice
proxy_token(struct slice value, char *buf, size_t cap)
{
	struct slice none = { NULL, 0 };
	size_t n = 0;
	char *colon;

	if (value.n > 7 && strncasecmp(value.p, "Bearer ", 7) == 0)
		return (struct slice){ value.p + 7, value.n - 7 };
	if (value.n <= 6 || strncasecmp(value.p, "Basic ", 6) != 0 ||
	    base64_ascii(value.p, value.n) != value.n ||
	    sodium_base642bin((unsigned char *)buf, cap, value.p + 6,
	    value.n - 6, " ", &n, NULL, sodium_base64_VARIANT_ORIGINAL) != 0)
		return none;
	colon = memchr(buf, ':', n);
	if (colon == NULL)
		return none;
	if (colon + 1 == buf + n)	/* http://TOKEN@host: the user part alone */
		return (struct slice){ buf, (size_t)(colon - buf) };
	return (struct slice){ colon + 1, (size_t)(buf + n - colon - 1) };
}

static struct run *
run_of_proxy(struct exchange *exchange)
{
	const struct head_field *field = head_find(&exchange->head,
	    SLICE("Proxy-Authorization"));
	char *buf = exchange->worker->scratch;
	struct run *run = NULL;
	struct slice token;

	if (field == NULL)
		return NULL;
	token = proxy_token(field->value, buf, TOKEN_MAX);
	if (token.n > 0)
		run = gate_run_by_token(exchange->worker->plane->gate, token);
	sodium_memzero(buf, TOKEN_MAX);
	return run;
}

struct run *
route_run_of_reverse(struct exchange *exchange)
{
	struct gate *gate = exchange->worker->plane->gate;
	const struct head_field *field = head_find(&exchange->head,
	    SLICE("X-Countersign-Run"));
	struct run *run = NULL;
	char *buf = exchange->worker->scratch;
	struct slice token;

	if (field != NULL)
		return gate_run_by_token(gate, field->value);
	token = inject_slot(&exchange->head, &exchange->target, exchange->only,
	    buf, TOKEN_MAX, &exchange->copies);
	if (token.p != NULL)
		run = gate_run_by_credential(gate, token,
		    &exchange->credential);
	if (token.p == buf)
		sodium_memzero(buf, token.n);
	return run;
}

void
route_identify(struct exchange *exchange)
{
	exchange->run = run_of_proxy(exchange);
}

/* True where somebody is known; else the 407 is on its way. */
bool
route_authenticate(struct conn *conn)
{
	struct exchange *exchange = conn->exchange;

	if (exchange->run != NULL)
		return true;
	respond_refuse(conn, 407, "proxy/authentication",
	    head_find(&exchange->head, SLICE("Proxy-Authorization")) == NULL ?
	    "the request names no run" : "the run is unknown or closed",
	    "use the proxy URL that `countersign run` puts into the environment");
	return false;
}

/* --- where to --------------------------------------------------------- */

static char *
target_space(struct exchange *exchange, size_t *cap)
{
	*cap = 3 * exchange->head.target.n + 64;	/* all of it may need escaping */
	if (*cap > TARGET_BUF_MAX)
		*cap = TARGET_BUF_MAX;
	exchange->target_text = malloc(*cap);
	return exchange->target_text;
}

/* Is there a binding for the target's scheme, host and port? */
bool
route_bound(struct exchange *exchange)
{
	size_t cursor = 0;

	return bindings_for(rules_bindings(exchange->rules), &exchange->target,
	    &cursor) != NULL;
}

static bool
host_agrees(const struct exchange *exchange)
{
	const struct target *target = &exchange->target;
	uint16_t usual = target->https ? 443 : 80;
	struct target host;

	if (exchange->head.host.n == 0)
		return true;
	return target_from_authority(exchange->head.host, usual, &host) == NULL &&
	    host.port == target->port && strcmp(host.host, target->host) == 0;
}

/* True where the target is understood (rule NULL); else it is refused. */
static bool
settled(struct conn *conn, const char *rule)
{
	conn->exchange->has_target = rule == NULL;
	if (rule != NULL)
		respond_refuse(conn, 400, "http/target", rule,
		    "send a plain, normalised URL");
	return rule == NULL;
}

/* "/x/<binding>/rest": the binding, and rest as an origin form. */
static struct slice
split_route(struct slice target, struct slice *binding)
{
	const char *end = target.p + target.n, *p;

	*binding = (struct slice){ NULL, 0 };
	if (target.n < 3 || memcmp(target.p, "/x/", 3) != 0)
		return *binding;
	for (p = target.p + 3; p < end && *p != '/' && *p != '?'; p++)
		;
	*binding = (struct slice){ target.p + 3, (size_t)(p - target.p - 3) };
	return (struct slice){ p, (size_t)(end - p) };
}

/* This door is ours, whatever the binding's host is called. */
static bool
reached_by_our_name(struct conn *conn)
{
	if (local_host_p(conn->exchange->head.host,
	    &conn->worker->plane->conf->hosts))
		return true;
	respond_refuse(conn, 421, "route/host", LOCAL_HOST_REASON,
	    LOCAL_HOST_REMEDY);
	return false;
}

bool
route_reverse(struct conn *conn)
{
	struct exchange *exchange = conn->exchange;
	struct target *target = &exchange->target;
	struct slice id, rest;
	const char *rule = NULL;
	size_t cap;
	char *text;

	if (!reached_by_our_name(conn))
		return false;
	rest = split_route(exchange->head.target, &id);
	if (id.n > 0)
		exchange->only = bindings_by_id(rules_bindings(exchange->rules), id);
	if (exchange->only == NULL || exchange->only->n_hosts == 0) {
		respond_refuse(conn, 404, "route/unknown",
		    "this is neither a proxy request nor the route of a binding",
		    "send /x/<binding>/... with a binding of the policy, or use the proxy");
		return false;
	}
	if (rest.n == 0 || rest.p[0] != '/')
		rest = SLICE("/");
	target_from_known(exchange->only->hosts[0], exchange->only->is_address,
	    exchange->only->port, exchange->only->https, target);
	if ((text = target_space(exchange, &cap)) != NULL)
		rule = target_set_path(target, rest, text, cap);
	if (rule != NULL || exchange->target_text != NULL)
		return settled(conn, rule);
	respond_no_memory(conn);
	return false;
}

bool
route_absolute(struct conn *conn)
{
	struct exchange *exchange = conn->exchange;
	const char *rule;
	size_t cap;
	char *text = target_space(exchange, &cap);

	if (text == NULL) {
		respond_no_memory(conn);
		return false;
	}
	rule = target_from_absolute(exchange->head.target, text, cap,
	    &exchange->target);
	if (!settled(conn, rule))
		return false;
	if (host_agrees(exchange) || !route_bound(exchange))
		return true;
	respond_refuse(conn, 421, "http/host-mismatch",
	    "the Host field names another host than the URL",
	    "send the same host in both");
	return false;
}

/* A request within an intercepted CONNECT: to that host and no other. */
bool
route_inner(struct conn *conn)
{
	struct exchange *exchange = conn->exchange;
	const struct front *front = conn->front;
	struct target *target = &exchange->target;
	const char *rule;
	size_t cap;
	char *text = target_space(exchange, &cap);

	if (text == NULL) {
		respond_no_memory(conn);
		return false;
	}
	if (exchange->head.target_form == HEAD_ABSOLUTE) {
		rule = target_from_absolute(exchange->head.target, text, cap, target);
	} else {
		rule = target_from_authority(exchange->head.host,
		    front->https ? 443 : 80, target);
		target->https = front->https;
		if (rule == NULL)
			rule = target_set_path(target, exchange->head.target, text, cap);
	}
	if (!settled(conn, rule))
		return false;
	if (!front->wrong_name && target->https == front->https &&
	    target->port == front->port && host_agrees(exchange) &&
	    strcmp(target->host, front->host) == 0)
		return true;
	conn->close = true;
	respond_refuse(conn, 421,
	    front->wrong_name ? "tls/name-mismatch" : "http/host-mismatch",
	    "CONNECT, TLS server name and Host do not name the same host",
	    "open a tunnel of its own for each host");
	return false;
}

bool
route_connect(struct conn *conn)
{
	struct exchange *exchange = conn->exchange;
	const char *rule;

	rule = target_from_authority(exchange->head.target, 0, &exchange->target);
	if (!settled(conn, rule))
		return false;
	exchange->target.https = true;
	if (exchange->target.port != 0)
		return true;
	respond_refuse(conn, 400, "connect/no-port",
	    "CONNECT names a host without a port",
	    "send CONNECT host:port; for https the port is 443");
	return false;
}

/* A binding for what the tunnel would carry: TLS, else plain HTTP. */
bool
route_front(struct exchange *exchange)
{
	if (route_bound(exchange))
		return true;
	exchange->target.https = false;
	if (route_bound(exchange))
		return true;
	exchange->target.https = true;
	return false;
}
