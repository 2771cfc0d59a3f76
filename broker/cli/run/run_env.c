#include "cli/run/run_env.h"
#include "cli/client.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
run_env_init(struct run_env *env, char *const *from)
{
	size_t i;

	memset(env, 0, sizeof(*env));
	for (i = 0; from[i] != NULL; i++)
		;
	env->cap = i + 128;
	env->vars = calloc(env->cap, sizeof(*env->vars));
	env->failed = env->vars == NULL;
	for (i = 0; !env->failed && from[i] != NULL; i++) {
		if (strchr(from[i], '=') == NULL)
			continue;
		env->vars[env->n] = strdup(from[i]);
		env->failed = env->vars[env->n++] == NULL;
	}
}

void
run_env_free(struct run_env *env)
{
	size_t i;

	for (i = 0; i < env->n; i++)
		free(env->vars[i]);
	for (i = 0; i < RUN_ENV_REMOVED_MAX; i++)
		free(env->removed[i]);
	free(env->vars);
	memset(env, 0, sizeof(*env));
}

static size_t
find(const struct run_env *env, const char *name)
{
	size_t i, len = strlen(name);

	for (i = 0; i < env->n; i++)
		if (strncmp(env->vars[i], name, len) == 0 &&
		    env->vars[i][len] == '=')
			return i;
	return env->n;
}

const char *
run_env_get(const struct run_env *env, const char *name)
{
	size_t i = find(env, name);

	return i < env->n ? env->vars[i] + strlen(name) + 1 : NULL;
}

/* All of that name: a second one would be found where the first is gone. */
static void
run_env_unset(struct run_env *env, const char *name)
{
	size_t i;

	while ((i = find(env, name)) < env->n) {
		free(env->vars[i]);
		env->vars[i] = env->vars[--env->n];
		env->vars[env->n] = NULL;
	}
}

__attribute__((format(printf, 3, 4))) static void
run_env_set(struct run_env *env, const char *name, const char *fmt, ...)
{
	char *value = NULL, *line = NULL, **grown;
	va_list args;
	int n;

	run_env_unset(env, name);
	va_start(args, fmt);
	n = vasprintf(&value, fmt, args);
	va_end(args);
	if (n < 0 || asprintf(&line, "%s=%s", name, value) < 0) {
		env->failed = true;
		line = NULL;
	}
	if (n >= 0)
		free(value);
	if (line != NULL && env->n + 1 >= env->cap) {
		grown = realloc(env->vars, 2 * env->cap * sizeof(*env->vars));
		if (grown == NULL) {
			env->failed = true;
			free(line);
			return;
		}
		env->vars = grown;
		env->cap *= 2;
	}
	if (line != NULL) {
		env->vars[env->n++] = line;
		env->vars[env->n] = NULL;
	}
}

/* --- the families ---------------------------------------------------- */

/* The kernel takes no longer string, its name and end included (MAX_ARG_STRLEN):
 * what is longer would keep the command from starting. */
#define VARIABLE_MAX (128 * 1024)

/* How many of them, from the first on, there is room for. */
static size_t
fitting(const json_t *list, const char *name)
{
	size_t i, used = strlen(name) + sizeof("=[]");
	json_t *one;

	json_array_foreach(list, i, one) {
		used += json_dumpb(one, NULL, 0, JSON_COMPACT) + 1;
		if (used > VARIABLE_MAX)
			break;
	}
	return i;
}

/* For the credential helper, which must work without a daemon's help. */
static void
bindings(struct run_env *env, const json_t *list)
{
	static const char name[] = "COUNTERSIGN_BINDINGS";
	size_t n = fitting(list, name);
	json_t *some = json_array();
	char *text;

	for (size_t i = 0; i < n; i++)
		json_array_append(some, json_array_get(list, i));
	text = json_dumps(some, JSON_COMPACT);
	if (text != NULL)
		run_env_set(env, name, "%s", text);
	env->bindings_left_out = json_array_size(list) - n;
	free(text);
	json_decref(some);
}

#define KEY_DUMMY "countersign/signs/this/is/a/dummy/key000"

/* Clients sign with both; the broker looks at the key id alone and signs anew, and
 * what a session's token was good for is over.  The key of a profile's name goes
 * before these with some (JavaScript's, Go's first). */
static void
signing_key(struct run_env *env, const json_t *names)
{
	static const char *const gone[] = { "AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN",
	    "AWS_PROFILE", "AWS_DEFAULT_PROFILE" };
	json_t *name;
	size_t i;

	json_array_foreach(names, i, name)
		if (json_is_string(name) &&
		    strcmp(json_string_value(name), "AWS_ACCESS_KEY_ID") == 0) {
			run_env_set(env, "AWS_SECRET_ACCESS_KEY", KEY_DUMMY);
			for (size_t k = 0; k < sizeof(gone) / sizeof(gone[0]); k++)
				run_env_unset(env, gone[k]);
		}
}

