#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "policy/command/command.h"
#include "policy/command/command_sources.h"

#define ENTRIES_MAX 1000

static void
exec_opa(const char *dir, const char *out, const char *const *entries,
    size_t n, bool with_tests)
{
	static const char *argv[2 * ENTRIES_MAX + 16];
	const char *home = getenv("HOME");
	char fallback[512];
	size_t k = 0, i;

	argv[k++] = "opa";
	argv[k++] = "build";
	argv[k++] = "-t";
	argv[k++] = "plan";
	argv[k++] = "-o";
	argv[k++] = out;
	argv[k++] = "--ignore";
	argv[k++] = "plan.json";
	argv[k++] = "--ignore";
	argv[k++] = ".signatures.json";
	if (!with_tests) {
		argv[k++] = "--ignore";
		argv[k++] = "*_test.rego";
	}
	for (i = 0; i < n && i < ENTRIES_MAX; i++) {
		argv[k++] = "-e";
		argv[k++] = entries[i];
	}
	/* It prints what it found wrong where its output goes. */
	if (chdir(dir) != 0 || dup2(STDERR_FILENO, STDOUT_FILENO) == -1)
		_exit(126);
	/* As a bundle, where it is one: else opa warns that it leaves out the
	 * manifest, and takes every JSON file for data. */
	if (access(".manifest", F_OK) == 0)
		argv[k++] = "-b";
	argv[k++] = ".";
	argv[k] = NULL;
	execvp("opa", (char *const *)(uintptr_t)argv);
	snprintf(fallback, sizeof(fallback), "%s/go/bin/opa",
	    home != NULL ? home : "");
	execv(fallback, (char *const *)(uintptr_t)argv);
	_exit(127);
}

static bool
run_opa(const char *dir, const char *out, const char *const *entries,
    size_t n, bool with_tests)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0)
		exec_opa(dir, out, entries, n, with_tests);
	if (pid < 0)
		return false;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return true;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		command_fail("opa is not installed, and it is the compiler: "
		    "put it into PATH (go install "
		    "github.com/open-policy-agent/opa@v1.9.0)");
	else
		command_fail("opa did not compile %s", dir);
	return false;
}

/* Can all of it be a pack?  opa would wait at a FIFO for ever. */
static bool
is_readable(const char *dir)
{
	struct pack_files files = { 0 };
	char err[256];
	const bool ok = pack_files_read(&files, dir, err, sizeof(err)) == 0;

	if (!ok)
		command_fail("%s: %s", dir, err);
	pack_files_free(&files);
	return ok;
}

char *
command_opa_plan(const char *dir, const char *const *entries, size_t n,
    bool with_tests, size_t *len)
{
	char tmp[] = "/tmp/countersign-policy.XXXXXX", path[64], err[256];
	struct pack_files files = { 0 };
	const struct pack_file *plan;
	char *text = NULL;

	if (!is_readable(dir))
		return NULL;
	if (mkdtemp(tmp) == NULL) {
		command_fail("%s: %s", tmp, strerror(errno));
		return NULL;
	}
	snprintf(path, sizeof(path), "%s/bundle.tar.gz", tmp);
	if (run_opa(dir, path, entries, n, with_tests)) {
		if (pack_files_read(&files, path, err, sizeof(err)) != 0)
			command_fail("%s", err);
		else if ((plan = pack_files_find(&files, "plan.json")) == NULL)
			command_fail("opa made no plan");
		else if ((text = malloc(plan->len + 1)) != NULL) {
			memcpy(text, plan->bytes, plan->len + 1);
			*len = plan->len;
		}
	}
	pack_files_free(&files);
	unlink(path);
	rmdir(tmp);
	return text;
}

/* Whole or not at all. */
static bool
replace_file(const char *dir, const char *name, const char *text, size_t len)
{
	char tmp[600], path[600];
	bool ok = false;
	FILE *f;

	snprintf(tmp, sizeof(tmp), "%.500s/.%s.new", dir, name);
	snprintf(path, sizeof(path), "%.500s/%s", dir, name);
	if ((f = fopen(tmp, "wbe")) == NULL)
		return false;
	ok = fwrite(text, 1, len, f) == len && fflush(f) == 0 &&
	    fsync(fileno(f)) == 0;
	ok = fclose(f) == 0 && ok && rename(tmp, path) == 0;
	if (!ok)
		unlink(tmp);
	return ok;
}

int
command_build(const struct command_args *args)
{
	const char *dir = args->operand[0], *entries[] = { args->entry };
	struct policy_pack *pack;
	size_t len = 0;
	char *text = command_opa_plan(dir, entries, 1, false, &len);
	bool ok;

	if (text == NULL)
		return COMMAND_FAILED;
	ok = replace_file(dir, "plan.json", text, len);
	free(text);
	if (!ok)
		return command_fail("%s/plan.json: %s", dir, strerror(errno));
	if ((pack = command_pack(args, dir)) == NULL)
		return COMMAND_NO;
	printf("%s\n", policy_pack_digest(pack));
	command_sources_check(pack, dir);
	policy_pack_unref(pack);
	return COMMAND_YES;
}
