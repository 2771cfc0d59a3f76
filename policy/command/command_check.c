#include <stdio.h>
#include <string.h>

#include "policy/builtin.h"
#include "policy/command/command.h"

/* Builtins that can fail, called under `not`: strict mode denies where OPA
 * would take the failure for "does not hold" and go on. */
struct warner {
	const struct policy_pack *pack;
	const struct plan_func *func;
	unsigned warnings;
};

static bool
never_fails(const char *name)
{
	static const char *const names[] = {
		"equal", "neq", "lt", "lte", "gt", "gte", "is_", "type_name",
		"internal.member_"
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static void
walk(struct warner *w, const struct plan_block *block, bool negated)
{
	const struct plan *plan = w->pack->plan;
	uint32_t i, k;

	for (i = 0; i < block->n; i++) {
		const struct plan_stmt *s = &block->stmts[i];

		if (negated && s->builtin != NULL &&
		    !never_fails(s->builtin->name)) {
			printf("note: %s:%u: an error of %s under `not` "
			    "denies (OPA's default would go on)\n",
			    s->file < plan->n_files ? plan->files[s->file] :
			    "?", s->row, s->builtin->name);
			w->warnings++;
		}
		for (k = 0; k < s->n_blocks; k++)
			walk(w, &s->blocks[k], negated || s->kind == PLAN_NOT);
	}
}

/* "METHOD /glob": a line that is not so allows nothing, silently. */
static unsigned
check_bindings(const struct policy_pack *pack)
{
	const struct value *bindings = value_member(pack->data, "bindings");
	unsigned bad = 0;
	uint32_t i, k;

	if (bindings == NULL || bindings->kind != VALUE_OBJECT)
		return 0;
	for (i = 0; i < bindings->col.n; i++) {
		const struct value *id = value_key_at(bindings, i);
		const struct value *allow = value_member(
		    value_at(bindings, i), "allow");

		if (allow == NULL || allow->kind != VALUE_ARRAY) {
			printf("warning: binding %.*s has no list allow\n",
			    (int)id->str.n, id->str.p);
			bad++;
			continue;
		}
		for (k = 0; k < allow->col.n; k++) {
			const struct value *v = allow->col.items[k];
			const char *space = v->kind == VALUE_STRING &&
			    v->str.n > 0 ? memchr(v->str.p, ' ', v->str.n) :
			    NULL;

			if (space != NULL && space + 1 < v->str.p + v->str.n &&
			    (space[1] == '/' || space[1] == '*') &&
			    memchr(space + 1, ' ', (size_t)(v->str.p +
			    v->str.n - space - 1)) == NULL)
				continue;
			printf("warning: binding %.*s: allow entry %u is not "
			    "\"METHOD /path\" and allows nothing\n",
			    (int)id->str.n, id->str.p, k);
			bad++;
		}
	}
	return bad;
}

static void
print_list(const char *title, const char *const *names, uint32_t n)
{
	uint32_t i;

	printf("%s", title);
	for (i = 0; i < n; i++)
		printf("%s%s", i > 0 ? ", " : " ", names[i]);
	putchar('\n');
}

static void
describe(const struct policy_pack *pack)
{
	const struct value *revision = value_member(pack->manifest,
	    "revision");
	const struct plan *plan = pack->plan;
	const char *names[256];
	uint32_t i, n = 0, data_only = 0;

	printf("digest: %s\n", policy_pack_digest(pack));
	if (revision != NULL && revision->kind == VALUE_STRING)
		printf("revision: %.*s\n", (int)revision->str.n,
		    revision->str.p);
	for (i = 0; i < plan->n_plans && n < 256; i++)
		names[n++] = plan->plans[i].name;
	print_list("entry points:", names, n);
	for (i = n = 0; i < plan->n_builtins && n < 256; i++)
		names[n++] = plan->builtins[i]->name;
	print_list("builtins:", names, n);
	for (i = 0; i < plan->n_funcs; i++)
		data_only += plan->funcs[i].of_data_only;
	printf("functions: %u, of data alone: %u\n", plan->n_funcs,
	    data_only);
}

int
command_check(const struct command_args *args)
{
	struct policy_pack *pack = command_pack(args, args->operand[0]);
	struct warner w = { .pack = pack };
	unsigned bad;
	uint32_t i, k;

	if (pack == NULL)
		return COMMAND_NO;
	describe(pack);
	for (i = 0; i < pack->plan->n_funcs; i++) {
		w.func = &pack->plan->funcs[i];
		for (k = 0; k < w.func->n_blocks; k++)
			walk(&w, &w.func->blocks[k], false);
	}
	bad = check_bindings(pack);
	if (pack->entry == NULL) {
		printf("warning: no entry point " PACK_ENTRY ": everything is "
		    "denied\n");
		bad++;
	}
	policy_pack_unref(pack);
	return bad == 0 ? COMMAND_YES : COMMAND_NO;
}
