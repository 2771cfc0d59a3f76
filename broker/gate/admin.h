/*
 * Administration of the gate: its life, runs, grants, decisions that are not
 * requests, secrets and the rules in force.
 *
 * What needs a record takes the calling thread's ledger port, appends, and
 * returns only when the record is durable; so these functions block (about one
 * fdatasync) and belong on the API's threads, never on a worker's.  All may be
 * called from any thread.
 *
 * Every function that can refuse fills a gate_problem: what, by which rule,
 * what to do.  A problem's text never holds a secret, a token, or bytes of the
 * request's body.
 */
#ifndef BROKER_GATE_ADMIN_H
#define BROKER_GATE_ADMIN_H

#include "gate/gate.h"

#define GATE_ID_MAX 40		/* "run_" or "g_" and 22 base64url digits, NUL */
#define GATE_TOKEN_MAX 64	/* "csr1_" or "csg1_" and 43 base64url digits, NUL */
#define GATE_NAME_MAX 256	/* bytes of a principal, agent name or version */

struct gate_problem {
	unsigned status;	/* HTTP */
	char rule[128], detail[GATE_WHY_MAX], remedy[GATE_WHY_MAX];
};

/* --- life ------------------------------------------------------------ */

struct opa;	/* policy/opa/opa.h */
struct minter;	/* mint/minter.h */
struct conf_anchors;	/* conf/conf.h */

struct gate_options {
	struct vault *vault;		/* borrowed; outlives the gate */
	const char *pack_path;		/* directory or .tar.gz, read again at each reload */
	const char *packs_dir;		/* where packs that come into force are kept; NULL: nowhere */
	/* 32 bytes under which principals are written to the ledger, so that
	 * the operator can find a person's records and nobody else can.  NULL:
	 * random for this daemon. */
	const uint8_t *pseudonym_key;
	/* Where the ledger's records can be read, and where each run's file of
	 * scan tags is put: a `scan` record before each teardown.  NULL: none. */
	const char *ledger_dir, *tags_dir;
	/* Who is asked to vouch for the ledger: an opening names what they said last
	 * (anchored.h).  NULL, or nobody, or no ledger_dir: it names nothing. */
	const struct conf_anchors *anchors;
	struct minter *minter;		/* gets tokens; borrowed, outlives the gate; NULL: there are none */
	const struct opa *opa;		/* decides in the evaluator's place; borrowed; NULL */
};

/*
 * Load the pack and start with no runs.  It starts no thread, forks nothing
 * and needs no ledger, so it may come before or after ledger_open; the digest
 * given to ledger_open must be rules_digest of this gate's rules.
 * NULL with a message.
 */
struct gate *gate_new(const struct gate_options *options, char *err,
    size_t err_len);

/* Ends every run without records; no thread may be inside the gate. */
void gate_free(struct gate *gate);

/* --- runs ------------------------------------------------------------ */

struct gate_run_options {
	const char *principal;		/* NULL: nobody named */
	const char *agent_name, *agent_version;
	int64_t pid;			/* root of the run's process tree; -1: unknown */
	int64_t uid;			/* who opens it; -1: not known */
	const char *parent;		/* id of an open run that this one narrows; NULL */
	struct policy_budget limits;	/* -1: no limit of its own */
	/* What it may do at most, and for how long (delegation.h).  scopes NULL:
	 * what the parent may; ttl_s 0: as long as the parent. */
	const char *const *scopes;
	size_t n_scopes;
	int64_t ttl_s;
	bool by_run;			/* asked by a process of the parent itself */
	struct peer peer;		/* who asks, for the record of a refusal */
	const char *const *hidden;	/* files that its command is not to see, for the record */
	size_t n_hidden;
	bool direct_loopback;		/* its clients reach loopback past the broker; by_run: ignored */
};

#define DELEGATION_SCOPES_MAX 32	/* of one run */
#define DELEGATION_SCOPE_MAX 127	/* bytes of one */
#define DELEGATION_TTL_MAX_S (366 * 86400)
#define RUN_BELOW_MAX 64	/* open runs below one that has no parent */

/* Open a run: a `run` record, then its token.  The token is written once here
 * and kept only as a keyed digest; the caller wipes it.  NULL with a problem,
 * which is a `refusal` of the parent where there is one. */
struct run *gate_run_open(struct gate *gate, struct ledger_port *port,
    const struct gate_run_options *options, char token[GATE_TOKEN_MAX],
    struct gate_problem *why);

