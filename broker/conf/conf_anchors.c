#include "conf/conf_anchors.h"

#include "ledger/anchor/anchors.h"
#include "ledger/tree/note.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INTERVAL_MAX_S 86400
#define STAMP_MAX_S (31 * 86400)
#define TIMEOUT_MAX_MS 60000
#define URL_MAX 300

void
conf_anchors_defaults(struct conf_anchors *anchors)
{
	*anchors = (struct conf_anchors){ .interval_s = 60, .stamp_s = 3600,
	    .timeout_ms = 10000 };
}

void
conf_anchors_free(struct conf_anchors *anchors)
{
	for (size_t i = 0; i < anchors->witnesses; i++) {
		free(anchors->witness[i].url);
		free(anchors->witness[i].vkey);
	}
	for (size_t i = 0; i < anchors->authorities; i++) {
		free(anchors->authority[i].name);
		free(anchors->authority[i].url);
		free(anchors->authority[i].ca_file);
	}
	free(anchors->ca_file);
	*anchors = (struct conf_anchors){ .witnesses = 0 };
}

/* --- an element: the last one of its list ------------------------------- */

static struct conf_witness *
witness_of(struct conf_reader *reader)
{
	struct conf_anchors *anchors = &reader->conf->anchors;

	return &anchors->witness[anchors->witnesses - 1];
}

static struct conf_authority *
authority_of(struct conf_reader *reader)
{
	struct conf_anchors *anchors = &reader->conf->anchors;

	return &anchors->authority[anchors->authorities - 1];
}

/* http will do: what comes back is signed.  NULL where it is no such URL. */
static const char *
url_of(const json_t *value)
{
	const char *text = json_string_value(value), *rest = NULL;
	size_t n = text != NULL ? strlen(text) : 0;

	if (n > 8 && strncmp(text, "https://", 8) == 0)
		rest = text + 8;
	else if (n > 7 && strncmp(text, "http://", 7) == 0)
		rest = text + 7;
	if (rest == NULL || n > URL_MAX || rest[0] == '/' ||
	    rest[strspn(rest, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "abcdefghijklmnopqrstuvwxyz0123456789.-_:[]/~")] != '\0')
		return NULL;
	return text;
}

/* Paths are put behind it. */
static int
read_witness_url(struct conf_reader *reader, const char *name,
    const json_t *value, const void *arg)
{
	const char *text = url_of(value);

	if (text == NULL || text[strlen(text) - 1] == '/')
		return conf_refuse(reader, name, "an http or https URL "
		    "without user, query and final slash");
	return conf_keep(reader, name, text, &witness_of(reader)->url);
}

static int
read_witness_key(struct conf_reader *reader, const char *name,
    const json_t *value, const void *arg)
{
	const char *text = json_string_value(value);
	struct note_key key;

	if (text == NULL || note_key_parse(&key, text, strlen(text)) != 0 ||
	    key.type != NOTE_COSIGNATURE_V1)
		return conf_refuse(reader, name, "a witness's vkey "
		    "(name+id+key, cosignature/v1)");
	return conf_keep(reader, name, text, &witness_of(reader)->vkey);
}

static int
read_authority_name(struct conf_reader *reader, const char *name,
    const json_t *value, const void *arg)
{
	const char *text = json_string_value(value);

	if (text == NULL || !anchors_who_valid(text))
		return conf_refuse(reader, name, "letters, digits, - and _");
	return conf_keep(reader, name, text, &authority_of(reader)->name);
}

static int
read_authority_url(struct conf_reader *reader, const char *name,
    const json_t *value, const void *arg)
{
	const char *text = url_of(value);

	if (text == NULL)
		return conf_refuse(reader, name, "an http or https URL "
		    "without user and query");
	return conf_keep(reader, name, text, &authority_of(reader)->url);
}

static int
read_authority_ca(struct conf_reader *reader, const char *name,
    const json_t *value, const void *arg)
{
	return conf_keep_path(reader, name, value, &authority_of(reader)->ca_file);
}

static const struct conf_member witness_members[] = {
	{ "url", read_witness_url, NULL },
	{ "key", read_witness_key, NULL },
	{ NULL, NULL, NULL }
};

static const struct conf_member authority_members[] = {
	{ "name", read_authority_name, NULL },
	{ "url", read_authority_url, NULL },
	{ "ca_file", read_authority_ca, NULL },
	{ NULL, NULL, NULL }
};

/* --- lists ------------------------------------------------------------- */

static int
check_list(struct conf_reader *reader, const char *name, const json_t *list,
    size_t most)
{
	char rule[64];

	if (json_is_array(list) && json_array_size(list) <= most)
		return 0;
	snprintf(rule, sizeof(rule), "an array of at most %zu", most);
	return conf_refuse(reader, name, rule);
}

static int
read_witnesses(struct conf_reader *reader, const char *name, const json_t *list,
    const void *arg)
{
	const struct conf_witness *one;
	char at[64];

	if (check_list(reader, name, list, CONF_WITNESSES_MAX) != 0)
		return -1;
	for (size_t i = 0; i < json_array_size(list); i++) {
		snprintf(at, sizeof(at), "%s[%zu]", name, i);
		reader->conf->anchors.witnesses++;
		if (conf_read_section(reader, at, json_array_get(list, i),
		    witness_members) != 0)
			return -1;
		one = witness_of(reader);
		if (one->url == NULL || one->vkey == NULL)
			return conf_refuse(reader, at, "an object with url and key");
	}
	return 0;
}

/* A file of stamps is named after its authority: two of a name would mix. */
static bool
named_before(const struct conf_anchors *anchors, size_t i)
{
	for (size_t k = 0; k < i; k++) {
		if (strcmp(anchors->authority[k].name,
		    anchors->authority[i].name) == 0)
			return true;
	}
	return false;
}

static int
read_authorities(struct conf_reader *reader, const char *name,
    const json_t *list, const void *arg)
{
	const struct conf_authority *one;
	char at[64];

	if (check_list(reader, name, list, CONF_AUTHORITIES_MAX) != 0)
		return -1;
	for (size_t i = 0; i < json_array_size(list); i++) {
		snprintf(at, sizeof(at), "%s[%zu]", name, i);
		reader->conf->anchors.authorities++;
		if (conf_read_section(reader, at, json_array_get(list, i),
		    authority_members) != 0)
			return -1;
		one = authority_of(reader);
		if (one->url == NULL || one->name == NULL)
			return conf_refuse(reader, at, "an object with name and url");
		if (named_before(&reader->conf->anchors, i)) {
			snprintf(at, sizeof(at), "%s[%zu].name", name, i);
			return conf_refuse(reader, at, "another than the one before");
		}
	}
	return 0;
}

const struct conf_member conf_anchors_members[] = {
	{ "interval_s", conf_read_unsigned, CONF_RANGE(anchors.interval_s, 1, INTERVAL_MAX_S) },
	{ "stamp_s", conf_read_unsigned, CONF_RANGE(anchors.stamp_s, 1, STAMP_MAX_S) },
	{ "timeout_ms", conf_read_unsigned, CONF_RANGE(anchors.timeout_ms, 100, TIMEOUT_MAX_MS) },
	{ "ca_file", conf_read_path, CONF_OFFSET(anchors.ca_file) },
	{ "witnesses", read_witnesses, NULL },
	{ "authorities", read_authorities, NULL },
	{ NULL, NULL, NULL }
};
