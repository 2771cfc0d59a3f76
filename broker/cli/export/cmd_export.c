/* countersign ledger export: records in the forms of others. */
#include "cli/cmd.h"
#include "cli/export/export_job.h"
#include "cli/ledger_args.h"
#include "ledger/evidence/evidence.h"
#include "ledger/export/vlc1.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

int
export_job_take(struct export_job *job, const struct reader_line *line, export_add *add,
    void *context, uint8_t leaf[TREE_HASH_LEN])
{
	struct export_item item;
	struct facts facts;
	int rc = 0;

	/* the sequence is followed over all records, whatever is asked for */
	if (line->rule == NULL)
		facts_read(&facts, &line->record);
	export_item_init(&item, line, &facts, job->seqs);
	if (filter_matches(&job->filter, line, &facts))
		rc = add(context, &item);
	if (line->rule == NULL)
		facts_free(&facts);
	if (leaf != NULL)
		memcpy(leaf, item.leaf, sizeof(item.leaf));
	return rc;
}

/* Whose ledger, whose machine. */
static void
name_origin(struct export_job *job, const char *dir)
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
		snprintf(job->origin, sizeof(job->origin), "%s", key.name);
	free(text);
	if (dirfd >= 0)
		close(dirfd);
	if (gethostname(job->hostname, sizeof(job->hostname) - 1) != 0)
		job->hostname[0] = '\0';
}

static int
run_job(struct export_job *job, const char *format, struct reader *reader)
{
	const int form = export_events_form(format);
	int rc;

	if (form >= 0)
		return export_events(job, form, reader);
	if (opt_value(job->opts, "to") != NULL || opt_value(job->opts, "position") != NULL ||
	    opt_flag(job->opts, "follow"))
		return cli_usage("%s is written as a whole, to standard output", format);
	rc = strcmp(format, "vlc1") == 0 ? export_vlc1(job, reader) : export_val(job, reader);
	if (rc != 0)
		cli_err("%s", cli_clean(job->err));
	return rc == 0 ? CLI_OK : CLI_USAGE;
}

static bool
known(const char *format)
{
	return export_events_form(format) >= 0 || strcmp(format, "vlc1") == 0 ||
	    strcmp(format, "val") == 0;
}

int
cmd_export(const struct opts *opts)
{
	char dir[4096];
	struct reader *reader = NULL;
	struct export_seqs seqs = { .count = 0 };
	struct export_job job = { .opts = opts, .seqs = &seqs };
	size_t len;
	int rc;

	if (opts->n_rest != 1 || !known(opts->rest[0]))
		return cli_usage("export wants one format: ocsf, otlp, cef, vlc1 or val");
	if (opt_flag(opts, "adapter")) {
		fputs(vlc1_adapter(&len), stdout);
		return CLI_OK;
	}
	rc = ledger_args_filter(opts, &job.filter);
	if (rc == 0)
		rc = ledger_args_dir(opts, dir, sizeof(dir));
	if (rc == 0 && (rc = ledger_args_open(opts, &reader)) == 0) {
		name_origin(&job, dir);
		rc = run_job(&job, opts->rest[0], reader);
	}
	reader_close(reader);
	return rc;
}
