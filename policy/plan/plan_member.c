/* Members of a plan's JSON, read one by one. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "policy/plan/plan_load.h"

void
plan_problem(struct loader *l, const char *format, ...)
{
	char what[256];
	va_list ap;

	va_start(ap, format);
	vsnprintf(what, sizeof(what), format, ap);
	va_end(ap);
	if (l->err_len > 0 && l->err[0] == '\0')
		snprintf(l->err, l->err_len, "%s: %s", l->where, what);
}

char *
plan_text_copy(struct loader *l, const struct value *v)
{
	char *s = arena_alloc(l->arena, v->str.n + 1);

	memcpy(s, v->str.p, v->str.n);
	s[v->str.n] = '\0';
	return s;
}

/* The array under name; absent and null are the empty one. */
bool
plan_array_of(struct loader *l, const struct value *object, const char *name,
    const struct value **items, uint32_t *n)
{
	const struct value *v = value_member(object, name);

	*items = NULL;
	*n = 0;
	if (v == NULL || v->kind == VALUE_NULL)
		return true;
	if (v->kind != VALUE_ARRAY)
		return refuse(l, "%s is not an array", name);
	*items = v;
	*n = v->col.n;
	return true;
}

bool
plan_int_of(struct loader *l, const struct value *object, const char *name,
    int64_t min, int64_t max, int64_t *out)
{
	const struct value *v = value_member(object, name);

	if (v == NULL || v->kind != VALUE_NUMBER || !v->is_int)
		return refuse(l, "%s is not an integer", name);
	if (v->num.i < min || v->num.i > max)
		return refuse(l, "%s is %lld, out of range", name,
		    (long long)v->num.i);
	*out = v->num.i;
	return true;
}

bool
plan_local_from(struct loader *l, const struct value *v, uint32_t *out)
{
	uint32_t raw, len, *map;

	if (v == NULL || v->kind != VALUE_NUMBER || !v->is_int)
		return refuse(l, "a local is not an integer");
	if (v->num.i < 0 || v->num.i >= RAW_LOCALS_MAX)
		return refuse(l, "local %lld out of range",
		    (long long)v->num.i);
	raw = (uint32_t)v->num.i;
	if (raw >= l->map_len) {
		for (len = 256; len <= raw; len *= 2)
			continue;
		map = arena_array(l->paper, len, sizeof(*map));
		memset(map, 0, len * sizeof(*map));
		if (l->map_len > 0)
			memcpy(map, l->map, l->map_len * sizeof(*map));
		l->map = map;
		l->map_len = len;
	}
	if (l->map[raw] == 0) {
		if (l->n_locals >= PLAN_LOCALS_MAX)
			return refuse(l, "more than %d locals",
			    PLAN_LOCALS_MAX);
		l->map[raw] = ++l->n_locals;
	}
	*out = l->map[raw] - 1;
	if (*out == 0)
		l->uses_input = true;
	return true;
}

bool
plan_local_of(struct loader *l, const struct value *object, const char *name,
    uint32_t *out)
{
	const struct value *v = value_member(object, name);

	if (v == NULL)
		return refuse(l, "%s is missing", name);
	return plan_local_from(l, v, out);
}

bool
plan_string_at(struct loader *l, const struct value *v, const struct value **out)
{
	if (v == NULL || v->kind != VALUE_NUMBER || !v->is_int ||
	    v->num.i < 0 || v->num.i >= l->plan->n_strings)
		return refuse(l, "string index out of range");
	*out = l->plan->strings[v->num.i];
	return true;
}

bool
plan_operand_from(struct loader *l, const struct value *v, struct operand *out)
{
	const struct value *type = value_member(v, "type");
	const struct value *value = value_member(v, "value");

	out->constant = NULL;
	out->local = 0;
	if (value_is_text(type, "local"))
		return plan_local_from(l, value, &out->local);
	if (value_is_text(type, "string_index"))
		return plan_string_at(l, value, &out->constant);
	if (!value_is_text(type, "bool") || value == NULL ||
	    value->kind != VALUE_BOOL)
		return refuse(l, "unknown type of operand");
	out->constant = value_bool(value->truth);
	return true;
}

bool
plan_operand_of(struct loader *l, const struct value *object, const char *name,
    struct operand *out)
{
	return plan_operand_from(l, value_member(object, name), out);
}