static void
placeholders(struct run_env *env, const json_t *list)
{
	json_t *one, *name;
	size_t i, k;

	json_array_foreach(list, i, one) {
		json_array_foreach(json_object_get(one, "env"), k, name)
			if (json_is_string(name))
				run_env_set(env, json_string_value(name), "%s",
				    client_str(one, "value"));
		if (strcmp(client_str(json_object_get(one, "placement"), "kind"),
		    "sigv4") == 0)
			signing_key(env, json_object_get(one, "env"));
	}
	bindings(env, list);
}

void
run_env_forget(struct run_env *env)
{
	const char *text = run_env_get(env, "COUNTERSIGN_BINDINGS");
	json_t *list = text == NULL ? NULL : json_loads(text,
	    JSON_REJECT_DUPLICATES, NULL);
	json_t *one, *name;
	size_t i, k;

	json_array_foreach(list, i, one)
		json_array_foreach(json_object_get(one, "env"), k, name)
			if (json_is_string(name))
				run_env_unset(env, json_string_value(name));
	text = run_env_get(env, "AWS_SECRET_ACCESS_KEY");
	if (text != NULL && strcmp(text, KEY_DUMMY) == 0)
		run_env_unset(env, "AWS_SECRET_ACCESS_KEY");
	json_decref(list);
}

/* Both spellings: curl reads http_proxy only in lower case, others only the
 * upper one.  NO_PROXY is emptied: what it names would bypass the broker. */
