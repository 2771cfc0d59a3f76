#include "cli/cmd_names.h"
#include "cli/bind/services.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "json_in.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ASK_MS 300	/* somebody waits for a key that was pressed */

/* --- where they stand ------------------------------------------------- */

static const struct { const char *path, *kind; } operands[] = {
	{ " secret rotate", "secrets" }, { " secret revoke", "secrets" },
	{ " bind", "secrets" }, { " unbind", "bindings" },
	{ " approve", "approvals" }, { " bundle", "runs" }, { " verify", "runs" },
	{ " policy check", "packs" }, { " policy eval", "packs" },
	{ " policy test", "packs" }, { " policy build", "packs" },
	{ " policy diff", "packs" },
};

/* Whatever the command; verify and policy have none of these with another sense. */
static const struct { const char *option, *kind; } options[] = {
	{ "secret", "secrets" }, { "binding", "bindings" }, { "scope", "bindings" },
	{ "run", "runs" }, { "pack", "packs" }, { "service", "services" },
};

const char *
cmd_names_kind(const char *path, const char *option)
{
	for (size_t i = 0; option == NULL &&
	    i < sizeof(operands) / sizeof(operands[0]); i++)
		if (strcmp(operands[i].path, path) == 0)
			return operands[i].kind;
	for (size_t i = 0; option != NULL &&
	    i < sizeof(options) / sizeof(options[0]); i++)
		if (strcmp(options[i].option, option) == 0)
			return options[i].kind;
	return NULL;
}

/* --- the names -------------------------------------------------------- */

/* bash expands the words that it is offered. */
static void
print(const char *before, const char *name)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/+@";

	if (*name != '\0' && *name != '-' &&
	    name[strspn(name, plain)] == '\0' &&
	    before[strspn(before, plain)] == '\0')
		printf("%s%s\n", before, name);
}

/* A GET of the daemon that runs; NULL where there is none, or no answer yet. */
static json_t *
ask(const char *path, const char *member, struct client_reply *reply)
{
	char socket[PATH_MAX];
	const struct client_call call = { .socket = socket, .method = "GET",
	    .path = path, .timeout_ms = ASK_MS };

	cli_home_path("run/operator.sock", socket, sizeof(socket));
	return client_call(&call, reply) == CLIENT_OK ?
	    json_object_get(reply->json, member) : NULL;
}

/* Each name once, though it has several versions: they come in order. */
static void
print_all(const char *path, const char *list, const char *member)
{
	struct client_reply reply;
	const json_t *all = ask(path, list, &reply);
	const char *name, *last = "";
	json_t *one;
	size_t i;

	json_array_foreach(all, i, one) {
		name = client_str(one, member);
		if (strcmp(name, last) != 0)
			print("", name);
		last = name;
	}
	client_reply_release(&reply);
}

static void
bindings(void)
{
	char path[PATH_MAX];
	json_t *data, *binding;
	const char *id;

	cli_home_path("pack/data.json", path, sizeof(path));
	data = json_in_file(path);
	json_object_foreach(json_object_get(data, "bindings"), id, binding)
		print("", id);
	json_decref(data);
}

static void
packs(void)
{
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *dir;

	cli_home_path("pack", path, sizeof(path));
	if (access(path, F_OK) == 0)
		print("", path);
	cli_home_path("packs/", path, sizeof(path));
	if ((dir = opendir(path)) == NULL)
		return;
	while ((entry = readdir(dir)) != NULL)
		if (strlen(entry->d_name) == 64)	/* a digest */
			print(path, entry->d_name);
	closedir(dir);
}

static void
services(void)
{
	const struct service *service;

	for (size_t i = 0; (service = service_at(i)) != NULL; i++)
		print("", service->name);
}

int
cmd_names(const char *kind)
{
	const bool home = cli_home() != NULL;

	if (strcmp(kind, "services") == 0)
		services();
	else if (strcmp(kind, "secrets") == 0 && home)
		print_all("/v1/secrets", "secrets", "name");
	else if (strcmp(kind, "runs") == 0 && home)
		print_all("/v1/runs", "runs", "id");
	else if (strcmp(kind, "approvals") == 0 && home)
		print_all("/v1/approvals", "approvals", "id");
	else if (strcmp(kind, "bindings") == 0 && home)
		bindings();
	else if (strcmp(kind, "packs") == 0 && home)
		packs();
	else
		return home ? -1 : 0;
	return 0;
}
