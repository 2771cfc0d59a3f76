/*
 * The table of token formats, as data.  Private to the scanner.
 *
 * A format is found by one of its anchors, literals separated by spaces (one
 * that ends in a space is written last).  `before` must match right before the
 * anchor and `after` right behind it.  Both are written in a subset of regular
 * expressions that needs no general engine:
 *
 *   literals   \. \\   classes [a-z], [^a-z]   \w \s   {n} {m,n} {m,} ?  *
 *
 * without groups or alternatives, so that matching is bounded by the numbers
 * that are written here.  {m,} and * stop at SCAN_REPEAT_MAX.
 */
#ifndef LEDGER_SCAN_FORMAT_TABLE_H
#define LEDGER_SCAN_FORMAT_TABLE_H

#include "ledger/scan/format/formats.h"

#define SCAN_REPEAT_MAX 4096

enum {
	F_WORD_START = 1,	/* no word character before the match */
	F_WORD_END = 2,		/* none behind it */
	F_TOKEN_END = 4,	/* no character of base64 behind it */
	F_FOLD = 8,		/* anchor and `before` in any case */
	F_CONTEXT = 16,		/* told by the words around it: low confidence */
	F_IDENTIFIER = 32,	/* names an account, opens nothing by itself */
	F_WRAP = 64,		/* may hold a token of another format, which then counts */
	F_TOKEN_START = 256,	/* no '+' or '/' before the match: not inside of base64 */
	F_STRUCTURED = 128	/* all but what follows the last '.' or '_' can be guessed */
};

struct scan_format {
	const char *id, *provider, *kind;
	const char *before, *anchors, *after;
	unsigned entropy;	/* least bits per character of the body, times 10 */
	enum scan_check check;
	unsigned flags;
};

extern const struct scan_format scan_table[];
extern const unsigned scan_table_count;

#endif
