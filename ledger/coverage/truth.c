#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "ledger/coverage/signed.h"
#include "ledger/coverage/truth.h"
#include "ledger/record/json_out.h"
#include "ledger/record/record.h"

/* ---- members ---- */

static const char *
read_time(const json_t *value, int64_t *to)
{
	const char *text = json_string_value(value);

	return text != NULL && json_string_length(value) == RECORD_TIME_LEN &&
	    record_time_parse(text, to) == 0 ? NULL :
	    "a time such as 2026-11-30T01:02:21.454249Z";
}

static const char *
read_count(const json_t *value, uint64_t *to)
{
	if (!json_is_integer(value) || json_integer_value(value) < 0 ||
	    (uint64_t)json_integer_value(value) > JSON_INT_MAX)
		return "a number";
	*to = (uint64_t)json_integer_value(value);
	return NULL;
}

static const char *
read_head_member(struct truth *t, const char *name, json_t *value)
{
	uint64_t number = 0;
	const char *why;

	if (strcmp(name, "v") == 0)
		return json_integer_value(value) == TRUTH_VERSION ? NULL : "version 1 is known";
	if (strcmp(name, "type") == 0)
		return json_is_string(value) && strcmp(json_string_value(value),
		    TRUTH_TYPE) == 0 ? NULL : "type is \"" TRUTH_TYPE "\"";
	if (strcmp(name, "source") == 0)
		return claim_read_name(value, t->source);
	if (strcmp(name, "instance") == 0)
		return claim_read_name(value, t->instance);
	if (strcmp(name, "from") == 0)
		return read_time(value, &t->from_us);
	if (strcmp(name, "to") == 0)
		return read_time(value, &t->to_us);
	if (strcmp(name, "left_out") == 0)
		return read_count(value, &t->left_out);
	if (strcmp(name, "unread") == 0)
		return read_count(value, &t->unread);
	if (strcmp(name, "exhaustive") == 0) {
		t->exhaustive = json_is_true(value);
		return json_is_boolean(value) ? NULL : "exhaustive is true or false";
	}
	if (strcmp(name, "resolution_ms") == 0) {
		why = read_count(value, &number);
		t->resolution_us = (int64_t)number * 1000;
		return why != NULL || number <= TRUTH_RESOLUTION_MAX_MS ? why :
		    "resolution_ms is at most 60000";
	}
	return strcmp(name, "sees") == 0 ? NULL : "a member that this line has not";
}

static int
read_head(struct truth *t, json_t *head, char *err, size_t err_len)
{
	const char *name, *why = NULL;
	json_t *value;

	if (!json_is_object(head) || json_object_get(head, "v") == NULL ||
	    json_object_get(head, "type") == NULL) {
		snprintf(err, err_len, "line 1: it does not begin a file of ground truth");
		return -1;
	}
	json_object_foreach(head, name, value) {
		if (why == NULL)
			why = read_head_member(t, name, value);
	}
	if (why == NULL && t->source[0] == '\0')
		why = "source must be there";
	if (why == NULL && json_object_get(head, "sees") == NULL)
		why = "sees must be there";
	if (why == NULL && t->from_us > t->to_us)
		why = "from lies behind to";
	if (why != NULL) {
		snprintf(err, err_len, "line 1: %s", why);
		return -1;
	}
	return scope_read(&t->sees, json_object_get(head, "sees"), "line 1: sees", err,
	    err_len);
}

/* ---- actions ---- */

static const char *
read_text(const json_t *value, char **to)
{
	const size_t len = json_string_length(value);

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)json_string_value(value)[i] <= 0x20 ||
		    (unsigned char)json_string_value(value)[i] >= 0x7f)
			return "grant and id are visible ASCII";
	if (len < 1 || len > TRUTH_ID_MAX)
		return "grant and id have 1 to 128 bytes";
	*to = strdup(json_string_value(value));
	return *to != NULL ? NULL : "out of memory";
}

static const char *
read_record(const json_t *value, struct truth_seen *seen)
{
	size_t n = 0;

	if (json_string_length(value) != 64 || sodium_hex2bin(seen->record,
	    TREE_HASH_LEN, json_string_value(value), 64, NULL, &n, NULL) != 0 ||
	    n != TREE_HASH_LEN)
		return "record is a leaf hash of 64 hexadecimal digits";
	seen->has_record = true;
	return NULL;
}

static const char *
read_outcome(const json_t *value, int *to)
{
	if (!json_is_integer(value) || json_integer_value(value) < 100 ||
	    json_integer_value(value) > 999)
		return "outcome is a status from 100 to 999";
	*to = (int)json_integer_value(value);
	return NULL;
}

static const char *
read_seen_member(struct truth_seen *seen, const char *name, json_t *value)
{
	if (strcmp(name, "t") == 0)
		return read_time(value, &seen->time_us);
	if (strcmp(name, "outcome") == 0)
		return read_outcome(value, &seen->outcome);
	if (strcmp(name, "record") == 0)
		return read_record(value, seen);
	if (strcmp(name, "grant") == 0)
		return read_text(value, &seen->grant);
	if (strcmp(name, "id") == 0)
		return read_text(value, &seen->id);
	return strcmp(name, "kind") == 0 || strcmp(name, "verb") == 0 ||
	    strcmp(name, "target") == 0 ? NULL : "a member that an action has not";
}

