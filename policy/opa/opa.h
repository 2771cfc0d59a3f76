/*
 * An OPA server as the engine, in the evaluator's place and by its contract:
 * the same input document, the same decision, and whatever goes wrong is a
 * denial whose reason names it.  The server's policy is the server's: nothing
 * is pushed to it, and nothing of an answer is remembered.
 *
 *	POST /v1/data/countersign/decision	{"input": ...}
 *	200 {"decision_id"?: "...", "result"?: {"decision": ..., ...}}
 *
 * (OPA's REST API, "Data API".)  Deciding blocks, for the deadline at most.
 */
#ifndef POLICY_OPA_OPA_H
#define POLICY_OPA_OPA_H

#include "policy/policy.h"

#define OPA_ANSWER_MAX ((size_t)64 * 1024)	/* bytes; more is a denial */
#define OPA_DEADLINE_MS 100			/* unless it is said otherwise */
#define OPA_WHERE_MAX 320			/* bytes of an address */

struct opa;		/* where it is, for any number of threads; only its token may change */
struct opa_link;	/* one thread's connection, kept open between decisions */

struct opa_options {
	/* "unix:/path", "https://host[:port]", or "http://" with a loopback
	 * address: what asks and what answers is not for the network to see. */
	const char *where;
	const char *ca_file;	/* PEM, for https; NULL: the system's */
	/* Shown as "Authorization: Bearer", over https only; NULL: none.  Copied,
	 * by libcurl too, and wiped as far as that lets us. */
	const char *token;
	unsigned deadline_ms;	/* of a decision, from asking to the last byte */
};

/* Is it an address?  NULL, or what is wrong with it. */
const char *opa_where_wrong(const char *where);

/* No connection is made yet.  NULL with a message, which never shows the token. */
struct opa *opa_new(const struct opa_options *options, char *err,
    size_t err_len);
void opa_free(struct opa *opa);	/* after its links */

/* Show this token from the next decision on, in place of the one that opa_new got
 * (there must have been one).  Any thread.  0; or -1 with a message, and the old
 * one stays. */
int opa_set_token(struct opa *opa, const char *token, char *err, size_t err_len);
unsigned opa_deadline_ms(const struct opa *opa);

/* opa must outlive it.  NULL: no memory. */
struct opa_link *opa_link_new(const struct opa *opa);
void opa_link_free(struct opa_link *link);

/*
 * Decide.  left_ms of the deadline are left (waiting for one's turn counts);
 * with 0 nothing is asked any more.  out->engine and out->id say who decided;
 * out->failed is true where there was no answer, rather than a "no".
 */
void opa_decide(struct opa_link *link, const struct policy_input *input,
    unsigned left_ms, struct policy_decision *out);

/* The same for an input that is JSON already, as a record has it. */
void opa_decide_json(struct opa_link *link, const char *input, size_t len,
    unsigned left_ms, struct policy_decision *out);

#endif
