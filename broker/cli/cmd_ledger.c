/* countersign ledger: the last records, readable.  It shows, it proves
 * nothing: that is `countersign verify`. */
#include "cli/client.h"
#include "cli/cmd.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAIL_MAX 100000
#define DETAIL_MAX 160

const struct opt cmd_ledger_opts[] = {
	{ "lines", 'n', "N", false, "how many records; default 20" },
	{ "run", 0, "ID", false, "only records of this run" },
	{ "type", 0, "TYPE", false, "only records of this type, such as refusal" },
	{ "json", 0, NULL, false, "print the records as they stand in the ledger" },
	{ NULL, 0, NULL, false, NULL }
};

struct tail {
	const char *run, *type;
	char **lines;		/* a ring of max lines */
	size_t max, seen;
};

static int
is_segment(const struct dirent *entry)
{
	return strncmp(entry->d_name, "records-", 8) == 0 &&
	    strstr(entry->d_name, ".jsonl") != NULL;
}

static bool
wanted(const struct tail *tail, const char *line)
{
	json_t *record;
	bool yes;

	if (tail->run == NULL && tail->type == NULL)
		return true;
	record = json_loads(line, 0, NULL);
	yes = (tail->run == NULL ||
	    strcmp(client_str(record, "run"), tail->run) == 0) &&
	    (tail->type == NULL ||
	    strcmp(client_str(record, "type"), tail->type) == 0);
	json_decref(record);
	return yes;
}

static void
keep(struct tail *tail, const char *line)
{
	size_t slot = tail->seen++ % tail->max;
	char *copy = strdup(line);

	free(tail->lines[slot]);
	tail->lines[slot] = copy;
}

/* Segments are preallocated: a line that begins with NUL is the end. */
static void
read_segment(struct tail *tail, const char *path)
{
	char *line = NULL;
	size_t cap = 0;
	ssize_t len;
	FILE *in = fopen(path, "re");

	if (in == NULL) {
		cli_err("%s: %s", path, strerror(errno));
		return;
	}
	while ((len = getline(&line, &cap, in)) > 1 && line[0] == '{' &&
	    line[len - 1] == '\n') {
		line[len - 1] = '\0';
		if (wanted(tail, line))
			keep(tail, line);
	}
	free(line);
	fclose(in);
}

/* The newest segments first would be enough; all of them, in order, is right
 * whatever the filter. Without one, older than the last two cannot matter. */
static int
read_ledger(struct tail *tail)
{
	char dir[PATH_MAX], path[PATH_MAX];
	struct dirent **names = NULL;
	int n, i, k;

	cli_home_path("ledger", dir, sizeof(dir));
	n = scandir(dir, &names, is_segment, alphasort);
	if (n < 0) {
		cli_err("%s: %s", dir, strerror(errno));
		return -1;
	}
	i = tail->run == NULL && tail->type == NULL && n > 2 &&
	    tail->max <= 65536 ? n - 2 : 0;
	for (; i < n; i++) {
		k = snprintf(path, sizeof(path), "%s/%s", dir, names[i]->d_name);
		if (k > 0 && (size_t)k < sizeof(path))
			read_segment(tail, path);
	}
	for (i = 0; i < n; i++)
		free(names[i]);
	free(names);
	return 0;
}

/* "GET https://host/path": what a decision was about. */
static size_t
about(const json_t *body, char *buf, size_t cap)
{
	const json_t *input = json_object_get(body, "input");
	const json_t *target = json_object_get(input, "target");
	const json_t *action = json_object_get(input, "action");
	const char *verb = client_str(action, "verb");
	int n;

	buf[0] = '\0';
	if (json_is_object(target))
		n = snprintf(buf, cap, "%s%s%s://%s%s", verb,
		    verb[0] != '\0' ? " " : "", client_str(target, "scheme"),
		    client_str(target, "host"), client_str(target, "path"));
	else
		n = snprintf(buf, cap, "%s", verb);
	return n < 0 ? 0 : (size_t)n < cap ? (size_t)n : cap - 1;
}

static void
details(const json_t *record, char *buf, size_t cap)
{
	const json_t *body = json_object_get(record, "body");
	const char *rule = client_str(body, "rule");
	const char *reason = client_str(body, "reason");
	const json_t *count = json_object_get(body, "count");
	size_t n = about(body, buf, cap);
	char *raw;

	if (n == 0 && rule[0] != '\0' && json_is_integer(count))
		n = (size_t)snprintf(buf, cap, "%" JSON_INTEGER_FORMAT " times",
		    json_integer_value(count));

	if (rule[0] != '\0')
		n += (size_t)snprintf(buf + n, cap - n, "%s%s%s%s",
		    n > 0 ? "  " : "", rule, reason[0] != '\0' ? ": " : "", reason);
	if (n > 0)
		return;
	raw = json_dumps(body, JSON_COMPACT);
	snprintf(buf, cap, "%s", raw != NULL ? raw : "");
	free(raw);
}

static enum cli_colour
colour_of(const char *type)
{
	if (strcmp(type, "refusal") == 0 || strcmp(type, "drop") == 0)
		return CLI_RED;
	return strcmp(type, "use") == 0 ? CLI_GREEN : CLI_PLAIN;
}

static void
print_record(const char *line)
{
	json_t *record = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
	const char *type = client_str(record, "type");
	char text[DETAIL_MAX];

	if (record == NULL) {
		puts("(a line that is no JSON)");
		return;
	}
	details(record, text, sizeof(text));
	printf("%6" JSON_INTEGER_FORMAT "  %.19s  %s%-9s%s  %.12s%s  %s\n",
	    json_integer_value(json_object_get(record, "seq")),
	    client_str(record, "t"), cli_colour(stdout, colour_of(type)),
	    cli_clean(type), cli_colour(stdout, CLI_PLAIN),
	    cli_clean(client_str(record, "run")),
	    strlen(client_str(record, "run")) > 12 ? ".." : "", cli_clean(text));
	json_decref(record);
}

static void
print_tail(const struct tail *tail, bool json)
{
	size_t i, n = tail->seen < tail->max ? tail->seen : tail->max;
	const char *line;

	for (i = 0; i < n; i++) {
		line = tail->lines[(tail->seen - n + i) % tail->max];
		if (line != NULL && json)
			puts(line);
		else if (line != NULL)
			print_record(line);
	}
}

int
cmd_ledger(const struct opts *opts)
{
	struct tail tail = { .run = opt_value(opts, "run"),
	    .type = opt_value(opts, "type") };
	char err[CLI_ERR_MAX];
	long long lines = 20;
	size_t i;
	int rc;

	if (opts->n_rest > 0)
		return cli_usage("ledger shows the last records; it takes no "
		    "operand");
	if (opt_number(opts, "lines", 1, TAIL_MAX, &lines, err, sizeof(err)) != 0)
		return cli_usage("%s", err);
	if ((rc = cli_need_home()) != 0)
		return rc;
	tail.max = (size_t)lines;
	tail.lines = calloc(tail.max, sizeof(*tail.lines));
	if (tail.lines == NULL || read_ledger(&tail) != 0)
		rc = CLI_USAGE;
	else
		print_tail(&tail, opt_flag(opts, "json"));
	for (i = 0; tail.lines != NULL && i < tail.max; i++)
		free(tail.lines[i]);
	free(tail.lines);
	return rc;
}
