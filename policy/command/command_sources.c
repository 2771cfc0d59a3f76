#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "policy/command/command.h"
#include "policy/command/command_sources.h"

/* A copy writes sources and plan in any order, but within moments. */
#define COPY_S 2

static bool
ends(const char *text, const char *with)
{
	size_t n = strlen(text), k = strlen(with);

	return n >= k && strcmp(text + n - k, with) == 0;
}

static bool
is_source(const char *path)
{
	return ends(path, ".rego") && !ends(path, "_test.rego");
}

/* opa names them from the pack's root, with a slash before or not. */
static bool
has_part(const struct plan *plan, const char *path)
{
	for (uint32_t i = 0; i < plan->n_files; i++)
		if (strcmp(plan->files[i] + strspn(plan->files[i], "./"), path) == 0)
			return true;
	return false;
}

/* 0 where it is not known. */
static int64_t
written_s(const char *dir, const char *path)
{
	char whole[4096];
	struct stat st;
	int n = snprintf(whole, sizeof(whole), "%s/%s", dir, path);

	return n < 0 || (size_t)n >= sizeof(whole) || stat(whole, &st) != 0 ? 0 :
	    (int64_t)st.st_mtime;
}

static void
note(const char *name, const char *what)
{
	fputs("note: ", stdout);
	command_put(name, strlen(name));
	printf(" %s\n", what);
}

void
command_sources_check(const struct policy_pack *pack, const char *path)
{
	const int64_t plan_s = written_s(path, "plan.json");

	for (size_t i = 0; i < pack->files.n; i++) {
		const char *name = pack->files.file[i].path;

		if (!is_source(name))
			continue;
		if (!has_part(pack->plan, name))
			note(name, "has no part in what decides: it was not compiled "
			    "(`countersign policy build`), or nothing of it is used");
		else if (plan_s != 0 && written_s(path, name) > plan_s + COPY_S)
			note(name, "was written after plan.json, which decides: "
			    "`countersign policy build` compiles it");
	}
}

void
command_sources_look(const char *path)
{
	char err[256];
	struct policy_pack *pack = policy_pack_load(path, err, sizeof(err));

	if (pack != NULL)
		command_sources_check(pack, path);
	policy_pack_unref(pack);
}
