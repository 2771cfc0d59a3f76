/* What a ledger's own scan records say, and of what. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/evidence/facts.h"
#include "ledger/evidence/reader.h"
#include "ledger/scan/tags/tags.h"

/* Runs whose scan has not come yet; a ledger with more at a time is not spoken
 * for by its scan records. */
#define WAITING_MAX 1024

struct waiting {
	char run[RECORD_NAME_MAX + 1];
	uint64_t opened, closed;	/* indexes; closed is 0 while it is open */
	bool used;			/* a secret, as a use's input says */
};

struct words {
	const char *run;		/* of a bundle; NULL: every run counts */
	uint64_t first;			/* index of the first record that is here */
	struct facts facts;
	unsigned waits;
	struct waiting waiting[WAITING_MAX];
	struct scan_words said;
};

static struct waiting *
waiting_for(struct words *w, const char *run)
{
	for (unsigned i = 0; i < w->waits; i++)
		if (strcmp(w->waiting[i].run, run) == 0)
			return &w->waiting[i];
	return NULL;
}

static void
run_goes_on(struct words *w, uint64_t index)
{
	const struct facts *f = &w->facts;
	struct waiting *at = waiting_for(w, f->run);

	if (strcmp(f->state, "closed") == 0) {
		if (at != NULL)
			at->closed = index;
	} else if (strcmp(f->state, "open") == 0 &&
	    (w->run == NULL || strcmp(w->run, f->run) == 0)) {
		if (at != NULL || w->waits == WAITING_MAX) {
			w->said.without++;
			return;
		}
		at = &w->waiting[w->waits++];
		memcpy(at->run, f->run, sizeof(at->run));
		at->opened = index;
		at->closed = 0;
		at->used = false;
	}
}

static bool
index_is(const json_t *body, const char *name, uint64_t index)
{
	const json_t *value = json_object_get(body, name);

	return json_is_integer(value) && json_integer_value(value) >= 0 &&
	    (uint64_t)json_integer_value(value) == index;
}

/* No string in a body can hold these bytes: its quotes are escaped. */
static void
used(struct words *w, const struct record_line *record)
{
	static const char secret[] = "\"secret\":{";

	if (memmem(record->body.ptr, record->body.len, secret, sizeof(secret) - 1) == NULL)
		return;
	for (unsigned i = 0; i < w->waits; i++) {
		if (record_slice_is(record->run, w->waiting[i].run)) {
			w->waiting[i].used = true;
			return;
		}
	}
	/* behind what was said of its run */
	if (w->run == NULL || record_slice_is(record->run, w->run)) {
		w->said.without++;
		w->said.needed++;
	}
}

static bool
looked_for_some(const json_t *body)
{
	const json_t *secrets = json_object_get(body, "secrets");

	return secrets == NULL || json_integer_value(secrets) > 0;
}

static bool
is_own(const struct words *w)
{
	return w->run != NULL && strcmp(w->run, w->facts.run) == 0;
}

/* A secret that stands in these records, by the word of who knew it.  What another
 * run's scan found may lie before a bundle. */
static void
take_found(struct words *w, const struct reader_line *line)
{
	const json_t *from = json_object_get(w->facts.body, "first_index");

	if (strcmp(w->facts.event, "found") != 0 || (!is_own(w) && (!json_is_integer(from) ||
	    json_integer_value(from) < 0 || (uint64_t)json_integer_value(from) < w->first)))
		return;
	if (w->said.found++ > 0)
		return;
	snprintf(w->said.file, sizeof(w->said.file), "%s", line->file);
	w->said.line = line->line;
	w->said.offset = line->offset;
}

/*
 * A run's scan speaks for it where it looked at all that stands between the
 * run's opening and its close, and looked for secrets if it used one.  That
 * something was found counts whoever says it, since other runs' records lie
 * between.
 */
static void
scan_said(struct words *w)
{
	const struct facts *f = &w->facts;
	struct waiting *at = waiting_for(w, f->run);
	const bool clean = strcmp(f->event, "clean") == 0;

	if (!clean)
		w->said.other++;
	if (at == NULL || at->closed == 0)
		return;
	if (clean && index_is(f->body, "first_index", at->opened) &&
	    index_is(f->body, "last_index", at->closed) &&
	    (!at->used || looked_for_some(f->body))) {
		w->said.clean++;
	} else if (clean) {
		w->said.without++;
		w->said.needed += at->used;
	}
	*at = w->waiting[--w->waits];
}

static void
take(struct words *w, const struct reader_line *line)
{
	const bool run = record_slice_is(line->record.type, "run");

	if (record_slice_is(line->record.type, "use"))
		used(w, &line->record);
	if (!run && !record_slice_is(line->record.type, "scan"))
		return;
	facts_read(&w->facts, &line->record);
	if (run) {
		run_goes_on(w, line->index);
	} else {
		take_found(w, line);
		scan_said(w);
	}
	facts_free(&w->facts);
}

struct scan_words
scan_words_of(const char *dir, const char *run)
{
	struct words *w = calloc(1, sizeof(*w));
	struct scan_words said = { .without = 1 };
	struct reader_line line;
	struct reader *reader;
	char err[256];

	if (w == NULL)
		return said;
	w->run = run;
	reader = reader_open(dir, err, sizeof(err));
	w->first = reader != NULL ? reader_first(reader) : 0;
	while (reader != NULL && reader_next(reader, &line, err, sizeof(err)) == 1)
		if (line.rule == NULL)
			take(w, &line);
	reader_close(reader);
	w->said.without += w->waits;
	for (unsigned i = 0; i < w->waits; i++)
		w->said.needed += w->waiting[i].used;
	said = w->said;
	free(w);
	return said;
}
