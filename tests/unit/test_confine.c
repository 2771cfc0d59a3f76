/*
 * What a confined process can still do, tried out in a child.  Parts that this
 * kernel lacks are skipped, and the report must say so.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ledger/confine.h"

/* The child's findings. */
struct findings {
	int status;
	struct confine_report report;
	int inside_write, inside_rename, inside_remove, inside_truncate;
	int readable_read, readable_write;
	int outside_read, outside_make;
	int socket_made, unix_made, program_run, signalled, watched, traced, uring;
	int dumpable, no_new_privs;
};

static char dir[] = "/tmp/confine-XXXXXX", other[] = "/tmp/confine-XXXXXX";
static char file[64];

static int
try_open(const char *where, const char *name, int flags)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s%s%s", where, name[0] ? "/" : "", name);
	fd = open(path, flags, 0600);
	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static int
try_rename(const char *from, const char *to)
{
	char a[512], b[512];

	snprintf(a, sizeof(a), "%s/%s", dir, from);
	snprintf(b, sizeof(b), "%s/%s", dir, to);
	return rename(a, b) == 0 ? 0 : errno;
}

static int
try_remove(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return unlink(path) == 0 ? 0 : errno;
}

static int
result(long returned)
{
	return returned < 0 ? errno : 0;
}

static void
try_files(struct findings *f)
{
	f->inside_write = try_open(dir, "a", O_RDWR | O_CREAT);
	f->inside_truncate = try_open(dir, "a", O_RDWR | O_TRUNC);
	f->inside_rename = try_rename("a", "b");
	f->inside_remove = try_remove("b");
	f->readable_read = try_open(file, "", O_RDONLY);
	f->readable_write = try_open(file, "", O_WRONLY);
	f->outside_read = try_open("/etc/passwd", "", O_RDONLY);
	f->outside_make = try_open(other, "x", O_RDWR | O_CREAT);
}

static void
try_calls(struct findings *f)
{
	static char program[] = "/bin/true";
	static char *const argv[] = { program, NULL };
	static char *const envp[] = { NULL };
	char params[256] = { 0 };

	f->socket_made = result(socket(AF_INET, SOCK_STREAM, 0));
	f->unix_made = result(socket(AF_UNIX, SOCK_STREAM, 0));
	f->signalled = result(kill(getppid(), 0));
	f->watched = result((int)syscall(SYS_pidfd_open, getppid(), 0));
	f->traced = result(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
	f->uring = result(syscall(SYS_io_uring_setup, 1, params));
	f->dumpable = prctl(PR_GET_DUMPABLE);
	f->no_new_privs = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
	execve(program, argv, envp);
	f->program_run = errno;
}

static struct findings *
in_a_child(bool network, bool spawn)
{
	struct findings *f = mmap(NULL, sizeof(*f), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		const struct confine_path paths[] = {
			{ dir, CONFINE_WRITE }, { file, CONFINE_READ },
			{ "/tmp/confine-not-there", CONFINE_READ },
			{ "/bin", CONFINE_READ }, { "/usr", CONFINE_READ },
		};
		const struct confine_options options = { paths, 5, network,
		    spawn, network };

		f->status = confine_self(&options, &f->report);
		try_files(f);
		try_calls(f);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	print_message("# %s\n", f->report.text);
	return f;
}

static void
files_outside_are_out_of_reach(void **state)
{
	struct findings *f = in_a_child(false, false);

	assert_int_equal(f->status, 0);
	assert_int_equal(f->inside_write, 0);
	assert_int_equal(f->inside_truncate, 0);
	assert_int_equal(f->inside_rename, 0);
	assert_int_equal(f->inside_remove, 0);
	assert_int_equal(f->readable_read, 0);
	if (f->report.landlock == 0) {
		assert_non_null(strstr(f->report.text, "no landlock"));
		skip();
	}
	assert_int_equal(f->readable_write, EACCES);
	assert_int_equal(f->outside_read, EACCES);
	assert_int_equal(f->outside_make, EACCES);
	munmap(f, sizeof(*f));
}

static void
calls_that_a_recorder_never_needs_are_denied(void **state)
{
	struct findings *f = in_a_child(false, false);

	assert_int_equal(f->dumpable, 0);
	assert_int_equal(f->no_new_privs, 1);
	assert_true(f->report.undumpable && f->report.no_new_privs);
	if (!f->report.seccomp) {
		assert_non_null(strstr(f->report.text, "no seccomp"));
		skip();
	}
	assert_int_equal(f->socket_made, EPERM);
	assert_int_equal(f->unix_made, EPERM);
	assert_int_equal(f->signalled, EPERM);
	assert_int_equal(f->watched, EPERM);
	assert_int_equal(f->traced, EPERM);
	assert_int_equal(f->uring, EPERM);
	assert_int_equal(f->program_run, EPERM);
	munmap(f, sizeof(*f));
}

static void
the_network_can_be_kept(void **state)
{
	struct findings *f = in_a_child(true, false);

	assert_int_equal(f->socket_made, 0);
	assert_int_equal(f->unix_made, 0);
	if (f->report.seccomp) {
		assert_int_equal(f->traced, EPERM);
		assert_int_equal(f->program_run, EPERM);
	}
	munmap(f, sizeof(*f));
}

static void
programs_can_be_kept(void **state)
{
	struct findings *f = in_a_child(false, true);

	assert_int_equal(f->signalled, 0);
	assert_true(f->watched == 0 || f->watched == ENOSYS);
	assert_int_equal(f->program_run, 0);
	if (f->report.seccomp)
		assert_int_equal(f->socket_made, EPERM);
	munmap(f, sizeof(*f));
}

static void
too_many_paths_are_refused(void **state)
{
	const struct confine_options options = { NULL, CONFINE_PATHS_MAX + 1,
	    false, false, false };
	pid_t child = fork();
	int status;

	if (child == 0) {
		struct confine_report report;

		_exit(confine_self(&options, &report) == -1 &&
		    errno == E2BIG ? 0 : 1);
	}
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
}

/* As on an old kernel, or in a container that denies it; -1 where the kernel
 * takes no filter. */
static int
deny_landlock(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		    offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 444, 0, 2),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 446, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 5, code };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

static void
what_is_missing_is_said(void **state)
{
	const struct confine_options options = { NULL, 0, false, false, false };
	pid_t child = fork();
	int status;

	if (child == 0) {
		struct confine_report report;

		if (deny_landlock() != 0)
			_exit(9);
		_exit(confine_self(&options, &report) == 0 &&
		    report.landlock == 0 &&
		    strncmp(report.text, "no landlock, ", 13) == 0 ? 0 : 1);
	}
	waitpid(child, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 9)
		skip();
	assert_int_equal(status, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_outside_are_out_of_reach),
		cmocka_unit_test(calls_that_a_recorder_never_needs_are_denied),
		cmocka_unit_test(the_network_can_be_kept),
		cmocka_unit_test(programs_can_be_kept),
		cmocka_unit_test(what_is_missing_is_said),
		cmocka_unit_test(too_many_paths_are_refused),
	};
	int failed;

	if (mkdtemp(dir) == NULL || mkdtemp(other) == NULL)
		return 2;
	snprintf(file, sizeof(file), "%s/readable", other);
	close(open(file, O_WRONLY | O_CREAT, 0600));
	failed = cmocka_run_group_tests_name("confine", tests, NULL, NULL);
	unlink(file);
	rmdir(dir);
	rmdir(other);
	return failed;
}
