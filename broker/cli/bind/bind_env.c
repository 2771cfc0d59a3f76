/* Which environment variables of a run hold the placeholder. */
#include "binding/binding.h"
#include "cli/bind/bind.h"
#include "cli/bind/env_names.h"

#include <ctype.h>
#include <string.h>

/* The other binding that has this variable, or NULL. */
static const char *
taken_by(json_t *bindings, const char *id, const char *name)
{
	json_t *binding, *one;
	const char *key;
	size_t i;

	json_object_foreach(bindings, key, binding)
		json_array_foreach(json_object_get(binding, "env"), i, one)
			if (strcmp(key, id) != 0 && json_is_string(one) &&
			    strcmp(json_string_value(one), name) == 0)
				return key;
	return NULL;
}

/* For a host that nobody knows: ID_TOKEN. */
static void
derived_name(const char *id, char *buf, size_t cap)
{
	size_t i;
	int n = snprintf(buf, cap, "%s%s_TOKEN",
	    isdigit((unsigned char)id[0]) ? "T" : "", id);

	for (i = 0; n > 0 && buf[i] != '\0'; i++)
		buf[i] = isalnum((unsigned char)buf[i]) ?
		    (char)toupper((unsigned char)buf[i]) : '_';
}

static json_t *
given_env(struct bind *bind, json_t *bindings)
{
	json_t *list = json_array();
	const char *name, *other;
	size_t cursor = 0;

	while ((name = opt_next(bind->opts, "env", &cursor)) != NULL) {
		other = taken_by(bindings, bind->id, name);
		if (env_names_ok(name) && other == NULL) {
			json_array_append_new(list, json_string(name));
			continue;
		}
		json_decref(list);
		if (other != NULL)
			return BIND_BAD(bind, "--env %s: the binding %s has it",
			    name, cli_clean(other));
		return BIND_BAD(bind, "--env %s: no name for a placeholder",
		    cli_clean(name));
	}
	return list;
}

/* Into the list, unless another binding has it, which is noted. */
static void
add_free(struct bind *bind, json_t *bindings, json_t *list, const char *name)
{
	const char *other = taken_by(bindings, bind->id, name);

	if (other == NULL)
		json_array_append_new(list, json_string(name));
	else
		snprintf(bind->taken, sizeof(bind->taken), "note: %s is the binding "
		    "%s's: in a run it holds that one's placeholder; --env NAME "
		    "--replace gives this one another, --no-env none", name,
		    cli_clean(other));
}

static json_t *
default_env(struct bind *bind, json_t *bindings, const json_t *host_list)
{
	json_t *list = json_array();
	const char *host = json_string_value(json_array_get(host_list, 0));
	const struct service *service = bind->service != NULL ? bind->service :
	    service_of_host(host, opt_value(bind->opts, "header"));
	static const char *const key_id[] = { "AWS_ACCESS_KEY_ID", NULL };
	const char *const *names = opt_flag(bind->opts, "sigv4") ? key_id :
	    service != NULL ? service->env :
	    env_names_for(host);
	char derived[BINDING_ID_MAX + 8];
	size_t i;

	if (names == NULL) {
		derived_name(bind->id, derived, sizeof(derived));
		if (env_names_ok(derived))
			add_free(bind, bindings, list, derived);
		return list;
	}
	for (i = 0; names[i] != NULL; i++)
		add_free(bind, bindings, list, names[i]);
	return list;
}

json_t *
bind_env(struct bind *bind, json_t *bindings, const json_t *host_list)
{
	size_t cursor = 0;

	if (opt_flag(bind->opts, "no-env"))
		return json_array();
	if (opt_next(bind->opts, "env", &cursor) != NULL)
		return given_env(bind, bindings);
	return default_env(bind, bindings, host_list);
}
