#include <stdio.h>
#include <string.h>

#include "policy/pack.h"
#include "policy/utf8.h"

/*
 * The document as a table, in order of the names, so that building it never
 * sorts.  A NULL section stands at the top.
 */
enum type { TEXT, INTEGER, JSON };

struct field {
	const char *section, *name;
	size_t offset;
	enum type type;
};

#define AT(member) offsetof(struct policy_input, member)

static const struct field fields[] = {
	{ "action", "args", AT(action.args), JSON },
	{ "action", "kind", AT(action.kind), TEXT },
	{ "action", "name", AT(action.name), TEXT },
	{ "action", "verb", AT(action.verb), TEXT },
	{ NULL, "adapter", AT(adapter), TEXT },
	{ "agent", "name", AT(agent.name), TEXT },
	{ "agent", "version", AT(agent.version), TEXT },
	{ "budget", "bytes_out", AT(budget.bytes_out), INTEGER },
	{ "budget", "cost", AT(budget.cost), INTEGER },
	{ "budget", "requests", AT(budget.requests), INTEGER },
	{ "budget", "wall_ms", AT(budget.wall_ms), INTEGER },
	{ "caller", "cgroup", AT(caller.cgroup), TEXT },
	{ "caller", "exe", AT(caller.exe), TEXT },
	{ "caller", "pid", AT(caller.pid), INTEGER },
	{ "caller", "uid", AT(caller.uid), INTEGER },
	{ NULL, "delegation", AT(delegation), JSON },
	{ "grant", "id", AT(grant.id), TEXT },
	{ "grant", "uses_left", AT(grant.uses_left), INTEGER },
	{ "limits", "bytes_out", AT(limits.bytes_out), INTEGER },
	{ "limits", "cost", AT(limits.cost), INTEGER },
	{ "limits", "requests", AT(limits.requests), INTEGER },
	{ "limits", "wall_ms", AT(limits.wall_ms), INTEGER },
	{ NULL, "now_ns", AT(now_ns), INTEGER },
	{ "run", "id", AT(run.id), TEXT },
	{ "run", "opened_ns", AT(run.opened_ns), INTEGER },
	{ "run", "parent", AT(run.parent), TEXT },
	{ "run", "principal", AT(run.principal), TEXT },
	{ "secret", "binding", AT(secret.binding), TEXT },
	{ "secret", "name", AT(secret.name), TEXT },
	{ "secret", "version", AT(secret.version), INTEGER },
	{ "target", "host", AT(target.host), TEXT },
	{ "target", "ip", AT(target.ip), TEXT },
	{ "target", "path", AT(target.path), TEXT },
	{ "target", "port", AT(target.port), INTEGER },
	{ "target", "query", AT(target.query), TEXT },
	{ "target", "scheme", AT(target.scheme), TEXT },
};

#define INPUT_VERSION 1

static const struct value *
name_of(struct arena *arena, const char *name)
{
	return value_string(arena, name, strlen(name));
}

/* NULL without a message: not there. */
static const struct value *
field_value(struct arena *arena, const struct field *field,
    const struct policy_input *input, char *err, size_t err_len)
{
	const char *at = (const char *)input + field->offset;
	const struct policy_str *text = (const void *)at;
	char why[120];
	const struct value *v;
	int64_t i;

	if (field->type == INTEGER) {
		memcpy(&i, at, sizeof(i));
		return i == -1 ? NULL : value_int(arena, i);
	}
	if (text->p == NULL)
		return NULL;
	if (field->type == TEXT) {
		if (utf8_valid_prefix(text->p, text->n) == text->n)
			return value_string(arena, text->p, text->n);
		snprintf(err, err_len, "%s.%s is not UTF-8",
		    field->section != NULL ? field->section : "input",
		    field->name);
		return NULL;
	}
	v = value_from_json(arena, text->p, text->n, &value_json_strict, why,
	    sizeof(why));
	if (v == NULL)
		snprintf(err, err_len, "%s.%s: %s",
		    field->section != NULL ? field->section : "input",
		    field->name, why);
	return v;
}

const struct value *
input_document(struct arena *arena, const struct policy_input *input,
    char *err, size_t err_len)
{
	struct value *root = value_object(arena, 16), *section = NULL;
	const char *open = NULL;
	const struct value *v;
	size_t i;

	err[0] = '\0';
	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		const struct field *field = &fields[i];

		v = field_value(arena, field, input, err, err_len);
		if (err[0] != '\0')
			return NULL;
		if (v == NULL)
			continue;
		if (field->section == NULL) {
			value_put(arena, root, name_of(arena, field->name), v);
			continue;
		}
		if (open == NULL || strcmp(open, field->section) != 0) {
			open = field->section;
			section = value_object(arena, 6);
			value_put(arena, root, name_of(arena, open), section);
		}
		value_put(arena, section, name_of(arena, field->name), v);
	}
	value_put(arena, root, name_of(arena, "v"),
	    value_int(arena, INPUT_VERSION));
	return root;
}

