/* countersign ledger export: records in the forms of others, to standard output
 * or over the network, from where the last export ended. */
#include "cli/cmd.h"
#include "cli/ledger_args.h"
#include "export/position.h"
#include "export/sender.h"
#include "ledger/evidence/evidence.h"
#include "ledger/export/export.h"
#include "ledger/export/val.h"
#include "ledger/coverage/recorded.h"
#include "ledger/export/vlc1.h"
#include "ledger/tree/note.h"
#include "ledger/input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#define BATCH_MAX 512			/* records of one request */
#define BATCH_BYTES (2 * 1024 * 1024)	/* of one request, without the last record */

const struct opt cmd_export_opts[] = {
	{ "to", 0, "URL", false, "send it: otlp to http(s)://HOST[:PORT], cef to tls://HOST[:PORT]" },
	{ "ca", 0, "FILE", false, "certificates to trust for that; default the system's" },
	{ "header", 0, "LINE", false, "a header for HTTP, such as 'Authorization: Bearer ...'" },
	{ "follow", 'f', NULL, false, "go on as records are written" },
	{ "position", 0, "FILE", false, "where the last export ended, to go on from there" },
	{ "tries", 0, "N", false, "give a batch up after so many tries; default never" },
	{ "record-integrity", 0, NULL, false, "ocsf: the attestation of 1.9's record_integrity" },
	{ "adapter", 0, NULL, false, "vlc1: print the adapter's declaration, and end" },
	LEDGER_FILTER_OPTS,
	{ "ledger", 0, "DIR", false, "a ledger's or bundle's directory, or a bundle's file; default this home's" },
	{ NULL, 0, NULL, false, NULL }
};

const char cmd_export_details[] =
"FORMAT is ocsf (1.8, one JSON event a line), otlp (logs; JSON encoding), cef\n"
"(in RFC 5424; over TLS as RFC 5425), vlc1 (one stream as a journal; --stream)\n"
"or val (grants as assignments, uses as access).  What stands in each is in\n"
"ledger/export/EXPORTS.md.  Nothing secret is in a ledger, nor in an export.\n"
"Give the header's secret in a file: --header @FILE.";

enum format { OCSF, OTLP, CEF };

struct job {
	const struct opts *opts;
	struct filter filter;
	struct export_seqs seqs;
	struct position position;
	char hostname[256], origin[NOTE_NAME_MAX + 1];
	char line[EXPORT_LINE_MAX];
	char *batch;		/* what waits to be sent or printed */
	size_t batch_len, batch_count;
	enum format format;
	struct otlp_sender *otlp;
	struct syslog_sender *syslog;
	char header[4096];
	char err[CLI_ERR_MAX];
};

/* ---- what stands in a batch ---- */

static const char *
host_of(const struct job *j)
{
	return j->hostname[0] != '\0' ? j->hostname : NULL;
}

static const char *
origin_of(const struct job *j)
{
	return j->origin[0] != '\0' ? j->origin : NULL;
}

static int
format_item(struct job *j, const struct export_item *item, bool gap)
{
	const struct ocsf_options ocsf = { host_of(j), origin_of(j),
	    opt_flag(j->opts, "record-integrity") };

	switch (j->format) {
	case OCSF:
		return gap ? ocsf_gap(item, &ocsf, j->line, sizeof(j->line)) :
		    ocsf_format(item, &ocsf, j->line, sizeof(j->line));
	case OTLP:
		return gap ? otlp_gap(item, j->line, sizeof(j->line)) :
		    otlp_format(item, j->line, sizeof(j->line));
	case CEF:
		return gap ? cef_gap(item, host_of(j), j->line, sizeof(j->line)) :
		    cef_format(item, host_of(j), j->line, sizeof(j->line));
	}
	return -1;
}

/* A line for standard output, a frame for syslog, an element for OTLP. */
static void
add_line(struct job *j, size_t len)
{
	char *to = j->batch + j->batch_len;

	if (j->format == OTLP && j->batch_count > 0)
		*to++ = ',';
	if (j->syslog != NULL)
		to += sprintf(to, "%zu ", len);
	memcpy(to, j->line, len);
	to += len;
	if (j->format != OTLP && j->syslog == NULL)
		*to++ = '\n';
	j->batch_len = (size_t)(to - j->batch);
	j->batch_count++;
}

static int
add_item(struct job *j, const struct export_item *item)
{
	int n;

	if (item->missing > 0) {
		if ((n = format_item(j, item, true)) < 0)
			return -1;
		add_line(j, (size_t)n);
	}
	if ((n = format_item(j, item, false)) < 0)
		return -1;
	if (n > 0)
		add_line(j, (size_t)n);
	return 0;
}

/* ---- where it goes ---- */

