#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/output/shown.h"
#include "ledger/report/covered.h"
#include "ledger/report/html_escape.h"
#include "ledger/verify/verify.h"

#define KINDS_MAX 160

/* An observer's counts, in the order in which they are told. */
static const struct { size_t at; const char *name, *words; } counts[] = {
	{ offsetof(struct coverage_source, seen), "seen", "seen" },
	{ offsetof(struct coverage_source, recorded), "recorded", "recorded" },
	{ offsetof(struct coverage_source, unrecorded), "unrecorded", "without a record" },
	{ offsetof(struct coverage_source, refused), "refused", "of them refused by the ledger" },
	{ offsetof(struct coverage_source, unsettled), "unsettled", "by a record that does not tell what became of it" },
	{ offsetof(struct coverage_source, missed), "unobserved", "recorded but not seen" },
	{ offsetof(struct coverage_source, unseen), "not_seen", "recorded and not among those seen" },
	{ offsetof(struct coverage_source, edge), "edge", "at the run's edge" },
	{ offsetof(struct coverage_source, in_tunnel), "in_tunnel", "within tunnels" },
	{ offsetof(struct coverage_source, outside_scope), "outside_scope", "that no adapter claims to see" },
	{ offsetof(struct coverage_source, outside_time), "outside_time", "at other times" },
	{ offsetof(struct coverage_source, duplicates), "duplicates", "lines that repeat one" },
	{ offsetof(struct coverage_source, hidden), "by_host", "matched by host alone" },
	{ offsetof(struct coverage_source, differ), "outcome_differs", "without a record of that outcome" },
	{ offsetof(struct coverage_source, bad), "bad_lines", "lines that are no action" },
	{ offsetof(struct coverage_source, beyond), "beyond_sees", "that he says not to see" },
	{ offsetof(struct coverage_source, left_out), "left_out", "lines he left out" },
	{ offsetof(struct coverage_source, unread), "unread", "lines he did not understand" },
};
#define COUNTS (sizeof(counts) / sizeof(counts[0]))

static uint64_t
count_of(const struct coverage_source *s, size_t i)
{
	uint64_t value;

	memcpy(&value, (const char *)s + counts[i].at, sizeof(value));
	return value;
}

static bool
has_kind(const struct scope *scope, size_t n, const char *kind)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(scope->one[i].kind, kind) == 0)
			return true;
	return false;
}

/* The kinds of a scope, each once: "http, connect, tcp".  Of a kind of which some
 * is seen, what is not seen is the other: "other http". */
static const char *
kinds_of(const struct scope *scope, const struct scope *seen, char buf[KINDS_MAX])
{
	buf[0] = '\0';
	for (size_t i = 0; i < scope->n; i++) {
		const char *kind = scope->one[i].kind;
		const char *other = seen != NULL && has_kind(seen, seen->n, kind) ?
		    "other " : "";
		size_t len = strlen(buf);

		if (!has_kind(scope, i, kind) &&
		    len + strlen(other) + strlen(kind) + 3 < KINDS_MAX)
			snprintf(buf + len, KINDS_MAX - len, "%s%s%s", len > 0 ? ", " : "",
			    other, strcmp(kind, "*") == 0 ? "all else" : kind);
	}
	return buf;
}

static const char *
signed_words(const struct coverage_source *s)
{
	return s->signature == SIGNED_GOOD ? "signed by" : s->signature == SIGNED_FORGED ?
	    "altered, or never signed by" : "signed by somebody who is not pinned,";
}

/* ---- text ---- */

static void
text_source(const struct coverage_source *s, FILE *out)
{
	bool first = true;

	if (s->source[0] == '\0') {
		fputs("  observer in ", out);
		shown_put(out, s->file, sizeof(s->file));
		fprintf(out, ": cannot be used: %s\n", s->why);
		return;
	}
	fprintf(out, "  observer %s%s%s (", s->source, s->instance[0] != '\0' ? " " : "",
	    s->instance);
	shown_put(out, s->file, sizeof(s->file));
	fputs(s->given ? "" : ", in the bundle", out);
	if (s->signer[0] != '\0') {
		fprintf(out, ", %s ", signed_words(s));
		shown_put(out, s->signer, sizeof(s->signer));
	}
	fputs("): ", out);
	for (size_t i = 0; i < COUNTS; i++) {
		if (count_of(s, i) == 0 && i > 2)
			continue;
		fprintf(out, "%s%" PRIu64 " %s", first ? "" : ", ", count_of(s, i),
		    counts[i].words);
		first = false;
	}
	if (s->outside_scope > 0 && s->excuse[0] != '\0') {
		fputs(" (", out);
		shown_put(out, s->excuse, sizeof(s->excuse));
		putc(')', out);
	}
	putc('\n', out);
}

