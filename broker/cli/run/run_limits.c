#include "cli/run/run_limits.h"
#include "cli/run/run_filter.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#ifdef FILTER_ARCH

#if defined(__x86_64__)
#define OTHER_PRLIMIT 340
#define THIRD_PRLIMIT (0x40000000 | 302)	/* x32 */
#elif defined(__aarch64__)
#define OTHER_PRLIMIT 369
#define THIRD_PRLIMIT __NR_prlimit64
#else
#define OTHER_PRLIMIT __NR_prlimit64
#define THIRD_PRLIMIT __NR_prlimit64
#endif

int
run_limits_guard(void)
{
	/* prlimit64(number, resource, new limits or NULL, old) */
	struct sock_filter filter[] = {
		LOAD(arch),
		IF_EQUAL(FILTER_ARCH, 3, 0),	/* to its own numbers */
		IF_EQUAL(FILTER_OTHER_ARCH, 0, 11),	/* a third: as it is */
		LOAD(nr),
		IF_EQUAL(OTHER_PRLIMIT, 3, 9),
		LOAD(nr),
		IF_EQUAL(__NR_prlimit64, 1, 0),
		IF_EQUAL(THIRD_PRLIMIT, 0, 6),
		LOAD_AT(FILTER_LOW(0)),
		IF_EQUAL(0, 4, 0),
		LOAD_AT(FILTER_LOW(2)),
		IF_EQUAL(0, 0, 3),
		LOAD_AT(FILTER_HIGH(2)),
		IF_EQUAL(0, 0, 1),
		RETURN(SECCOMP_RET_ALLOW),
		RETURN(SECCOMP_RET_ERRNO | EPERM),
	};
	struct sock_fprog program = {
		.len = sizeof(filter) / sizeof(filter[0]), .filter = filter };

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

#else

int
run_limits_guard(void)
{
	errno = ENOSYS;
	return -1;
}

#endif
