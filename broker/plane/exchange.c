/* An exchange's beginning and end: what it holds, and when that may be let go. */
#include "plane/conn.h"

#include <stdlib.h>

#define SPARE_MAX 64	/* exchanges kept for reuse, by each worker */

struct exchange *
exchange_new(struct conn *conn)
{
	struct worker *worker = conn->worker;
	struct exchange *exchange = worker->spare;

	if (exchange != NULL) {
		worker->spare = exchange->next;
		worker->n_spare--;
	} else if ((exchange = malloc(sizeof(*exchange))) == NULL) {
		return NULL;
	}
	memset(exchange, 0, offsetof(struct exchange, target));
	exchange->worker = worker;
	exchange->conn = conn;
	exchange->began_us = worker->now_us;
	conn->exchange = exchange;
	return exchange;
}

static void
exchange_free(struct exchange *exchange)
{
	struct worker *worker = exchange->worker;

	body_free(exchange);
	if (exchange->decided)
		gate_verdict_release(&exchange->verdict);
	rules_unref(exchange->rules);
	credential_release(exchange->credential);
	run_unref(exchange->run);
	pump_free(&exchange->request);
	pump_free(&exchange->response);
	buf_free(&exchange->head_bytes);
	buf_free(&exchange->hold);
	redact_free(exchange->redact);
	free(exchange->target_text);
	if (worker->n_spare >= SPARE_MAX) {
		free(exchange);
		return;
	}
	exchange->next = worker->spare;
	worker->spare = exchange;
	worker->n_spare++;
}

void
exchange_end(struct exchange *exchange)
{
	if (exchange->conn != NULL)
		exchange->conn->exchange = NULL;
	exchange->conn = NULL;
	if (exchange->upstream != NULL) {
		record_unsent(exchange);
		if (exchange->reusable)
			upstream_give_back(exchange->upstream);
		else
			upstream_drop(exchange->upstream);
		exchange->upstream = NULL;
	}
	if (exchange->waiting || exchange->asked)
		return;		/* record_take, or the decider, comes back here */
	if (exchange->decided && exchange->verdict.allow)
		record_outcome(exchange);
	exchange_free(exchange);
}
