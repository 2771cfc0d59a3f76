#include "cli/run_reasons.h"
#include "cli/client.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
count(struct run_reasons *reasons, const json_t *body)
{
	const json_t *target = json_object_get(json_object_get(body, "input"),
	    "target");
	const char *rule = client_str(body, "rule");
	const char *host = client_str(target, "host");
	struct run_reason *one;
	size_t i;

	for (i = 0; i < reasons->n; i++)
		if (strncmp(reasons->one[i].rule, rule, sizeof(one->rule) - 1) == 0 &&
		    strncmp(reasons->one[i].host, host, sizeof(one->host) - 1) == 0) {
			reasons->one[i].count++;
			return;
		}
	if (reasons->n == RUN_REASONS_MAX)
		return;
	one = &reasons->one[reasons->n++];
	snprintf(one->rule, sizeof(one->rule), "%s", rule);
	snprintf(one->host, sizeof(one->host), "%s", host);
	snprintf(one->reason, sizeof(one->reason), "%s",
	    client_str(body, "reason"));
	one->count = 1;
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

static void
take_line(struct run_reasons *reasons, const char *line, size_t len,
    const char *run)
{
	json_t *record, *body;

	if (memmem(line, len, "\"type\":\"refusal\"", 16) == NULL &&
	    memmem(line, len, "\"kind\":\"connect\"", 16) == NULL &&
	    memmem(line, len, "\"state\":\"closed\"", 16) == NULL &&
	    memmem(line, len, "\"type\":\"coverage\"", 17) == NULL &&
	    memmem(line, len, "\"type\":\"teardown\"", 17) == NULL)
		return;
	record = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
	body = json_object_get(record, "body");
	if (strcmp(client_str(record, "run"), run) != 0) {
		json_decref(record);
		return;
	}
	if (strcmp(client_str(record, "type"), "teardown") == 0) {
		json_decref(reasons->counts);
		reasons->counts = json_incref(json_object_get(body, "counts"));
	} else if (strcmp(client_str(record, "type"), "run") == 0) {
		json_decref(reasons->closed);
		reasons->closed = json_incref(body);
	} else if (strcmp(client_str(record, "type"), "coverage") == 0) {
		if (reasons->claims == NULL)
			reasons->claims = json_array();
		json_array_append(reasons->claims, body);
	} else if (strcmp(client_str(record, "type"), "refusal") == 0) {
		count(reasons, body);
	} else if (strcmp(client_str(record, "type"), "decision") == 0) {
		count_tunnel(reasons, body);
	}
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
	if (n < 0 || (size_t)n >= sizeof(path) || (in = fopen(path, "re")) == NULL)
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
	reasons->closed = reasons->counts = reasons->claims = NULL;
}
