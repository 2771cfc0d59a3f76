#include <stdlib.h>
#include <string.h>

#include "ledger/coverage/import_impl.h"
#include "ledger/record/json_out.h"
#include "ledger/record/record.h"

#define FIRST_MAX 65536

const char import_left_out[] = "";

/* ---- fields of JSON ---- */

static const struct { const char *name, *usual; } fields[IMPORT_FIELDS] = {
	{ "time", "time" }, { "verb", "method" }, { "target", "path" }, { "host", "host" },
	{ "outcome", "status" }, { "client", "remote_addr" }, { "id", "" },
};

const char *
import_field_name(enum import_field field)
{
	return fields[field].name;
}

/* ---- targets ---- */

static bool
is_url(const char *text)
{
	return strncasecmp(text, "http://", 7) == 0 || strncasecmp(text, "https://", 8) == 0;
}

/* scheme of the base, host of the line, path; NULL, or what is wrong. */
static const char *
put_url(struct import *m, const char *host, const char *path)
{
	const char *base = m->options->base;
	const char *scheme_end = base != NULL ? strstr(base, "://") : NULL;
	int n;

	if (is_url(path))
		n = snprintf(m->line.target, sizeof(m->line.target), "%s", path);
	else if (host != NULL)
		n = snprintf(m->line.target, sizeof(m->line.target), "%.*s://%s%s",
		    scheme_end != NULL ? (int)(scheme_end - base) : 5,
		    scheme_end != NULL ? base : "https", import_resolve(m, host), path);
	else if (base != NULL)
		n = snprintf(m->line.target, sizeof(m->line.target), "%.*s%s",
		    (int)(strlen(base) - (base[strlen(base) - 1] == '/')), base, path);
	else
		return "a line that names no host, and no base URL is given (--base)";
	return n > 0 && (size_t)n < sizeof(m->line.target) ? NULL : "too long a target";
}

/* ---- combined ---- */

char *
import_next(char **at)
{
	char *p = *at, *to, *begin, close;

	p += strspn(p, " ");
	if (*p == '\0')
		return NULL;
	if (*p != '"' && *p != '[') {
		begin = p;
		p += strcspn(p, " ");
		*at = p + (*p != '\0');
		*p = '\0';
		return begin;
	}
	close = *p == '"' ? '"' : ']';
	for (begin = to = ++p; *p != close; p++) {
		if (*p == '\0')
			return NULL;
		if (close == '"' && *p == '\\' && p[1] == 'x' &&
		    act_hex(p[2]) >= 0 && act_hex(p[3]) >= 0) {
			*to++ = (char)(act_hex(p[2]) << 4 | act_hex(p[3]));
			p += 3;
		} else if (close == '"' && *p == '\\' && p[1] != '\0') {
			*to++ = *++p;
		} else {
			*to++ = *p;
		}
	}
	*at = p + 1;
	*to = '\0';
	return begin;
}

/* "GET /path HTTP/1.1"; what never became a request is none. */
static const char *
read_request(struct import *m, char *request)
{
	char *path = strchr(request, ' '), *end;

	if (request[0] == '\0' || strcmp(request, "-") == 0)
		return import_left_out;
	end = path != NULL ? strrchr(path + 1, ' ') : NULL;
	if (path == NULL || end == NULL || strncmp(end + 1, "HTTP/", 5) != 0)
		return "a request line of method, target and HTTP version";
	*path++ = *end = '\0';
	if (strlen(request) > ACT_VERB_MAX)
		return "too long a method";
	memcpy(m->line.verb, request, strlen(request) + 1);
	if (path[0] != '/' && !is_url(path))
		return import_left_out;	/* "*", or an authority: about no resource */
	return put_url(m, NULL, path);
}

static const char *
read_combined(struct import *m)
{
	char *at = m->line.text, *client = import_next(&at), *time, *request, *status;
	const char *why;

	(void)import_next(&at);		/* ident */
	(void)import_next(&at);		/* user */
	time = import_next(&at);
	request = import_next(&at);
	status = import_next(&at);
	if (status == NULL || strlen(status) != 3 || !import_digits(status, 3, &m->line.outcome))
		return "address, two names, [time], \"request\", status";
	if (!import_clf_time(time, &m->line.time_us))
		return "a time such as [30/Nov/2026:01:02:21 +0000]";
	if (!import_is_wanted(m, client))
		return import_left_out;
	memcpy(m->line.kind, "http", 5);
	why = read_request(m, request);
	return why;
}

/* ---- json ---- */

static const json_t *
member(const struct import *m, const json_t *line, enum import_field field)
{
	const char *name = m->options->field[field] != NULL ? m->options->field[field] :
	    fields[field].usual;
	char part[128];
	size_t len;

	for (; line != NULL && name[0] != '\0'; name += len + (name[len] == '.')) {
		len = strcspn(name, ".");
		snprintf(part, sizeof(part), "%.*s", (int)len, name);
		line = json_object_get(line, part);
		if (name[len] == '\0')
			return line;
	}
	return NULL;
}

