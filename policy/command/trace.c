/* What decided, statement by statement, for people. */
#include <stdio.h>
#include <string.h>

#include "policy/command/command.h"

/* "g0.data.countersign.host" is what the plan calls data.countersign.host. */
static const char *
plain(const char *name)
{
	return name[0] == 'g' && strncmp(name + 1 + strspn(name + 1,
	    "0123456789"), ".data.", 6) == 0 ? strchr(name, '.') + 1 : name;
}

/* The source of a row, if the pack has it. */
static void
print_source(const struct policy_pack *pack, const char *file, uint32_t row)
{
	const struct pack_file *f;
	const char *p, *end, *stop;

	while (*file == '/')
		file++;
	if ((f = pack_files_find(&pack->files, file)) == NULL)
		return;
	p = f->bytes;
	end = p + f->len;
	for (; row > 1 && p < end; row--) {
		p = memchr(p, '\n', (size_t)(end - p));
		p = p == NULL ? end : p + 1;
	}
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	stop = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
	printf("   %.*s", (int)((stop != NULL ? stop : end) - p), p);
}

/* What decided: statements that did not hold, and what rules gave. */
static void
trace(void *arg, const struct plan_func *func, const struct plan_stmt *stmt,
    const struct value *const *locals, bool held)
{
	const struct command_tracer *t = arg;
	const struct plan *plan = t->pack->plan;
	const char *file = stmt->file < plan->n_files ?
	    plan->files[stmt->file] : "?";
	struct buf text = { .arena = t->arena };
	const struct value *result;

	if (stmt->kind == PLAN_RETURN_LOCAL) {
		result = locals[stmt->a.local];
		if (result == NULL) {
			printf("%s is undefined\n", plain(func->name));
			return;
		}
		value_to_json(&text, result, VALUE_JSON_REGO);
		printf("%s = %.*s\n", plain(func->name),
		    (int)(text.n < 200 ? text.n : 200), text.p);
		return;
	}
	if (held || stmt->kind == PLAN_BLOCK || stmt->kind == PLAN_SCAN ||
	    stmt->kind == PLAN_IS_DEFINED || stmt->kind == PLAN_IS_UNDEFINED)
		return;
	printf("%s:%u does not hold:", file, stmt->row);
	print_source(t->pack, file, stmt->row);
	putchar('\n');
}

void
command_trace(struct command_tracer *tracer, struct eval *eval)
{
	eval->trace = trace;
	eval->trace_arg = tracer;
}
