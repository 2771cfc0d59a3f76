/*
 * Where the bytes of a decoded view stood in the text that it was made of.
 * Private to the scanner.
 *
 * A view is made of stretches, each with a fixed rate (base64: four bytes for
 * three; what was only shortened: one for one).  Views are made of views: a
 * map knows the one below it, down to the window of the stream.
 */
#ifndef LEDGER_SCAN_VIEW_MAP_H
#define LEDGER_SCAN_VIEW_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From `out` to the next stretch: in + (position - out) * num / den. */
struct scan_stretch {
	uint32_t out, in;
	uint32_t num, den;
};

struct scan_map {
	const struct scan_map *below;	/* NULL: below is the window itself */
	struct scan_stretch *stretch;	/* by out; the first is at 0 */
	size_t n, cap;
	bool shortened;		/* what lies between two joints is as it was below */
};

/* 0, or -1 where memory lacks. */
int scan_map_add(struct scan_map *map, size_t out, size_t in, size_t num,
    size_t den);

/* Where the byte at `at` (or the end) stood in the window. */
size_t scan_map_origin(const struct scan_map *map, size_t at);

/* Whether two stretches join right in front of `at`. */
bool scan_map_joint(const struct scan_map *map, size_t at);

/* Whether [start, end) is not simply a piece of the text below. */
bool scan_map_new(const struct scan_map *map, size_t start, size_t end);

#endif
