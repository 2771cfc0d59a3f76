/* A real `opa run --server` on a Unix socket, for measurements beside it. */
#ifndef TESTS_OPA_SERVER_H
#define TESTS_OPA_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct opa_server {
	pid_t pid;
	int fd;
};

/* With the policy and data in dir (no plan.json), connected.  False where opa
 * is not installed or does not answer. */
bool opa_server_start(struct opa_server *server, const char *dir,
    const char *socket_path);
void opa_server_stop(struct opa_server *server);

/* POST body; true where the answer holds a decision. */
bool opa_server_ask(const struct opa_server *server, const char *body,
    size_t len);

#endif
