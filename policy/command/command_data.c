#include "policy/command/command_data.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/pack.h"
#include "policy/value/utf8.h"

#define PLACE_MAX 300	/* bytes of "data.bindings.x.allow[3]", cut behind */

enum shape_kind {
	SHAPE_TEXT, SHAPE_INTEGER, SHAPE_BOOL,
	SHAPE_LIST,	/* of inner */
	SHAPE_MAP,	/* any names, of inner */
	SHAPE_OBJECT	/* of members */
};

struct member;

struct shape {
	enum shape_kind kind;
	const char *wanted;	/* for people */
	int64_t min, max;
	bool (*form)(const char *text);	/* NULL: any */
	const struct shape *inner;
	const struct member *members;	/* ended by a NULL name */
	bool open;		/* other members are somebody else's */
};

struct member {
	const char *name;
	bool required;
	const struct shape *shape;
};

/* --- forms of text ---------------------------------------------------- */

static bool
is_scheme(const char *text)
{
	return strcmp(text, "https") == 0 || strcmp(text, "http") == 0;
}

static bool
is_placement(const char *text)
{
	return strcmp(text, "header") == 0 || strcmp(text, "basic") == 0 ||
	    strcmp(text, "query") == 0 || strcmp(text, "sigv4") == 0;
}

