#include "cli/lacking.h"
#include "cli/cli.h"
#include "cli/client.h"

#include <stdbool.h>
#include <string.h>

json_t *
lacking_secrets(void)
{
	struct client_reply reply;
	json_t *list = NULL;

	if (client_operator("GET", "/v1/secrets", NULL, &reply) == CLIENT_OK &&
	    json_object_get(reply.json, "unanswered") == NULL)
		list = json_incref(json_object_get(reply.json, "secrets"));
	client_reply_release(&reply);
	return list;
}

const char *
lacking_reason(const json_t *secrets, const char *name)
{
	json_int_t newest = -1, version;
	bool revoked = false;
	json_t *one;
	size_t i;

	json_array_foreach(secrets, i, one) {
		version = json_integer_value(json_object_get(one, "version"));
		if (strcmp(client_str(one, "name"), name) != 0 ||
		    version <= newest)
			continue;
		newest = version;
		revoked = json_object_get(one, "revoked") != NULL;
	}
	if (revoked)
		return "the current version of its secret is revoked";
	return json_is_array(secrets) && newest < 0 ?
	    "its secret is not in the vault" : NULL;
}

const char *
lacking_remedy(const char *reason)
{
	return strstr(reason, "revoked") != NULL ? "rotate" : "put";
}

void
lacking_print(FILE *out, const json_t *missing, const char *before)
{
	const char *remedy;
	json_t *one, *name;
	size_t i, k;

	json_array_foreach(missing, i, one) {
		fprintf(out, "%sno placeholder", before);
		json_array_foreach(json_object_get(one, "env"), k, name)
			fprintf(out, "%s%s", k == 0 ? " in " : ", ",
			    cli_clean(json_string_value(name)));
		fprintf(out, " (binding %s): ",
		    cli_clean(client_str(one, "binding")));
		fprintf(out, "%s; ", cli_clean(client_str(one, "reason")));
		remedy = client_str(one, "remedy");
		if (remedy[0] != '\0')
			fprintf(out, "`countersign secret %s %s` stores one\n",
			    remedy, cli_clean(client_str(one, "secret")));
		else
			fputs("see `countersign secret list`\n", out);
	}
}
