#include "cli/run/run_reasons.h"
#include "cli/client.h"
#include "ledger/input.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What was asked for.  Not where a budget ended: there that says nothing. */
static void
note_asked(struct run_reason *one, const json_t *body)
{
	const json_t *input = json_object_get(body, "input");
	const char *path = client_str(json_object_get(input, "target"), "path");
	char text[sizeof(one->asked[0])];
	size_t i;

	if (path[0] == '\0' || strncmp(one->rule, "budget/", 7) == 0)
		return;
	snprintf(text, sizeof(text), "%s %s", client_str(json_object_get(input,
	    "action"), "verb"), path);
	for (i = 0; i < RUN_ASKED_NAMED && one->asked[i][0] != '\0'; i++)
		if (strcmp(one->asked[i], text) == 0)
			return;
	if (i < RUN_ASKED_NAMED)
		memcpy(one->asked[i], text, sizeof(text));
	else
		one->asked_more = true;
}

/* A person's answer is a record of its own; what was refused for it is another. */
static bool
count_answer(struct run_reasons *reasons, const json_t *body)
{
	if (json_object_get(body, "approval") == NULL)
		return false;
	if (strcmp(client_str(body, "decision"), "allow") == 0)
		reasons->agreed++;
	else
		reasons->denied++;
	return true;
}

static void
count(struct run_reasons *reasons, const json_t *body, bool below)
{
	const json_t *input = json_object_get(body, "input");
	/* those that are told by number have no input */
	const json_t *target = json_object_get(input != NULL ? input : body, "target");
	const json_int_t told = json_integer_value(json_object_get(body, "count"));
	const size_t n = told > 1 ? (size_t)told : 1;
	const char *rule = client_str(body, "rule");
	const char *host = client_str(target, "host");
	struct run_reason *one;
	size_t i;

	for (i = 0; i < reasons->n; i++)
		if (reasons->one[i].below == below &&
		    strncmp(reasons->one[i].rule, rule, sizeof(one->rule) - 1) == 0 &&
		    strncmp(reasons->one[i].host, host, sizeof(one->host) - 1) == 0) {
			reasons->one[i].count += n;
			note_asked(&reasons->one[i], body);
			return;
		}
	if (reasons->n == RUN_REASONS_MAX)
		return;
	one = &reasons->one[reasons->n++];
	snprintf(one->rule, sizeof(one->rule), "%s", rule);
	snprintf(one->host, sizeof(one->host), "%s", host);
	snprintf(one->reason, sizeof(one->reason), "%s",
	    client_str(body, "reason"));
	one->count = n;
	one->below = below;
	note_asked(one, body);
}

/* A tunnel to a host without a binding is passed through as it is. */
static void
count_tunnel(struct run_reasons *reasons, const json_t *body)
{
	const json_t *target = json_object_get(json_object_get(body, "input"),
	    "target");
	const char *host = client_str(target, "host");
	size_t i;

	if (strcmp(client_str(body, "kind"), "connect") != 0 ||
	    strcmp(client_str(body, "decision"), "allow") != 0 ||
	    json_object_get(body, "binding") != NULL)
		return;
	reasons->tunnels++;
	for (i = 0; i < RUN_TUNNELS_NAMED && reasons->tunnel_hosts[i][0] != '\0';
	    i++)
		if (strcmp(reasons->tunnel_hosts[i], host) == 0)
			return;
	if (i < RUN_TUNNELS_NAMED)
		snprintf(reasons->tunnel_hosts[i], sizeof(reasons->tunnel_hosts[i]),
		    "%s", host);
}

/* What was sent, and answered badly.  Who was not even reached is counted apart. */
static void
count_outcome(struct run_reasons *reasons, const json_t *body)
{
	reasons->no_answer += json_object_get(body, "ended") == NULL &&
	    strncmp(client_str(body, "error"), "upstream_", 9) == 0;
}

static void
count_lost(struct run_reasons *reasons, const json_t *body)
{
	if (reasons->lost == 0)
		snprintf(reasons->lost_by, sizeof(reasons->lost_by), "%s, %s",
		    client_str(body, "adapter"), client_str(body, "reason"));
	reasons->lost += (long long)json_integer_value(json_object_get(body, "count"));
}

/* --- runs below ------------------------------------------------------- */

static bool
is_below(const struct run_below *below, const char *run)
{
	size_t i;

	for (i = 0; i < below->n; i++)
		if (strcmp(below->id[i], run) == 0)
			return true;
	return false;
}

/* A run that was opened below this one, or below one that was. */
static void
note_below(struct run_below *below, const char *id)
{
	char (*grown)[RUN_ID_MAX + 1];

	if (strlen(id) > RUN_ID_MAX || is_below(below, id))
		return;
	grown = reallocarray(below->id, below->n + 1, sizeof(*grown));
	if (grown == NULL)
		return;
	below->id = grown;
	snprintf(below->id[below->n++], sizeof(*grown), "%s", id);
	below->open++;
}

