/* Records as events of others' forms: batches to standard output or over the network,
 * from where the last export ended. */
#include "cli/export/export_job.h"
#include "cli/ledger_args.h"
#include "export/position.h"
#include "export/sender.h"
#include "ledger/input.h"
#include "ledger/tree/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#define BATCH_MAX 512			/* records of one request */
#define BATCH_BYTES (2 * 1024 * 1024)	/* of one request, without the last record */

enum form { OCSF, OTLP, CEF };

struct sending {
	struct export_job *job;
	enum form form;
	struct position position;
	uint64_t saved;		/* what position.next was when it was saved last */
	char line[EXPORT_LINE_MAX];
	char *batch;		/* what waits to be sent or printed */
	size_t batch_len, batch_count;
	bool any;		/* was found */
	struct otlp_sender *otlp;	/* both NULL: standard output */
	struct syslog_sender *syslog;
	char header[4096];	/* may hold a secret */
	char err[CLI_ERR_MAX];
};

/* ---- what stands in a batch ---- */

static const char *
host_of(const struct export_job *job)
{
	return job->hostname[0] != '\0' ? job->hostname : NULL;
}

static const char *
origin_of(const struct export_job *job)
{
	return job->origin[0] != '\0' ? job->origin : NULL;
}

static int
format_item(struct sending *s, const struct export_item *item, bool gap)
{
	const struct ocsf_options ocsf = { host_of(s->job), origin_of(s->job),
	    opt_flag(s->job->opts, "record-integrity") };

	switch (s->form) {
	case OCSF:
		return gap ? ocsf_gap(item, &ocsf, s->line, sizeof(s->line)) :
		    ocsf_format(item, &ocsf, s->line, sizeof(s->line));
	case OTLP:
		return gap ? otlp_gap(item, s->line, sizeof(s->line)) :
		    otlp_format(item, s->line, sizeof(s->line));
	case CEF:
		return gap ? cef_gap(item, host_of(s->job), s->line, sizeof(s->line)) :
		    cef_format(item, host_of(s->job), s->line, sizeof(s->line));
	}
	return -1;
}

/* A line for standard output, a frame for syslog, an element for OTLP. */
static void
add_line(struct sending *s, size_t len)
{
	char *to = s->batch + s->batch_len;

	if (s->form == OTLP && s->batch_count > 0)
		*to++ = ',';
	if (s->syslog != NULL)
		to += sprintf(to, "%zu ", len);
	memcpy(to, s->line, len);
	to += len;
	if (s->form != OTLP && s->syslog == NULL)
		*to++ = '\n';
	s->batch_len = (size_t)(to - s->batch);
	s->batch_count++;
	s->any = true;
}

static int
add_item(void *context, const struct export_item *item)
{
	struct sending *s = context;
	int n;

	if (item->missing > 0) {
		if ((n = format_item(s, item, true)) < 0)
			return -1;
		add_line(s, (size_t)n);
	}
	if ((n = format_item(s, item, false)) < 0)
		return -1;
	if (n > 0)
		add_line(s, (size_t)n);
	return 0;
}

/* ---- where it goes ---- */

static enum sender_status
send_otlp(struct sending *s)
{
	char begin[4096];
	int n = otlp_begin(host_of(s->job), origin_of(s->job), begin, sizeof(begin));
	size_t len = (n < 0 ? 0 : (size_t)n) + s->batch_len + strlen(otlp_end);
	enum sender_status status = SENDER_TAKEN;
	char *body = n < 0 ? NULL : malloc(len + 2);

	if (body == NULL) {
		snprintf(s->err, sizeof(s->err), "out of memory");
		return SENDER_REFUSED;
	}
	memcpy(body, begin, (size_t)n);
	memcpy(body + n, s->batch, s->batch_len);
	memcpy(body + (size_t)n + s->batch_len, otlp_end, strlen(otlp_end) + 1);
	if (s->otlp != NULL)
		status = otlp_sender_send(s->otlp, body, len, s->err, sizeof(s->err));
	else
		puts(body);
	free(body);
	return status;
}

/* Send or print what waits, and then remember how far that is. */
static int
flush_batch(struct sending *s)
{
	const char *position = opt_value(s->job->opts, "position");
	enum sender_status status = SENDER_TAKEN;

	if (s->batch_count > 0 && s->form == OTLP)
		status = send_otlp(s);
	else if (s->batch_count > 0 && s->syslog != NULL)
		status = syslog_sender_send(s->syslog, s->batch, s->batch_len, s->err,
		    sizeof(s->err));
	else
		fwrite(s->batch, 1, s->batch_len, stdout);
	if (status != SENDER_TAKEN)
		return -1;
	if (s->otlp == NULL && s->syslog == NULL && (fflush(stdout) != 0 || ferror(stdout))) {
		snprintf(s->err, sizeof(s->err), "standard output: %s", strerror(errno));
		return -1;
	}
	s->batch_len = s->batch_count = 0;
	if (position == NULL || s->position.next == s->saved)
		return 0;	/* who follows comes by here four times a second */
	s->saved = s->position.next;
	return position_save(position, &s->position, s->err, sizeof(s->err));
}

/* ---- what is read ---- */

