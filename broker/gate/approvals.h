/*
 * What the policy wants a person's consent to ("ask"): kept here until somebody
 * answers or nobody has for a while.  It is memory of this daemon alone; the answer
 * is a record of the run, under which what was asked for then stands.
 *
 * A question is one action to one target with one binding, of one run, by one rule of
 * the policy's: all requests that are alike ask the same one.  An answer is good for
 * one of them, or (for_run) for all until the run ends; over a reload, too, while the
 * new rules ask the same.  Any thread; the lock is held for a look, never over I/O.
 *
 * Of a run and all below it there are so many at most (APPROVALS_OF_RUN_MAX); where
 * those of all runs are too many (APPROVALS_MAX), each still has place for one: no
 * agent can keep another one from its person.
 */
#ifndef BROKER_GATE_APPROVALS_H
#define BROKER_GATE_APPROVALS_H

#include "gate/admin.h"

#include <pthread.h>

#define APPROVALS_MAX 256		/* of all runs, answered ones too, but those agreed to for a run */
#define APPROVALS_OF_RUN_MAX 16		/* of one run with all below it, counted alike */
#define APPROVALS_KEPT_MAX 256		/* agreed to for one run or those below it */
#define APPROVAL_HELD_MAX 16		/* requests that wait for one answer */
#define APPROVAL_ASKED_S 900		/* until it is forgotten, or may be asked again */
#define APPROVAL_GIVEN_S 300		/* to make use of a consent to one */

/* What a question or a request for one can be too many for. */
enum approval_limit {
	APPROVAL_OF_RUN,	/* APPROVALS_OF_RUN_MAX, APPROVALS_KEPT_MAX */
	APPROVAL_OF_ALL,	/* APPROVALS_MAX */
	APPROVAL_OF_ONE,	/* APPROVAL_HELD_MAX */
	APPROVAL_LIMITS
};

struct approval;

/* Part of the gate. */
struct approvals {
	pthread_mutex_t lock;
	struct approval *first;		/* oldest first */
	uint64_t refused[APPROVAL_LIMITS];
	void (*told)(void *arg, const char *id);
	void *arg;
};

/* Texts of the caller's; secret and binding may be NULL. */
struct approval_question {
	struct run *run;
	const char *action;		/* "http:POST", "websocket", "connect", "grant http:POST, 1 use within 60 s" */
	const struct target *target;
	struct slice query;		/* without a credential's part of it */
	const char *secret, *binding;
	const char *rule, *reason;
	const char *input;		/* as records have it */
	size_t input_len;
	const char *policy;		/* digest of the rules that ask */
};

enum approval_answer {
	APPROVAL_GIVEN,		/* and used up, where it was for one */
	APPROVAL_DENIED,
	APPROVAL_WAITING,	/* nobody has answered yet */
	APPROVAL_TOO_MANY,	/* of the run's questions, */
	APPROVAL_FULL,		/* of all runs', */
	APPROVAL_CROWDED,	/* of requests for this one */
	APPROVAL_UNWRITABLE,	/* the caller's: a record could not hold what is asked */
	APPROVAL_NO_MEMORY
};

/* What to say where it is no: denied and below. */
struct approval_no {
	unsigned status;
	const char *rule, *reason, *remedy;
};
const struct approval_no *approvals_no(enum approval_answer answer);

int approvals_init(struct approvals *approvals);
void approvals_free(struct approvals *approvals);

unsigned approvals_waiting(struct approvals *approvals);

/* The rules are other ones: whoever waits has it decided anew. */
void approvals_again(struct approvals *approvals);

/* How many requests each of the limits refused. */
void approvals_refused(struct approvals *approvals, uint64_t out[APPROVAL_LIMITS]);

/* id is the question's; receipt that of the consent, where it was given. */
enum approval_answer approvals_ask(struct gate *gate,
    const struct approval_question *question, char id[GATE_ID_MAX],
    struct ledger_receipt *receipt);

#endif
