/* node_proxy.cjs, embedded: what `run` preloads into Node. */
#ifndef BROKER_CLI_RUN_NODE_PROXY_H
#define BROKER_CLI_RUN_NODE_PROXY_H

#include <stddef.h>

const char *node_proxy_text(size_t *len);

#endif