/*
 * What the broker's own adapters, the proxy and the API, see of an open run and
 * what they cannot: a `coverage` record of each (ledger/coverage/claim.h), before
 * anything else is recorded of it.  0, or -1 with a problem.
 */
int gate_run_claims(struct gate *gate, struct ledger_port *port, struct run *run,
    const struct gate_run_options *options, struct gate_problem *why);

/* The same of another adapter, which publishes a manifest of that form without
 * parent (json_t); receipt is its record's. */
struct json_t;
int gate_claim(struct gate *gate, struct ledger_port *port, struct run *run,
    struct json_t *manifest, struct ledger_receipt *receipt,
    struct gate_problem *why);

/* What an adapter could not hand over, by its own word: a `loss` record of the run
 * (json_t; its form is Loss of api/openapi.json). */
int gate_loss(struct gate *gate, struct ledger_port *port, struct run *run,
    struct json_t *told, struct ledger_receipt *receipt, struct gate_problem *why);

struct gate_run_summary {
	uint64_t first_seq, last_seq;		/* of the run's records */
	uint64_t first_index, size;		/* tree: first leaf; size with the teardown */
	uint64_t requests, allowed, refused, redacted, bytes_out;
	uint64_t failed;	/* allowed, but the upstream was not reached */
};

/* Who closes a run, for its record. */
struct gate_closer {
	const char *by;			/* "opener" (the process it was opened with), "run" (another
					 * one of the run, or its token), "parent" (a run above, likewise),
					 * "operator", "broker" */
	const char *reason;		/* a few words where nobody asked for it; NULL */
	struct peer peer;		/* of who asked; -1 where unknown */
};

/* Close: no request is admitted any more, its children are closed too, its
 * grants and placeholders end, its streams are cut; then the records `run`
 * (closed) and a sealed `teardown`.  0, or -1 with a problem (409 where it is
 * closed already).  Records that the ledger refused are owed to the run, and are
 * tried again when the next run opens or closes. */
int gate_run_close(struct gate *gate, struct ledger_port *port,
    struct run *run, const struct gate_closer *closer,
    struct gate_run_summary *out, struct gate_problem *why);

/* Write what is owed to runs that ended.  How many still lack something, with the
 * problem of one; 0: none. */
unsigned gate_ends_pay(struct gate *gate, struct ledger_port *port,
    struct gate_problem *why);

/* Close all runs that are open, and write what is owed; as gate_ends_pay. */
unsigned gate_runs_close(struct gate *gate, struct ledger_port *port,
    const struct gate_closer *closer, struct gate_problem *why);

/* How that peer closes the run: as its opener, or as one of the run. */
const char *gate_closer_of(const struct run *run, const struct peer *peer);

/* Referenced; closed ones are remembered for a while. */
struct run *gate_run_by_id(struct gate *gate, struct slice id);

/* The innermost open run whose process tree pid belongs to, referenced; NULL. */
struct run *gate_run_by_process(struct gate *gate, int64_t pid);

/* May this process speak for the run?  Of the run's user and in its process
 * tree, as far as both are known; what is not known does not count against it. */
bool gate_run_admits(struct run *run, const struct peer *peer);

struct gate_run_info {
	char id[GATE_ID_MAX], parent[GATE_ID_MAX];
	char principal[GATE_NAME_MAX], agent_name[GATE_NAME_MAX], agent_version[GATE_NAME_MAX];
	bool open;
	int64_t opened_s;		/* Unix */
	int64_t pid;
	uint64_t start_time;		/* of pid, clock ticks since boot */
	struct policy_budget used, limits;
	uint64_t allowed, refused, failed, redacted;
	struct ledger_receipt receipt;	/* of its `run` record */
	bool narrowed;			/* the rest counts: */
	size_t n_scopes;
	char scopes[DELEGATION_SCOPES_MAX][DELEGATION_SCOPE_MAX + 1];
	int64_t expires_s;		/* Unix; -1: with the run above */
};
/* Milliseconds until its end, or that of a run above it; below 0 beyond, INT64_MAX:
 * it ends with a process or by being closed. */
int64_t gate_run_left_ms(const struct run *run);
/* Is run below above, however deep? */
bool run_below_p(const struct run *run, const struct run *above);
void run_info(struct run *run, struct gate_run_info *out);

