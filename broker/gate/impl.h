/*
 * What the gate's own sources share.  Nobody else includes this.
 *
 * Locks, in the order in which they may be taken:
 *   admin        reloads and changes of secrets, one at a time; held over I/O
 *   lock         the tables: runs by token and id, credentials, grants by id.
 *                Held for a look-up or an insertion, never over I/O.
 *   rules_lock   the pointer to the rules in force; held for one reference.  Who
 *                holds the very rules may compare without it
 *   run->lock    a run's late allowances and its known processes
 *   secrets.lock see secrets.h
 *   refusals_lock all runs' refusals; held for a look
 *   anchored's   taken alone; held over the record of an anchor
 *   approvals.lock see approvals.h
 * Everything that counts is atomic.  What a table points to is freed only when
 * its last reference goes; tables hold one.
 */
#ifndef BROKER_GATE_IMPL_H
#define BROKER_GATE_IMPL_H

#include "gate/admin.h"
#include "gate/approvals.h"
#include "gate/keyed.h"
#include "gate/refusals.h"
#include "gate/secrets.h"
#include "gate/sieve.h"
#include "gate/table.h"
#include "ledger/clock.h"
#include "ledger/scan/scan.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define RUNS_OPEN_MAX 4096
#define RUNS_CLOSED_KEPT 256	/* so that what they held can still be named */
#define GRANTS_PER_RUN_MAX 4096
#define RUN_DEPTH_MAX 8
#define RUN_PEERS_KEPT 16

#define PACK_STAMP_LEN 32	/* of the names, sizes and times of a pack's files */

#define TOKEN_RUN "csr1_"
#define TOKEN_GRANT "csg1_"
#define TOKEN_LEN 48	/* prefix and 43 digits */
#define PLACEHOLDER_TEXT_MAX 4096	/* longer text in a slot is nothing of ours */

/* --- rules.c --------------------------------------------------------- */

struct rules {
	atomic_uint refs;
	struct policy_pack *pack;
	struct bindings *bindings;
	char digest[POLICY_DIGEST_LEN + 1];
};

struct rules *rules_load(const char *path, char *err, size_t err_len);
/* Of a pack that was loaded already; takes a reference to it. */
struct rules *rules_of(struct policy_pack *pack, char *err, size_t err_len);
/* What decides must be there when somebody looks at the evidence: write it to
 * the gate's packs_dir, where it has one. */
int rules_keep(struct gate *gate, const struct rules *rules, char *err,
    size_t err_len);
struct rules *rules_ref(struct rules *rules);

/* --- judge.c --------------------------------------------------------- */

/* Have the engine decide: the evaluator with the rules' pack, or OPA, which
 * blocks until the thread's deadline at most. */
void gate_judge(struct gate_thread *thread, const struct rules *rules,
    const struct policy_input *input, struct policy_decision *out);

/* --- who may present what -------------------------------------------- */

enum credential_kind { CREDENTIAL_PLACEHOLDER, CREDENTIAL_GRANT };

/* What a slot's text can turn out to be; a node of gate->credentials. */
struct credential {
	struct table_node node;		/* first: a node is a credential */
	enum credential_kind kind;
	struct run *run;		/* whose; not counted, the run owns it */
};

/* One run and one binding: the placeholder, and what was used. */
struct allowance {
	struct credential credential;
	char binding[BINDING_ID_MAX + 1];
	char *placeholder;		/* NULL: the binding came after the run */
	_Atomic int64_t requests;
	struct allowance *next;		/* of the late ones */
};

enum grant_action { GRANT_HTTP, GRANT_GIT_FETCH, GRANT_GIT_PUSH };

struct grant {
	struct credential credential;
	struct table_node by_id;
	atomic_uint refs;
	char id[GATE_ID_MAX];
	enum grant_action action;
	char verb[24];			/* of GRANT_HTTP */
	struct target target;		/* path and query point into text */
	char *text;
	char binding[BINDING_ID_MAX + 1], secret[VAULT_NAME_MAX + 1];
	struct peer peer;
	int64_t uses, expires_ns, expires_s;	/* clock_boot_ns; Unix */
	_Atomic int64_t left;		/* requests */
	atomic_bool revoked;
	bool approved;			/* a person agreed to it */
	struct ledger_receipt receipt;
	struct grant *next;		/* of the run, newest first; under gate->lock */
};