void
covered_text(const struct coverage *c, FILE *out)
{
	char kinds[KINDS_MAX];

	if (c == NULL)
		return;
	for (size_t i = 0; i < c->sources; i++)
		text_source(&c->source[i], out);
	for (size_t i = 0; i < c->recorded.claims; i++) {
		const struct recorded_claim *r = &c->recorded.claim[i];

		fprintf(out, "  adapter %s %s%s sees %s", r->claim.adapter, r->claim.version,
		    r->is_record ? "" : " (a file, for which nobody vouches)",
		    kinds_of(&r->claim.sees, NULL, kinds));
		if (r->claim.cannot_see.n > 0)
			fprintf(out, "; cannot see %s", kinds_of(&r->claim.cannot_see,
			    &r->claim.sees, kinds));
		if (r->claim.leaves_out.n > 0)
			fprintf(out, "; leaves out %s", kinds_of(&r->claim.leaves_out, NULL,
			    kinds));
		putc('\n', out);
	}
	if (c->recorded.bad_claims > 0)
		fprintf(out, "  %" PRIu64 " coverage manifests cannot be read\n",
		    c->recorded.bad_claims);
}

static void
details_text(const char *before, const char *text, FILE *out)
{
	fputs(before, out);
	shown_put(out, text, SCOPE_TARGET_MAX);
}

static void
details_of(const char *words, const struct scope *scope, FILE *out)
{
	for (size_t i = 0; i < scope->n; i++) {
		const struct scope_entry *e = &scope->one[i];
		const json_t *one;
		size_t k;

		fprintf(out, "  %-10s %s", words, strcmp(e->kind, "*") == 0 ? "all else" : e->kind);
		json_array_foreach(e->verbs, k, one)
			details_text(k == 0 ? " " : ",", json_string_value(one), out);
		json_array_foreach(e->targets, k, one)
			details_text(k == 0 ? " " : ", ", json_string_value(one), out);
		details_text(e->what[0] != '\0' ? ": " : "", e->what, out);
		putc('\n', out);
	}
}

void
covered_details(const struct coverage *c, FILE *out)
{
	for (size_t i = 0; i < c->recorded.claims; i++) {
		const struct recorded_claim *r = &c->recorded.claim[i];

		if (r->is_record)
			fprintf(out, "%s %s, record %" PRIu64 "\n", r->claim.adapter,
			    r->claim.version, r->index);
		else
			fprintf(out, "%s %s, a file, for which nobody vouches\n",
			    r->claim.adapter, r->claim.version);
		details_of("sees", &r->claim.sees, out);
		details_of("cannot see", &r->claim.cannot_see, out);
		details_of("leaves out", &r->claim.leaves_out, out);
	}
	if (c->recorded.claims == 0)
		fputs("no adapter says what it sees\n", out);
	if (c->recorded.bad_claims > 0)
		fprintf(out, "%" PRIu64 " coverage manifests cannot be read\n",
		    c->recorded.bad_claims);
}

/* ---- JSON ---- */

static void
json_time(struct json_out *o, const char *name, int64_t time_us)
{
	char time[RECORD_TIME_LEN + 1] = "";

	if (time_us < 0 || time_us > RECORD_TIME_MAX)
		return;
	record_time_format(time, time_us);
	json_out_str(o, name, time);
}

