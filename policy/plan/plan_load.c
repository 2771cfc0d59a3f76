#include <stdio.h>
#include <string.h>

#include "policy/plan/builtin.h"
#include "policy/plan/plan_load.h"
#include "policy/plan/plan_reads.h"

/* params before anything else, so that they are locals 0, 1, ... */
static bool
load_params(struct loader *l, const struct value *v, struct plan_func *func)
{
	const struct value *items;
	uint32_t i;

	if (!plan_array_of(l, v, "params", &items, &func->n_params))
		return false;
	if (func->n_params > PLAN_ARGS_MAX)
		return refuse(l, "more than %d parameters", PLAN_ARGS_MAX);
	func->params = arena_array(l->arena, func->n_params,
	    sizeof(*func->params));
	for (i = 0; i < func->n_params; i++)
		if (!plan_local_from(l, value_at(items, i), &func->params[i]))
			return false;
	return plan_local_of(l, v, "return", &func->result);
}

static bool
load_entry_params(struct loader *l, struct plan_func *func)
{
	func->n_params = 2;
	func->params = arena_array(l->arena, 2, sizeof(*func->params));
	return plan_local_from(l, value_int(l->arena, 0), &func->params[0]) &&
	    plan_local_from(l, value_int(l->arena, 1), &func->params[1]);
}

static bool
load_body(struct loader *l, const struct value *v, struct plan_func *func,
    bool entry)
{
	struct plan_stmt outer = { 0 };
	const struct value *items;
	uint32_t n;

	l->map_len = 0;
	l->n_locals = 0;
	memset(l->in_data, 0, sizeof(l->in_data));
	l->in_data[1] = 1;	/* behind input */
	l->depth = 0;
	l->now = func;
	if (!(entry ? load_entry_params(l, func) : load_params(l, v, func)))
		return false;
	l->uses_input = false;
	if (!plan_array_of(l, v, "blocks", &items, &n) ||
	    !plan_load_blocks(l, items, n, &outer))
		return false;
	func->of_data_only = !l->uses_input;
	func->blocks = outer.blocks;
	func->n_blocks = n;
	func->n_locals = l->n_locals;
	return true;
}

static bool
name_of(struct loader *l, const struct value *v, const char **out)
{
	const struct value *name = value_member(v, "name");

	if (name == NULL || name->kind != VALUE_STRING ||
	    memchr(name->str.p, '\0', name->str.n) != NULL)
		return refuse(l, "name is not a string");
	*out = plan_text_copy(l, name);
	return true;
}

static bool
load_strings(struct loader *l, const struct value *fixed)
{
	const struct value *items, *text;
	uint32_t i;

	if (!plan_array_of(l, fixed, "strings", &items, &l->plan->n_strings))
		return false;
	l->plan->strings = arena_array(l->arena, l->plan->n_strings,
	    sizeof(*l->plan->strings));
	for (i = 0; i < l->plan->n_strings; i++) {
		text = value_member(value_at(items, i), "value");
		if (text == NULL || text->kind != VALUE_STRING)
			return refuse(l, "strings/%u is not a string", i);
		l->plan->strings[i] = value_copy_frozen(l->arena, text);
	}
	return true;
}

static bool
load_files(struct loader *l, const struct value *fixed)
{
	const struct value *items, *text;
	uint32_t i;

	if (!plan_array_of(l, fixed, "files", &items, &l->plan->n_files))
		return false;
	l->plan->files = arena_array(l->arena, l->plan->n_files,
	    sizeof(*l->plan->files));
	for (i = 0; i < l->plan->n_files; i++) {
		text = value_member(value_at(items, i), "value");
		if (text == NULL || text->kind != VALUE_STRING)
			return refuse(l, "files/%u is not a string", i);
		l->plan->files[i] = plan_text_copy(l, text);
	}
	return true;
}

static bool
load_builtins(struct loader *l, const struct value *fixed)
{
	const struct value *items;
	const char *name, *why;
	uint32_t i;

	if (!plan_array_of(l, fixed, "builtin_funcs", &items,
	    &l->plan->n_builtins))
		return false;
	l->plan->builtins = arena_array(l->arena, l->plan->n_builtins,
	    sizeof(*l->plan->builtins));
	for (i = 0; i < l->plan->n_builtins; i++) {
		if (!name_of(l, value_at(items, i), &name))
			return false;
		l->plan->builtins[i] = builtin_find(name, &why);
		if (l->plan->builtins[i] == NULL)
			return refuse(l, "builtin %.80s: %s", name, why);
	}
	return true;
}

/* The names first: functions call each other in any order. */
static bool
load_func_names(struct loader *l, const struct value *items)
{
	struct value *index = value_object(l->paper, l->plan->n_funcs);
	struct value *by_path = value_object(l->arena, l->plan->n_funcs);
	const struct value *v, *name, *path, *params;
	uint32_t i, n_params;

	l->func_index = index;
	l->plan->by_path = by_path;
	for (i = 0; i < l->plan->n_funcs; i++) {
		struct plan_func *func = &l->plan->funcs[i];

		v = value_at(items, i);
		snprintf(l->where, sizeof(l->where), "funcs/%u", i);
		if (!name_of(l, v, &func->name) ||
		    !plan_array_of(l, v, "params", &params, &n_params))
			return false;
		func->index = i;
		func->n_params = n_params;
		name = value_member(v, "name");
		if (value_get(l->arena, index, name) != NULL)
			return refuse(l, "a second function %s", func->name);
		value_put(l->paper, index, name, value_int(l->paper, i));
		path = value_member(v, "path");
		if (path != NULL && path->kind == VALUE_ARRAY)
			value_put(l->arena, by_path,
			    value_copy_frozen(l->arena, path),
			    value_int(l->arena, i));
	}
	value_freeze(l->arena, by_path);
	return true;
}

