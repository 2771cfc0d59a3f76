/* Secret input: what is taken from descriptors and files, and what is not. */
#include "ask.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <sodium.h>

static char dir[] = "/tmp/test_ask.XXXXXX", path[64], err[512];

static void
write_file(const void *bytes, size_t len, mode_t mode)
{
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	assert_int_equal(fwrite(bytes, 1, len, out), len);
	fclose(out);
	chmod(path, mode);
}

static void
takes(const void *bytes, size_t len, const char *want)
{
	struct secret *secret;

	write_file(bytes, len, 0600);
	secret = ask_file(path, true, err, sizeof(err));
	assert_non_null(secret);
	assert_true(secret_equal(secret, want, strlen(want)));
	secret_unref(secret);
}

static void
refuses(const void *bytes, size_t len, const char *says)
{
	write_file(bytes, len, 0600);
	err[0] = '\0';
	assert_null(ask_file(path, true, err, sizeof(err)));
	if (strstr(err, says) == NULL)
		fail_msg("\"%s\" lacks \"%s\"", err, says);
	assert_null(strstr(err, "hunter"));
}

static void
contents(void **state)
{
	static char longest[SECRET_MAX + 3];

	(void)state;
	takes("hunter", 6, "hunter");
	takes("hunter\n", 7, "hunter");
	takes("hunter\r\n", 8, "hunter");
	takes("hun ter", 7, "hun ter");
	refuses(" hunter", 7, "space");
	refuses("", 0, "is empty");
	refuses("\n", 1, path);
	refuses("hunter\n\n", 8, "LF");
	refuses("hun\nter", 7, "LF");
	refuses("hunter\r", 7, "CR");
	refuses("hun\0ter", 7, "NUL");
	memset(longest, 'x', sizeof(longest));
	write_file(longest, SECRET_MAX, 0600);
	secret_unref(ask_file(path, true, err, sizeof(err)));
	refuses(longest, SECRET_MAX + 1, path);
	refuses(longest, sizeof(longest), "longer than");
}

static void
files(void **state)
{
	struct secret *secret;

	(void)state;
	write_file("hunter", 6, 0640);
	assert_null(ask_file(path, true, err, sizeof(err)));
	assert_non_null(strstr(err, "may be read by others"));
	secret = ask_file(path, false, err, sizeof(err));
	assert_non_null(secret);
	secret_unref(secret);
	assert_null(ask_file(dir, false, err, sizeof(err)));
	assert_non_null(strstr(err, "not a regular file"));
	assert_null(ask_file("/dev/null", false, err, sizeof(err)));
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_null(ask_file(path, true, err, sizeof(err)));	/* and does not block */
	unlink(path);
	assert_null(ask_file(path, true, err, sizeof(err)));
	assert_non_null(strstr(err, "No such file"));
}

/* A pipe may give the bytes one by one. */
static void
descriptor(void **state)
{
	struct secret *secret;
	int fds[2], i;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	if (fork() == 0) {
		for (i = 0; i < 6; i++)
			(void)!write(fds[1], &"hunter"[i], 1);
		_exit(0);
	}
	close(fds[1]);
	secret = ask_fd(fds[0], "pipe", err, sizeof(err));
	close(fds[0]);
	assert_non_null(secret);
	assert_true(secret_equal(secret, "hunter", 6));
	secret_unref(secret);
	assert_null(ask_fd(-1, "nothing", err, sizeof(err)));
	assert_non_null(strstr(err, "nothing"));
}

static void
order(void **state)
{
	struct ask_passphrase from = { .fd = -1, .conf_file = path };
	char env[64], creds[96];
	struct secret *secret;

	(void)state;
	snprintf(env, sizeof(env), "%s/env", dir);
	snprintf(creds, sizeof(creds), "%s/passphrase", dir);
	write_file("from-conf", 9, 0600);
	unsetenv("CREDENTIALS_DIRECTORY");
	unsetenv("COUNTERSIGN_PASSPHRASE_FILE");
	assert_true(ask_passphrase_stored(NULL, path));
	assert_false(ask_passphrase_stored(NULL, NULL));
	secret = ask_passphrase(&from, err, sizeof(err));
	assert_true(secret_equal(secret, "from-conf", 9));
	secret_unref(secret);
	/* A file that the environment names goes first, even if it is not there. */
	setenv("COUNTERSIGN_PASSPHRASE_FILE", env, 1);
	assert_null(ask_passphrase(&from, err, sizeof(err)));
	setenv("CREDENTIALS_DIRECTORY", dir, 1);
	assert_int_equal(rename(path, creds), 0);
	chmod(creds, 0440);	/* systemd's */
	secret = ask_passphrase(&from, err, sizeof(err));
	assert_true(secret_equal(secret, "from-conf", 9));
	secret_unref(secret);
	unlink(creds);
	unsetenv("CREDENTIALS_DIRECTORY");
	unsetenv("COUNTERSIGN_PASSPHRASE_FILE");
	from.conf_file = NULL;
	assert_null(ask_passphrase(&from, err, sizeof(err)));
	assert_non_null(strstr(err, "no passphrase"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contents), cmocka_unit_test(files),
		cmocka_unit_test(descriptor), cmocka_unit_test(order),
	};
	int rc;

	if (sodium_init() < 0 || mkdtemp(dir) == NULL)
		return 1;
	snprintf(path, sizeof(path), "%s/file", dir);
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	rmdir(dir);
	return rc;
}
