/*
 * The lower layer of the head parser: cuts bytes into lines and fields and
 * knows only which bytes may stand where.  Nothing but the position is carried
 * from step to step.  For head*.c alone.
 */
#ifndef BROKER_HEAD_LEX_H
#define BROKER_HEAD_LEX_H

#include "http/head.h"

struct head_cursor {
	const char *p, *end;
	struct head_error *err;
};

/* What may stand in a token, RFC 9110 section 5.6.2: 1, or 2 for what no name of
 * a host has. */
extern const uint8_t head_lex_token[256];

enum head_result head_lex_bad(struct head_error *err, unsigned status,
    const char *rule);

/* CR LF, and nothing else, ends a line. */
enum head_result head_lex_crlf(struct head_cursor *c);

/* name ":" OWS value OWS CRLF */
enum head_result head_lex_field(struct head_cursor *c, struct head_field *field);

/* Up to the first byte that may not stand in a field value; white space around
 * it is cut off. */
struct slice head_lex_text(struct head_cursor *c);

/* The next element of a comma list, without white space; false at its end. */
bool head_lex_element(struct slice *list, struct slice *element);

bool head_lex_is_token(struct slice s);

/*
 * Is name the same as field, which is in lower case, to whoever passes fields through
 * an environment, as CGI does?  "Content_Length" is "Content-Length" there, and to
 * some servers so is every other mark: nobody needs it, so nobody gets it.
 */
bool head_lex_looks_like(struct slice name, struct slice field);

#endif
