#include "json_in.h"
#include "ledger/input.h"

#include <stdio.h>
#include <string.h>

#include <sodium.h>

static const char *
reason(const json_error_t *error)
{
	switch (json_error_code(error)) {
	case json_error_duplicate_key:
		return "a member's name occurs twice";
	case json_error_numeric_overflow:
		return "a number is too large";
	case json_error_premature_end_of_input:
		return "it ends too early";
	case json_error_end_of_input_expected:
		return "something follows its end";
	case json_error_invalid_utf8:
		return "not UTF-8";
	case json_error_null_character:
	case json_error_null_byte_in_key:
		return "a NUL character";
	case json_error_stack_overflow:
		return "nested too deeply";
	case json_error_out_of_memory:
		return "out of memory";
	default:
		return "a syntax error";
	}
}

json_t *
json_in_parse(const char *buf, size_t len, char *err, size_t err_len)
{
	json_error_t error;
	json_t *value;

	value = json_loadb(buf, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY,
	    &error);
	if (value == NULL)
		snprintf(err, err_len, "not strict JSON: %s (line %d, column %d)",
		    reason(&error), error.line, error.column);
	return value;
}

#define WIPE_DEPTH 8

static void
wipe(json_t *value, int depth)
{
	const char *key;
	json_t *member;

	if (json_is_string(value))
		sodium_memzero((void *)(uintptr_t)json_string_value(value),
		    json_string_length(value));
	if (!json_is_object(value) || depth == 0)
		return;
	json_object_foreach(value, key, member)
		wipe(member, depth - 1);
}

void
json_in_wipe(json_t *value)
{
	wipe(value, WIPE_DEPTH);
	json_decref(value);
}

const char *
json_in_name(const char *name)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
	size_t len = strlen(name);

	if (len == 0 || len > 40 || strspn(name, plain) != len)
		return "(a member with an unusual name)";
	return name;
}

static const struct json_in_field *
field_named(const struct json_in_field *fields, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(fields[i].name, name) == 0)
			return &fields[i];
	return NULL;
}

static int
bad(const struct json_in_field *field, const char *where, const char *what,
    char *err, size_t err_len)
{
	snprintf(err, err_len, "member %s%s%s %s", where,
	    where[0] != '\0' ? "." : "", field->name, what);
	return -1;
}

static int
read_str(const struct json_in_field *field, json_t *value, const char *where,
    char *err, size_t err_len)
{
	char what[64];
	size_t len;

	if (!json_is_string(value))
		return bad(field, where, "must be a string", err, err_len);
	len = json_string_length(value);
	if (len < (size_t)field->min)
		return bad(field, where, "is empty", err, err_len);
	if (field->max > 0 && len > (size_t)field->max) {
		snprintf(what, sizeof(what), "is longer than %lld bytes",
		    (long long)field->max);
		return bad(field, where, what, err, err_len);
	}
	*(const char **)field->out = json_string_value(value);
	return 0;
}

static int
read_int(const struct json_in_field *field, json_t *value, const char *where,
    char *err, size_t err_len)
{
	int64_t max = field->max > 0 ? field->max : JSON_IN_INT_MAX;
	int64_t number;
	char what[96];

	if (!json_is_integer(value))
		return bad(field, where, "must be an integer", err, err_len);
	number = (int64_t)json_integer_value(value);
	if (number < field->min || number > max) {
		snprintf(what, sizeof(what), "must be from %lld to %lld",
		    (long long)field->min, (long long)max);
		return bad(field, where, what, err, err_len);
	}
	*(int64_t *)field->out = number;
	return 0;
}

static int
read_field(const struct json_in_field *field, json_t *value, const char *where,
    char *err, size_t err_len)
{
	switch (field->type) {
	case JSON_IN_STR:
		return read_str(field, value, where, err, err_len);
	case JSON_IN_INT:
		return read_int(field, value, where, err, err_len);
	case JSON_IN_BOOL:
		if (!json_is_boolean(value))
			return bad(field, where, "must be true or false", err,
			    err_len);
		*(bool *)field->out = json_is_true(value);
		return 0;
	case JSON_IN_OBJECT:
		if (!json_is_object(value))
			return bad(field, where, "must be an object", err,
			    err_len);
		break;
	case JSON_IN_ARRAY:
		if (!json_is_array(value))
			return bad(field, where, "must be a list", err, err_len);
		if (field->max > 0 &&
		    json_array_size(value) > (size_t)field->max)
			return bad(field, where, "has too many elements", err,
			    err_len);
		break;
	case JSON_IN_ANY:
		break;
	}
	*(json_t **)field->out = value;
	return 0;
}

int
json_in_read(json_t *object, const struct json_in_field *fields, size_t n,
    const char *where, char *err, size_t err_len)
{
	const struct json_in_field *field;
	const char *name;
	json_t *value;

	if (!json_is_object(object)) {
		snprintf(err, err_len, "%s must be an object",
		    where[0] != '\0' ? where : "the body");
		return -1;
	}
	json_object_foreach(object, name, value) {
		field = field_named(fields, n, name);
		if (field == NULL) {
			snprintf(err, err_len, "unknown member %s%s%s", where,
			    where[0] != '\0' ? "." : "", json_in_name(name));
			return -1;
		}
		if (read_field(field, value, where, err, err_len) == -1)
			return -1;
	}
	for (size_t i = 0; i < n; i++)
		if (fields[i].required &&
		    json_object_get(object, fields[i].name) == NULL)
			return bad(&fields[i], where, "is missing", err,
			    err_len);
	return 0;
}

json_t *
json_in_file(const char *path)
{
	FILE *in = input_is_file(path) ? input_open(path) : NULL;
	json_t *root = in != NULL ? json_loadf(in, JSON_REJECT_DUPLICATES, NULL) :
	    NULL;

	if (in != NULL)
		fclose(in);
	return root;
}
