/*
 * Decisions that may have to wait, for a policy server or for the vault's store
 * (vault_waits), on threads of their own: a worker's loop never waits for one.
 * Each takes the question that has waited longest, has the gate decide it, and
 * posts it back to its worker.
 */
#ifndef BROKER_DECIDER_H
#define BROKER_DECIDER_H

#include "plane/worker.h"

struct decider;

/* What the gate is asked; lives in the exchange, whose parts it points to. */
struct question {
	struct message message;		/* back to the worker; its run() is the asker's */
	struct question *next;
	struct worker *worker;
	struct exchange *exchange;
	struct gate_request request;
	struct gate_verdict *verdict;
	int64_t asked_ms;		/* clock_boot_ms */
};

/* NULL: no memory or threads. */
struct decider *decider_new(struct gate *gate);
/* Any thread.  The question and all that it points to must stay until its
 * message runs. */
void decider_ask(struct decider *decider, struct question *question);
/* Answers what was asked already, joins.  NULL-safe. */
void decider_free(struct decider *decider);

#endif