static bool
is_host(const char *text)
{
	return text[0] != '\0' &&
	    strpbrk(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ /*") == NULL;
}

/* With patterns, and perhaps a port. */
static bool
is_authority(const char *text)
{
	return text[0] != '\0' && strpbrk(text, " /") == NULL;
}

/* Anything else allows nothing, silently. */
static bool
is_rule(const char *text)
{
	const char *space = strchr(text, ' ');

	return space != NULL && space != text && space[1] == '/' &&
	    strchr(space + 1, ' ') == NULL;
}

static bool
is_range(const char *text)
{
	const char *slash = strchr(text, '/');
	char address[64], *end;
	uint8_t bytes[16];
	long bits;

	if (slash == NULL || (size_t)(slash - text) >= sizeof(address) ||
	    slash[1] < '0' || slash[1] > '9')
		return false;
	snprintf(address, sizeof(address), "%.*s", (int)(slash - text), text);
	bits = strtol(slash + 1, &end, 10);
	if (*end != '\0')
		return false;
	if (inet_pton(AF_INET, address, bytes) == 1)
		return bits <= 32;
	return inet_pton(AF_INET6, address, bytes) == 1 && bits <= 128;
}

static bool
is_absolute(const char *text)
{
	return text[0] == '/';
}

/* --- shapes ------------------------------------------------------------ */

#define TEXT(what, check) { .kind = SHAPE_TEXT, .wanted = (what), .form = (check) }
#define INTEGER(what, low, high) \
	{ .kind = SHAPE_INTEGER, .wanted = (what), .min = (low), .max = (high) }
#define LIST(of) { .kind = SHAPE_LIST, .wanted = "a list", .inner = (of) }
#define OBJECT(list) \
	{ .kind = SHAPE_OBJECT, .wanted = "an object", .members = (list) }

static const struct shape text = TEXT("text", NULL);
static const struct shape flag = { .kind = SHAPE_BOOL, .wanted = "true or false" };
static const struct shape scheme = TEXT("\"https\" or \"http\"", is_scheme);
static const struct shape placed = TEXT("\"header\", \"basic\", \"query\" or \"sigv4\"", is_placement);
static const struct shape host = TEXT("a host's exact name in lower case, without port", is_host);
static const struct shape authority = TEXT("a name or pattern, with a port or without", is_authority);
static const struct shape rule = TEXT("\"METHOD /path\" (else it covers nothing)", is_rule);
static const struct shape range = TEXT("an address range like \"10.0.0.0/8\"", is_range);
static const struct shape absolute = TEXT("an absolute path", is_absolute);
static const struct shape port = INTEGER("a port, 1 to 65535", 1, 65535);
static const struct shape count = INTEGER("a whole number, 0 or more", 0, INT64_MAX);
static const struct shape positive = INTEGER("a whole number, 1 or more", 1, INT64_MAX);

static const struct shape texts = LIST(&text), hosts = LIST(&host),
    authorities = LIST(&authority), rules = LIST(&rule), ranges = LIST(&range),
    absolutes = LIST(&absolute);

static const struct member placement_members[] = {
	{ "kind", true, &placed }, { "name", false, &text },
	{ "template", false, &text }, { "user", false, &text },
	{ NULL, false, NULL }
};
static const struct shape placement = OBJECT(placement_members);

static const struct member binding_limit_members[] = {
	{ "requests", false, &count }, { NULL, false, NULL }
};
static const struct shape binding_limits = OBJECT(binding_limit_members);

static const struct member binding_members[] = {
	{ "secret", true, &text }, { "scheme", false, &scheme },
	{ "hosts", true, &hosts }, { "port", false, &port },
	{ "placement", true, &placement }, { "allow", true, &rules },
	{ "ask", false, &rules },
	{ "env", false, &texts }, { "escaped_slash", false, &flag },
	{ "limits", false, &binding_limits }, { "cost", false, &count },
	{ "note", false, &text }, { NULL, false, NULL }
};
static const struct shape binding = OBJECT(binding_members);
static const struct shape bindings = {
	.kind = SHAPE_MAP, .wanted = "an object", .inner = &binding
};

static const struct member egress_members[] = {
	{ "allow", false, &authorities }, { "private", false, &ranges },
	{ NULL, false, NULL }
};
static const struct shape refusals = INTEGER("0 to 1000000", 0, 1000000);
static const struct member limit_members[] = {
	{ "requests", false, &count }, { "bytes_out", false, &count },
	{ "wall_ms", false, &count }, { "cost", false, &count },
	{ "refusals", false, &refusals },
	{ NULL, false, NULL }
};
static const struct member grant_members[] = {
	{ "ttl_s", false, &positive }, { "uses", false, &positive },
	{ NULL, false, NULL }
};
static const struct member tool_members[] = {
	{ "deny", false, &texts }, { "ask", false, &texts },
	{ NULL, false, NULL }
};
static const struct member file_members[] = {
	{ "read", false, &absolutes }, { "write", false, &absolutes },
	{ NULL, false, NULL }
};
static const struct member dns_members[] = {
	{ "allow", false, &authorities }, { NULL, false, NULL }
};
static const struct shape egress = OBJECT(egress_members),
    limits = OBJECT(limit_members), grant = OBJECT(grant_members),
    tools = OBJECT(tool_members), files = OBJECT(file_members),
    dns = OBJECT(dns_members);

static const struct member document_members[] = {
	{ "bindings", false, &bindings }, { "egress", false, &egress },
	{ "limits", false, &limits }, { "grant", false, &grant },
	{ "tools", false, &tools }, { "files", false, &files },
	{ "dns", false, &dns }, { NULL, false, NULL }
};
static const struct shape document = {
	.kind = SHAPE_OBJECT, .wanted = "an object",
	.members = document_members, .open = true
};

/* --- checking ---------------------------------------------------------- */

struct place {
	char text[PLACE_MAX];
	size_t n;
};

/* A name as it may be shown. */
static void
step(struct place *place, const struct value *key, uint32_t i)
{
	bool plain = key != NULL && key->kind == VALUE_STRING &&
	    utf8_plain_prefix(key->str.p, key->str.n) == key->str.n;
	int n = key == NULL ? snprintf(place->text + place->n,
	    PLACE_MAX - place->n, "[%u]", i) :
	    snprintf(place->text + place->n, PLACE_MAX - place->n, ".%.*s",
	    plain ? (int)(key->str.n < 80 ? key->str.n : 80) : 1,
	    plain ? key->str.p : "?");

	if (n > 0 && (size_t)n < PLACE_MAX - place->n)
		place->n += (size_t)n;
}

static void
back(struct place *place, size_t n)
{
	place->n = n;
	place->text[n] = '\0';
}

static unsigned
wrong_type(const struct place *place, const struct value *v,
    const struct shape *shape)
{
	printf("warning: %s: %s where DATA.md has %s\n", place->text,
	    value_type_name(v), shape->wanted);
	return 1;
}

static unsigned check(const struct shape *, const struct value *,
    struct place *);

static unsigned
check_text(const struct shape *shape, const struct value *v,
    const struct place *place)
{
	char copy[1024];

	if (v->kind != VALUE_STRING)
		return wrong_type(place, v, shape);
	if (shape->form == NULL)
		return 0;
	snprintf(copy, sizeof(copy), "%.*s", (int)(v->str.n < sizeof(copy) ?
	    v->str.n : sizeof(copy) - 1), v->str.n > 0 ? v->str.p : "");
	if (shape->form(copy) && strlen(copy) == v->str.n)
		return 0;
	printf("warning: %s: this is not %s\n", place->text, shape->wanted);
	return 1;
}

static unsigned
check_integer(const struct shape *shape, const struct value *v,
    const struct place *place)
{
	if (v->kind != VALUE_NUMBER)
		return wrong_type(place, v, shape);
	if (v->is_int && v->num.i >= shape->min && v->num.i <= shape->max)
		return 0;
	printf("warning: %s: this is not %s\n", place->text, shape->wanted);
	return 1;
}

static unsigned
check_items(const struct shape *shape, const struct value *v,
    struct place *place)
{
	enum value_kind kind = shape->kind == SHAPE_LIST ? VALUE_ARRAY :
	    VALUE_OBJECT;
	size_t here = place->n;
	unsigned bad = 0;

	if (v->kind != kind)
		return wrong_type(place, v, shape);
	for (uint32_t i = 0; i < v->col.n; i++) {
		step(place, kind == VALUE_ARRAY ? NULL : value_key_at(v, i),
		    i);
		bad += check(shape->inner, value_at(v, i), place);
		back(place, here);
	}
	return bad;
}

static const struct member *
member_of(const struct shape *shape, const struct value *key)
{
	const struct member *m;

	for (m = shape->members; m->name != NULL; m++)
		if (key->kind == VALUE_STRING && strlen(m->name) ==
		    key->str.n && memcmp(m->name, key->str.p, key->str.n) == 0)
			return m;
	return NULL;
}

#define NEAR_NAME 24	/* bytes of the longest name that is compared */

/* How many bytes must be put in, taken out or changed to make one of the other. */
static unsigned
distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	unsigned row[NEAR_NAME + 1], before, diagonal;

	for (size_t j = 0; j <= b_len; j++)
		row[j] = (unsigned)j;
	for (size_t i = 1; i <= a_len; i++) {
		diagonal = row[0];
		row[0] = (unsigned)i;
		for (size_t j = 1; j <= b_len; j++) {
			before = row[j];
			row[j] = diagonal + (a[i - 1] != b[j - 1]);
			if (before + 1 < row[j])
				row[j] = before + 1;
			if (row[j - 1] + 1 < row[j])
				row[j] = row[j - 1] + 1;
			diagonal = before;
		}
	}
	return row[b_len];
}

/* The known name that was most likely meant, or NULL. */
static const char *
nearest(const struct shape *shape, const struct value *key)
{
	const char *found = NULL;
	unsigned least = 3, d;

	if (key->kind != VALUE_STRING || key->str.n > NEAR_NAME)
		return NULL;
	for (const struct member *m = shape->members; m->name != NULL; m++) {
		const size_t n = strlen(m->name);

		if (n > NEAR_NAME)
			continue;
		d = distance(key->str.p, key->str.n, m->name, n);
		if (d < least && d * 2 < n) {
			least = d;
			found = m->name;
		}
	}
	return found;
}

static unsigned
unknown_member(const struct shape *shape, const struct value *key,
    const struct place *place)
{
	const char *meant = nearest(shape, key);

	if (meant == NULL && shape->open)	/* the pack's own */
		return 0;
	printf("warning: %s: nobody reads this%s%s%s\n", place->text,
	    meant != NULL ? "; is " : "", meant != NULL ? meant : "",
	    meant != NULL ? " meant?" : "");
	return 1;
}

static unsigned
check_missing(const struct shape *shape, const struct value *v,
    const struct place *place)
{
	const struct member *m;
	unsigned bad = 0;

	for (m = shape->members; m->name != NULL; m++) {
		if (!m->required || value_member(v, m->name) != NULL)
			continue;
		printf("warning: %s: %s is missing\n", place->text, m->name);
		bad++;
	}
	return bad;
}

static unsigned
check_members(const struct shape *shape, const struct value *v,
    struct place *place)
{
	size_t here = place->n;
	unsigned bad;

	if (v->kind != VALUE_OBJECT)
		return wrong_type(place, v, shape);
	bad = check_missing(shape, v, place);
	for (uint32_t i = 0; i < v->col.n; i++) {
		const struct value *key = value_key_at(v, i);
		const struct member *m = member_of(shape, key);

		step(place, key, i);
		bad += m != NULL ? check(m->shape, value_at(v, i), place) :
		    unknown_member(shape, key, place);
		back(place, here);
	}
	return bad;
}

static unsigned
check(const struct shape *shape, const struct value *v, struct place *place)
{
	switch (shape->kind) {
	case SHAPE_TEXT:
		return check_text(shape, v, place);
	case SHAPE_INTEGER:
		return check_integer(shape, v, place);
	case SHAPE_BOOL:
		return v->kind == VALUE_BOOL ? 0 :
		    wrong_type(place, v, shape);
	case SHAPE_LIST:
	case SHAPE_MAP:
		return check_items(shape, v, place);
	case SHAPE_OBJECT:
		break;
	}
	return check_members(shape, v, place);
}

unsigned
command_data_check(const struct value *data)
{
	struct place place = { .text = "data", .n = 4 };

	return data != NULL ? check(&document, data, &place) : 0;
}

unsigned
command_data_look(const char *pack_path)
{
	char err[256];
	struct policy_pack *pack = policy_pack_load(pack_path, err, sizeof(err));
	unsigned warnings = pack != NULL ? command_data_check(pack->data) : 0;

	policy_pack_unref(pack);
	return warnings;
}
