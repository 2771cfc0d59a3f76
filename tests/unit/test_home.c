/* Whether there is a vault in the home, and what is said where there is none.
 * Each case in a child: the home is found once in a process. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "home.h"

#define NOBODY 65534

static char base[] = "/tmp/test_home.XXXXXX";

/* 0 where the message holds says ("": where there is a vault). */
static int
child(const char *dir, const char *says, bool stranger)
{
	char err[512] = "";

	if (stranger && geteuid() == 0 && setuid(NOBODY) != 0)
		return 0;	/* root of a name space that has no other user */
	if (setenv("COUNTERSIGN_HOME", dir, 1) != 0 ||
	    home_dir(err, sizeof(err)) == NULL)
		return 3;
	if (home_need_vault(err, sizeof(err)) == 0)
		return says[0] != '\0';
	return says[0] == '\0' || strstr(err, says) == NULL ||
	    strstr(err, dir) == NULL;
}

static void
expect(const char *dir, const char *says, bool stranger)
{
	const pid_t pid = fork();
	int status = -1;

	assert_int_not_equal(pid, -1);
	if (pid == 0)
		_exit(child(dir, says, stranger));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void
vault_is_there(void **state)
{
	char path[128];
	FILE *file;

	(void)state;
	snprintf(path, sizeof(path), "%s/none", base);
	expect(path, "`countersign init` makes one", false);
	snprintf(path, sizeof(path), "%s/master.json", base);
	file = fopen(path, "w");
	assert_non_null(file);
	fclose(file);
	expect(base, "", false);
	/* another user's: init is no way */
	assert_int_equal(chmod(base, geteuid() == 0 ? 0700 : 0), 0);
	expect(base, "not yours to look into", true);
	assert_int_equal(chmod(base, 0700), 0);
	unlink(path);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(vault_is_there) };
	int failed;

	if (mkdtemp(base) == NULL)
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(base);
	return failed;
}
