/* The tables of system calls that a kernel answers to are named for what asks: its
 * own, another one (32 bits), and on x86-64 a third (x32). */
#include "cli/run/run_filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#define OTHER_ARCH AUDIT_ARCH_I386
#define OTHER_IOCTL 54
#define OTHER_PRLIMIT 340
#define THIRD_IOCTL (0x40000000 | 514)
#define THIRD_PRLIMIT (0x40000000 | 302)
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#define OTHER_ARCH AUDIT_ARCH_ARM
#define OTHER_IOCTL 54
#define OTHER_PRLIMIT 369
#define THIRD_IOCTL __NR_ioctl
#define THIRD_PRLIMIT __NR_prlimit64
#elif defined(__riscv) && __riscv_xlen == 64
#define ARCH AUDIT_ARCH_RISCV64
#define OTHER_ARCH ARCH
#define OTHER_IOCTL __NR_ioctl
#define OTHER_PRLIMIT __NR_prlimit64
#define THIRD_IOCTL __NR_ioctl
#define THIRD_PRLIMIT __NR_prlimit64
#endif

#ifdef ARCH

/* Of an argument; the kernel takes the low half of one of 32 bits and no more. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LOW(i) (offsetof(struct seccomp_data, args) + 8 * (i))
#define HIGH(i) (LOW(i) + 4)
#else
#error "the low half of an argument stands elsewhere"
#endif

#define LOAD_AT(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)
#define LOAD(member) LOAD_AT(offsetof(struct seccomp_data, member))
#define IF_EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, \
	(uint32_t)(value), yes, no)
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, value)

static int
put_in_force(struct sock_filter *filter, size_t len)
{
	struct sock_fprog program = { .len = (unsigned short)len, .filter = filter };

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

int
run_filter_typing(void)
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
		LOAD_AT(LOW(1)),
		IF_EQUAL(TIOCSTI, 1, 0),
		IF_EQUAL(TIOCLINUX, 0, 1),
		RETURN(SECCOMP_RET_ERRNO | EPERM),
		RETURN(SECCOMP_RET_ALLOW),
	};

	return put_in_force(filter, sizeof(filter) / sizeof(filter[0]));
}

int
run_filter_limits(void)
{
	/* prlimit64(number, resource, new limits or NULL, old) */
	struct sock_filter filter[] = {
		LOAD(arch),
		IF_EQUAL(ARCH, 3, 0),	/* to its own numbers */
		IF_EQUAL(OTHER_ARCH, 0, 11),	/* a third: as it is */
		LOAD(nr),
		IF_EQUAL(OTHER_PRLIMIT, 3, 9),
		LOAD(nr),
		IF_EQUAL(__NR_prlimit64, 1, 0),
		IF_EQUAL(THIRD_PRLIMIT, 0, 6),
		LOAD_AT(LOW(0)),
		IF_EQUAL(0, 4, 0),
		LOAD_AT(LOW(2)),
		IF_EQUAL(0, 0, 3),
		LOAD_AT(HIGH(2)),
		IF_EQUAL(0, 0, 1),
		RETURN(SECCOMP_RET_ALLOW),
		RETURN(SECCOMP_RET_ERRNO | EPERM),
	};

	return put_in_force(filter, sizeof(filter) / sizeof(filter[0]));
}

#else

int
run_filter_typing(void)
{
	errno = ENOSYS;
	return -1;
}

int
run_filter_limits(void)
{
	errno = ENOSYS;
	return -1;
}

#endif
