/*
 * Strings quoted as Go's strconv.Quote does it: what OPA prints of a string
 * within a term, and sprintf's %q.  Bytes that are no UTF-8 show as \xff.
 */
#ifndef POLICY_VALUE_QUOTE_H
#define POLICY_VALUE_QUOTE_H

#include "policy/value/value.h"

void quote_text(struct buf *out, const char *p, size_t n);
/* The same of printable ASCII only (%+q). */
void quote_ascii(struct buf *out, const char *p, size_t n);
/* One code point in single quotes; U+FFFD for what is none. */
void quote_rune(struct buf *out, int64_t rune, bool ascii);

#endif
