#include "cli/run/run_tty.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* The other tables of system calls that the same kernel answers to. */
#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#define OTHER_ARCH AUDIT_ARCH_I386
#define OTHER_IOCTL 54
#define THIRD_IOCTL (0x40000000 | 514)	/* x32 */
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#define OTHER_ARCH AUDIT_ARCH_ARM
#define OTHER_IOCTL 54
#define THIRD_IOCTL __NR_ioctl
#elif defined(__riscv) && __riscv_xlen == 64
#define ARCH AUDIT_ARCH_RISCV64
#define OTHER_ARCH ARCH
#define OTHER_IOCTL __NR_ioctl
#define THIRD_IOCTL __NR_ioctl
#endif

#ifdef ARCH

#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, \
	offsetof(struct seccomp_data, member))
#define IF_EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, \
	(uint32_t)(value), yes, no)
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, value)

/* The kernel takes a request's low half and no more. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define REQUEST args[1]
#else
#error "the low half of an argument stands elsewhere"
#endif

int
run_tty_guard(void)
{
	struct sock_filter filter[] = {
		LOAD(arch),
		IF_EQUAL(ARCH, 3, 0),		/* to its own numbers */
		IF_EQUAL(OTHER_ARCH, 0, 9),	/* a third: as it is */
		LOAD(nr),
		IF_EQUAL(OTHER_IOCTL, 3, 7),
		LOAD(nr),
		IF_EQUAL(__NR_ioctl, 1, 0),
		IF_EQUAL(THIRD_IOCTL, 0, 4),
		LOAD(REQUEST),
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
