/* Records on their way: submitted in order, answered in order, parked while
 * the ring is full. */
#include "plane/conn.h"
#include "ledger/clock.h"

#include <stdlib.h>

#define HAND_OVER_AT 8

static bool
healthy(const struct worker *worker)
{
	return ledger_healthy(worker->plane->ledger);
}

/* Nothing new is begun; what waits may become durable yet. */
static bool
silent(const struct worker *worker)
{
	return ledger_silent_s(worker->plane->ledger) != 0;
}

/* Copy the record behind those that wait already. */
static int
park(struct worker *worker, const struct ledger_record *record, uint64_t ticket,
    struct run *settles)
{
	size_t run_len = record->run != NULL ? strlen(record->run) + 1 : 0;
	size_t policy_len = strlen(record->policy) + 1;
	struct backlog *entry;
	char *text;

	entry = malloc(sizeof(*entry) + run_len + policy_len + record->body_len);
	if (entry == NULL)
		return -1;
	*entry = (struct backlog){ .record = *record, .ticket = ticket,
	    .settles = run_ref(settles) };
	text = (char *)(entry + 1);
	memcpy(text, record->body, record->body_len);
	entry->record.body = text;
	text += record->body_len;
	memcpy(text, record->policy, policy_len);
	entry->record.policy = text;
	if (run_len > 0)
		entry->record.run = memcpy(text + policy_len, record->run, run_len);
	if (worker->backlog != NULL)
		worker->backlog_last->next = entry;
	else
		worker->backlog = entry;
	worker->backlog_last = entry;
	worker->n_backlog++;
	return 0;
}

/* Its record is on its way. */
static void
settle(struct backlog *entry)
{
	if (entry->settles != NULL)
		gate_outcome_done(entry->settles);
	run_unref(entry->settles);
	free(entry);
}

static void
settle_handed(struct worker *worker)
{
	struct backlog *entry;

	while ((entry = worker->handed) != NULL) {
		worker->handed = entry->next;
		settle(entry);
	}
}

/* What waits goes into the ring, as far as it has room. */
static void
retry(struct worker *worker)
{
	struct backlog *entry;

	while ((entry = worker->backlog) != NULL) {
		if (healthy(worker) &&
		    ledger_queue(worker->port, &entry->record, entry->ticket) != 0)
			return;
		worker->backlog = entry->next;
		worker->n_backlog--;
		entry->next = worker->handed;
		worker->handed = entry;
	}
}

/* Records go into the ring some at a time, at the latest when the turn ends. */
static int
submit(struct worker *worker, const struct ledger_record *record, uint64_t ticket,
    struct run *settles)
{
	/* What nobody waits for is kept for a recorder that is silent. */
	if (!healthy(worker) || record->body_len > LEDGER_BODY_MAX ||
	    (ticket != LEDGER_NO_RECEIPT && silent(worker)) ||
	    park(worker, record, ticket, settles) != 0)
		return -1;
	worker->queued = true;
	worker->awaited |= ticket != LEDGER_NO_RECEIPT;
	if (worker->n_backlog >= HAND_OVER_AT)
		retry(worker);
	return 0;
}

static void
wake_recorder(struct worker *worker)
{
	ledger_flush(worker->port);
	settle_handed(worker);
	timer_stop(&worker->outcomes);
	worker->queued = worker->awaited = false;
}

/*
 * Waking the recorder costs a change of process and a commit, and a decision
 * that comes during that commit waits for its end.  So it is woken when nothing
 * else is ready, and for outcomes alone, which nobody waits for, a moment later:
 * mostly the next decision takes them along.  They lie in the ring meanwhile, where the
 * recorder finds them even if this process is gone.
 */
void
record_hand_over(struct worker *worker, bool now)
{
	retry(worker);
	if (!worker->queued)
		return;
	if (now || (worker->awaited && !worker->postponed) ||
	    worker->backlog != NULL)
		wake_recorder(worker);
	else if (!timer_armed(&worker->outcomes))
		worker_limit(worker, &worker->outcomes, TIME_OUTCOME);
}

void
record_forget(struct worker *worker)
{
	struct backlog *entry;

	while ((entry = worker->backlog) != NULL) {
		worker->backlog = entry->next;
		settle(entry);
	}
	worker->n_backlog = 0;
	settle_handed(worker);
}

