#include "cli/run/run_tty.h"
#include "cli/run/run_filter.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#ifdef FILTER_ARCH

#if defined(__x86_64__)
#define OTHER_IOCTL 54
#define THIRD_IOCTL (0x40000000 | 514)	/* x32 */
#elif defined(__aarch64__)
#define OTHER_IOCTL 54
#define THIRD_IOCTL __NR_ioctl
#else
#define OTHER_IOCTL __NR_ioctl
#define THIRD_IOCTL __NR_ioctl
#endif

int
run_tty_guard(void)
{
	struct sock_filter filter[] = {
		LOAD(arch),
		IF_EQUAL(FILTER_ARCH, 3, 0),		/* to its own numbers */
		IF_EQUAL(FILTER_OTHER_ARCH, 0, 9),	/* a third: as it is */
		LOAD(nr),
		IF_EQUAL(OTHER_IOCTL, 3, 7),
		LOAD(nr),
		IF_EQUAL(__NR_ioctl, 1, 0),
		IF_EQUAL(THIRD_IOCTL, 0, 4),
		LOAD_AT(FILTER_LOW(1)),
		IF_EQUAL(TIOCSTI, 1, 0),
		IF_EQUAL(TIOCLINUX, 0, 1),
		RETURN(SECCOMP_RET_ERRNO | EPERM),
		RETURN(SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {
		.len = sizeof(filter) / sizeof(filter[0]), .filter = filter };

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

#else

int
run_tty_guard(void)
{
	errno = ENOSYS;
	return -1;
}

#endif
