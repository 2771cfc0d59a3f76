/*
 * What every SARIF 2.1.0 document of ours is made of.
 */
#ifndef LEDGER_OUTPUT_SARIF_PARTS_H
#define LEDGER_OUTPUT_SARIF_PARTS_H

#include "ledger/record/json_out.h"

/* A multiformatMessageString (section 3.12) as the member `key`. */
void sarif_text(struct json_out *o, const char *key, const char *text);

/* The member artifactLocation: the path as a URI reference, in which all that
 * RFC 3986 reserves is in percents, cut behind 767 characters; below the
 * uriBaseId `base`, if that is not NULL, and then always relative. */
void sarif_uri(struct json_out *o, const char *path, const char *base);

#endif
