#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "policy/input.h"
#include "policy/utf8.h"

#define AT(member) offsetof(struct policy_input, member)
#define TEXT(section, name, member) \
	{ section, VALUE_STRING_LITERAL(name), INPUT_TEXT, false, AT(member) }
#define INTEGER(section, name, member) \
	{ section, VALUE_STRING_LITERAL(name), INPUT_INTEGER, false, AT(member) }
#define JSON(section, name, member) \
	{ section, VALUE_STRING_LITERAL(name), INPUT_JSON, false, AT(member) }
#define ALONE(section, name, type, member) \
	{ section, VALUE_STRING_LITERAL(name), type, true, AT(member) }

/* In order of the names, so that building the document never sorts. */
const struct input_field input_fields[INPUT_FIELDS] = {
	JSON(INPUT_ACTION, "args", action.args),
	TEXT(INPUT_ACTION, "kind", action.kind),
	TEXT(INPUT_ACTION, "name", action.name),
	TEXT(INPUT_ACTION, "verb", action.verb),
	ALONE(INPUT_ADAPTER, "adapter", INPUT_TEXT, adapter),
	TEXT(INPUT_AGENT, "name", agent.name),
	TEXT(INPUT_AGENT, "version", agent.version),
	INTEGER(INPUT_BUDGET, "bytes_out", budget.bytes_out),
	INTEGER(INPUT_BUDGET, "cost", budget.cost),
	INTEGER(INPUT_BUDGET, "requests", budget.requests),
	INTEGER(INPUT_BUDGET, "wall_ms", budget.wall_ms),
	TEXT(INPUT_CALLER, "cgroup", caller.cgroup),
	TEXT(INPUT_CALLER, "exe", caller.exe),
	INTEGER(INPUT_CALLER, "pid", caller.pid),
	INTEGER(INPUT_CALLER, "uid", caller.uid),
	ALONE(INPUT_DELEGATION, "delegation", INPUT_JSON, delegation),
	TEXT(INPUT_GRANT, "id", grant.id),
	INTEGER(INPUT_GRANT, "uses_left", grant.uses_left),
	INTEGER(INPUT_LIMITS, "bytes_out", limits.bytes_out),
	INTEGER(INPUT_LIMITS, "cost", limits.cost),
	INTEGER(INPUT_LIMITS, "requests", limits.requests),
	INTEGER(INPUT_LIMITS, "wall_ms", limits.wall_ms),
	ALONE(INPUT_NOW, "now_ns", INPUT_INTEGER, now_ns),
	TEXT(INPUT_RUN, "id", run.id),
	INTEGER(INPUT_RUN, "opened_ns", run.opened_ns),
	TEXT(INPUT_RUN, "parent", run.parent),
	TEXT(INPUT_RUN, "principal", run.principal),
	TEXT(INPUT_SECRET, "binding", secret.binding),
	TEXT(INPUT_SECRET, "name", secret.name),
	INTEGER(INPUT_SECRET, "version", secret.version),
	TEXT(INPUT_TARGET, "host", target.host),
	TEXT(INPUT_TARGET, "ip", target.ip),
	TEXT(INPUT_TARGET, "path", target.path),
	INTEGER(INPUT_TARGET, "port", target.port),
	TEXT(INPUT_TARGET, "query", target.query),
	TEXT(INPUT_TARGET, "scheme", target.scheme),
};

#define NAME(section, name) [section] = VALUE_STRING_LITERAL(name)

const struct value input_section_names[INPUT_SECTIONS] = {
	NAME(INPUT_ACTION, "action"), NAME(INPUT_ADAPTER, "adapter"),
	NAME(INPUT_AGENT, "agent"), NAME(INPUT_BUDGET, "budget"),
	NAME(INPUT_CALLER, "caller"), NAME(INPUT_DELEGATION, "delegation"),
	NAME(INPUT_GRANT, "grant"), NAME(INPUT_LIMITS, "limits"),
	NAME(INPUT_NOW, "now_ns"), NAME(INPUT_RUN, "run"),
	NAME(INPUT_SECRET, "secret"), NAME(INPUT_TARGET, "target"),
	NAME(INPUT_VERSION, "v"),
};

/* All that a document needs but parsed JSON, in one piece. */
struct document {
	struct value root, section[INPUT_SECTIONS], leaf[INPUT_FIELDS];
	const struct value *root_items[2 * INPUT_SECTIONS];
	const struct value *items[2 * INPUT_FIELDS];	/* of all sections */
};

static bool __attribute__((cold, noinline, format(printf, 4, 5)))
cannot(const struct input_field *field, char *err, size_t err_len,
    const char *format, ...)
{
	char why[120];
	va_list ap;

	va_start(ap, format);
	vsnprintf(why, sizeof(why), format, ap);
	va_end(ap);
	snprintf(err, err_len, "%s.%s%s", field->alone ? "input" :
	    input_section_names[field->section].str.p, field->name.str.p, why);
	return false;
}

static bool
set_json(struct arena *arena, const struct input_field *field,
    const struct policy_str *text, const struct value **out, char *err,
    size_t err_len)
{
	char problem[100];

	*out = value_from_json(arena, text->p, text->n, &value_json_strict,
	    problem, sizeof(problem));
	return *out != NULL || cannot(field, err, err_len, ": %s", problem);
}

/* False where its text cannot stand in a document. */
static bool
set_leaf(struct arena *arena, const struct input_field *field,
    const struct policy_input *input, struct value *leaf,
    const struct value **out, char *err, size_t err_len)
{
	const struct policy_str *text;

	*out = leaf;
	if (field->type == INPUT_INTEGER) {
		*leaf = (struct value){ .kind = VALUE_NUMBER, .is_int = true,
		    .num.i = input_integer_of(field, input) };
		return true;
	}
	text = input_text_of(field, input);
	if (field->type == INPUT_JSON)
		return set_json(arena, field, text, out, err, err_len);
	*leaf = (struct value){ .kind = VALUE_STRING,
	    .str = { text->p, text->n } };
	return utf8_valid_prefix(text->p, text->n) == text->n ||
	    cannot(field, err, err_len, " is not UTF-8");
}

/* Items lie in order and are never more than there is room for. */
static void
push(struct value *object, const struct value *name, const struct value *item)
{
	object->col.items[2 * (size_t)object->col.n] = name;
	object->col.items[2 * (size_t)object->col.n + 1] = item;
	object->cap = ++object->col.n;
}

static void
begin(struct value *object, const struct value **items)
{
	*object = (struct value){ .kind = VALUE_OBJECT, .col.items = items };
}

const struct value *
input_document(struct arena *arena, const struct policy_input *input,
    char *err, size_t err_len)
{
	struct document *d = arena_alloc(arena, sizeof(*d));
	enum input_section open = INPUT_SECTIONS;

	err[0] = '\0';
	begin(&d->root, d->root_items);
	for (size_t i = 0; i < INPUT_FIELDS; i++) {
		const struct input_field *field = &input_fields[i];
		const struct value *leaf;

		if (!input_has(field, input))
			continue;
		if (!set_leaf(arena, field, input, &d->leaf[i], &leaf, err,
		    err_len))
			return NULL;
		if (field->alone) {
			push(&d->root, &field->name, leaf);
			continue;
		}
		if (field->section != open) {
			open = field->section;
			begin(&d->section[open], &d->items[2 * i]);
			push(&d->root, &input_section_names[open],
			    &d->section[open]);
		}
		push(&d->section[open], &field->name, leaf);
	}
	push(&d->root, &input_section_names[INPUT_VERSION],
	    value_int(arena, INPUT_VERSION_NUMBER));
	return &d->root;
}