/* Runs, newest last; each is valid during the call. */
void gate_run_each(struct gate *gate, void (*each)(void *arg, struct run *run),
    void *arg);

/* What stands in the agent's environment for one binding; valid during the
 * call.  The binding belongs to rules that the caller holds. */
void gate_run_placeholders(struct run *run, const struct rules *rules,
    void (*each)(void *arg, const struct binding *binding,
    const char *placeholder), void *arg);

/* The bindings that it has no placeholder for, since there was no secret to make it
 * like; why, and which `countersign secret` command stores one, or "". */
void gate_run_lacks(const struct run *run, const struct rules *rules,
    void (*each)(void *arg, const struct binding *binding, const char *why,
    const char *remedy), void *arg);

/* Keyed BLAKE2b-256, a short mark (SipHash-2-4 under the key's first half, to pass
 * over quickly what is none) and length of every active version of every secret, bound or
 * not, under a key made for this call: who holds a value can tell that a secret
 * is in it, and nothing else.  False where the vault did not give them all: the
 * bound ones are there even so. */
#define GATE_MARK_LEN 8
typedef void gate_scrub_each(void *arg, const uint8_t tag[32],
    const uint8_t mark[GATE_MARK_LEN], size_t len);
bool gate_scrub_tags(struct gate *gate, uint8_t key[32], gate_scrub_each *each,
    void *arg);

/* --- grants ---------------------------------------------------------- */

struct gate_grant_options {
	const char *action;	/* "http:POST", "git:fetch", "git:push" */
	const char *target;	/* absolute URL; for git the repository's */
	const char *secret, *binding;	/* NULL: the one binding that covers the target */
	int64_t uses, ttl_s;	/* -1: what the policy says, else 1 and 300 */
	struct peer peer;	/* who asked */
};

struct gate_grant_info {
	char id[GATE_ID_MAX], run[GATE_ID_MAX];
	char action[32], binding[BINDING_ID_MAX + 1];
	char target[TARGET_PATH_MAX + TARGET_HOST_MAX + 32];
	int64_t uses, requests_left;
	int64_t expires_s;		/* Unix, for display; the clock that decides is monotonic */
	const char *state;		/* "active", "spent", "expired", "revoked" */
	struct ledger_receipt receipt;
};

/* Ask for a grant.  A refusal is a record too.  0 with the token written once,
 * or -1 with a problem. */
int gate_grant_issue(struct gate *gate, struct gate_thread *thread,
    struct ledger_port *port, struct run *run,
    const struct gate_grant_options *options, char token[GATE_TOKEN_MAX],
    struct gate_grant_info *out, struct gate_problem *why);

/* run NULL: any run's.  0, or -1 with 404. */
int gate_grant_look(struct gate *gate, struct slice id, const struct run *run,
    struct gate_grant_info *out, struct gate_problem *why);
int gate_grant_revoke(struct gate *gate, struct ledger_port *port,
    struct slice id, const struct run *run, struct gate_grant_info *out,
    struct gate_problem *why);

/* --- what a person is asked ------------------------------------------ */

/* One question; the texts are valid during the call. */
struct gate_approval_info {
	const char *id, *state;		/* "q_..."; "waiting", "approved", "denied" */
	const char *run, *principal, *agent;	/* "": not named */
	const char *action, *target;	/* "http:POST", a URL: as an agent gave them */
	const char *secret, *binding;	/* "": none is used */
	const char *rule, *reason;	/* why it is asked */
	int64_t asked_s, expires_s;	/* Unix; -1: with the run */
	unsigned waiting;		/* requests that are held for it now */
	bool for_run;
	struct ledger_receipt receipt;	/* of the answer, where there is one */
};
void gate_approvals_each(struct gate *gate,
    void (*each)(void *arg, const struct gate_approval_info *info), void *arg);

struct gate_approval_answer {
	bool approve;
	bool for_run;			/* the same again, too, until the run ends */
	struct peer peer;		/* who says so */
};

/* Its record is durable before anything goes on under it.  0 after done() was called
 * with it; -1 with a problem: 404, 409 where it is answered or its run is over. */
int gate_approval_answer(struct gate *gate, struct ledger_port *port, struct slice id,
    const struct gate_approval_answer *answer,
    void (*done)(void *arg, const struct gate_approval_info *info), void *arg,
    struct gate_problem *why);

/* --- decisions for adapters ------------------------------------------ */

