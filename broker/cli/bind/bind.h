/*
 * One call of `countersign bind`: its options, or what --service stands for,
 * and the members of the binding that are made of them.
 */
#ifndef BROKER_CLI_BIND_BIND_H
#define BROKER_CLI_BIND_BIND_H

#include "cli/cli.h"
#include "cli/bind/services.h"

#include <jansson.h>

struct bind {
	const struct opts *opts;
	const struct service *service;	/* NULL: none was named */
	const char *secret, *id;
	bool https;
	long long port, requests, cost;
	char err[CLI_ERR_MAX];
	char taken[CLI_ERR_MAX];	/* a variable that it would have, but for another; "" */
};

/* A message in bind->err, and NULL. */
#define BIND_BAD(bind, ...) \
	(snprintf((bind)->err, sizeof((bind)->err), __VA_ARGS__), NULL)

/* One member each, owned; NULL with a message. */
json_t *bind_hosts(struct bind *bind);
json_t *bind_placement(struct bind *bind);
/* The rules of --allow or --ask ("allow", "ask"), or the service's; may be empty. */
json_t *bind_rules(struct bind *bind, const char *option);

/* The variables that hold the placeholder: none that another of bindings has. */
json_t *bind_env(struct bind *bind, json_t *bindings, const json_t *hosts);

#endif
