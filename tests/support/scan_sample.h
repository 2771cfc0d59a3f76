/* Made-up tokens of every format of the table. */
#ifndef TESTS_SCAN_SAMPLE_H
#define TESTS_SCAN_SAMPLE_H

#include "ledger/scan/format/formats_impl.h"

#define SCAN_SAMPLE_MAX 2048

/* A token of the anchor's format with its checksum right, the same for the same
 * seed; its length. */
size_t scan_sample(const struct scan_anchor *anchor, unsigned seed,
    char out[SCAN_SAMPLE_MAX]);

#endif
