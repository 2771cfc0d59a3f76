/* walk, graph.reachable, graph.reachable_paths. */
#include "policy/plan/builtin.h"

static struct value *
extend(struct eval *eval, const struct value *path, const struct value *key)
{
	struct value *out = value_array(eval->arena, path->col.n + 1);
	uint32_t i;

	arena_step(eval->arena, path->col.n);
	for (i = 0; i < path->col.n; i++)
		value_append(eval->arena, out, path->col.items[i]);
	value_append(eval->arena, out, key);
	return out;
}

static void
walk(struct eval *eval, struct value *out, const struct value *path,
    const struct value *v, unsigned depth)
{
	struct value *pair = value_array(eval->arena, 2);
	uint32_t i;

	if (depth >= VALUE_DEPTH_MAX)
		arena_fail(eval->arena, "value nested too deeply");
	arena_step(eval->arena, 1);
	value_append(eval->arena, pair, path);
	value_append(eval->arena, pair, v);
	value_append(eval->arena, out, pair);
	if (!value_is_collection(v))
		return;
	value_sort(eval->arena, v);
	for (i = 0; i < v->col.n; i++)
		walk(eval, out, extend(eval, path, v->kind == VALUE_ARRAY ?
		    value_int(eval->arena, i) : value_key_at(v, i)),
		    value_at(v, i), depth + 1);
}

/* A relation: the plan scans all its pairs. */
static const struct value *
call_walk(struct eval *eval, const struct value *const *args)
{
	struct value *out = value_array(eval->arena, 0);

	walk(eval, out, value_array(eval->arena, 0), args[0], 0);
	return out;
}

static bool
is_list(const struct value *v)
{
	return v->kind == VALUE_ARRAY || v->kind == VALUE_SET;
}

static bool
want_graph(struct eval *eval, const struct value *const *args)
{
	if (!builtin_want(eval, args, 0, VALUE_OBJECT))
		return false;
	if (is_list(args[1])) {
		value_sort(eval->arena, args[1]);
		return true;
	}
	eval_type_error(eval, 2, "array, set", args[1]);
	return false;
}

static const struct value *
call_reachable(struct eval *eval, const struct value *const *args)
{
	struct value *reached, *queue;
	const struct value *node, *edges;
	uint32_t i, k;

	if (!want_graph(eval, args))
		return NULL;
	reached = value_set(eval->arena, 0);
	queue = value_array(eval->arena, args[1]->col.n);
	for (i = 0; i < args[1]->col.n; i++)
		value_append(eval->arena, queue, args[1]->col.items[i]);
	for (i = 0; i < queue->col.n; i++) {
		arena_step(eval->arena, 1);
		node = queue->col.items[i];
		edges = value_get(eval->arena, args[0], node);
		if (edges == NULL || value_has(eval->arena, reached, node))
			continue;
		value_add(eval->arena, reached, node);
		for (k = 0; is_list(edges) && k < edges->col.n; k++)
			value_append(eval->arena, queue,
			    edges->col.items[k]);
	}
	return reached;
}

struct paths {
	struct eval *eval;
	const struct value *graph;
	struct value *out;
};

/* All paths from root on; reached is shared, so each node starts only once. */
static void
trace(const struct paths *p, const struct value *root,
    const struct value *path, struct value *reached, unsigned depth)
{
	struct arena *arena = p->eval->arena;
	const struct value *edges = value_get(arena, p->graph, root), *next;
	uint32_t i;

	if (depth >= VALUE_DEPTH_MAX)
		arena_fail(arena, "graph too deep");
	arena_step(arena, 1);
	if (edges != NULL)
		path = extend(p->eval, path, root);
	if (edges == NULL || !is_list(edges) || edges->col.n == 0) {
		value_add(arena, p->out, path);
		return;
	}
	value_sort(arena, edges);
	for (i = 0; i < edges->col.n; i++) {
		next = edges->col.items[i];
		if (value_has(arena, reached, next)) {
			value_add(arena, p->out, path);
			continue;
		}
		value_add(arena, reached, root);
		trace(p, next, path, reached, depth + 1);
	}
}

static const struct value *
call_reachable_paths(struct eval *eval, const struct value *const *args)
{
	struct paths p = { eval, args[0], value_set(eval->arena, 0) };
	const struct value *root, *edges, *empty;
	struct value *reached;
	uint32_t i, k;

	if (!want_graph(eval, args))
		return NULL;
	empty = value_array(eval->arena, 0);
	for (i = 0; i < args[1]->col.n; i++) {
		root = args[1]->col.items[i];
		edges = value_get(eval->arena, args[0], root);
		if (edges == NULL)
			continue;
		if (!is_list(edges) || edges->col.n == 0)
			value_add(eval->arena, p.out,
			    extend(eval, empty, root));
		value_sort(eval->arena, edges);
		for (k = 0; is_list(edges) && k < edges->col.n; k++) {
			reached = value_set(eval->arena, 1);
			value_add(eval->arena, reached, root);
			trace(&p, edges->col.items[k],
			    extend(eval, empty, root), reached, 0);
		}
	}
	return p.out;
}

const struct builtin builtins_graph[] = {
	{ "walk", 1, 1, call_walk, false },
	{ "graph.reachable", 2, 2, call_reachable, false },
	{ "graph.reachable_paths", 2, 2, call_reachable_paths, false },
	{ NULL, 0, 0, NULL, false }
};
