/*
 * Well-known services: where their secret goes, what a coding agent asks of
 * them, and which environment variables their clients read it from.  `bind
 * --service` takes all of it, `bind --host` the variables.
 *
 * The rules are the least that the usual clients work with: what they ask for
 * besides (telemetry, settings, look-ups) is refused, and they do without.
 */
#ifndef BROKER_CLI_BIND_SERVICES_H
#define BROKER_CLI_BIND_SERVICES_H

#include <stdbool.h>
#include <stddef.h>

#define SERVICE_HOSTS_MAX 3
#define SERVICE_RULES_MAX 9
#define SERVICE_ENV_MAX 2

struct service {
	const char *name, *what;	/* what: for people, one line */
	const char *hosts[SERVICE_HOSTS_MAX + 1];	/* each list ended by NULL */
	const char *header, *basic;	/* one of them: a template, as for `bind` */
	const char *allow[SERVICE_RULES_MAX + 1];
	const char *env[SERVICE_ENV_MAX + 1];
	bool escaped_slash;
};

/* The i-th, in order of name; NULL behind the last. */
const struct service *service_at(size_t i);

const struct service *service_named(const char *name);

/* The service whose first host it is, with that header if there is one (NULL:
 * not known); NULL where none has the host. */
const struct service *service_of_host(const char *host, const char *header);

/* For people, on standard output: each with what --service stands for. */
void services_print(void);

#endif
