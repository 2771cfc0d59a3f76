#include "cli/run/node_proxy.h"

/* The assembler reads the file: found from the top of the source tree, where
 * make runs. */
__asm__(".pushsection .rodata\n"
    ".type node_proxy_begin, @object\n"
    "node_proxy_begin:\n"
    ".incbin \"broker/cli/run/node_proxy.cjs\"\n"
    ".type node_proxy_end, @object\n"
    "node_proxy_end:\n"
    ".byte 0\n"
    ".popsection\n");

extern const char node_proxy_begin[], node_proxy_end[];

const char *
node_proxy_text(size_t *len)
{
	*len = (size_t)(node_proxy_end - node_proxy_begin);
	return node_proxy_begin;
}