static enum sender_status
send_otlp(struct job *j)
{
	char begin[4096];
	int n = otlp_begin(host_of(j), origin_of(j), begin, sizeof(begin));
	size_t len = (n < 0 ? 0 : (size_t)n) + j->batch_len + strlen(otlp_end);
	enum sender_status status = SENDER_TAKEN;
	char *body = n < 0 ? NULL : malloc(len + 2);

	if (body == NULL) {
		snprintf(j->err, sizeof(j->err), "out of memory");
		return SENDER_REFUSED;
	}
	memcpy(body, begin, (size_t)n);
	memcpy(body + n, j->batch, j->batch_len);
	memcpy(body + (size_t)n + j->batch_len, otlp_end, strlen(otlp_end) + 1);
	if (j->otlp != NULL)
		status = otlp_sender_send(j->otlp, body, len, j->err, sizeof(j->err));
	else
		puts(body);
	free(body);
	return status;
}

/* Send or print what waits, and then remember how far that is. */
static int
flush_batch(struct job *j)
{
	const char *position = opt_value(j->opts, "position");
	enum sender_status status = SENDER_TAKEN;

	if (j->batch_count > 0 && j->format == OTLP)
		status = send_otlp(j);
	else if (j->batch_count > 0 && j->syslog != NULL)
		status = syslog_sender_send(j->syslog, j->batch, j->batch_len, j->err,
		    sizeof(j->err));
	else
		fwrite(j->batch, 1, j->batch_len, stdout);
	if (status != SENDER_TAKEN)
		return -1;
	if (j->otlp == NULL && j->syslog == NULL && (fflush(stdout) != 0 || ferror(stdout))) {
		snprintf(j->err, sizeof(j->err), "standard output: %s", strerror(errno));
		return -1;
	}
	j->batch_len = j->batch_count = 0;
	return position == NULL || j->position.next == 0 ? 0 :
	    position_save(position, &j->position, j->err, sizeof(j->err));
}

/* ---- what is read ---- */

static int
take_line(struct job *j, const struct reader_line *line)
{
	struct export_item item;
	struct facts facts;
	int rc = 0;

	/* the sequence is followed over all records, whatever is asked for */
	if (line->rule == NULL)
		facts_read(&facts, &line->record);
	export_item_init(&item, line, &facts, &j->seqs);
	if (filter_matches(&j->filter, line, &facts))
		rc = add_item(j, &item);
	if (line->rule == NULL)
		facts_free(&facts);
	j->position.next = line->index + 1;
	memcpy(j->position.leaf, item.leaf, sizeof(item.leaf));
	if (rc != 0)
		snprintf(j->err, sizeof(j->err), "record %llu cannot be written in this form",
		    (unsigned long long)line->index);
	return rc;
}

static int
export_all(struct job *j, struct reader *reader)
{
	struct reader_line line;
	int n, wait = 1;

	for (;;) {
		n = reader_next(reader, &line, j->err, sizeof(j->err));
		if (n == -1 || (n == 1 && take_line(j, &line) != 0))
			return -1;
		if ((n == 0 || j->batch_count >= BATCH_MAX || j->batch_len >= BATCH_BYTES) &&
		    flush_batch(j) != 0)
			return -1;
		if (n == 0 && !opt_flag(j->opts, "follow"))
			return 0;
		if (n == 0 && (wait = ledger_args_wait(reader, wait == 2, j->err,
		    sizeof(j->err))) == -1)
			return -1;
	}
}

/* Begin where the last export ended, if this is still the same ledger. */
static int
go_to_position(struct job *j, struct reader *reader)
{
	struct position *p = &j->position;
	struct reader_line line;
	uint8_t leaf[TREE_HASH_LEN];
	int n;

	if (opt_value(j->opts, "position") == NULL)
		return 0;
	n = position_load(opt_value(j->opts, "position"), p, j->err, sizeof(j->err));
	if (n <= 0 || p->next == 0)
		return n < 0 ? -1 : 0;
	if (reader_seek(reader, p->next - 1, j->err, sizeof(j->err)) != 0)
		return -1;
	n = reader_next(reader, &line, j->err, sizeof(j->err));
	if (n == 1)
		tree_leaf(line.text, line.len, leaf);
	if (n == 1 && memcmp(leaf, p->leaf, sizeof(leaf)) == 0)
		return 0;
	if (n >= 0)
		snprintf(j->err, sizeof(j->err), "this is not the ledger that was exported: record "
		    "%llu is another, or gone", (unsigned long long)p->next - 1);
	return -1;
}

/* ---- whose ledger, whose machine ---- */

