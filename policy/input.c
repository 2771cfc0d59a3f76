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

int
policy_input_json(const struct policy_input *input, char *buf, size_t cap)
{
	struct arena arena;
	struct buf text = { .arena = &arena };
	const struct value *v;
	char err[200];
	jmp_buf here;
	volatile int n = -1;

	if (arena_init(&arena, 32 * 1024, DECISION_ARENA_MAX,
	    DECISION_STEPS_MAX) != 0)
		return -1;
	if (setjmp(here) == 0) {
		arena.armed = &here;
		v = input_document(&arena, input, err, sizeof(err));
		if (v != NULL) {
			value_to_json(&text, v, 0);
			if (text.n < cap && text.n <= INT32_MAX) {
				memcpy(buf, text.p, text.n);
				buf[text.n] = '\0';
				n = (int)text.n;
			}
		}
	}
	arena_release(&arena);
	return n;
}
