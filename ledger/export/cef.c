/* ArcSight's Common Event Format as the message of RFC 5424. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "ledger/export/export.h"
#include "ledger/utf8.h"

#define FACILITY 13		/* log audit */
#define TEXT_MAX 1023		/* bytes of a value, as CEF has it at most */

struct out {
	char *buf;
	size_t cap, len;
	bool full;
};

static void __attribute__((format(printf, 2, 3)))
put(struct out *o, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(o->buf + o->len, o->cap - o->len, format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= o->cap - o->len)
		o->full = true;
	else
		o->len += (size_t)n;
}

/* Text with what CEF would read escaped, and what a reader would not see, or
 * what would end the line, as a question mark. */
static void
put_escaped(struct out *o, const char *text, const char *special)
{
	const size_t len = facts_cut(text, strlen(text), TEXT_MAX);
	size_t i, n;
	uint32_t c;

	for (i = 0; i < len && !o->full; i += n) {
		n = utf8_next(text + i, len - i, &c);
		if (utf8_is_odd(c))
			put(o, "?");
		else if (n == 1 && strchr(special, text[i]) != NULL)
			put(o, "\\%c", text[i]);
		else
			put(o, "%.*s", (int)n, text + i);
	}
}

static void
put_text(struct out *o, const char *key, const char *value)
{
	if (value[0] == '\0')
		return;
	put(o, "%s=", key);
	put_escaped(o, value, "\\=");
	put(o, " ");
}

static void
put_labelled(struct out *o, unsigned number, const char *label, const char *value)
{
	char key[16];

	if (value[0] == '\0')
		return;
	put(o, "cs%uLabel=%s ", number, label);
	snprintf(key, sizeof(key), "cs%u", number);
	put_text(o, key, value);
}

static void
put_number(struct out *o, const char *key, int64_t value)
{
	if (value >= 0)
		put(o, "%s=%" PRId64 " ", key, value);
}

/* PRI, version, time, host, program, process (none), type. */
static void
put_header(struct out *o, int severity, const char *time, const char *hostname,
    const char *type)
{
	char host[256];
	size_t i;

	snprintf(host, sizeof(host), "%s", hostname != NULL && hostname[0] != '\0' ? hostname : "-");
	for (i = 0; host[i] != '\0'; i++)
		if (host[i] <= ' ' || host[i] >= 0x7f)
			host[i] = '-';
	put(o, "<%d>1 %s %s countersign - %.32s - ", FACILITY * 8 + severity, time, host, type);
}

static int
done(struct out *o)
{
	if (o->full)
		return -1;
	while (o->len > 0 && o->buf[o->len - 1] == ' ')
		o->len--;
	o->buf[o->len] = '\0';
	return (int)o->len;
}

static void
put_where_and_who(struct out *o, const struct facts *f)
{
	char url[FACTS_URL_MAX] = "";

	if (f->host[0] != '\0' && f->path[0] != '\0')
		facts_url(f, false, url, sizeof(url));
	put_text(o, "dhost", f->host);
	put_number(o, "dpt", f->port);
	put_text(o, "request", url);
	put_text(o, "requestMethod", f->verb);
	put_text(o, "requestClientApplication", f->agent);
	put_number(o, "suid", f->uid);
	put_number(o, "spid", f->pid);
	put_number(o, "out", f->bytes_out);
	put_number(o, "in", f->bytes_in);
}

