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

#define NAME(literal) { literal, sizeof(literal) - 1 }

static bool
one_of(struct slice name, const struct slice *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (slice_case_eq(name, names[i]))
			return true;
	return false;
}

bool
head_hop_by_hop(const struct head *head, const struct head_field *field)
{
	static const struct slice fixed[] = { NAME("connection"),
	    NAME("keep-alive"), NAME("proxy-connection"),
	    NAME("proxy-authenticate"), NAME("proxy-authorization"),
	    NAME("proxy-authentication-info"), NAME("te"), NAME("trailer"),
	    NAME("transfer-encoding"), NAME("upgrade"), NAME("http2-settings") };

	return one_of(field->name, fixed, sizeof(fixed) / sizeof(fixed[0])) ||
	    (head->connection_names && named_by_connection(head, field->name));
}

const struct head_field *
head_override(const struct head *head)
{
	static const struct slice names[] = { NAME("x-http-method-override"),
	    NAME("x-http-method"), NAME("x-method-override"),
	    NAME("x-original-url"), NAME("x-original-uri"),
	    NAME("x-rewrite-url") };

	for (size_t i = 0; i < head->n_fields; i++)
		for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
			if (head_lex_looks_like(head->fields[i].name, names[k]))
				return &head->fields[i];
	return NULL;
}
