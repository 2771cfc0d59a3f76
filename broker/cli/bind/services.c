#include "cli/bind/services.h"

#include <stdio.h>
#include <string.h>

#define BEARER "Authorization: Bearer {}"

/*
 * Claude Code asks both of its hosts, before its first session only, whether
 * anybody is there, and ends where one of them refuses.
 */
#define CLAUDE_HOSTS { "api.anthropic.com", "platform.claude.com" }
#define CLAUDE_RULES "POST /v1/messages", "POST /v1/messages/count_tokens", \
    "GET /v1/models", "GET /v1/models/*", "GET /api/hello", "GET /v1/oauth/hello"

/* What all have that copy OpenAI's older interface. */
#define COMPLETIONS(base) { "POST " base "/chat/completions", \
    "GET " base "/models" }

static const struct service table[] = {
	{ .name = "anthropic", .what = "Anthropic's API by key: Claude Code, SDKs",
	  .hosts = CLAUDE_HOSTS, .header = "x-api-key: {}",
	  .allow = { CLAUDE_RULES }, .env = { "ANTHROPIC_API_KEY" } },
	{ .name = "claude", .what = "Claude Code by a subscription's token (`claude setup-token`)",
	  .hosts = CLAUDE_HOSTS, .header = BEARER,
	  .allow = { CLAUDE_RULES, "GET /api/oauth/*" },
	  .env = { "CLAUDE_CODE_OAUTH_TOKEN" } },
	{ .name = "deepseek", .what = "DeepSeek's API",
	  .hosts = { "api.deepseek.com" }, .header = BEARER,
	  .allow = { "POST /chat/completions", "POST /v1/chat/completions", "GET /models" },
	  .env = { "DEEPSEEK_API_KEY" } },
	{ .name = "gemini", .what = "Google's Gemini API by key: Gemini CLI, SDKs",
	  .hosts = { "generativelanguage.googleapis.com" },
	  .header = "x-goog-api-key: {}",
	  .allow = { "POST /v1beta/models/*", "GET /v1beta/models", "GET /v1beta/models/*" },
	  .env = { "GEMINI_API_KEY" } },
	{ .name = "github", .what = "GitHub's REST API, to read",
	  .hosts = { "api.github.com" }, .header = BEARER,
	  .allow = { "GET /**" }, .env = { "GITHUB_TOKEN", "GH_TOKEN" } },
	{ .name = "github-git", .what = "git over HTTPS from GitHub, to clone and fetch",
	  .hosts = { "github.com" }, .basic = "x-access-token:{}",
	  .allow = { "POST /*/*/git-upload-pack" } },
	{ .name = "groq", .what = "Groq's API",
	  .hosts = { "api.groq.com" }, .header = BEARER,
	  .allow = COMPLETIONS("/openai/v1"), .env = { "GROQ_API_KEY" } },
	{ .name = "mistral", .what = "Mistral's API",
	  .hosts = { "api.mistral.ai" }, .header = BEARER,
	  .allow = COMPLETIONS("/v1"), .env = { "MISTRAL_API_KEY" } },
	{ .name = "npm", .what = "npm's registry, to install private packages",
	  .hosts = { "registry.npmjs.org" }, .header = BEARER,
	  .allow = { "GET /**" }, .env = { "NPM_TOKEN", "NODE_AUTH_TOKEN" },
	  .escaped_slash = true },
	{ .name = "openai", .what = "OpenAI's API by key: Codex, SDKs",
	  .hosts = { "api.openai.com" }, .header = BEARER,
	  .allow = { "POST /v1/responses", "POST /v1/responses/compact",
	  "POST /v1/chat/completions", "POST /v1/embeddings", "GET /v1/models",
	  "GET /v1/models/*" },
	  .env = { "OPENAI_API_KEY", "CODEX_API_KEY" } },
	{ .name = "openrouter", .what = "OpenRouter's API",
	  .hosts = { "openrouter.ai" }, .header = BEARER,
	  .allow = COMPLETIONS("/api/v1"), .env = { "OPENROUTER_API_KEY" } },
	{ .name = "xai", .what = "xAI's API",
	  .hosts = { "api.x.ai" }, .header = BEARER,
	  .allow = COMPLETIONS("/v1"), .env = { "XAI_API_KEY" } },
};

const struct service *
service_at(size_t i)
{
	return i < sizeof(table) / sizeof(table[0]) ? &table[i] : NULL;
}

const struct service *
service_named(const char *name)
{
	const struct service *service;

	for (size_t i = 0; (service = service_at(i)) != NULL; i++)
		if (strcmp(service->name, name) == 0)
			return service;
	return NULL;
}

const struct service *
service_of_host(const char *host, const char *header)
{
	const struct service *service, *found = NULL;

	for (size_t i = 0; (service = service_at(i)) != NULL; i++) {
		if (strcmp(service->hosts[0], host) != 0)
			continue;
		if (header != NULL && service->header != NULL &&
		    strcmp(service->header, header) == 0)
			return service;
		if (found == NULL)
			found = service;
	}
	return found;
}

static void
print_list(const char *option, const char *const *list)
{
	for (; *list != NULL; list++)
		printf(" \\\n      --%s '%s'", option, *list);
}

void
services_print(void)
{
	const struct service *service;

	for (size_t i = 0; (service = service_at(i)) != NULL; i++) {
		printf("%s%s: %s\n    bind SECRET", i == 0 ? "" : "\n",
		    service->name, service->what);
		print_list("host", service->hosts);
		if (service->header != NULL)
			printf(" \\\n      --header '%s'", service->header);
		else
			printf(" \\\n      --basic '%s'", service->basic);
		print_list("allow", service->allow);
		print_list("env", service->env);
		puts(service->escaped_slash ? " \\\n      --escaped-slash" :
		    service->env[0] == NULL ? " \\\n      --no-env" : "");
	}
}
