/* What every HTTP request of the daemon's own has in common: to a vault, a
 * witness, a time stamping authority, a bundle's server, a collector.  Nothing
 * of the environment redirects it: no proxy variable, no redirect, no scheme
 * but http and https; what is answered is bounded. */
#ifndef BROKER_OUTBOUND_H
#define BROKER_OUTBOUND_H

#include <stdbool.h>
#include <stddef.h>

#include <curl/curl.h>

/* An answer as it comes in.  Begins as { .max = N }; the caller frees p, and
 * wipes it first where it may hold a secret (no copy is left behind by
 * growing). */
struct outbound_body {
	char *p;			/* NULL until a byte came */
	size_t len, cap;
	size_t max;			/* bytes; more ends the transfer */
	bool overflow;			/* it was longer than max */
};

/* Sets the URL and the posture above.  ca_file NULL: the system's
 * authorities.  False where libcurl refuses (out of memory, an odd file). */
bool outbound_set(CURL *curl, const char *url, const char *ca_file);

/* Lets the answer's body be kept in *body. */
bool outbound_keep(CURL *curl, struct outbound_body *body);

#endif
