/*
 * The libraries that unpack, all behind one shape.  Private to packed*.c.
 */
#ifndef LEDGER_SCAN_VIEW_PACKED_IMPL_H
#define LEDGER_SCAN_VIEW_PACKED_IMPL_H

#include "ledger/scan/view/packed.h"

enum scan_packing {
	SCAN_GZIP, SCAN_ZLIB, SCAN_DEFLATE, SCAN_ZSTD, SCAN_BZIP2, SCAN_XZ, SCAN_LZMA, SCAN_LZ4
};

/* One call: what there is to read and where to write; what was done of both. */
struct scan_step {
	const uint8_t *in;
	size_t in_len, used;
	uint8_t *out;
	size_t out_len, made;
};

struct scan_codec {
	void *(*open)(void);	/* NULL where memory lacks */
	/* For a new stream, after any other. */
	bool (*begin)(void *state, enum scan_packing how);
	enum scan_packed_state (*step)(void *state, struct scan_step *step);
	void (*close)(void *state);	/* NULL is nothing */
};

#define SCAN_CODECS 5

/* Which of scan_codecs undoes it. */
unsigned scan_codec_of(enum scan_packing how);

extern const struct scan_codec scan_codecs[SCAN_CODECS];

#endif
