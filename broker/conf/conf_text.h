/* The small languages in settings' strings.  Pure. */
#ifndef BROKER_CONF_CONF_TEXT_H
#define BROKER_CONF_CONF_TEXT_H

#include "conf/conf.h"

/* A decimal port from least to 65535.  0, or -1. */
int conf_text_port(const char *text, unsigned least, uint16_t *port);

/* "host:port:address:port", an IPv6 address in brackets; text is cut up.  0,
 * or -1. */
int conf_text_resolve(char *text, struct conf_resolve *out);

/* A host's name in lower case, of 253 characters at most. */
bool conf_text_host(const char *text);

/* Letters, digits and "._-", in parts between single slashes: what needs no
 * escape in a URL and cannot climb out of its place. */
bool conf_text_plain(const char *text);

/* "https://host[:port]", or http to a loopback address. */
bool conf_text_url(const char *text);

/* The same with a path and perhaps a query behind it. */
bool conf_text_address(const char *text);

#endif
