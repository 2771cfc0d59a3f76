#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "policy/command/command.h"
#include "policy/command/command_data.h"
#include "policy/command/command_sources.h"
#include "policy/plan/builtin.h"

/* Builtins that can fail, called under `not`: strict mode denies where OPA
 * would take the failure for "does not hold" and go on. */
struct warner {
	const struct policy_pack *pack;
	const struct plan_func *func;
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
		}
		for (k = 0; k < s->n_blocks; k++)
			walk(w, &s->blocks[k], negated || s->kind == PLAN_NOT);
	}
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
	if (revision != NULL && revision->kind == VALUE_STRING) {
		fputs("revision: ", stdout);
		command_put(revision->str.p, revision->str.n);
		putchar('\n');
	}
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
		return access(args->operand[0], R_OK) != 0 ? COMMAND_FAILED :
		    COMMAND_NO;
	describe(pack);
	if (args->key == NULL && pack_files_find(&pack->files, ".signatures.json") != NULL)
		printf("note: .signatures.json was not looked at: --key FILE takes only what "
		    "that key signed\n");
	command_sources_check(pack, args->operand[0]);
	/* Of the default rules we know it, and it is meant. */
	for (i = 0; !policy_pack_is_default(pack) && i < pack->plan->n_funcs; i++) {
		w.func = &pack->plan->funcs[i];
		for (k = 0; k < w.func->n_blocks; k++)
			walk(&w, &w.func->blocks[k], false);
	}
	bad = command_data_check(pack->data);
	if (command_data_read(pack) != 0)
		bad++;
	if (pack->entry == NULL) {
		printf("warning: no entry point " PACK_ENTRY ": everything is "
		    "denied\n");
		bad++;
	}
	if (!policy_pack_has_data(pack)) {
		printf("warning: no data.json: no bindings and no limits, and the "
		    "broker does not take it; {} says that none are meant\n");
		bad++;
	}
	policy_pack_unref(pack);
	return bad == 0 ? COMMAND_YES : COMMAND_NO;
}
