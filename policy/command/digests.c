#include "policy/command/digests.h"

#include <string.h>

#include "policy/plan/builtin.h"

#define DEPTH_MAX 4	/* of an input: section, member, and what args hold */

static bool
is_digest(const struct value *v)
{
	return v->kind == VALUE_STRING && v->str.n == 37 &&
	    memcmp(v->str.p, "hmac:", 5) == 0;
}

static void
find(struct digests *digests, const struct value *v, unsigned depth)
{
	uint32_t i;

	if (is_digest(v)) {
		if (digests->n < DIGESTS_MAX)
			digests->at[digests->n++] = v;
		else
			digests->many = true;
	}
	if (v->kind != VALUE_OBJECT || depth == 0)
		return;
	for (i = 0; i < v->col.n; i++)
		find(digests, value_at(v, i), depth - 1);
}

void
digests_find(struct digests *digests, const struct value *input)
{
	*digests = (struct digests){ .n = 0 };
	find(digests, input, DEPTH_MAX);
}

static bool
is_one(const struct digests *digests, const struct value *v)
{
	unsigned i;

	for (i = 0; i < digests->n; i++)
		if (digests->at[i] == v)
			return true;
	return false;
}

static bool
holds_one(const struct value *v, unsigned depth)
{
	uint32_t i;

	if (v == NULL)
		return false;
	if (is_digest(v))
		return true;
	if (v->kind != VALUE_OBJECT || depth == 0)
		return false;
	for (i = 0; i < v->col.n; i++)
		if (holds_one(value_at(v, i), depth - 1))
			return true;
	return false;
}

/* A builtin sees all of what it is given, but object.get, whose find will be
 * in a local. */
static bool
given(const struct plan_stmt *stmt, const struct value *const *locals)
{
	uint32_t i;

	if (stmt->kind != PLAN_CALL || stmt->builtin == NULL ||
	    strcmp(stmt->builtin->name, "object.get") == 0)
		return false;
	for (i = 0; i < stmt->n; i++)
		if (stmt->operands[i].constant == NULL &&
		    holds_one(locals[stmt->operands[i].local], DEPTH_MAX))
			return true;
	return false;
}

/* Comparing a whole object compares what is in it. */
static bool
compared(const struct plan_stmt *stmt, const struct value *const *locals)
{
	if (stmt->kind != PLAN_EQUAL && stmt->kind != PLAN_NOT_EQUAL)
		return false;
	return (stmt->a.constant == NULL &&
	    holds_one(locals[stmt->a.local], DEPTH_MAX)) ||
	    (stmt->b.constant == NULL &&
	    holds_one(locals[stmt->b.local], DEPTH_MAX));
}

static void
watch(void *arg, const struct plan_func *func, const struct plan_stmt *stmt,
    const struct value *const *locals, bool held)
{
	struct digests *digests = arg;
	uint32_t i;

	if (digests->seen)
		return;
	digests->seen = digests->many || given(stmt, locals) ||
	    compared(stmt, locals);
	for (i = 0; i < func->n_locals && !digests->seen; i++)
		digests->seen = locals[i] != NULL && is_one(digests, locals[i]);
}

void
digests_watch(struct digests *digests, struct eval *eval)
{
	if (digests->n == 0)
		return;
	eval->trace = watch;
	eval->trace_arg = digests;
}