/* The digest of the rules that decided, or of those now in force. */
static void
digest_of(struct exchange *exchange, const struct gate_verdict *verdict,
    char out[LEDGER_POLICY_LEN + 1])
{
	struct rules *rules = NULL;
	const struct rules *used = verdict->rules != NULL ? verdict->rules :
	    exchange->rules;

	if (used == NULL)
		used = rules = gate_rules(exchange->worker->plane->gate);
	memcpy(out, rules_digest(used), LEDGER_POLICY_LEN);
	out[LEDGER_POLICY_LEN] = '\0';
	rules_unref(rules);
}

/* --- waiting ---------------------------------------------------------- */

/* Receipts come in the order of submission: the one looked for is nearly always
 * the first. */
static void
wait_for(struct worker *worker, struct exchange *exchange)
{
	exchange->next = NULL;
	exchange->prev = worker->waiting_last;
	if (exchange->prev != NULL)
		exchange->prev->next = exchange;
	else
		worker->waiting = exchange;
	worker->waiting_last = exchange;
	exchange->waiting = true;
}

void
record_waited(struct exchange *exchange)
{
	struct worker *worker = exchange->worker;

	if (exchange->prev != NULL)
		exchange->prev->next = exchange->next;
	else
		worker->waiting = exchange->next;
	if (exchange->next != NULL)
		exchange->next->prev = exchange->prev;
	else
		worker->waiting_last = exchange->prev;
	exchange->next = exchange->prev = NULL;
	exchange->waiting = false;
}

void
record_submit(struct exchange *exchange, const struct gate_verdict *verdict)
{
	struct worker *worker = exchange->worker;
	char policy[LEDGER_POLICY_LEN + 1];
	struct ledger_record record = { .type = verdict->record_type,
	    .run = exchange->run != NULL ? run_id(exchange->run) : NULL,
	    .policy = policy, .body = verdict->record,
	    .body_len = verdict->record_len };

	digest_of(exchange, verdict, policy);
	exchange->recorded = exchange->failed = false;
	exchange->ticket = worker->next_ticket++;
	if (submit(worker, &record, exchange->ticket, NULL) != 0)
		exchange->failed = true;
	else
		wait_for(worker, exchange);
}

bool
record_refusal(struct exchange *exchange, const struct gate_verdict *verdict)
{
	struct worker *worker = exchange->worker;
	int64_t uid = exchange->conn != NULL ? exchange->conn->peer.uid : -1;

	if (!healthy(worker) || (exchange->run != NULL ?
	    gate_refusal_alone(worker->plane->gate, exchange->run, verdict,
	    exchange->head.target_form == HEAD_AUTHORITY ? "connect" : "http",
	    uid, exchange->has_target ? &exchange->target : NULL) :
	    flood_admits(&worker->plane->flood, uid, verdict,
	    worker_now_ms(worker), clock_wall_us()))) {
		record_submit(exchange, verdict);
		return true;
	}
	if (!timer_armed(&worker->flood))
		worker_limit(worker, &worker->flood, TIME_FLOOD);
	return false;
}

/* A run is held until its record is handed over. */
static void
tell_counted(struct worker *worker, const struct gate_counted *counted,
    struct run *run, const char *digest)
{
	const int n = gate_counted_record(counted, run, worker->outcome,
	    sizeof(worker->outcome));
	const struct ledger_record record = { .type = "refusal",
	    .run = run != NULL ? run_id(run) : NULL, .policy = digest,
	    .body = worker->outcome, .body_len = n > 0 ? (size_t)n : 0 };

	if (n <= 0 || submit(worker, &record, LEDGER_NO_RECEIPT, run) != 0)
		gate_outcome_done(run);
}

