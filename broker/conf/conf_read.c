#include "conf/conf_read.h"
#include "ledger/input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int
conf_refuse(struct conf_reader *reader, const char *name, const char *rule)
{
	snprintf(reader->err, reader->err_len, "%s must be %s", name, rule);
	return -1;
}

int
conf_read_object(struct conf_reader *reader, const char *prefix, json_t *object,
    const struct conf_member *members)
{
	const struct conf_member *member;
	const char *key;
	json_t *value;
	char name[96];

	json_object_foreach(object, key, value) {
		snprintf(name, sizeof(name), "%s%s", prefix, key);
		for (member = members; member->name != NULL; member++)
			if (strcmp(member->name, key) == 0)
				break;
		if (member->name == NULL) {
			snprintf(reader->err, reader->err_len,
			    "unknown member %s", name);
			return -1;
		}
		if (member->read(reader, name, value, member->arg) != 0)
			return -1;
	}
	return 0;
}

int
conf_read_unsigned(struct conf_reader *reader, const char *name, const json_t *value,
    const void *arg)
{
	const struct conf_range *range = arg;
	unsigned *field = (unsigned *)((char *)reader->conf + range->offset);
	json_int_t n = json_integer_value(value);
	char rule[64];

	if (!json_is_integer(value) || n < range->least || n > range->most) {
		snprintf(rule, sizeof(rule), "an integer from %u to %u",
		    range->least, range->most);
		return conf_refuse(reader, name, rule);
	}
	*field = (unsigned)n;
	return 0;
}

int
conf_keep(struct conf_reader *reader, const char *name, const char *text,
    char **out)
{
	char *copy = strdup(text);

	if (copy == NULL)
		return conf_refuse(reader, name, "kept, but there is no memory");
	free(*out);
	*out = copy;
	return 0;
}

int
conf_keep_path(struct conf_reader *reader, const char *name, const json_t *value,
    char **out)
{
	const char *text = json_string_value(value);

	if (text == NULL || text[0] != '/')
		return conf_refuse(reader, name, "an absolute path");
	/* Libraries that open one by themselves would wait for a FIFO for ever. */
	if (!input_is_file(text))
		return conf_refuse(reader, name, "the path of a file, not of a "
		    "directory, a FIFO or a device");
	return conf_keep(reader, name, text, out);
}

int
conf_read_path(struct conf_reader *reader, const char *name, const json_t *value,
    const void *arg)
{
	return conf_keep_path(reader, name, value, CONF_FIELD(reader, char *, arg));
}

int
conf_read_flag(struct conf_reader *reader, const char *name, const json_t *value,
    const void *arg)
{
	if (!json_is_boolean(value))
		return conf_refuse(reader, name, "true or false");
	*CONF_FIELD(reader, bool, arg) = json_is_true(value);
	return 0;
}

int
conf_read_section(struct conf_reader *reader, const char *name, const json_t *value,
    const void *arg)
{
	char prefix[64];

	if (!json_is_object(value))
		return conf_refuse(reader, name, "an object");
	snprintf(prefix, sizeof(prefix), "%s.", name);
	return conf_read_object(reader, prefix, (json_t *)(uintptr_t)value, arg);
}
