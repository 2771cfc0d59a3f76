/* json.filter, json.remove, json.patch: documents addressed by paths. */
#include <stdio.h>
#include <string.h>

#include "policy/plan/builtin.h"

static const struct value *
unescape(struct eval *eval, const char *p, size_t n)
{
	struct buf out = { .arena = eval->arena };
	size_t i;

	for (i = 0; i < n; i++) {
		if (p[i] == '~' && i + 1 < n &&
		    (p[i + 1] == '0' || p[i + 1] == '1'))
			buf_putc(&out, p[++i] == '1' ? '/' : '~');
		else
			buf_putc(&out, p[i]);
	}
	return buf_value(&out);
}

/* "a/b" (slashes in front do not count) or an array of segments, as an array;
 * NULL after an error. */
static const struct value *
path_of(struct eval *eval, const struct value *v)
{
	struct value *path;
	const char *p, *end, *slash;

	if (v->kind == VALUE_ARRAY)
		return v;
	if (v->kind != VALUE_STRING)
		return eval_operand_error(eval, 2, "must be one of {set, "
		    "array} containing string paths or array of path segments "
		    "but got %s", value_type_name(v));
	path = value_array(eval->arena, 4);
	if (v->str.n == 0)
		return path;
	p = v->str.p;
	end = p + v->str.n;
	while (p < end && *p == '/')
		p++;
	for (;;) {
		arena_step(eval->arena, 1);
		slash = p < end ? memchr(p, '/', (size_t)(end - p)) : NULL;
		if (slash == NULL)
			slash = end;
		value_append(eval->arena, path, unescape(eval, p,
		    (size_t)(slash - p)));
		if (slash == end)
			return path;
		p = slash + 1;
	}
}

/* The paths as one tree of objects; a leaf is null.  A shorter path stands
 * for everything below it. */
static bool
tree_add(struct eval *eval, struct value *tree, const struct value *path)
{
	const struct value *inner, *key;
	struct value *fresh;
	uint32_t i;

	for (i = 0; i + 1 < path->col.n; i++) {
		key = path->col.items[i];
		inner = value_get(eval->arena, tree, key);
		if (inner != NULL && inner->kind == VALUE_NULL)
			return true;
		if (inner == NULL) {
			fresh = value_object(eval->arena, 1);
			value_put(eval->arena, tree, key, fresh);
			inner = fresh;
		}
		tree = (struct value *)(uintptr_t)inner;
	}
	if (path->col.n > 0)
		value_put(eval->arena, tree, path->col.items[path->col.n - 1],
		    &value_null);
	return true;
}

static const struct value *
tree_of(struct eval *eval, const struct value *paths)
{
	struct value *tree = value_object(eval->arena, 0);
	const struct value *path;
	uint32_t i;

	if (paths->kind != VALUE_ARRAY && paths->kind != VALUE_SET)
		return eval_type_error(eval, 2, "set, array", paths);
	value_sort(eval->arena, paths);
	for (i = 0; i < paths->col.n; i++) {
		arena_step(eval->arena, 1);
		path = path_of(eval, paths->col.items[i]);
		if (path == NULL)
			return NULL;
		tree_add(eval, tree, path);
	}
	return tree;
}

/* How a tree names this child: array elements by their index as text. */
static const struct value *
branch(struct eval *eval, const struct value *of, uint32_t i,
    const struct value *tree)
{
	char text[16];
	int n;

	if (of->kind != VALUE_ARRAY)
		return value_get(eval->arena, tree, value_key_at(of, i));
	n = snprintf(text, sizeof(text), "%u", i);
	return value_get(eval->arena, tree, value_string_copy(eval->arena,
	    text, (size_t)n));
}

static struct value *
empty_like(struct eval *eval, const struct value *v)
{
	return v->kind == VALUE_OBJECT ? value_object(eval->arena, 0) :
	    v->kind == VALUE_SET ? value_set(eval->arena, 0) :
	    value_array(eval->arena, 0);
}

static void
insert_like(struct eval *eval, struct value *to, const struct value *of,
    uint32_t i, const struct value *v)
{
	if (to->kind == VALUE_OBJECT)
		value_put(eval->arena, to, value_key_at(of, i), v);
	else if (to->kind == VALUE_SET)
		value_add(eval->arena, to, v);
	else
		value_append(eval->arena, to, v);
}

