#include "cli/run/run_refused.h"
#include "cli/bind/services.h"
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

/* Which requests it was, where the reason does not say that by itself. */
static void
print_asked(const struct run_reason *one)
{
	if (one->asked[0][0] == '\0' || (one->asked[1][0] == '\0' &&
	    strstr(one->reason, one->asked[0]) != NULL))
		return;
	for (size_t i = 0; i < RUN_ASKED_NAMED && one->asked[i][0] != '\0'; i++)
		fprintf(stderr, "%s%s", i == 0 ? "        " : ", ",
		    cli_clean(one->asked[i]));
	fputs(one->asked_more ? " and others\n" : "\n", stderr);
}

static size_t
refused_by(const struct run_reasons *reasons, const char *rule)
{
	size_t n = 0;

	for (size_t i = 0; i < reasons->n; i++)
		if (strcmp(reasons->one[i].rule, rule) == 0)
			n += reasons->one[i].count;
	return n;
}

/* Nobody may have noticed while it waited: the screen was the agent's. */
static void
print_answers(const struct run_reasons *reasons)
{
	const size_t open = refused_by(reasons, "ask/unanswered") +
	    refused_by(reasons, "ask/waiting");

	if (open + reasons->agreed + reasons->denied == 0)
		return;
	fprintf(stderr, "  a person was asked: %zu approved, %zu denied; %zu "
	    "request%s without an answer\n", reasons->agreed, reasons->denied,
	    open, open == 1 ? "" : "s");
	if (open > 0)
		fputs("    `countersign approve --watch` beside the run shows them "
		    "as they come, and asks\n", stderr);
}

/* Hosts that are bound by a name, where nobody has done so yet: one may have
 * several, for a key and for a login's token. */
static void
print_services(const struct run_reasons *reasons)
{
	const struct service *service;

	for (size_t i = 0; i < reasons->n; i++) {
		if (strcmp(reasons->one[i].rule, "egress/default") != 0)
			continue;
		for (size_t k = 0; (service = service_at(k)) != NULL; k++)
			if (strcmp(service->hosts[0], reasons->one[i].host) == 0)
				fprintf(stderr, "    `countersign bind SECRET "
				    "--service %s` is for %s: %s\n",
				    service->name, service->hosts[0], service->what);
	}
}

/* A server of the agent's own, on this machine: it is asked like any other. */
static bool
refused_loopback(const struct run_reasons *reasons)
{
	for (size_t i = 0; i < reasons->n; i++)
		if (strcmp(reasons->one[i].rule, "egress/default") == 0 &&
		    (strcmp(reasons->one[i].host, "localhost") == 0 ||
		    strcmp(reasons->one[i].host, "::1") == 0 ||
		    strncmp(reasons->one[i].host, "127.", 4) == 0))
			return true;
	return false;
}

/* What the operator can do, should it have been allowed. */
static void
print_remedies(const struct run_reasons *reasons)
{
	if (refused_by(reasons, "binding/method") ||
	    refused_by(reasons, "binding/path") ||
	    refused_by(reasons, "bound-host/path"))
		fputs("    `countersign bind BINDING --add --allow 'METHOD /path'` allows more\n",
		    stderr);
	if (refused_by(reasons, "egress/default"))
		fputs("    `countersign egress allow HOST` lets a host through, `countersign bind` gives it a secret\n",
		    stderr);
	print_services(reasons);
	if (refused_loopback(reasons))
		fputs("    `countersign run --direct-loopback` lets servers on this machine be reached, unseen\n",
		    stderr);
}

void
run_refused_print(const struct run_reasons *reasons, const char *run)
{
	for (size_t i = 0; i < reasons->n && i < RUN_REASONS_SHOWN; i++) {
		fprintf(stderr, "    %zu x %s%s: %s\n", reasons->one[i].count,
		    cli_clean(reasons->one[i].rule),
		    reasons->one[i].below ? " (below)" : "",
		    cli_clean(reasons->one[i].reason));
		print_asked(&reasons->one[i]);
	}
	if (reasons->n > RUN_REASONS_SHOWN)
		fprintf(stderr, "    and %zu other reasons; see `countersign ledger query --type refusal --run %s`\n",
		    reasons->n - RUN_REASONS_SHOWN, cli_clean(run));
	print_remedies(reasons);
	print_answers(reasons);
}

static json_t *
asked_json(const struct run_reason *one)
{
	json_t *list = json_array();

	for (size_t i = 0; i < RUN_ASKED_NAMED && one->asked[i][0] != '\0'; i++)
		json_array_append_new(list, json_string(one->asked[i]));
	return list;
}

json_t *
run_answers_json(const struct run_reasons *reasons)
{
	return json_pack("{s:I, s:I, s:I}", "approved",
	    (json_int_t)reasons->agreed, "denied", (json_int_t)reasons->denied,
	    "unanswered", (json_int_t)(refused_by(reasons, "ask/unanswered") +
	    refused_by(reasons, "ask/waiting")));
}

json_t *
run_refused_json(const struct run_reasons *reasons)
{
	json_t *list = json_array();
	const struct run_reason *one = reasons->one;

	for (; one < reasons->one + reasons->n; one++)
		json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:I, s:b, s:o}",
		    "rule", one->rule, "host", one->host, "reason", one->reason,
		    "count", (json_int_t)one->count, "below", one->below,
		    "asked", asked_json(one)));
	return list;
}
