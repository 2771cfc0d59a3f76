/* The members of a binding: where the secret may go, where in a request, and what
 * may be asked for. */
#include "cli/bind/bind.h"
#include "cli/host_arg.h"
#include "http/target.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The text before and after the one {} of a template; false where there is
 * none, or more than one. */
static bool
one_slot(const char *template)
{
	const char *slot = strstr(template, "{}");

	return slot != NULL && strstr(slot + 2, "{}") == NULL;
}

static bool
token_text(const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (!isalnum((unsigned char)text[i]) &&
		    strchr("!#$%&'*+-.^_`|~", text[i]) == NULL)
			return false;
	return len > 0;
}

/* Fields that frame or route a message carry no credential. */
static bool
field_reserved(const char *name)
{
	static const char *const names[] = { "Host", "Connection",
	    "Content-Length", "Transfer-Encoding", "Upgrade", "TE", "Trailer",
	    "Expect", "Proxy-Authorization", "Proxy-Connection", "Keep-Alive",
	    NULL };
	size_t i;

	for (i = 0; names[i] != NULL; i++)
		if (strcasecmp(names[i], name) == 0)
			return true;
	return false;
}

static json_t *
header_placement(struct bind *bind, const char *text)
{
	const char *colon = strchr(text, ':'), *template;
	char name[128];

	if (colon == NULL || colon - text > 100 ||
	    !token_text(text, (size_t)(colon - text)))
		return BIND_BAD(bind, "--header wants 'Name: template', such as "
		    "'Authorization: Bearer {}'");
	snprintf(name, sizeof(name), "%.*s", (int)(colon - text), text);
	if (field_reserved(name))
		return BIND_BAD(bind, "the header field %s cannot carry a credential",
		    name);
	for (template = colon + 1; *template == ' '; template++)
		;
	if (!one_slot(template) || strpbrk(template, "\r\n") != NULL)
		return BIND_BAD(bind, "--header wants {} once, where the secret goes; "
		    "never the secret itself");
	return json_pack("{s:s, s:s, s:s}", "kind", "header", "name", name,
	    "template", template);
}

static json_t *
basic_placement(struct bind *bind, const char *text)
{
	size_t len = strlen(text);

	if (len < 3 || strcmp(text + len - 3, ":{}") != 0 ||
	    memchr(text, ':', len - 3) != NULL || strstr(text, "{}") != text + len - 2)
		return BIND_BAD(bind, "--basic wants 'user:{}'");
	return json_pack("{s:s, s:s%}", "kind", "basic", "user", text, len - 3);
}

static json_t *
query_placement(struct bind *bind, const char *text)
{
	size_t len = strlen(text);

	if (len < 4 || strcmp(text + len - 3, "={}") != 0 ||
	    !token_text(text, len - 3))
		return BIND_BAD(bind, "--query wants 'key={}'");
	return json_pack("{s:s, s:s%}", "kind", "query", "name", text, len - 3);
}

/* Of a service that nobody named, though its host was. */
static json_t *
no_placement(struct bind *bind)
{
	size_t cursor = 0;
	const char *host = opt_next(bind->opts, "host", &cursor);
	const struct service *service = host == NULL ? NULL :
	    service_of_host(host, NULL);

	if (service != NULL)
		return BIND_BAD(bind, "one of --header, --basic, --query and --sigv4 says where "
		    "the secret goes; --service %s says it for %s", service->name,
		    host);
	return BIND_BAD(bind, "one of --header, --basic, --query and --sigv4 says where "
	    "the secret goes");
}

json_t *
bind_placement(struct bind *bind)
{
	const char *header = opt_value(bind->opts, "header");
	const char *basic = opt_value(bind->opts, "basic");
	const char *query = opt_value(bind->opts, "query");
	const bool sigv4 = opt_flag(bind->opts, "sigv4");
	int given = (header != NULL) + (basic != NULL) + (query != NULL) + sigv4;

	if (given == 0 && bind->service != NULL) {
		header = bind->service->header;
		basic = bind->service->basic;
	} else if (given > 1) {
		return BIND_BAD(bind, "one of --header, --basic, --query and --sigv4 "
		    "says where the secret goes, and more were given; for another "
		    "place make a second binding, with --name");
	} else if (given == 0) {
		return no_placement(bind);
	}
	if (sigv4)
		return json_pack("{s:s}", "kind", "sigv4");
	if (header != NULL)
		return header_placement(bind, header);
	if (basic != NULL)
		return basic_placement(bind, basic);
	return query != NULL ? query_placement(bind, query) : no_placement(bind);
}

/* The values of a repeated option, or else the service's, one by one. */
static const char *
next(const struct bind *bind, const char *name, const char *const *usual,
    size_t *cursor)
{
	size_t first = 0;

	if (usual != NULL && opt_next(bind->opts, name, &first) == NULL)
		return usual[*cursor] != NULL ? usual[(*cursor)++] : NULL;
	return opt_next(bind->opts, name, cursor);
}

json_t *
bind_hosts(struct bind *bind)
{
	json_t *list = json_array();
	struct target target;
	const char *host, *fault;
	size_t cursor = 0;

	while ((host = next(bind, "host", bind->service != NULL ?
	    bind->service->hosts : NULL, &cursor)) != NULL) {
		fault = strchr(host, '*') != NULL ? "a secret is bound to exact "
		    "names: give --host once for each" : host_arg(host,
		    (uint16_t)bind->port, &target);
		if (fault == NULL && target.port != bind->port)
			fault = "the port goes into --port";
		if (fault != NULL) {
			json_decref(list);
			return BIND_BAD(bind, "--host %s: %s", cli_clean(host), fault);
		}
		json_array_append_new(list, json_string(target.host));
	}
	if (json_array_size(list) > 0)
		return list;
	json_decref(list);
	return BIND_BAD(bind, "--host is missing: a secret is bound to hosts; "
	    "`countersign bind --services` has the lines of well-known ones");
}

static bool
rule_ok(const char *rule)
{
	const char *space = strchr(rule, ' ');
	size_t i;

	if (space == NULL || space == rule || space[1] != '/' ||
	    strchr(space + 1, ' ') != NULL)
		return false;
	if (space == rule + 1 && rule[0] == '*')
		return true;
	for (i = 0; rule + i < space; i++)
		if (!isupper((unsigned char)rule[i]) && rule[i] != '-')
			return false;
	return true;
}

/* The rule as the paths that it is held against are spelled: %2F. */
static json_t *
rule_text(const char *rule)
{
	json_t *out = NULL;
	char *text = strdup(rule), *at = text;

	while (at != NULL && (at = strstr(at, "%2f")) != NULL)
		at[2] = 'F';
	if (text != NULL)
		out = json_string(text);
	free(text);
	return out;
}

json_t *
bind_rules(struct bind *bind, const char *option)
{
	const bool allow = strcmp(option, "allow") == 0;
	json_t *list = json_array();
	const char *rule;
	size_t cursor = 0;

	while ((rule = next(bind, option, allow && bind->service != NULL ?
	    bind->service->allow : NULL, &cursor)) != NULL) {
		if (!rule_ok(rule)) {
			json_decref(list);
			return BIND_BAD(bind, "--%s %s: wanted is 'METHOD /path', "
			    "such as 'GET /repos/**'", option, cli_clean(rule));
		}
		json_array_append_new(list, rule_text(rule));
	}
	return list;
}