static void
add_counts(struct run_below *below, const json_t *counts)
{
	const struct { const char *name; long long *sum; } table[] = {
		{ "allowed", &below->allowed }, { "refused", &below->refused },
		{ "failed", &below->failed }, { "redacted", &below->redacted },
		{ "bytes_out", &below->bytes_out },
	};
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		*table[i].sum += (long long)json_integer_value(
		    json_object_get(counts, table[i].name));
	below->open -= below->open > 0;
}

/* --- records ------------------------------------------------------------ */

static void
take_below(struct run_reasons *reasons, const char *type, const json_t *body)
{
	if (strcmp(type, "teardown") == 0)
		add_counts(&reasons->below, json_object_get(body, "counts"));
	else if (count_answer(reasons, body))
		return;
	else if (strcmp(type, "refusal") == 0)
		count(reasons, body, true);
	else if (strcmp(type, "outcome") == 0)
		count_outcome(reasons, body);
	else if (strcmp(type, "decision") == 0)
		count_tunnel(reasons, body);
	else if (strcmp(type, "loss") == 0)
		count_lost(reasons, body);
}

static void
take_own(struct run_reasons *reasons, const char *type, json_t *body)
{
	if (strcmp(type, "teardown") == 0) {
		json_decref(reasons->counts);
		reasons->counts = json_incref(json_object_get(body, "counts"));
	} else if (strcmp(type, "run") == 0) {
		json_decref(reasons->closed);
		reasons->closed = json_incref(body);
	} else if (strcmp(type, "coverage") == 0) {
		if (reasons->claims == NULL)
			reasons->claims = json_array();
		json_array_append(reasons->claims, body);
	} else if (count_answer(reasons, body)) {
		return;
	} else if (strcmp(type, "refusal") == 0) {
		count(reasons, body, false);
	} else if (strcmp(type, "outcome") == 0) {
		count_outcome(reasons, body);
	} else if (strcmp(type, "decision") == 0) {
		count_tunnel(reasons, body);
	} else if (strcmp(type, "loss") == 0) {
		count_lost(reasons, body);
	}
}

/* Cheaply: most records are none of those. */
static bool
worth_parsing(const char *line, size_t len)
{
	static const char *const marks[] = { "\"type\":\"refusal\"",
	    "\"kind\":\"connect\"", "\"state\":\"closed\"", "\"parent_run\":",
	    "\"type\":\"coverage\"", "\"type\":\"teardown\"",
	    "\"rule\":\"ask/approved\"", "\"error\":\"upstream_",
	    "\"type\":\"loss\"" };
	size_t i;

	for (i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (memmem(line, len, marks[i], strlen(marks[i])) != NULL)
			return true;
	return false;
}

static void
take_line(struct run_reasons *reasons, const char *line, size_t len,
    const char *run)
{
	const char *type, *of, *parent;
	json_t *record, *body;

	if (!worth_parsing(line, len))
		return;
	record = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
	body = json_object_get(record, "body");
	type = client_str(record, "type");
	of = client_str(record, "run");
	parent = client_str(body, "parent_run");
	if (strcmp(of, run) == 0)
		take_own(reasons, type, body);
	else if (strcmp(type, "run") == 0 && parent[0] != '\0' &&
	    (strcmp(parent, run) == 0 || is_below(&reasons->below, parent)))
		note_below(&reasons->below, of);
	else if (is_below(&reasons->below, of))
		take_below(reasons, type, body);
	json_decref(record);
}

static int
more_first(const void *a, const void *b)
{
	const struct run_reason *left = a, *right = b;

	return (left->count < right->count) - (left->count > right->count);
}

void
run_reasons_read(struct run_reasons *reasons, const char *bundle,
    const char *run)
{
	char path[PATH_MAX], *line = NULL;
	size_t cap = 0;
	ssize_t len;
	FILE *in;
	int n;

	memset(reasons, 0, sizeof(*reasons));
	n = snprintf(path, sizeof(path), "%s/ledger/records.jsonl", bundle);
	if (n < 0 || (size_t)n >= sizeof(path) || (in = input_open(path)) == NULL)
		return;
	while ((len = getline(&line, &cap, in)) > 0)
		take_line(reasons, line, (size_t)len, run);
	free(line);
	fclose(in);
	qsort(reasons->one, reasons->n, sizeof(reasons->one[0]), more_first);
}

void
run_reasons_release(struct run_reasons *reasons)
{
	json_decref(reasons->closed);
	json_decref(reasons->counts);
	json_decref(reasons->claims);
	free(reasons->below.id);
	reasons->below.id = NULL;
	reasons->closed = reasons->counts = reasons->claims = NULL;
}
