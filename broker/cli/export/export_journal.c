/* Records as one journal, written as a whole to standard output. */
#include "cli/export/export_job.h"
#include "cli/ledger_args.h"
#include "ledger/coverage/recorded.h"
#include "ledger/export/val.h"
#include "ledger/export/vlc1.h"

#include <stdio.h>
#include <string.h>

static int
each_item(struct export_job *job, struct reader *reader, export_add *add, void *context)
{
	struct reader_line line;
	int n, rc = 0;

	while (rc == 0 && (n = reader_next(reader, &line, job->err, sizeof(job->err))) == 1)
		rc = export_job_take(job, &line, add, context, NULL);
	if (rc != 0)
		snprintf(job->err, sizeof(job->err), "%s: it cannot be written",
		    ferror(stdout) ? "standard output" : "a record");
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
find_published(struct export_job *job, struct vlc1 *journal)
{
	struct reader *reader = NULL;
	struct reader_line line;
	struct facts facts;
	int n = -1;

	if (ledger_args_open(job->opts, &reader) != 0)
		return -1;
	for (uint64_t i = 0; i < RECORDED_LOOKED_AT &&
	    (n = reader_next(reader, &line, job->err, sizeof(job->err))) == 1; i++) {
		if (line.rule != NULL || !record_slice_is(line.record.type, "coverage"))
			continue;
		facts_read(&facts, &line.record);
		vlc1_published(journal, &facts, line.index);
		facts_free(&facts);
	}
	reader_close(reader);
	return n < 0 ? -1 : 0;
}

/* The journal is of one stream: its filter is the journal's business. */
int
export_vlc1(struct export_job *job, struct reader *reader)
{
	const char *stream = job->filter.stream != NULL ? job->filter.stream : "broker";
	struct vlc1 journal;

	filter_init(&job->filter);
	vlc1_begin(&journal, stream, stdout);
	if (find_published(job, &journal) != 0)
		return -1;
	if (each_item(job, reader, add_vlc1, &journal) != 0)
		return -1;
	if (vlc1_end(&journal) == 0)
		return 0;
	snprintf(job->err, sizeof(job->err), "there is no stream %.64s, or it cannot be written", stream);
	return -1;
}

/* What became of a use stands behind it, so that is read first. */
static int
find_withdrawn(struct export_job *job, struct val *val)
{
	struct reader *reader = NULL;
	struct reader_line line;
	struct facts facts;
	int n = -1, rc = 0;

	if (ledger_args_open(job->opts, &reader) != 0)
		return -1;
	while (rc == 0 && (n = reader_next(reader, &line, job->err, sizeof(job->err))) == 1) {
		if (line.rule != NULL || !record_slice_is(line.record.type, "outcome"))
			continue;
		facts_read(&facts, &line.record);
		if (facts.ended == FACTS_WITHDRAWN)
			rc = val_withdrawn(val, facts.parent);
		facts_free(&facts);
	}
	reader_close(reader);
	return rc != 0 || n != 0 ? -1 : 0;
}

int
export_val(struct export_job *job, struct reader *reader)
{
	struct val *val = val_begin(job->origin[0] != '\0' ? job->origin : "countersign", stdout);
	int rc = -1;

	snprintf(job->err, sizeof(job->err), "out of memory");
	if (val != NULL && find_withdrawn(job, val) == 0)
		rc = each_item(job, reader, add_val, val);
	if (rc == 0 && val_orphans(val) > 0)
		cli_err("%llu uses are left out, whose grant or run is not among these records",
		    (unsigned long long)val_orphans(val));
	val_free(val);
	return rc;
}