struct run {
	struct table_node by_token, by_id;
	atomic_uint refs;
	struct run *next;		/* gate's list, oldest first */
	struct run *parent;		/* referenced */
	char id[GATE_ID_MAX];
	char principal[GATE_NAME_MAX], agent_name[GATE_NAME_MAX], agent_version[GATE_NAME_MAX];
	char principal_mark[KEYED_TEXT_MAX];	/* what records show for it */
	struct process_id { int64_t pid; uint64_t start_time; } root;	/* -1 */
	int64_t uids[2];		/* whose processes may speak for it; -1: anybody's */
	int64_t opened_ns, opened_boot_ns;
	_Atomic int64_t closed_boot_ns;	/* 0 while it is open */
	struct policy_budget limits;	/* narrowed by the parents' */
	struct delegation *delegation;	/* NULL: nothing narrows it */
	_Atomic int64_t used_requests, used_bytes_out, used_cost;
	_Atomic uint64_t allowed, refused, failed, redacted, in_flight;
	_Atomic uint64_t held;		/* run_hold; of all below it too, which have 0 */
	atomic_bool open;
	atomic_bool settled;		/* closed, and its last records are written or never will be */
	struct ledger_receipt receipt;	/* of its opening; LEDGER_SILENT: whether there is one is not known */
	struct run_end {
		struct gate_closer closer;
		struct ledger_receipt closed;	/* once it is told */
		/* Admitted, and without an outcome when the first of its last records was
		 * made: what is handed over by another thread meanwhile may come to stand
		 * behind the teardown. */
		uint64_t unfinished;
		bool closed_told, scan_told;
		struct run *next;	/* gate->owed */
	} end;

	struct allowance *allowances;	/* sorted by binding; fixed at opening */
	size_t n_allowances;
	struct sieve *sieve;		/* over their placeholders, same index */
	struct lack {			/* a binding without one, and why */
		char binding[BINDING_ID_MAX + 1];
		enum secrets_result why;
	} *lacks;
	size_t n_lacks;

	pthread_mutex_t lock;
	struct allowance *late;
	struct process_id peers[RUN_PEERS_KEPT];	/* known to belong here */
	unsigned next_peer;
	struct process_id below[RUN_BELOW_MAX];	/* roots of open runs below */
	unsigned n_below;

	struct grant *grants;
	size_t n_grants;		/* of them, usable or not */
	_Atomic uint64_t issued;	/* records of grants */

	struct refusals refusals;
};

struct gate {
	struct vault *vault;
	char *pack_path, *packs_dir;	/* packs_dir: NULL where nothing is kept */
	char *ledger_dir, *tags_dir;	/* NULL: no scan before sealing */
	_Atomic int64_t tidied_s;	/* when old tags were looked for */
	pthread_mutex_t place_lock;
	struct scan_place place;	/* near the records of runs that end now */
	struct ledger_port *mint_port;	/* of the minter's thread; NULL before gate_mint */
	struct keyed *keyed;
	struct anchored *anchored;	/* NULL: nobody vouches for the ledger */
	const struct opa *opa;		/* NULL: the evaluator decides */

	pthread_mutex_t admin;
	pthread_rwlock_t lock;
	struct table tokens, ids, credentials, grants;
	struct run *first_run, *last_run;
	size_t n_open, n_closed;
	struct run *owed;		/* referenced: runs whose last records are not all written */

	pthread_mutex_t rules_lock;
	_Atomic(struct rules *) rules;
	struct secrets secrets;
	struct approvals approvals;

	/* pack_look.c; under admin, but for the last */
	char pack_seen[POLICY_DIGEST_LEN + 1];	/* in force when it was looked; "": look again */
	uint8_t pack_stamp[PACK_STAMP_LEN];
	atomic_bool pack_differs;

	pthread_mutex_t refusals_lock;
	struct run *counting;		/* runs with refusals that are to be told */
	_Atomic unsigned n_counting;

	void (*cut)(void *arg, const struct gate_cut *what);
	void *cut_arg;

	_Atomic uint64_t allowed, refused;
	_Atomic uint64_t decisions[3];	/* by enum policy_verdict */
	_Atomic uint64_t grants_issued, grants_refused, grants_redeemed, grants_revoked;
	_Atomic uint64_t runs_opened, secrets_changed, reloads, reloads_failed;
	_Atomic uint64_t engine_failed;
};

struct gate_thread {
	struct gate *gate;
	struct policy_scratch *scratch;
	struct opa_link *opa;		/* NULL: the evaluator decides */
	int64_t until_ms;		/* clock_boot_ns / 10^6; 0: a whole deadline */
	struct policy_decision decision;
	struct head head;		/* of the request, without our own fields */
	char text[HEAD_BYTES_MAX];	/* decoded parts of it */
	char slot[HEAD_BYTES_MAX];	/* inject_slot's */
	char query[TARGET_QUERY_MAX];	/* without the credential's pair */
	struct policy_input_kept worded;	/* one before it */
	char input[GATE_RECORD_MAX];
};

/* 503: the secrets find no room in locked memory; -1. */
int gate_no_memory(struct gate *gate, struct gate_problem *why);

