/* /metrics: the text format of Prometheus, version 0.0.4. */
#include "api/impl.h"

#include "anchor/anchorer.h"
#include "plane/plane.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define METRICS_MAX 16384

struct page {
	char *text;
	size_t len;
};

static void
put(struct page *page, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void
put(struct page *page, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(page->text + page->len, METRICS_MAX - page->len, format,
	    args);
	va_end(args);
	if (n > 0 && (size_t)n < METRICS_MAX - page->len)
		page->len += (size_t)n;
}

static void
head(struct page *page, const char *name, const char *type, const char *help)
{
	put(page, "# HELP countersign_%s %s\n# TYPE countersign_%s %s\n", name,
	    help, name, type);
}

static void
one(struct page *page, const char *name, const char *type, const char *help,
    uint64_t value)
{
	head(page, name, type, help);
	put(page, "countersign_%s %" PRIu64 "\n", name, value);
}

static void
labelled(struct page *page, const char *name, const char *label,
    const char *is, uint64_t value)
{
	put(page, "countersign_%s{%s=\"%s\"} %" PRIu64 "\n", name, label, is,
	    value);
}

static void
of_gate(struct page *page, struct gate *gate)
{
	struct gate_counts n;

	gate_counts(gate, &n);
	head(page, "requests_total", "counter", "Requests that the gate decided.");
	labelled(page, "requests_total", "decision", "allow", n.allowed);
	labelled(page, "requests_total", "decision", "deny", n.refused);
	head(page, "decisions_total", "counter", "Actions that adapters asked about.");
	labelled(page, "decisions_total", "decision", "allow", n.decisions_allow);
	labelled(page, "decisions_total", "decision", "deny", n.decisions_deny);
	labelled(page, "decisions_total", "decision", "ask", n.decisions_ask);
	head(page, "grants_total", "counter", "Grants, by what became of them.");
	labelled(page, "grants_total", "event", "issued", n.grants_issued);
	labelled(page, "grants_total", "event", "refused", n.grants_refused);
	labelled(page, "grants_total", "event", "redeemed", n.grants_redeemed);
	labelled(page, "grants_total", "event", "revoked", n.grants_revoked);
	one(page, "runs_total", "counter", "Runs opened.", n.runs_opened);
	one(page, "runs_open", "gauge", "Runs open now.", n.runs_open);
	one(page, "approvals_waiting", "gauge", "Questions that wait for a person's answer.", n.approvals_waiting);
	head(page, "approvals_too_many_total", "counter", "Requests refused since too many ask a person, by whose the limit is: the run's, that of all runs, the question's.");
	labelled(page, "approvals_too_many_total", "limit", "run", n.approvals_of_run);
	labelled(page, "approvals_too_many_total", "limit", "all", n.approvals_of_all);
	labelled(page, "approvals_too_many_total", "limit", "question", n.approvals_of_one);
	one(page, "vault_partial", "gauge", "1 while secrets of the vault could not be read.", gate_secrets_partial(gate));
	one(page, "secret_changes_total", "counter", "Secrets stored, rotated or revoked.", n.secrets_changed);
	head(page, "policy_reloads_total", "counter", "Reloads of the policy pack.");
	labelled(page, "policy_reloads_total", "result", "ok", n.reloads);
	labelled(page, "policy_reloads_total", "result", "failed", n.reloads_failed);
	one(page, "policy_engine_failures_total", "counter", "Decisions that a policy server gave no answer to.", n.engine_failed);
}

static void
of_ledger(struct page *page, const struct ledger *ledger)
{
	struct ledger_counts n;

	ledger_counts(ledger, &n);
	one(page, "ledger_up", "gauge", "1 while records can be made durable.", ledger_healthy(ledger) && ledger_silent_s(ledger) == 0);
	one(page, "ledger_silent_seconds", "gauge", "For how long the recorder has not answered; 0 while it does.", ledger_silent_s(ledger));
	one(page, "ledger_full", "gauge", "1 where the last record found no space.", n.full);
	if (n.space >= 0)
		one(page, "ledger_space_bytes", "gauge", "Bytes that may still be written where the ledger is.", (uint64_t)n.space);
	one(page, "ledger_records_total", "counter", "Records appended.", n.records);
	one(page, "ledger_batches_total", "counter", "Batches made durable together.", n.batches);
	one(page, "ledger_checkpoints_total", "counter", "Checkpoints signed.", n.checkpoints);
	one(page, "ledger_refused_total", "counter", "Records refused for want of space.", n.refused);
	one(page, "ledger_bytes_total", "counter", "Bytes of records.", n.bytes);
}

/* Several lines of one name stand together. */
static void
of_parties(struct page *page, const struct anchorer *anchorer,
    const char *name, const char *type, const char *help,
    uint64_t (*value)(const struct anchor_view *view, uint64_t size),
    uint64_t size)
{
	struct anchor_view view;

	head(page, name, type, help);
	for (unsigned i = 0; i < anchorer_parties(anchorer); i++) {
		anchorer_look(anchorer, i, &view);
		labelled(page, name, view.witness ? "witness" : "authority",
		    view.name, value(&view, size));
	}
}

static uint64_t
is_good(const struct anchor_view *view, uint64_t size)
{
	return view->reason == ANCHOR_GOOD;
}

static uint64_t
is_alarm(const struct anchor_view *view, uint64_t size)
{
	return anchor_reason_alarm(view->reason);
}

static uint64_t
behind(const struct anchor_view *view, uint64_t size)
{
	return size > view->size ? size - view->size : 0;
}

static uint64_t
time_of(const struct anchor_view *view, uint64_t size)
{
	return view->time_s;
}

static uint64_t
failed(const struct anchor_view *view, uint64_t size)
{
	return view->failed;
}

static void
of_anchors(struct page *page, const struct api *api)
{
	const struct anchorer *anchorer = api->options.anchorer;
	uint64_t size = api_signed_size(api);

	one(page, "ledger_signed_size", "gauge", "Records that the latest checkpoint signs.", size);
	if (anchorer == NULL)
		return;
	one(page, "anchoring_up", "gauge", "1 while the anchoring process runs.", anchorer_alive(anchorer));
	of_parties(page, anchorer, "anchor_up", "gauge", "1 where the last answer was what was asked for.", is_good, size);
	of_parties(page, anchorer, "anchor_alarm", "gauge", "1 where a witness contradicts this ledger.", is_alarm, size);
	of_parties(page, anchorer, "anchor_behind_records", "gauge", "Signed records that nobody of that name vouches for yet.", behind, size);
	of_parties(page, anchorer, "anchor_time_seconds", "gauge", "When it last vouched, by its own clock, since 1970.", time_of, size);
	of_parties(page, anchorer, "anchor_failures_total", "counter", "Answers that did not come or were not what was asked for.", failed, size);
}

static void
of_plane(struct page *page, const struct plane *plane)
{
	struct plane_counts n;

	if (plane == NULL)
		return;
	plane_counts(plane, &n);
	one(page, "connections_total", "counter", "Client connections accepted.", n.connections);
	one(page, "connections_open", "gauge", "Client connections open now.", n.open);
	one(page, "connections_gave_way_total", "counter", "Client connections closed while idle, for others.", n.gave_way);
	head(page, "connections_unread_total", "counter", "Client connections closed before anything of them was read, by what there was too little of.");
	labelled(page, "connections_unread_total", "reason", "limit", n.unread_limit);
	labelled(page, "connections_unread_total", "reason", "descriptors", n.unread_files);
	labelled(page, "connections_unread_total", "reason", "memory", n.unread_memory);
	one(page, "proxy_requests_total", "counter", "Requests read by the data plane.", n.requests);
	one(page, "proxy_allowed_total", "counter", "Requests forwarded.", n.allowed);
	one(page, "proxy_refused_total", "counter", "Requests refused by the data plane.", n.refused);
	one(page, "tunnels_total", "counter", "Tunnels opened.", n.tunnels);
	one(page, "intercepted_total", "counter", "TLS connections intercepted.", n.intercepted);
	one(page, "body_bytes_out_total", "counter", "Body bytes sent upstream.", n.bytes_out);
	one(page, "body_bytes_in_total", "counter", "Body bytes received from upstream.", n.bytes_in);
	one(page, "redactions_total", "counter", "Occurrences of a secret replaced in responses.", n.redactions);
	one(page, "upstream_errors_total", "counter", "Requests that failed upstream.", n.upstream_errors);
}

static void
of_api(struct page *page, struct api *api)
{
	static const char *const class[] = { "", "1xx", "2xx", "3xx", "4xx", "5xx" };

	head(page, "api_answers_total", "counter", "Answers of the local API.");
	for (size_t i = 2; i < 6; i++)
		labelled(page, "api_answers_total", "status", class[i],
		    atomic_load(&api->answers[i]));
}

void
api_metrics(struct api_call *call)
{
	struct page page = { malloc(METRICS_MAX), 0 };

	if (page.text == NULL) {
		api_answer(call, 503, NULL);
		return;
	}
	head(&page, "info", "gauge", "The running version.");
	labelled(&page, "info", "version", COUNTERSIGN_VERSION, 1);
	of_gate(&page, call->api->options.gate);
	of_ledger(&page, call->api->options.ledger);
	of_anchors(&page, call->api);
	of_plane(&page, call->api->options.plane);
	of_api(&page, call->api);
	api_answer_text(call, 200, "text/plain; version=0.0.4; charset=utf-8",
	    page.text, page.len);
}
