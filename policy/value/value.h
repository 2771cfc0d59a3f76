/*
 * Rego values: null, boolean, number, string, array, object, set, compared as
 * Rego compares them.  Objects and sets iterate in order.
 *
 * Values are built in an arena and shared freely once built.  Values of a pack
 * are frozen: read by many threads, changed by none.
 */
#ifndef POLICY_VALUE_VALUE_H
#define POLICY_VALUE_VALUE_H

#include <string.h>

#include "policy/value/arena.h"

/* In Rego's order of types. */
enum value_kind {
	VALUE_NULL, VALUE_BOOL, VALUE_NUMBER, VALUE_STRING, VALUE_ARRAY,
	VALUE_OBJECT, VALUE_SET
};

#define VALUE_DEPTH_MAX 512	/* nesting that comparison follows */

struct value {
	uint8_t kind;
	bool truth : 1;		/* boolean */
	bool is_int : 1;	/* number: spelled as an integer, equal to num.i */
	bool frozen : 1;
	bool fixed : 1;		/* no plan changes it any more, see value_fix() */
	bool unsorted : 1;	/* object, set: as inserted; table in use */
	uint32_t cap;		/* array, object, set: room for this many */
	union {
		struct {
			int64_t i;
			const char *p;	/* spelling, or NULL: that of i */
			uint32_t n;
		} num;
		struct {
			const char *p;	/* UTF-8, not terminated */
			size_t n;
		} str;
		struct {
			/* array, set: items; object: key, value, key, value */
			const struct value **items;
			uint32_t *table;	/* hash to index + 1; while unsorted */
			uint32_t n, mask;
		} col;
	};
};

#define VALUE_STRING_LITERAL(s) \
	{ .kind = VALUE_STRING, .frozen = true, .str = { (s), sizeof(s) - 1 } }

extern const struct value value_null, value_true, value_false, value_empty_string;

const struct value *value_bool(bool truth);
const struct value *value_int(struct arena *arena, int64_t i);
/* p must be a JSON number; it is not copied. */
const struct value *value_number(struct arena *arena, const char *p, size_t n);
/* Not copied. */
const struct value *value_string(struct arena *arena, const char *p, size_t n);
const struct value *value_string_copy(struct arena *arena, const char *p,
    size_t n);
const struct value *value_text(struct arena *arena, const char *terminated);

struct value *value_array(struct arena *arena, size_t cap);
struct value *value_object(struct arena *arena, size_t cap);
struct value *value_set(struct arena *arena, size_t cap);

void value_append(struct arena *arena, struct value *array,
    const struct value *item);
/* Insert or replace. */
void value_put(struct arena *arena, struct value *object,
    const struct value *key, const struct value *item);
void value_add(struct arena *arena, struct value *set,
    const struct value *item);

/* Array element, object member or set element; NULL where there is none. */
const struct value *value_get(struct arena *arena, const struct value *from,
    const struct value *key);
/* Member of an object by name, never failing. */
const struct value *value_member(const struct value *object, const char *name);
bool value_has(struct arena *arena, const struct value *set,
    const struct value *item);

/* Put an object or set in order: before iterating over it by index. */
void value_sort(struct arena *arena, const struct value *collection);
void value_freeze(struct arena *arena, const struct value *value);
/*
 * From now on a plan that puts something into it, or into anything in it, is
 * stopped, as it is for frozen values; but it lives no longer than before.  For
 * what others hold, too: the input, and what is handed to a function or given back.
 */
void value_fix(struct arena *arena, const struct value *value);
/* All of it into arena, frozen; parts that are frozen already are shared. */
const struct value *value_copy_frozen(struct arena *arena,
    const struct value *value);

/* <0, 0, >0. */
int value_compare(struct arena *arena, const struct value *a,
    const struct value *b);
uint64_t value_hash(struct arena *arena, const struct value *value);

/* "null", "boolean", "number", "string", "array", "object", "set". */
const char *value_type_name(const struct value *value);

static inline bool
value_is_collection(const struct value *value)
{
	return value->kind >= VALUE_ARRAY;
}

/* A string that says just this; NULL is none. */
static inline bool
value_is_text(const struct value *v, const char *text)
{
	return v != NULL && v->kind == VALUE_STRING &&
	    v->str.n == strlen(text) && memcmp(v->str.p, text, v->str.n) == 0;
}

/* The i-th key of a sorted object (or element of an array or sorted set). */
static inline const struct value *
value_key_at(const struct value *v, uint32_t i)
{
	return v->kind == VALUE_OBJECT ? v->col.items[2 * (size_t)i] :
	    v->col.items[i];
}

static inline const struct value *
value_at(const struct value *v, uint32_t i)
{
	return v->kind == VALUE_OBJECT ? v->col.items[2 * (size_t)i + 1] :
	    v->col.items[i];
}

/* --- JSON (value_json.c) ---------------------------------------------- */

struct value_json_limits {
	unsigned depth;
	bool last_wins;		/* a repeated key replaces; else it is an error */
	bool lone_surrogates;	/* become U+FFFD; else they are an error */
};

extern const struct value_json_limits value_json_strict;

/*
 * RFC 8259, nothing before or after but white space.  Numbers keep their
 * spelling.  NULL with err (which names the byte offset) on bad text; fails
 * the arena on lack of memory.  Strings may point into text.
 */
const struct value *value_from_json(struct arena *arena, const char *text,
    size_t len, const struct value_json_limits *limits, char *err,
    size_t err_len);

/* A growing buffer in an arena. */
struct buf {
	struct arena *arena;
	char *p;
	size_t n, cap;
};

void buf_put(struct buf *buf, const char *p, size_t n);
void buf_puts(struct buf *buf, const char *s);
void buf_putc(struct buf *buf, char c);
void buf_rune(struct buf *buf, uint32_t rune);
const struct value *buf_value(struct buf *buf);

enum {
	VALUE_JSON_HTML = 1,	/* escape <, >, & as Go does */
	VALUE_JSON_REGO = 2	/* as OPA prints a term: {1, 2}, {"a": 1}, set() */
};
void value_to_json(struct buf *buf, const struct value *value, unsigned flags);
void value_json_string(struct buf *buf, const char *p, size_t n,
    unsigned flags);

#endif