/* v without (or with only) what the tree names; NULL: nothing stays. */
static const struct value *
prune(struct eval *eval, const struct value *v, const struct value *tree,
    bool keep, unsigned depth)
{
	const struct value *below, *kept;
	struct value *out;
	uint32_t i;

	if (depth >= VALUE_DEPTH_MAX)
		arena_fail(eval->arena, "value nested too deeply");
	if (!value_is_collection(v))
		return v;
	value_sort(eval->arena, v);
	arena_step(eval->arena, 1 + v->col.n);
	out = empty_like(eval, v);
	for (i = 0; i < v->col.n; i++) {
		below = branch(eval, v, i, tree);
		if (below == NULL)
			kept = keep ? NULL : value_at(v, i);
		else if (below->kind == VALUE_NULL)
			kept = keep ? value_at(v, i) : NULL;
		else
			kept = prune(eval, value_at(v, i), below, keep,
			    depth + 1);
		if (kept != NULL)
			insert_like(eval, out, v, i, kept);
	}
	return out;
}

static const struct value *
prune_call(struct eval *eval, const struct value *const *args, bool keep)
{
	const struct value *tree;

	if (!builtin_want(eval, args, 0, VALUE_OBJECT) ||
	    (tree = tree_of(eval, args[1])) == NULL)
		return NULL;
	return prune(eval, args[0], tree, keep, 0);
}

static const struct value *
call_filter(struct eval *eval, const struct value *const *args)
{
	return prune_call(eval, args, true);
}

static const struct value *
call_remove(struct eval *eval, const struct value *const *args)
{
	return prune_call(eval, args, false);
}

/* --- json.patch ------------------------------------------------------- */

/* A patch that cannot be applied makes the result undefined, not an error. */
enum edit { EDIT_ADD, EDIT_REMOVE };

/* "12" or 12 as an index up to limit; "-" is the limit where end is allowed. */
static bool
index_of(const struct value *key, uint32_t limit, bool end, uint32_t *out)
{
	int64_t i;

	if (key->kind == VALUE_NUMBER && key->is_int) {
		i = key->num.i;
	} else if (key->kind == VALUE_STRING && key->str.n == 1 &&
	    key->str.p[0] == '-' && end) {
		i = limit;
	} else if (key->kind != VALUE_STRING ||
	    !num_text_int64(key->str.p, key->str.n, &i) ||
	    (key->str.n > 1 && key->str.p[0] == '0')) {
		return false;
	}
	if (i < 0 || i > limit || (!end && i == limit))
		return false;
	*out = (uint32_t)i;
	return true;
}

static const struct value *
child(struct eval *eval, const struct value *v, const struct value *key)
{
	uint32_t i;

	if (v->kind == VALUE_ARRAY)
		return index_of(key, v->col.n, false, &i) ?
		    v->col.items[i] : NULL;
	return value_is_collection(v) ? value_get(eval->arena, v, key) : NULL;
}

static const struct value *
follow(struct eval *eval, const struct value *v, const struct value *path)
{
	uint32_t i;

	for (i = 0; i < path->col.n && v != NULL; i++)
		v = child(eval, v, path->col.items[i]);
	return v;
}

static const struct value *
edit_array(struct eval *eval, const struct value *array,
    const struct value *key, enum edit edit, const struct value *item)
{
	struct value *out = value_array(eval->arena, array->col.n + 1);
	uint32_t at, i;

	if (!index_of(key, array->col.n, edit == EDIT_ADD, &at))
		return NULL;
	arena_step(eval->arena, array->col.n);
	for (i = 0; i <= array->col.n; i++) {
		if (i == at && edit == EDIT_ADD)
			value_append(eval->arena, out, item);
		if (i < array->col.n && !(i == at && edit == EDIT_REMOVE))
			value_append(eval->arena, out, array->col.items[i]);
	}
	return out;
}

/* A copy of an object or set without key, and with item there if not NULL. */
static const struct value *
with_child(struct eval *eval, const struct value *v, const struct value *key,
    const struct value *item)
{
	struct value *out = empty_like(eval, v);
	uint32_t i;

	value_sort(eval->arena, v);
	arena_step(eval->arena, v->col.n);
	for (i = 0; i < v->col.n; i++)
		if (value_compare(eval->arena, value_key_at(v, i), key) != 0)
			insert_like(eval, out, v, i, value_at(v, i));
	if (item != NULL && out->kind == VALUE_OBJECT)
		value_put(eval->arena, out, key, item);
	else if (item != NULL)
		value_add(eval->arena, out, item);
	return out;
}

