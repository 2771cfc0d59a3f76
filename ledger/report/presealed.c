#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/evidence/facts.h"
#include "ledger/evidence/reader.h"
#include "ledger/output/shown.h"
#include "ledger/report/html_escape.h"
#include "ledger/report/presealed.h"

/* It stands right before the teardown, which is sealed at once. */
#define LOOKED_AT 4096	/* records from the end */

static long long
number(const json_t *body, const char *name)
{
	const json_int_t value = json_integer_value(json_object_get(body, name));

	return value > 0 ? (long long)value : 0;
}

static bool
is_it(const struct report *report, const struct reader_line *line)
{
	return line->rule == NULL && record_slice_is(line->record.type, "scan") &&
	    record_slice_is(line->record.run, report->verify->run);
}

static void
presealed_free(struct presealed *p)
{
	json_decref(p->body);
	memset(p, 0, sizeof(*p));
}

static void
take(struct presealed *p, const struct reader_line *line)
{
	struct facts *f = malloc(sizeof(*f));

	if (f == NULL)
		return;
	facts_read(f, &line->record);
	presealed_free(p);
	p->body = json_incref(f->body);
	p->index = line->index;
	snprintf(p->verdict, sizeof(p->verdict), "%.15s", f->event);
	p->found = number(p->body, "found");
	p->secrets = number(p->body, "secrets");
	p->weak = number(p->body, "weak");
	facts_free(f);
	free(f);
}

/* Of a run's bundle; of a ledger there is none to tell. */
static void
presealed_read(struct presealed *p, const struct report *report)
{
	const struct verify_result *r = report->verify;
	struct reader_line line;
	struct reader *reader;
	char err[256];
	uint64_t from;

	memset(p, 0, sizeof(*p));
	if (r->kind != VERIFY_BUNDLE || r->run[0] == '\0' || report->dir == NULL ||
	    report->dir[0] == '\0' || (reader = reader_open(report->dir, err, sizeof(err))) == NULL)
		return;
	from = r->size > r->first + LOOKED_AT ? r->size - LOOKED_AT : reader_first(reader);
	if (reader_seek(reader, from, err, sizeof(err)) == 0)
		while (reader_next(reader, &line, err, sizeof(err)) == 1)
			if (is_it(report, &line))
				take(p, &line);
	reader_close(reader);
}

/* "api version 2", of each weak one that is named: who is asked gets each. */
static void
each_weak(const struct presealed *p, void (*put)(const char *name, FILE *out), FILE *out)
{
	const json_t *one, *list = json_object_get(p->body, "weak_secrets");
	char text[256];
	size_t i;

	json_array_foreach(list, i, one) {
		const char *name = json_string_value(json_object_get(one, "name"));

		if (name == NULL)
			continue;
		snprintf(text, sizeof(text), "%.200s version %lld", name, number(one, "version"));
		fputs(i > 0 ? ", " : "", out);
		put(text, out);
	}
	if ((long long)json_array_size(list) < p->weak)
		fprintf(out, " and %lld more", p->weak - (long long)json_array_size(list));
}

static void
put_plain(const char *text, FILE *out)
{
	shown_put(out, text, 256);
}

static void
put_escaped(const char *text, FILE *out)
{
	html_str(out, text, 256);
}

static const char *
why(const struct presealed *p)
{
	const char *text = json_string_value(json_object_get(p->body, "why"));

	return text != NULL ? text : "";
}

void
presealed_text(const struct report *report, FILE *out)
{
	struct presealed p;

	presealed_read(&p, report);
	if (p.body != NULL) {
		fputs("  before sealing the broker looked for ", out);
		fprintf(out, "%lld known secret%s: ", p.secrets, p.secrets == 1 ? "" : "s");
		put_plain(p.verdict, out);
		if (p.found > 0)
			fprintf(out, ", %lld places", p.found);
		if (why(&p)[0] != '\0') {
			fputs(": ", out);
			put_plain(why(&p), out);
		}
		fprintf(out, " (record %" PRIu64 ")\n", p.index);
	}
	if (p.weak > 0) {
		fputs("  too weak for tags, so that only its word speaks for them: ", out);
		each_weak(&p, put_plain, out);
		putc('\n', out);
	}
	presealed_free(&p);
}

void
presealed_json(const struct report *report, struct json_out *o)
{
	struct presealed p;
	char *weak;

	presealed_read(&p, report);
	if (p.body != NULL) {
		json_out_object(o, "sealed_scan");
		json_out_uint(o, "index", p.index);
		json_out_str(o, "verdict", p.verdict);
		json_out_int(o, "found", p.found);
		json_out_int(o, "secrets", p.secrets);
		json_out_int(o, "weak", p.weak);
		weak = json_dumps(json_object_get(p.body, "weak_secrets"),
		    JSON_COMPACT | JSON_ENSURE_ASCII);
		if (weak != NULL)
			json_out_raw(o, "weak_secrets", weak, strlen(weak));
		free(weak);
		if (why(&p)[0] != '\0')
			json_out_str(o, "why", why(&p));
		json_out_object_end(o);
	}
	presealed_free(&p);
}

void
presealed_html(const struct report *report, FILE *out)
{
	struct presealed p;
	bool clean;

	presealed_read(&p, report);
	if (p.body != NULL) {
		clean = strcmp(p.verdict, "clean") == 0;
		fprintf(out, "<h2>Before sealing<small>the broker&rsquo;s own search, signed with the "
		    "run</small></h2><ul class=\"card probs\"><li class=\"%s\"><b>", clean ? "ok" :
		    p.found > 0 ? "p1" : "p2");
		put_escaped(p.verdict, out);
		fprintf(out, "</b>looked for %lld known secret%s in all %s forms", p.secrets,
		    p.secrets == 1 ? "" : "s", p.secrets == 1 ? "its" : "their");
		if (p.found > 0)
			fprintf(out, ", found in %lld places", p.found);
		if (why(&p)[0] != '\0') {
			fputs(": ", out);
			put_escaped(why(&p), out);
		}
		fprintf(out, " <small><a href=\"#r%" PRIu64 "\">record %" PRIu64 "</a></small></li>",
		    p.index, p.index);
		if (p.weak > 0) {
			fputs("<li class=\"p2\"><b>weak</b>too weak for tags, so that only the "
			    "broker&rsquo;s word speaks for them: <bdi>", out);
			each_weak(&p, put_escaped, out);
			fputs("</bdi></li>", out);
		}
		fputs("</ul>\n", out);
	}
	presealed_free(&p);
}
