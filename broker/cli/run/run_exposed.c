#include "cli/run/run_exposed.h"
#include "cli/client.h"
#include "json_in.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#define DOCKER ".docker/config.json"
#define DOCKER_LOOKED_AT (1 << 20)

static const char *const files[] = {
	".aws/credentials", ".azure/msal_token_cache.json", ".cargo/credentials.toml",
	".claude/.credentials.json", ".codex/auth.json",
	".config/gcloud/application_default_credentials.json",
	".config/gh/hosts.yml", ".config/git/credentials", DOCKER,
	".gemini/oauth_creds.json", ".git-credentials", ".kube/config",
	".local/share/opencode/auth.json", ".netrc", ".pypirc",
};

_Static_assert(sizeof(files) / sizeof(files[0]) <= RUN_EXPOSED_MAX, "raise it");

/* auth: base64 of USER:PASSWORD. */
static bool
is_dummy(const char *auth, const json_t *dummies)
{
	char text[512], *colon;
	bool dummy = false;
	json_t *one;
	size_t i, n = 0;

	if (sodium_base642bin((unsigned char *)text, sizeof(text) - 1, auth,
	    strlen(auth), NULL, &n, NULL, sodium_base64_VARIANT_ORIGINAL) == 0) {
		text[n] = '\0';
		colon = strchr(text, ':');
		json_array_foreach(dummies, i, one)
			dummy = dummy || (colon != NULL && strcmp(colon + 1,
			    client_str(one, "value")) == 0);
	}
	sodium_memzero(text, sizeof(text));
	return dummy;
}

/* Where they are in the keyring, a login is an empty object. */
static bool
is_login(json_t *login, const json_t *dummies)
{
	const char *name, *text;
	json_t *member;

	json_object_foreach(login, name, member) {
		text = json_string_value(member);
		if (text == NULL || (text[0] != '\0' && (strcmp(name, "auth") != 0 ||
		    !is_dummy(text, dummies))))
			return true;
	}
	return !json_is_object(login);
}

/* Does docker's file hold a secret of its own? */
static bool
holds_logins(const char *path, const json_t *dummies)
{
	json_t *root = json_in_file(path), *login;
	json_t *logins = json_object_get(root, "auths");
	const char *host;
	bool holds = !json_is_object(root) ||
	    (logins != NULL && !json_is_object(logins)) ||
	    json_object_get(root, "HttpHeaders") != NULL ||
	    json_object_get(root, "proxies") != NULL;

	json_object_foreach(logins, host, login)
		holds = holds || is_login(login, dummies);
	json_decref(root);
	return holds;
}

json_t *
run_exposed(const char *home, const json_t *dummies)
{
	json_t *list = json_array();
	char path[PATH_MAX];
	struct stat st;
	int n;

	for (size_t i = 0; home != NULL && i < sizeof(files) / sizeof(files[0]); i++) {
		n = snprintf(path, sizeof(path), "%s/%s", home, files[i]);
		if (n > 0 && (size_t)n < sizeof(path) && stat(path, &st) == 0 &&
		    S_ISREG(st.st_mode) && st.st_size > 0 && access(path, R_OK) == 0 &&
		    (strcmp(files[i], DOCKER) != 0 ||
		    st.st_size > DOCKER_LOOKED_AT || holds_logins(path, dummies)))
			json_array_append_new(list, json_sprintf("~/%s", files[i]));
	}
	return list;
}

static bool
holds(const json_t *names, const char *name)
{
	json_t *one;
	size_t i;

	json_array_foreach(names, i, one)
		if (strcmp(json_string_value(one), name) == 0)
			return true;
	return false;
}

json_t *
run_exposed_but(const char *home, const json_t *hidden,
    const json_t *dummies)
{
	json_t *list = run_exposed(home, dummies);
	size_t i = 0;

	while (i < json_array_size(list))
		if (holds(hidden, json_string_value(json_array_get(list, i))))
			json_array_remove(list, i);
		else
			i++;
	return list;
}
