/* Why requests of a run, and of the runs below it, were refused: the `refusal`
 * records, counted by rule and host; which tunnels nobody looked into; and what
 * the runs below did, who are nobody's but this one's. */
#ifndef BROKER_CLI_RUN_RUN_REASONS_H
#define BROKER_CLI_RUN_RUN_REASONS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define RUN_REASONS_MAX 64	/* different rules that are counted apart */
#define RUN_REASONS_SHOWN 6
#define RUN_ASKED_NAMED 4	/* requests of one reason that are named */
#define RUN_TUNNELS_NAMED 8
#define RUN_ID_MAX 64		/* bytes of a run's id */

struct run_reason {
	char rule[128], host[256];
	char reason[256];	/* the first one given under that rule for that host */
	size_t count;
	bool below;		/* of a run below it */
	char asked[RUN_ASKED_NAMED][160];	/* "GET /path", each once; "" ends them */
	bool asked_more;	/* and others */
};

/* All runs that were opened below it, at any depth. */
struct run_below {
	char (*id)[RUN_ID_MAX + 1];	/* owned */
	size_t n;
	size_t open;		/* whose teardown was not read: not counted here */
	long long allowed, refused, failed, redacted, bytes_out;
};

struct run_reasons {
	struct run_reason one[RUN_REASONS_MAX];	/* most frequent first */
	size_t n;
	struct run_below below;
	size_t agreed, denied;	/* what a person answered, also of runs below */
	size_t no_answer;	/* allowed, and the upstream gave none or not a whole one; also of runs below */
	size_t tunnels;		/* allowed to hosts without a binding, also of runs below */
	char tunnel_hosts[RUN_TUNNELS_NAMED][256];	/* each once; "" ends them */
	long long lost;		/* records, as adapters say; also of runs below */
	char lost_by[160];	/* the first of them: "hook, full" */
	json_t *closed;	/* body of its closing `run` record, owned; NULL */
	json_t *claims;	/* bodies of its `coverage` records, an array, owned; NULL */
	json_t *counts;	/* of its `teardown`, owned; NULL where none was read */
};

/* From a bundle's records; what cannot be read is not counted: this is for the
 * summary, the verifier is for evidence. */
void run_reasons_read(struct run_reasons *reasons, const char *bundle,
    const char *run);
void run_reasons_release(struct run_reasons *reasons);

#endif
