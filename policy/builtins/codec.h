/*
 * Encodings of bytes as text, for the builtins and for bundles: base64 and base64url
 * (RFC 4648), hex, application/x-www-form-urlencoded, each as OPA 1.9 (Go) has it.
 * All append to out, in its arena.  Decoders return false for
 * text of another form, and out then holds a part.  Pure.
 */
#ifndef POLICY_BUILTINS_CODEC_H
#define POLICY_BUILTINS_CODEC_H

#include "policy/value/value.h"

enum { CODEC_URL = 1, CODEC_PAD = 2 };

void codec_base64(struct buf *out, const char *p, size_t n, unsigned flags);
/* With CODEC_PAD padding is required, without it forbidden; line ends are
 * skipped, as Go does. */
bool codec_unbase64(struct buf *out, const char *p, size_t n, unsigned flags);
/* base64url as OPA's builtins take it: without padding, it is added by the
 * length of the text, line ends included. */
bool codec_unbase64_lax(struct buf *out, const char *p, size_t n);
void codec_hex(struct buf *out, const char *p, size_t n);
bool codec_unhex(struct buf *out, const char *p, size_t n);
/* application/x-www-form-urlencoded */
void codec_query(struct buf *out, const char *p, size_t n);
bool codec_unquery(struct buf *out, const char *p, size_t n);

#endif