static bool
read_json_time(const json_t *value, int64_t *time_us)
{
	const char *text = json_string_value(value);

	if (json_is_integer(value)) {
		*time_us = json_integer_value(value) <= RECORD_TIME_MAX / 1000000 ?
		    json_integer_value(value) * 1000000 : -1;
		return import_in_range(*time_us);
	}
	if (json_is_real(value)) {
		if (!(json_real_value(value) >= 0 && json_real_value(value) < 253402300799.0))
			return false;
		*time_us = (int64_t)(json_real_value(value) * 1e6 + 0.5);
		return true;
	}
	return text != NULL && (import_rfc3339(text, time_us) || import_seconds(text, time_us));
}

/* A status is a number, or one in a string. */
static const char *
read_json_outcome(struct import *m, const json_t *value)
{
	const char *text = json_string_value(value);

	if (json_is_integer(value) && json_integer_value(value) >= 100 &&
	    json_integer_value(value) <= 999)
		m->line.outcome = (int)json_integer_value(value);
	else if (text != NULL && strlen(text) == 3)
		return import_digits(text, 3, &m->line.outcome) ? NULL : "a status of three digits";
	else if (value != NULL && !json_is_null(value))
		return "a status from 100 to 999";
	return NULL;
}

static const char *
read_json_members(struct import *m, const json_t *line)
{
	const char *client = json_string_value(member(m, line, IMPORT_CLIENT));
	const char *verb = json_string_value(member(m, line, IMPORT_VERB));
	const char *path = json_string_value(member(m, line, IMPORT_TARGET));
	const char *host = json_string_value(member(m, line, IMPORT_HOST));
	const char *id = json_string_value(member(m, line, IMPORT_ID));
	const char *why;

	if (!import_is_wanted(m, client != NULL ? client : ""))
		return import_left_out;
	if (!read_json_time(member(m, line, IMPORT_TIME), &m->line.time_us))
		return "a time: seconds, or as in RFC 3339 (--field time=NAME)";
	if (verb == NULL || path == NULL || strlen(verb) > ACT_VERB_MAX)
		return "a verb and a target (--field verb=NAME, target=NAME)";
	if (id != NULL && (strlen(id) < 1 || strlen(id) > TRUTH_ID_MAX))
		return "an id of 1 to 128 bytes";
	memcpy(m->line.kind, "http", 5);
	memcpy(m->line.verb, verb, strlen(verb) + 1);
	snprintf(m->line.id, sizeof(m->line.id), "%s", id != NULL ? id : "");
	why = read_json_outcome(m, member(m, line, IMPORT_OUTCOME));
	return why != NULL ? why : put_url(m, host, path);
}

static const char *
read_json(struct import *m)
{
	json_t *line = json_loadb(m->line.text, m->line.len, JSON_REJECT_DUPLICATES, NULL);
	const char *why = "a JSON object without a member twice";

	if (json_is_object(line))
		why = read_json_members(m, line);
	json_decref(line);
	return why;
}

/* ---- lines ---- */

static void
note_origin(struct import *m)
{
	const size_t len = act_origin_len(&m->act);

	for (size_t i = 0; i < m->origins; i++)
		if (strncmp(m->origin[i], m->act.target, len) == 0 && m->origin[i][len] == '/')
			return;
	if (len == 0 || m->origins == IMPORT_ORIGINS_MAX) {
		m->more_origins = m->more_origins || len > 0;
		return;
	}
	if (asprintf(&m->origin[m->origins], "%.*s/*", (int)len, m->act.target) >= 0)
		m->origins++;
}

static void
note_grain(struct import *m)
{
	static const int64_t grains[] = { 1000000, 1000, 1 };

	for (size_t i = 0; i < 3 && m->line.time_us % m->grain_us != 0; i++)
		if (grains[i] < m->grain_us)
			m->grain_us = grains[i];
}

static const char *
take_line(struct import *m)
{
	const struct truth_line line = { &m->act, m->line.time_us, m->line.outcome,
	    m->line.id[0] != '\0' ? m->line.id : NULL };
	struct truth_line out = line;
	static const char *(*const readers[])(struct import *) = { read_combined, read_json,
	    import_egress, import_conntrack };
	char *buf;
	const char *why;
	int n;

	m->line.outcome = 0;
	m->line.id[0] = '\0';
	if ((why = readers[m->options->format](m)) != NULL)
		return why;
	if (m->line.outcome < 100)
		m->line.outcome = 0;
	why = act_set(&m->act, m->line.kind, m->line.verb, m->line.target);
	if (why != NULL)
		return why;
	out.time_us = m->line.time_us;
	out.outcome = m->line.outcome;
	out.id = m->line.id[0] != '\0' ? m->line.id : NULL;
	if ((buf = malloc(TRUTH_LINE_MAX + 2)) == NULL)
		return "out of memory";
	n = truth_line_format(&out, buf, TRUTH_LINE_MAX + 2);
	if (n > 0)
		fwrite(buf, 1, (size_t)n, m->body);
	free(buf);
	note_origin(m);
	note_grain(m);
	return n > 0 ? NULL : "too long an action";
}