static void
json_scope(struct json_out *o, const char *name, const struct scope *scope)
{
	char *text = scope->array != NULL ? json_dumps(scope->array,
	    JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;

	if (text != NULL)
		json_out_raw(o, name, text, strlen(text));
	free(text);
}

static void
json_claim(struct json_out *o, const struct recorded_claim *r)
{
	json_out_object(o, NULL);
	json_out_str(o, "adapter", r->claim.adapter);
	if (r->claim.instance[0] != '\0')
		json_out_str(o, "instance", r->claim.instance);
	json_out_str(o, "version", r->claim.version);
	if (r->is_record)
		json_out_uint(o, "index", r->index);
	else
		json_out_str(o, "file", r->file);
	json_scope(o, "sees", &r->claim.sees);
	json_scope(o, "cannot_see", &r->claim.cannot_see);
	json_scope(o, "leaves_out", &r->claim.leaves_out);
	json_out_object_end(o);
}

static void
json_source(struct json_out *o, const struct coverage_source *s)
{
	json_out_object(o, NULL);
	json_out_str(o, "source", s->source);
	if (s->instance[0] != '\0')
		json_out_str(o, "instance", s->instance);
	json_out_str(o, "file", s->file);
	json_out_bool(o, "given", s->given);
	if (s->signature != SIGNED_NOT) {
		json_out_str(o, "signature", s->signature == SIGNED_GOOD ? "good" :
		    s->signature == SIGNED_FORGED ? "forged" : "unknown_key");
		json_out_str(o, "signed_by", s->signer);
	}
	json_out_bool(o, "vouched", coverage_vouched(s));
	json_out_bool(o, "exhaustive", s->exhaustive);
	json_out_str(o, "verdict", verify_verdict_word(s->verdict));
	for (size_t i = 0; i < COUNTS; i++)
		json_out_uint(o, counts[i].name, count_of(s, i));
	if (s->why[0] != '\0')
		json_out_str(o, "why", s->why);
	json_out_object_end(o);
}

void
covered_json(const struct coverage *c, struct json_out *o)
{
	if (c == NULL)
		return;
	json_out_object(o, "coverage");
	json_out_str(o, "verdict", verify_verdict_word(c->verdict));
	json_out_int(o, "window_ms", c->window_ms);
	json_time(o, "from", c->recorded.from_us);
	json_time(o, "to", c->recorded.to_us);
	if (c->observers > 0) {
		json_out_uint(o, "observers_pinned", c->observers);
		json_out_uint(o, "observers_wanted", c->observed);
	}
	json_out_array(o, "adapters");
	for (size_t i = 0; i < c->recorded.claims; i++)
		json_claim(o, &c->recorded.claim[i]);
	json_out_array_end(o);
	json_out_array(o, "observers");
	for (size_t i = 0; i < c->sources; i++)
		json_source(o, &c->source[i]);
	json_out_array_end(o);
	json_out_object_end(o);
}

/* ---- HTML ---- */

static void
html_source(const struct coverage_source *s, FILE *out)
{
	const uint64_t other = s->outside_time + s->outside_scope + s->in_tunnel + s->edge;

	fputs("<tr><td class=\"w\"><bdi>", out);
	html_str(out, s->source[0] != '\0' ? s->source : "?", 64);
	if (s->instance[0] != '\0') {
		putc(' ', out);
		html_str(out, s->instance, 64);
	}
	fputs("</bdi><td class=\"m\"><bdi>", out);
	html_str(out, s->file, 80);
	fprintf(out, "</bdi><td class=\"w\">%s", s->given ? "the verifier" : "the bundle");
	if (s->signer[0] != '\0') {
		fprintf(out, ", %s <bdi>", signed_words(s));
		html_str(out, s->signer, 128);
		fputs("</bdi>", out);
	}
	fprintf(out, "<td class=\"num\">%" PRIu64 "<td class=\"num\">%" PRIu64
	    "<td class=\"num%s\">%" PRIu64 "<td class=\"num\">%" PRIu64 "<td class=\"num\">%" PRIu64,
	    s->seen, s->recorded,
	    s->unrecorded > 0 ? " s1" : "", s->unrecorded, s->missed + s->unseen, other);
	fputs("<td class=\"w\">", out);
	html_str(out, s->why[0] != '\0' ? s->why : s->excuse, 200);
}

static void
html_sources(const struct coverage *c, FILE *out)
{
	if (c->sources == 0)
		return;
	fputs("<div class=\"card scroll\"><table><thead><tr><th>observer<th>file<th>brought by"
	    "<th class=\"num\">seen<th class=\"num\">recorded<th class=\"num\">no record"
	    "<th class=\"num\">not seen<th class=\"num\">out of scope<th><tbody>", out);
	for (size_t i = 0; i < c->sources; i++)
		html_source(&c->source[i], out);
	fputs("</table></div>\n", out);
}

static void
html_scope(const struct scope *scope, FILE *out)
{
	fputs("<td class=\"w\">", out);
	for (size_t i = 0; i < scope->n; i++) {
		fputs(i > 0 ? "<br><b>" : "<b>", out);
		html_str(out, strcmp(scope->one[i].kind, "*") == 0 ? "all else" :
		    scope->one[i].kind, 32);
		fputs("</b> ", out);
		html_str(out, scope->one[i].what, SCOPE_TEXT_MAX);
	}
	if (scope->n == 0)
		fputs("nothing", out);
}

static void
html_claims(const struct coverage *c, FILE *out)
{
	if (c->recorded.claims == 0)
		return;
	fputs("<div class=\"card scroll cov\"><table><thead><tr><th>adapter<th>sees<th>cannot see"
	    "<th>leaves out<tbody>", out);
	for (size_t i = 0; i < c->recorded.claims; i++) {
		const struct recorded_claim *r = &c->recorded.claim[i];

		fputs("<tr><td><bdi>", out);
		html_str(out, r->claim.adapter, 64);
		fputs("</bdi> ", out);
		html_str(out, r->claim.version, 64);
		fputs(r->is_record ? "" : "<br>a file, for which nobody vouches", out);
		html_scope(&r->claim.sees, out);
		html_scope(&r->claim.cannot_see, out);
		html_scope(&r->claim.leaves_out, out);
	}
	fputs("</table></div>\n", out);
}

void
covered_html(const struct coverage *c, FILE *out)
{
	if (c == NULL || c->sources + c->recorded.claims == 0)
		return;
	fputs("<h2>Coverage<small>what adapters say they see, and what others saw</small></h2>",
	    out);
	html_sources(c, out);
	html_claims(c, out);
}
