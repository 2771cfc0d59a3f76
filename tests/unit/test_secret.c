#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "secret.h"

static void
keeps_bytes_and_counts(void **state)
{
	struct secret *secret = secret_new("not-a-real-token", 16);

	assert_non_null(secret);
	assert_ptr_equal(secret_ref(secret), secret);
	secret_unref(secret);
	assert_true(slice_eq(secret_bytes(secret), SLICE("not-a-real-token")));
	assert_true(secret_equal(secret, "not-a-real-token", 16));
	assert_false(secret_equal(secret, "not-a-real-tokem", 16));
	assert_false(secret_equal(secret, "not-a-real-toke", 15));
	secret_unref(secret);
	secret_unref(NULL);
}

static void
refuses_sizes(void **state)
{
	static char big[SECRET_MAX + 1];
	struct secret *secret;

	memset(big, 'x', sizeof(big));
	assert_null(secret_new("", 0));
	assert_null(secret_new(big, SECRET_MAX + 1));
	secret = secret_new(big, SECRET_MAX);
	assert_non_null(secret);
	assert_int_equal(secret_bytes(secret).n, SECRET_MAX);
	secret_unref(secret);
}

/* What a child that does this dies of, or 0. */
static int
dies_of(void (*what)(struct secret *secret))
{
	struct secret *secret = secret_new("abcdefgh", 8);
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		signal(SIGSEGV, SIG_DFL);
		what(secret);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	secret_unref(secret);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void
write_into(struct secret *secret)
{
	*(volatile char *)(uintptr_t)secret_bytes(secret).p = 'X';
}

static void
read_behind(struct secret *secret)
{
	(void)*(volatile const char *)(secret_bytes(secret).p + 8);
}

static void
use_freed(struct secret *secret)
{
	const char *p = secret_bytes(secret).p;

	secret_unref(secret);
	(void)*(volatile const char *)p;
}

static void
memory_is_guarded(void **state)
{
	assert_int_equal(dies_of(write_into), SIGSEGV);
	assert_int_equal(dies_of(read_behind), SIGSEGV);
	assert_int_equal(dies_of(use_freed), SIGSEGV);
}

/* Without leave to lock memory: none, unless the operator allowed that. */
static void
unlockable_memory_is_refused(void **state)
{
	struct rlimit none = { 0, 0 };
	int status = 0;
	pid_t pid;

#ifdef __SANITIZE_ADDRESS__
	skip();		/* the address sanitizer turns mlock into nothing */
#endif
	pid = fork();

	if (pid == 0) {
		/* Root may lock whatever the limit is: become nobody. */
		if (setrlimit(RLIMIT_MEMLOCK, &none) != 0 ||
		    (geteuid() == 0 && setuid(65534) != 0))
			_exit(9);
		if (secret_new("abcdefgh", 8) != NULL)
			_exit(1);
		secret_allow_unlocked(true);
		_exit(secret_new("abcdefgh", 8) != NULL ? 0 : 2);
	}
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 9)
		skip();
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void
check(const char *bytes, size_t len, size_t left, const char *why)
{
	const char *said = secret_check(bytes, &len);

	if (why == NULL)
		assert_null(said);
	else {
		assert_non_null(said);
		assert_non_null(strstr(said, why));
	}
	assert_int_equal(len, left);
}

#define CHECK(text, left, why) check((text), sizeof(text) - 1, (left), (why))

static void
checks_what_is_stored(void **state)
{
	static char big[SECRET_MAX + 3];

	CHECK("token", 5, NULL);
	CHECK("token\n", 5, NULL);
	CHECK("token\r\n", 5, NULL);
	CHECK("two words \xc3\xa4", 12, NULL);
	CHECK("token\n\n", 6, "CR, LF or NUL");
	CHECK("token\r", 6, "CR, LF or NUL");
	CHECK("to\rken", 6, "CR, LF or NUL");
	CHECK("to\nken", 6, "CR, LF or NUL");
	CHECK("to\0ken", 6, "CR, LF or NUL");
	CHECK("token\0", 6, "CR, LF or NUL");
	CHECK("to\tken", 6, "control");
	CHECK("to\x7fken", 6, "control");
	CHECK(" token", 6, "space");
	CHECK("token ", 6, "space");
	CHECK("token \n", 6, "space");
	CHECK("", 0, "empty");
	CHECK("\n", 0, "empty");
	CHECK("\r\n", 0, "empty");

	memset(big, 'x', sizeof(big));
	check(big, SECRET_MAX, SECRET_MAX, NULL);
	check(big, SECRET_MAX + 1, SECRET_MAX + 1, "longer");
	big[SECRET_MAX] = '\r';
	big[SECRET_MAX + 1] = '\n';
	check(big, SECRET_MAX + 2, SECRET_MAX, NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_bytes_and_counts),
		cmocka_unit_test(refuses_sizes),
		cmocka_unit_test(memory_is_guarded),
		cmocka_unit_test(unlockable_memory_is_refused),
		cmocka_unit_test(checks_what_is_stored),
	};

	return cmocka_run_group_tests_name("secret", tests, NULL, NULL);
}
