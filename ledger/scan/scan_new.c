#include "ledger/scan/format/engine.h"
#include "ledger/scan/scan.h"

/* Alone in this file, so that the broker, which never calls it, goes without the
 * pattern library. */
struct scanner *
scanner_new(void)
{
	return scanner_with(&scan_engine_formats);
}
