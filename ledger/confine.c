#include "ledger/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* landlock(7).  Spelled out here, since the system's header may be older than
 * the kernel that the program runs on. */
#define LL_EXECUTE (1ULL << 0)
#define LL_WRITE_FILE (1ULL << 1)
#define LL_READ_FILE (1ULL << 2)
#define LL_READ_DIR (1ULL << 3)
#define LL_REMOVE_DIR (1ULL << 4)
#define LL_REMOVE_FILE (1ULL << 5)
#define LL_MAKE_DIR (1ULL << 7)
#define LL_MAKE_REG (1ULL << 8)
#define LL_MAKE_SOCK (1ULL << 9)
#define LL_ALL_ABI1 ((1ULL << 13) - 1)
#define LL_REFER (1ULL << 13)		/* ABI 2 */
#define LL_TRUNCATE (1ULL << 14)	/* ABI 3 */
#define LL_NET_BIND (1ULL << 0)		/* ABI 4 */
#define LL_NET_CONNECT (1ULL << 1)
#define LL_IOCTL_DEV (1ULL << 15)	/* ABI 5 */
#define LL_SCOPE_ABSTRACT (1ULL << 0)	/* ABI 6 */
#define LL_SCOPE_SIGNAL (1ULL << 1)

#define LL_OF_FILES (LL_EXECUTE | LL_WRITE_FILE | LL_READ_FILE | \
	LL_TRUNCATE | LL_IOCTL_DEV)
#define LL_READING (LL_READ_FILE | LL_READ_DIR)
#define LL_WRITING (LL_READING | LL_WRITE_FILE | LL_REMOVE_DIR | \
	LL_REMOVE_FILE | LL_MAKE_DIR | LL_MAKE_REG | LL_MAKE_SOCK | \
	LL_REFER | LL_TRUNCATE)

#define LL_CREATE_RULESET 444
#define LL_ADD_RULE 445
#define LL_RESTRICT_SELF 446
#define LL_RULE_PATH_BENEATH 1
#define LL_VERSION 1U

struct ll_ruleset {
	uint64_t access_fs, access_net, scoped;
};

struct ll_path_beneath {
	uint64_t access;
	int32_t fd;
} __attribute__((packed));

/* What this version of Landlock can deny, and we want denied. */
static struct ll_ruleset
wanted(unsigned abi, const struct confine_options *options)
{
	struct ll_ruleset set = { .access_fs = LL_ALL_ABI1 };

	if (abi >= 2)
		set.access_fs |= LL_REFER;
	if (abi >= 3)
		set.access_fs |= LL_TRUNCATE;
	if (abi >= 5)
		set.access_fs |= LL_IOCTL_DEV;
	if (options->spawn)
		set.access_fs &= ~LL_EXECUTE;
	if (abi >= 4 && !options->network)
		set.access_net = LL_NET_BIND | LL_NET_CONNECT;
	if (abi >= 6) {
		if (!options->network)
			set.scoped |= LL_SCOPE_ABSTRACT;
		if (!options->spawn)
			set.scoped |= LL_SCOPE_SIGNAL;
	}
	return set;
}

