/*
 * The gate: everything between "a request was understood" and "it may go".
 *
 * It knows runs, grants, placeholders, budgets, the rules in force (pack and
 * bindings) and the vault; it asks the policy, and it words the ledger record.
 * It does no I/O: the caller submits the record, waits until it is durable and
 * only then uses the secret.  All functions may be called from any thread; a
 * gate_thread belongs to one.
 *
 * Spending a grant happens inside gate_decide, atomically, before the record
 * is written: a record that cannot be written leaves the grant spent.
 */
#ifndef BROKER_GATE_H
#define BROKER_GATE_H

#include "binding/binding.h"
#include "http/head.h"
#include "http/target.h"
#include "vault/vault.h"
#include "ledger/recorder/append.h"
#include "policy/policy.h"

struct gate;
struct gate_thread;	/* policy scratch of one thread */
struct run;		/* counted references */
struct rules;		/* pack, bindings and digest in force together; counted */
struct redact_needles;	/* redact/redact.h: what to look for, one secret version */
struct credential;	/* a placeholder or grant that a text turned out to be; counted */

struct peer {
	int64_t uid, pid;	/* -1 where unknown; over TCP only the uid can be known */
	uint64_t start_time;	/* of pid, clock ticks since boot */
};

/* What to do where a budget is used up: whose limit counts is the smaller one's. */
#define GATE_BUDGET_REMEDY(option, member) \
	"close the run and open another; what counts is the smaller of `run " option \
	"` and limits." member " in the policy's data.json"

/* --- who is it ------------------------------------------------------- */

/* The open run that a token (Proxy-Authorization, X-Countersign-Run, API
 * bearer) belongs to, referenced; NULL for an unknown or closed one. */
struct run *gate_run_by_token(struct gate *gate, struct slice token);
/* The same by the placeholder or grant token of a reverse-route request.  *found
 * is what it is, also of a closed run, for gate_request; NULL: nothing of ours. */
struct run *gate_run_by_credential(struct gate *gate, struct slice text,
    struct credential **found);
void credential_release(struct credential *credential);
struct run *run_ref(struct run *run);
void run_unref(struct run *run);
const char *run_id(const struct run *run);
/* The one at the top: run itself, or the first of those above it. */
const struct run *run_top(const struct run *run);
/* So many bytes more (or fewer) are held in memory for it; the sum, with all that
 * have the same one at the top. */
uint64_t run_hold(struct run *run, int64_t more);
bool run_open_p(const struct run *run);	/* false once closed or revoked */

struct rules *gate_rules(struct gate *gate);	/* referenced */
/* The same for who holds rules (or NULL) that most likely still are in force. */
struct rules *gate_rules_now(struct gate *gate, struct rules *held);
void rules_unref(struct rules *rules);
const struct bindings *rules_bindings(const struct rules *rules);
const char *rules_digest(const struct rules *rules);

/* --- one request ----------------------------------------------------- */

enum gate_kind {
	GATE_HTTP,	/* a request to be forwarded, with or without credential */
	GATE_CONNECT	/* a tunnel to a host without a binding */
};

struct gate_request {
	enum gate_kind kind;
	struct run *run;		/* NULL: nobody; refused and recorded */
	const char *route;		/* "reverse", "absolute", "connect": for the record */
	struct peer peer;
	struct slice method;
	const struct target *target;
	const struct head *head;	/* NULL for CONNECT */
	const struct binding *only;	/* reverse route: this binding and no other */
	struct rules *rules;		/* that the caller holds, or NULL; those in force decide */
	/* What gate_run_by_credential() found in only's slot of head, held by the
	 * caller; NULL: it is looked for.  And how often that slot was sent. */
	struct credential *credential;
	unsigned copies;
	int64_t body_len;		/* -1: not known beforehand: chunked, WebSocket, a tunnel */
	bool websocket;			/* a person is asked as about one, not as about a GET */
	bool was_allowed;		/* by gate_decide; only for gate_refuse */
	bool now;			/* the thread must not wait: see gate_decide */
};

#define GATE_WHY_MAX 512
#define GATE_RECORD_MAX 16384

struct gate_verdict {
	bool allow;
	bool held;			/* neither: a person is asked; only question is set */
	bool tainted;			/* the request's target must not be shown */
	unsigned status;		/* of the refusal: 400, 401, 403, 407, 413, 429, 502, 503 */
	char rule[128], reason[GATE_WHY_MAX], remedy[GATE_WHY_MAX];

	struct rules *rules;		/* referenced: those that decided */
	const struct binding *binding;	/* of the credential; NULL: nothing is injected */
	struct secret *secret;		/* referenced; NULL with binding NULL */
	struct redact_needles *needles;	/* referenced; NULL: nothing to redact */
	uint32_t version;
	char grant[40];			/* the grant's id, or "" */
	char question[40];		/* held: the question's id */
	int64_t max_bytes;		/* of the request body, or into a tunnel; -1: no limit */

	/* To be submitted before anything else happens.  On allow the record
	 * is a `use` (with credential) or a `decision`; else a `refusal`. */
	const char *record_type;
	size_t record_len;
	char record[GATE_RECORD_MAX];
};

/* Never fails: what goes wrong is a refusal; where a person is to decide (out->held),
 * nothing has happened, and it is asked again after the answer.  Release out when done.  The run
 * may close, and the binding be revoked, while the record is on its way: look
 * at run_open_p once more before anything is sent.
 * False only for request->now, where the vault's store would have to be asked and
 * may take long: nothing has happened, and out is released; ask again on a thread
 * that may wait. */