static const struct value *
edit_leaf(struct eval *eval, const struct value *v, const struct value *key,
    enum edit edit, const struct value *item)
{
	if (v->kind == VALUE_ARRAY)
		return edit_array(eval, v, key, edit, item);
	if (!value_is_collection(v))
		return NULL;
	if (edit == EDIT_REMOVE)
		return value_get(eval->arena, v, key) != NULL ?
		    with_child(eval, v, key, NULL) : NULL;
	if (v->kind == VALUE_SET && value_compare(eval->arena, key, item) != 0)
		return NULL;
	return with_child(eval, v, key, item);
}

static const struct value *
edit_at(struct eval *eval, const struct value *v,
    const struct value *const *path, uint32_t n, enum edit edit,
    const struct value *item)
{
	const struct value *inner, *changed;
	struct value *copy;
	uint32_t i;

	if (n == 0)
		return edit == EDIT_ADD ? item : NULL;
	if (n == 1)
		return edit_leaf(eval, v, path[0], edit, item);
	if (n > VALUE_DEPTH_MAX || (inner = child(eval, v, path[0])) == NULL)
		return NULL;
	changed = edit_at(eval, inner, path + 1, n - 1, edit, item);
	if (changed == NULL)
		return NULL;
	if (v->kind != VALUE_ARRAY)
		return with_child(eval, v, path[0], changed);
	if (!index_of(path[0], v->col.n, false, &i))
		return NULL;
	copy = value_array(eval->arena, v->col.n);
	memcpy(copy->col.items, v->col.items,
	    v->col.n * sizeof(*v->col.items));
	copy->col.n = v->col.n;
	copy->col.items[i] = changed;
	return copy;
}

static const struct value *
edit(struct eval *eval, const struct value *v, const struct value *path,
    enum edit what, const struct value *item)
{
	return edit_at(eval, v, path->col.items, path->col.n, what, item);
}

static const struct value *
member_path(struct eval *eval, const struct value *op, const char *name)
{
	const struct value *v = value_member(op, name), *path = NULL;

	if (v != NULL)
		path = path_of(eval, v);
	eval->status = EVAL_OK;		/* undefined, whatever is wrong */
	return path;
}

static const struct value *
move(struct eval *eval, const struct value *doc, const struct value *op,
    const struct value *path, bool remove)
{
	const struct value *from = member_path(eval, op, "from"), *item;

	if (from == NULL || (item = follow(eval, doc, from)) == NULL)
		return NULL;
	if (remove && (doc = edit(eval, doc, from, EDIT_REMOVE, NULL)) ==
	    NULL)
		return NULL;
	return edit(eval, doc, path, EDIT_ADD, item);
}

static const struct value *
apply(struct eval *eval, const struct value *doc, const struct value *op)
{
	const struct value *name = value_member(op, "op"), *v, *path, *found;
	char verb[8] = "";

	if (name == NULL || name->kind != VALUE_STRING ||
	    name->str.n >= sizeof(verb) ||
	    (path = member_path(eval, op, "path")) == NULL)
		return NULL;
	memcpy(verb, name->str.p, name->str.n);
	v = value_member(op, "value");
	if (strcmp(verb, "remove") == 0)
		return edit(eval, doc, path, EDIT_REMOVE, NULL);
	if (strcmp(verb, "move") == 0 || strcmp(verb, "copy") == 0)
		return move(eval, doc, op, path, verb[0] == 'm');
	if (v == NULL)
		return NULL;
	if (strcmp(verb, "add") == 0)
		return edit(eval, doc, path, EDIT_ADD, v);
	if (strcmp(verb, "replace") == 0) {
		if (path->col.n > 0 && (doc = edit(eval, doc, path,
		    EDIT_REMOVE, NULL)) == NULL)
			return NULL;
		return edit(eval, doc, path, EDIT_ADD, v);
	}
	if (strcmp(verb, "test") != 0)
		return NULL;
	found = follow(eval, doc, path);
	return found != NULL && value_compare(eval->arena, found, v) == 0 ?
	    doc : NULL;
}

static const struct value *
call_patch(struct eval *eval, const struct value *const *args)
{
	const struct value *doc = args[0];
	uint32_t i;

	if (!builtin_want(eval, args, 1, VALUE_ARRAY))
		return NULL;
	for (i = 0; i < args[1]->col.n && doc != NULL; i++) {
		arena_step(eval->arena, 1);
		doc = apply(eval, doc, args[1]->col.items[i]);
	}
	return doc;
}

const struct builtin builtins_json[] = {
	{ "json.filter", 2, 2, call_filter, false },
	{ "json.remove", 2, 2, call_remove, false },
	{ "json.patch", 2, 2, call_patch, false },
	{ NULL, 0, 0, NULL, false }
};
