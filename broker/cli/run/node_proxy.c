#include "cli/run/node_proxy.h"
#include "ledger/embed.h"

EMBED(node_proxy, "broker/cli/run/node_proxy.cjs");

const char *
node_proxy_text(size_t *len)
{
	*len = (size_t)(node_proxy_end - node_proxy_begin);
	return node_proxy_begin;
}
