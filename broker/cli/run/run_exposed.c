#include "cli/run/run_exposed.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const files[] = {
	".aws/credentials", ".azure/msal_token_cache.json", ".cargo/credentials.toml",
	".claude/.credentials.json", ".codex/auth.json",
	".config/gcloud/application_default_credentials.json",
	".config/gh/hosts.yml", ".config/git/credentials", ".docker/config.json",
	".gemini/oauth_creds.json", ".git-credentials", ".kube/config",
	".local/share/opencode/auth.json", ".netrc", ".pypirc",
};

_Static_assert(sizeof(files) / sizeof(files[0]) <= RUN_EXPOSED_MAX, "raise it");

json_t *
run_exposed(const char *home)
{
	json_t *list = json_array();
	char path[PATH_MAX];
	struct stat st;
	int n;

	for (size_t i = 0; home != NULL && i < sizeof(files) / sizeof(files[0]); i++) {
		n = snprintf(path, sizeof(path), "%s/%s", home, files[i]);
		if (n > 0 && (size_t)n < sizeof(path) && stat(path, &st) == 0 &&
		    S_ISREG(st.st_mode) && st.st_size > 0 && access(path, R_OK) == 0)
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
run_exposed_but(const char *home, const json_t *hidden)
{
	json_t *list = run_exposed(home);
	size_t i = 0;

	while (i < json_array_size(list))
		if (holds(hidden, json_string_value(json_array_get(list, i))))
			json_array_remove(list, i);
		else
			i++;
	return list;
}
