#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "policy/input.h"
#include "policy/value/utf8.h"

/* In order of the names, so that building the document never sorts. */
#define EACH_FIELD(X) \
	X(JSON, ACTION, args, false, action.args) \
	X(TEXT, ACTION, kind, false, action.kind) \
	X(TEXT, ACTION, name, false, action.name) \
	X(TEXT, ACTION, verb, false, action.verb) \
	X(TEXT, ADAPTER, adapter, true, adapter) \
	X(TEXT, AGENT, name, false, agent.name) \
	X(TEXT, AGENT, version, false, agent.version) \
	X(INTEGER, BUDGET, bytes_out, false, budget.bytes_out) \
	X(INTEGER, BUDGET, cost, false, budget.cost) \
	X(INTEGER, BUDGET, requests, false, budget.requests) \
	X(INTEGER, BUDGET, wall_ms, false, budget.wall_ms) \
	X(TEXT, CALLER, cgroup, false, caller.cgroup) \
	X(TEXT, CALLER, exe, false, caller.exe) \
	X(INTEGER, CALLER, pid, false, caller.pid) \
	X(INTEGER, CALLER, uid, false, caller.uid) \
	X(JSON, DELEGATION, delegation, true, delegation) \
	X(TEXT, GRANT, id, false, grant.id) \
	X(INTEGER, GRANT, uses_left, false, grant.uses_left) \
	X(INTEGER, LIMITS, bytes_out, false, limits.bytes_out) \
	X(INTEGER, LIMITS, cost, false, limits.cost) \
	X(INTEGER, LIMITS, requests, false, limits.requests) \
	X(INTEGER, LIMITS, wall_ms, false, limits.wall_ms) \
	X(INTEGER, NOW, now_ns, true, now_ns) \
	X(TEXT, RUN, id, false, run.id) \
	X(INTEGER, RUN, opened_ns, false, run.opened_ns) \
	X(TEXT, RUN, parent, false, run.parent) \
	X(TEXT, RUN, principal, false, run.principal) \
	X(TEXT, SECRET, binding, false, secret.binding) \
	X(TEXT, SECRET, name, false, secret.name) \
	X(INTEGER, SECRET, version, false, secret.version) \
	X(TEXT, TARGET, host, false, target.host) \
	X(TEXT, TARGET, ip, false, target.ip) \
	X(TEXT, TARGET, path, false, target.path) \
	X(INTEGER, TARGET, port, false, target.port) \
	X(TEXT, TARGET, query, false, target.query) \
	X(TEXT, TARGET, scheme, false, target.scheme)

#define PLACE(type, section, name, alone, at) AT_##section##_##name,
#define ROW(type, section, name, alone, at) { INPUT_##section, \
	VALUE_STRING_LITERAL(#name), INPUT_##type, alone, \
	offsetof(struct policy_input, at) },

enum { EACH_FIELD(PLACE) N_FIELDS };
_Static_assert(N_FIELDS == INPUT_FIELDS, "as many as the header says");

const struct input_field input_fields[INPUT_FIELDS] = { EACH_FIELD(ROW) };

const uint8_t input_moving[INPUT_MOVING] = {
	AT_BUDGET_bytes_out, AT_BUDGET_cost, AT_BUDGET_requests,
	AT_BUDGET_wall_ms, AT_GRANT_uses_left, AT_NOW_now_ns
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

const struct value *
input_leaf(const struct value *document, unsigned field)
{
	const struct document *d = (const void *)((const char *)document -
	    offsetof(struct document, root));

	return &d->leaf[field];
}

/* --- without one -------------------------------------------------------- */

#define THERE_TEXT(text) ((text).p != NULL)
#define THERE_JSON(text) ((text).p != NULL)
#define THERE_INTEGER(i) ((i) != -1)
#define THERE(type, section, name, alone, at) \
	| (uint64_t)THERE_##type(input->at) << AT_##section##_##name
#define SECTION(type, section, name, alone, at) \
	| (uint32_t)(fields >> AT_##section##_##name & 1) << INPUT_##section

uint64_t
input_present(const struct policy_input *input)
{
	return 0 EACH_FIELD(THERE);
}

uint32_t
input_sections(uint64_t fields)
{
	return 1u << INPUT_VERSION EACH_FIELD(SECTION);
}

bool
input_in_order(const struct policy_input *input, uint64_t fields)
{
	for (; fields != 0; fields &= fields - 1) {
		const struct input_field *field =
		    &input_fields[__builtin_ctzll(fields)];
		const struct policy_str *text = input_text_of(field, input);

		if (field->type == INPUT_INTEGER)
			continue;
		if (field->type == INPUT_JSON ||
		    utf8_valid_prefix(text->p, text->n) != text->n)
			return false;
	}
	return true;
}