static const char *
read_act(const json_t *line, struct truth_seen *seen, struct act *act)
{
	const json_t *verb = json_object_get(line, "verb");
	const char *kind = json_string_value(json_object_get(line, "kind"));
	const char *target = json_string_value(json_object_get(line, "target"));
	const char *why;

	if (kind == NULL || target == NULL || (verb != NULL && !json_is_string(verb)))
		return "an action has t, kind and target";
	why = act_set(act, kind, verb != NULL ? json_string_value(verb) : "*", target);
	if (why == NULL && (seen->key = act_key(act)) == NULL)
		why = "out of memory";
	return why;
}

static const char *
read_seen(const json_t *line, struct truth_seen *seen, struct act *act)
{
	const char *name, *why = NULL;
	json_t *value;

	if (!json_is_object(line))
		return "not JSON, or a member twice";
	if (json_object_get(line, "t") == NULL)
		return "an action has t, kind and target";
	json_object_foreach((json_t *)line, name, value) {
		if (why == NULL)
			why = read_seen_member(seen, name, value);
	}
	return why != NULL ? why : read_act(line, seen, act);
}

static void
seen_free(struct truth_seen *seen)
{
	free(seen->key);
	free(seen->grant);
	free(seen->id);
	memset(seen, 0, sizeof(*seen));
}

/* ---- the file ---- */

static int
make_room(struct truth *t)
{
	struct truth_seen *more;

	if ((t->n & (t->n + 1)) != 0)
		return 0;
	more = realloc(t->seen, (2 * t->n + 2) * sizeof(*more));
	if (more == NULL)
		return -1;
	t->seen = more;
	return 0;
}

static void
note_bad(struct truth *t, uint64_t line, const char *why)
{
	if (t->bad++ > 0)
		return;
	t->bad_line = line;
	t->bad_why = why;
}

/* One line behind the first.  -1: memory lacks. */
static int
take_line(struct truth *t, const char *text, size_t len, uint64_t number,
    struct act *act)
{
	const char *why = "longer than 65535 bytes";
	json_t *line = NULL;

	if (make_room(t) != 0)
		return -1;
	memset(&t->seen[t->n], 0, sizeof(*t->seen));
	t->seen[t->n].line = number;
	if (t->n >= TRUTH_SEEN_MAX) {
		why = "more than 2000000 actions";
	} else if (len <= TRUTH_LINE_MAX) {
		line = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
		why = read_seen(line, &t->seen[t->n], act);
	}
	json_decref(line);
	if (why == NULL) {
		t->n++;
		if (scope_find(&t->sees, act, &t->looks) == NULL && t->looks > 0 &&
		    t->beyond++ == 0)
			t->beyond_line = number;
		return 0;
	}
	seen_free(&t->seen[t->n]);
	note_bad(t, number, why);
	return 0;
}

static int
take_lines(struct truth *t, const char *text, size_t len, char *err, size_t err_len)
{
	struct act *act = malloc(sizeof(*act));
	const char *end = text + len, *lf;
	uint64_t number = 2;
	int result = act == NULL ? -1 : 0;

	for (; text < end && result == 0; text = lf + 1, number++) {
		lf = memchr(text, '\n', (size_t)(end - text));
		if (lf == NULL) {
			note_bad(t, number, "cut: it does not end in LF");
			break;
		}
		result = take_line(t, text, (size_t)(lf - text), number, act);
	}
	free(act);
	if (result != 0)
		snprintf(err, err_len, "out of memory");
	return result;
}

int
truth_parse(struct truth *t, const char *text, size_t len, char *err, size_t err_len)
{
	const char *lf = memchr(text, '\n', len);
	json_t *head = NULL;
	int result;

	len = signed_text_len(text, len);
	memset(t, 0, sizeof(*t));
	t->from_us = INT64_MIN;
	t->to_us = INT64_MAX;
	t->looks = SCOPE_LOOKS(len);
	t->bad_why = "";
	if (lf != NULL && lf - text <= TRUTH_LINE_MAX)
		head = json_loadb(text, (size_t)(lf - text), JSON_REJECT_DUPLICATES, NULL);
	result = read_head(t, head, err, err_len);
	json_decref(head);
	if (result != 0)
		return -1;
	return take_lines(t, lf + 1, len - (size_t)(lf + 1 - text), err, err_len);
}

void
truth_free(struct truth *t)
{
	for (size_t i = 0; i < t->n; i++)
		seen_free(&t->seen[i]);
	free(t->seen);
	scope_free(&t->sees);
	t->seen = NULL;
	t->n = 0;
}

int
truth_line_format(const struct truth_line *line, char *buf, size_t cap)
{
	char time[RECORD_TIME_LEN + 1] = "";
	struct json_out o;
	int len;

	record_time_format(time, line->time_us);
	json_out_begin(&o, buf, cap - 1);
	json_out_object(&o, NULL);
	json_out_str(&o, "t", time);
	json_out_str(&o, "kind", line->act->kind);
	json_out_str(&o, "verb", line->act->verb);
	json_out_str(&o, "target", line->act->target);
	if (line->outcome != 0)
		json_out_int(&o, "outcome", line->outcome);
	if (line->id != NULL)
		json_out_str(&o, "id", line->id);
	json_out_object_end(&o);
	if ((len = json_out_end(&o)) < 0)
		return -1;
	buf[len] = '\n';
	buf[len + 1] = '\0';
	return len + 1;
}
