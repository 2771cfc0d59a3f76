/*
 * Reading JSON strictly, over jansson: no duplicate names, no unknown members,
 * no number that is not an integer between -(2^53-1) and 2^53-1.  Messages name
 * the member or the place and never repeat what stood there.
 */
#ifndef BROKER_JSON_IN_H
#define BROKER_JSON_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#define JSON_IN_INT_MAX 9007199254740991LL	/* 2^53 - 1 */

/* One JSON value and nothing else.  NULL with a message. */
json_t *json_in_parse(const char *buf, size_t len, char *err, size_t err_len);

/* A small file of ours, with members that it may have; NULL where it cannot be read,
 * or is no plain file. */
json_t *json_in_file(const char *path);

enum json_in_type {
	JSON_IN_STR,	/* const char *, min to max bytes; borrowed from the object */
	JSON_IN_INT,	/* int64_t, min to max */
	JSON_IN_BOOL,	/* bool */
	JSON_IN_OBJECT,	/* json_t *, borrowed */
	JSON_IN_ARRAY,	/* json_t *, at most max elements; borrowed */
	JSON_IN_ANY	/* json_t *, borrowed */
};

struct json_in_field {
	const char *name;
	enum json_in_type type;
	bool required;
	int64_t min, max;	/* max 0: JSON_IN_INT_MAX, or any length */
	void *out;		/* left alone where the member is absent */
};

/*
 * Fill the fields from an object that has no other members.  where: its name
 * in messages, "" for the outermost.  0, or -1 with a message.
 */
int json_in_read(json_t *object, const struct json_in_field *fields, size_t n,
    const char *where, char *err, size_t err_len);

/* Lets go of it, when its texts, and those of the objects in it, were wiped: nobody
 * else may have it.  NULL-safe. */
void json_in_wipe(json_t *value);

/* A member's name as it may be shown: itself where it is short and plain, else
 * a word for it. */
const char *json_in_name(const char *name);

#endif