static int
allow_path(int ruleset, uint64_t handled, const struct confine_path *path)
{
	struct ll_path_beneath rule = { .access = handled &
	    (path->access == CONFINE_WRITE ? LL_WRITING : LL_READING) };
	struct stat st;
	int fd, status;

	fd = open(path->path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == EACCES ? 0 : -1;
	if (fstat(fd, &st) != 0) {
		close(fd);
		return -1;
	}
	if (!S_ISDIR(st.st_mode))
		rule.access &= LL_OF_FILES;
	rule.fd = fd;
	status = (int)syscall(LL_ADD_RULE, ruleset, LL_RULE_PATH_BENEATH,
	    &rule, 0);
	close(fd);
	return status;
}

static int
restrict_files(const struct confine_options *options, unsigned *abi)
{
	long version = syscall(LL_CREATE_RULESET, NULL, 0, LL_VERSION);
	struct ll_ruleset set;
	int ruleset, status = 0;

	*abi = 0;
	if (version <= 0)
		return 0;	/* not built in, or not switched on */
	set = wanted((unsigned)version, options);
	ruleset = (int)syscall(LL_CREATE_RULESET, &set,
	    version >= 6 ? sizeof(set) : version >= 4 ?
	    sizeof(set) - sizeof(set.scoped) : sizeof(set.access_fs), 0);
	if (ruleset < 0)
		return -1;
	for (size_t i = 0; status == 0 && i < options->n_paths; i++)
		status = allow_path(ruleset, set.access_fs, &options->paths[i]);
	if (status == 0)
		status = (int)syscall(LL_RESTRICT_SELF, ruleset, 0);
	close(ruleset);
	if (status == 0)
		*abi = (unsigned)version;
	return status;
}

/* A domain without rules on files denies none, and no mount. */
int
confine_signals(void)
{
	const struct ll_ruleset set = { .scoped = LL_SCOPE_SIGNAL };
	long version = syscall(LL_CREATE_RULESET, NULL, 0, LL_VERSION);
	int ruleset, status, error;

	if (version < 6) {
		errno = ENOSYS;
		return -1;
	}
	ruleset = (int)syscall(LL_CREATE_RULESET, &set, sizeof(set), 0);
	if (ruleset < 0)
		return -1;
	status = (int)syscall(LL_RESTRICT_SELF, ruleset, 0);
	error = errno;
	close(ruleset);
	errno = error;
	return status;
}

#if defined(__x86_64__)
#define OUR_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_ARCH AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define OUR_ARCH AUDIT_ARCH_RISCV64
#endif

/* Denied to everybody: other processes' memory, the kernel's inner parts, ways
 * round this filter (io_uring) or round Landlock (mounts, handles). */
static const int denied_always[] = {
	SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp,
	SYS_bpf, SYS_perf_event_open, SYS_userfaultfd,
	SYS_add_key, SYS_request_key, SYS_keyctl,
	SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_unshare,
	SYS_setns, SYS_name_to_handle_at, SYS_open_by_handle_at,
	SYS_init_module, SYS_finit_module, SYS_delete_module,
	SYS_kexec_load, SYS_reboot, SYS_swapon, SYS_swapoff, SYS_acct,
	SYS_quotactl, SYS_syslog, SYS_personality, SYS_vhangup,
	SYS_settimeofday, SYS_clock_settime, SYS_adjtimex, SYS_clock_adjtime,
	SYS_sethostname, SYS_setdomainname,
	SYS_io_setup, SYS_io_submit,
#ifdef SYS_kexec_file_load
	SYS_kexec_file_load,
#endif
#ifdef SYS_iopl
	SYS_iopl,
#endif
#ifdef SYS_ioperm
	SYS_ioperm,
#endif
#ifdef SYS_modify_ldt
	SYS_modify_ldt,
#endif
	425 /* io_uring_setup */, 426, 427,
	428 /* open_tree */, 429 /* move_mount */, 430 /* fsopen */,
	431, 432 /* fsmount */, 433,
	438 /* pidfd_getfd */, 440 /* process_madvise */,
	442 /* mount_setattr */,
};

static const int denied_network[] = {
	SYS_socket, SYS_socketpair, SYS_connect, SYS_bind, SYS_listen,
	SYS_accept, SYS_accept4,
};

static const int denied_spawn[] = {
	SYS_execve, SYS_execveat, SYS_kill, SYS_tkill,
	SYS_pidfd_send_signal, SYS_rt_sigqueueinfo, SYS_setpgid, SYS_setsid,
};

/* A descriptor of a process by itself only tells when that ends. */
static const int denied_watch[] = { SYS_pidfd_open };

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define FILTER_MAX (8 + 2 * (COUNT(denied_always) + COUNT(denied_network) + \
	COUNT(denied_spawn) + COUNT(denied_watch)))

struct filter {
	struct sock_filter code[FILTER_MAX];
	unsigned short len;
};

static void
add(struct filter *filter, struct sock_filter instruction)
{
	filter->code[filter->len++] = instruction;
}

static void
deny(struct filter *filter, const int *calls, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ |
		    BPF_K, (uint32_t)calls[i], 0, 1));
		add(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
		    SECCOMP_RET_ERRNO | EPERM));
	}
}

#ifdef OUR_ARCH
static void
build_filter(struct filter *filter, const struct confine_options *options)
{
	add(filter, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
	    offsetof(struct seccomp_data, arch)));
	add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
	    OUR_ARCH, 1, 0));
	add(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
	    SECCOMP_RET_KILL_PROCESS));
	add(filter, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
	    offsetof(struct seccomp_data, nr)));
	/* x86's x32 calls bear other numbers for the same things. */
	add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K,
	    0x40000000, 0, 1));
	add(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
	    SECCOMP_RET_ERRNO | EPERM));
	deny(filter, denied_always, COUNT(denied_always));
	if (!options->network)
		deny(filter, denied_network, COUNT(denied_network));
	if (!options->spawn)
		deny(filter, denied_spawn, COUNT(denied_spawn));
	if (!options->spawn && !options->watch)
		deny(filter, denied_watch, COUNT(denied_watch));
	add(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
	    SECCOMP_RET_ALLOW));
}

static int
filter_calls(const struct confine_options *options, bool *in_force)
{
	struct filter filter = { .len = 0 };
	struct sock_fprog program;

	*in_force = false;
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0)
		return 0;	/* a kernel without it */
	build_filter(&filter, options);
	program = (struct sock_fprog){ filter.len, filter.code };
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0)
		return errno == EINVAL ? 0 : -1; /* only the strict mode */
	*in_force = true;
	return 0;
}
#else
static int
filter_calls(const struct confine_options *options, bool *in_force)
{
	*in_force = false;
	return 0;
}
#endif

static void
describe(struct confine_report *report)
{
	char landlock[32] = "no landlock";

	if (report->landlock > 0)
		snprintf(landlock, sizeof(landlock), "landlock %u",
		    report->landlock);
	snprintf(report->text, sizeof(report->text), "%s, %sseccomp, "
	    "%sundumpable, %sno-new-privs", landlock,
	    report->seccomp ? "" : "no ", report->undumpable ? "" : "not ",
	    report->no_new_privs ? "" : "without ");
}

int
confine_self(const struct confine_options *options,
    struct confine_report *report)
{
	*report = (struct confine_report){ .landlock = 0 };
	report->undumpable = prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0;
	report->no_new_privs = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
	if (options->n_paths > CONFINE_PATHS_MAX) {
		errno = E2BIG;
		return -1;
	}
	if (restrict_files(options, &report->landlock) != 0 ||
	    filter_calls(options, &report->seccomp) != 0)
		return -1;
	describe(report);
	return 0;
}
