#include "http/head_lex.h"

const struct head_field *
head_find(const struct head *head, struct slice name)
{
	for (size_t i = 0; i < head->n_fields; i++)
		if (slice_case_eq(head->fields[i].name, name))
			return &head->fields[i];
	return NULL;
}

static bool
named_by_connection(const struct head *head, struct slice name)
{
	struct slice list, option;

	for (size_t i = 0; i < head->n_fields; i++) {
		if (!slice_case_eq(head->fields[i].name, SLICE("connection")))
			continue;
		list = head->fields[i].value;
		while (head_lex_element(&list, &option))
			if (slice_case_eq(option, name))
				return true;
	}
	return false;
}

static bool
one_of(struct slice name, const char *const *names)
{
	for (size_t i = 0; names[i] != NULL; i++)
		if (slice_case_eq(name, slice_of(names[i])))
			return true;
	return false;
}

bool
head_hop_by_hop(const struct head *head, const struct head_field *field)
{
	static const char *const fixed[] = { "connection", "keep-alive",
	    "proxy-connection", "proxy-authenticate", "proxy-authorization",
	    "proxy-authentication-info", "te", "trailer", "transfer-encoding",
	    "upgrade", "http2-settings", NULL };

	return (field->name.n <= 25 && one_of(field->name, fixed)) ||
	    (head->connection_names && named_by_connection(head, field->name));
}

const struct head_field *
head_override(const struct head *head)
{
	static const char *const names[] = { "x-http-method-override",
	    "x-http-method", "x-method-override", "x-original-url",
	    "x-rewrite-url", "x-original-uri", NULL };

	for (size_t i = 0; i < head->n_fields; i++)
		if (head->fields[i].name.n >= 13 &&
		    one_of(head->fields[i].name, names))
			return &head->fields[i];
	return NULL;
}