static int
take_line(struct sending *s, const struct reader_line *line)
{
	const int rc = export_job_take(s->job, line, add_item, s, s->position.leaf);

	s->position.next = line->index + 1;
	if (rc != 0)
		snprintf(s->err, sizeof(s->err), "record %llu cannot be written in this form",
		    (unsigned long long)line->index);
	return rc;
}

static int
export_all(struct sending *s, struct reader *reader)
{
	struct reader_line line;
	int n, wait = 1;

	for (;;) {
		n = reader_next(reader, &line, s->err, sizeof(s->err));
		if (n == -1 || (n == 1 && take_line(s, &line) != 0))
			return -1;
		if ((n == 0 || s->batch_count >= BATCH_MAX || s->batch_len >= BATCH_BYTES) &&
		    flush_batch(s) != 0)
			return -1;
		if (n == 0 && !opt_flag(s->job->opts, "follow"))
			return 0;
		if (n == 0 && (wait = ledger_args_wait(reader, wait == 2, s->err,
		    sizeof(s->err))) == -1)
			return -1;
	}
}

/* Begin where the last export ended, if this is still the same ledger. */
static int
go_to_position(struct sending *s, struct reader *reader)
{
	struct position *p = &s->position;
	struct reader_line line;
	uint8_t leaf[TREE_HASH_LEN];
	int n;

	if (opt_value(s->job->opts, "position") == NULL)
		return 0;
	n = position_load(opt_value(s->job->opts, "position"), p, s->err, sizeof(s->err));
	if (n <= 0 || p->next == 0)
		return n < 0 ? -1 : 0;
	s->saved = p->next;
	if (reader_seek(reader, p->next - 1, s->err, sizeof(s->err)) != 0)
		return -1;
	n = reader_next(reader, &line, s->err, sizeof(s->err));
	if (n == 1)
		tree_leaf(line.text, line.len, leaf);
	if (n == 1 && memcmp(leaf, p->leaf, sizeof(leaf)) == 0)
		return 0;
	if (n >= 0)
		snprintf(s->err, sizeof(s->err), "this is not the ledger that was exported: record "
		    "%llu is another, or gone", (unsigned long long)p->next - 1);
	return -1;
}

/* ---- where it is sent to ---- */

/* A header as it is, or from a file: secrets are not for command lines. */
static int
read_header(struct sending *s)
{
	const char *given = opt_value(s->job->opts, "header");
	FILE *in;
	size_t n;

	if (given == NULL || given[0] != '@') {
		snprintf(s->header, sizeof(s->header), "%s", given != NULL ? given : "");
		return given != NULL && strlen(given) >= sizeof(s->header) ? -1 : 0;
	}
	if ((in = input_open(given + 1)) == NULL)
		return -1;
	n = fread(s->header, 1, sizeof(s->header) - 1, in);
	fclose(in);
	s->header[n] = '\0';
	s->header[strcspn(s->header, "\r\n")] = '\0';
	return 0;
}

static int
open_sender(struct sending *s)
{
	struct sender_options options = { .url = opt_value(s->job->opts, "to"),
	    .ca = opt_value(s->job->opts, "ca"), .wait_ms = 500 };
	long long tries = 0;

	if (opt_number(s->job->opts, "tries", 1, 1000, &tries, s->err, sizeof(s->err)) != 0)
		return cli_usage("%s", s->err);
	if (options.url == NULL)
		return 0;
	if (!input_is_file(options.ca))
		return cli_usage("--ca %s: no file of certificates", options.ca);
	options.tries = (unsigned)tries;
	if (read_header(s) != 0)
		return cli_usage("--header: too long, or its file cannot be read");
	options.header = s->header[0] != '\0' ? s->header : NULL;
	if (s->form == OTLP && strncmp(options.url, "http", 4) == 0)
		s->otlp = otlp_sender_new(&options, s->err, sizeof(s->err));
	else if (s->form == CEF && strncmp(options.url, "tls://", 6) == 0)
		s->syslog = syslog_sender_new(&options, s->err, sizeof(s->err));
	else
		return cli_usage("--to takes http(s)://... for otlp, and tls://... for cef");
	if (s->otlp != NULL || s->syslog != NULL)
		return 0;
	cli_err("%s: %s", options.url, cli_clean(s->err));
	return CLI_USAGE;
}

int
export_events_form(const char *format)
{
	static const char *const forms[] = { "ocsf", "otlp", "cef" };

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (strcmp(format, forms[i]) == 0)
			return (int)i;
	return -1;
}

int
export_events(struct export_job *job, int form, struct reader *reader)
{
	struct sending *s = calloc(1, sizeof(*s));
	int rc;

	if (s == NULL || (s->batch = malloc(BATCH_BYTES + 4 * EXPORT_LINE_MAX)) == NULL) {
		free(s);
		cli_err("out of memory");
		return CLI_USAGE;
	}
	s->job = job;
	job->seqs = &s->position.seqs;
	s->form = (enum form)form;
	rc = open_sender(s);
	if (rc == 0 && (go_to_position(s, reader) != 0 || export_all(s, reader) != 0)) {
		cli_err("%s", cli_clean(s->err));
		rc = CLI_USAGE;
	} else if (rc == 0 && !s->any && opt_value(job->opts, "position") == NULL) {
		ledger_args_none();
	}
	otlp_sender_free(s->otlp);
	syslog_sender_free(s->syslog);
	free(s->batch);
	sodium_memzero(s, sizeof(*s));
	free(s);
	return rc;
}
