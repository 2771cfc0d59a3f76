/* What a pack's manifest may hold: OPA's members in OPA's types, since `opa` has to
 * take the same bundle; others are whoever made it's. */
#include <stdio.h>

#include "policy/pack.h"
#include "policy/value/number.h"

static bool
is_string(const struct value *v)
{
	return v->kind == VALUE_STRING;
}

static bool
is_object(const struct value *v)
{
	return v->kind == VALUE_OBJECT;
}

static bool
is_rego_version(const struct value *v)
{
	int64_t n;

	return v->kind == VALUE_NUMBER && num_to_int64(v, &n) && (n == 0 || n == 1);
}

static bool
is_module(const struct value *v)
{
	const struct value *entry = value_member(v, "entrypoint");
	const struct value *module = value_member(v, "module");

	return is_object(v) && entry != NULL && is_string(entry) && module != NULL &&
	    is_string(module);
}

static bool
all(const struct value *v, enum value_kind kind, bool (*good)(const struct value *))
{
	uint32_t i;

	if (v->kind != kind)
		return false;
	for (i = 0; i < v->col.n; i++)
		if (!good(value_at(v, i)))
			return false;
	return true;
}

static bool
is_strings(const struct value *v)
{
	return all(v, VALUE_ARRAY, is_string);
}

static bool
is_file_versions(const struct value *v)
{
	return all(v, VALUE_OBJECT, is_rego_version);
}

static bool
is_modules(const struct value *v)
{
	return all(v, VALUE_ARRAY, is_module);
}

bool
pack_manifest_check(const struct value *manifest, char *err, size_t err_len)
{
	static const struct {
		const char *name, *what;
		bool (*good)(const struct value *);
	} members[] = {
		{ "revision", "a string, such as \"5\"", is_string },
		{ "roots", "an array of strings", is_strings },
		{ "rego_version", "0 or 1", is_rego_version },
		{ "file_rego_versions", "an object of 0 and 1", is_file_versions },
		{ "wasm", "an array of objects with entrypoint and module", is_modules },
		{ "metadata", "an object", is_object },
	};
	const struct value *v;
	size_t i;

	for (i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		v = value_member(manifest, members[i].name);
		if (v == NULL || v->kind == VALUE_NULL || members[i].good(v))
			continue;
		snprintf(err, err_len, ".manifest: %s: it is %s", members[i].name,
		    members[i].what);
		return false;
	}
	return true;
}
