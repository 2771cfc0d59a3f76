/* Gates that cannot be, or know little: why is said, and nothing is left behind. */
#include "gate_scene.h"

#include "gate/locked.h"

#include <sys/resource.h>
#include <sys/wait.h>

#ifndef __SANITIZE_ADDRESS__
/* The n-th allocation fails, where n is above 0; and how many there are. */
static int countdown;
static long live;

void *__libc_malloc(size_t len);
void *__libc_calloc(size_t n, size_t len);
void *__libc_realloc(void *old, size_t len);
void __libc_free(void *old);

static bool
strikes(void)
{
	return countdown > 0 && --countdown == 0;
}

static void *
counted(void *made)
{
	live += made != NULL;
	return made;
}

void *
malloc(size_t len)
{
	return strikes() ? NULL : counted(__libc_malloc(len));
}

void *
calloc(size_t n, size_t len)
{
	return strikes() ? NULL : counted(__libc_calloc(n, len));
}

void *
realloc(void *old, size_t len)
{
	void *made = strikes() ? NULL : __libc_realloc(old, len);

	live += made != NULL && old == NULL;
	return made;
}

void
free(void *old)
{
	live -= old != NULL;
	__libc_free(old);
}

/* One gate of which the n-th allocation fails; false where it has not so many. */
static bool
begun_short(int n)
{
	struct gate_options options = { .pack_path = "unused" };
	uint32_t version;
	struct vault_error error;
	char err[512] = "";
	struct gate *gate;
	const long before = live;
	bool struck;

	options.vault = fake_vault_new();
	vault_put(options.vault, "one", REAL_ONE, strlen(REAL_ONE), false, &version, &error);
	vault_put(options.vault, "two", REAL_TWO, strlen(REAL_TWO), false, &version, &error);
	countdown = n;
	gate = gate_new(&options, err, sizeof(err));
	struck = countdown == 0;
	countdown = 0;
	if (gate == NULL)
		assert_string_not_equal(err, "");
	gate_free(gate);
	vault_close(options.vault);
	if (live != before)
		fail_msg("allocation %d: %ld are left (%s)", n, live - before, err);
	return struck;
}
#endif

/* Whichever allocation fails: there is none, with a reason, or it does without; and
 * nothing is left of it. */
static void
test_every_allocation(void **state)
{
#ifdef __SANITIZE_ADDRESS__
	skip();		/* the sanitizer's allocator stands there */
#else
	int n = 1;

	fake_data = DATA("");
	(void)begun_short(0);	/* what is made once and kept */
	while (begun_short(n))
		n++;
	assert_true(n > 20);
	fake_data = "{}";
#endif
}

static void
none_for(const char *data, const char *says)
{
	struct gate_options options = { .pack_path = "unused" };
	char err[256] = "";

	fake_data = data;
	options.vault = fake_vault_new();
	assert_null(gate_new(&options, err, sizeof(err)));
	if (strstr(err, says) == NULL)
		fail_msg("%s", err);
	vault_close(options.vault);
	fake_data = "{}";
}

static void
test_bad_rules(void **state)
{
	none_for(NULL, "not a plan");
	none_for("[", "JSON");
	none_for("{\"bindings\":{\"hub\":5}}", "hub");
}

/* In a child that may lock kib; its exit status, -1 where that cannot be tried. */
static int
with_little(rlim_t kib, int (*body)(void))
{
	const struct rlimit little = { kib << 10, kib << 10 };
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		/* Root may lock whatever the limit is: become nobody. */
		if (setrlimit(RLIMIT_MEMLOCK, &little) != 0 ||
		    (geteuid() == 0 && setuid(65534) != 0))
			_exit(9);
		_exit(body());
	}
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status) == 9 ? -1 : WEXITSTATUS(status);
}

static int
wants(void)
{
	char text[256];

	locked_want(0, 0, text, sizeof(text));
	if (text[0] != '\0')
		return 1;
	locked_want(100, 10, text, sizeof(text));
	return strcmp(text, "; 100 versions of secrets, 10 in use, want about 664 KiB "
	    "of locked memory, and the limit is 64 KiB: raise it (ulimit -l, "
	    "LimitMEMLOCK=)") == 0 ? 0 : 2;
}

static void
test_wants(void **state)
{
	const int rc = with_little(64, wants);

	if (rc == -1)
		skip();
	assert_int_equal(rc, 0);
}

static int
little_known(void)
{
	struct gate_options options = { .pack_path = "unused" };
	uint32_t version;
	struct vault_error error;
	char err[512] = "";
	struct gate *gate;

	fake_data = DATA("");
	options.vault = fake_vault_new();
	vault_put(options.vault, "one", REAL_ONE, strlen(REAL_ONE), false, &version, &error);
	vault_put(options.vault, "two", REAL_TWO, strlen(REAL_TWO), false, &version, &error);
	if ((gate = gate_new(&options, err, sizeof(err))) == NULL ||
	    !gate_secrets_partial(gate))
		return 1;
	gate_secrets_why(gate, err, sizeof(err));
	gate_free(gate);
	vault_close(options.vault);
	if (strstr(err, "want about") != NULL && strstr(err, "the limit is 0 KiB") != NULL)
		return 0;
	print_message("%s\n", err);
	return 2;
}

/* Secrets that may not be locked are not used, and how much they want is said. */
static void
test_no_memory_to_lock(void **state)
{
	int rc;

#ifdef __SANITIZE_ADDRESS__
	skip();		/* the address sanitizer turns mlock into nothing */
#endif
	if ((rc = with_little(0, little_known)) == -1)
		skip();
	assert_int_equal(rc, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad_rules),
		cmocka_unit_test(test_every_allocation),
		cmocka_unit_test(test_wants),
		cmocka_unit_test(test_no_memory_to_lock),
	};

	if (sodium_init() == -1)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