/* A `secret` record; which vault it is and its generation are added where the store
 * has them. */
struct secret_event {
	const char *event, *name;	/* name NULL: of the vault as a whole */
	uint32_t version;		/* 0: of all, or none */
	uint64_t known;			/* the generation that the ledger knew of; 0: not said */
	bool unerased;			/* the store did not hear of it */
	const char *from, *to;		/* the host that gave a token; that is asked; NULL */
	int64_t expires_s;		/* Unix; 0: not said */
	const char *error;		/* NULL: it went well */
};
int gate_secret_record(struct gate *gate, struct ledger_port *port,
    const struct secret_event *what, struct gate_problem *why);

/* Tell the data plane. */
void gate_cut(struct gate *gate, const struct gate_cut *what);

/* --- run.c, grant.c -------------------------------------------------- */

/* The caller holds gate->lock for writing. */
void run_drop_locked(struct gate *gate, struct run *run);

/* Take one of max requests to that binding, also from the runs above: all or
 * none.  And give it back. */
bool allowance_spend(struct run *run, const char *binding, int64_t max);
void allowance_return(struct run *run, const char *binding);

/* Placeholder or grant with that text: its run referenced, a grant too. */
struct credential *gate_credential(struct gate *gate, struct slice text);
/* Another reference; credential_release() (gate.h) gives one back. */
struct credential *credential_ref(struct credential *credential);

struct grant *grant_of(struct credential *credential);
struct allowance *allowance_of(struct credential *credential);

void grant_unref(struct grant *grant);

/* Does it cover this request?  NULL, or the rule; then *reason is set. */
const char *grant_covers(const struct grant *grant, struct slice method,
    const struct target *target, struct slice query, const char **reason);
/* Is it alive, and may this peer use it?  The same. */
const char *grant_usable(const struct grant *grant, const struct peer *peer,
    const char **reason);
/* Take one request of it; false where another one was faster. */
bool grant_spend(struct grant *grant);
void grant_info_fill(struct grant *grant, struct gate_grant_info *out);

/* The secret of a binding as the vault has it now, referenced.  now: see
 * secrets_take. */
enum secrets_result gate_secret_take(struct gate *gate, struct rules *rules,
    const struct binding *binding, bool now, struct secret **secret,
    struct redact_needles **needles, uint32_t *version);

/* Cut to fit, never inside a UTF-8 sequence. */
void gate_text_copy(char *out, size_t cap, const char *text);

/* gate_refusal_alone() of what a run asked for and did not get. */
bool problem_alone(struct gate *gate, struct run *run,
    const struct gate_problem *why, const char *kind, int64_t uid);

void gate_problem_set(struct gate_problem *why, unsigned status, const char *rule,
    const char *detail, const char *remedy);

/*
 * seal_scan.c.  Look in the run's records, up to the one with index last, for
 * every secret of the vault in all its encodings; write the tags with which an
 * auditor can do the same (tags_dir/<run>.tags); and word the record that says
 * both into buf.  Its length; 0 where the gate has no ledger_dir.
 */
#define SEAL_SCAN_MAX 8192
int gate_seal_scan(struct gate *gate, const struct run *run, uint64_t last,
    char *buf, size_t cap);

/* old_tags.c.  Remove the tags of runs that were closed 30 days before now, which
 * nobody made a bundle of: they can be made again only with another key, and no
 * record names those, but a file that is kept for ever helps nobody but a thief.
 * At most once an hour, whoever asks. */
void gate_tags_tidy(struct gate *gate, time_t now);

/* Append and wait; a failure becomes a 503, and so does a recorder that is silent:
 * what was asked for may be recorded yet, and was not done. */
int gate_append(struct ledger_port *port, const char *type,
    const char *run, const char *policy, const char *body, int len, bool seal,
    struct ledger_receipt *receipt, struct gate_problem *why);
/* For what must be as recorded, whenever that is: waits for a silent one too. */
int gate_append_patient(struct ledger_port *port, const char *type,
    const char *run, const char *policy, const char *body, int len, bool seal,
    struct ledger_receipt *receipt, struct gate_problem *why);

/* --- claims.c: also of losses.c --- */

/* Is it a name of the broker's own adapters?  Then refused: who spoke for the proxy
 * would vouch for what goes around it.  instance: NULL where there is none. */
bool gate_claims_ours(const char *adapter, const char *instance, struct gate_problem *why);

/* A record of what an adapter says, while the run is open: nothing of it stands behind
 * its teardown.  Refused where it holds a secret. */
int gate_claims_append(struct gate *gate, struct ledger_port *port, struct run *run,
    const char *type, const char *body, struct ledger_receipt *receipt, struct gate_problem *why);

#endif