/* Who hands the input to somebody who looks at it, looks at it, too. */
static void
spread_uses(struct loader *l)
{
	bool changed = true;
	uint32_t i;

	while (changed) {
		changed = false;
		for (i = 0; i < l->n_edges; i++) {
			if (!l->edges[i].from->of_data_only ||
			    l->edges[i].to->of_data_only)
				continue;
			l->edges[i].from->of_data_only = false;
			changed = true;
		}
	}
	for (i = 0; i < l->plan->n_funcs; i++)
		if (l->plan->funcs[i].n_params != 2)
			l->plan->funcs[i].of_data_only = false;
}

static bool
load_funcs(struct loader *l, const struct value *root)
{
	const struct value *items;
	uint32_t i, n;

	if (!plan_array_of(l, value_member(root, "funcs"), "funcs", &items, &n))
		return false;
	l->plan->n_funcs = n;
	l->plan->funcs = arena_array(l->arena, n, sizeof(*l->plan->funcs));
	memset(l->plan->funcs, 0, n * sizeof(*l->plan->funcs));
	if (!load_func_names(l, items))
		return false;
	for (i = 0; i < n; i++) {
		snprintf(l->where, sizeof(l->where), "funcs/%u (%.100s)", i,
		    l->plan->funcs[i].name);
		if (!load_body(l, value_at(items, i), &l->plan->funcs[i],
		    false))
			return false;
	}
	spread_uses(l);
	return true;
}

static bool
load_plans(struct loader *l, const struct value *root)
{
	const struct value *items;
	uint32_t i, n;

	snprintf(l->where, sizeof(l->where), "plans");
	if (!plan_array_of(l, value_member(root, "plans"), "plans", &items, &n))
		return false;
	l->plan->n_plans = n;
	l->plan->plans = arena_array(l->arena, n, sizeof(*l->plan->plans));
	memset(l->plan->plans, 0, n * sizeof(*l->plan->plans));
	for (i = 0; i < n; i++) {
		struct plan_func *entry = &l->plan->plans[i];

		entry->index = l->plan->n_funcs + i;
		snprintf(l->where, sizeof(l->where), "plans/%u", i);
		if (!name_of(l, value_at(items, i), &entry->name) ||
		    !load_body(l, value_at(items, i), entry, true))
			return false;
	}
	return true;
}

static bool
load_plan(struct loader *l, const char *text, size_t len)
{
	static const struct value_json_limits limits = {
		.depth = 8 * PLAN_NEST_MAX, .last_wins = true,
		.lone_surrogates = true
	};
	const struct value *root, *fixed;

	root = value_from_json(l->paper, text, len, &limits, l->err,
	    l->err_len);
	if (root == NULL)
		return false;
	if (root->kind != VALUE_OBJECT)
		return refuse(l, "not a JSON object");
	l->plan = arena_alloc(l->arena, sizeof(*l->plan));
	memset(l->plan, 0, sizeof(*l->plan));
	fixed = value_member(root, "static");
	snprintf(l->where, sizeof(l->where), "static");
	if (!load_strings(l, fixed) || !load_files(l, fixed) ||
	    !load_builtins(l, fixed) || !load_funcs(l, root) ||
	    !load_plans(l, root))
		return false;
	plan_find_reads(l->paper, l->plan);
	return true;
}

/* The text as values is several times as large as the plan: it goes once the
 * plan stands. */
static bool
load_on_paper(struct loader *l, const char *text, size_t len)
{
	jmp_buf here;
	bool ok = false;

	if (setjmp(here) == 0) {
		l->paper->armed = &here;
		ok = load_plan(l, text, len);
	} else {
		plan_problem(l, "%s", l->paper->message);
		ok = false;
	}
	return ok;
}

static void
release_paper(void *paper)
{
	arena_release(paper);
}

const struct plan *
plan_load(struct arena *arena, const char *text, size_t len, char *err,
    size_t err_len)
{
	struct arena paper;
	struct loader l = { .arena = arena, .paper = &paper, .where = "root", .err = err,
	    .err_len = err_len };
	bool ok;

	if (err_len > 0)
		err[0] = '\0';
	if (arena_init(&paper, 64 * 1024, arena->max, arena->max_steps) != 0) {
		plan_problem(&l, "out of memory");
		return NULL;
	}
	arena_defer(arena, release_paper, &paper);
	ok = load_on_paper(&l, text, len);
	arena_done(arena, &paper);
	return ok ? l.plan : NULL;
}

const struct plan_func *
plan_entry(const struct plan *plan, const char *name)
{
	uint32_t i;

	for (i = 0; i < plan->n_plans; i++)
		if (strcmp(plan->plans[i].name, name) == 0)
			return &plan->plans[i];
	return NULL;
}
