#include "cli/lacking.h"
#include "cli/cli.h"
#include "cli/client.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

json_t *
lacking_secrets(void)
{
	struct client_reply reply;
	json_t *list = NULL;

	if (client_operator("GET", "/v1/secrets", NULL, &reply) == CLIENT_OK)
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

static bool
is_placed(const json_t *placeholders, const char *binding)
{
	json_t *one;
	size_t i;

	json_array_foreach(placeholders, i, one)
		if (strcmp(client_str(one, "binding"), binding) == 0)
			return true;
	return false;
}

json_t *
lacking_of_run(const json_t *placeholders)
{
	json_t *out = json_array(), *root, *secrets = NULL, *binding;
	char path[PATH_MAX];
	const char *id, *reason;
	bool asked = false;

	cli_home_path("pack/data.json", path, sizeof(path));
	root = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
	json_object_foreach(json_object_get(root, "bindings"), id, binding) {
		if (is_placed(placeholders, id))
			continue;
		if (!asked)
			secrets = lacking_secrets();
		asked = true;
		reason = lacking_reason(secrets, client_str(binding, "secret"));
		if (reason != NULL)
			json_array_append_new(out, json_pack("{s:s, s:s, s:O?, s:s}",
			    "binding", id, "secret", client_str(binding, "secret"),
			    "env", json_object_get(binding, "env"), "reason", reason));
	}
	json_decref(secrets);
	json_decref(root);
	return out;
}
