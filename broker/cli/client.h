/*
 * Speaks to the daemon over its Unix socket (HTTP, libcurl).  The contract is
 * broker/api/openapi.json.  One thread.
 */
#ifndef BROKER_CLI_CLIENT_H
#define BROKER_CLI_CLIENT_H

#include <jansson.h>
#include <stddef.h>

#define CLIENT_REPLY_MAX (8u << 20)	/* bytes of one reply */

enum client_result {
	CLIENT_OK,		/* a 2xx answer */
	CLIENT_REFUSED,		/* another status; error has the problem's words */
	CLIENT_NO_DAEMON,	/* nobody listens */
	CLIENT_BROKEN		/* transport, or an answer that is no JSON */
};

struct client_reply {
	long status;
	char *text;		/* the body, NUL-terminated; NULL where none came */
	size_t len;
	json_t *json;		/* parsed, or NULL where it is no JSON */
	char error[1024];	/* for CLIENT_REFUSED and CLIENT_BROKEN */
};

struct client_call {
	const char *socket;	/* path of operator.sock or agent.sock */
	const char *token;	/* run token, or NULL */
	const char *method, *path;
	const char *type;	/* Content-Type, NULL: application/json */
	const char *body;	/* NULL: none */
	size_t body_len;
	long timeout_ms;	/* 0: a minute */
};

/* Release the reply whatever was returned. */
enum client_result client_call(const struct client_call *call,
    struct client_reply *reply);
void client_reply_release(struct client_reply *reply);

/* A call with a run's token (NULL: none) and a JSON body (NULL: none). */
enum client_result client_run(const char *socket, const char *token,
    const char *method, const char *path, json_t *body,
    struct client_reply *reply);
/* The same to HOME/run/operator.sock. */
enum client_result client_operator(const char *method, const char *path,
    json_t *body, struct client_reply *reply);

/* GET from there by somebody who looks: five seconds at most. */
enum client_result client_look(const char *path, struct client_reply *reply);

/* Text of a member, or "" where it is none; valid while json is. */
const char *client_str(const json_t *json, const char *name);

/* Says what went wrong on standard error; CLI_REFUSED or CLI_USAGE. */
int client_fail(enum client_result result, const struct client_reply *reply);

#endif