struct gate_action {
	struct peer peer;
	struct policy_str kind, verb, name;
	struct policy_str args;		/* one JSON value on one line, or NULL */
	struct policy_str scheme, host, path, query, ip;
	int64_t port;			/* -1: none */
	struct policy_str agent_name, agent_version;
	struct policy_str adapter;
};

/* The verdict with its record, as gate_decide gives it; status 200 and
 * policy.verdict say what was decided.  The caller appends the record. */
struct gate_answer {
	enum policy_verdict verdict;
	bool by_gate;			/* refused by a rule of the gate's own */
	struct policy_decision policy;
	struct gate_verdict record;
};
void gate_decide_action(struct gate *gate, struct gate_thread *thread,
    struct run *run, const struct gate_action *action,
    struct gate_answer *out);	/* gate_verdict_release(&out->record) */

/* --- secrets and rules ----------------------------------------------- */

int gate_secret_put(struct gate *gate, struct ledger_port *port,
    const char *name, const void *bytes, size_t len, bool rotate,
    uint32_t *version, struct gate_problem *why);
/* version 0: all.  Streams that use the secret are cut. */
int gate_secret_revoke(struct gate *gate, struct ledger_port *port,
    const char *name, uint32_t version, struct gate_problem *why);
int gate_secret_each(struct gate *gate,
    void (*each)(void *arg, const struct vault_entry *entry), void *arg,
    struct gate_problem *why);

/* The same at once, of a store that may have no answer: unanswered is "", or why it
 * gave none; then these are what it said last. */
int gate_secret_known(struct gate *gate,
    void (*each)(void *arg, const struct vault_entry *entry), void *arg,
    char *unanswered, size_t cap, struct gate_problem *why);

/* Is there a secret in the vault that could not be read?  It is recognised nowhere and
 * not used.  Why: for whoever runs the broker. */
bool gate_secrets_partial(struct gate *gate);
void gate_secrets_why(struct gate *gate, char *buf, size_t cap);
/* Read them all again; waits for the store. */
void gate_secrets_again(struct gate *gate);

/* Let the minter begin, with a port of the ledger that is its thread's alone; it is to be
 * stopped before the gate goes.  0, or -1: no thread. */
int gate_mint(struct gate *gate, struct ledger_port *port);

/* Of a secret for getting tokens, that is in use: until when there is one (Unix; 0: there is
 * none), and why the last try failed, or "".  False for any other. */
bool gate_secret_token(struct gate *gate, const char *name, int64_t *until_s, char *why,
    size_t cap);

/* Read the pack again.  The `policy` record is durable before the new rules
 * decide anything; a bad pack changes nothing (-1, 422). */
int gate_reload(struct gate *gate, struct ledger_port *port,
    char before[POLICY_DIGEST_LEN + 1], char after[POLICY_DIGEST_LEN + 1],
    struct gate_problem *why);

/* Look whether the pack's files are still those that decide; one thread, now and
 * then.  It reads them only where they look different, and waits for nobody. */
void gate_pack_look(struct gate *gate);
/* What the last look found: a reload would bring another pack, or none. */
bool gate_pack_differs(struct gate *gate);

/* The same with a pack that was found and checked elsewhere, and from then on
 * reloads read this one.  source is a word for the record ("bundle"). */
int gate_adopt(struct gate *gate, struct ledger_port *port,
    struct policy_pack *pack, const char *source, struct gate_problem *why);
/* Only a record: a pack from there was not taken, by which rule and why. */
int gate_pack_refused(struct gate *gate, struct ledger_port *port,
    const char *source, const char *rule, const char *reason,
    struct gate_problem *why);

/* --- figures --------------------------------------------------------- */

struct gate_counts {
	uint64_t allowed, refused;		/* requests */
	uint64_t decisions_allow, decisions_deny, decisions_ask;	/* of adapters */
	uint64_t grants_issued, grants_refused, grants_redeemed, grants_revoked;
	uint64_t runs_opened, runs_open;
	uint64_t secrets_changed, reloads, reloads_failed;
	uint64_t engine_failed;		/* decisions that OPA gave no answer to */
	uint64_t approvals_waiting;	/* questions that nobody has answered */
	uint64_t approvals_of_run, approvals_of_all, approvals_of_one;	/* too many: refused */
};
void gate_counts(struct gate *gate, struct gate_counts *out);

#endif
