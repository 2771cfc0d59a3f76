#include "ledger/export/vlc1.h"
#include "ledger/embed.h"

EMBED(vlc1_adapter, "ledger/export/vlc1-adapter.json");

const char *
vlc1_adapter(size_t *len)
{
	*len = (size_t)(vlc1_adapter_end - vlc1_adapter_begin);
	return vlc1_adapter_begin;
}
