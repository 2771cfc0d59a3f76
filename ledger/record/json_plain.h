/* Eight bytes of a JSON string at once.  Private to record. */
#ifndef LEDGER_RECORD_JSON_PLAIN_H
#define LEDGER_RECORD_JSON_PLAIN_H

#include <stdint.h>

/* The high bit of each byte that is not plain: anything but printable ASCII,
 * the quote and the backslash.  A borrow may mark bytes behind one that is not
 * plain, never before it: 0 where all eight are, and the first mark is always right. */
static inline uint64_t
json_not_plain(uint64_t w)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	const uint64_t quote = w ^ (ones * '"'), slash = w ^ (ones * '\\');
	const uint64_t del = w ^ (ones * 0x7f);

	return (w | (w - ones * 0x20) | (quote - ones) | (slash - ones) |
	    (del - ones)) & (ones << 7);
}

#endif
