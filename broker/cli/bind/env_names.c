#include "cli/bind/env_names.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

struct known {
	const char *host;
	const char *names[ENV_NAMES_MAX + 1];
};

static const struct known table[] = {
	{ "api.bitbucket.org", { "BITBUCKET_TOKEN" } },
	{ "api.replicate.com", { "REPLICATE_API_TOKEN" } },
	{ "discord.com", { "DISCORD_TOKEN" } },
	{ "api.digitalocean.com", { "DIGITALOCEAN_ACCESS_TOKEN" } },
	{ "api.machines.dev", { "FLY_API_TOKEN" } },
	{ "api.netlify.com", { "NETLIFY_AUTH_TOKEN" } },
	{ "api.heroku.com", { "HEROKU_API_KEY" } },
	{ "api.together.xyz", { "TOGETHER_API_KEY" } },
	{ "us.sentry.io", { "SENTRY_AUTH_TOKEN" } },
	{ "de.sentry.io", { "SENTRY_AUTH_TOKEN" } },
};

const char *const *
env_names_for(const char *host)
{
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (strcmp(table[i].host, host) == 0)
			return table[i].names;
	return NULL;
}

bool
env_names_ok(const char *name)
{
	static const char *const never[] = { "PATH", "HOME", "IFS", "SHELL", "ENV",
	    "BASH_ENV", "USER", "TERM", "http_proxy", "https_proxy",
	    "all_proxy", "no_proxy", "NODE_OPTIONS", "PYTHONPATH", NULL };
	static const char *const prefixes[] = { "COUNTERSIGN_", "LD_",
	    "GIT_CONFIG", NULL };
	size_t i;

	if (!isalpha((unsigned char)name[0]) && name[0] != '_')
		return false;
	for (i = 0; name[i] != '\0'; i++)
		if ((!isalnum((unsigned char)name[i]) && name[i] != '_') || i > 127)
			return false;
	for (i = 0; never[i] != NULL; i++)
		if (strcasecmp(name, never[i]) == 0)
			return false;
	for (i = 0; prefixes[i] != NULL; i++)
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return false;
	return true;
}