bool gate_decide(struct gate *gate, struct gate_thread *thread,
    const struct gate_request *asked, struct gate_verdict *out);
void gate_verdict_release(struct gate_verdict *verdict);

/* A refusal that the data plane itself found (malformed head, 431, upstream
 * certificate): words the record; same release. */
void gate_refuse(struct gate *gate, const struct gate_request *request,
    unsigned status, const char *rule, const char *reason, const char *remedy,
    struct gate_verdict *out);

/* Refusals counted instead of written one by one (plane/flood.h, and below); words
 * their record, a `refusal`, of that run or (NULL) of nobody's.  Length, or -1. */
struct gate_counted {
	uint64_t count;
	int64_t from_us, to_us;		/* the first and the last; since 1970 */
	int64_t uid;			/* of the callers; -1: unknown, or several */
	unsigned status;		/* 0: several */
	const char *kind;		/* static; NULL: several, or nothing is known */
	uint16_t port;
	bool https;
	char host[TARGET_HOST_MAX];	/* where to; "": several, or not to be told */
	char rule[128], reason[GATE_WHY_MAX];
};
int gate_counted_record(const struct gate_counted *counted,
    const struct run *run, char *buf, size_t cap);

/*
 * A refusal of the run's, already in its tally: true, it is to be a record of its
 * own; false, it is one too many and was counted (gate/refusals.h), which somebody
 * has to tell within COUNTS_MS by gate_refusals_take.  target: as in the request.
 */
bool gate_refusal_alone(struct gate *gate, struct run *run,
    const struct gate_verdict *refusal, const char *kind, int64_t uid,
    const struct target *target);

/*
 * One count that is due, or (all) any, and whose it is: *run is referenced and held
 * (gate_run_hold); once its record is handed over, say gate_outcome_done and
 * run_unref.  False where there is none.  Runs that are being closed are left out:
 * who closes one tells what was counted, before the teardown.
 */
bool gate_refusals_take(struct gate *gate, bool all, struct run **run,
    struct gate_counted *out);
bool gate_refusals_pending(struct gate *gate);

/* What became of it; words the `outcome` record and books the bytes. */
struct gate_outcome {
	unsigned status;		/* upstream's; 0 where there was none */
	uint64_t bytes_out, bytes_in;	/* bodies */
	uint64_t duration_us;
	uint32_t redactions;
	const char *error;		/* NULL, or a word or rule (RECORDS.md) */
	bool failed;			/* the upstream could not be reached */
	bool refused;			/* by the data plane; a refusal follows */
	bool unanswered;		/* a request, no tunnel, without a status: then */
	bool head_sent;			/* whether its head went to the upstream */
	uint8_t parent[LEDGER_LEAF_LEN];	/* leaf of the use or decision */
};
int gate_outcome_record(struct gate *gate, struct run *run,
    const struct gate_verdict *verdict, const struct gate_outcome *outcome,
    char *buf, size_t cap);	/* body length, or -1 */
/*
 * Records of the run are under way.  Whoever holds it first and then finds it open
 * has a second until its teardown is written: nothing that is admitted stands
 * behind that.  NULL is fine.
 */
void gate_run_hold(struct run *run);

/* The record was handed to the recorder, or never will be: a close of the run
 * need not wait for it any more.  Once for each allowed request, whose run
 * gate_decide holds, and for each gate_run_hold. */
void gate_outcome_done(struct run *run);

/* What is left of the run's time under these rules, its parents' included: below 0
 * it is over; INT64_MAX: no limit. */
int64_t gate_wall_left_ms(const struct rules *rules, const struct run *run);

/* Bytes of a request body on their way: true while the budget allows them. */
bool gate_spend_bytes(struct gate *gate, struct run *run, uint64_t bytes);
/* So many of them were not sent after all. */
void gate_return_bytes(struct run *run, uint64_t bytes);

/* How long the engine may keep a thread waiting in gate_decide: 0 for the
 * evaluator, else the deadline; such calls do not belong on an event loop. */
unsigned gate_may_block_ms(const struct gate *gate);
/* May the engine or the vault's store keep one waiting? */
bool gate_may_wait(const struct gate *gate);
/* The thread's next decisions were asked for at that moment (clock_boot_ms): the
 * deadline runs from there, so that waiting for a thread counts. */
void gate_thread_until(struct gate_thread *thread, int64_t asked_ms);

struct gate_thread *gate_thread_new(struct gate *gate);
void gate_thread_free(struct gate_thread *thread);

/* What was revoked or closed: all requests that every member applies to.  NULL or 0:
 * any.  The texts are valid during the call. */
struct gate_cut {
	const char *run;		/* id */
	const char *binding, *grant;	/* ids */
	const char *secret;
	uint32_t version;		/* of the secret */
};

/* So many more requests, or fewer, are held for that question.  False where nobody is
 * asked it any more: it was answered, or is over. */
bool gate_approval_held(struct gate *gate, const char *id, int more);
/* Called (from any thread) when it has its answer; id NULL: the rules changed, so that
 * whatever waits is to be decided anew.  told NULL: nobody is told. */
void gate_on_answer(struct gate *gate, void (*told)(void *arg, const char *id),
    void *arg);

/* Called (from any thread) so that these streams can be cut. */
void gate_on_revoke(struct gate *gate,
    void (*cut)(void *arg, const struct gate_cut *what), void *arg);

#endif