static void
read_lines(struct import *m, FILE *in)
{
	struct import_result *r = m->result;
	uint64_t number = 0;
	size_t cap = 0;
	ssize_t n;

	while ((n = getline(&m->line.text, &cap, in)) > 0) {
		const char *why = "of at most 65535 bytes, and without a NUL";

		number++;
		if (m->line.text[n - 1] == '\n')
			m->line.text[--n] = '\0';
		if (n > 0 && m->line.text[n - 1] == '\r')
			m->line.text[--n] = '\0';
		m->line.len = (size_t)n;
		if (n <= TRUTH_LINE_MAX && strlen(m->line.text) == (size_t)n)
			why = n == 0 ? import_left_out : take_line(m);
		r->taken += why == NULL;
		r->left_out += why == import_left_out;
		if (why == NULL || why == import_left_out)
			continue;
		if (r->unread++ == 0) {
			r->first_unread = number;
			r->why = why;
		}
	}
}

/* ---- the first line ---- */

static void
put_kinds(const struct import *m, struct json_out *o)
{
	for (size_t i = 0; i < m->kinds; i++) {
		json_out_object(o, NULL);
		json_out_str(o, "kind", m->kind[i]);
		json_out_object_end(o);
	}
}

static void
put_sees(const struct import *m, struct json_out *o)
{
	json_out_array(o, "sees");
	if (m->options->format >= IMPORT_EGRESS) {
		put_kinds(m, o);
		json_out_array_end(o);
		return;
	}
	json_out_object(o, NULL);
	json_out_str(o, "kind", "http");
	if (m->origins > 0 && !m->more_origins) {
		json_out_array(o, "targets");
		for (size_t i = 0; i < m->origins; i++)
			json_out_str(o, NULL, m->origin[i]);
		json_out_array_end(o);
	}
	json_out_object_end(o);
	json_out_array_end(o);
}

static int
put_first(const struct import *m, FILE *out)
{
	const struct import_options *options = m->options;
	char *buf = malloc(FIRST_MAX);
	struct json_out o;
	int n;

	if (buf == NULL)
		return -1;
	json_out_begin(&o, buf, FIRST_MAX);
	json_out_object(&o, NULL);
	json_out_uint(&o, "v", TRUTH_VERSION);
	json_out_str(&o, "type", TRUTH_TYPE);
	json_out_str(&o, "source", options->source);
	if (options->instance != NULL)
		json_out_str(&o, "instance", options->instance);
	put_sees(m, &o);
	json_out_bool(&o, "exhaustive", options->exhaustive);
	if (options->from != NULL)
		json_out_str(&o, "from", options->from);
	if (options->to != NULL)
		json_out_str(&o, "to", options->to);
	json_out_int(&o, "resolution_ms", m->grain_us / 1000);
	json_out_uint(&o, "left_out", m->result->left_out);
	json_out_uint(&o, "unread", m->result->unread);
	json_out_object_end(&o);
	if ((n = json_out_end(&o)) > 0)
		fprintf(out, "%s\n", buf);
	free(buf);
	return n > 0 ? 0 : -1;
}

/* A network's protocols, whether or not they occur. */
static void
begin_kinds(struct import *m)
{
	const struct import_options *o = m->options;

	for (size_t i = 0; i < o->protocols; i++)
		(void)import_note_kind(m, o->protocol[i]);
	if (o->protocols == 0 && o->format == IMPORT_CONNTRACK)
		(void)import_note_kind(m, "udp");
	if (o->protocols == 0 && o->format >= IMPORT_EGRESS)
		(void)import_note_kind(m, "tcp");
}

/* What he sees is his base, where one is given, whether or not it was asked. */
static const char *
begin(struct import *m)
{
	const char *base = m->options->base;
	const char *why;

	m->grain_us = 1000000;
	begin_kinds(m);
	if (base == NULL)
		return m->options->format == IMPORT_COMBINED ?
		    "this format names no host: the service's base URL is needed (--base)" : NULL;
	why = act_set(&m->act, "http", "GET", base);
	if (why == NULL)
		note_origin(m);
	return why;
}

int
import_run(FILE *in, const struct import_options *options, FILE *out,
    struct import_result *result, char *err, size_t err_len)
{
	struct import *m = calloc(1, sizeof(*m));
	char *body = NULL;
	size_t len = 0;
	const char *why = "out of memory";
	int status = -1;

	memset(result, 0, sizeof(*result));
	if (m == NULL || (m->body = open_memstream(&body, &len)) == NULL)
		goto out;
	m->options = options;
	m->result = result;
	if ((why = begin(m)) != NULL)
		goto out;
	read_lines(m, in);
	why = "cannot be read or written";
	if (fclose(m->body) == 0 && !ferror(in) && put_first(m, out) == 0 &&
	    fwrite(body, 1, len, out) == len && fflush(out) == 0)
		status = 0;
	m->body = NULL;
out:
	if (status != 0)
		snprintf(err, err_len, "%s", why);
	if (m != NULL) {
		if (m->body != NULL)
			fclose(m->body);
		free(m->line.text);
		while (m->origins > 0)
			free(m->origin[--m->origins]);
	}
	free(body);
	free(m);
	return status;
}
