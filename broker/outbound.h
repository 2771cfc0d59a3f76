/* What every HTTP request of the daemon's own has in common: to a vault, a
 * witness, a time stamping authority, a bundle's server, a collector.  Nothing
 * of the environment redirects it: no proxy variable, no redirect, no scheme
 * but http and https; what is answered is bounded. */
#ifndef BROKER_OUTBOUND_H
#define BROKER_OUTBOUND_H

#include <stdbool.h>
#include <stddef.h>

#include <curl/curl.h>

/* An answer as it comes in.  Begins as { .max = N }; whoever asked frees it, or takes
 * p over, which is malloc's.  No copy is left behind by growing. */
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
void outbound_body_free(struct outbound_body *body);	/* wipes it first */

/* Lists as libcurl wants them, of fields that may hold a secret.  Adding copies text, and
 * is false where memory lacks: the list is then as it was.  Freeing wipes; NULL-safe. */
bool outbound_list_add(struct curl_slist **list, const char *text);
void outbound_list_free(struct curl_slist *list);

#endif
