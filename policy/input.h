/*
 * The input document inside policy/: its members as a table, which builds it,
 * writes it as JSON, and says which of them a rule looks at.  The tables are
 * constant; a document lives and dies with its arena, which is one thread's.
 */
#ifndef POLICY_INPUT_H
#define POLICY_INPUT_H

#include "policy/policy.h"
#include "policy/value/value.h"

enum input_type { INPUT_TEXT, INPUT_INTEGER, INPUT_JSON };

/* Members of the document that hold members, and those that stand alone. */
enum input_section {
	INPUT_ACTION, INPUT_ADAPTER, INPUT_AGENT, INPUT_BUDGET, INPUT_CALLER,
	INPUT_DELEGATION, INPUT_GRANT, INPUT_LIMITS, INPUT_NOW, INPUT_RUN,
	INPUT_SECRET, INPUT_TARGET, INPUT_VERSION, INPUT_SECTIONS
};

struct input_field {
	enum input_section section;
	struct value name;	/* in the section; that of one that stands alone is its own */
	enum input_type type;
	bool alone;
	size_t offset;		/* in struct policy_input */
};

#define INPUT_FIELDS 36		/* fewer than 64: sets of them are bits */

/* In the order of the document: sections by name, members by name. */
extern const struct input_field input_fields[INPUT_FIELDS];
extern const struct value input_section_names[INPUT_SECTIONS];

/* Integers that are different in a run's next decision (moving.h): where in
 * input_fields they stand. */
#define INPUT_MOVING 6
extern const uint8_t input_moving[INPUT_MOVING];

#define INPUT_VERSION_NUMBER 1

static inline const struct policy_str *
input_text_of(const struct input_field *field, const struct policy_input *input)
{
	return (const void *)((const char *)input + field->offset);
}

static inline int64_t
input_integer_of(const struct input_field *field,
    const struct policy_input *input)
{
	return *(const int64_t *)(const void *)((const char *)input +
	    field->offset);
}

/* Absent ones are not in the document. */
static inline bool
input_has(const struct input_field *field, const struct policy_input *input)
{
	return field->type == INPUT_INTEGER ?
	    input_integer_of(field, input) != -1 :
	    input_text_of(field, input)->p != NULL;
}

/*
 * The document, in arena (which must be armed); text is not copied.  NULL with
 * a message where text is not UTF-8 or the embedded JSON is not JSON.
 */
const struct value *input_document(struct arena *arena,
    const struct policy_input *input, char *err, size_t err_len);

/* Where such a document has the value of a member that is not JSON; no value
 * where it is absent, and nothing else either. */
const struct value *input_leaf(const struct value *document, unsigned field);

/* The fields that are there, as bits of input_fields; and their sections. */
uint64_t input_present(const struct policy_input *input);
uint32_t input_sections(uint64_t fields);

/* Are these fields, which are there, such that a document can be built?  May
 * say false where it takes a document to see. */
bool input_in_order(const struct policy_input *input, uint64_t fields);

#endif