static void
name_origin(struct job *j, const char *dir)
{
	const int dirfd = evidence_dir(dir);
	struct note_key key;
	size_t len;
	char *text = dirfd < 0 ? NULL : evidence_read(dirfd, "log.vkey", NOTE_VKEY_MAX + 1, &len);

	if (dirfd >= 0 && text == NULL)
		text = evidence_read(dirfd, "keys/log.vkey", NOTE_VKEY_MAX + 1, &len);
	while (text != NULL && len > 0 && text[len - 1] == '\n')
		len--;
	if (text != NULL && note_key_parse(&key, text, len) == 0)
		snprintf(j->origin, sizeof(j->origin), "%s", key.name);
	free(text);
	if (dirfd >= 0)
		close(dirfd);
	if (gethostname(j->hostname, sizeof(j->hostname) - 1) != 0)
		j->hostname[0] = '\0';
}

/* A header as it is, or from a file: secrets are not for command lines. */
static int
read_header(struct job *j)
{
	const char *given = opt_value(j->opts, "header");
	FILE *in;
	size_t n;

	if (given == NULL || given[0] != '@') {
		snprintf(j->header, sizeof(j->header), "%s", given != NULL ? given : "");
		return given != NULL && strlen(given) >= sizeof(j->header) ? -1 : 0;
	}
	if ((in = input_open(given + 1)) == NULL)
		return -1;
	n = fread(j->header, 1, sizeof(j->header) - 1, in);
	fclose(in);
	j->header[n] = '\0';
	j->header[strcspn(j->header, "\r\n")] = '\0';
	return 0;
}

static int
open_sender(struct job *j)
{
	struct sender_options options = { .url = opt_value(j->opts, "to"),
	    .ca = opt_value(j->opts, "ca"), .wait_ms = 500 };
	long long tries = 0;

	if (opt_number(j->opts, "tries", 1, 1000, &tries, j->err, sizeof(j->err)) != 0)
		return cli_usage("%s", j->err);
	if (options.url == NULL)
		return 0;
	if (!input_is_file(options.ca))
		return cli_usage("--ca %s: no file of certificates", options.ca);
	options.tries = (unsigned)tries;
	if (read_header(j) != 0)
		return cli_usage("--header: too long, or its file cannot be read");
	options.header = j->header[0] != '\0' ? j->header : NULL;
	if (j->format == OTLP && strncmp(options.url, "http", 4) == 0)
		j->otlp = otlp_sender_new(&options, j->err, sizeof(j->err));
	else if (j->format == CEF && strncmp(options.url, "tls://", 6) == 0)
		j->syslog = syslog_sender_new(&options, j->err, sizeof(j->err));
	else
		return cli_usage("--to takes http(s)://... for otlp, and tls://... for cef");
	if (j->otlp != NULL || j->syslog != NULL)
		return 0;
	cli_err("%s: %s", options.url, cli_clean(j->err));
	return CLI_USAGE;
}

static int
export_events(struct job *j, struct reader *reader)
{
	int rc = open_sender(j);

	if (rc == 0 && (go_to_position(j, reader) != 0 || export_all(j, reader) != 0)) {
		cli_err("%s", cli_clean(j->err));
		rc = CLI_USAGE;
	}
	otlp_sender_free(j->otlp);
	syslog_sender_free(j->syslog);
	return rc;
}

/* ---- journals, which are written as a whole ---- */

static int
each_item(struct job *j, struct reader *reader,
    int (*add)(void *, const struct export_item *), void *context)
{
	struct export_item item;
	struct reader_line line;
	struct facts facts;
	int n, rc = 0;

	while (rc == 0 && (n = reader_next(reader, &line, j->err, sizeof(j->err))) == 1) {
		if (line.rule == NULL)
			facts_read(&facts, &line.record);
		export_item_init(&item, &line, &facts, &j->seqs);
		if (filter_matches(&j->filter, &line, &facts))
			rc = add(context, &item);
		if (line.rule == NULL)
			facts_free(&facts);
	}
	if (rc != 0)
		snprintf(j->err, sizeof(j->err), "it cannot be written");
	return rc != 0 || n != 0 ? -1 : 0;
}

static int
add_vlc1(void *context, const struct export_item *item)
{
	return vlc1_add(context, item);
}

static int
add_val(void *context, const struct export_item *item)
{
	return val_add(context, item);
}

/* What the adapters see stands before the first event, and so is read first. */
static int
find_published(struct job *j, struct vlc1 *journal)
{
	struct reader *reader = NULL;
	struct reader_line line;
	struct facts facts;
	int n = -1;

	if (ledger_args_open(j->opts, &reader) != 0)
		return -1;
	for (uint64_t i = 0; i < RECORDED_LOOKED_AT &&
	    (n = reader_next(reader, &line, j->err, sizeof(j->err))) == 1; i++) {
		if (line.rule != NULL || line.record.type.len != 8 ||
		    memcmp(line.record.type.ptr, "coverage", 8) != 0)
			continue;
		facts_read(&facts, &line.record);
		vlc1_published(journal, &facts, line.index);
		facts_free(&facts);
	}
	reader_close(reader);
	return n < 0 ? -1 : 0;
}

