/* The last records of a run.  Each opening in the ledger gets them: what cannot be
 * written when the run ends is owed, and tried again. */
#include "gate/admin.h"

#include "gate/process.h"
#include "gate/run.h"
#include "gate/words.h"

/* ---- what they say ---- */

/* The name that a process gives itself may be anything, one of our secrets too. */
static bool
name_shows_secret(struct gate *gate, const char *name)
{
	const struct sieve *sieve = secrets_hold(&gate->secrets);
	bool found = sieve_finds(sieve, slice_of(name));

	secrets_let_go(&gate->secrets);
	return found;
}

static void
closer_out(struct json_out *out, struct gate *gate,
    const struct gate_closer *closer)
{
	const struct peer *peer = &closer->peer;
	struct process process;

	json_out_str(out, "by", closer->by);
	if (closer->reason != NULL)
		json_out_str(out, "reason", closer->reason);
	words_peer(out, peer, process_look(peer->pid, &process) &&
	    process.start_time == peer->start_time &&
	    !name_shows_secret(gate, process.name) ? process.name : NULL);
}

/* Of one whose opening the recorder did not answer nothing is known but its id. */
static bool
opening_known(const struct run *run)
{
	return run->receipt.status != LEDGER_SILENT;
}

static int
closed_body(struct gate *gate, const struct run *run, char *buf, size_t cap)
{
	struct json_out out;

	json_out_begin(&out, buf, cap);
	json_out_object(&out, NULL);
	json_out_str(&out, "state", "closed");
	if (opening_known(run))
		json_out_hex(&out, "parent", run->receipt.leaf, LEDGER_LEAF_LEN);
	closer_out(&out, gate, &run->end.closer);
	json_out_object_end(&out);
	return json_out_end(&out);
}

static void
places_out(struct json_out *out, const struct run *run)
{
	const struct ledger_receipt *closed = &run->end.closed;

	if (opening_known(run)) {
		json_out_hex(out, "parent", run->receipt.leaf, LEDGER_LEAF_LEN);
		json_out_uint(out, "first_seq", run->receipt.seq);
	}
	json_out_uint(out, "last_seq", closed->seq);
	if (opening_known(run))
		json_out_uint(out, "first_index", run->receipt.index);
	json_out_uint(out, "last_index", closed->index);
}

static int
teardown_body(struct run *run, char *buf, size_t cap)
{
	struct policy_budget used;
	struct json_out out;

	budget_used(run, &used);
	json_out_begin(&out, buf, cap);
	json_out_object(&out, NULL);
	places_out(&out, run);
	json_out_object(&out, "counts");
	json_out_uint(&out, "allowed", atomic_load(&run->allowed));
	json_out_uint(&out, "refused", atomic_load(&run->refused));
	json_out_uint(&out, "failed", atomic_load(&run->failed));
	json_out_uint(&out, "redacted", atomic_load(&run->redacted));
	json_out_int(&out, "bytes_out", used.bytes_out);
	json_out_int(&out, "cost", used.cost);
	json_out_uint(&out, "grants", atomic_load(&run->issued));
	json_out_uint(&out, "unfinished", run->end.unfinished);
	json_out_object_end(&out);
	json_out_object_end(&out);
	return json_out_end(&out);
}

/* What was only counted, before the run's last record. */
static int
tell_refusals(struct gate *gate, struct ledger_port *port, struct run *run,
    const char *digest, struct gate_problem *why)
{
	struct ledger_receipt receipt;
	struct gate_counted counted;
	char body[4096];

	while (refusals_take_last(gate, run, &counted))
		if (gate_append_patient(port, "refusal", run->id, digest, body,
		    gate_counted_record(&counted, run, body, sizeof(body)),
		    false, &receipt, why) == -1)
			return -1;
	return 0;
}

/* ---- the records, each of them once ---- */

static int
tell_closed(struct gate *gate, struct ledger_port *port, struct run *run,
    const char *digest, struct gate_problem *why)
{
	char body[4096];

	if (run->end.closed_told)
		return 0;
	if (tell_refusals(gate, port, run, digest, why) == -1 ||
	    gate_append_patient(port, "run", run->id, digest, body,
	    closed_body(gate, run, body, sizeof(body)), false,
	    &run->end.closed, why) == -1)
		return -1;
	run->end.closed_told = true;
	return 0;
}

