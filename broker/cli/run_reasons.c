#include "cli/run_reasons.h"
#include "cli/client.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
count(struct run_reasons *reasons, const char *rule, const char *reason)
{
	struct run_reason *one;
	size_t i;

	for (i = 0; i < reasons->n; i++)
		if (strcmp(reasons->one[i].rule, rule) == 0) {
			reasons->one[i].count++;
			return;
		}
	if (reasons->n == RUN_REASONS_MAX)
		return;
	one = &reasons->one[reasons->n++];
	snprintf(one->rule, sizeof(one->rule), "%s", rule);
	snprintf(one->reason, sizeof(one->reason), "%s", reason);
	one->count = 1;
}

static void
take_line(struct run_reasons *reasons, const char *line, size_t len,
    const char *run)
{
	json_t *record, *body;
	char rule[128];

	if (memmem(line, len, "\"type\":\"refusal\"", 16) == NULL &&
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
	} else if (strcmp(client_str(record, "type"), "refusal") == 0) {
		snprintf(rule, sizeof(rule), "%s", client_str(body, "rule"));
		count(reasons, rule, client_str(body, "reason"));
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
	json_decref(reasons->counts);
	reasons->counts = NULL;
}
