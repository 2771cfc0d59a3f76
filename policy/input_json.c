/* The input as a line of a record. */
#include <stdio.h>
#include <string.h>

#include "policy/input.h"
#include "policy/pack.h"
#include "policy/value/number.h"
#include "policy/value/utf8.h"

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

#define PUT(out, literal) put(out, literal, sizeof(literal) - 1)

/* Text that holds something to be escaped, or is not ASCII. */
static void
put_escaped(struct text *out, const char *p, size_t n)
{
	size_t start = 0;

	if (utf8_valid_prefix(p, n) != n)
		out->failed = true;
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
}

/* Room for n bytes, taken; or NULL. */
static char *
take(struct text *out, size_t n)
{
	char *p = out->p + out->n;

	if (out->failed || n >= out->cap - out->n) {
		out->failed = true;
		return NULL;
	}
	out->n += n;
	return p;
}

static void
put_string(struct text *out, const char *p, size_t n)
{
	size_t plain = utf8_plain_prefix(p, n);
	char *at;

	if (plain < n) {
		PUT(out, "\"");
		put(out, p, plain);
		put_escaped(out, p + plain, n - plain);
		PUT(out, "\"");
	} else if ((at = take(out, n + 2)) != NULL) {
		at[0] = '"';
		memcpy(at + 1, p, n);
		at[n + 1] = '"';
	}
}

static void
put_integer(struct text *out, int64_t i)
{
	bool quoted = i > EXACT_MAX || i < -EXACT_MAX;
	char digits[NUM_INT64_TEXT];
	const char *p;
	size_t n;

	p = num_int64_text(i, digits, &n);
	if (quoted)
		PUT(out, "\"");
	put(out, p, n);
	if (quoted)
		PUT(out, "\"");
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

/* Comma (where one is due) and name.  Names are ours: nothing in them needs an
 * escape. */
static void
put_name(struct text *out, bool comma, const struct value *name)
{
	size_t n = name->str.n;
	char *at = take(out, n + 3 + comma);

	if (at == NULL)
		return;
	if (comma)
		*at++ = ',';
	at[0] = '"';
	memcpy(at + 1, name->str.p, n);
	at[n + 1] = '"';
	at[n + 2] = ':';
}

static void
put_value(struct text *out, const struct input_field *field,
    const struct policy_input *input)
{
	const struct policy_str *text = input_text_of(field, input);

	if (field->type == INPUT_INTEGER)
		put_integer(out, input_integer_of(field, input));
	else if (field->type == INPUT_TEXT)
		put_string(out, text->p, text->n);
	else
		put_json(out, text);
}

_Static_assert(INPUT_FIELDS == POLICY_KEPT_FIELDS, "each has its place");

static uint64_t
members(const struct policy_input *input)
{
	uint64_t has = 0;

	for (size_t i = 0; i < INPUT_FIELDS; i++)
		has |= (uint64_t)input_has(&input_fields[i], input) << i;
	return has;
}

/* All of it.  Where its values stand is noted in kept, if there is one. */
static void
put_members(struct text *out, const struct policy_input *input, uint64_t left,
    struct policy_input_kept *kept)
{
	enum input_section open = INPUT_SECTIONS;
	bool comma = false;

	PUT(out, "{");
	for (; left != 0; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctzll(left);
		const struct input_field *field = &input_fields[i];

		if (open != INPUT_SECTIONS && field->section != open) {
			PUT(out, "}");
			open = INPUT_SECTIONS;
		}
		if (!field->alone && open == INPUT_SECTIONS) {
			open = field->section;
			put_name(out, comma, &input_section_names[open]);
			PUT(out, "{");
			comma = false;
		}
		put_name(out, comma, &field->name);
		if (kept != NULL)
			kept->value[i].at = (uint16_t)out->n;
		put_value(out, field, input);
		if (kept != NULL)
			kept->value[i].end = (uint16_t)out->n;
		comma = true;
	}
	if (open != INPUT_SECTIONS)
		PUT(out, "}");
	if (out->n > 1)
		PUT(out, ",");
	PUT(out, "\"v\":1}");
}

static int
end(const struct text *out)
{
	if (out->failed || out->n > INT32_MAX)
		return -1;
	out->p[out->n] = '\0';
	return (int)out->n;
}

int
policy_input_json(const struct policy_input *input, char *buf, size_t cap)
{
	struct text out = { .p = buf, .cap = cap, .failed = cap == 0 };

	put_members(&out, input, members(input), NULL);
	return end(&out);
}

/* Where the other text has exactly this value.  Text in which something was
 * escaped is not what stands there. */
static bool
stands(const struct policy_input_kept *kept, unsigned i,
    const struct policy_input *input)
{
	const struct input_field *field = &input_fields[i];
	const struct policy_str *text = input_text_of(field, input);
	size_t len = (size_t)kept->value[i].end - kept->value[i].at;

	if (field->type == INPUT_INTEGER)
		return input_integer_of(field, input) == kept->value[i].number;
	return (kept->plain >> i & 1) != 0 && text->n + 2 == len &&
	    memcmp(kept->text + kept->value[i].at + 1, text->p, text->n) == 0;
}

static void
put_again(struct text *out, const struct policy_input *input,
    const struct policy_input_kept *kept)
{
	size_t from = 0;

	for (uint64_t left = kept->has; left != 0; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctzll(left);

		if (stands(kept, i, input))
			continue;
		put(out, kept->text + from, kept->value[i].at - from);
		put_value(out, &input_fields[i], input);
		from = kept->value[i].end;
	}
	put(out, kept->text + from, kept->len - from);
}

/* Text was written of which the places of its values are known. */
static void
keep(struct policy_input_kept *kept, const struct policy_input *input,
    uint64_t has, const struct text *text)
{
	kept->has = kept->plain = 0;
	if (text->failed || text->n > sizeof(kept->text))
		return;
	for (uint64_t left = has; left != 0; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctzll(left);
		const struct input_field *field = &input_fields[i];
		const struct policy_str *t = input_text_of(field, input);

		if (field->type == INPUT_INTEGER)
			kept->value[i].number = input_integer_of(field, input);
		else if (field->type == INPUT_TEXT &&
		    utf8_plain_prefix(t->p, t->n) == t->n)
			kept->plain |= UINT64_C(1) << i;
	}
	memcpy(kept->text, text->p, text->n);
	kept->len = text->n;
	kept->has = has;
}

int
policy_input_json_again(struct policy_input_kept *kept,
    const struct policy_input *input, char *buf, size_t cap)
{
	struct text out = { .p = buf, .cap = cap, .failed = cap == 0 };
	uint64_t has = members(input);

	if (has != 0 && has == kept->has) {
		put_again(&out, input, kept);
	} else {
		put_members(&out, input, has, kept);
		keep(kept, input, has, &out);
	}
	return end(&out);
}
