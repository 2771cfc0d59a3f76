/* The settings of policies: which engine decides, where newer packs come from. */
#include "conf/conf_read.h"
#include "conf/conf_text.h"
#include "policy/opa/opa.h"

#include <stdio.h>
#include <string.h>

static int
read_engine(struct conf_reader *reader, const char *name, const json_t *value,
    const void *arg)
{
	struct conf_policy *policy = &reader->conf->policy;
	const char *text = json_string_value(value), *wrong;
	char rule[200];

	if (text != NULL && strcmp(text, "builtin") == 0)
		return 0;
	if (text == NULL || strncmp(text, "opa:", 4) != 0)
		return conf_refuse(reader, name, "\"builtin\" or \"opa:\" and an "
		    "address");
	if ((wrong = opa_where_wrong(text + 4)) != NULL) {
		snprintf(rule, sizeof(rule), "\"opa:\" and an address that %s",
		    wrong);
		return conf_refuse(reader, name, rule);
	}
	return conf_keep(reader, name, text + 4, &policy->opa);
}

static int
read_from(struct conf_reader *reader, const char *name, const json_t *value,
    const void *arg)
{
	const char *text = json_string_value(value);

	if (text == NULL || (text[0] != '/' && !conf_text_address(text)))
		return conf_refuse(reader, name, "an absolute path or an address: "
		    "\"https://host:port/path\" (http only to a loopback "
		    "address)");
	return conf_keep(reader, name, text, &reader->conf->policy.bundle.from);
}

static const struct conf_member bundle_members[] = {
	{ "from", read_from, NULL },
	{ "key_file", conf_read_path, CONF_OFFSET(policy.bundle.key_file) },
	{ "ca_file", conf_read_path, CONF_OFFSET(policy.bundle.ca_file) },
	{ "poll_ms", conf_read_unsigned, CONF_RANGE(policy.bundle.poll_ms, 50, 24 * CONF_HOUR_MS) },
	{ "max_bytes", conf_read_unsigned, CONF_RANGE(policy.bundle.max_bytes, 1024, 67108864) },
	{ "downgrade", conf_read_flag, CONF_OFFSET(policy.bundle.downgrade) },
	{ NULL, NULL, NULL }
};

static const struct conf_member policy_members[] = {
	{ "bundle", conf_read_section, bundle_members },
	{ "engine", read_engine, NULL },
	{ "deadline_ms", conf_read_unsigned, CONF_RANGE(policy.deadline_ms, 1, 10000) },
	{ "ca_file", conf_read_path, CONF_OFFSET(policy.ca_file) },
	{ "token_file", conf_read_path, CONF_OFFSET(policy.token_file) },
	{ NULL, NULL, NULL }
};

int
conf_read_policy(struct conf_reader *reader, const char *name, const json_t *value,
    const void *arg)
{
	return json_is_string(value) ?
	    read_engine(reader, name, value, NULL) :
	    conf_read_section(reader, name, value, policy_members);
}
