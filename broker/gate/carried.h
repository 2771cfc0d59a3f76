/*
 * What of ours a request carries: the credential in a binding's slot, and
 * whatever stands where it must not: a placeholder or grant token in another
 * place, twice, or for another host; a run's token; a real secret.
 *
 * Searched are the target (as sent and percent-decoded), names and values of
 * all fields, and decoded Basic credentials; not bodies.  Our own fields, which
 * never go upstream (Proxy-Authorization, X-Countersign-Run), are left out.
 */
#ifndef BROKER_GATE_CARRIED_H
#define BROKER_GATE_CARRIED_H

#include "gate/impl.h"

struct carried {
	const struct binding *binding;	/* NULL: no credential of ours */
	struct credential *credential;	/* held until carried_release */
	struct slice query;		/* of the target, without the slot's pair */

	/* A refusal, where status is not 0. */
	unsigned status;
	const char *rule, *reason, *remedy;
	bool tainted;	/* the target holds a token or secret: do not record it */
};

/* run may be NULL.  Uses thread's buffers; out->query lies in them. */
void carried_find(struct gate *gate, struct gate_thread *thread,
    const struct gate_request *request, const struct rules *rules,
    struct carried *out);
void carried_release(struct carried *carried);

#endif
