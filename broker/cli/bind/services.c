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

/*
 * Slack takes every method of its API by GET as by POST, those that change
 * something too: each is named, none by a pattern.
 */
#define SLACK_READS "* /api/auth.test", "* /api/conversations.list", \
    "* /api/conversations.info", "* /api/conversations.history", \
    "* /api/conversations.replies", "* /api/users.list", "* /api/users.info"

static const struct service table[] = {
	{ .name = "anthropic", .what = "Anthropic's API by key: Claude Code, SDKs",
	  .hosts = CLAUDE_HOSTS, .header = "x-api-key: {}",
	  .allow = { CLAUDE_RULES }, .env = { "ANTHROPIC_API_KEY" } },
	{ .name = "cerebras", .what = "Cerebras's API",
	  .hosts = { "api.cerebras.ai" }, .header = BEARER,
	  .allow = COMPLETIONS("/v1"), .env = { "CEREBRAS_API_KEY" } },
	{ .name = "claude", .what = "Claude Code by a subscription's token (`claude setup-token`)",
	  .hosts = CLAUDE_HOSTS, .header = BEARER,
	  .allow = { CLAUDE_RULES, "GET /api/oauth/*" },
	  .env = { "CLAUDE_CODE_OAUTH_TOKEN" } },
	{ .name = "cloudflare", .what = "Cloudflare's API, to read",
	  .hosts = { "api.cloudflare.com" }, .header = BEARER,
	  .allow = { "GET /client/v4/**" }, .env = { "CLOUDFLARE_API_TOKEN" } },
	{ .name = "cohere", .what = "Cohere's API",
	  .hosts = { "api.cohere.com" }, .header = BEARER,
	  .allow = { "POST /v2/chat", "POST /v2/embed", "POST /v2/rerank",
	  "GET /v1/models" },
	  .env = { "CO_API_KEY", "COHERE_API_KEY" } },
	{ .name = "crates", .what = "crates.io, to publish",
	  .hosts = { "crates.io" }, .header = "Authorization: {}",
	  .allow = { "PUT /api/v1/crates/new" },
	  .env = { "CARGO_REGISTRY_TOKEN" } },
	{ .name = "deepseek", .what = "DeepSeek's API",
	  .hosts = { "api.deepseek.com" }, .header = BEARER,
	  .allow = { "POST /chat/completions", "POST /v1/chat/completions", "GET /models" },
	  .env = { "DEEPSEEK_API_KEY" } },
	{ .name = "fireworks", .what = "Fireworks's API",
	  .hosts = { "api.fireworks.ai" }, .header = BEARER,
	  .allow = COMPLETIONS("/inference/v1"), .env = { "FIREWORKS_API_KEY" } },
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
	/* Without the variables of projects, groups and pipelines, which are secrets. */
	{ .name = "gitlab", .what = "GitLab's REST API, to read projects, issues and merge requests",
	  .hosts = { "gitlab.com" }, .header = "PRIVATE-TOKEN: {}",
	  .allow = { "GET /api/v4/user", "GET /api/v4/projects",
	  "GET /api/v4/projects/*", "GET /api/v4/projects/*%2F*",
	  "GET /api/v4/projects/**/repository/**",
	  "GET /api/v4/projects/**/issues", "GET /api/v4/projects/**/issues/**",
	  "GET /api/v4/projects/**/merge_requests",
	  "GET /api/v4/projects/**/merge_requests/**" }, .env = { "GITLAB_TOKEN" },
	  .escaped_slash = true },
	{ .name = "gitlab-git", .what = "git over HTTPS from GitLab, to clone and fetch",
	  .hosts = { "gitlab.com" }, .basic = "oauth2:{}",
	  .allow = { "POST /**/git-upload-pack" } },
	{ .name = "groq", .what = "Groq's API",
	  .hosts = { "api.groq.com" }, .header = BEARER,
	  .allow = COMPLETIONS("/openai/v1"), .env = { "GROQ_API_KEY" } },
	{ .name = "huggingface", .what = "Hugging Face's hub, to read",
	  .hosts = { "huggingface.co" }, .header = BEARER,
	  .allow = { "GET /**", "POST /api/*/*/*/paths-info/**" },
	  .env = { "HF_TOKEN" }, .escaped_slash = true },
	{ .name = "linear", .what = "Linear's API: GraphQL, all that the key may do",
	  .hosts = { "api.linear.app" }, .header = "Authorization: {}",
	  .allow = { "POST /graphql" }, .env = { "LINEAR_API_KEY" } },
	{ .name = "mistral", .what = "Mistral's API",
	  .hosts = { "api.mistral.ai" }, .header = BEARER,
	  .allow = COMPLETIONS("/v1"), .env = { "MISTRAL_API_KEY" } },
	{ .name = "notion", .what = "Notion's API, to read",
	  .hosts = { "api.notion.com" }, .header = BEARER,
	  .allow = { "GET /v1/**", "POST /v1/search", "POST /v1/databases/*/query",
	  "POST /v1/data_sources/*/query" },
	  .env = { "NOTION_TOKEN", "NOTION_API_TOKEN" } },
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
	{ .name = "perplexity", .what = "Perplexity's API",
	  .hosts = { "api.perplexity.ai" }, .header = BEARER,
	  .allow = { "POST /chat/completions", "POST /search", "POST /v1/agent",
	  "POST /v1/responses", "POST /v1/embeddings" },
	  .env = { "PERPLEXITY_API_KEY" } },
	{ .name = "pypi", .what = "PyPI, to upload: twine, uv",
	  .hosts = { "upload.pypi.org" }, .basic = "__token__:{}",
	  .allow = { "POST /legacy/" },
	  .env = { "TWINE_PASSWORD", "UV_PUBLISH_TOKEN" } },
	{ .name = "sentry", .what = "Sentry's API, to read",
	  .hosts = { "sentry.io", "us.sentry.io", "de.sentry.io" }, .header = BEARER,
	  .allow = { "GET /api/0/**" }, .env = { "SENTRY_AUTH_TOKEN" } },
	{ .name = "slack", .what = "Slack's Web API by a bot's token, to read and to post",
	  .hosts = { "slack.com" }, .header = BEARER,
	  .allow = { SLACK_READS, "POST /api/chat.postMessage" },
	  .env = { "SLACK_BOT_TOKEN" } },
	{ .name = "stripe", .what = "Stripe's API, to read",
	  .hosts = { "api.stripe.com" }, .header = BEARER,
	  .allow = { "GET /v1/**" },
	  .env = { "STRIPE_API_KEY", "STRIPE_SECRET_KEY" } },
	{ .name = "together", .what = "Together's API",
	  .hosts = { "api.together.ai", "api.together.xyz" }, .header = BEARER,
	  .allow = COMPLETIONS("/v1"), .env = { "TOGETHER_API_KEY" } },
	/* Without the environment of projects, which is secrets. */
	{ .name = "vercel", .what = "Vercel's API, to read deployments and their logs",
	  .hosts = { "api.vercel.com" }, .header = BEARER,
	  .allow = { "GET /v2/user", "GET /*/projects", "GET /*/deployments",
	  "GET /*/deployments/*", "GET /*/deployments/*/events" }, .env = { "VERCEL_TOKEN" } },
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
