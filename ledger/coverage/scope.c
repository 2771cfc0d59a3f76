#include <stdio.h>
#include <string.h>

#include "ledger/coverage/scope.h"
#include "ledger/utf8.h"

/* ---- reading ---- */

/* Text for people: one line of UTF-8. */
static bool
is_line(const char *text, size_t len, size_t max)
{
	size_t n;

	if (len < 1 || len > max)
		return false;
	for (size_t i = 0; i < len; i += n)
		if ((n = utf8_char(text + i, len - i)) == 0 ||
		    (unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return false;
	return true;
}

static bool
list_ok(const json_t *list, size_t max)
{
	const json_t *text;
	size_t i;

	if (!json_is_array(list) || json_array_size(list) < 1 ||
	    json_array_size(list) > SCOPE_LIST_MAX)
		return false;
	json_array_foreach(list, i, text)
		if (!json_is_string(text) || !is_line(json_string_value(text),
		    json_string_length(text), max))
			return false;
	return true;
}

static const char *
read_member(struct scope_entry *to, const char *name, json_t *value)
{
	if (strcmp(name, "kind") == 0) {
		const char *kind = json_is_string(value) ? json_string_value(value) : "";

		if (strcmp(kind, "*") != 0 && !act_kind_valid(kind))
			return "kind is a word or \"*\"";
		snprintf(to->kind, sizeof(to->kind), "%s", kind);
	} else if (strcmp(name, "verbs") == 0) {
		to->verbs = value;
		return list_ok(value, ACT_VERB_MAX) ? NULL : "verbs is a list of 1 to 256 words";
	} else if (strcmp(name, "targets") == 0) {
		to->targets = value;
		return list_ok(value, SCOPE_TARGET_MAX) ? NULL :
		    "targets is a list of 1 to 256 patterns";
	} else if (strcmp(name, "what") == 0) {
		if (!json_is_string(value) || !is_line(json_string_value(value),
		    json_string_length(value), SCOPE_TEXT_MAX))
			return "what is a line of at most 256 bytes";
		to->what = json_string_value(value);
	} else {
		return "members are kind, verbs, targets and what";
	}
	return NULL;
}

static const char *
read_entry(struct scope_entry *to, json_t *entry)
{
	const char *name, *why = NULL;
	json_t *value;

	to->what = "";
	if (!json_is_object(entry))
		return "an entry is an object";
	json_object_foreach(entry, name, value) {
		if (why == NULL)
			why = read_member(to, name, value);
	}
	return why != NULL || to->kind[0] != '\0' ? why : "an entry has a kind";
}

int
scope_read(struct scope *scope, json_t *array, const char *where, char *err,
    size_t err_len)
{
	const char *why = NULL;

	memset(scope, 0, sizeof(*scope));
	if (array == NULL)
		return 0;
	if (!json_is_array(array) || json_array_size(array) > SCOPE_ENTRIES_MAX) {
		snprintf(err, err_len, "%s: a list of at most %d entries", where,
		    SCOPE_ENTRIES_MAX);
		return -1;
	}
	scope->array = json_incref(array);
	for (; scope->n < json_array_size(array) && why == NULL; scope->n++)
		why = read_entry(&scope->one[scope->n], json_array_get(array, scope->n));
	if (why != NULL)
		snprintf(err, err_len, "%s[%zu]: %s", where, scope->n - 1, why);
	return why != NULL ? -1 : 0;
}

void
scope_free(struct scope *scope)
{
	json_decref(scope->array);
	memset(scope, 0, sizeof(*scope));
}

/* ---- matching ---- */

static void
spend(uint64_t *looks, uint64_t n)
{
	*looks -= n < *looks ? n : *looks;
}

/* One star at a time is ever gone back to: at most len(pattern) * len(text). */
static bool
matches(const char *pattern, const char *text, uint64_t *looks)
{
	const char *star = NULL, *from = NULL;

	for (; *text != '\0'; spend(looks, 1)) {
		if (*pattern == '*') {
			star = pattern++;
			from = text;
		} else if (*pattern == *text) {
			pattern++;
			text++;
		} else if (star != NULL) {
			pattern = star + 1;
			text = ++from;
		} else {
			return false;
		}
	}
	return pattern[strspn(pattern, "*")] == '\0';
}

static bool
lists_verb(const json_t *verbs, const char *verb, uint64_t *looks)
{
	const json_t *one;
	size_t i;

	spend(looks, 1 + json_array_size(verbs));
	json_array_foreach(verbs, i, one)
		if (strcmp(json_string_value(one), "*") == 0 ||
		    strcmp(json_string_value(one), verb) == 0)
			return true;
	return verbs == NULL;
}

static bool
lists_target(const json_t *targets, const char *target, uint64_t *looks)
{
	const json_t *one;
	size_t i;

	json_array_foreach(targets, i, one)
		if (*looks > 0 && matches(json_string_value(one), target, looks))
			return true;
	return targets == NULL;
}

const struct scope_entry *
scope_find(const struct scope *scope, const struct act *act, uint64_t *looks)
{
	for (size_t i = 0; i < scope->n && *looks > 0; i++) {
		const struct scope_entry *e = &scope->one[i];

		spend(looks, 1);
		if ((strcmp(e->kind, "*") == 0 || strcmp(e->kind, act->kind) == 0) &&
		    lists_verb(e->verbs, act->verb, looks) &&
		    lists_target(e->targets, act->target, looks))
			return e;
	}
	return NULL;
}