void
record_counted(struct worker *worker, bool all)
{
	struct rules *rules = gate_rules(worker->plane->gate);
	struct gate *gate = worker->plane->gate;
	struct gate_counted counted;
	struct run *run = NULL;

	while (flood_take(&worker->plane->flood, worker_now_ms(worker), all,
	    &counted))
		tell_counted(worker, &counted, NULL, rules_digest(rules));
	/* At the end who closes the runs tells theirs. */
	while (!all && gate_refusals_take(gate, false, &run, &counted)) {
		tell_counted(worker, &counted, run, rules_digest(rules));
		run_unref(run);
	}
	rules_unref(rules);
	if (!all && (flood_pending(&worker->plane->flood) ||
	    gate_refusals_pending(gate)))
		worker_limit(worker, &worker->flood, TIME_FLOOD);
}

void
record_unsent(struct exchange *exchange)
{
	if (exchange->upstream != NULL && exchange->sent)
		exchange->unsent += exchange->upstream->out.len;
}

/* Of the body, what left: a head or framing that lies in the buffer still only
 * makes this smaller. */
static uint64_t
bytes_sent(const struct exchange *exchange)
{
	uint64_t taken = exchange->request.taken, left = exchange->unsent + exchange->body.len;

	if (exchange->upstream != NULL && exchange->sent)
		left += exchange->upstream->out.len;
	return left < taken ? taken - left : 0;
}

void
record_outcome(struct exchange *exchange)
{
	struct worker *worker = exchange->worker;
	char *body = worker->outcome;
	char policy[LEDGER_POLICY_LEN + 1];
	struct gate_outcome outcome = { .status = exchange->status,
	    .bytes_out = bytes_sent(exchange),
	    .bytes_in = exchange->response.taken,
	    .duration_us = (uint64_t)(timer_now_us() - exchange->began_us),
	    .redactions = reply_redactions(exchange), .error = exchange->error,
	    .failed = exchange->unreached, .refused = exchange->withdrawn,
	    .unanswered = exchange->status == 0 &&
	    exchange->head.target_form != HEAD_AUTHORITY,
	    .head_sent = exchange->head_sent };
	struct ledger_record record = { .type = "outcome", .policy = policy,
	    .run = exchange->run != NULL ? run_id(exchange->run) : NULL,
	    .body = body };
	int n;

	if (exchange->passed > outcome.bytes_out)
		gate_return_bytes(exchange->run,
		    exchange->passed - outcome.bytes_out);
	memcpy(outcome.parent, exchange->leaf, sizeof(outcome.parent));
	n = gate_outcome_record(worker->plane->gate, exchange->run,
	    &exchange->verdict, &outcome, body, sizeof(worker->outcome));
	worker_count(worker, COUNT_BYTES_OUT, outcome.bytes_out);
	worker_count(worker, COUNT_BYTES_IN, outcome.bytes_in);
	worker_count(worker, COUNT_REDACTIONS, outcome.redactions);
	if (n >= 0 && exchange->recorded) {
		record.body_len = (size_t)n;
		digest_of(exchange, &exchange->verdict, policy);
		if (submit(worker, &record, LEDGER_NO_RECEIPT, exchange->run) == 0)
			return;
	}
	gate_outcome_done(exchange->run);	/* booked, but no record can tell */
}

/* --- receipts --------------------------------------------------------- */

static void
answered(struct exchange *exchange, const struct ledger_receipt *receipt)
{
	record_waited(exchange);
	exchange->recorded = receipt->status == LEDGER_DURABLE;
	exchange->failed = !exchange->recorded;
	memcpy(exchange->leaf, receipt->leaf, sizeof(exchange->leaf));
	if (exchange->conn != NULL)
		conn_run(exchange->conn);
	else
		exchange_end(exchange);
}

static struct exchange *
find(struct worker *worker, uint64_t ticket)
{
	struct exchange *at = worker->waiting;

	while (at != NULL && at->ticket != ticket)
		at = at->next;
	return at;
}

void
record_take(struct worker *worker)
{
	struct ledger_receipt receipt = { .status = LEDGER_FAILED };
	struct exchange *exchange;

	while (ledger_receipt(worker->port, &receipt)) {
		exchange = find(worker, receipt.ticket);
		if (exchange != NULL)
			answered(exchange, &receipt);
	}
	retry(worker);
	if (healthy(worker))
		return;
	/* Nobody answers any more; nothing that waits may go on. */
	receipt = (struct ledger_receipt){ .status = LEDGER_FAILED };
	while (worker->waiting != NULL)
		answered(worker->waiting, &receipt);
}