/* The journal is of one stream: its filter is the journal's business. */
static int
export_vlc1(struct job *j, struct reader *reader)
{
	const char *stream = j->filter.stream != NULL ? j->filter.stream : "broker";
	struct vlc1 journal;

	filter_init(&j->filter);
	vlc1_begin(&journal, stream, stdout);
	if (find_published(j, &journal) != 0)
		return -1;
	if (each_item(j, reader, add_vlc1, &journal) != 0)
		return -1;
	if (vlc1_end(&journal) == 0)
		return 0;
	snprintf(j->err, sizeof(j->err), "there is no stream %.64s, or it cannot be written", stream);
	return -1;
}

/* What became of a use stands behind it, so that is read first. */
static int
find_withdrawn(struct job *j, struct val *val)
{
	struct reader *reader = NULL;
	struct reader_line line;
	struct facts facts;
	int n = -1, rc = 0;

	if (ledger_args_open(j->opts, &reader) != 0)
		return -1;
	while (rc == 0 && (n = reader_next(reader, &line, j->err, sizeof(j->err))) == 1) {
		if (line.rule != NULL || line.record.type.len != 7 ||
		    memcmp(line.record.type.ptr, "outcome", 7) != 0)
			continue;
		facts_read(&facts, &line.record);
		if (facts.ended == FACTS_WITHDRAWN)
			rc = val_withdrawn(val, facts.parent);
		facts_free(&facts);
	}
	reader_close(reader);
	return rc != 0 || n != 0 ? -1 : 0;
}

static int
export_val(struct job *j, struct reader *reader)
{
	struct val *val = val_begin(origin_of(j) != NULL ? j->origin : "countersign", stdout);
	int rc = -1;

	snprintf(j->err, sizeof(j->err), "out of memory");
	if (val != NULL && find_withdrawn(j, val) == 0)
		rc = each_item(j, reader, add_val, val);
	if (rc == 0 && val_orphans(val) > 0)
		cli_err("%llu uses are left out, whose grant or run is not among these records",
		    (unsigned long long)val_orphans(val));
	val_free(val);
	return rc;
}

static int
run_job(struct job *j, const char *format, struct reader *reader)
{
	static const char *const events[] = { "ocsf", "otlp", "cef" };
	size_t i;
	int rc = -1;

	for (i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		if (strcmp(format, events[i]) == 0) {
			j->format = (enum format)i;
			return export_events(j, reader);
		}
	if (opt_value(j->opts, "to") != NULL || opt_value(j->opts, "position") != NULL ||
	    opt_flag(j->opts, "follow"))
		return cli_usage("%s is written as a whole, to standard output", format);
	rc = strcmp(format, "vlc1") == 0 ? export_vlc1(j, reader) : export_val(j, reader);
	if (rc != 0)
		cli_err("%s", cli_clean(j->err));
	return rc == 0 ? CLI_OK : CLI_USAGE;
}

static bool
known(const char *format)
{
	static const char *const all[] = { "ocsf", "otlp", "cef", "vlc1", "val" };
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strcmp(all[i], format) == 0)
			return true;
	return false;
}

int
cmd_export(const struct opts *opts)
{
	char dir[4096];
	struct reader *reader = NULL;
	struct job *j;
	size_t len;
	int rc;

	if (opts->n_rest != 1 || !known(opts->rest[0]))
		return cli_usage("export wants one format: ocsf, otlp, cef, vlc1 or val");
	if (opt_flag(opts, "adapter")) {
		fputs(vlc1_adapter(&len), stdout);
		return CLI_OK;
	}
	j = calloc(1, sizeof(*j));
	if (j == NULL || (j->batch = malloc(BATCH_BYTES + 4 * EXPORT_LINE_MAX)) == NULL) {
		free(j);
		cli_err("out of memory");
		return CLI_USAGE;
	}
	j->opts = opts;
	rc = ledger_args_filter(opts, &j->filter);
	if (rc == 0)
		rc = ledger_args_dir(opts, dir, sizeof(dir));
	if (rc == 0 && (rc = ledger_args_open(opts, &reader)) == 0) {
		name_origin(j, dir);
		rc = run_job(j, opts->rest[0], reader);
	}
	reader_close(reader);
	free(j->batch);
	sodium_memzero(j, sizeof(*j));
	free(j);
	return rc;
}