static void
proxies(struct run_env *env, const char *url, bool direct_loopback)
{
	static const char *const names[] = { "http_proxy", "HTTP_PROXY",
	    "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY",
	    "ws_proxy", "WS_PROXY", "wss_proxy", "WSS_PROXY",
	    "npm_config_proxy", "npm_config_https_proxy", "YARN_HTTP_PROXY",
	    "YARN_HTTPS_PROXY", "CARGO_HTTP_PROXY", "PIP_PROXY" };
	static const char *const none[] = { "no_proxy", "NO_PROXY",
	    "npm_config_noproxy" };
	static const char *const gone[] = { "ftp_proxy", "FTP_PROXY",
	    "socks_proxy", "SOCKS_PROXY", "GIT_PROXY_COMMAND" };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		run_env_set(env, names[i], "%s", url);
	for (i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		run_env_set(env, none[i], "%s",
		    direct_loopback ? "localhost,127.0.0.1,::1" : "");
	for (i = 0; i < sizeof(gone) / sizeof(gone[0]); i++)
		run_env_unset(env, gone[i]);
	run_env_set(env, "NODE_USE_ENV_PROXY", "1");
}

/* Each of these names a file of certificates that replaces the client's own
 * (so it must hold the system's too) or, for Node and Deno, adds to it. */
static void
authorities(struct run_env *env, const char *bundle)
{
	static const char *const names[] = {
		"SSL_CERT_FILE",		/* OpenSSL, Go, Python's ssl, Ruby, Rust */
		"CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "HTTPLIB2_CA_CERTS",
		"GIT_SSL_CAINFO", "CARGO_HTTP_CAINFO", "AWS_CA_BUNDLE",
		"NODE_EXTRA_CA_CERTS", "npm_config_cafile", "YARN_HTTPS_CA_FILE_PATH",
		"DENO_CERT", "NIX_SSL_CERT_FILE", "BUNDLE_SSL_CA_CERT",
		"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", "PERL_LWP_SSL_CA_FILE",
		"CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE", "HEX_CACERTS_PATH",
		"CODEX_CA_CERTIFICATE", "SYSTEM_CERTIFICATE_PATH",
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		run_env_set(env, names[i], "%s", bundle);
	/* These turn verification off: then anybody could be the upstream. */
	run_env_unset(env, "NODE_TLS_REJECT_UNAUTHORIZED");
	run_env_unset(env, "GIT_SSL_NO_VERIFY");
	run_env_unset(env, "PYTHONHTTPSVERIFY");
}

static void
git_config(struct run_env *env, unsigned *n, const char *key, const char *value)
{
	char name[40];

	snprintf(name, sizeof(name), "GIT_CONFIG_KEY_%u", *n);
	run_env_set(env, name, "%s", key);
	snprintf(name, sizeof(name), "GIT_CONFIG_VALUE_%u", *n);
	run_env_set(env, name, "%s", value);
	++*n;
}

/* Git takes configuration from the environment, after what is there already.
 * The empty helper forgets the user's own, which would hand out the real
 * credential. */
static void
git(struct run_env *env, const char *self, const char *proxy)
{
	const char *count = run_env_get(env, "GIT_CONFIG_COUNT");
	char helper[4096 + 64], *end = NULL;
	unsigned n = 0;
	unsigned long had;

	if (count != NULL) {
		had = strtoul(count, &end, 10);
		if (end != count && *end == '\0' && had < 1000)
			n = (unsigned)had;
	}
	snprintf(helper, sizeof(helper), "!'%s' credential git", self);
	git_config(env, &n, "credential.helper", "");
	git_config(env, &n, "credential.helper", helper);
	git_config(env, &n, "http.proxy", proxy);
	git_config(env, &n, "http.proxyAuthMethod", "basic");
	git_config(env, &n, "http.sslVerify", "true");
	run_env_set(env, "GIT_CONFIG_COUNT", "%u", n);
	run_env_set(env, "GIT_TERMINAL_PROMPT", "0");
	run_env_set(env, "GIT_ASKPASS", "%s", "");
	run_env_unset(env, "SSH_ASKPASS");
	/* Or libcurl would try without credentials first and be refused once. */
	run_env_set(env, "GIT_HTTP_PROXY_AUTHMETHOD", "basic");
}

/* Node before 24 ignores the proxy variables; a preloaded file does not. */
static void
node(struct run_env *env, const char *preload)
{
	const char *had = run_env_get(env, "NODE_OPTIONS");
	char *copy, quoted[2 * PATH_MAX], *out = quoted;

	if (preload == NULL)
		return;
	/* Within quotes Node takes what stands behind a backslash as it is. */
	for (; *preload != '\0' && out < quoted + sizeof(quoted) - 2; preload++) {
		if (*preload == '"' || *preload == '\\')
			*out++ = '\\';
		*out++ = *preload;
	}
	*out = '\0';
	copy = strdup(had != NULL ? had : "");
	if (copy != NULL)
		run_env_set(env, "NODE_OPTIONS", "%s%s--require \"%s\"", copy,
		    copy[0] != '\0' ? " " : "", quoted);
	else
		env->failed = true;
	free(copy);
}

/* The folder of our file behind those that PHP reads anyhow, which an empty name
 * stands for; names are parted by ':'. */
static void
php(struct run_env *env, const char *ini)
{
	const char *had = run_env_get(env, "PHP_INI_SCAN_DIR");
	char *before;

	if (ini == NULL || strchr(ini, ':') != NULL)
		return;
	before = strdup(had != NULL ? had : "");
	if (before != NULL)
		run_env_set(env, "PHP_INI_SCAN_DIR", "%s:%.*s", before,
		    (int)(strrchr(ini, '/') - ini), ini);
	else
		env->failed = true;
	free(before);
}

void
run_env_fill(struct run_env *env, const json_t *run,
    const struct run_env_tools *tools)
{
	const json_t *proxy = json_object_get(run, "proxy");
	const json_t *api = json_object_get(run, "api");
	const json_t *ca = json_object_get(run, "ca");
	char url[256];

	snprintf(url, sizeof(url), "http://run:%s@%s:%" JSON_INTEGER_FORMAT,
	    client_str(run, "token"), client_str(proxy, "host"),
	    json_integer_value(json_object_get(proxy, "port")));
	proxies(env, url, tools->direct_loopback);
	authorities(env, client_str(ca, "bundle"));
	git(env, tools->self, url);
	node(env, tools->node_preload);
	if (tools->wgetrc != NULL)
		run_env_set(env, "SYSTEM_WGETRC", "%s", tools->wgetrc);
	php(env, tools->php_ini);
	placeholders(env, json_object_get(run, "placeholders"));
	run_env_set(env, "COUNTERSIGN_RUN", "%s", client_str(run, "id"));
	run_env_set(env, "COUNTERSIGN_TOKEN", "%s", client_str(run, "token"));
	run_env_set(env, "COUNTERSIGN_API", "%s", client_str(api, "url"));
	run_env_set(env, "COUNTERSIGN_SOCKET", "%s", client_str(api, "socket"));
	run_env_set(env, "COUNTERSIGN_CA", "%s", client_str(ca, "bundle"));
	run_env_set(env, "COUNTERSIGN_PROXY", "http://%s:%" JSON_INTEGER_FORMAT,
	    client_str(proxy, "host"),
	    json_integer_value(json_object_get(proxy, "port")));
}
