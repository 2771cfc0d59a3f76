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

struct place {
	char name[64];		/* of the member, for messages */
	char *err;
	size_t err_len;
};

static int
refuse(const struct place *place, const char *member, const char *rule)
{
	snprintf(place->err, place->err_len, "%s%s%s must be %s", place->name,
	    member[0] != '\0' ? "." : "", member, rule);
	return -1;
}

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

/* --- values ------------------------------------------------------------ */

static int
read_number(const struct place *place, const char *member,
    const json_t *value, unsigned least, unsigned most, unsigned *out)
{
	json_int_t n = json_integer_value(value);
	char rule[64];

	snprintf(rule, sizeof(rule), "an integer from %u to %u", least, most);
	if (!json_is_integer(value) || n < least || n > most)
		return refuse(place, member, rule);
	*out = (unsigned)n;
	return 0;
}

static int
keep(const struct place *place, const char *member, const char *text,
    char **out)
{
	if (*out == NULL && (*out = strdup(text)) != NULL)
		return 0;
	return refuse(place, member, "kept, but there is no memory");
}

static int
read_path(const struct place *place, const char *member, const json_t *value,
    char **out)
{
	const char *text = json_string_value(value);

	if (text == NULL || text[0] != '/')
		return refuse(place, member, "an absolute path");
	return keep(place, member, text, out);
}

/* http will do: what comes back is signed.  base: paths are put behind it. */
static int
read_url(const struct place *place, const json_t *value, bool base, char **out)
{
	const char *text = json_string_value(value), *rest = NULL;
	size_t n = text != NULL ? strlen(text) : 0;

	if (n > 8 && strncmp(text, "https://", 8) == 0)
		rest = text + 8;
	else if (n > 7 && strncmp(text, "http://", 7) == 0)
		rest = text + 7;
	if (rest == NULL || n > URL_MAX || rest[0] == '/' ||
	    (base && text[n - 1] == '/') ||
	    rest[strspn(rest, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "abcdefghijklmnopqrstuvwxyz0123456789.-_:[]/~")] != '\0')
		return refuse(place, "url", base ? "an http or https URL "
		    "without user, query and final slash" :
		    "an http or https URL without user and query");
	return keep(place, "url", text, out);
}

static int
read_witness_key(const struct place *place, const json_t *value, char **out)
{
	const char *text = json_string_value(value);
	struct note_key key;

	if (text == NULL || note_key_parse(&key, text, strlen(text)) != 0 ||
	    key.type != NOTE_COSIGNATURE_V1)
		return refuse(place, "key", "a witness's vkey "
		    "(name+id+key, cosignature/v1)");
	return keep(place, "key", text, out);
}

static int
read_name(const struct place *place, const json_t *value, char **out)
{
	const char *text = json_string_value(value);

	if (text == NULL || !anchors_who_valid(text))
		return refuse(place, "name", "letters, digits, - and _");
	return keep(place, "name", text, out);
}

static int
unknown(const struct place *place, const char *member)
{
	snprintf(place->err, place->err_len, "unknown member %s.%s",
	    place->name, member);
	return -1;
}

/* --- members and elements ---------------------------------------------- */

/* Reads one member of an object, or says what is wrong with it. */
typedef int (*member_reader)(const struct place *place, const char *member,
    json_t *value, void *out);

static int
each_member(const struct place *place, json_t *object, member_reader read,
    void *out)
{
	const char *key;
	json_t *value;

	if (!json_is_object(object))
		return refuse(place, "", "an object");
	json_object_foreach(object, key, value) {
		if (read(place, key, value, out) != 0)
			return -1;
	}
	return 0;
}

static int
check_list(const struct place *place, const char *member, const json_t *list,
    size_t most, bool read_before)
{
	char rule[64];

	if (json_is_array(list) && json_array_size(list) <= most && !read_before)
		return 0;
	snprintf(rule, sizeof(rule), "an array of at most %zu", most);
	return refuse(place, member, rule);
}

static struct place
element(const struct place *place, const char *member, size_t i)
{
	struct place at = *place;

	snprintf(at.name, sizeof(at.name), "anchors.%s[%zu]", member, i);
	return at;
}

/* --- lists ------------------------------------------------------------- */

static int
witness_member(const struct place *place, const char *member, json_t *value,
    void *arg)
{
	struct conf_witness *out = arg;

	if (strcmp(member, "url") == 0)
		return read_url(place, value, true, &out->url);
	if (strcmp(member, "key") == 0)
		return read_witness_key(place, value, &out->vkey);
	return unknown(place, member);
}

static int
read_witnesses(const struct place *place, const json_t *list,
    struct conf_anchors *out)
{
	size_t i;

	if (check_list(place, "witnesses", list, CONF_WITNESSES_MAX,
	    out->witnesses > 0) != 0)
		return -1;
	for (i = 0; i < json_array_size(list); i++) {
		struct place at = element(place, "witnesses", i);
		struct conf_witness *one = &out->witness[out->witnesses++];

		if (each_member(&at, json_array_get(list, i), witness_member,
		    one) != 0)
			return -1;
		if (one->url == NULL || one->vkey == NULL)
			return refuse(&at, "", "an object with url and key");
	}
	return 0;
}

static int
authority_member(const struct place *place, const char *member, json_t *value,
    void *arg)
{
	struct conf_authority *out = arg;

	if (strcmp(member, "name") == 0)
		return read_name(place, value, &out->name);
	if (strcmp(member, "url") == 0)
		return read_url(place, value, false, &out->url);
	if (strcmp(member, "ca_file") == 0)
		return read_path(place, member, value, &out->ca_file);
	return unknown(place, member);
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
read_authorities(const struct place *place, const json_t *list,
    struct conf_anchors *out)
{
	size_t i;

	if (check_list(place, "authorities", list, CONF_AUTHORITIES_MAX,
	    out->authorities > 0) != 0)
		return -1;
	for (i = 0; i < json_array_size(list); i++) {
		struct place at = element(place, "authorities", i);
		struct conf_authority *one =
		    &out->authority[out->authorities++];

		if (each_member(&at, json_array_get(list, i), authority_member,
		    one) != 0)
			return -1;
		if (one->url == NULL || one->name == NULL)
			return refuse(&at, "", "an object with name and url");
		if (named_before(out, i))
			return refuse(&at, "name", "another than the one before");
	}
	return 0;
}

static int
anchors_member(const struct place *place, const char *member, json_t *value,
    void *arg)
{
	struct conf_anchors *out = arg;

	if (strcmp(member, "interval_s") == 0)
		return read_number(place, member, value, 1, INTERVAL_MAX_S,
		    &out->interval_s);
	if (strcmp(member, "stamp_s") == 0)
		return read_number(place, member, value, 1, STAMP_MAX_S,
		    &out->stamp_s);
	if (strcmp(member, "timeout_ms") == 0)
		return read_number(place, member, value, 100, TIMEOUT_MAX_MS,
		    &out->timeout_ms);
	if (strcmp(member, "ca_file") == 0)
		return read_path(place, member, value, &out->ca_file);
	if (strcmp(member, "witnesses") == 0)
		return read_witnesses(place, value, out);
	if (strcmp(member, "authorities") == 0)
		return read_authorities(place, value, out);
	return unknown(place, member);
}

int
conf_anchors_read(const json_t *value, struct conf_anchors *out, char *err,
    size_t err_len)
{
	struct place place = { .name = "anchors", .err = err,
	    .err_len = err_len };

	return each_member(&place, (json_t *)(uintptr_t)value, anchors_member,
	    out);
}
