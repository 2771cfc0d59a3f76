/*
 * Reading settings by tables: which members there are, where they go and what
 * they may be.  Everything that is not in a table is refused by name.
 */
#ifndef BROKER_CONF_CONF_READ_H
#define BROKER_CONF_CONF_READ_H

#include "conf/conf.h"

#include <jansson.h>

struct conf_reader {
	struct conf *conf;
	char *err;
	size_t err_len;
};

struct conf_member {
	const char *name;
	int (*read)(struct conf_reader *reader, const char *name,
	    const json_t *value, const void *arg);
	const void *arg;
};

struct conf_range {
	size_t offset;		/* of an unsigned in struct conf */
	unsigned least, most;
};

#define CONF_AT(field) offsetof(struct conf, field)
#define CONF_OFFSET(field) &(const size_t){ CONF_AT(field) }
#define CONF_FIELD(reader, type, arg) \
	((type *)((char *)(reader)->conf + *(const size_t *)(arg)))
#define CONF_RANGE(field, least, most) \
	&(const struct conf_range){ CONF_AT(field), least, most }

#define CONF_HOUR_MS 3600000

/* "NAME must be RULE"; -1. */
int conf_refuse(struct conf_reader *reader, const char *name,
    const char *rule);

/* Read an object by its table; prefix names it in messages ("ledger."). */
int conf_read_object(struct conf_reader *reader, const char *prefix,
    json_t *object, const struct conf_member *members);

/* A copy of text (malloc) takes the place of what *out had. */
int conf_keep(struct conf_reader *reader, const char *name, const char *text,
    char **out);
int conf_keep_path(struct conf_reader *reader, const char *name,
    const json_t *value, char **out);

/* For tables.  arg: the inner table. */
int conf_read_section(struct conf_reader *reader, const char *name,
    const json_t *value, const void *arg);
/* arg: CONF_RANGE of an unsigned, CONF_OFFSET of a bool, of a char * that an
 * absolute path is kept in. */
int conf_read_unsigned(struct conf_reader *reader, const char *name,
    const json_t *value, const void *arg);
int conf_read_flag(struct conf_reader *reader, const char *name,
    const json_t *value, const void *arg);
int conf_read_path(struct conf_reader *reader, const char *name,
    const json_t *value, const void *arg);

/* "policy" (conf_policy.c): an object, or the engine alone as a string. */
int conf_read_policy(struct conf_reader *reader, const char *name,
    const json_t *value, const void *arg);

#endif
