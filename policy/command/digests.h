/*
 * Records hold digests ("hmac:...") in the place of queries, arguments and
 * names.  Did an evaluation look at one of them?  Then its answer is about the
 * digest, not about what was there.
 */
#ifndef POLICY_COMMAND_DIGESTS_H
#define POLICY_COMMAND_DIGESTS_H

#include "policy/plan/eval.h"

#define DIGESTS_MAX 16

struct digests {
	const struct value *at[DIGESTS_MAX];	/* within the input */
	unsigned n;
	bool many;	/* more than there is room for: looked at, to be safe */
	bool seen;	/* the evaluation looked at one */
};

/* Those of a recorded input. */
void digests_find(struct digests *digests, const struct value *input);

/* Have the evaluation tell; eval's input must be the one looked through. */
void digests_watch(struct digests *digests, struct eval *eval);

#endif