static void
put_extension(struct out *o, const struct export_item *item)
{
	const struct facts *f = item->facts;
	char leaf[65];
	unsigned i;

	for (i = 0; i < TREE_HASH_LEN; i++)
		snprintf(leaf + 2 * i, 3, "%02x", item->leaf[i]);
	put(o, "rt=%" PRId64 " ", f->time_us / 1000);
	put_text(o, "externalId", leaf);
	put_text(o, "act", f->answer ? f->decision : f->kind == FACTS_REFUSED ? "denied" : f->kind == FACTS_ALLOWED ?
	    "allowed" : f->kind == FACTS_FAILED ? "failed" : "");
	put_text(o, "outcome", f->error[0] != '\0' || f->kind == FACTS_REFUSED ||
	    f->kind == FACTS_FAILED ? "failure" : "success");
	put_where_and_who(o, f);
	put_text(o, "reason", f->reason[0] != '\0' ? f->reason : f->error);
	if (f->count > 1)
		put_number(o, "cnt", (int64_t)f->count);
	put(o, "cn1Label=index cn1=%" PRIu64 " cn2Label=seq cn2=%" PRIu64 " ", item->index, f->seq);
	if (f->status >= 0)
		put(o, "cn3Label=status cn3=%" PRId64 " ", f->status);
	put_labelled(o, 1, "stream", f->stream);
	put_labelled(o, 2, "run", f->run);
	put_labelled(o, 3, "rule", f->rule);
	put_labelled(o, 4, "policy", f->policy);
	put_labelled(o, 5, "grant", f->grant);
	put_labelled(o, 6, "parent", f->parent);
	if (f->by[0] != '\0') {
		put(o, "flexString1Label=by ");
		put_text(o, "flexString1", f->by);
	}
	if (f->question[0] != '\0') {
		put(o, "flexString2Label=question ");
		put_text(o, "flexString2", f->question);
	}
}

/* 0 to 10, and syslog's. */
static void
severity_of(const struct facts *f, int *cef, int *syslog)
{
	*cef = 1;
	*syslog = 6;
	if (f->kind == FACTS_REFUSED || f->kind == FACTS_FAILED) {
		*cef = 5;
		*syslog = 4;
	}
	if (facts_tells_loss(f) ||
	    (strcmp(f->type, "scan") == 0 && strcmp(f->event, "found") == 0)) {
		*cef = 8;
		*syslog = 3;
	}
}

static void
put_cef(struct out *o, const char *id, const char *name, int severity)
{
	put(o, "CEF:0|countersign|countersign|" COUNTERSIGN_VERSION "|");
	put_escaped(o, id, "\\|");
	put(o, "|");
	put_escaped(o, name, "\\|");
	put(o, "|%d|", severity);
}

int
cef_format(const struct export_item *item, const char *hostname, char *buf, size_t cap)
{
	struct out o = { buf, cap, 0, false };
	const struct facts *f = item->facts;
	char name[128];
	int cef, syslog;

	if (item->broken != NULL) {
		put_header(&o, 3, "-", hostname, "unreadable");
		put_cef(&o, "unreadable", "a line of the ledger is no record", 8);
		put(&o, "cn1Label=index cn1=%" PRIu64 " ", item->index);
		put_text(&o, "reason", item->broken);
		return done(&o);
	}
	severity_of(f, &cef, &syslog);
	snprintf(name, sizeof(name), "%s%s%s", f->type, f->kind == FACTS_REFUSED ? " refused" :
	    f->kind == FACTS_ALLOWED ? " allowed" : f->kind == FACTS_FAILED ? " failed" : "",
	    strcmp(f->type, "drop") == 0 ? ": records were dropped" :
	    facts_tells_loss(f) ? ": an adapter lost records" : "");
	put_header(&o, syslog, f->time, hostname, f->type);
	put_cef(&o, f->type, name, cef);
	put_extension(&o, item);
	return done(&o);
}

int
cef_gap(const struct export_item *item, const char *hostname, char *buf, size_t cap)
{
	struct out o = { buf, cap, 0, false };

	if (item->missing == 0)
		return 0;
	put_header(&o, 3, item->facts->time, hostname, "gap");
	put_cef(&o, "gap", "records are missing", 8);
	put(&o, "rt=%" PRId64 " cnt=%" PRIu64 " cn1Label=index cn1=%" PRIu64 " cn2Label=fromSeq "
	    "cn2=%" PRIu64 " ", item->facts->time_us / 1000, item->missing, item->index,
	    item->missing_from);
	put_labelled(&o, 1, "stream", item->facts->stream);
	return done(&o);
}
