#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "policy/input.h"
#include "policy/utf8.h"

/* A member is called as in struct policy_input. */
#define ROW(type, section, name, alone, at) { INPUT_##section, \
	VALUE_STRING_LITERAL(#name), INPUT_##type, alone, \
	offsetof(struct policy_input, at) }
#define ONE(type, section, group, a) ROW(type, section, a, false, group.a)
#define TWO(type, section, group, a, b) \
	ONE(type, section, group, a), ONE(type, section, group, b)
#define THREE(type, section, group, a, b, c) \
	TWO(type, section, group, a, b), ONE(type, section, group, c)
#define BUDGET(section, group) \
	TWO(INTEGER, section, group, bytes_out, cost), \
	TWO(INTEGER, section, group, requests, wall_ms)
#define ALONE(type, section, name) ROW(type, section, name, true, name)

/* In order of the names, so that building the document never sorts. */
const struct input_field input_fields[INPUT_FIELDS] = {
	ONE(JSON, ACTION, action, args),
	THREE(TEXT, ACTION, action, kind, name, verb),
	ALONE(TEXT, ADAPTER, adapter),
	TWO(TEXT, AGENT, agent, name, version),
	BUDGET(BUDGET, budget),
	TWO(TEXT, CALLER, caller, cgroup, exe),
	TWO(INTEGER, CALLER, caller, pid, uid),
	ALONE(JSON, DELEGATION, delegation),
	ONE(TEXT, GRANT, grant, id),
	ONE(INTEGER, GRANT, grant, uses_left),
	BUDGET(LIMITS, limits),
	ALONE(INTEGER, NOW, now_ns),
	ONE(TEXT, RUN, run, id),
	ONE(INTEGER, RUN, run, opened_ns),
	TWO(TEXT, RUN, run, parent, principal),
	TWO(TEXT, SECRET, secret, binding, name),
	ONE(INTEGER, SECRET, secret, version),
	THREE(TEXT, TARGET, target, host, ip, path),
	ONE(INTEGER, TARGET, target, port),
	TWO(TEXT, TARGET, target, query, scheme),
};

/* The budget, grant.uses_left, now_ns. */
const uint8_t input_moving[INPUT_MOVING] = { 7, 8, 9, 10, 17, 22 };

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

const struct value *
input_leaf(const struct value *document, unsigned field)
{
	const struct document *d = (const void *)((const char *)document -
	    offsetof(struct document, root));

	return &d->leaf[field];
}

bool
input_in_order(const struct policy_input *input, uint64_t known)
{
	for (size_t i = 0; i < INPUT_FIELDS; i++) {
		const struct input_field *field = &input_fields[i];
		const struct policy_str *text;

		if ((known >> i & 1) != 0 || field->type == INPUT_INTEGER ||
		    !input_has(field, input))
			continue;
		text = input_text_of(field, input);
		if (field->type == INPUT_JSON ||
		    utf8_valid_prefix(text->p, text->n) != text->n)
			return false;
	}
	return true;
}
