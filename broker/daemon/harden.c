#include "daemon/harden.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#define PROBE_BYTES (256u << 10)	/* what a small vault needs */

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define WITH_ASAN
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define WITH_ASAN
#endif
#ifdef WITH_ASAN
/*
 * Builds with sanitizers: the look for leaks at the end traces the process, which one
 * that is confined or not dumpable refuses; it would end with "fatal error" for
 * that alone.  Everything else is still watched.
 */
int __lsan_is_turned_off(void);

int
__lsan_is_turned_off(void)
{
	return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 0 ||
	    (geteuid() != 0 && prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 1);
}
#endif

int
harden_process(char *err, size_t err_len)
{
	const struct rlimit none = { 0, 0 };

	umask(077);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);	/* the write fails then, and says so */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 ||
	    setrlimit(RLIMIT_CORE, &none) != 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
		snprintf(err, err_len, "cannot make the process non-dumpable: %s",
		    strerror(errno));
		return -1;
	}
	return 0;
}

int
harden_memory(bool allowed, bool *locked, char *err, size_t err_len)
{
	struct rlimit limit;
	void *probe;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_MEMLOCK, &limit);
	}
	probe = mmap(NULL, PROBE_BYTES, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	*locked = probe != MAP_FAILED && mlock(probe, PROBE_BYTES) == 0;
	if (!*locked)
		snprintf(err, err_len, "memory cannot be locked (%s): secrets "
		    "could reach the swap; raise `ulimit -l` or set "
		    "\"allow_unlocked_memory\" in config.json",
		    strerror(errno));
	if (probe != MAP_FAILED)
		munmap(probe, PROBE_BYTES);
	return *locked || allowed ? 0 : -1;
}

void *
harden_key_page(bool must_lock, char *err, size_t err_len)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	void *page;

	page = mmap(NULL, size, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED || (mlock(page, size) != 0 && must_lock) ||
	    madvise(page, size, MADV_DONTFORK) != 0 ||
	    madvise(page, size, MADV_DONTDUMP) != 0) {
		snprintf(err, err_len, "no protected memory for keys: %s",
		    strerror(errno));
		if (page != MAP_FAILED)
			munmap(page, size);
		return NULL;
	}
	return page;
}

void
harden_key_page_free(void *page)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);

	if (page == NULL)
		return;
	sodium_memzero(page, size);
	munmap(page, size);
}

/* --- the allocator ---------------------------------------------------- */

#ifdef __GLIBC__
#include <malloc.h>

#define ARENAS 2

void
memory_begin(void)
{
	mallopt(M_ARENA_MAX, ARENAS);
	mallopt(M_MXFAST, 0);
}

void
memory_trim(void)
{
	malloc_trim(0);
}
#else
void
memory_begin(void)
{
}

void
memory_trim(void)
{
}
#endif