/* --- as a line of a record -------------------------------------------- */

/* Integers above this are written as strings: a ledger's reader in any
 * language must get them back whole (nanoseconds do not fit a double). */
#define EXACT_MAX (((int64_t)1 << 53) - 1)

struct text {
	char *p;
	size_t n, cap;
	bool failed;
};

static void
put(struct text *out, const char *p, size_t n)
{
	if (out->failed || n >= out->cap - out->n) {
		out->failed = true;
		return;
	}
	memcpy(out->p + out->n, p, n);
	out->n += n;
}

static void
put_string(struct text *out, const char *p, size_t n)
{
	size_t start = 0;

	if (utf8_valid_prefix(p, n) != n)
		out->failed = true;
	put(out, "\"", 1);
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];
		char escaped[8];

		if (c >= 0x20 && c != '"' && c != '\\' && c != 0x7f)
			continue;
		put(out, p + start, i - start);
		start = i + 1;
		put(out, escaped, (size_t)snprintf(escaped, sizeof(escaped),
		    c == '"' || c == '\\' ? "\\%c" : "\\u%04x", c));
	}
	put(out, p + start, n - start);
	put(out, "\"", 1);
}

static void
put_integer(struct text *out, int64_t i)
{
	bool quoted = i > EXACT_MAX || i < -EXACT_MAX;
	uint64_t left = i < 0 ? -(uint64_t)i : (uint64_t)i;
	char digits[24], *p = digits + sizeof(digits);

	if (quoted)
		*--p = '"';
	do {
		*--p = (char)('0' + left % 10);
	} while ((left /= 10) != 0);
	if (i < 0)
		*--p = '-';
	if (quoted)
		*--p = '"';
	put(out, p, (size_t)(digits + sizeof(digits) - p));
}

/* Embedded JSON is read and written again: the record is ours to vouch for. */
static void
put_json(struct text *out, const struct policy_str *json)
{
	struct arena arena;
	struct buf text = { .arena = &arena };
	const struct value *v;
	char why[120];
	jmp_buf here;

	if (arena_init(&arena, 4096, DECISION_ARENA_MAX,
	    DECISION_STEPS_MAX) != 0) {
		out->failed = true;
		return;
	}
	if (setjmp(here) == 0) {
		arena.armed = &here;
		v = value_from_json(&arena, json->p, json->n,
		    &value_json_strict, why, sizeof(why));
		if (v != NULL) {
			value_to_json(&text, v, 0);
			put(out, text.p, text.n);
		} else {
			out->failed = true;
		}
	} else {
		out->failed = true;
	}
	arena_release(&arena);
}

static bool
present(const struct field *field, const struct policy_input *input)
{
	const char *at = (const char *)input + field->offset;
	int64_t i;

	if (field->type != INTEGER)
		return ((const struct policy_str *)(const void *)at)->p != NULL;
	memcpy(&i, at, sizeof(i));
	return i != -1;
}

static void
put_field(struct text *out, const struct field *field,
    const struct policy_input *input)
{
	const char *at = (const char *)input + field->offset;
	const struct policy_str *text = (const void *)at;
	int64_t i;

	put_string(out, field->name, strlen(field->name));
	put(out, ":", 1);
	if (field->type == INTEGER) {
		memcpy(&i, at, sizeof(i));
		put_integer(out, i);
	} else if (field->type == TEXT) {
		put_string(out, text->p, text->n);
	} else {
		put_json(out, text);
	}
}

int
policy_input_json(const struct policy_input *input, char *buf, size_t cap)
{
	struct text out = { .p = buf, .cap = cap, .failed = cap == 0 };
	const char *open = NULL;

	put(&out, "{", 1);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		const struct field *field = &fields[i];

		if (!present(field, input))
			continue;
		if (open != NULL && (field->section == NULL ||
		    strcmp(open, field->section) != 0)) {
			put(&out, "}", 1);
			open = NULL;
		}
		if (out.n > 1 && out.p[out.n - 1] != '{')
			put(&out, ",", 1);
		if (field->section != NULL && open == NULL) {
			open = field->section;
			put_string(&out, open, strlen(open));
			put(&out, ":{", 2);
		}
		put_field(&out, field, input);
	}
	put(&out, open != NULL ? "}" : "", open != NULL);
	put(&out, out.n > 1 ? ",\"v\":1}" : "\"v\":1}", out.n > 1 ? 7 : 6);
	if (out.failed || out.n > INT32_MAX)
		return -1;
	out.p[out.n] = '\0';
	return (int)out.n;
}