static int
tell_scanned(struct gate *gate, struct ledger_port *port, struct run *run,
    const char *digest, struct gate_problem *why)
{
	struct ledger_receipt scanned;
	char body[SEAL_SCAN_MAX];
	int len;

	if (run->end.scan_told || !opening_known(run))
		return 0;
	len = gate_seal_scan(gate, run, run->end.closed.index, body, sizeof(body));
	if (len > 0 && gate_append_patient(port, "scan", run->id, digest, body, len,
	    false, &scanned, why) == -1)
		return -1;
	run->end.scan_told = true;
	return 0;
}

static int
tell_teardown(struct gate *gate, struct ledger_port *port, struct run *run,
    const char *digest, struct ledger_receipt *sealed, struct gate_problem *why)
{
	char body[4096];

	if (tell_refusals(gate, port, run, digest, why) == -1)
		return -1;
	return gate_append_patient(port, "teardown", run->id, digest, body,
	    teardown_body(run, body, sizeof(body)), true, sealed, why);
}

static int
tell(struct gate *gate, struct ledger_port *port, struct run *run,
    struct ledger_receipt *sealed, struct gate_problem *why)
{
	struct rules *rules = gate_rules(gate);
	int rv = 0;

	if (tell_closed(gate, port, run, rules->digest, why) == -1 ||
	    tell_scanned(gate, port, run, rules->digest, why) == -1 ||
	    tell_teardown(gate, port, run, rules->digest, sealed, why) == -1)
		rv = -1;
	rules_unref(rules);
	return rv;
}

/* ---- those that are owed ---- */

static void
owe(struct gate *gate, struct run *run)
{
	pthread_rwlock_wrlock(&gate->lock);
	run->end.next = gate->owed;
	gate->owed = run_ref(run);
	pthread_rwlock_unlock(&gate->lock);
}

static void
begin(struct run *run, const struct gate_closer *closer)
{
	run->end.closer = *closer;
	run->end.unfinished = atomic_load(&run->in_flight);
}

void
run_end_owe(struct gate *gate, struct run *run, const struct gate_closer *closer)
{
	begin(run, closer);
	owe(gate, run);
}

static struct run *
take_owed(struct gate *gate)
{
	struct run *owed;

	pthread_rwlock_rdlock(&gate->lock);
	owed = gate->owed;
	pthread_rwlock_unlock(&gate->lock);
	if (owed == NULL)
		return NULL;
	pthread_rwlock_wrlock(&gate->lock);
	owed = gate->owed;
	gate->owed = NULL;
	pthread_rwlock_unlock(&gate->lock);
	return owed;
}

unsigned
gate_ends_pay(struct gate *gate, struct ledger_port *port, struct gate_problem *why)
{
	struct run *run = take_owed(gate), *next;
	struct ledger_receipt sealed;
	unsigned left = 0;

	for (; run != NULL; run = next) {
		next = run->end.next;
		/* where one fails now, so do the others */
		if (left > 0 || tell(gate, port, run, &sealed, why) == -1) {
			owe(gate, run);
			left++;
		}
		run_unref(run);
	}
	return left;
}

void
run_ends_forget(struct gate *gate)
{
	struct run *run = take_owed(gate), *next;

	for (; run != NULL; run = next) {
		next = run->end.next;
		run_unref(run);
	}
}

int
run_end(struct gate *gate, struct ledger_port *port, struct run *run,
    const struct gate_closer *closer, struct gate_run_summary *out,
    struct gate_problem *why)
{
	struct ledger_receipt sealed;
	struct policy_budget used;

	begin(run, closer);
	if (tell(gate, port, run, &sealed, why) == -1) {
		owe(gate, run);
		return -1;
	}
	budget_used(run, &used);
	*out = (struct gate_run_summary){
		.first_seq = run->receipt.seq, .last_seq = sealed.seq,
		.first_index = run->receipt.index, .size = sealed.index + 1,
		.allowed = atomic_load(&run->allowed),
		.refused = atomic_load(&run->refused),
		.failed = atomic_load(&run->failed),
		.redacted = atomic_load(&run->redacted),
		.bytes_out = (uint64_t)used.bytes_out,
	};
	out->requests = out->allowed + out->refused + out->failed;
	return 0;
}
