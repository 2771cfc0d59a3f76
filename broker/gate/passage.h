/*
 * One request on its way through the gate: the steps that it has to pass, each of
 * which refuses or lets it on.  What they book is in the passage, so that a refusal
 * can give it back.
 */
#ifndef BROKER_GATE_PASSAGE_H
#define BROKER_GATE_PASSAGE_H

#include "gate/carried.h"
#include "gate/impl.h"

struct passage {
	struct gate *gate;
	struct gate_thread *thread;
	const struct gate_request *request;
	struct run *run;		/* request->run; may be NULL */
	struct gate_verdict *out;
	struct carried carried;
	struct grant *grant;		/* of carried; not counted again */
	struct policy_input input;
	const struct policy_decision *judged;	/* by the engine; NULL: not asked */
	bool later;			/* nothing is decided: it would have to wait */
	bool have_input, counted;	/* counted: a request is booked, */
	bool counted_binding;		/* and one to the binding, which is limited */
	int64_t cost;			/* booked */
	struct ledger_receipt consent;	/* a person's, where there is one: */
	bool person;			/* somebody answered */
};

/* True where it may go; else out says why not, or nothing is decided (later, or
 * held in out). */
bool passage_go(struct passage *p);

/* Fills out's refusal; false, for the step that ends with it. */
bool passage_refuse(struct passage *p, unsigned status, const char *rule,
    const char *reason, const char *remedy);

#endif
