/* The compiled table: what the matching engine knows of a format beyond
 * formats.h.  Private to the scanner; any thread after the first call. */
#ifndef LEDGER_SCAN_FORMAT_FORMATS_IMPL_H
#define LEDGER_SCAN_FORMAT_FORMATS_IMPL_H

#include "ledger/scan/format/formats.h"
#include "ledger/scan/format/pattern.h"
#include "ledger/scan/format/table.h"

struct scan_anchor {
	const char *text;
	unsigned len;
	const struct scan_format *format;
	const struct scan_pattern *before, *after;
};

unsigned scan_anchors_count(void);
const struct scan_anchor *scan_anchor(unsigned index);

/* Whether its format matches around an anchor at `at`, weighed by its checks. */
bool scan_anchor_match(const struct scan_anchor *anchor, const uint8_t *p,
    size_t len, const struct scan_map *map, size_t at, struct scan_match *out);

#endif
