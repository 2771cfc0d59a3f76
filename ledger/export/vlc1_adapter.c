#include "ledger/export/vlc1.h"

/* The assembler reads the file: found from the top of the source tree, where
 * make runs. */
__asm__(".pushsection .rodata\n"
    ".type vlc1_adapter_begin, @object\n"
    "vlc1_adapter_begin:\n"
    ".incbin \"ledger/export/vlc1-adapter.json\"\n"
    ".type vlc1_adapter_end, @object\n"
    "vlc1_adapter_end:\n"
    ".byte 0\n"
    ".popsection\n");

extern const char vlc1_adapter_begin[], vlc1_adapter_end[];

const char *
vlc1_adapter(size_t *len)
{
	*len = (size_t)(vlc1_adapter_end - vlc1_adapter_begin);
	return vlc1_adapter_begin;
}
